"""Who may write into a run directory: one job at a time.

``lease.json`` in the directory names the process that holds it. It is created exclusively and taken
away at the end; what a killed process has left is taken over. A process of this machine is looked
up by its number and the time it started, since numbers are used again. That of another machine or
container cannot be, nor one of another user that the system hides, so the holder touches its lease
every `HEARTBEAT` seconds, and after `STALE` seconds without it counts as dead. Who comes in
between, when it has missed a sign of life, waits for one or the other. Ages are differences of
times of one file system, so that clocks need not agree.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

from topicmc.errors import DataError, TopicmcError, UsageError
from topicmc.host.machine import Processes, boot
from topicmc.storage.fields import visible
from topicmc.storage.files import user_errors_for

NAME = "lease.json"
HEARTBEAT = 20.0
"""Seconds between signs of life."""
STALE = 300.0
"""Seconds without a sign of life after which a holder elsewhere counts as dead."""
_OWN = re.compile(
    r"lease\.json(\.([0-9a-f]{16}|[0-9a-f]+-[0-9a-f]+))?|\.lease\.json(\.[0-9a-f-]+)+\.tmp"
)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_UNREADABLE = 10.0  # seconds after which a lease that its writer never filled counts as left behind
_PAUSE = 5.0  # seconds between looks at a holder that is waited for
_REFUSALS = {kind.__name__: kind for kind in (UsageError, DataError)}


@dataclass(frozen=True)
class Holder:
    """A process, and when it took the lease."""

    host: str
    boot: str
    """Of the running system; "" where it does not say."""
    space: str
    """In which process numbers are unique: a container has its own."""
    process: int
    started: str
    """When the process began, in the system's own terms."""
    since: str
    token: str
    """Of this one lease."""

    @classmethod
    def me(cls) -> Holder:
        """This process, about to take a lease."""
        process = os.getpid()
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        return cls(
            socket.gethostname(), boot(), _space(), process, _started(process) or "", now,
            secrets.token_hex(8),
        )  # fmt: skip

    @property
    def runs(self) -> bool | None:
        """Whether its process still does; None where this one cannot look that up."""
        # A machine may get another name: that tells where nothing else does.
        is_here = self.boot == boot() and (self.boot or self.host == socket.gethostname())
        if not is_here or self.space != _space():
            return None  # its number means nothing here
        started = _started(self.process)
        return None if started == "" else started == self.started

    def is_dead(self, path: Path) -> bool:
        """Whether the lease in ``path`` that names it has been left behind."""
        if not self.process:
            return _age(path) > _UNREADABLE
        runs = self.runs
        if runs is not None:
            return not runs
        if self.host == socket.gethostname() and self.boot != boot():
            # This machine before it was started anew, or another machine of the same name.
            return _age(path) > min(STALE, _uptime())
        return _age(path) > STALE

    def is_silent(self, path: Path) -> bool:
        """Whether it has missed a sign of life, where only these tell: within `STALE` seconds it
        will have given one, or count as dead."""
        return self.process > 0 and self.runs is None and _age(path) > 2 * HEARTBEAT

    def describe(self, path: Path) -> str:
        """A sentence for whom it keeps out."""
        if not self.process:
            return f"another process is just taking this run; try again in {_UNREADABLE:.0f} s"
        if self.runs is not None:
            return f"{self._who}; wait until it ends, or stop it (kill -INT {self.process})"
        return (
            f"{self._who}, with a sign of life {_age(path):.0f} s ago; wait until it ends, or, if"
            f" it was killed, until that is {STALE:.0f} s ago: from here one cannot see whether it"
            f" runs (if you know that it does not, delete {path})"
        )

    def describe_wait(self, path: Path) -> str:
        """A sentence for who waits until it is known whether it lives."""
        return (
            f"{self._who}, and its last sign of life was {_age(path):.0f} s ago; waiting for the"
            f" next, or until that is {STALE:.0f} s ago"
        )

    @property
    def _who(self) -> str:
        return f"process {self.process} on {self.host} has been writing here since {self.since}"


def is_of_lease(name: str) -> bool:
    """Whether that is the name of a lease, of a claim of one that is no more, or of a draft."""
    return _OWN.fullmatch(name) is not None


class Lease:
    """The right to write into a folder, held by this process."""

    def __init__(self, folder: Path) -> None:
        """Takes it, and makes the folder if need be. UsageError when another process has it."""
        self.path = folder / NAME
        self._holder = Holder.me()
        self._ended = threading.Event()
        self._is_new = not folder.exists()
        # A signal may end the process before the caller has what it would release.
        atexit.register(self.release)
        try:
            with user_errors_for(folder):
                folder.mkdir(parents=True, exist_ok=True)
                _take(self.path, self._holder)
                for left in folder.iterdir():  # claims of leases that are no more; drafts
                    if left != self.path and is_of_lease(left.name):
                        left.unlink(missing_ok=True)
        except BaseException:  # an exit by a signal, too
            self.release()
            raise
        threading.Thread(target=self._beat, name="lease", daemon=True).start()

    def check(self) -> None:
        """TopicmcError when another process has taken over, since this one seemed to be dead."""
        now = _read(self.path)
        if now != self._holder:
            taker = "somebody" if now is None else f"process {now.process} on {now.host}"
            raise TopicmcError(
                f"{self.path.parent}: {taker} has taken this run over while this process gave no"
                f" sign of life; nothing more is written here"
            )

    def release(self) -> None:
        """Gives it up; a folder that was made for it and is empty goes too."""
        atexit.unregister(self.release)
        self._ended.set()
        with suppress(OSError):
            if _read(self.path) == self._holder:
                self.path.unlink()
            if self._is_new:
                self.path.parent.rmdir()

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT):
            with suppress(OSError):
                if _read(self.path) == self._holder:
                    os.utime(self.path)


def holder_of(folder: Path) -> str | None:
    """Who is writing into a folder; None where nobody is, or this process cannot see that."""
    with suppress(OSError):  # in a folder that it may not write to, where ages are looked up
        holder = _read(folder / NAME)
        if holder is not None and holder.process and not holder.is_dead(folder / NAME):
            return f"process {holder.process} on {holder.host}"
    return None


@contextmanager
def held(folder: Path, transport: Processes) -> Iterator[Lease | None]:
    """The lease of a run for the whole job: the root takes it, and gives it up when the block ends.
    The others have None.

    Collective. Raises UsageError on every process when another job holds it, TopicmcError when the
    folder cannot be written, DataError when the disk is full.
    """
    lease, refusal = None, None
    if transport.is_root:
        try:
            lease = Lease(Path(folder))
        except TopicmcError as error:
            refusal = type(error).__name__, str(error)
    try:
        refusal = transport.exchange(refusal)[0]
        if refusal is not None:
            kind, told = refusal
            raise _REFUSALS.get(kind, TopicmcError)(told)
        yield lease
    finally:
        if lease is not None:
            lease.release()


def _take(path: Path, me: Holder) -> None:
    """Writes ``me`` to ``path``; UsageError when somebody alive is there. Where only time tells
    whether somebody is, says so and waits.

    Of those who find the same dead holder, the one who creates a file in its name replaces it, once
    it has seen that it is still there: the one before may have been faster. That file is a lease,
    too, so that it can be taken over in turn.
    """
    waits = False
    while True:
        try:
            _create(path, me)
        except FileExistsError:
            pass
        except FileNotFoundError:  # whoever has the lease clears up drafts, too
            if not path.parent.exists():
                raise
        holder = _read(path)
        if holder == me:
            return
        if holder is None:
            continue
        if not holder.is_dead(path):
            if not holder.is_silent(path):
                raise UsageError(f"{path.parent}: {holder.describe(path)}")
            if not waits:
                told = visible(f"{path.parent}: {holder.describe_wait(path)}")
                print(told, file=sys.stderr, flush=True)
            waits = True
            time.sleep(_PAUSE)
            continue
        claim = path.with_name(f"{NAME}.{holder.token}")
        _take(claim, me)
        if _read(path) == holder:
            with suppress(FileNotFoundError):
                claim.replace(path)
        claim.unlink(missing_ok=True)


def _create(path: Path, me: Holder) -> None:
    """FileExistsError when there is one. It appears with all its text, so that nobody reads half of
    it and a signal leaves none behind that nobody knows."""
    draft = path.with_name(f".{path.name}.{me.token}.tmp")
    told = json.dumps(asdict(me), indent=1) + "\n"
    try:
        with draft.open("x", encoding="utf-8") as stream:
            stream.write(told)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(draft, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with path.open("x", encoding="utf-8") as stream:
                stream.write(told)
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path) -> Holder | None:
    """None when there is no lease; nobody in particular when it is not, or not yet, a whole one."""
    try:
        facts = path.stat()
        written = json.loads(path.read_text(encoding="utf-8"))
        holder = Holder(**{field.name: written[field.name] for field in fields(Holder)})
        kinds = {field.name: int if field.name == "process" else str for field in fields(Holder)}
        sound = all(type(getattr(holder, name)) is kind for name, kind in kinds.items())
        if sound and re.fullmatch("[0-9a-f]{16}", holder.token):
            return holder
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return Holder("", "", "", 0, "", "", f"{facts.st_ino:x}-{facts.st_mtime_ns:x}")


def _age(path: Path) -> float:
    """Seconds since a file was touched, by the clock of its file system."""
    try:
        with TemporaryFile(dir=path.parent) as now:
            return max(0.0, os.fstat(now.fileno()).st_mtime - path.stat().st_mtime)
    except FileNotFoundError:
        return 0.0


# ---- what the system knows of processes; "" or None where it does not tell


def _uptime() -> float:
    """Seconds since the system was started, with those in which it slept."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _space() -> str:
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def _started(process: int) -> str | None:
    """In clock ticks since the system's start; None when there is no such process, or only what is
    left of one that has ended."""
    with suppress(OSError):  # there is no /proc, or it hides the processes of others
        # Its name may be cut within a letter.
        told = Path(f"/proc/{process}/stat").read_text(errors="replace")
        state, *rest = told.rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except OSError:
        pass
    return ""  # it is there; since when, only /proc would tell

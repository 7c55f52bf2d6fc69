"""Running topicmc as a user does: what it prints, and the status that it exits with."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

TOPICMC = Path(sysconfig.get_path("scripts")) / "topicmc"
SETTINGS = (
    *("--sampler", "scir", "--topics", 5, "--batch-size", 40, "--sweeps", 4, "--alpha", 0.1),
    *("--threads", 1, "--progress", "none"),
)
LENGTH = ("--updates", 12, "--anneal-updates", 4)


class Result(NamedTuple):
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str


def topicmc(*arguments: object, **options) -> Result:
    """The installed command in a process of its own."""
    done = subprocess.run(
        [TOPICMC, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options
    )
    return Result(done.returncode, done.stdout, done.stderr)


def on_a_terminal(command: Sequence[object], stream: str, **options: Any) -> bytes:
    """What a command that ends well writes to its ``stdout`` or ``stderr``, a pseudo-terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*map(str, command)], **{stream: theirs}, **options)
    os.close(theirs)
    content = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not chunk:
            break
        content += chunk
    os.close(ours)
    assert process.wait() == 0
    return content


def show_bars(monkeypatch) -> None:
    """From here on commands of this process take stderr for a terminal, and show at once how far
    they have read."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("topicmc.cli.printing.PATIENCE", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


class Command:
    """The same command inside this process, where its imports are paid for once."""

    def __init__(self, capfd) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: object) -> Result:
        from topicmc.cli import main

        self._capfd.readouterr()
        handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
        status = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            for signum, handler in handlers.items():
                signal.signal(signum, handler)
        return Result(status, *self._capfd.readouterr())


def said(result: Result) -> str:
    """What a command that ended well printed."""
    assert result.status == 0, result.stderr
    return result.stdout


def one_sentence(result: Result) -> str:
    """The only error on stderr, without a traceback; stdout is empty."""
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, result.stderr
    return errors[0].removeprefix("Error: ")


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def copy_of(folder: Path, place: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(folder, place))


def damage(path: Path, how: str) -> None:
    """Flips a byte, cuts the file short, or takes it away."""
    if how == "gone":
        path.unlink()
        return
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    if how == "cut":
        del content[middle:]
    else:
        content[middle] ^= 0x55
    path.write_bytes(content)


def small_tmpfs(place: Path, size: str) -> bool:
    """Whether a file system of so few bytes could be mounted (Linux, as root)."""
    place.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    return subprocess.run(command, capture_output=True).returncode == 0

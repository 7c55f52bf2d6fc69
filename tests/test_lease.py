"""One job at a time writes into a run: who comes second is told, who is dead is replaced by one."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from processes import alive

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, TopicmcError, UsageError
from topicmc.models.lda.run import TopicRun
from topicmc.storage import lease
from topicmc.storage.lease import NAME, STALE, Holder, Lease

UPTIME = 100.0  # seconds, for the tests
HIDDEN, GONE = 1 << 23, 1 << 40  # no process has so high a number
HOLD = """
import sys, time
from pathlib import Path
from topicmc.storage.lease import Lease
held = Lease(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def holding(folder: Path) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def left_behind(folder: Path, **changes) -> Holder:
    """The lease of this process, changed, as a file that nobody tends."""
    holder = replace(Holder.me(), **changes)
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_text(json.dumps(asdict(holder)))
    return holder


def test_who_comes_second_hears_who_holds_it_and_who_was_killed_is_replaced(tmp_path):
    process = holding(tmp_path)
    with pytest.raises(UsageError, match=rf"process {process.pid} on .* since 20.*kill -INT"):
        Lease(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(UsageError, match=rf"process {os.getpid()} "):
        try:
            held = Lease(tmp_path)
        except UsageError:
            pytest.fail("a dead process keeps its lease")
        Lease(tmp_path)
    held.release()
    assert list(tmp_path.iterdir()) == []


def test_files_of_the_user_stay(tmp_path):
    """Also those whose names hold that of the lease; what others have left behind goes."""
    own = {"release.json.gz", "lease.json.bak", "my-lease.json.txt"}
    for name in (*own, "lease.json.0123456789abcdef", "lease.json.4d2-1f", ".lease.json.47.tmp"):
        (tmp_path / name).touch()
    held = Lease(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*own, NAME}
    held.release()
    with pytest.raises(UsageError, match="exists and is not a run"):
        TopicRun.check_free(tmp_path)
    for name in own:
        (tmp_path / name).rename(tmp_path / f".lease.json.{len(name)}.tmp")
    TopicRun.check_free(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="Linux keeps names there")
def test_a_name_that_is_cut_within_a_letter(tmp_path):
    """The system keeps 15 bytes of the name of a process."""
    place = Path("/proc/self/comm")
    before = place.read_bytes()
    place.write_bytes("программа".encode())
    try:
        held = Lease(tmp_path)
        with pytest.raises(UsageError, match="kill -INT"):
            Lease(tmp_path)
        held.release()
    finally:
        place.write_bytes(before)


def test_a_full_disk_is_told_as_such(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lease, "_create", full)
    with pytest.raises(DataError, match="no space left"), lease.held(tmp_path, LocalTransport()):
        pass


def test_a_zombie_is_dead(tmp_path):
    process = holding(tmp_path)
    process.send_signal(signal.SIGKILL)
    while alive(process.pid):
        time.sleep(0.01)
    Lease(tmp_path).release()
    process.wait()


@pytest.mark.parametrize(
    ("changes", "age", "free"),
    [
        ({"started": "1"}, 0, True),  # this process's number, but another process
        ({"boot": "another"}, 0, False),  # another machine of this name
        ({"boot": "another"}, UPTIME - 30, False),
        ({"boot": "another"}, UPTIME + 30, True),  # or this one, before it was started anew
        ({}, 10 * STALE, False),  # alive, however quiet: this one can be looked up
        ({"host": "elsewhere", "boot": "another"}, 0, False),
        ({"host": "elsewhere", "boot": "another"}, STALE - 30, False),
        ({"host": "elsewhere", "boot": "another"}, STALE + 30, True),
        ({"space": "pid:[1]"}, 0, False),  # a container of this machine
        ({"space": "pid:[1]"}, STALE + 30, True),
        ({"process": GONE}, 0, True),
        ({"process": GONE, "host": "before"}, 0, True),  # this machine, which had another name
        ({"process": GONE, "host": "elsewhere", "boot": ""}, 0, False),  # of which nothing is known
        ({"process": HIDDEN}, 0, False),  # another user's, where /proc shows nobody's but one's own
        ({"process": HIDDEN}, STALE + 30, True),  # or another process, which has its number now
    ],
)
def test_what_counts_as_dead(tmp_path, monkeypatch, changes, age, free):
    kill = os.kill

    def refused(process, signum):
        if process == HIDDEN:
            raise PermissionError
        kill(process, signum)

    monkeypatch.setattr(os, "kill", refused)
    monkeypatch.setattr(lease, "HEARTBEAT", STALE)  # who has missed none is not waited for
    monkeypatch.setattr(lease, "_uptime", lambda: UPTIME)
    left_behind(tmp_path, **changes)
    then = time.time() - age
    os.utime(tmp_path / NAME, (then, then))
    if free:
        Lease(tmp_path).release()
        return
    with pytest.raises(UsageError) as caught:
        Lease(tmp_path)
    if changes:
        assert caught.match(rf"sign of life \d+ s ago; .*until that is {STALE:.0f} s ago.*delete")


@pytest.mark.parametrize("lives", [True, False])
def test_a_holder_elsewhere_that_has_missed_a_sign_of_life_is_waited_for(
    tmp_path, monkeypatch, capsys, lives
):
    """Until it gives one, or counts as dead: a job that is started again on another node."""
    monkeypatch.setattr(lease, "HEARTBEAT", 5.0)
    monkeypatch.setattr(lease, "STALE", 60.0)
    monkeypatch.setattr(lease, "_PAUSE", 0.02)
    left_behind(tmp_path, host="elsewhere", boot="another")
    then = time.time() - 30
    os.utime(tmp_path / NAME, (then, then))
    describe_wait = Holder.describe_wait

    def waited_for(self, path):
        told = describe_wait(self, path)
        os.utime(path, None if lives else (0, 0))
        return told

    monkeypatch.setattr(Holder, "describe_wait", waited_for)
    if lives:
        with pytest.raises(UsageError, match="on elsewhere has been writing here"):
            Lease(tmp_path)
    else:
        Lease(tmp_path).release()
    assert capsys.readouterr().err.count("waiting for the next") == 1


@pytest.mark.parametrize("content", ["", "{", '{"host": 1}', '{"token": "../../x"}', "[]"])
def test_a_lease_that_was_never_filled(tmp_path, content):
    """Perhaps it is just being written; after some seconds it is not."""
    (tmp_path / NAME).write_text(content)
    with pytest.raises(UsageError, match="just taking this run; try again"):
        Lease(tmp_path)
    os.utime(tmp_path / NAME, (time.time() - 60,) * 2)
    Lease(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_of_many_takers_of_a_dead_lease_one_wins(tmp_path):
    """With `unlink` and `_create` in place of the claim, some rounds have two winners."""
    n_takers = 6
    for number in range(60):
        folder = tmp_path / str(number)
        left_behind(folder, started="1")
        won, start = [], threading.Barrier(n_takers)

        def take(folder=folder, won=won, start=start):
            me = Holder.me()
            start.wait()
            try:
                lease._take(folder / NAME, me)
                won.append(me)
            except UsageError:
                pass

        threads = [threading.Thread(target=take) for _ in range(n_takers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == [lease._read(folder / NAME)]
        assert [path.name for path in folder.iterdir()] == [NAME]


def test_a_taker_that_died_on_the_way_is_replaced_too(tmp_path):
    dead = left_behind(tmp_path, started="1")
    claim = replace(Holder.me(), started="2")
    (tmp_path / f"{NAME}.{dead.token}").write_text(json.dumps(asdict(claim)))
    held = Lease(tmp_path)
    held.check()
    held.release()
    assert list(tmp_path.iterdir()) == []


def test_a_slow_taker_does_not_take_what_another_has_taken_since(tmp_path, monkeypatch):
    """It looks at the dead lease, then another takes it and ends its claim, then it claims."""
    left_behind(tmp_path, started="1")
    other: list[Lease] = []
    plain = Holder.is_dead

    def slow(self, path):
        dead = plain(self, path)
        if dead and not other:
            monkeypatch.setattr(Holder, "is_dead", plain)
            other.append(Lease(tmp_path))
        return dead

    monkeypatch.setattr(Holder, "is_dead", slow)
    with pytest.raises(UsageError, match="has been writing here"):
        Lease(tmp_path)
    other[0].check()


def test_a_holder_shows_that_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "HEARTBEAT", 0.02)
    held = Lease(tmp_path)
    os.utime(tmp_path / NAME, (0, 0))
    deadline = time.monotonic() + 10
    while (tmp_path / NAME).stat().st_mtime < time.time() - 60:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    held.release()


def test_who_lost_its_lease_writes_no_checkpoint(tmp_path):
    run = TopicRun.create(tmp_path / "run", {})
    run.lease = Lease(run.path)
    run.commit_checkpoint(1, {}, {})
    taker = left_behind(run.path, process=7)
    before = (run.path / "checkpoint" / "current.json").read_bytes()
    with pytest.raises(TopicmcError, match="process 7 on .* has taken this run over"):
        run.commit_checkpoint(2, {}, {})
    assert (run.path / "checkpoint" / "current.json").read_bytes() == before
    run.lease.release()
    assert lease._read(run.path / NAME) == taker


def test_who_lost_its_lease_writes_no_line_and_no_index(tmp_path):
    run = TopicRun.create(tmp_path / "run", {})
    run.lease = Lease(run.path)
    left_behind(run.path, process=7)
    for write in (
        lambda: run.append_metrics({"round": 1}),
        lambda: run.append_trace({"position": 1}),
        lambda: run.write_sample_index([]),
    ):
        with pytest.raises(TopicmcError, match="process 7 on .* has taken this run over"):
            write()
    assert list(run.path.glob("*.jsonl")) == []
    run.lease.release()


def test_a_folder_made_for_a_lease_goes_with_it(tmp_path):
    Lease(tmp_path / "new").release()
    assert list(tmp_path.iterdir()) == []


def test_a_run_killed_while_it_was_made_is_no_obstacle(tmp_path):
    """Its lease says whose the folder was; without one it might be anybody's."""
    (tmp_path / "run" / "samples").mkdir(parents=True)
    with pytest.raises(UsageError, match="exists and is not a run"):
        TopicRun.create(tmp_path / "run", {})
    left_behind(tmp_path / "run", started="1")
    TopicRun.create(tmp_path / "run", {"config": {}, "corpus": {}}, words=["a"])
    assert TopicRun(tmp_path / "run").vocabulary() == ["a"]


@pytest.mark.parametrize("step", ["link", "fsync"])
def test_a_run_killed_while_its_lease_was_drafted_is_no_obstacle(tmp_path, step):
    """A draft is all that is there; the next lease takes it away."""
    killed = HOLD.replace(
        "held =", f"import os; os.{step} = lambda *_: os.kill(os.getpid(), 9)\nheld ="
    )
    done = subprocess.run([sys.executable, "-P", "-c", killed, str(tmp_path / "run")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert [child.suffix for child in (tmp_path / "run").iterdir()] == [".tmp"]
    TopicRun.check_free(tmp_path / "run")
    held = Lease(tmp_path / "run")
    assert [child.name for child in (tmp_path / "run").iterdir()] == [NAME]
    held.release()

"""What a process has of its machine: cores and memory are shared out among the ranks that are
there, not among all, and control groups are believed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topicmc.engine.transport.local import LocalTransport
from topicmc.host import machine


class Ranks(LocalTransport):
    """A process that hears what others of its job would say."""

    def __init__(self, told: list[list], rank: int) -> None:
        super().__init__()
        self._told, self.rank = told, rank

    def exchange(self, obj):
        return self._told


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([["a", [0, 1, 2, 3], 80]], [(4, 1, 4, 80)]),
        ([["a", [0, 1], 80], ["a", [0, 1], 80]], [(1, 2, 1, 40), (1, 2, 1, 40)]),
        # Each bound to cores of its own, as srun does; three to two cores.
        ([["a", [0, 1], 80], ["a", [2, 3], 80]], [(2, 2, 2, 40), (2, 2, 2, 40)]),
        ([["a", [0, 1], 90]] * 3, [(1, 3, 1, 30)] * 3),
        # Another machine, with more cores and less memory, and one that says nothing of it.
        ([["a", [0, 1], 80], ["b", [*range(8)], 60]], [(2, 1, 2, 60), (8, 1, 2, 60)]),
        ([["a", [0, 1], None], ["b", [0], 60]], [(2, 1, 1, 60), (1, 1, 1, 60)]),
        ([["a", [0], None]], [(1, 1, 1, None)]),
        # Containers of one machine, whose cores they share: two in one, and one by itself.
        (
            [*[["a", [0, 1, 2], 90, [1, 7]]] * 2, ["a", [0, 1, 2], 60, [1, 8]]],
            [(1, 2, 1, 45), (1, 2, 1, 45), (1, 1, 1, 45)],
        ),
        # Two in a group that may use the time of three cores; two groups with one each.
        ([["a", [*range(8)], 80, None, 3, [1, 9]]] * 2, [(1, 2, 1, 40)] * 2),
        (
            [["a", [*range(8)], 80, None, quota, [1, quota]] for quota in (6, 2)],
            [(4, 2, 2, 40), (2, 2, 2, 40)],
        ),
    ],
)
def test_what_is_shared_out(told, expected):
    told = [[*rank, None, None, None][:6] for rank in told]  # most are in no control group
    found = [machine.share(Ranks(told, rank)) for rank in range(len(told))]
    assert found == [machine.Share(*share) for share in expected]


def test_one_process_has_the_machine_for_itself():
    share = machine.share(LocalTransport(3))
    assert share.cores == share.least_cores == machine.available_cores()
    assert share.processes == 1
    assert share.least_memory == machine._memory()[0]


def control_groups(root, files):
    """Files of control groups below a root, each by its folder, its name and what it says."""
    for folder, name, text in files:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / name).write_text(text + "\n")
    return root


def test_limits_of_control_groups(tmp_path):
    """Of both versions, of the group itself and those above; a path that only the host knows."""
    root = control_groups(tmp_path / "cgroup", [
        ("job/step", "memory.max", "max"),
        ("job", "memory.max", "4000"),
        ("memory/job/step", "memory.limit_in_bytes", "5000"),
        ("memory", "memory.limit_in_bytes", "9223372036854771712"),
    ])  # fmt: skip
    (tmp_path / "memory.max").write_text("1")  # above the root: not a group
    membership = tmp_path / "membership"
    membership.write_text("4:memory,cpu:/job/step\n3:cpuset:/\n0::/job/step\n")
    limits = list(machine.group_limits(membership, root))
    top = root / "memory", 9223372036854771712
    assert limits == [(root / "memory/job/step", 5000), top, (root / "job", 4000)]
    membership.write_text("4:memory:/docker/0123\n")
    assert list(machine.group_limits(membership, root)) == [top]
    assert list(machine.group_limits(tmp_path / "none", root)) == []


def test_cores_that_control_groups_allow(tmp_path, monkeypatch):
    """Of both versions; for a part of a core there is a thread, too."""
    root = control_groups(tmp_path / "cgroup", [
        ("job/step", "cpu.max", "max 100000"),
        ("job", "cpu.max", "150000 100000"),
        ("cpu/job", "cpu.cfs_quota_us", "-1"),
        ("cpu/job", "cpu.cfs_period_us", "100000"),
        ("cpu", "cpu.cfs_quota_us", "20000"),
        ("cpu", "cpu.cfs_period_us", "50000"),
    ])  # fmt: skip
    membership = tmp_path / "membership"
    membership.write_text("1:cpu,cpuacct:/job\n0::/job/step\n")
    limits = list(machine.core_limits(membership, root))
    assert limits == [(root / "cpu", 1), (root / "job", 2)]
    monkeypatch.setattr(machine, "usable_cores", lambda: set(range(64)))
    for allowed, cores in ((limits, 1), (limits[1:], 2), ([], 64)):
        monkeypatch.setattr(machine, "core_limits", lambda allowed=allowed: iter(allowed))
        assert machine.available_cores() == machine.share(LocalTransport()).cores == cores


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="needs a tmpfs")
def test_files_that_are_memory():
    assert machine.lies_in_memory(Path("/dev/shm"))
    assert not machine.lies_in_memory(Path("/proc"))
    assert not machine.lies_in_memory(Path("/nowhere"))


def test_memory_is_that_of_the_group_that_allows_least(tmp_path, monkeypatch):
    """Of groups that allow as much, the one that more share."""
    groups = [(tmp_path / name, limit) for name, limit in (("step", 9), ("job", 9), ("top", 10))]
    for folder, _ in groups:
        folder.mkdir()
    monkeypatch.setattr(machine, "group_limits", lambda: iter(groups))
    facts = (tmp_path / "job").stat()
    assert machine._memory() == (9, [facts.st_dev, facts.st_ino])
    monkeypatch.setattr(machine, "group_limits", lambda: iter([]))
    of_machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert machine._memory() == (of_machine, None)


def test_what_is_used_in_control_groups_is_not_to_be_had(tmp_path, monkeypatch):
    """But for files in memory that can make room. A group that says nothing uses nothing."""
    root = control_groups(tmp_path / "cgroup", [
        ("job/step", "memory.max", "9000"),
        ("job", "memory.max", "4000"),
        ("job", "memory.current", "3000"),
        (
            "job",
            "memory.stat",
            "anon 2000\ninactive_file 300\nactive_file 200\ntotal_inactive_file 7",
        ),
        ("memory/job", "memory.limit_in_bytes", "5000"),
        ("memory/job", "memory.usage_in_bytes", "4900"),
        ("memory/job", "memory.stat", "inactive_file 7\ntotal_inactive_file 100"),
        ("memory", "memory.limit_in_bytes", "6000"),
        ("memory", "memory.usage_in_bytes", "6001"),
    ])  # fmt: skip
    membership = tmp_path / "membership"
    membership.write_text("4:memory:/job\n0::/job/step\n")
    room = list(machine.group_room(membership, root))
    assert room == [200, 0, 9000, 1500]
    monkeypatch.setattr(machine, "group_room", lambda: iter([1500, 9000]))
    assert machine.available_memory() == 1500


def test_mpiexec_is_the_one_beside_this_python(tmp_path, monkeypatch):
    """And else one on the PATH."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert machine.mpiexec() is None
    for folder in ("elsewhere", ""):
        place = tmp_path / folder / "mpiexec"
        place.parent.mkdir(exist_ok=True)
        place.touch(mode=0o755)
        assert machine.mpiexec() == place


def test_doctor_names_the_folder_that_keeps_kernels(tmp_path):
    """numba passes over one that it cannot write, such as one below a file."""
    (tmp_path / "file").touch()
    code = "from topicmc.host.doctor import diagnose; print(diagnose()['kernel cache'])"

    def told(folder):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            env=os.environ | {"NUMBA_CACHE_DIR": str(folder)}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        kernels, _, place = done.stdout.strip().partition(" kernels in ")
        return int(kernels), Path(place)

    kernels, place = told(tmp_path / "compiled")
    assert kernels == 0 and place.parent == tmp_path / "compiled" and place.is_dir()
    _, place = told(tmp_path / "file" / "below")
    assert tmp_path not in place.parents and place.is_dir()


def test_control_groups_of_any_name(tmp_path):
    membership = tmp_path / "membership"
    membership.write_bytes(b"0::/job-\xff\n")
    assert list(machine.group_limits(membership, tmp_path)) == []

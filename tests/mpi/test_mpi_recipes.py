"""The recipes of docs/cluster.md as they are printed there, on nodes that are no machines: in place
of ssh and srun there are scripts that run the command here, as each node."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_mpi_training import COMMON, FIXED, command, flags
from trained import kept_bits

from topicmc.models.lda.run import TopicRun

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"

SSH = """#!/bin/bash
echo "$*" >> {log}
while [[ $1 == -* ]]; do shift; done
shift  # the machine
exec /bin/sh -c "$*"
"""
SRUN = """#!/bin/bash
echo "$*" >> {log}
while [[ $1 == -* ]]; do shift 2; done
for node in 0 1 2 3; do SLURM_NODEID=$node "$@" < /dev/null & done
wait
"""
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOBID": "7",
    "SLURM_NODELIST": "node[1-4]",
    "SLURM_JOB_NODELIST": "node[1-4]",
    "SLURM_NNODES": "4",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_TASKS_PER_NODE": "2(x4)",
    "SLURM_NTASKS": "8",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_CPUS_PER_TASK": "1",
}


def block(section, number):
    """A block of code of a section of the page."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)[number]


@pytest.fixture
def place(tmp_path, small_corpus, monkeypatch):
    """Replaces the paths of the page by those of here."""
    for name, text in (("ssh", SSH), ("srun", SRUN)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(log=tmp_path / "log"))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "venv").symlink_to(sys.prefix)

    def replaced(text):
        for before, after in (
            ("/path/to/venv", tmp_path / "venv"),
            ("/shared/corpus", small_corpus.path),
            ("/shared/run", tmp_path / "run"),
        ):
            assert before in text
            text = text.replace(before, str(after))
        return text

    return replaced


def test_hosts_file(place, tmp_path, small_corpus):
    """Two machines of two ranks: the bits of four workers in one process."""
    (tmp_path / "hosts").write_text(block("Plain mpiexec with a hosts file", 0))
    line = place(block("Plain mpiexec with a hosts file", 1)).strip().replace("--threads 8", "")
    settings = {**FIXED, "updates": 40}
    done = subprocess.run(
        " ".join([line, *map(str, flags(settings))]),
        shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log").read_text()
    assert [log.count(f"-x node{n} ") for n in (1, 2)] == [1, 1]
    alone = tmp_path / "alone"
    local = command(None, alone, corpus=small_corpus, transport="local", workers=4, **settings)
    subprocess.run(local, check=True, capture_output=True, timeout=120)
    assert kept_bits(TopicRun(tmp_path / "run")) == kept_bits(TopicRun(alone))


def test_slurm_script(place, tmp_path):
    """Four nodes of two ranks, stopped by the signal that Slurm sends to the script before time is
    up, then submitted again."""
    text = place(block("Slurm", 0))
    assert "#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=2\n" in text
    assert "#SBATCH --signal=B:TERM@" in text
    script = tmp_path / "job.sh"

    @contextlib.contextmanager
    def submitted(updates):
        settings = {**COMMON, "checkpoint_every": "8", "progress": "plain", "updates": updates}
        if (tmp_path / "run" / "run.json").exists():
            settings = {"updates": updates}
        options = " ".join(map(str, flags(settings)))
        script.write_text(text.replace('"$SLURM_CPUS_PER_TASK" &', f"1 {options} &"))
        with (tmp_path / "err").open("w") as err:
            job = subprocess.Popen(
                ["bash", str(script)], env={**os.environ, **SLURM}, cwd=tmp_path,
                stdout=err, stderr=err, start_new_session=True,
            )  # fmt: skip
        try:
            yield job
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    (tmp_path / "run").mkdir()  # as of a job that was killed before there was a run
    with submitted(10**7) as job:
        deadline = time.monotonic() + 100
        while not (tmp_path / "run" / "checkpoint" / "current.json").exists():
            assert job.poll() is None and time.monotonic() < deadline, (
                tmp_path / "err"
            ).read_text()
            time.sleep(0.05)
        job.send_signal(signal.SIGTERM)
        job.wait(timeout=60)
    assert "--resume" in (tmp_path / "err").read_text()
    stopped = TopicRun(tmp_path / "run").checkpoint()
    assert stopped is not None
    assert len((tmp_path / "log").read_text().splitlines()) == 1
    first = TopicRun(tmp_path / "run").facts()["config"]
    assert first["workers"] == 8
    update = 4 * stopped.facts(next(iter(stopped.parts())))["round"] + 8
    with submitted(update) as job:
        assert job.wait(timeout=100) == 0, (tmp_path / "err").read_text()
    assert len((tmp_path / "log").read_text().splitlines()) == 2
    assert TopicRun(tmp_path / "run").metrics()[-1]["update"] == update

"""A reader that has enough, as ``head``: commands end as tools do that SIGPIPE ends, in silence."""

import subprocess
import sys
from pathlib import Path

import pytest
from shell import TOPICMC


@pytest.mark.parametrize("arguments", [["topics", "run"], ["--help"], ["topics", "--help"]])
def test_a_closed_pipe_ends_a_command_quietly(run, arguments):
    """``true`` reads nothing, and under pipefail the status is that of the command."""
    line = f"set -o pipefail; (sleep 0.2; {TOPICMC} {' '.join(arguments)}) | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_that_stays_is_served(run):
    line = f"set -o pipefail; {TOPICMC} topics run | head -3"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 141) and done.stderr == ""
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize("ending", ["csv", "jsonl", "npy", "parquet"])
def test_mixes_that_fail_leave_one_error(tmp_path, ending):
    """A writer that is forgotten half-way has nothing to add on stderr."""
    code = f"""
from pathlib import Path
from topicmc.inference.files import write_mixes
def blocks():
    raise ValueError("no documents")
    yield
try:
    write_mixes(Path("mixes.{ending}"), "012", blocks())
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("no documents\n", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_before(run, closed):
    made = f"{TOPICMC} prepare corpus/vocabulary.txt -o new --allow digits --min-df 1 {closed}"
    line = f"{TOPICMC} topics run {closed} && {made}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert Path("new/corpus.json").is_file()


@pytest.mark.parametrize(
    ("progress", "stderr"),
    [("plain", "2> /dev/full"), ("json", "2> >(true)"), ("bar", "2> >(true)")],
)
def test_training_goes_on_where_stderr_takes_no_more(run, progress, stderr):
    """The disk of a log is full, or whoever read it has gone, as ``tee`` at a Ctrl-C."""
    settings = f"--topics 5 --updates 12 --evaluate-every 1 --progress {progress}"
    line = f"{TOPICMC} train corpus -o new {settings} {stderr}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5 and Path("new/topics.json").is_file()


def test_a_full_disk_behind_stdout_has_the_status_of_full_disks(run):
    line = f"{TOPICMC} corpus info corpus --json > /dev/full"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "Error: No space left on device\n")

"""Memory that training takes, beside what the check before it states.

    python bench/memory.py FOLDER [--cells TEXT…] [--output bench/results/memory.json]

Trains in processes of their own, from the first round to the topics, over a table of samplers ×
chains × workers × K and W. FOLDER keeps the corpora, which are drawn once.

Measured is the largest sum, over the processes of a job, of memory that the system cannot put
aside: what /proc/PID/status calls RssAnon and RssShmem, looked at every few milliseconds. Pages of
mapped files (shards, libraries, and the nameless files of large corpora) make room for others when
memory is short, so they are not counted, and `topicmc.models.lda.memory` does not state them.
"largest" is the high-water mark of the resident set, mapped pages and all (VmHWM).
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topicmc.corpora import Corpus
from topicmc.models.lda import memory
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.storage.files import write_json
from topicmc.storage.runs import made_by

SCRIPTS = Path(sysconfig.get_path("scripts"))
_EVERY = 0.003  # seconds between looks
_SIZES = {
    "tiny": (300, 2_000),
    "small": (20_000, 4_000),
    "large": (100_000, 8_000),
}  # words, documents
SCHEDULE = ("--updates", "8", "--anneal-updates", "2", "--evaluate-every", "4")


@dataclass(frozen=True)
class Cell:
    """One run: ``remember`` is written into the sampler's name."""

    sampler: str
    topics: int
    size: str = "large"
    chains: int = 1
    workers: int = 1
    mpi: bool = False
    threads: int = 1

    def __str__(self) -> str:
        how = f"{self.workers} {'ranks' if self.mpi else 'local'}"
        threads = f" {self.threads} threads" * (self.threads > 1)
        return f"{self.sampler} K={self.topics} {self.size} {self.chains} chains {how}{threads}"

    def settings(self) -> dict:
        """Fields of TrainConfig."""
        name, _, remember = self.sampler.partition("+")
        given = {"remember": bool(remember)} if name in ("scir", "sgrld") else {}
        return {
            "sampler": name, **given, "topics": self.topics, "chains": self.chains,
            "workers": self.workers, "threads": self.threads, "samples": 4,
        }  # fmt: skip

    def command(self, corpus: Path, run: Path) -> list[str]:
        launcher = [str(SCRIPTS / "mpiexec"), "-n", str(self.workers)] if self.mpi else []
        transport = ("--transport", "mpi" if self.mpi else "local")
        told = ["--no-balance", "--progress", "none", "--json", *SCHEDULE, *transport]
        if self.sampler in ("scir", "sgrld"):
            told += ["--trajectory", "1"]  # so that chains travel in so short a run
        for name, value in self.settings().items():
            if name == "remember":
                told += ["--remember" if value else "--no-remember"]
            else:
                told += [f"--{name}", str(value)]
        return [*launcher, str(SCRIPTS / "topicmc"), "train", str(corpus), "-o", str(run), *told]


def table() -> Iterator[Cell]:
    """The cells of the table."""
    everything = ("adlda", "asynclda", "scir", "sgrld", "scir+remember", "sgrld+remember")
    yield Cell("adlda", 5, "tiny")
    for sampler in everything:
        yield Cell(sampler, 300)
        yield Cell(sampler, 1000, "small")
        for mpi in (False, True):
            yield Cell(sampler, 200, workers=2, mpi=mpi)
    for sampler in ("adlda", "scir"):
        yield Cell(sampler, 100)
        yield Cell(sampler, 300, threads=2)
    for chains in (2, 4):
        yield Cell("adlda", 200, chains=chains)
    yield Cell("adlda", 200, "small", chains=32)
    for mpi in (False, True):
        yield Cell("adlda", 200, chains=2, workers=2, mpi=mpi)
        for sampler in ("scir", "sgrld"):
            yield Cell(sampler, 200, chains=2, workers=2, mpi=mpi)
    yield Cell("scir", 200, chains=4, workers=4)
    for sampler in ("adlda", "scir"):
        yield Cell(sampler, 10_000, threads=2)


def corpus_of(folder: Path, size: str) -> Path:
    """A corpus of generated documents."""
    words, documents = _SIZES[size]
    place = folder / size
    if not (place / "corpus" / "corpus.json").is_file():
        generate = Path(__file__).with_name("generate.py")
        drawn = ("--documents", documents, "--tokens", 150, "--words", words, "--topics", 20)
        command = [sys.executable, generate, "-o", place, *drawn, "--heldout", 100]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return place / "corpus"


def stated(cell: Cell, corpus: Corpus) -> int:
    """Bytes of all processes, as the check before training states them."""
    config = resolve(TrainConfig(**cell.settings(), updates=8), Extent.of(corpus))
    hosted = 1 if cell.mpi else cell.workers
    sizes = memory.sizes_of(corpus, config.batch_size)
    return memory.needed(config, sizes, hosted, cell.workers // hosted)


def measured(cell: Cell, corpus: Path) -> tuple[int, int]:
    """(held, largest) bytes of all processes of a run."""
    with tempfile.TemporaryDirectory() as folder:
        command = cell.command(corpus, Path(folder) / "run")
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            return _watch(process)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise


def _watch(process: subprocess.Popen) -> tuple[int, int]:
    largest: dict[int, int] = {}
    most, looked, running = 0, 0.0, [process.pid]
    while process.poll() is None:
        if time.monotonic() - looked > 0.1:
            running, looked = list(_below(process.pid)), time.monotonic()
        now = 0
        for pid in running:
            status = _status(pid)
            now += status.get("RssAnon", 0) + status.get("RssShmem", 0)
            largest[pid] = max(largest.get(pid, 0), status.get("VmHWM", 0))
        most = max(most, now)
        time.sleep(_EVERY)
    assert process.stderr is not None
    if process.returncode:
        sys.exit(f"{process.args}: {process.stderr.read().decode()}")
    return most, sum(largest.values())


def _below(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _below(int(child))
    except OSError:
        return


def _status(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.startswith(("Rss", "VmHWM")))
    return {name.rstrip(":"): 1024 * int(value) for name, value, _ in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", nargs="*", default=[], help="only cells whose names hold these")
    parser.add_argument("--output", type=Path, help="keeps what was measured, and skips it later")
    options = parser.parse_args()
    cells = [cell for cell in table() if all(text in str(cell) for text in options.cells)]
    rows = {}
    if options.output and options.output.exists():
        rows = json.loads(options.output.read_text())["runs"]
    print(f"{'':58}{'stated':>9}{'measured':>10}{'ratio':>7}{'largest':>9}  MB")
    for cell in cells:
        corpus = corpus_of(options.folder, cell.size)
        known = rows.get(str(cell))
        held, largest = (known["held"], known["largest"]) if known else measured(cell, corpus)
        needed = stated(cell, Corpus.open(corpus))
        figures = [needed / 1e6, held / 1e6, needed / held, largest / 1e6]
        print(
            f"{cell!s:58}{figures[0]:9.0f}{figures[1]:10.0f}{figures[2]:7.2f}{figures[3]:9.0f}",
            flush=True,
        )
        rows[str(cell)] = {"stated": needed, "held": held, "largest": largest}
        if options.output:
            found = {
                **made_by(),
                "system": platform.platform(),
                "runs": rows,
            }
            write_json(options.output, found)


if __name__ == "__main__":
    main()

"""Runs that are killed again and again, and what is left of them.

    python bench/kills.py [--kills 300] [--seed 0] [--json bench/results/kills.json]

A life is a short run, on 1 to 3 ranks, that SIGKILL hits one to three times: one rank or all of
them, at a random moment or exactly before or after the n-th call that changes the disk (a rename, a
removal, an fsync). After each kill it is resumed, at times on another number of ranks. In the end

- every file that an index or a manifest names is there with its checksum,
- `evaluate`, `export` and a further `--resume` end well, and no temporary file is left,
- the samples, the last state and the metrics are those of an uninterrupted run, bit for bit,
  where they must be: with a fixed number of updates, the same ranks, and not Async-LDA over MPI.

Anything else is a loss, and is printed. So is a run that was killed before its first checkpoint and
then neither goes on nor lets the first command begin again; it has lost nothing but is stuck. The
plan of life n follows from --seed and n alone:
`--only n` lives it again, although a moment in time cannot be hit exactly twice.
`--python PATH` attacks the topicmc of another environment. Needs Linux, for /proc.
"""

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

AND = "::"
PATIENCE = 180  # seconds after which a command counts as hanging
STEPS = ("replace", "rename", "link", "unlink", "rmdir", "mkdir", "fsync")
SAMPLERS = {
    "adlda": ["--sampler", "adlda", "--start", "plain"],
    "asynclda": ["--sampler", "asynclda", "--start", "plain"],
    "scir": ["--sampler", "scir", "--anneal-updates", "6"],
    "sgrld": ["--sampler", "sgrld", "--start", "plain"],
    "remembered": ["--sampler", "scir", "--remember", "--start", "plain"],
    "adlda-grown": ["--sampler", "adlda"],  # these two are killed in their start, for the most part
    "scir-grown": ["--sampler", "scir"],
}
COMMON = ["--topics", "20", "--threads", "1", "--progress", "none", "--batch-size", "40"]


# ---- inside the process that is to die


def victim(rank: int, step: int, after: bool, arguments: list[str]) -> None:
    """`topicmc`, but rank ``rank`` kills itself at its ``step``-th change of the disk."""
    if int(os.environ.get("PMI_RANK", "0")) == rank and step:
        made = 0

        def deadly(function):
            def call(*given, **named):
                nonlocal made
                made += 1
                if made == step and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = function(*given, **named)
                if made == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return call

        for name in STEPS:
            setattr(os, name, deadly(getattr(os, name)))
    from topicmc.cli import main

    while arguments:  # several commands in a row, up to the first that fails
        command, arguments = arguments, []
        if AND in command:
            place = command.index(AND)
            command, arguments = command[:place], command[place + 1 :]
        sys.argv = ["topicmc", *command]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise


def serve() -> None:
    """Forks a `victim` for each line of JSON on stdin, [plan, arguments, file for its stderr], and
    prints its number and, in the end, its status. The first line are commands to warm up by: what
    they import and load is there for all victims, which saves most of a short run's time."""
    replies = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)
    for arguments in json.loads(sys.stdin.readline()):
        status_of((0, 0, 0), arguments)
    print("warm", file=replies, flush=True)
    for line in sys.stdin:
        plan, arguments, told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.dup2(silence, 0)
            os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
            os._exit(status_of(plan, arguments))
        print(pid, file=replies, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=replies, flush=True)


def status_of(plan, arguments: list[str]) -> int:
    rank, step, after = plan
    status = 0
    try:
        victim(rank, step, bool(after), arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    return status


class Forked:
    """A job of one rank, run by the process that serves; like subprocess.Popen."""

    def __init__(self, server: subprocess.Popen, plan, arguments: list[str], told: Path) -> None:
        assert server.stdin is not None and server.stdout is not None
        self._server, self._told, self.returncode = server.stdout, told, None
        server.stdin.write((json.dumps([plan, arguments, str(told)]) + "\n").encode())
        server.stdin.flush()
        self.pid = int(self._server.readline())

    def poll(self, patience: float = 0.0) -> int | None:
        if self.returncode is None and select.select([self._server], [], [], patience)[0]:
            self.returncode = int(self._server.readline())
        return self.returncode

    def communicate(self, timeout: float = PATIENCE) -> tuple[str, str]:
        if self.poll(timeout) is None:
            raise subprocess.TimeoutExpired("", timeout)
        return "", self._told.read_text()


# ---- one life


@dataclass
class Life:
    """A plan, and what came of it."""

    number: int
    sampler: str
    ranks: int
    timed: bool
    kills: int = 0
    resumed: list[int] = field(default_factory=list)
    compared: bool = False
    stuck: bool = False
    losses: list[str] = field(default_factory=list)


class Campaign:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.seed, self.python, self.folder = options.seed, options.python, folder
        self.corpus = folder / "corpus"
        self._whole: dict[tuple[str, int], dict] = {}
        source = write_documents(folder)
        self._server = subprocess.Popen(
            [self.python, "-P", __file__, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._server.stdin is not None and self._server.stdout is not None
        warm = [["prepare", source, "-o", self.corpus, "--heldout", "20"]]
        for number, sampler in enumerate(SAMPLERS):
            run = folder / f"warm-{number}"
            warm += [["train", self.corpus, "-o", run, *COMMON, *SAMPLERS[sampler], "--updates", 9]]
            warm += [["evaluate", run], ["export", run, "--to", "npy", "-o", run / "npy"]]
        warm = [[str(argument) for argument in command] for command in warm]
        self._server.stdin.write((json.dumps(warm) + "\n").encode())
        assert self._server.stdout.readline() == b"warm\n"

    def command(self, *arguments, ranks: int = 1, plan=(0, 0, 0), background: bool = False):
        """topicmc on some ranks, finished or, in the ``background``, in a session of its own."""
        if ranks == 1:
            job = Forked(self._server, plan, [*map(str, arguments)], self.folder / "told")
            if background:
                return job
            try:
                _, told = job.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.kill(job.pid, signal.SIGKILL)
                _, told = "", f"hangs for {PATIENCE} s"
                job.poll(PATIENCE)
            return subprocess.CompletedProcess(arguments, job.returncode or 0, "", told)
        launcher = [str(Path(self.python).with_name("mpiexec")), "-n", str(ranks)]
        program = [self.python, "-P", __file__, "--victim", ",".join(map(str, plan))]
        whole = [*launcher, *program, *map(str, arguments)]
        if background:
            return subprocess.Popen(
                whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                start_new_session=True,
            )  # fmt: skip
        try:
            return subprocess.run(whole, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(whole, 124, "", f"hangs for {PATIENCE} s")

    def settings(self, life: Life) -> list[str]:
        mine = [*COMMON, *SAMPLERS[life.sampler], "--seed", "5"]
        if life.sampler in ("scir", "sgrld", "scir-grown"):
            mine += ["--sweeps", "3", "--trajectory", "4", "--no-balance"]
        if life.timed:
            return [*mine, "--time-budget", "2s", "--checkpoint-every", "1s"]
        return [*mine, "--updates", "400", "--checkpoint-every", "30", "--evaluate-every", "80"]

    def live(self, number: int) -> Life:
        chance = random.Random(f"{self.seed}-{number}")
        sampler, ranks = chance.choice(list(SAMPLERS)), chance.choice([1, 1, 2, 3])
        life = Life(number, sampler, ranks, timed=chance.random() < 0.4)
        run = self.folder / f"run-{number}"
        begin = ["train", self.corpus, "-o", run, *self.settings(life)]
        arguments, now = begin, ranks
        for _ in range(chance.choice([1, 2, 3])):
            hit = self.killed(life, arguments, now, run, chance)
            if (run / "run.json").is_file():
                if life.timed and chance.random() < 0.5:
                    now = chance.choice([1, 2, 3])
                arguments = ["train", "-o", run, "--resume", "--progress", "none"]
                arguments += ["--workers", now]
                life.resumed.append(now)
            if not hit:
                break
        begun = (run / "checkpoint" / "current.json").is_file()
        self.check(life, self.command(*arguments, ranks=now), "the last train")
        if life.losses:
            life.stuck = not begun
        else:
            self.judge(life, run, now)
        if not life.losses:
            shutil.rmtree(run)
        return life

    def killed(self, life: Life, arguments: list, ranks: int, run: Path, chance) -> bool:
        """Whether the command was hit before it had ended."""
        by_step, everyone = chance.random() < 0.5, chance.random() < 0.3
        rank, delay = chance.randrange(ranks), chance.uniform(0, 2.5)
        step = round(math.exp(chance.uniform(0, math.log(300))))
        plan = (rank, step, chance.randrange(2)) if by_step else (0, 0, 0)
        begun = time.time()
        job = self.command(*arguments, ranks=ranks, plan=plan, background=True)
        hit = False
        try:
            if not by_step:
                while job.poll() is None and not (run / "run.json").is_file():
                    time.sleep(0.01)
                # A resumed command loads for a while before it writes.
                time.sleep(delay + (1.5 if life.resumed and ranks > 1 else 0.0))
                if job.poll() is not None:
                    everyone, rank = False, 10**9
                targets = [job.pid] if ranks == 1 else processes_below(job.pid)
                victims = targets if everyone else targets[rank : rank + 1]
                for pid in victims:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        hit = True
            _, told = job.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            life.losses.append(f"hangs for {time.time() - begun:.0f} s after a kill")
            told = ""
        finally:
            if job.poll() is None:
                for pid in [*processes_below(job.pid), job.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                job.communicate(timeout=PATIENCE)
        by_signal = job.returncode in (-signal.SIGKILL, signal.SIGKILL, 128 + signal.SIGKILL)
        hit = by_signal or (hit and job.returncode != 0 and "Error: " not in told)
        life.kills += hit
        if not hit and job.returncode != 0:
            life.losses.append(f"status {job.returncode}: {last_line(told)}")
        return hit

    def check(self, life: Life, done, what: str) -> None:
        if done.returncode != 0:
            life.losses.append(f"{what}: status {done.returncode}: {last_line(done.stderr)}")

    def judge(self, life: Life, run: Path, ranks: int) -> None:
        life.losses += missing(run)
        life.losses += [f"left behind: {path.name}" for path in run.rglob(".*")]
        if not (life.timed or (life.sampler == "asynclda" and life.ranks > 1)):
            life.compared = True
            if bits(run) != self.whole(life):
                life.losses.append("other bits than those of an uninterrupted run")
        read = ["evaluate", run, AND, "export", run, "--to", "npy", "-o", self.folder / "export"]
        read += ["--force"]
        target = ["--time-budget", "3s"] if life.timed else ["--updates", "440"]
        resume = ["train", "-o", run, "--resume", *target, "--progress", "none"]
        resume += ["--workers", ranks]
        if ranks == 1:
            self.check(life, self.command(*read, AND, *resume), "evaluate, export, --resume")
        else:
            self.check(life, self.command(*read), "evaluate, export")
            self.check(life, self.command(*resume, ranks=ranks), "one more --resume")
        life.losses += missing(run)

    def whole(self, life: Life) -> dict:
        key = life.sampler, life.ranks
        if key not in self._whole:
            run = self.folder / f"whole-{life.sampler}-{life.ranks}"
            done = self.command(
                "train", self.corpus, "-o", run, *self.settings(life), ranks=life.ranks
            )
            assert done.returncode == 0, done.stderr
            self._whole[key] = bits(run)
        return self._whole[key]


def processes_below(pid: int) -> list[int]:
    """The Python processes of a job, the job's own included, oldest first."""
    found, below = [], [pid]
    while below:
        one = below.pop()
        with contextlib.suppress(OSError):
            below += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
            line = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
            if b"--victim" in line[:5]:
                found.append(one)
    return sorted(found)


# ---- what is on the disk


def missing(run: Path) -> list[str]:
    """What an index or a manifest promises and the disk does not hold."""
    found = []
    manifest = json.loads((run / "checkpoint" / "current.json").read_text())
    folder = run / "checkpoint" / manifest["folder"]
    named = {folder / name: digest for name, digest in manifest["files"].items()}
    for index in (run / "samples" / "index.json", folder / "samples.json"):
        for entry in json.loads(index.read_text())["samples"]:
            named |= {run / "samples" / entry["file"]: entry["checksum"]}
    for path, digest in named.items():
        if not path.is_file():
            found.append(f"{path.name} is missing")
        elif "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            found.append(f"{path.name} is damaged")
    return found


def bits(run: Path) -> dict:
    """What must not depend on a kill."""
    samples = json.loads((run / "samples" / "index.json").read_text())["samples"]
    files = json.loads((run / "checkpoint" / "current.json").read_text())["files"]
    metrics = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    names = ("round", "update", "documents", "tokens", "perplexity", "perplexity_averaged")
    return {
        "samples": {entry["file"]: entry["checksum"] for entry in samples},
        "states": {name: digest for name, digest in files.items() if name.endswith(".npy")},
        "metrics": [[record[name] for name in names] for record in metrics],
    }


def write_documents(folder: Path) -> Path:
    """300 documents of 20 to 60 tokens over 4,000 words from 20 topics, in UCI's format. Few
    documents make short runs, and many words make files that take a moment to write."""
    generator = np.random.default_rng(1)
    phi = generator.dirichlet(np.full(4_000, 0.01), 20)
    lines = []
    for document in range(1, 301):
        mix = generator.dirichlet(np.full(20, 0.2)) @ phi
        words, counts = np.unique(
            generator.choice(len(mix), generator.integers(20, 60), p=mix), return_counts=True
        )
        lines += [f"{document} {w + 1} {c}" for w, c in zip(words, counts, strict=True)]
    path = folder / "docword.drawn.txt"
    path.write_text("\n".join(["300", "4000", str(len(lines)), *lines]) + "\n")
    (folder / "vocab.drawn.txt").write_text("".join(f"word{w}\n" for w in range(4_000)))
    return path


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("Error: ") or "Error:" in line]
    return (errors or lines or [""])[-1][:300]


# ---- the table


def table(lives: list[Life]) -> str:
    rows: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for life in lives:
        for key in ((life.sampler, f"{life.ranks}"), ("all", "")):
            rows[key][0] += 1
            rows[key][1] += life.kills
            rows[key][2] += life.compared
            rows[key][3] += life.stuck
            rows[key][4] += bool(life.losses) and not life.stuck
    lines = ["| sampler | ranks | runs | kills | compared bit for bit | stuck | lost |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for (sampler, ranks), row in sorted(rows.items(), key=lambda item: (item[0][0] == "all", item)):
        lines.append(f"| {sampler} | {ranks} | " + " | ".join(map(str, row)) + " |")
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["--victim"]:
        sys.exit(status_of([*map(int, sys.argv[2].split(","))], sys.argv[3:]))
    if sys.argv[1:2] == ["--serve"]:
        serve()
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300, help="end when so many have hit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first life")
    parser.add_argument("--only", type=int, help="this life alone")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="where lost runs stay [a temporary folder]")
    options = parser.parse_args()
    lives: list[Life] = []
    with tempfile.TemporaryDirectory(prefix="kills-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        campaign = Campaign(options, folder)
        number = options.first if options.only is None else options.only
        while sum(life.kills for life in lives) < options.kills:
            life = campaign.live(number)
            lives.append(life)
            for loss in life.losses:
                print(f"life {number} ({life.sampler}, {life.ranks} ranks): {loss}", flush=True)
            number += 1
            if options.json:
                told = {"seed": options.seed, "lives": [asdict(life) for life in lives]}
                options.json.write_text(json.dumps(told, indent=1) + "\n")
            if options.only is not None:
                break
    print(table(lives))
    sys.exit(any(life.losses for life in lives))


if __name__ == "__main__":
    main()

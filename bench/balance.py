"""Load balancing when half of the workers are slow (Ahn, Shahbaba & Welling 2014, Figure 7).

    python bench/balance.py CORPUS -o balance.png [--workers 2] [--seconds 60] [--slowdowns 1 5 10]

CORPUS is a prepared corpus. Every other worker is slowed down 1, 5 and 10 times by a dummy delay,
and the same training is run with plans that are balanced and with plans that are not, one run after
another over MPI. Printed and drawn: held-out perplexity against training seconds, and documents per
second beside two sums over the workers: of what each does when it has the machine to itself, and of
what each did here while it was not waiting. The first is what balancing should come near; on a
machine that others use, the second says how much was lost to waiting and messages alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import quiet

from topicmc.engine.transport.launch import find_mpiexec

TOPICMC = (sys.executable, "-P", "-m", "topicmc.cli", "train")


@dataclass(frozen=True)
class Run:
    """What a run's metrics.jsonl says."""

    name: str
    records: list[dict]
    batch_size: int

    @property
    def unhindered(self) -> float:
        """Documents per second that the workers make while they do not wait, added up."""
        later = self.records[len(self.records) // 3 :]
        speeds = [sum(self.batch_size / d for d in r["delays"]) for r in later]
        return sum(speeds) / len(speeds)

    @property
    def documents_per_second(self) -> float:
        """After the first third of the run, in which the plan settles; of all if it is short."""
        start = {"documents": 0, "seconds": 0.0}
        first = self.records[len(self.records) // 3] if len(self.records) > 2 else start
        last = self.records[-1]
        return (last["documents"] - first["documents"]) / (last["seconds"] - first["seconds"])

    def seconds_to(self, perplexity: float) -> float:
        """Training seconds until the perplexity was first no higher; inf if it never was."""
        return min(
            (r["seconds"] for r in self.records if r["perplexity"] <= perplexity),
            default=float("inf"),
        )


def train(options, name: str, n_workers: int, seconds: float, *more: str) -> Run:
    common = ["--topics", options.topics, "--trajectory", options.trajectory, "--threads", 1]
    common += ["--sampler", options.sampler, "--seed", options.seed, "--progress", "none"]
    common += ["--time-budget", f"{seconds}s", "--evaluate-every", f"{seconds / 20}s"]
    if options.batch_size:
        common += ["--batch-size", options.batch_size]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [find_mpiexec(), "-n", n_workers, *TOPICMC, options.corpus, "-o", run]
        command += [*common, *more]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return Run(name, [json.loads(line) for line in lines], facts["config"]["batch_size"])


def slow_flags(n_workers: int, slowdown: float) -> list[str]:
    """Every other worker is slowed down."""
    return [f"--slow={worker}={slowdown:g}" for worker in range(1, n_workers, 2)]


def compare(options, slowdown: float) -> tuple[list[Run], float]:
    """A run with balanced plans and one without, and the documents a second that the workers make
    alone, added up; prints how they fared."""
    n = options.workers
    alone = [
        train(options, "alone", 1, options.seconds / 2, "--trajectory=1", f"--slow=0={factor:g}")
        for factor in ([1.0, slowdown] if slowdown > 1 else [1.0])
    ]
    fast, slow = alone[0].documents_per_second, alone[-1].documents_per_second
    possible = (n + 1) // 2 * fast + n // 2 * slow
    runs = []
    for flag, name in (("--balance", "balanced"), ("--no-balance", "not balanced")):
        name = f"(1:{slowdown:g}) {name}"
        flags = [flag, *slow_flags(n, slowdown)]
        run = train(options, name, n, options.seconds, *flags)
        last = run.records[-1]
        speed = run.documents_per_second
        print(
            f"{name:20} {speed:11.1f} {speed / possible:10.1%} {speed / run.unhindered:13.1%}"
            f" {max(last['waited']):8.1%} {last['perplexity']:11.1f}   {last['trajectory']}",
            flush=True,
        )
        runs.append(run)
    return runs, possible


def draw(runs: list[Run], output: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for i, run in enumerate(runs):
        seconds = [record["seconds"] for record in run.records]
        perplexity = [record["perplexity"] for record in run.records]
        style = "-" if i % 2 == 0 else "--"
        axes.plot(seconds, perplexity, style, color=f"C{i // 2}", label=run.name)
    axes.set(xlabel="training seconds", ylabel="held-out perplexity")
    axes.legend()
    figure.savefig(output, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("-o", "--output", help="picture to write (needs matplotlib)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="training time of each run")
    parser.add_argument("--slowdowns", type=float, nargs="+", default=[1, 5, 10])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--trajectory", type=int, default=10, help="mean updates per visit")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--sampler", choices=["scir", "sgrld"], default="scir")
    parser.add_argument("--seed", type=int, default=0)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)

    print("slowdown, plan       documents/s   of alone  of unhindered   waited  perplexity   plan")
    runs = [run for slowdown in options.slowdowns for run in compare(options, slowdown)[0]]
    target = max(min(r["perplexity"] for r in run.records) for run in runs)
    print(f"seconds to a perplexity of {target:.1f}, the best that every run has reached:")
    for run in runs:
        print(f"{run.name:20} {run.seconds_to(target):8.1f}")
    if options.output:
        draw(runs, options.output)


if __name__ == "__main__":
    main()

"""Where communication takes over: a scaling model of D-SGLD for 20 to 1,000 workers.

    python bench/scaling.py measure CORPUS -o costs.json
    python bench/scaling.py simulate costs.json
    python bench/scaling.py simulate costs.json --latency 30e-6 --gbit 10    an assumed network

`measure` times updates of a chain on a prepared corpus, by one thread with the settings that
`topicmc train` would choose, and the real transport between two ranks here. `simulate` follows the
events of the rounds: a trajectory ends, a state is handed over, a group is averaged, the delays are
gathered. Every figure that it prints is simulated, not measured.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from topicmc.engine.schedule import plan_trajectories, split_groups, worker_of

WORKERS = (20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Costs:
    """Seconds. Those of messages are latency + bytes / bandwidth."""

    update: float  # one update on a worker of speed 1
    update_spread: float  # standard deviation / mean of one update
    latency: float  # per message
    byte_transfer: float  # per byte on its way
    byte_adding: float  # per byte added up in an average
    source: str
    sampler: str = "scir"  # of the update

    def handover(self, n_bytes: int) -> float:
        """A state sent and one received, both ways at once."""
        return self.latency + self.byte_transfer * n_bytes

    def averaging(self, size: int, n_bytes: int) -> float:
        """Reduce-scatter and allgather in a group of `size`: 2 (R − 1) messages of 1 / R of θ for
        each member, which adds up R parts of its slice. Messages are counted one after another: an
        upper estimate, as they overlap in part."""
        if size == 1:
            return 0.0
        transfer = 2 * (size - 1) * (self.latency + self.byte_transfer * n_bytes / size)
        return transfer + self.byte_adding * n_bytes

    def gathering(self, n_workers: int) -> float:
        """One number from all to all, in a tree."""
        return self.latency * np.ceil(np.log2(max(2, n_workers)))


# --- measuring --------------------------------------------------------------------------------


def time_updates(corpus_path: Path, topics: int, sampler: str, n: int = 60) -> tuple[float, float]:
    """Median seconds of an update by one thread, and its spread: half of the middle 68 % over the
    median, which a few disturbed updates do not move."""
    from topicmc.corpora import Corpus
    from topicmc.engine.transport.local import LocalTransport
    from topicmc.kernels.threads import Threads
    from topicmc.models.lda import jobs
    from topicmc.models.lda.methods import open_method
    from topicmc.models.lda.settings import TrainConfig

    corpus, transport = Corpus.open(corpus_path), LocalTransport(1)
    config = TrainConfig(topics=topics, sampler=sampler, threads=1, time_budget=1.0, remember=False)
    method = open_method(jobs.checked(config, corpus, transport), corpus, transport, Threads(1))
    method.warm_up()
    seconds = []
    for _ in range(n + 10):
        start = time.perf_counter()
        method.round()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.quantile(seconds[10:], [0.16, 0.5, 0.84])
    return float(median), float((high - low) / 2 / median)


def measure(update: float, spread: float, sampler: str) -> Costs:
    """Times hand-overs and averages between two ranks over the real transport."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    launcher = str(mpiexec) if mpiexec.exists() else shutil.which("mpiexec")
    if launcher is None:
        raise SystemExit("no mpiexec: pip install 'topicmc[mpi]'")
    command = [launcher, "-n", "2", sys.executable, __file__, "rank"]
    timings = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    small, large = timings["bytes"]
    per_byte = (timings["route"][1] - timings["route"][0]) / (large - small)
    # An average of two sends one array's worth of bytes in two halves; what is left is adding.
    adding = (timings["average"][1] - timings["average"][0]) / (large - small) - per_byte
    return Costs(
        update=update,
        update_spread=spread,
        latency=timings["route"][0],
        byte_transfer=per_byte,
        byte_adding=max(0.0, adding),
        source="messages measured between 2 ranks on one machine; updates by one thread of it",
        sampler=sampler,
    )


def rank_job() -> None:
    """What each of the two ranks runs: the least of 30 timings per size, printed by the root."""
    from topicmc.engine.transport.open import open_transport

    transport = open_transport("mpi")
    timings: dict[str, list[float]] = {"bytes": [], "route": [], "average": []}
    for n in (250, 4_000_000):
        held = {transport.rank: (np.ones(n, np.float32),)}
        routes, averages = [], []
        for _ in range(30):
            transport.barrier()
            start = time.perf_counter()
            held = transport.route(held, [(0, 1), (1, 0)])
            routes.append(time.perf_counter() - start)
            transport.barrier()
            start = time.perf_counter()
            transport.average({transport.rank: held[transport.rank][0]}, [[0, 1]])
            averages.append(time.perf_counter() - start)
        # The slower rank counts: a round ends when both have what they need.
        for name, seconds in (("route", min(routes)), ("average", min(averages))):
            timings[name].append(float(transport.gather({transport.rank: seconds}).max()))
        timings["bytes"].append(4 * n)
    if transport.is_root:
        print(json.dumps(timings))


# --- simulating -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """Half of the workers `slowdown` times slower. Slow workers make `trajectory` updates per
    visit; so do fast ones, unless balanced: then as many more as they are faster."""

    n_workers: int
    slowdown: float = 1.0
    balanced: bool = False
    n_groups: int = 0  # 0: no averaging (D-CI)
    trajectory: int = 10
    average_bytes: int = 4 * 100 * 7702  # θ
    handover_bytes: int = 8 * 100 * 7702  # with the running mean of scir
    gather: bool = True  # delays are gathered in each round, which holds all until the last is done


@dataclass(frozen=True)
class Outcome:
    """Shares of the workers' time, and updates per second beside what they would make alone."""

    computing: float
    communicating: float
    waiting: float
    updates_per_second: float
    efficiency: float


def simulate(costs: Costs, setting: Setting, n_rounds: int = 50, seed: int = 0) -> Outcome:
    """Event times, round by round: each event waits for a known set of others, so its time is the
    latest of theirs plus its own cost."""
    random = np.random.default_rng(seed)
    n = setting.n_workers
    delays = costs.update * np.where(np.arange(n) % 2, setting.slowdown, 1.0)
    lengths = np.full(n, setting.trajectory)
    if setting.balanced:
        mean = setting.trajectory * (1 + setting.slowdown) / 2
        lengths = np.array(plan_trajectories(delays, mean).trajectory)
    groups = split_groups(n, setting.n_groups or n)
    handover = costs.handover(setting.handover_bytes)
    free = np.zeros(n)  # when each worker can start its trajectory
    computing = communicating = 0.0
    for round in range(n_rounds):
        places = np.array(worker_of("rotate", round, n, n, 0))
        spread = costs.update_spread * np.sqrt(lengths)
        work = delays * np.maximum(0.1 * lengths, lengths + spread * random.normal(size=n))
        done = free + work
        computing += work.sum()
        for group in groups:
            members = places[group]
            if len(members) > 1:
                cost = costs.averaging(len(members), setting.average_bytes)
                done[members] = done[members].max() + cost
                communicating += cost * len(members)
        if setting.gather:
            done[:] = done.max() + costs.gathering(n)
            communicating += costs.gathering(n) * n
        following = np.array(worker_of("rotate", round + 1, n, n, 0))
        free = np.empty(n)
        free[following] = np.maximum(done[places], done[following]) + handover
        communicating += handover * n
    total = free.max() * n
    rate = n_rounds * lengths.sum() / free.max()
    return Outcome(
        computing=computing / total,
        communicating=communicating / total,
        waiting=1 - (computing + communicating) / total,
        updates_per_second=rate,
        efficiency=rate / (1 / delays).sum(),
    )


def shortest_trajectory(costs: Costs, setting: Setting) -> int:
    """Updates per visit below which a worker communicates longer than it computes."""
    groups = split_groups(setting.n_workers, setting.n_groups or setting.n_workers)
    per_round = costs.handover(setting.handover_bytes)
    per_round += costs.averaging(len(groups[0]), setting.average_bytes)
    per_round += costs.gathering(setting.n_workers) if setting.gather else 0.0
    return int(np.ceil(per_round / costs.update))


SPEEDS = ((1, False), (5, False), (5, True), (10, False), (10, True))  # slowdown, balanced


def report(costs: Costs, base: Setting) -> None:
    print(f"costs: {costs.source}")
    print(
        f"  update {costs.update * 1e3:.1f} ms (spread {costs.update_spread:.0%}), message "
        f"{costs.latency * 1e6:.0f} µs, {1e-6 / costs.byte_transfer:,.0f} MB/s, adding "
        f"{costs.byte_adding * 1e9:.2f} ns per byte"
    )
    print(
        f"  hand-over {base.handover_bytes / 1e6:.1f} MB, θ {base.average_bytes / 1e6:.1f} MB, "
        f"{base.trajectory} updates per visit"
    )
    print("SIMULATED: shares of the workers' time; updates/s; efficiency = updates/s over the sum")
    print("of what the workers make alone; least τ = updates per visit that outweigh messages")
    print("workers speeds     plan groups compute communicate   wait  updates/s efficiency least τ")
    taken_over: dict[str, int] = {}
    for n in WORKERS:
        for slowdown, balanced in SPEEDS:
            for n_groups in (0, 5, 1):
                setting = replace(
                    base, n_workers=n, slowdown=slowdown, balanced=balanced, n_groups=n_groups
                )
                got = simulate(costs, setting)
                plan = "balanced" if balanced else "equal τ"
                name = f"{f'1:{slowdown}':>6} {plan:>8} {n_groups or 'none':>6}"
                if got.communicating > got.computing:
                    taken_over.setdefault(name, n)
                print(
                    f"{n:>7} {name} {got.computing:>7.1%} {got.communicating:>11.1%} "
                    f"{got.waiting:>6.1%} {got.updates_per_second:>10,.0f} "
                    f"{got.efficiency:>10.1%} {shortest_trajectory(costs, setting):>7}"
                )
    for name, n in taken_over.items():
        print(f"SIMULATED: communication exceeds computing from {n} workers on: {name}")
    if len(taken_over) < len(SPEEDS) * 3:
        where = "in all other settings" if taken_over else "in all settings"
        print(f"SIMULATED: computing exceeds it {where} up to {WORKERS[-1]:,} workers")


def main() -> None:
    import quiet  # beside this file, which tests import from elsewhere

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rank", help="(what measure starts)")
    measuring = commands.add_parser("measure", help="time the transport on this machine")
    quiet.add_option(measuring)
    measuring.add_argument("-o", "--output", required=True)
    measuring.add_argument("corpus", type=Path)
    measuring.add_argument("--topics", type=int, default=100)
    measuring.add_argument("--sampler", choices=["scir", "sgrld"], default="scir")
    simulating = commands.add_parser("simulate", help="simulate clusters from measured costs")
    simulating.add_argument("costs")
    simulating.add_argument("--words", type=int, default=7702)
    simulating.add_argument("--topics", type=int, default=100)
    simulating.add_argument("--trajectory", type=int, default=10)
    simulating.add_argument("--latency", type=float, help="assume another latency (seconds)")
    simulating.add_argument("--gbit", type=float, help="assume another bandwidth (Gbit/s)")
    simulating.add_argument("--no-gather", action="store_true", help="no exchange of delays")
    arguments = parser.parse_args()
    if arguments.command == "rank":
        rank_job()
    elif arguments.command == "measure":
        found = quiet.record(quiet.at_start(arguments))
        sampler = arguments.sampler
        costs = measure(*time_updates(arguments.corpus, arguments.topics, sampler), sampler)
        told = json.dumps({**asdict(costs), "record": found}, indent=1)
        Path(arguments.output).write_text(told, encoding="utf-8")
        print(told)
    else:
        told = json.loads(Path(arguments.costs).read_text(encoding="utf-8"))
        told.pop("record", None)
        costs = Costs(**told)
        if arguments.latency is not None or arguments.gbit is not None:
            costs = replace(
                costs,
                latency=costs.latency if arguments.latency is None else arguments.latency,
                byte_transfer=(
                    8e-9 / arguments.gbit if arguments.gbit is not None else costs.byte_transfer
                ),
                source=costs.source + "; NETWORK ASSUMED",
            )
        theta = 4 * arguments.words * arguments.topics
        report(
            costs,
            Setting(
                n_workers=0,
                trajectory=arguments.trajectory,
                average_bytes=theta,
                handover_bytes=theta * (2 if costs.sampler == "scir" else 1),
                gather=not arguments.no_gather,
            ),
        )


if __name__ == "__main__":
    main()

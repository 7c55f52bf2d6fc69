"""topicmc and what people use instead, on the same cores: perplexity against training time.

    python bench/peers run RESULTS.json CORPUS…     measure, print tables, draw
    python bench/peers chase RESULTS.json CORPUS    tomotopy's sweeps, and who is there sooner
    python bench/peers show RESULTS.json            tables and pictures of what was measured

CORPUS are prepared corpora with held-out documents. bench/README.md says how to read the outcome.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from contenders import CONTENDERS, Contender, ours
from picture import draw
from results import Results, version_of
from tables import REFERENCE, tables

from topicmc.corpora import Corpus

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
import quiet  # noqa: E402


def main() -> None:
    options = parse()
    if options.command == "show":
        results = Results(options.results)
        for name in {point["contender"] for point in results.points()}:
            if options.contenders and name not in options.contenders.split(","):
                results.drop(contender=name)  # here, not in the file
        show(results, options.pictures)
        return
    quiet.conditions(options.anyway)
    pin(options.threads)
    settings = {name: getattr(options, name) for name in ("topics", "alpha", "beta", "threads")}
    results = Results(options.results, settings)
    contenders = chosen(options)
    for name in options.again.split(",") if options.again else ():
        results.drop(contender=name)
    rounds = {"run": run, "chase": chase}[options.command]
    failed = [
        name for seed in range(options.seeds) for name in rounds(options, results, contenders, seed)
    ]
    show(results, options.pictures)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python bench/peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run_ = commands.add_parser("run", help="measure contenders at training seconds")
    run_.add_argument("results", type=Path)
    run_.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    run_.add_argument("--seconds", default="5,10,15,30,60,100", help="budgets [%(default)s]")
    run_.add_argument("--contenders", default=",".join(CONTENDERS), help="[all]")
    chase_ = commands.add_parser("chase", help=f"measure who overtakes sweeps of {REFERENCE}")
    chase_.add_argument("results", type=Path)
    chase_.add_argument("corpora", type=Path, nargs=1, metavar="CORPUS")
    chase_.add_argument("--sweeps", type=int, default=50, help="[%(default)s]")
    chase_.add_argument(
        "--shares", default="0.02,0.04,0.06,0.08,0.1,0.15,0.2", help="of its time [%(default)s]"
    )
    chase_.add_argument("--contenders", default="topicmc-auto", help="[%(default)s]")
    for command in (run_, chase_):
        command.add_argument("--topics", type=int, default=100, help="[%(default)s]")
        command.add_argument("--alpha", type=float, default=0.1, help="[%(default)s]")
        command.add_argument("--beta", type=float, default=0.01, help="[%(default)s]")
        command.add_argument("--threads", type=int, default=2, help="cores to use [%(default)s]")
        command.add_argument("--seeds", type=int, default=3, help="how many [%(default)s]")
        command.add_argument(
            "--ours",
            action="append",
            default=[],
            metavar="NAME=OPTIONS",
            help="one more contender: topicmc with these options of topicmc train",
        )
        quiet.add_option(command)
        command.add_argument("--again", metavar="NAMES", help="forget what these have measured")
    show_ = commands.add_parser("show", help="tables and pictures of a file of results")
    show_.add_argument("results", type=Path)
    show_.add_argument("--contenders", help="[all]")
    for command in (run_, chase_, show_):
        command.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw into FOLDER")
    return parser.parse_args()


def pin(threads: int) -> None:
    """This process and all that it starts keep to the first ``threads`` cores."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < threads:
            raise SystemExit(f"--threads {threads}: there are {len(cores)} cores")
        os.sched_setaffinity(0, cores[:threads])


def chosen(options: argparse.Namespace) -> list[Contender]:
    """The contenders asked for that are installed."""
    known = dict(CONTENDERS)
    names = [name for name in options.contenders.split(",") if name]
    for text in options.ours:
        name, _, arguments = text.partition("=")
        known[name] = ours(name, arguments)
        names.append(name)
    if unknown := set(names) - set(known):
        raise SystemExit(f"--contenders {', '.join(unknown)}: there are {', '.join(known)}")
    present = [known[name] for name in names if version_of(known[name].package)]
    for name in names:
        if known[name] not in present:
            say(f"{name} is left out: pip install {known[name].package}")
    if not present:
        raise SystemExit("no contender is left: see --contenders")
    return present


# --- rounds ---------------------------------------------------------------------------------------


def run(options, results: Results, contenders: list[Contender], seed: int) -> list[str]:
    """Contenders in turn on each corpus, another one first for each seed; returns who failed."""
    budgets = sorted(float(text) for text in options.seconds.split(","))
    first = seed % len(contenders)
    failed = []
    for path in options.corpora:
        for contender in contenders[first:] + contenders[:first]:
            if not measure(results, path, contender, seed, budgets, anyway=options.anyway):
                failed.append(contender.name)
    return failed


def chase(options, results: Results, contenders: list[Contender], seed: int) -> list[str]:
    """The reference for so many sweeps, and the others for shares of the time that it took."""
    path = options.corpora[0]
    reference = CONTENDERS[REFERENCE]
    sweeps = [float(options.sweeps)]
    if not measure(results, path, reference, seed, sweeps, "sweeps", anyway=options.anyway):
        return [REFERENCE]
    where = {"corpus": name_of(path), "contender": REFERENCE, "seed": seed, "unit": "sweeps"}
    seconds = results.points(**where, budget=float(options.sweeps))[0]["seconds"]
    shares = [float(text) for text in options.shares.split(",")]
    budgets = sorted(round(share * seconds, 1) for share in shares)
    return [
        contender.name
        for contender in contenders
        if not measure(results, path, contender, seed, budgets, anyway=options.anyway)
    ]


def measure(
    results: Results,
    path: Path,
    contender: Contender,
    seed: int,
    budgets: list[float],
    unit: str = "s",
    *,
    anyway: bool,
) -> bool:
    """Trains a contender for the budgets that are not known yet; whether it all went well."""
    where = {"corpus": name_of(path), "contender": contender.name, "seed": seed, "unit": unit}
    results.note_corpus(name_of(path), Corpus.open(path))
    missing = results.missing(budgets, **where)
    if not missing:
        return True
    facts = {"version": version_of(contender.package), **quiet.again(anyway)}
    task = {
        "corpus": str(path.resolve()),
        "settings": {**results.settings, "seed": seed, "unit": unit},
        "budgets": missing,
        **{name: getattr(contender, name) for name in ("trainer", "options", "by_budget")},
    }
    command = [sys.executable, str(HERE / "measure.py"), json.dumps(task)]
    environment = os.environ | threads_of(contender, results.settings["threads"])
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not line.startswith("{"):  # a library speaks
                say(line.rstrip())
                continue
            point = {**where, **json.loads(line), **facts, "options": contender.options}
            results.add(point)
            text = "{corpus} {contender} seed {seed}: {perplexity:,.1f} at {seconds:.1f} s"
            say(text.format(**point))
    return process.returncode == 0


def threads_of(contender: Contender, threads: int) -> dict[str, str]:
    """The environment that keeps numerical libraries to their share of the cores."""
    blas = str(contender.blas or threads)
    names = ("OMP", "OPENBLAS", "MKL", "BLIS")
    pinned = {f"{name}_NUM_THREADS": blas for name in names}
    return {**pinned, "NUMBA_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}


def name_of(path: Path) -> str:
    return path.resolve().name


def show(results: Results, pictures: Path | None) -> None:
    print("\n".join(tables(results)))
    if pictures:
        for path in draw(results, pictures):
            say(f"drew {path}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

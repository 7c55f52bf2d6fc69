"""topicmc and what people use instead, on the same cores: perplexity against training time.

    python bench/peers run RESULTS.json CORPUS…     measure, print tables, draw
    python bench/peers chase RESULTS.json CORPUS    tomotopy's sweeps, and who is there sooner
    python bench/peers grow RESULTS.json FOLDER     time against topics, documents and words
    python bench/peers show RESULTS.json            tables and pictures of what was measured

CORPUS are prepared corpora with held-out documents. bench/README.md says how to read the outcome.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import growth
from contenders import CONTENDERS, Contender, ours
from picture import draw
from results import Results
from rounds import chase, run, say
from tables import REFERENCE, tables

sys.path.append(str(Path(__file__).parents[1]))
import quiet


def main() -> None:
    options = parse()
    if options.command == "show":
        results = Results(options.results)
        for name in {point["contender"] for point in results.points()}:
            if options.contenders and name not in options.contenders.split(","):
                results.drop(contender=name)  # here, not in the file
        show(results, options.pictures)
        return
    quiet.at_start(options)
    pin(options.threads)
    names = ("topics", "alpha", "beta", "threads")
    settings = {name: getattr(options, name) for name in names if name in options}
    results = Results(options.results, settings)
    contenders = chosen(options)
    for name in options.again.split(",") if options.again else ():
        results.drop(contender=name)
    rounds = {"run": run, "chase": chase, "grow": growth.grow}[options.command]
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
    grow_ = commands.add_parser("grow", help="measure how time grows with the size of things")
    grow_.add_argument("results", type=Path)
    grow_.add_argument("folder", type=Path, help="of generated corpora, made where missing")
    grow_.add_argument("--corpus", type=Path, help="whose topics grow in number [a generated one]")
    grow_.add_argument("--axes", default=",".join(growth.AXES), help="[%(default)s]")
    grow_.add_argument("--values", help="of these axes, to take a part [all]")
    grow_.add_argument("--cap", type=float, default=320, help="seconds of a run [%(default)s]")
    grow_.add_argument("--tokens", type=float, default=50, help="of a document [%(default)s]")
    grow_.add_argument("--contenders", default="topicmc-auto,tomotopy", help="[%(default)s]")
    for command in (run_, chase_):
        command.add_argument("--topics", type=int, default=100, help="[%(default)s]")
    for command in (run_, chase_, grow_):
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
    for command in (run_, chase_, grow_, show_):
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
    present = [known[name] for name in names if quiet.version_of(known[name].package)]
    for name in names:
        if known[name] not in present:
            say(f"{name} is left out: pip install {known[name].package}")
    if not present:
        raise SystemExit("no contender is left: see --contenders")
    return present


def show(results: Results, pictures: Path | None) -> None:
    of_growth = "topics" not in results.settings
    print("\n".join((growth.growth_tables if of_growth else tables)(results)))
    if pictures:
        for path in (growth.draw_growth if of_growth else draw)(results, pictures):
            say(f"drew {path}")


if __name__ == "__main__":
    main()

"""Makes the tables and pictures of README.md and docs/speed.md.

    python bench/published.py FOLDER [--only SECTION…] [--seconds 5,10,30] [--seeds 3] [--cap 320]
    python bench/published.py --write

FOLDER holds prepared corpora named arxiv, wikipedia, wikipedia-paragraphs and kos, or links to
them; the generated ones are made in it. Each section has a results file in bench/results. It is
measured into a file beside that one, which takes its place when it is complete; of the sections of
bench/peers what was cut off goes on when the command is given again, unless --afresh. Then pictures
are drawn to docs/pictures, and the tables are written into the pages between their markers. --write
does that alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import quiet

from topicmc.storage.files import read_json

sys.path.append(str(Path(__file__).parent / "peers"))
import inference
import start
import threads
import versions
from growth import AXES, along, growth_tables
from results import Results
from tables import (
    CORPORA,
    REFERENCE,
    REFERENCE_BUDGETS,
    against_reference,
    by_time,
    curves,
    learned,
    markdown,
    ours_first,
    spread,
    time_to_reach,
)

BENCH = Path(__file__).parent
RESULTS = BENCH / "results"
PICTURES = BENCH.parent / "docs" / "pictures"
PAGES = (BENCH.parent / "README.md", BENCH.parent / "docs" / "speed.md")
MARKED = re.compile(r"(<!-- measured: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
UNKNOWN = "Not measured yet."

LONG, SHORT = "5,10,15,30,60,100", "1,2,5,10,30"
OURS = "topicmc-auto"
ONE_STATE = f"{OURS}, one state"
FEW = f"{OURS},topicmc-minibatch,{REFERENCE}"
ALL = f"{FEW},topicmc-sgrld,topica,topica-warp,gensim,sklearn,topicmc-alpha,tomotopy-alpha"


# --- what is written ------------------------------------------------------------------------------


def of_peers(results: Path) -> Iterator[str]:
    """Perplexity by time, time to the reference's, and what learning α brings."""
    known = Results(results)
    ((name, facts),) = known.corpora.items()
    points = sorted(known.points(unit="s"), key=lambda point: ours_first(point["contender"]))
    tokens = f"{facts['tokens'] / 1e6:.1f} M tokens"
    where = f"{CORPORA.get(name, name)}, {tokens}, K = {known.settings['topics']:,}"
    learning = [point for point in points if point["contender"].endswith("-alpha")]
    given = [point for point in points if point not in learning]
    given = sorted([*given, *one_state(given)], key=lambda point: ours_first(point["contender"]))
    yield f"{where}: perplexity by seconds of training.\n"
    yield from markdown(by_time(given))
    if against := against_reference(given):
        yield f"\nSeconds to reach what {REFERENCE} has after the time in brackets:\n"
        yield from markdown(against)
    if learning:
        longest = max(point["budget"] for point in points)
        yield f"\nWith α learned, after {longest:g} s:\n"
        yield from markdown(learned(learning))
    yield from ("", circumstances(read_json(results), points))


def one_state(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ours by the newest sample alone. What we export is a mean over samples; the reference's
    topics are those of one state."""
    return [
        point | {"contender": ONE_STATE, "perplexity": point["perplexity_sample"]}
        for point in points
        if point["contender"] == OURS and "perplexity_sample" in point
    ]


def of_scir(results: Path) -> Iterator[str]:
    """Perplexity by time on each corpus."""
    known = Results(results)
    for name in known.corpora:
        points = sorted(
            known.points(corpus=name, unit="s"), key=lambda p: ours_first(p["contender"])
        )
        yield f"{CORPORA.get(name, name)}, K = {known.settings['topics']:,}:\n"
        yield from (*markdown(by_time(points)), "")
    yield circumstances(read_json(results), known.points())


def of_growth(results: Path) -> Iterator[str]:
    """A table and a picture for each axis."""
    known = Results(results)
    yield from growth_tables(known)
    for axis in AXES:
        if along(known, axis) and (PICTURES / f"growth-{axis}.png").exists():
            yield f"![Training time against {axis}](pictures/growth-{axis}.png)\n"
    yield circumstances(read_json(results), known.points())


def of_table(table: Callable[[dict], list[list[str]]], results: Path) -> Iterator[str]:
    """The one table of a file of another bench."""
    found = read_json(results)
    sizes = {"K": found.get("topics"), "threads": found.get("threads")}
    told = [f"{name} = {size:,}" for name, size in sizes.items() if size]
    corpus = found.get("corpus")
    told = [*([CORPORA.get(corpus, corpus)] if corpus else []), *told]
    old = [f"old is {found['old']}"] if found.get("old") else []
    if told or old:
        yield ", ".join([*told, *old]) + ":\n"
    yield from markdown(table(found))
    yield from ("", circumstances(found, found.get("runs", [])))


def in_short(folder: Path) -> Iterator[str]:
    """For the README: how long we take, by one state, for what the reference has after some
    budgets."""
    files = [path for name in list(CORPORA)[:3] if (path := folder / f"peers-{name}.json").exists()]
    known = {path: Results(path) for path in files}
    points = [
        point
        for results in known.values()
        for contender in (REFERENCE, OURS)
        for point in results.points(contender=contender, unit="s")
    ]
    there = {point["budget"] for point in points if point["contender"] == REFERENCE}
    budgets = [budget for budget in REFERENCE_BUDGETS if budget in there]
    head = f"seconds until topicmc is as good as {REFERENCE} after"
    rows = [[head, *(f"{budget} s" for budget in budgets)]]
    for results in known.values():
        ((name, facts),) = results.corpora.items()
        row = [f"{CORPORA[name]}, {facts['tokens'] / 1e6:.1f} M tokens"]
        ours = curves(one_state(results.points(contender=OURS, unit="s")))
        for budget in budgets:
            theirs = results.points(contender=REFERENCE, unit="s", budget=budget)
            goal = [point["perplexity"] for point in theirs]
            row.append(seconds_to(median(goal), ours) if goal and ours else "")
        rows.append(row)
    yield from markdown(rows)
    yield from ("", circumstances(read_json(files[0]) if files else {}, points))


def seconds_to(goal: float, by_seed: Iterable[Any]) -> str:
    """When the curves of all seeds are at a perplexity."""
    answers = [time_to_reach(curve, goal) for curve in by_seed]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        return "never" if not known else f"never in {len(answers) - len(known)} of {len(answers)}"
    bound = "" if all(exact for _, exact in known) else "≤ "
    return bound + spread(seconds for seconds, _ in known)


def circumstances(found: dict[str, Any], measurements: list[dict[str, Any]]) -> str:
    """When, where, under which load and with which versions, as far as the file tells."""
    each = measurements or [found]
    machine = found.get("machine", "a machine that was not recorded")
    if isinstance(machine, dict):
        machine = f"{machine['processor']}, {machine['cores']} cores"
    dates = sorted({one["date"] for one in each if "date" in one})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "on an unrecorded day"
    told = [f"Measured {when}", str(machine)]
    if loads := [one["load"] for one in each if "load" in one and "busy" not in one]:
        high = max(loads) > quiet.MOST
        told.append(f"1-minute load {_range(loads)}" + ", so others used the machine" * high)
    if busy := [one["busy"] for one in each if "busy" in one]:
        told.append(f"{_range(busy)} cores busy with other work before each measurement")
    told_versions = {k: [v] for k, v in found.get("versions", {}).items() if v and k != "scipy"}
    for one in measurements:
        if "version" in one:
            ours = one["contender"].startswith("topicmc")
            name = "topicmc" if ours else one["contender"].removesuffix("-alpha")
            told_versions.setdefault(name, []).append(one["version"])
    told += [f"{name} {' and '.join(dict.fromkeys(v))}" for name, v in told_versions.items()]
    if seeds := {one["seed"] for one in each if "seed" in one}:
        told.append("one seed" if len(seeds) == 1 else f"up to {len(seeds)} seeds")
    return f"<sub>{'; '.join(told)}.</sub>"


def _range(figures: list[float]) -> str:
    return "–".join(dict.fromkeys([f"{min(figures):g}", f"{max(figures):g}"]))


# --- sections -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """A results file, the command that makes it, and what is written of it.

    Attributes:
        corpus: which corpus of the folder it needs.
        arguments: of Python, by the options and the file to write.
        lines: Markdown, by the file.
        drawn: whether `bench/peers show` draws pictures of it.
    """

    file: str
    corpus: str
    arguments: Callable[[argparse.Namespace, str], list[str]]
    lines: Callable[[Path], Iterator[str]]
    drawn: bool = False


def _peers(corpus: str, seconds: str, contenders: str, *more: str) -> Callable[..., list[str]]:
    def arguments(options: argparse.Namespace, output: str) -> list[str]:
        return [
            *("bench/peers", "run", output, str(options.folder / corpus), *more),
            *("--seconds", options.seconds or seconds, "--seeds", str(options.seeds)),
            *("--contenders", options.contenders or contenders),
        ]

    return arguments


def _scir(options: argparse.Namespace, output: str) -> list[str]:
    corpora = (options.folder / name for name in ("arxiv", "wikipedia"))
    return [
        *("bench/peers", "run", output, *map(str, corpora)),
        *("--seconds", options.seconds or "10,30,60", "--seeds", str(options.seeds)),
        *("--contenders", f"{OURS},topicmc-scir,topicmc-minibatch"),
    ]


def _inference(options: argparse.Namespace, output: str) -> list[str]:
    corpus = str(options.folder / "arxiv")
    return ["bench/inference.py", corpus, "-o", output, "--repeats", str(options.seeds)]


def _growth(axes: str) -> Callable[..., list[str]]:
    def arguments(options: argparse.Namespace, output: str) -> list[str]:
        return [
            *("bench/peers", "grow", output, str(options.folder / "generated"), "--axes", axes),
            *(["--values", options.values] if options.values else []),
            *("--corpus", str(options.folder / "arxiv"), "--cap", f"{options.cap:g}"),
            *("--seeds", str(options.seeds)),
        ]

    return arguments


def _versions(options: argparse.Namespace, output: str) -> list[str]:
    if not options.old_python:
        raise SystemExit("the section versions needs --old-python, with another version installed")
    named = ["--old-name", options.old_name] if options.old_name else []
    corpora = [str(options.folder / name) for name in ("arxiv", "wikipedia")]
    return ["bench/versions.py", options.old_python, *corpora, *_seeds(options, output), *named]


def _threads(options: argparse.Namespace, output: str) -> list[str]:
    return ["bench/threads.py", str(options.folder / "arxiv"), *_seeds(options, output)]


def _seeds(options: argparse.Namespace, output: str) -> list[str]:
    return ["--seeds", *map(str, range(options.seeds)), "--results", output]


def _first_run(options: argparse.Namespace, output: str) -> list[str]:
    corpus = str(options.folder / "kos")
    return ["bench/start.py", corpus, "--repeats", str(options.seeds), "--results", output]


def _corpus(name: str, seconds: str, contenders: str) -> Section:
    return Section(f"peers-{name}", name, _peers(name, seconds, contenders), of_peers, drawn=True)


def _thousand(file: str, corpus: str) -> Section:
    peers = _peers(corpus, "40,180", f"{OURS},{REFERENCE}", "--topics", "1000")
    return Section(file, corpus, peers, of_peers, drawn=True)


def _growing(axis: str) -> Section:
    return Section(f"growth-{axis}", "arxiv", _growth(axis), of_growth, drawn=True)


SECTIONS = {
    "arxiv": _corpus("arxiv", LONG, ALL),
    "wikipedia": _corpus("wikipedia", LONG, FEW),
    "wikipedia-paragraphs": _corpus("wikipedia-paragraphs", LONG, FEW),
    "kos": _corpus("kos", SHORT, FEW),
    "scir": Section("scir", "arxiv", _scir, of_scir),
    "k1000": _thousand("k1000", "arxiv"),
    "k1000-wikipedia": _thousand("k1000-wikipedia", "wikipedia"),
    "inference": Section("inference", "arxiv", _inference, partial(of_table, inference.table)),
    "growth-topics": _growing("topics"),
    "growth-documents": _growing("documents"),
    "growth-words": _growing("words"),
    "versions": Section("versions", "arxiv", _versions, partial(of_table, versions.table)),
    "threads": Section("threads", "arxiv", _threads, partial(of_table, threads.table)),
    "first-run": Section("first-run", "kos", _first_run, partial(of_table, start.table)),
}


def rendered(page: str, results: Path = RESULTS) -> str:
    """A page with what the results give between its markers."""

    def replaced(match: re.Match[str]) -> str:
        before, name, after = match.groups()
        if name == "in-short":
            lines = in_short(results)
        else:
            path = results / f"{SECTIONS[name].file}.json"
            lines = SECTIONS[name].lines(path) if path.exists() else iter([UNKNOWN])
        body = "\n".join(lines).strip("\n")
        return f"{before}\n{body}\n\n{after}"

    return MARKED.sub(replaced, page)


def write() -> None:
    for page in PAGES:
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")


def measure(section: Section, options: argparse.Namespace) -> bool:
    """Makes the results file of a section anew; whether all of it went well."""
    part = RESULTS / f"{section.file}.part.json"
    if options.afresh:
        part.unlink(missing_ok=True)
    allowed = ["--anyway"] if options.anyway else ["--wait", "600"]
    command = [sys.executable, *section.arguments(options, str(part)), *allowed]
    print("+", " ".join(command), flush=True)
    if subprocess.run(command, cwd=BENCH.parent).returncode:
        print(f"{section.file}: cut off or failed; give the same command again", flush=True)
        return False
    part.replace(RESULTS / f"{section.file}.json")
    if section.drawn:
        show = ["bench/peers", "show", f"bench/results/{section.file}.json"]
        subprocess.run(
            [sys.executable, *show, "--pictures", str(PICTURES)],
            cwd=BENCH.parent, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="of prepared corpora")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="SECTION", help="[all]")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, help="of sections on these [all]")
    parser.add_argument("--seconds", help="budgets of peers [those of the pages]")
    parser.add_argument("--seeds", type=int, default=3, help="or repeats [%(default)s]")
    parser.add_argument("--contenders", help="peers [those of the pages]")
    parser.add_argument("--cap", type=float, default=320, help="of growth [%(default)s]")
    parser.add_argument("--values", help="of growth, the points of the curve [all]")
    parser.add_argument("--old-python", help="of versions: that has another version installed")
    parser.add_argument("--old-name", help="what that is called")
    parser.add_argument("--afresh", action="store_true", help="do not go on with what was cut off")
    parser.add_argument("--anyway", action="store_true", help="measure on a busy machine")
    parser.add_argument("--write", action="store_true", help="measure nothing, write the pages")
    options = parser.parse_args()
    failed = []
    if not options.write:
        if options.folder is None:
            parser.error("FOLDER, of prepared corpora, or --write")
        options.folder = options.folder.absolute()
        for name in options.only or SECTIONS:
            section = SECTIONS[name]
            if options.corpora and section.corpus not in options.corpora:
                continue
            if name == "versions" and not options.only and not options.old_python:
                print("versions is left out: it needs --old-python", flush=True)
            elif not (options.folder / section.corpus).is_dir():
                print(f"{name} is left out: no {options.folder / section.corpus}", flush=True)
                failed.append(name)
            elif not measure(section, options):
                failed.append(name)
    write()
    if failed:
        raise SystemExit(f"not made: {', '.join(failed)}")


if __name__ == "__main__":
    main()

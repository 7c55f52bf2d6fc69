"""Tables of results, in Markdown. Figures are medians over seeds, with least and greatest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from results import Results

CORPORA = {
    "arxiv": "arXiv abstracts",
    "wikipedia": "Wikipedia articles",
    "wikipedia-paragraphs": "Wikipedia paragraphs",
    "kos": "KOS blog posts",
}
REFERENCE = "tomotopy"
REFERENCE_BUDGETS = (30, 60, 100, 180, 300)
Curve = Sequence[tuple[float, float]]  # (seconds, perplexity)


def time_to_reach(curve: Curve, target: float) -> tuple[float, bool] | None:
    """When a curve of (seconds, perplexity) first is at ``target``, and whether that is exact.

    Between two points perplexity is taken to be linear in the logarithm of time, which errs on the
    late side where the curve flattens out. A curve that begins below the target was there
    earlier than its first point, which is returned as inexact; None if it never gets there.
    """
    curve = sorted(curve)
    for i, (seconds, value) in enumerate(curve):
        if value > target:
            continue
        if i == 0:
            return seconds, value == target
        before, above = curve[i - 1]
        share = (above - target) / (above - value)
        return before * (seconds / before) ** share, True
    return None


def tables(results: Results) -> Iterator[str]:
    """All tables of all corpora, line by line."""
    for corpus, facts in results.corpora.items():
        settings = results.settings
        yield (
            f"### {corpus}: {facts['documents']:,} documents, {facts['tokens']:,} tokens,"
            f" {facts['words']:,} words, K = {settings['topics']}\n"
        )
        timed = results.points(corpus=corpus, unit="s")
        for title, table in (
            ("Perplexity by training time", by_time(timed)),
            (f"Seconds to reach what {REFERENCE} reaches", against_reference(timed)),
            ("Learned α, at the longest budget", learned(timed)),
            (f"Seconds to reach what sweeps of {REFERENCE} reach", chased(results, corpus)),
        ):
            if table:
                yield f"{title}\n"
                yield from markdown(table)
                yield ""


def by_time(points: list[dict]) -> list[list[str]]:
    """A row for each contender, a column for each budget; where the first state after a budget was
    much later, it is said when."""
    budgets = sorted({point["budget"] for point in points})
    rows = [["", *(f"{budget:g} s" for budget in budgets)]]
    for name, mine in by_contender(points):
        row = [name]
        for budget in budgets:
            here = [point for point in mine if point["budget"] == budget]
            row.append(spread(point["perplexity"] for point in here))
            if here and (late := median(point["seconds"] for point in here)) > 1.1 * budget:
                row[-1] += f" at {late:.1f} s"
        rows.append(row)
    return rows if points else []


def against_reference(points: list[dict]) -> list[list[str]]:
    """When each contender reaches the reference's median at some budgets, and that budget over it.
    Seeds count one by one."""
    targets = {}
    for budget in REFERENCE_BUDGETS:
        figures = [
            point["perplexity"]
            for point in points
            if point["contender"] == REFERENCE and point["budget"] == budget
        ]
        if figures:
            targets[budget] = median(figures)
    if not targets:
        return []
    rows = [["", *(f"{target:.0f} ({budget} s)" for budget, target in targets.items())]]
    for name, mine in by_contender(points):
        if name != REFERENCE:
            rows.append([name, *(_reached(mine, b, target) for b, target in targets.items())])
    return rows


def _reached(points: list[dict], budget: float, target: float) -> str:
    answers = [time_to_reach(curve, target) for curve in curves(points)]
    if not answers or None in answers:
        never = sum(answer is None for answer in answers)
        return "never" if never == len(answers) else f"never in {never} of {len(answers)}"
    seconds = [answer[0] for answer in answers]
    bound = "" if all(answer[1] for answer in answers) else "≤ "
    least = "at least " if bound else ""
    return f"{bound}{spread(seconds)} s ({least}{budget / median(seconds):.1f} ×)"


def learned(points: list[dict]) -> list[list[str]]:
    """Single topics under the learned and the given α, and probabilities averaged over samples;
    below, how far each of topicmc's is ahead of the best figure of the peers that learn α."""
    if not points:
        return []
    longest = max(point["budget"] for point in points)
    last = [p for p in points if p["budget"] == longest and "perplexity_given_alpha" in p]
    if not last:
        return []
    names = ("perplexity", "perplexity_given_alpha", "perplexity_averaged")
    rows = [["", "one φ", "one φ, the given α", "averaged", "averaged, beside the best peer"]]
    best = [
        median(figures)
        for name, mine in by_contender(last)
        for figures in ([p[kind] for p in mine if p.get(kind)] for kind in names)
        if figures and not name.startswith("topicmc")
    ]
    for name, mine in by_contender(last):
        figures = [[p[kind] for p in mine if p.get(kind)] for kind in names]
        gain = ""
        if name.startswith("topicmc") and best and figures[-1]:
            gain = f"{median(figures[-1]) / min(best) - 1:+.1%}"
        rows.append([name, *map(spread, figures), gain])
    return rows


def chased(results: Results, corpus: str) -> list[list[str]]:
    """The reference after so many sweeps, and when the others are there."""
    rows: list[list[str]] = []
    for goal in results.points(corpus=corpus, contender=REFERENCE, unit="sweeps"):
        rows = rows or [["sweeps", "seed", "perplexity", "its seconds", "contender", "seconds"]]
        mine = results.points(corpus=corpus, seed=goal["seed"], unit="s")
        for name, points in by_contender(mine):
            if name == REFERENCE:
                continue
            facts = (f"{goal['budget']:g}", str(goal["seed"]), f"{goal['perplexity']:.0f}")
            reached = _reached(points, goal["seconds"], goal["perplexity"])
            rows.append([*facts, f"{goal['seconds']:.1f}", name, reached])
    return rows


def spread(figures: Iterable[float]) -> str:
    """``median (least–greatest)``, or the one figure there is."""
    figures = sorted(figures)
    if not figures:
        return ""
    digits = 0 if figures[0] >= 100 else 1
    text = f"{median(figures):.{digits}f}"
    if len(figures) > 1:
        text += f" ({figures[0]:.{digits}f}–{figures[-1]:.{digits}f})"
    return text


def ours_first(name: str) -> tuple[bool, str]:
    """Sorts names of contenders."""
    return not name.startswith("topicmc"), name


def by_contender(points: list[dict]) -> Iterator[tuple[str, list[dict]]]:
    for name in dict.fromkeys(point["contender"] for point in points):
        yield name, [point for point in points if point["contender"] == name]


def curves(points: list[dict]) -> list[Curve]:
    """(seconds, perplexity) of each seed."""
    seeds = sorted({point["seed"] for point in points})
    return [[(p["seconds"], p["perplexity"]) for p in points if p["seed"] == s] for s in seeds]


def markdown(rows: list[list[Any]]) -> Iterator[str]:
    head, *body = rows
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for row in body:
        yield "| " + " | ".join(row) + " |"

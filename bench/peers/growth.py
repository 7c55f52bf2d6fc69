"""How training time grows with the topics, the documents and the words.

At each point of a curve the contenders take turns on longer and longer budgets until each is at
rest (`at_rest`) or has had the cap. Asked is when each is at one common level: 2 % above the worst
of the perplexities at which contenders have come to rest, or, where none has within the cap, of
those that they end at with topics that have formed (`BLUNT`). Every contender that rests reaches
it, so none is asked for what the other's mode alone gives it; and none is there soon only because
it stops early and high, as it would be with 2 % above its own end. A contender that is not there
within the cap is said to be so.
"""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contenders import Contender
from results import Results
from rounds import measure, name_of
from styles import style
from tables import (
    CORPORA,
    Curve,
    by_contender,
    curves,
    markdown,
    ours_first,
    spread,
    time_to_reach,
)

from topicmc.corpora import Corpus
from topicmc.models.heldout import split_documents
from topicmc.models.lda.scoring import SPLIT_SEED

sys.path.append(str(Path(__file__).parents[1]))
import generate

WITHIN = 1.02
RESTS = 0.995  # of the perplexity at half the time
BLUNT = 0.9  # of the perplexity of word frequencies alone: above, topics have not formed yet
AXES = {
    "topics": (50, 100, 200, 500, 1000, 2000, 5000, 10_000),
    "documents": (10**4, 10**5, 10**6, 10**7),
    "words": (5_000, 20_000, 80_000),
}
TOPICS, DOCUMENTS, WORDS = 100, 10**5, 20_000  # where they are not what grows


@dataclass(frozen=True)
class Place:
    """One point of the curves: a corpus, with its sizes if it is generated, and how many topics."""

    path: Path
    corpus: str
    topics: int
    documents: int | None = None
    words: int | None = None


def grow(options: Namespace, results: Results, contenders: list[Contender], seed: int) -> list[str]:
    """Measures the points asked for with one seed; returns who failed."""
    failed = []
    for place in places(options):
        facts = asdict(place)
        path = facts.pop("path")
        facts["unigram"] = unigram(Corpus.open(path))
        first = seed % len(contenders)
        moving = contenders[first:] + contenders[:first]
        for budgets in rungs(options.cap):
            for contender in list(moving):
                went_well = measure(
                    results, path, contender, seed, budgets, anyway=options.anyway, facts=facts
                )
                where = {"corpus": place.corpus, "topics": place.topics, "seed": seed}
                points = results.points(**where, contender=contender.name)
                if not went_well:
                    failed.append(contender.name)
                if not went_well or at_rest(curves(points)[0], facts["unigram"]):
                    moving.remove(contender)
    return failed


def places(options: Namespace) -> Iterator[Place]:
    """The points asked for. Corpora that are not in ``options.folder`` are generated there."""
    for axis in options.axes.split(","):
        if axis not in AXES:
            raise SystemExit(f"--axes {axis}: there are {', '.join(AXES)}")
        for value in AXES[axis]:
            if options.values and str(value) not in options.values.split(","):
                continue
            if axis == "topics" and options.corpus:
                yield Place(options.corpus, name_of(options.corpus), value)
                continue
            sizes = {"documents": DOCUMENTS, "words": WORDS, "topics": TOPICS, axis: value}
            name = f"{sizes['documents']}-documents-{sizes['words']}-words"
            path = generated(options.folder / name, sizes, options.tokens)
            yield Place(path, name, **sizes)


def generated(folder: Path, sizes: Mapping[str, int], tokens: float) -> Path:
    """A corpus of `bench/generate.py` of these sizes and so many tokens a document, made unless it
    is there."""
    settings = generate.Settings(
        documents=sizes["documents"], words=sizes["words"], tokens=tokens, topics=TOPICS
    )
    model = folder / generate.MARKER
    if not model.exists():
        generate.generate(settings, folder)
    known = json.loads(model.read_text())
    if {name: known[name] for name in asdict(settings)} != asdict(settings):
        raise SystemExit(f"{folder} holds a corpus of other settings: remove it, or name another")
    return folder / "corpus"


def unigram(corpus: Corpus) -> float:
    """Held-out perplexity of the frequencies of words, one smoothed count each."""
    counts = np.ones(corpus.n_words)
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        counts += np.bincount(shard.word_ids, shard.counts, minlength=corpus.n_words)
    scored = split_documents(corpus.heldout, seed=SPLIT_SEED).scored_word
    return math.exp(-np.mean(np.log(counts[scored] / counts.sum())))


def rungs(cap: float) -> list[list[float]]:
    """Budgets in doubling steps from a second to the cap, in the parts that are measured at once:
    up to an eighth of the cap, then the rest."""
    steps = [cap]
    while steps[0] >= 2:
        steps.insert(0, steps[0] / 2)
    short = [budget for budget in steps if budget <= cap / 8]
    return [part for part in (short, steps[len(short) :]) if part]


def at_rest(curve: Curve, unigram: float) -> bool:
    """Whether each of the last two doublings of time has lowered perplexity by less than 0.5 %, on
    a curve of (seconds, perplexity) whose topics have formed. One alone may be a pause."""
    curve = sorted(curve)
    seconds, last = curve[-1]
    if last >= BLUNT * unigram:
        return False
    for doublings in (1, 2):
        before = [score for at, score in curve if at <= 1.1 * seconds / 2**doublings]
        if not before or not last > RESTS * before[-1]:
            return False
        last = before[-1]
    return True


def common_level(by_name: Mapping[str, Sequence[Curve]], unigram: float) -> tuple[float, bool]:
    """The perplexity that contenders are asked for, by the curves of their seeds, and whether it is
    that of one which is at rest with all its seeds."""
    ends = {name: median(max(curve)[1] for curve in mine) for name, mine in by_name.items()}
    resting = [
        ends[name]
        for name, mine in by_name.items()
        if all(at_rest(curve, unigram) for curve in mine)
    ]
    formed = [end for end in ends.values() if end < BLUNT * unigram]
    return WITHIN * max(resting or formed or ends.values()), bool(resting)


@dataclass(frozen=True)
class Reached:
    """When the seeds of one contender were at the level: ``seconds`` of those that were, ``exact``
    unless one already was at its first point, ``cap`` the time that the others have had."""

    seconds: tuple[float, ...]
    exact: bool
    late: int
    cap: float

    def __str__(self) -> str:
        if not self.seconds:
            return f"not within {self.cap:.0f} s"
        text = "" if self.exact else "≤ "
        text += f"{spread(self.seconds)} s"
        return text + f", {self.late} not within {self.cap:.0f} s" * bool(self.late)


def reached(mine: Sequence[Curve], level: float) -> Reached:
    """When the seeds of a contender were there, by their curves."""
    answers = [time_to_reach(curve, level) for curve in mine]
    known = [answer for answer in answers if answer is not None]
    cap = max(max(curve)[0] for curve in mine)
    late = len(answers) - len(known)
    return Reached(tuple(s for s, _ in known), all(exact for _, exact in known), late, cap)


def along(results: Results, axis: str) -> list[dict]:
    """The points of a curve, each with its ``value`` there; none if all are at one place. The
    topics are those of the corpus that was given, where one was."""
    usual = {"topics": TOPICS, "documents": DOCUMENTS, "words": WORDS}
    points = results.points(**{name: size for name, size in usual.items() if name != axis})
    given = results.points(documents=None) if axis == "topics" else []
    found = [point | {"value": point[axis]} for point in given or points]
    return found if len({point["value"] for point in found}) > 1 else []


def outcomes(
    points: list[dict],
) -> Iterator[tuple[int, tuple[float, bool], dict[str, list[Curve]]]]:
    """Of one axis: value, `common_level`, and the curves of each contender."""
    for value in sorted({point["value"] for point in points}):
        here = [point for point in points if point["value"] == value]
        by_name = {name: curves(mine) for name, mine in by_contender(here)}
        yield value, common_level(by_name, here[0]["unigram"]), by_name


def growth_tables(results: Results) -> Iterator[str]:
    """A table for each axis, in Markdown."""
    for axis in AXES:
        points = along(results, axis)
        names = sorted({point["contender"] for point in points}, key=ours_first)
        if not points:
            continue
        rows: list[list[Any]] = [[axis, "level", *names, *(f"{name} ends at" for name in names)]]
        for value, (level, rests), by_name in outcomes(points):
            row = [f"{value:,}", f"{level:.0f}{'' if rests else ', none at rest'}"]
            for name in names:
                mine = by_name.get(name)
                row.append(str(reached(mine, level)) if mine else "")
            row += [spread(max(curve)[1] for curve in by_name.get(name, [])) for name in names]
            rows.append(row)
        corpora = sorted({point["corpus"] for point in points})
        on = CORPORA.get(corpora[0], corpora[0]) if axis == "topics" else "generated corpora"
        yield f"Time against {axis}, {on}\n"
        yield from markdown(rows)
        yield ""


def draw_growth(results: Results, folder: Path) -> list[Path]:
    """Writes ``growth-AXIS.png`` for each axis, both scales logarithmic: medians over the seeds,
    bars from the least to the greatest; a hollow marker where not all were there within the cap,
    which it stands at."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for axis in AXES:
        points = along(results, axis)
        if not points:
            continue
        figure, axes = plt.subplots(figsize=(6, 4.5))
        for name in sorted({point["contender"] for point in points}, key=ours_first):
            made = [
                (value, reached(by_name[name], level))
                for value, (level, _), by_name in outcomes(points)
                if name in by_name
            ]
            looks = style(name)
            full = [(value, found) for value, found in made if not found.late]
            middles = [median(found.seconds) for _, found in full]
            below = [m - min(f.seconds) for m, (_, f) in zip(middles, full, strict=True)]
            above = [max(f.seconds) - m for m, (_, f) in zip(middles, full, strict=True)]
            if full:
                axes.errorbar([v for v, _ in full], middles, [below, above], capsize=3, **looks)
            cut = [(value, found.cap) for value, found in made if found.late]
            if cut:
                looks |= {"linestyle": "none", "markerfacecolor": "white"}
                axes.plot(*zip(*cut, strict=True), **looks | {"label": f"{name}, not within"})
        axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="training seconds to the level")
        ticks = sorted({point["value"] for point in points})
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize="small")
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        figure.tight_layout()
        written.append(folder / f"growth-{axis}.png")
        figure.savefig(written[-1], dpi=120)
        plt.close(figure)
    return written

"""What runs with several numbers of topics show, and what to make of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.models.lda.scoring import score_run
from topicmc.posterior.traces import LOG_LIKELIHOOD, traces
from topicmc.storage.run_fields import scored
from topicmc.topics.choose.plots import Panel, write_panels
from topicmc.topics.coherence import document_counts, npmi
from topicmc.topics.diagnostics import diagnose, log_likelihoods
from topicmc.topics.judgement import moves
from topicmc.topics.ranking import top
from topicmc.topics.reading import TOP, diversity
from topicmc.topics.uncertainty import Posterior, posterior_of

CHANCE = 0.01  # relative difference of perplexities that one seed cannot tell from chance
_ENOUGH = 6  # evaluations, of which fewer tell no change from chance
_PARTS = 12  # of a trace, whose means stand in for evaluations
CAUTION = (
    "Do not take the lowest perplexity on trust: it rewards prediction, not topics that people can"
    " read, and more topics need longer training, while here all had the same budget. Read the"
    " topics of two or three K (topicmc topics) before you choose."
)


@dataclass(frozen=True)
class RunFigures:
    """One run: held-out perplexity averaged over some of its samples, None where it has none yet or
    nothing can be scored; mean NPMI coherence of its topics' ten likeliest words, share of
    different words among their 25 likeliest, training seconds."""

    path: str
    seed: int
    updates: int
    seconds: float
    perplexity: float | None
    npmi: float
    diversity: float

    @classmethod
    def of(cls, run: TopicRun, corpus: Corpus, samples: int) -> RunFigures:
        """The figures of a run that has ended, with its perplexity over so many samples at most."""
        phi = posterior_mean(run).phi
        record = run.metrics()[-1]
        perplexity = scored(record, "perplexity_averaged")
        if perplexity is not None and samples < _averaged_over(run):
            config = run.facts()["config"]
            threads, most = Threads(config["threads"]), -(-samples // config["chains"])
            score = score_run(run, corpus, run.vocabulary(), threads, most=most)
            perplexity = score.perplexity_averaged
        return cls(
            path=str(run.path),
            seed=run.facts()["config"]["seed"],
            updates=record["update"],
            seconds=record["seconds"],
            perplexity=perplexity,
            npmi=float(npmi(document_counts(top(phi, TOP), corpus)).mean()),
            diversity=diversity(top(phi, 25)),
        )


@dataclass(frozen=True)
class Point:
    """The runs with one number of topics.

    ``stable`` is the share of topics that all chains find, of one seed or several
    (`topicmc.topics.uncertainty`), None unless two chains have samples; ``converged`` whether each
    run has come to rest by the verdict of `topicmc.topics.diagnostics` on it alone, None where runs
    are too short to tell; ``settled`` whether the perplexity of each has, by which numbers of
    topics are compared: no change of more than 0.5 % over the second half of the run is told from
    chance (`topicmc.topics.judgement`), None where evaluations and what was traced are too few to
    tell.
    """

    topics: int
    runs: tuple[RunFigures, ...]
    stable: float | None
    converged: bool | None
    settled: bool | None

    @classmethod
    def of(cls, runs: Sequence[TopicRun], corpus: Corpus, samples: int) -> Point:
        """The point of runs that have ended, one for each seed."""
        posterior = posterior_of(runs)
        return cls(
            topics=len(posterior.phi),
            runs=tuple(RunFigures.of(run, corpus, samples) for run in runs),
            stable=float(posterior.stable.mean()) if posterior.knows_stable else None,
            converged=_all_converged(runs, posterior),
            settled=_all(map(_has_settled, runs)),
        )

    def mean(self, figure: str) -> float:
        """The mean of a figure over the seeds; NaN where one of them has none."""
        values = self.values(figure)
        return float(np.mean(values)) if len(values) == len(self.runs) else np.nan

    def spread(self, figure: str) -> float | None:
        """Its standard deviation over the seeds that have it; None with a single one."""
        values = self.values(figure)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def values(self, figure: str) -> list[float]:
        """A figure of each run that has it."""
        values = [getattr(run, figure) for run in self.runs]
        return [value for value in values if value is not None]

    def as_dict(self) -> dict[str, Any]:
        """Means and spreads, and each run's own figures, as JSON values."""
        return {
            "topics": self.topics,
            "perplexity": None if np.isnan(self.mean("perplexity")) else self.mean("perplexity"),
            "perplexity_spread": self.spread("perplexity"),
            "npmi": self.mean("npmi"),
            "diversity": self.mean("diversity"),
            "stable": self.stable,
            "converged": self.converged,
            "settled": self.settled,
            "seconds": self.mean("seconds"),
            "runs": [vars(run) for run in self.runs],
        }


def points_of(grid: Sequence[Sequence[TopicRun]], corpus: Corpus) -> list[Point]:
    """A point for each number of topics, of whose runs all have ended.

    The more samples a perplexity is averaged over, the lower it is, and training averages over
    fewer where topics are many. So all are averaged over as many as the run that has the fewest.
    """
    numbers = [_averaged_over(run) for runs in grid for run in runs]
    fewest = min([number for number in numbers if number > 0], default=0)
    return [Point.of(runs, corpus, fewest) for runs in grid]


def _averaged_over(run: TopicRun) -> int:
    return run.metrics()[-1].get("averaged_over", 0)


def _all_converged(runs: Sequence[TopicRun], posterior: Posterior) -> bool | None:
    """Whether all runs have converged; ``posterior`` is used where there is one run."""
    known = posterior if len(runs) == 1 else None
    return _all(diagnose([run], known).converged for run in runs)


def _has_settled(run: TopicRun) -> bool | None:
    if run.is_starting():
        return False
    chains = log_likelihoods(run)
    if not chains or min(map(len, chains)) < _ENOUGH:
        chains = _means_of_trace(run)
    return not any(map(moves, chains)) if chains else None


def _means_of_trace(run: TopicRun) -> list[np.ndarray]:
    """The log likelihood that was traced of each chain, averaged over equal parts, which hardly
    resemble their neighbours: float64 (`_PARTS`,); none where there are too few states."""
    draws = list(traces(run).get(LOG_LIKELIHOOD, {}).values())
    if any(len(chain) < _PARTS for chain in draws):
        return []
    means = [chain[len(chain) % _PARTS :].reshape(_PARTS, -1).mean(axis=1) for chain in draws]
    return means if np.isfinite(means).all() else []


def _all(runs: Iterable[bool | None]) -> bool | None:
    """Whether it is so of all of them; None where it cannot be told."""
    found = list(runs)
    if False in found:
        return False
    return None if None in found else True


def write_plot(folder: Path, points: Sequence[Point]) -> Path:
    """Writes ``choice.svg``: every figure against K, a dot for each run."""
    panels = [
        Panel("Held-out perplexity (lower is better)", [p.values("perplexity") for p in points]),
        Panel("NPMI coherence (higher is better)", [p.values("npmi") for p in points]),
        Panel("Diversity: share of different top words", [p.values("diversity") for p in points]),
        Panel("Training seconds", [p.values("seconds") for p in points]),
    ]
    stable = [[p.stable] for p in points if p.stable is not None]
    if len(stable) == len(points):
        panels.insert(3, Panel("Share of topics that all chains find", stable))
    panels = [panel for panel in panels if all(panel.values)]
    ticks = [point.topics for point in points]
    path = folder / "choice.svg"
    write_panels(path, "Runs with several numbers of topics", ticks, "topics K", panels)
    return path


def advice(points: Sequence[Point], longer: str) -> str:
    """What the figures suggest, and why not to trust the minimum blindly: a few sentences.
    ``longer`` are the options with which the same command makes the runs longer."""
    known = [point for point in points if not np.isnan(point.mean("perplexity"))]
    if not known:
        return f"No run has a perplexity yet. {_doubtful(points, longer)}{CAUTION}"
    best = min(known, key=lambda point: point.mean("perplexity"))
    margin, why = _margin(points, best)
    lowest = best.mean("perplexity")
    alike = [p.topics for p in points if p.mean("perplexity") <= lowest + margin]
    text = f"Perplexity is lowest at K = {best.topics} ({lowest:,.1f})"
    others = [k for k in alike if k != best.topics]
    if others:
        are = "are" if len(others) > 1 else "is"
        text += f"; {_listed(others)} {are} not measurably worse ({why})"
    text += "."
    numbers = [point.topics for point in points]
    open_ended = alike == [max(numbers)]
    if open_ended:
        text += " That is the largest K tried, so larger ones may do better."
    elif best.topics == min(numbers):
        text += " That is the smallest K tried, so smaller ones may do as well."
    text += f" NPMI coherence is highest at K = {_highest(points, lambda p: p.mean('npmi'))}"
    if best.stable is not None:
        text += f", and chains agree most at K = {_highest(points, lambda p: p.stable or 0.0)}"
    doubtful = _doubtful(points, longer)
    if not (open_ended or any(not point.settled for point in points)):
        text += f". A first choice is K = {min(alike)}, the smallest that predicts as well as any"
    return f"{text}. {doubtful}{CAUTION}"


def _doubtful(points: Sequence[Point], longer: str) -> str:
    """Where not all rows can be relied on: which can, and that therefore no K is suggested. Where
    all can, whether chains are at rest in other respects."""
    moving, untold = (_where(points, "settled", told) for told in (False, None))
    if not (moving or untold):
        return _apart(points)
    parts = [f"perplexity had not come to rest at {_listed(moving)}"] if moving else []
    if untold:
        whether = "it had" if moving else "perplexity had come to rest"
        parts.append(f"whether {whether} cannot be told yet at {_listed(untold)}")
    sound = _where(points, "settled", True)
    rows = f"only the row of {_listed(sound)} is" if len(sound) == 1 else "no row is"
    rows = f"the rows of {_listed(sound)} are" if len(sound) > 1 else rows
    return (
        f"But {', and '.join(parts)}: {rows} to be relied on yet, so no K is suggested; the same"
        f" command with {longer} trains all runs on. "
    )


def _apart(points: Sequence[Point]) -> str:
    """Where perplexities are at rest: whether chains are in other respects, too."""
    apart, untold = (_where(points, "converged", told) for told in (False, None))
    rest = " come to rest in every respect"
    parts = [f"chains of {_listed(apart)} had not{rest}"] if apart else []
    if untold:
        whether = "those" if apart else "chains"
        had = "had" if apart else f"had{rest}"
        parts.append(f"whether {whether} of {_listed(untold)} {had} cannot be told yet")
    if not parts:
        return ""
    return (
        f"K is chosen by perplexity, which had come to rest; {', and '.join(parts)} (topicmc"
        " evaluate says more). "
    )


def _where(points: Sequence[Point], what: str, told: bool | None) -> list[int]:
    """The numbers of topics of which it is so, not so, or cannot be told."""
    return [point.topics for point in points if getattr(point, what) is told]


def _margin(points: Sequence[Point], best: Point) -> tuple[float, str]:
    """Up to which difference perplexities count as equal, and why."""
    spreads = [point.spread("perplexity") for point in points]
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return CHANCE * best.mean("perplexity"), "one seed cannot show differences below 1%"
    error = np.sqrt(np.mean(np.square(known)) * 2 / len(best.runs))
    return 2 * float(error), "by less than two standard errors over the seeds"


def _highest(points, figure) -> int:
    return max(points, key=figure).topics


def _listed(numbers: Sequence[int]) -> str:
    return "K = " + ", ".join(str(number) for number in numbers)

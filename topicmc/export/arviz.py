"""ArviZ: a netCDF file of the kept samples, chains × draws, which ArviZ reads as InferenceData
(up to 0.23) or as a DataTree (from 1.0 on).

============= ====================================================================================
posterior     ``share`` and ``alpha`` (chain, draw, topic); ``phi`` (chain, draw, topic, rank), the
              probabilities of each topic's likeliest words
sample_stats  ``log_likelihood`` (chain, draw) of a held-out token, in the mean, at the evaluations
              after burn-in; these are other moments than those of the samples
trace         (chain, draw) each scalar of the trace of the runs, past burn-in and equally spaced,
              of many more moments; spaces in names are underscores
constant_data ``word`` (topic, rank), whose probabilities ``phi`` are; ``found`` (topic), how many
              chains have found the topic; ``label`` (topic), their names, if they have any
============= ====================================================================================

Of mixtures the posterior holds what was traced, (chain, draw) each, as ``groups`` and
``concentration``, and there is nothing else.

Chains are those of all runs; topics have the numbers of the first (`topicmc.topics.chains`), which
are the coordinates of ``topic``. Chains that a run on fewer workers has given up are left out. Of
chains with more draws than others the newest are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topicmc.errors import DataError
from topicmc.export.libraries import library
from topicmc.export.source import Source
from topicmc.host.machine import check_room
from topicmc.host.version import VERSION
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.convergence import aligned
from topicmc.topics.diagnostics import compared, log_likelihoods, traced
from topicmc.topics.labels import Labels
from topicmc.topics.ranking import top
from topicmc.topics.uncertainty import TOP, posterior_of, word_draws

if TYPE_CHECKING:
    from xarray import DataTree


def write(source: Source, path: Path) -> None:
    """Writes the file."""
    library("h5netcdf", "arviz")
    draws = source.draws()
    tree = _of_scalars(draws) if draws else inference_data(source.runs, source.n_words(TOP))
    path.write_bytes(tree.to_netcdf(engine="h5netcdf"))


def _of_scalars(draws: dict[str, np.ndarray]) -> DataTree:
    """Of mixtures, whose groups differ from sample to sample: the posterior of scalars."""
    base = library("arviz_base", "arviz")
    origin = {"inference_library": "topicmc", "inference_library_version": VERSION}
    return base.from_dict(
        {"posterior": draws}, attrs={"posterior": origin}, check_conventions=False
    )


def inference_data(runs: Sequence[TopicRun], n_words: int = TOP) -> DataTree:
    """The samples of all chains of some runs, with ``n_words`` words of each topic.

    Raises UsageError when the runs differ in vocabulary, corpus, number of topics or given priors,
    two have the same samples, or memory is too small; DataError when one has no samples yet or a
    file is damaged.
    """
    base = library("arviz_base", "arviz")
    posterior = posterior_of(runs)
    if posterior.in_their_start:
        path = posterior.in_their_start[0].path
        raise DataError(f"{path}: no posterior sample yet; train it for longer (--resume)")
    words, chains = top(posterior.phi, n_words), compared(posterior)
    _check_memory(words, sum(len(chain.entries) for chain in chains))
    scores = [chain for run in runs for chain in log_likelihoods(run)]
    has_scores = scores and all(map(len, scores))
    groups = {
        "posterior": {
            "share": aligned([chain.share for chain in chains]),
            "alpha": aligned([chain.alpha for chain in chains]),
            "phi": aligned([word_draws(chain, words)[0] for chain in chains]),
        },
        "sample_stats": {"log_likelihood": aligned(scores)} if has_scores else {},
        "trace": {name.replace(" ", "_"): draws for name, draws in traced(chains).items()},
        "constant_data": {
            "word": np.array(posterior.vocabulary, dtype=object)[words],
            "found": posterior.found.sum(axis=0),
            **_names(posterior.labels),
        },
    }
    by_topic = {name: ["topic"] for name in ("share", "alpha", "found", "label")}
    by_word = {name: ["topic", "rank"] for name in ("phi", "word")}
    origin = {"inference_library": "topicmc", "inference_library_version": VERSION}
    present = {name: group for name, group in groups.items() if group}
    return base.from_dict(
        present,
        dims=by_topic | by_word,
        coords={"topic": list(posterior.labels.numbers)},
        attrs=dict.fromkeys(present, origin),
        check_conventions=False,  # it warns of more chains than draws
    )


def _check_memory(words: np.ndarray, n_draws: int) -> None:
    """UsageError where so many draws of words (K, M) do not fit in memory, thrice: as they are
    read, put together, and as a file."""
    check_room(
        3.0 * 8 * n_draws * words.size,
        f"--words {words.shape[1]}: {n_draws:,} draws of so many words of {len(words):,} topics",
        "give fewer",
    )


def _names(labels: Labels) -> dict[str, np.ndarray]:
    names = [labels.names.get(number, "") for number in labels.numbers]
    return {"label": np.array(names, dtype=object)} if labels.names else {}

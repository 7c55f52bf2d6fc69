"""How many tokens of some groups of documents each topic has, draw by draw.

Gibbs sampling of the topics of the tokens goes from one draw of φ from its posterior to the next,
as in `topicmc.inference.deviations`: each draw gives every token a topic, and so each document and
each group of documents numbers of tokens. Memory holds one draw at a time; the tokens of all
documents keep their topics from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicmc.corpora import Corpus
from topicmc.corpora.making.split import position_hash
from topicmc.corpora.offsets import offsets
from topicmc.inference.deviations import Sample
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.samples import alpha_of
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.thinning import evenly
from topicmc.storage.scratch import aside, scratch_array
from topicmc.topics.chains import MatchedChain
from topicmc.topics.uncertainty import Posterior

MOST_DOCUMENTS = 200_000
"""Documents that are read: of more, so many at random."""
LEAST_DOCUMENTS = 10
"""A group of fewer says nothing."""
_DRAWS = 16  # of φ, of each chain at most
_BLOCK = 1 << 20  # documents × topics looked at together
_BURN_IN, _SETTLE = 10, 2  # sweeps before the first draw, and after each change of φ


class Draw(NamedTuple):
    """A draw of all topics of a run, and how their tokens (n, K) become those of the topics that
    are shown, in the numbers of the first chain: a view shows sums of topics, and not all. The
    first of a chain begins with topics that no other has drawn."""

    sample: Sample
    is_first: bool
    shown: Callable[[np.ndarray], np.ndarray]


class Moments(NamedTuple):
    """Sums over the documents d of a group, which have n_dk tokens of a topic, and N_d in all.

    own      for each chain float64 (n, K, G), Σ n²
    cross    for each chain float64 (n, K, G), Σ n N
    squares  float64 (G,), Σ N²
    cubes    float64 (G,), Σ N³
    fourths  float64 (G,), Σ N⁴
    """

    own: list[np.ndarray]
    cross: list[np.ndarray]
    squares: np.ndarray
    cubes: np.ndarray
    fourths: np.ndarray


class Prevalence(NamedTuple):
    """Of G groups of documents under the n draws of each believed chain.

    tokens   for each chain float64 (n, K, G), those of each topic
    sizes    float64 (G,), those of all topics, whether a view shows them or not
    moments  None unless asked for
    """

    tokens: list[np.ndarray]
    sizes: np.ndarray
    moments: Moments | None

    def others(self) -> Prevalence:
        """In place of each group all others together."""
        tokens, moments = [of_others(chain) for chain in self.tokens], self.moments
        if moments is not None:
            own, cross = ([of_others(chain) for chain in chains] for chains in moments[:2])
            moments = Moments(own, cross, *map(of_others, moments[2:]))
        return Prevalence(tokens, of_others(self.sizes), moments)


def of_others(sums: np.ndarray) -> np.ndarray:
    """In place of what each group has, (…, G), the sum of what all others have. It is added up: of
    the total less that of a group little but rounding might be left."""
    none = np.zeros((*sums.shape[:-1], 1))
    before = np.concatenate([none, sums[..., :-1].cumsum(axis=-1)], axis=-1)
    after = np.concatenate([none, sums[..., :0:-1].cumsum(axis=-1)], axis=-1)
    return before + after[..., ::-1]


def randomly_chosen(numbers: np.ndarray) -> np.ndarray:
    """Of documents, int64 (n,), ascending, at most `MOST_DOCUMENTS`: always the same ones, whatever
    recurs in their order, as kinds of documents that take turns."""
    if len(numbers) <= MOST_DOCUMENTS:
        return numbers
    hashes = position_hash(numbers, 0, "prevalence")
    return np.sort(numbers[np.argpartition(hashes, MOST_DOCUMENTS)[:MOST_DOCUMENTS]])


def memory_of(posterior: Posterior, n_groups: int) -> int:
    """Bytes of a number for each draw, topic and group."""
    rows = sum(min(_DRAWS, len(chain.entries)) for chain in posterior.believed)
    return 8 * rows * len(posterior.phi) * n_groups


def prevalence(
    posterior: Posterior,
    corpus: Corpus,
    numbers: np.ndarray,
    groups: np.ndarray,
    n_groups: int,
    threads: Threads,
    want_moments: bool = False,
) -> Prevalence:
    """That of the documents with ``numbers``, int64 (n,), ascending, in ``groups``, int64 (n,).
    DataError when a file of the corpus is damaged."""
    corpus.check(range(corpus.n_shards))
    chains = [_places(chain) for chain in posterior.believed]
    places = [place for chain in chains for place in chain]
    shape = (len(places), n_groups, len(posterior.phi))
    tokens = np.zeros(shape)
    own, cross = (np.zeros(shape if want_moments else (len(places), 0, 0)) for _ in range(2))
    most = max(c.run.facts()["config"]["topics"] for c in posterior.believed)  # a view shows fewer
    n_docs = max(1, _BLOCK // most)

    def batches() -> Iterator[Minibatch]:
        return _batches(corpus, numbers, n_docs, posterior.phi.shape[1], threads)

    lengths = np.empty(len(numbers), np.int64)
    for batch in batches():
        lengths[batch.doc_ids] = np.diff(batch.offsets)
    weights, begins = lengths.astype(np.float64), offsets(lengths)
    z = scratch_array(int(begins[-1]), UNASSIGNED.dtype, aside())

    def count(row: int, draw: Draw) -> None:
        for batch in batches():
            docs = slice(batch.doc_ids[0], batch.doc_ids[-1] + 1)
            of_docs = z[begins[docs.start] : begins[docs.stop]]
            counts = _counted(batch, draw, of_docs, row, threads)
            here, of = np.unique(groups[docs], return_inverse=True)  # few of many groups
            sums = _sums_by(of, len(here))
            tokens[row, here] += sums @ counts
            if want_moments:
                own[row, here] += sums @ counts**2
                cross[row, here] += sums @ (counts * weights[docs, None])

    for row, place in enumerate(one_by_one(places)):
        # Nothing else holds a draw, so that it is gone before the next.
        count(row, _drawn(*place, threads))
    ends = np.cumsum([len(chain) for chain in chains])[:-1]

    def by_chain(sums: np.ndarray) -> list[np.ndarray]:
        return np.split(sums.swapaxes(1, 2), ends)

    sizes, *powers = (np.bincount(groups, weights**n, n_groups) for n in (1, 2, 3, 4))
    moments = Moments(by_chain(own), by_chain(cross), *powers) if want_moments else None
    return Prevalence(by_chain(tokens), sizes, moments)


def _sums_by(groups: np.ndarray, n_groups: int) -> sparse.csr_array:
    """The matrix (G, n) that adds up rows of documents to those of groups."""
    n = len(groups)
    return sparse.csr_array((np.ones(n), (groups, np.arange(n))), shape=(n_groups, n))


def _places(chain: MatchedChain) -> list[tuple[MatchedChain, dict[str, Any], bool]]:
    """Samples of a chain, evenly spread, and which is the first."""
    entries = [chain.entries[i] for i in evenly(len(chain.entries), _DRAWS)]
    return [(chain, entry, entry is entries[0]) for entry in entries]


def _drawn(chain: MatchedChain, entry: dict[str, Any], is_first: bool, threads: Threads) -> Draw:
    """A draw of φ at a sample of a chain."""
    run, view = chain.run, chain.run.view
    whole = run.whole
    number = entry["chain"]
    order = chain.order if view is None else view.orders.get(number, np.arange(view.n_topics))

    def shown(counts: np.ndarray) -> np.ndarray:
        if view is None:
            return counts
        own = np.empty_like(counts)
        own[:, order] = counts
        return view.summed(own, number)[:, chain.order]

    theta = draw_of(whole, entry, threads)
    if (order != np.arange(len(order))).any():
        theta = np.take(theta, order, axis=1)
    sums = theta.sum(axis=0, dtype=np.float64)
    return Draw(Sample(theta, sums, alpha_of(whole, entry)[order]), is_first, shown)


def _counted(
    batch: Minibatch, draw: Draw, z: np.ndarray, number: int, threads: Threads
) -> np.ndarray:
    """The tokens of documents by topic that is shown under a draw of some number: float64 (n, K).
    ``z``, uint16 (T,), are their topics under the draw before, and become those under this one."""
    sample, is_first, shown = draw
    sweeps = (_BURN_IN if is_first else _SETTLE) + 1
    if is_first:
        z[:] = UNASSIGNED
    drawn = sample_assignments(
        batch, topic_rows(sample.theta, sample.sums, batch.words, threads),
        padded_topics(sample.alpha), sweeps=sweeps, burn_in=sweeps - 1,
        key=stream_key(0, "trends"), update=number, threads=threads,
        want_word_topic=False, want_doc_topic=True, z=z,
    )  # fmt: skip
    assert drawn.doc_topic is not None
    return shown(drawn.doc_topic[:, : len(sample.alpha)] / drawn.scale)


def _batches(
    corpus: Corpus, numbers: np.ndarray, n_docs: int, n_words: int, threads: Threads
) -> Iterator[Minibatch]:
    """The documents with ``numbers``, under their places among these; at most ``n_docs`` of a shard
    at a time."""
    begins = offsets(np.array(corpus.shard_sizes))
    for shard, (first, last) in enumerate(pairwise(np.searchsorted(numbers, begins).tolist())):
        documents = corpus.shard(shard)
        arrays = documents.indptr, documents.word_ids, documents.counts
        for start in range(first, last, n_docs):
            places = np.arange(start, min(start + n_docs, last))
            batch = gather(*arrays, numbers[places] - begins[shard], n_words, threads)
            yield batch._replace(doc_ids=places)

"""Topic mixes of documents under the topics of a run: what `topicmc infer` computes.

They are those of `topicmc.models.lda.mixes`, as of `LDA.transform`; how sure they are, is the
business of `topicmc.inference.deviations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import select
from topicmc.corpora.reading import Reading
from topicmc.errors import UsageError
from topicmc.host.machine import available_cores
from topicmc.inference.deviations import MOST, Sample, deviations
from topicmc.inference.facts import Totals, blocks_of
from topicmc.inference.files import Rows
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.mixes import Mixer, parts
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, posterior_mean, samples_of
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.thinning import evenly
from topicmc.storage.scratch import IN_MEMORY, aside, scratch_array

_MOST_TOKENS = 50_000_000


def infer_under(
    run: TopicRun,
    reading: Reading,
    totals: Totals,
    *,
    chain: int = 0,
    sd: bool = False,
    seed: int = 0,
    threads: Threads | None = None,
) -> Iterator[Rows]:
    """The mixes of documents in the words of a run, under the topics of a chain (`posterior_mean`).

    Those of a view are of its run, and then add up: topics that a view does not touch have the
    same shares in both, and what is dropped is missing from the sum of a row.

    Args:
        run: a run with samples, or a view of one.
        reading: documents whose word ids are those of the run.
        totals: counts along.
        chain: of which chain; chains number their topics on their own.
        sd: with posterior standard deviations, from samples of the chain.
        seed: of the standard deviations; the mixes need none.
        threads: as for `Mixer`.

    Raises UsageError when there is no such chain, or no posterior sample of it for standard
    deviations; DataError when a sample is missing or damaged.
    """
    whole, summed = whole_of(run, chain)
    phi, _, alpha, _ = posterior_mean(whole, chain)
    threads = threads or Threads(available_cores())
    mixer = Mixer(phi, alpha, threads)
    del phi  # which the mixer needs until it has a table of its own
    samples = drawn_samples(whole, chain, threads) if sd else []
    for part, first, facts in blocks_of(reading, totals, mixer.block):
        sds = None
        if sd:
            sds = deviations(part, samples, seed=seed, first=first, threads=threads, summed=summed)
        yield Rows(first, facts, summed(mixer.mixes(part)), sds)


def whole_of(run: TopicRun, chain: int = 0) -> tuple[TopicRun, Callable[[np.ndarray], np.ndarray]]:
    """The run that a view shows, or the run itself, and what makes mixes of a chain under its
    topics, float64 (n, K), those of the topics shown."""
    view = run.view
    if view is None:
        return run, lambda mix: mix
    return run.whole, lambda mix: view.summed(mix, chain)


def mixed_under(
    run: TopicRun, phi: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """φ and α to mix documents under where the topics of a run or view are ``phi`` and ``alpha``,
    and what makes such mixes, float64 (n, K), those of these topics. For a view they are those of
    its run: what a view has dropped has its share of documents, too."""
    if run.view is None:
        return phi, alpha, lambda mix: mix
    whole, summed = whole_of(run)
    mean = posterior_mean(whole)
    return mean.phi, mean.alpha, summed


def drawn_samples(run: TopicRun, chain: int, threads: Threads) -> list[Sample]:
    """Draws of the topics at samples of one chain, spread over all, as `put_aside` has them.
    UsageError when there is no posterior sample."""
    entries = samples_of(run, chain)
    if all(entry["burn_in"] for entry in entries):
        raise UsageError(
            f"--se: {run.path} has no posterior sample yet, and standard deviations are those of"
            " samples; train it for longer, or leave out --se"
        )
    drawn = []
    for place in one_by_one(evenly(len(entries), MOST)):
        theta = draw_of(run, entries[place], threads)
        sums = theta.sum(axis=0, dtype=np.float64)
        drawn.append(Sample(put_aside(theta), sums, alpha_of(run, entries[place])))
    return drawn


def put_aside(theta: np.ndarray) -> np.ndarray:
    """An array, or where it is large a copy in a file without a name, in the folder for temporary
    files."""
    if theta.nbytes <= IN_MEMORY:
        return theta
    copy = scratch_array(theta.size, theta.dtype, aside()).reshape(theta.shape)
    copy[:] = theta
    return copy


def representative_documents(
    phi: np.ndarray,
    alpha: np.ndarray,
    corpus: Corpus,
    n: int,
    *,
    shown: Callable[[np.ndarray], np.ndarray] | None = None,
    threads: Threads | None = None,
) -> np.ndarray:
    """The training documents with the largest share of each topic: int64 (K, n) numbers, largest
    first; fewer columns when fewer documents were looked at.

    Of a corpus of more than 50 million tokens every m-th document is looked at, with the least m
    that leaves so many.

    Args:
        phi, alpha: as for `Mixer`, over the vocabulary of the corpus.
        corpus: an open corpus; DataError when a file of it is damaged.
        n: documents a topic.
        shown: makes mixes of K topics, float64 (D, K), those of the topics to look at.
        threads: as for `Mixer`.
    """
    corpus.check(range(corpus.n_shards))
    mixer = Mixer(phi, alpha, threads)
    every = max(1, -(-corpus.n_tokens // _MOST_TOKENS))
    shown = shown or (lambda mix: mix)
    n_topics = shown(np.zeros((1, mixer.n_topics))).shape[1]
    n = min(n, len(range(0, corpus.n_docs, every)))
    best = np.full((n_topics, n), -np.inf)
    numbers = np.zeros((n_topics, n), np.int64)
    for first, documents in _numbered(corpus, mixer.block * every):
        mine = np.arange(first, first + documents.n_docs)
        chosen = mine % every == 0
        shares = shown(mixer.mixes(select(documents, chosen) if every > 1 else documents))
        better = np.flatnonzero((shares > best.min(axis=1)).any(axis=0))  # few topics, before long
        both = np.hstack([best[better], shares.T[better]])
        of_both = np.hstack(
            [numbers[better], np.broadcast_to(mine[chosen], (len(better), len(shares)))]
        )
        top = np.argpartition(-both, n - 1, axis=1)[:, :n]
        best[better] = np.take_along_axis(both, top, axis=1)
        numbers[better] = np.take_along_axis(of_both, top, axis=1)
    order = np.lexsort((numbers, -best))
    return np.take_along_axis(numbers, order, axis=1)


def _numbered(corpus: Corpus, n_docs: int) -> Iterator[tuple[int, Documents]]:
    """The training documents, so many at a time, with the number of the first."""
    first = 0
    for shard in range(corpus.n_shards):
        for documents in parts([corpus.shard(shard)], n_docs):
            yield first, documents
            first += documents.n_docs

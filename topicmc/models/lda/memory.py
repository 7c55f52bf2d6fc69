"""The memory that training takes: every array that grows with the corpus or the model, by name.

What is stated is what the processes of one machine hold at the same time at most, and the system
cannot put aside: anonymous and shared memory, with Python and its libraries. Pages of mapped files
(shards, large arrays of tokens in nameless files) make room when memory is short and are not
counted. `bench/memory.py` measures the same beside it.

Some arrays stay as long as training does, others for one phase of it; the phases come one after
another, so the largest counts. The arrays of the end take the place of all those of training.
`disk` says what a run takes of the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import blocks
from topicmc.host.machine import MPI, PROGRAM
from topicmc.kernels.assignments import is_sparse
from topicmc.kernels.by_word_batch import come_up_often
from topicmc.kernels.collapsed import assignment_dtype
from topicmc.kernels.histograms import bin_sizes
from topicmc.kernels.padding import padded_size
from topicmc.kernels.word_order import LONGEST
from topicmc.models.lda.collapsed.word_orders import TOKENS_A_WORD
from topicmc.models.lda.completion import BURN_IN, SWEEPS
from topicmc.models.lda.encoding import MOST_TOKENS
from topicmc.models.lda.planning.pace import ROUNDS
from topicmc.models.lda.planning.starts import MEMBERS
from topicmc.models.lda.scalars import TRACED_WORDS
from topicmc.models.lda.settings import WHOLE, Resolved
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.running_mean import MeanChain
from topicmc.storage.scratch import IN_MEMORY

_SPELLED = 90  # bytes of a word of the vocabulary, as text
_NUMBER = 32 + 20  # bytes of a number in a list, and of its text in the index of samples
_CHECKPOINTS = 3  # on disk while one is saved
ALWAYS, END = "always", "the end"
_READ = "θ of a state", "the table of counts"


class Sizes(NamedTuple):
    """What of a corpus decides how much memory training takes."""

    n_docs: int
    n_words: int
    n_tokens: int
    id_bytes: int
    batch_tokens: int  # of a minibatch
    batch_words: int  # different ones in it
    heldout_docs: int
    heldout_tokens: int
    heldout_words: int
    commonest: int = 0  # tokens of the commonest word, by how often it comes in that minibatch
    prior_rows: int = 0  # of words whose prior is not β alone
    batch_longest: int = 0  # tokens of the longest document of the minibatch
    heldout_longest: int = 0  # and of those held out


class Term(NamedTuple):
    """Some bytes, the arrays that they are, and the phase in which they are held."""

    phase: str
    name: str
    n_bytes: float


def sizes_of(corpus: Corpus, batch_size: int) -> Sizes:
    """The sizes of a corpus, and of a minibatch of so many of its first documents, none for
    samplers that have no minibatches; reads those, and the held-out ones, and checks them:
    DataError names a file that is damaged."""
    corpus.check([])
    of_words, longest, left = np.zeros(corpus.n_words), 0, batch_size
    for number, n_docs in enumerate(corpus.shard_sizes):
        if left == 0:
            break
        if not (corpus.path / corpus.index["shards"][number]["name"]).is_dir():
            continue  # another rank's, on another machine
        corpus.check([number])
        for documents in blocks(corpus.shard(number).part(0, min(left, n_docs))):
            of_words += np.bincount(documents.word_ids, documents.counts, corpus.n_words)
            longest = max(longest, int(documents.sizes.max()))
            left -= documents.n_docs
    heldout = corpus.heldout
    return Sizes(
        n_docs=corpus.n_docs,
        n_words=corpus.n_words,
        n_tokens=corpus.n_tokens,
        id_bytes=heldout.word_ids.dtype.itemsize,
        batch_tokens=int(of_words.sum()),
        batch_words=int(np.count_nonzero(of_words)),
        heldout_docs=heldout.n_docs,
        heldout_tokens=int(heldout.counts.sum(dtype=np.int64)),
        heldout_words=len(np.unique(heldout.word_ids)),
        commonest=round(corpus.n_tokens * of_words.max() / max(1, of_words.sum())),
        batch_longest=longest,
        heldout_longest=int(heldout.sizes.max(initial=0)),
    )


def needed(config: Resolved, sizes: Sizes, hosted: int, processes: int = 1) -> int:
    """Bytes that the processes of one machine need at most, if each hosts so many of
    ``config.workers``; resolved settings."""
    others = processes - 1
    return _of_one(config, sizes, hosted, True) + others * _of_one(config, sizes, hosted, False)


def _of_one(config: Resolved, sizes: Sizes, hosted: int, reads: bool) -> int:
    """Of one process. States are read one after another: one process has the copy that is read,
    and writes the topics at the end."""
    held: dict[str, float] = {END: 0.0}
    for phase, name, n_bytes in terms(config, sizes, hosted):
        if not reads and (phase == END or name in _READ):
            continue
        held[phase] = held.get(phase, 0.0) + n_bytes
    always, end = held.pop(ALWAYS), held.pop(END)
    program = PROGRAM + (MPI if hosted < config.workers else 0)
    return round(program + max(always + max(held.values()), end))


def largest(config: Resolved, sizes: Sizes, hosted: int) -> Term:
    """The arrays that take most."""
    return max(terms(config, sizes, hosted), key=lambda term: term.n_bytes)


def most_topics(
    config: Resolved, sizes: Sizes, hosted: int, n_bytes: float, processes: int = 1
) -> int | None:
    """The greatest number of topics for which so many bytes are enough; None if none is, or if
    something else that was given says how many there are."""
    if isinstance(config.alpha, list) or (config.topic_prior, config.from_run) != (None, None):
        return None
    too_few = fits = max(1, len(config.seeds or ()) - 1)
    config, too_many = replace(config, seeds=None, seed_weight=None), config.topics
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if needed(replace(config, topics=middle), sizes, hosted, processes) <= n_bytes:
            fits = middle
        else:
            too_many = middle
    return fits if fits > too_few else None


def disk(config: Resolved, sizes: Sizes) -> int:
    """Bytes of disk that a run takes at most, about: with all its samples, and while it saves a
    checkpoint beside the two before. Samples that only these name are not counted: they are few
    once a run is much longer than the time between checkpoints. Resolved settings."""
    cells, n_tokens = sizes.n_words * config.topics, sizes.n_tokens
    n_bytes = _topic_bytes(config.topics)
    files = mean = members = 0.0
    if config.keeps_assignments:
        sample = (n_bytes + 4) * min(n_tokens, cells) + 8 * sizes.n_words  # topics and counts
        state = n_bytes * n_tokens + 4 * cells * bool(config.remember)
        members = 4 * cells * {"consensus": MEMBERS, "subset": 1}.get(config.start, 0)
        of_worker = n_tokens / config.workers
        own = _in_files(n_bytes * of_worker) + _in_files(2 * of_worker)  # topics, and orders
        files = config.workers * (_in_files(sizes.id_bytes * of_worker) + config.chains * own)
    else:
        # No weight has more tokens behind it than the commonest word has.
        sample = (2 if sizes.commonest <= MOST_TOKENS else 4) * cells
        has_mean = issubclass(sampler_of(config.sampler).state, MeanChain)
        mean = sample * has_mean
        state = 4 * cells * (1 + has_mean + {"cv": 2, "saga": 1}.get(config.estimate, 0))
        if config.estimate == "saga":
            state += 2 * n_tokens * (config.sweeps - config.burn_in)
    # Members of a start are saved before there are samples, but for one that stands in.
    kept = sample + max((config.samples - 1) * sample, _CHECKPOINTS * members)
    return round(config.chains * (kept + _CHECKPOINTS * (state + mean)) + files)


def terms(config: Resolved, sizes: Sizes, hosted: int) -> Iterator[Term]:
    """The arrays of a process that hosts so many workers, phase by phase."""
    n_words, n_topics = sizes.n_words, config.topics
    theta = 4.0 * n_words * n_topics
    spelled = _SPELLED * n_words
    state = 2.0 * n_topics * _NUMBER
    yield Term(ALWAYS, "vocabulary", spelled)
    yield Term(ALWAYS, "held-out tokens, cut in two", 20 * sizes.heldout_tokens)
    yield Term(ALWAYS, "priors of topics and words", 12.0 * sizes.prior_rows * n_topics)
    yield Term(ALWAYS, "priors and shares of samples", config.samples * config.chains * state)
    kept = config.keeps_assignments
    yield from (_collapsed if kept else _minibatch)(config, sizes, hosted)
    yield from _scoring(config, sizes, hosted)
    if config.from_run is not None:
        if kept:
            padded = 4.0 * n_words * padded_size(n_topics)
            yield Term(ALWAYS, "topics that it goes on from", config.chains * padded)
        yield Term(END, "topics that it goes on from, as they are made", 3 * theta)
    yield Term(END, "vocabulary", 2 * spelled)
    yield Term(END, "mean of φ, float64", 2 * theta)
    yield Term(END, "θ of a sample", theta)


def _collapsed(config: Resolved, sizes: Sizes, hosted: int) -> Iterator[Term]:
    """Of AD-LDA, Async-LDA and kept assignments."""
    chains, workers = config.chains, config.workers
    theta = 4.0 * sizes.n_words * config.topics
    counts = 4.0 * sizes.n_words * padded_size(config.topics)
    tokens, docs = sizes.n_tokens / workers, sizes.n_docs / workers
    stored = min(sizes.n_tokens, sizes.n_words * config.topics)
    yield Term("writing", _READ[0], theta)
    yield Term("tracing", _READ[0], theta)
    yield Term("writing", "counts of a sample, as they are stored", 12 * stored)
    yield Term(END, "counts of a sample, as they are stored", 4 * stored)
    yield Term(ALWAYS, "counts as each worker knows them", chains * hosted * counts)
    yield Term(ALWAYS, "words of tokens", hosted * _in_memory(tokens * sizes.id_bytes))
    of_topics = chains * hosted * _in_memory(tokens * _topic_bytes(config.topics))
    yield Term(ALWAYS, "topics of tokens", of_topics)
    yield Term(
        ALWAYS, "where documents begin, and when they join", hosted * docs * (8 + 13 * chains)
    )
    yield Term(ALWAYS, "orders of tokens by word", chains * hosted * _in_memory(2 * tokens))
    # Of each tile its words, and where their tokens end.
    tiles = config.threads * sizes.n_docs / config.batch_size
    in_tiles = min(sizes.n_tokens / TOKENS_A_WORD, tiles * sizes.n_words)
    yield Term(ALWAYS, "words of blocks", 12 * in_tiles * chains * hosted / workers)
    yield Term("drawing", "a block of documents, in order", 60 * config.batch_size)
    at_once = min(chains, config.threads) if workers == 1 else 1
    block = config.batch_size * sizes.n_tokens / sizes.n_docs
    yield Term("drawing", "topics of a block before and after", at_once * 4 * block)
    yield Term("drawing", "random numbers of tokens", 4 * config.threads * min(block, 1 << 20))
    state = min(2.0 * padded_size(config.topics) * config.batch_size, 5 * block)
    yield Term("drawing", "topics of documents of a block", at_once * state)
    if is_sparse(padded_size(config.topics), "counts"):
        yield Term("drawing", "trees of words", at_once * counts / 15)
    if config.sampler == "asynclda":
        yield Term(ALWAYS, "counts as last told", hosted * counts)
        yield Term(ALWAYS, "the shared table", hosted / workers * counts)
        yield Term("reading", _READ[1], counts)
    elif workers > 1:
        yield Term(ALWAYS, "counts of all workers", chains * counts)
        yield Term("synchronising", "changes, and their sum", 2 * counts)
    if hosted < workers:
        yield Term(ALWAYS, "what other processes send", counts * (1 - 1 / workers))
    if config.start == "consensus":
        members = chains * MEMBERS * theta
        yield Term(ALWAYS, "counts of the members of the start", members)
        # Their roots, the means of groups, and distances between topics.
        pooled = 4 * MEMBERS * theta + 16 * (MEMBERS * config.topics) ** 2
        yield Term("drawing", "topics of the members, compared", at_once * pooled)
    elif config.start == "subset":
        yield Term(
            "drawing", "counts over the subset, and its topics", chains * (2 * theta + counts)
        )
        subset = tokens * config.start_documents / sizes.n_docs
        yield Term("drawing", "orders of the subset by word", chains * hosted * 2 * subset)
        n_bytes = sizes.id_bytes + _topic_bytes(config.topics)
        per_round = workers * config.trajectory * config.batch_size
        n_parts = 1 if config.remember else min(ROUNDS, -(-sizes.n_docs // per_round))
        yield Term("drawing", "words and topics of a block", at_once * n_bytes * subset / n_parts)
    if config.remember:
        yield Term(ALWAYS, "θ", counts)
        yield Term("moving", "counts as float32", counts)
    yield Term("reading", _READ[0], theta)


def _minibatch(config: Resolved, sizes: Sizes, hosted: int) -> Iterator[Term]:
    """Of SCIR and SGRLD on minibatches."""
    theta = 4.0 * sizes.n_words * config.topics
    chains = config.chains if hosted == config.workers else 1
    yield Term(ALWAYS, "θ", chains * theta)
    has_mean = issubclass(sampler_of(config.sampler).state, MeanChain)
    if has_mean:
        yield Term(ALWAYS, "running mean of θ", chains * theta)
        yield Term("reading", "the mean, as it is read", theta)
        yield Term("writing", "the mean, as it is written", theta)
    if config.estimate in WHOLE:
        at_once = {"cv": 5, "saga": 6}[config.estimate]
        yield Term("updating", "counts of all words, as they are estimated", at_once * theta)
    if config.estimate == "cv":
        yield Term(ALWAYS, "a former θ, and its counts", 2 * theta)
    if config.estimate == "saga":
        kept = config.sweeps - config.burn_in
        yield Term(ALWAYS, "topics of all tokens in several sweeps", 2 * kept * sizes.n_tokens)
        yield Term(ALWAYS, "their counts", theta)
    if config.start == "subset":
        tokens = config.start_documents / sizes.n_docs * sizes.n_tokens * hosted / config.workers
        n_bytes = 2 * sizes.id_bytes + 2 + _topic_bytes(config.topics)
        yield Term("starting", "tokens of the subset, and their topics", n_bytes * tokens)
        counts = 4.0 * sizes.n_words * padded_size(config.topics)
        together = 0 if config.workers == 1 else 3
        yield Term("starting", "counts over the subset", (hosted + together) * counts)
    yield Term("writing", "weights of a sample, as they are stored", theta / 2)
    yield Term(END, "weights of a sample, as they are stored", theta / 2)
    if hosted < config.workers:
        if config.chains > 1:
            yield Term(ALWAYS, "the chain that was sent off last", theta * (1 + has_mean))
        yield Term(ALWAYS, "what other processes send", theta * (1 - 1 / config.workers))
    yield Term("updating", "tokens of the minibatch", 8 * sizes.batch_tokens)
    kept = config.sweeps - config.burn_in
    of_batch = (
        sizes.batch_tokens, sizes.batch_words, sizes.batch_longest, config.sweeps, kept,
    )  # fmt: skip
    yield from _drawing("updating", config, *of_batch)
    if sampler_of(config.sampler).waits:
        yield Term(ALWAYS, "since when words wait", 8 * sizes.n_words * chains)
        yield Term("reading", _READ[0], theta)
        yield Term("writing", _READ[0], theta)
        yield Term("tracing", _READ[0], theta)


def _scoring(config: Resolved, sizes: Sizes, hosted: int) -> Iterator[Term]:
    """Of the held-out documents under a state, while that is read."""
    theta = 4.0 * sizes.n_words * config.topics
    if hosted < config.workers:
        yield Term("reading", "θ as others show it", theta)
    of_heldout = (
        sizes.heldout_tokens, sizes.heldout_words, sizes.heldout_longest, SWEEPS, SWEEPS - BURN_IN,
    )  # fmt: skip
    yield from _drawing("reading", config, *of_heldout)
    traced = min(TRACED_WORDS, sizes.heldout_words)
    yield Term("tracing", "topics of the traced words", 24.0 * traced * config.topics)
    # Their counts, and what these are divided and added up to, in float64.
    mixes = 20.0 * sizes.heldout_docs * padded_size(config.topics)
    yield Term("reading", "topic mixes", mixes)
    if config.learns_alpha:
        kept = hosted if config.keeps_assignments else 1
        numbers = 8.0 * len(bin_sizes()) * (config.topics + 1)
        yield Term("learning", "how many tokens of each topic documents have", numbers * (kept + 5))


def _drawing(
    phase: str, config: Resolved, n_tokens: int, n_words: int, longest: int, sweeps: int, kept: int
) -> Iterator[Term]:
    """Of so many tokens of so many words drawn given φ (`topicmc.kernels.assignments`), the
    ``longest`` document having so many, in sweeps of which some are kept."""
    n_padded = padded_size(config.topics)
    rows = 4.0 * n_words * n_padded
    yield Term(phase, "φ of the words drawn", rows)
    # Each thread has documents that take turns, four at most.
    yield Term(phase, "random numbers of tokens", 16.0 * config.threads * longest)
    if longest <= LONGEST and come_up_often(n_tokens, n_words, n_padded, sweeps):
        yield Term(phase, "their counts", rows)
        of_topics = _topic_bytes(n_padded) * kept * n_tokens
        yield Term(phase, "topics of their tokens in each sweep", of_topics)
    elif is_sparse(n_padded, "afresh"):
        yield Term(phase, "their counts and trees", rows * (1 + 1 / 15))
        yield Term(phase, "topics of their tokens in each sweep", 2 * kept * n_tokens)
    else:
        yield Term(phase, "their counts, of each thread", config.threads * rows)


def _topic_bytes(n_topics: int) -> int:
    """Bytes of the topic of a token, where it is kept."""
    return np.dtype(assignment_dtype(n_topics)).itemsize


def _in_memory(n_bytes: float) -> float:
    """Larger arrays are in files (`topicmc.storage.scratch`)."""
    return n_bytes if n_bytes <= IN_MEMORY else 0.0


def _in_files(n_bytes: float) -> float:
    """Those that are not in memory."""
    return n_bytes - _in_memory(n_bytes)

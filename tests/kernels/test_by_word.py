"""Sweeps word by word: the order of tokens, the naive twin's draws, the joint law of a sweep by
enumeration, counts that stay exact, and what must not matter."""

from itertools import pairwise, product

import naive_gibbs
import numpy as np
import pytest
from numba import njit
from priors import rows, uneven
from scipy.stats import chi2

from topicmc.kernels import by_word, by_word_slots, scratch
from topicmc.kernels.collapsed import assignment_dtype
from topicmc.kernels.held import blocks_of, held_blocks
from topicmc.kernels.padding import padded_size, padded_topics
from topicmc.kernels.prior import no_prior
from topicmc.kernels.random import stream_key
from topicmc.kernels.tables import pick_block, tables
from topicmc.kernels.word_order import BATCH, BEGINS, PIECE, cut, order_tile

KEY = stream_key(3, "by word")
both = pytest.mark.parametrize("kernel", [by_word, by_word_slots])


class Held:
    """Slots, told which blocks of topics words hold; for as many columns as θ has."""

    @staticmethod
    def redraw(tile, offsets, z, word_topic, *arguments, **options):
        held = exactly_held(word_topic)
        return by_word_slots.redraw(tile, offsets, z, word_topic, *arguments, held=held, **options)


def exactly_held(word_topic):
    """Bits of the blocks that are not empty, word by word, as Python has it."""
    held = held_blocks(*word_topic.shape)
    for word, row in enumerate(word_topic.reshape(len(word_topic), -1, 16)):
        for i in range(held.shape[1]):
            some = row[64 * i : 64 * (i + 1)].any(axis=1)
            held[word, i] = sum(1 << b for b in np.flatnonzero(some).tolist())
    return held


def corpus(n_docs, n_words, n_topics, seed=0, longest=90):
    """offsets, tokens, z and the counts of z, padded; a word comes up some times in a document."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, n_docs)
    tokens = [np.sort(generator.integers(0, n_words, n) ** 2 // n_words) for n in lengths]
    tokens = np.concatenate(tokens).astype(np.uint16)
    z = generator.integers(0, n_topics, len(tokens)).astype(assignment_dtype(n_topics))
    word_topic = np.zeros((n_words, padded_size(n_topics)), np.int32)
    np.add.at(word_topic, (tokens, z), 1)
    return np.r_[0, np.cumsum(lengths)], tokens, z, word_topic


def drawn(offsets, tokens, z, word_topic, alpha, beta, *, kernel=by_word, edges=None, **options):
    """z after a sweep, in tiles that end at the given documents; and what `redraw` returned."""
    z, totals = z.copy(), word_topic.sum(axis=0, dtype=np.int64)
    options = {"counted": True, "update": 9, **options}
    returned = []
    for first, last in pairwise(edges or [0, len(offsets) - 1]):
        tile = order_tile(first, last, offsets, tokens, len(word_topic))
        beta_rows = rows(beta, word_topic.shape)
        changed = kernel.redraw(
            tile,
            offsets,
            z,
            word_topic,
            totals,
            alpha,
            beta_rows,
            doc_ids=np.arange(first, last),
            key=KEY,
            **options,
        )
        returned.append((tile, *changed))
    return z, returned


@pytest.mark.parametrize(("first", "last"), [(0, 40), (7, 31), (5, 6)])
def test_the_order_of_tokens(first, last):
    """By word, copy, and length of the document; a batch has no document twice, and ends for no
    other reason than that, or because it is full."""
    offsets, tokens, _, _ = corpus(40, 30, 5)
    tile = order_tile(first, last, offsets, tokens, 30)
    keys = []
    for d in range(first, last):
        here = tokens[offsets[d] : offsets[d + 1]].tolist()
        for i, word in enumerate(here):
            keys.append((word, here[:i].count(word), -len(here), d - first))
    keys.sort()
    docs = tile.docs & ~BEGINS
    assert docs.tolist() == [d for *_, d in keys]
    words = np.repeat(tile.words, np.diff(tile.ends, prepend=0))
    assert words.tolist() == [word for word, *_ in keys]
    expected, batch = [], []
    for d in docs.tolist():
        begins = not batch or d in batch or len(batch) == BATCH
        batch = [d] if begins else [*batch, d]
        expected.append(begins)
    assert (tile.docs >= BEGINS).tolist() == expected


def test_each_thread_has_a_tile_and_small_ones_are_left_for_the_end():
    offsets = 50 * np.arange(10_001)
    tiles = cut(0, 10_000, offsets, 16, 2)
    assert [end - begin for begin, end in tiles] == [3750, 3750, 1250, 1250]
    assert [tiles[0][0], *(end for _, end in tiles)] == [0, 3750, 7500, 8750, 10_000]
    assert cut(0, 10_000, offsets, 16, 1) == [(0, 10_000)]
    # Where a small one would be too small, or where there are many anyway, all are alike.
    few = 8 * PIECE // 50 - 2
    assert cut(0, few, offsets, 16, 2) == [(0, few // 2), (few // 2, few)]
    few = 3_198  # of which a small one would have 399, however long they are
    assert cut(0, few, 5 * offsets, 16, 2) == [(0, few // 2), (few // 2, few)]
    many = cut(0, 10_000, 3 * offsets, 208, 2)
    assert [end - begin for begin, end in many] == [2500] * 4


def test_words_must_ascend():
    with pytest.raises(ValueError, match="ascend"):
        order_tile(0, 1, np.array([0, 2]), np.array([3, 1], np.uint16), 4)


@pytest.mark.parametrize("n_topics", [3, 37, 600])
@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.1, 0.01), (5.0, 0.5), (1e-3, 1e-4), (1e-7, 1e-7), (0.1, "uneven")]
)
def test_agrees_with_the_naive_twin(n_topics, alpha, beta):
    """Every token without its own count, the other counts as before the sweep; with tiny α and β,
    tokens whose own share is nearly all there is. The twin works in double precision: about one
    draw in 10⁴ may part them; these 700 meet none."""
    offsets, tokens, z, word_topic = corpus(14, 60, n_topics, seed=4, longest=110)
    if beta == "uneven":
        beta = uneven(0.01, *word_topic.shape)
    alphas = padded_topics(np.full(n_topics, alpha))
    expected = naive_gibbs.collapsed(
        offsets, tokens, z, 60, alphas.astype(float), beta, KEY, sweep=1, last=9, frozen=True
    )
    z_new, _ = drawn(offsets, tokens, z, word_topic, alphas, beta)
    np.testing.assert_array_equal(z_new, expected)


DOCUMENT = np.array([0, 1, 1, 1, 3], np.uint16)  # the token of word 3 is all that there is of it


def exact_law(z, counts, alpha, beta, counted):
    """Of the topics after one sweep over DOCUMENT: float (4, 4, 4, 4, 4)."""
    law = np.zeros((len(alpha),) * len(z))
    for after in product(range(len(alpha)), repeat=len(z)):
        current, chance = list(z), 1.0
        for i, new in enumerate(after):
            own = np.arange(len(alpha)) == current[i]
            mine = np.bincount(current, minlength=len(alpha)) - own
            less = own * counted
            weights = (mine + alpha) * (counts[DOCUMENT[i]] - less + beta)
            weights = weights / (counts.sum(axis=0) - less + len(counts) * beta)
            chance *= weights[new] / weights.sum()
            current[i] = new
        law[after] = chance
    return law


@pytest.mark.parametrize("kernel", [by_word, by_word_slots, Held])
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(
    ("n_padded", "alpha", "beta"),
    [(16, 0.3, 0.1), (112, 0.02, 0.1), (1008, 1.5, 0.4), (112, 0.5, 1e-8)],
)
def test_the_law_of_a_sweep(kernel, counted, n_padded, alpha, beta):
    """A document of five tokens, 60,000 times: χ² of all five topics against the exact law, which
    fails by chance once in 10⁶. Its topics are spread over the columns, the last one included. With
    a tiny β a token's own share is nearly all that the others leave."""
    n, z = 60_000, np.array([0, 1, 1, 3, 2])
    places = np.array([0, 1, n_padded // 2, n_padded - 1])
    few = np.array([[2, 1, 3, 0], [4, 3, 0, 2], [1, 1, 5, 2], [0, 0, 1, 0]])
    word_topic = np.zeros((4, n_padded), np.int32)
    word_topic[:, places] = few
    alphas = np.zeros(n_padded, np.float32)
    alphas[places] = alpha * np.array([1, 2, 0.5, 1])
    offsets, tokens = 5 * np.arange(n + 1), np.tile(DOCUMENT, n)
    totals = word_topic.sum(axis=0, dtype=np.int64)
    state = places[np.tile(z, n)].astype(np.uint16)
    for first, last in pairwise([0, 30_000, n]):
        tile = order_tile(first, last, offsets, tokens, 4)
        beta_rows = rows(beta, word_topic.shape)
        kernel.redraw(
            tile, offsets, state, word_topic, totals, alphas, beta_rows, counted=counted, key=KEY,
            doc_ids=np.arange(first, last), update=2,
        )  # fmt: skip
    after = np.searchsorted(places, state).reshape(n, 5)
    law = exact_law(z, few, alphas[places].astype(float), beta, counted)
    seen = np.bincount(np.ravel_multi_index(after.T, law.shape), minlength=law.size)
    expected = n * law.ravel()
    rare = expected < 5
    statistic = np.sum((seen - expected)[~rare] ** 2 / expected[~rare])
    statistic += (seen - expected)[rare].sum() ** 2 / max(expected[rare].sum(), 1)
    assert chi2.sf(statistic, np.count_nonzero(~rare)) > 1e-6


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.01), (1e-3, 1e-6), (0.5, "uneven")])
def test_slots_draw_as_often_as_the_other_kernel(alpha, beta):
    """Topics that tokens leave: over 40 sweeps from one state, as many by either kernel within 5
    standard deviations, among them tokens whose own share is nearly all of the second part."""
    offsets, tokens, z, word_topic = corpus(80, 2_000, 600, seed=2)
    alphas = padded_topics(np.full(600, alpha))
    beta = uneven(0.01, *word_topic.shape) if beta == "uneven" else beta
    left = np.array([
        [
            np.mean(drawn(offsets, tokens, z, word_topic, alphas, beta, kernel=k, update=i)[0] != z)
            for k in (by_word, by_word_slots, Held)
        ]
        for i in range(40)
    ])  # fmt: skip
    for other in (1, 2):
        apart = left[:, 0] - left[:, other]
        assert abs(apart.mean()) < 5 * apart.std() / np.sqrt(len(apart)) + 1e-12


@pytest.mark.parametrize("n_topics", [200, 1_100])
def test_blocks_left_over_do_not_matter(n_topics):
    """The same draws whether the bits of empty blocks are set or not; and these are dropped, of the
    words that come up."""
    offsets, tokens, z, word_topic = corpus(40, 50, n_topics)
    state = (offsets, tokens, z, word_topic, padded_topics(np.full(n_topics, 0.1)), 0.01)
    all_set, exact = held_blocks(*word_topic.shape), exactly_held(word_topic)
    n_blocks = word_topic.shape[1] // 16
    blocks = np.full(3 + n_blocks, 7, np.uint16)
    assert blocks_of(all_set, 0, blocks, 3) == n_blocks
    assert blocks.tolist() == [7, 7, 7, *range(n_blocks)]
    with_all, _ = drawn(*state, kernel=by_word_slots, held=all_set)
    with_few, _ = drawn(*state, kernel=by_word_slots, held=exact.copy())
    np.testing.assert_array_equal(with_all, with_few)
    assert np.any(with_all != z)
    seen = np.unique(tokens)
    np.testing.assert_array_equal(all_set[seen], exact[seen])


@both
def test_tiles_do_not_matter(kernel):
    offsets, tokens, z, word_topic = corpus(300, 40, 200, longest=150)
    state = (offsets, tokens, z, word_topic, padded_topics(np.full(200, 0.1)), 0.1)
    one, _ = drawn(*state, kernel=kernel)
    parts, _ = drawn(*state, kernel=kernel, edges=[0, 90, 91, 300])
    np.testing.assert_array_equal(parts, one)


@both
def test_changes_are_counted(kernel):
    """All of them, by the topics before and after that come back, words shared out or not."""
    offsets, tokens, z, word_topic = corpus(60, 40, 20)
    state = (offsets, tokens, z, word_topic, padded_topics(np.full(20, 0.1)), 0.1)
    after, returned = drawn(*state, kernel=kernel, edges=[0, 25, 60])
    totals, held = word_topic.sum(axis=0, dtype=np.int64), exactly_held(word_topic)
    for tile, before, now, change in returned:
        totals += change
        for words in ((25, 40), (0, 25)):
            by_word.count_changes(tile, before, now, word_topic, words, held)
    assert not np.any(exactly_held(word_topic) & ~held)
    recount = np.zeros_like(word_topic)
    np.add.at(recount, (tokens, after), 1)
    np.testing.assert_array_equal(word_topic, recount)
    np.testing.assert_array_equal(totals, recount.sum(axis=0))


@pytest.mark.parametrize("kernel", [by_word, by_word_slots, Held])
@pytest.mark.parametrize("n_topics", [1, 16, 17, 48, 1_008])
def test_what_a_thread_has_left_does_not_matter(kernel, n_topics):
    """The same draws whatever is in its scratch, and their changes are those of a count: of
    documents whose topics fill lines of slots, or nearly, and one that has two tokens of each."""
    mixes = [*map(np.arange, (0, 1, 15, 16, 17, 32, 33, 400)), np.arange(64) // 2]
    offsets = np.r_[0, np.cumsum([len(mix) for mix in mixes])]
    tokens = np.concatenate([np.sort(np.arange(len(mix)) % 40) for mix in mixes]).astype(np.uint16)
    z = (np.concatenate(mixes) % n_topics).astype(assignment_dtype(n_topics))
    word_topic = np.zeros((40, padded_size(n_topics)), np.int32)
    np.add.at(word_topic, (tokens, z), 1)
    state = (offsets, tokens, z, word_topic, padded_topics(np.full(n_topics, 0.1)), 0.1)
    drawn(*state, kernel=kernel)  # which makes the scratch
    found = []
    for byte in (0, 255):
        for array in scratch._LOCAL.__dict__.values():
            array.view(np.uint8).fill(byte)
        after, ((_, before, now, change),) = drawn(*state, kernel=kernel)
        found.append(after)
        counts = [np.bincount(topics, minlength=len(change)) for topics in (z, before, after, now)]
        np.testing.assert_array_equal(counts[:2], [counts[0]] * 2)
        np.testing.assert_array_equal(counts[2:], [counts[0] + change] * 2)
    np.testing.assert_array_equal(*found)
    assert np.any(after != z) == (n_topics > 1)


@njit
def _picked(table, rest):
    return pick_block(table, 0, 48, 0, rest)


def test_no_topic_of_zero_weight_is_picked():
    """Of three in a lane only the middle one has weight; below zero, as rounding may leave the
    target, beyond the sum, and with no number at all, there is none."""
    table = tables(1, 48).reshape(-1)
    table[32 + np.array([0, 16, 32])] = 0, 0.5, 0.5
    rests = np.array([0, 0.25, 0.5, -1e-9, np.nan], np.float32)
    assert [_picked(table, rest) for rest in rests] == [16, 16, -1, -1, -1]


@both
def test_given_topics_are_used_as_they_are(kernel):
    """θ in place of counts: no weight, no draw; and θ's scale does not matter."""
    offsets, tokens, z, _ = corpus(40, 20, 3)
    theta = np.zeros((20, 16), np.float32)
    theta[:, :3] = np.random.default_rng(0).gamma(0.5, size=(20, 3))
    theta[4, 1] = 0
    sums = np.maximum(theta.sum(axis=0), 1e-9)
    tile = order_tile(0, 40, offsets, tokens, 20)
    results = []
    for scale in (1.0, 64.0):
        z_new = z.copy()
        kernel.redraw(
            tile, offsets, z_new, theta * np.float32(scale), sums * scale,
            padded_topics(np.full(3, 0.4)), no_prior(16), counted=False, key=KEY, update=1,
            doc_ids=np.arange(40),
        )  # fmt: skip
        results.append(z_new)
    np.testing.assert_array_equal(*results)
    assert not np.any(results[0][tokens == 4] == 1)


def test_lines_of_slots():
    """Against a count by sets; and many topics in few lines have slots pay."""
    offsets, _, z, _ = corpus(30, 20, 40, longest=200)
    docs = np.arange(3, 27)
    lines = total = 0
    for d in docs:
        here = z[offsets[d] : offsets[d + 1]].tolist()
        lines += -(-len(set(here)) // 16) * len(here)
        total += len(here)
    assert by_word_slots.lines_a_token(docs, offsets, z, 48) == pytest.approx(lines / total)
    assert not by_word_slots.pays(docs, offsets, z, 112)
    assert by_word_slots.pays(docs, offsets, z, 1008)

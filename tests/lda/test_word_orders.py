"""Blocks drawn word by word: which they are, and that threads do not matter."""

from functools import partial

import numpy as np
import pytest

from topicmc.kernels import by_word, by_word_slots, word_order
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed import word_orders
from topicmc.models.lda.collapsed import worker as worker_module
from topicmc.models.lda.collapsed.parts import Part
from topicmc.models.lda.collapsed.word_orders import WordOrders
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.origin import padded_theta
from topicmc.samplers.row_prior import RowPrior


def corpus(n_docs=120, n_words=40):
    generator = np.random.default_rng(5)
    lengths = generator.integers(5, 60, n_docs)
    tokens = np.concatenate([np.sort(generator.integers(0, n_words, n)) for n in lengths])
    return np.r_[0, np.cumsum(lengths)], tokens.astype(np.uint16)


def sweeps(n_topics, n_threads):
    """A worker after four sweeps in blocks of 50, 50 and 20 documents."""
    offsets, tokens = corpus()
    worker = CollapsedWorker(offsets, tokens, 0, 40, n_topics, np.uint64(9))
    threads, alpha = Threads(n_threads), np.full(n_topics, 0.1)
    for sweep in range(4):
        for first, last in ((0, 50), (50, 100), (100, 120)):
            docs = np.arange(first, last)
            worker.draw(docs, alpha, RowPrior(0.1), sweep=sweep, one_by_one=False, threads=threads)
    return worker


@pytest.mark.parametrize(("n_topics", "kernel"), [(20, by_word), (2_000, by_word_slots)])
def test_threads_do_not_matter(n_topics, kernel, monkeypatch):
    """The same topics and counts with one thread and with three, each of which has tiles."""
    one, drawn = sweeps(n_topics, 1), []
    redraw = kernel.redraw
    monkeypatch.setattr(word_orders, "cut", partial(word_order.cut, piece=100))
    monkeypatch.setattr(kernel, "redraw", lambda *a, **b: drawn.append(a[0]) or redraw(*a, **b))
    three = sweeps(n_topics, 3)
    assert len(drawn) >= 3 * 3 * 3
    np.testing.assert_array_equal(three.z, one.z)
    np.testing.assert_array_equal(three.word_topic, one.word_topic)
    np.testing.assert_array_equal(three.topic_totals, one.topic_totals)
    recount = np.zeros_like(one.word_topic)
    np.add.at(recount, (one.tokens, one.z), 1)
    np.testing.assert_array_equal(one.word_topic, recount)
    np.testing.assert_array_equal(one.topic_totals, recount.sum(axis=0))


@pytest.mark.parametrize(("n_topics", "kernel"), [(20, by_word), (2_000, by_word_slots)])
def test_documents_that_join_given_topics(n_topics, kernel, monkeypatch):
    """Word by word they get what they get one after another, but where rounding decides (slots
    draw otherwise); among others that have topics, which are drawn as well. Whatever the number of
    threads."""
    offsets, tokens = corpus()
    generator = np.random.default_rng(7)
    theta = padded_theta(generator.gamma(0.3, size=(40, n_topics)).astype(np.float32))
    monkeypatch.setattr(word_orders, "cut", partial(word_order.cut, piece=100))
    alpha, drawn = np.full(n_topics, 0.1), []

    def joined(n_threads):
        worker = CollapsedWorker(offsets, tokens, 0, 40, n_topics, np.uint64(9))
        for docs, sweep in ((np.array([3, 5]), 0), (np.arange(60), 1)):
            worker.draw(
                docs, alpha, RowPrior(0.1), sweep=sweep, one_by_one=False,
                threads=Threads(n_threads), topics=theta,
            )  # fmt: skip
        assert np.array_equal(worker.joined, np.arange(120) < 60)
        counts = np.zeros_like(worker.word_topic)
        np.add.at(counts, (tokens[: offsets[60]], worker.z[: offsets[60]]), 1)
        np.testing.assert_array_equal(worker.word_topic, counts)
        np.testing.assert_array_equal(worker.topic_totals, counts.sum(axis=0))
        return worker.z[: offsets[60]]

    redraw = kernel.redraw
    monkeypatch.setattr(kernel, "redraw", lambda *a, **b: drawn.append(a[0]) or redraw(*a, **b))
    z = joined(3)
    assert len(drawn) >= 3
    np.testing.assert_array_equal(z, joined(1))
    monkeypatch.setattr(WordOrders, "tiles", lambda *arguments: [])
    one_by_one = joined(1)
    assert kernel is by_word_slots or np.mean(z == one_by_one) > 0.99


@pytest.mark.parametrize("change", ["adopt", "one by one", "others", "none"])
def test_held_blocks_are_never_fewer_than_words_have(change, monkeypatch):
    """However counts change between two sweeps, a sweep is told of all blocks that have tokens."""
    worker, told = sweeps(2_000, 2), []
    alpha, prior, threads = np.full(2_000, 0.1), RowPrior(0.1), Threads(2)
    generator = np.random.default_rng(1)
    if change == "adopt":
        worker.adopt(generator.integers(0, 2_000, len(worker.z)))
    elif change == "one by one":
        some = np.arange(30)
        worker.draw(some, alpha, prior, sweep=4, one_by_one=True, threads=threads)
    elif change == "others":
        worker.word_topic[:, :2_000] += generator.integers(0, 2, (40, 2_000), dtype=np.int32)
        worker.renew_totals()
    redraw = by_word_slots.redraw

    def watched(*arguments, held, **options):
        blocks = arguments[3].reshape(40, -1, 16).any(axis=2)
        bits = (held[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        told.append(not np.any(blocks & (bits.reshape(40, -1)[:, : blocks.shape[1]] == 0)))
        return redraw(*arguments, held=held, **options)

    monkeypatch.setattr(by_word_slots, "redraw", watched)
    for first, last in ((0, 50), (50, 100), (0, 50)):
        worker.draw(
            np.arange(first, last), alpha, prior, sweep=5, one_by_one=False, threads=threads
        )
    assert told == [True] * len(told) and len(told) >= 3


def test_which_blocks_are_drawn_by_word(monkeypatch):
    offsets, tokens = corpus()
    orders, apart = WordOrders(tokens, 40), np.arange(0, 120, 2)

    def found(docs):
        tiles = orders.tiles(Part(docs, offsets), 32, Threads(2))
        return [(tile.first, tile.last) for tile in tiles]

    assert found(np.arange(9, 50)) == [(0, 41)]
    assert found(apart) == [(0, 60)]
    assert found(np.arange(3)) == []  # hardly two tokens of a word
    monkeypatch.setattr(word_orders, "LONGEST", 20)
    assert found(np.arange(60, 120)) == []  # a document is too long


EVEN = np.arange(0, 120, 2)
BLOCKS = {
    "side by side": (np.arange(0, 60), np.arange(60, 120), np.arange(30, 90)),
    "apart": (EVEN[:30], EVEN[30:], np.r_[0, np.arange(3, 110, 3), 118]),
    "first and last alike": (EVEN, np.r_[0, np.arange(3, 110, 3), 118]),
    "of both kinds": (EVEN, np.arange(20, 80), EVEN[10:50]),
}


@pytest.mark.parametrize("kind", BLOCKS)
def test_orders_are_kept_while_they_are_right(kind, monkeypatch):
    """Disjoint blocks keep theirs, and one whose place another needs gets the same once more."""
    offsets, tokens = corpus()
    made, order = [], word_orders.order_tile
    monkeypatch.setattr(word_orders, "order_tile", lambda *a: made.append(a) or order(*a))

    def documents(orders, docs):
        (tile,) = orders.tiles(Part(docs, offsets), 32, Threads())
        return tile.docs.copy()

    orders = WordOrders(tokens, 40)
    right = [documents(WordOrders(tokens, 40), docs) for docs in BLOCKS[kind]]
    made.clear()
    for number in (0, 1, 0, 1) if kind in ("side by side", "apart") else ():
        np.testing.assert_array_equal(documents(orders, BLOCKS[kind][number]), right[number])
        assert len(made) <= 2
    for number in np.random.default_rng(3).integers(0, len(right), 20):
        np.testing.assert_array_equal(documents(orders, BLOCKS[kind][number]), right[number])


@pytest.mark.parametrize(("n_topics", "kernel"), [(20, by_word), (2_000, by_word_slots)])
def test_documents_that_lie_apart_and_come_again(n_topics, kernel, monkeypatch):
    """They are drawn word by word, as they would be one after another but where rounding decides
    (slots draw otherwise); counts are whole, the others' topics stay, and threads do not matter."""
    offsets, tokens = corpus()
    monkeypatch.setattr(word_orders, "cut", partial(word_order.cut, piece=100))
    alpha, drawn = np.full(n_topics, 0.1), []
    some = np.flatnonzero(np.arange(120) % 3 > 0)

    def swept(n_threads):
        worker = CollapsedWorker(offsets, tokens, 7, 40, n_topics, np.uint64(9))
        options = {"one_by_one": False, "threads": Threads(n_threads)}
        worker.draw(np.arange(120), alpha, RowPrior(0.1), sweep=0, **options)
        before = worker.z.copy()
        worker.draw(some, alpha, RowPrior(0.1), sweep=1, **options)
        of_some = np.isin(np.repeat(np.arange(120), np.diff(offsets)), some)
        np.testing.assert_array_equal(worker.z[~of_some], before[~of_some])
        assert np.mean(worker.z[of_some] != before[of_some]) > 0.1
        counts = np.zeros_like(worker.word_topic)
        np.add.at(counts, (tokens, worker.z), 1)
        np.testing.assert_array_equal(worker.word_topic, counts)
        np.testing.assert_array_equal(worker.topic_totals, counts.sum(axis=0))
        return worker.z

    redraw = kernel.redraw
    monkeypatch.setattr(kernel, "redraw", lambda *a, **b: drawn.append(a[0]) or redraw(*a, **b))
    z = swept(3)
    assert len(drawn) >= 3
    np.testing.assert_array_equal(z, swept(1))
    monkeypatch.setattr(WordOrders, "tiles", lambda *arguments: [])
    one_by_one = swept(1)
    assert kernel is by_word_slots or np.mean(z == one_by_one) > 0.99


@pytest.mark.parametrize(("n_topics", "kernel"), [(20, by_word), (2_000, by_word_slots)])
def test_documents_that_join_under_counts_of_many_topics(n_topics, kernel, monkeypatch):
    """They are drawn word by word, as they would be one after another but where rounding decides
    (slots draw otherwise), and those that have topics as if none joined; threads do not matter."""
    offsets, tokens = corpus()
    monkeypatch.setattr(word_orders, "cut", partial(word_order.cut, piece=100))
    alpha, drawn, prior = np.full(n_topics, 0.1), [], RowPrior(0.1)
    first, others = np.arange(0, 120, 2), np.arange(1, 120, 2)
    of_first = np.repeat(np.arange(120) % 2 == 0, np.diff(offsets))

    def joined(docs, n_threads=1, few=0):
        monkeypatch.setattr(worker_module, "FEW_TOPICS", few)
        worker = CollapsedWorker(offsets, tokens, 7, 40, n_topics, np.uint64(9))
        options = {"one_by_one": False, "threads": Threads(n_threads)}
        worker.draw(first, alpha, prior, sweep=0, **options)
        drawn.clear()
        worker.draw(docs, alpha, prior, sweep=1, **options)
        counts = np.zeros_like(worker.word_topic)
        with_topics = worker.z != worker.unassigned
        np.add.at(counts, (tokens[with_topics], worker.z[with_topics]), 1)
        np.testing.assert_array_equal(worker.word_topic, counts)
        np.testing.assert_array_equal(worker.topic_totals, counts.sum(axis=0))
        return worker.z

    redraw = kernel.redraw
    monkeypatch.setattr(kernel, "redraw", lambda *a, **b: drawn.append(b) or redraw(*a, **b))
    z = joined(others)
    assert [options["counted"] for options in drawn] == [False]
    one_by_one = joined(others, few=10_000)
    assert drawn == []
    assert kernel is by_word_slots or np.mean(z == one_by_one) > 0.99
    both = joined(np.arange(120), 3)
    counted = [options["counted"] for options in drawn]
    assert counted == [True] * sum(counted) + [False] * (len(counted) - sum(counted))
    assert 3 <= sum(counted) <= len(counted) - 3
    np.testing.assert_array_equal(both[of_first], joined(first)[of_first])
    np.testing.assert_array_equal(both, joined(np.arange(120)))
    assert np.mean(both[~of_first] == z[~of_first]) < 0.9  # under what the first have now

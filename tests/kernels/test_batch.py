"""Minibatches: every token must come back, named by its own word, whatever the corpus's types."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.errors import DataError
from topicmc.kernels import batch as batch_kernels
from topicmc.kernels.batch import check_lengths, gather
from topicmc.kernels.threads import Threads


def csr(documents, id_type=np.uint16, count_type=np.uint16):
    indptr = np.cumsum([0] + [len(d) for d in documents])
    ids = np.array([w for d in documents for w in sorted(d)], id_type)
    counts = np.array([d[w] for d in documents for w in sorted(d)], count_type)
    return indptr, ids, counts


documents = st.lists(
    st.dictionaries(st.integers(0, 199), st.integers(1, 5), max_size=8), min_size=1, max_size=6
)


@pytest.mark.parametrize("n_threads", [1, 3])
@settings(max_examples=60)
@given(documents, st.data())
def test_tokens_are_those_of_the_documents(n_threads, docs, data):
    chosen = data.draw(st.lists(st.integers(0, len(docs) - 1), max_size=6))
    with mock.patch.object(batch_kernels, "_PIECE", 1):
        batch = gather(*csr(docs), np.array(chosen, np.int64), 200, Threads(n_threads))
    expected = [np.repeat(sorted(docs[d]), [docs[d][w] for w in sorted(docs[d])]) for d in chosen]
    assert batch.n_docs == len(chosen)
    for i, tokens in enumerate(expected):
        here = batch.tokens[batch.offsets[i] : batch.offsets[i + 1]]
        np.testing.assert_array_equal(batch.words[here], tokens)
    np.testing.assert_array_equal(batch.words, np.unique(np.concatenate([[], *expected])))
    assert (batch.tokens.dtype, batch.words.dtype) == (np.uint32, np.int32)


def test_memory_maps_of_either_width_give_the_same(tmp_path):
    docs = [{0: 1, 63: 2, 64: 60_000, 127: 1}, {5: 3}, {}]
    wanted = gather(*csr(docs), np.array([0, 2, 1]), 128)
    arrays = csr(docs, np.uint32, np.uint32)
    for name, array in zip("abc", arrays, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    maps = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "abc"]
    for got, want in zip(gather(*maps, np.array([0, 2, 1]), 128), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_lies_outside_is_refused():
    arrays = csr([{3: 1}, {7: 1}])
    with pytest.raises(IndexError, match="documents must lie in 0 … 1"):
        gather(*arrays, np.array([2]), 8)
    with pytest.raises(IndexError, match="document 1 has a word id of 7 or more"):
        gather(*arrays, np.array([0, 1]), 7)


def test_documents_that_float32_does_not_count_are_refused():
    """At 2^24 tokens of a topic one more would change nothing, and one less would."""
    check_lengths(np.array([3, 2**24]))
    with pytest.raises(DataError, match="16,777,217 tokens, and 16,777,216 are the most"):
        check_lengths(np.array([3, 2**24 + 1]))

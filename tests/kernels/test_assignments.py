"""Which kernel draws: by the number of topics and what is remembered."""

import numpy as np
import pytest

from topicmc.kernels import assignments, gibbs, sparse
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads


@pytest.mark.parametrize(
    ("n_topics", "remembered", "kernel"),
    [(100, False, gibbs), (500, False, gibbs), (500, True, sparse), (1000, False, sparse)],
)
def test_the_cheaper_kernel_draws(n_topics, remembered, kernel):
    length = 50
    generator = np.random.default_rng(0)
    tokens = generator.integers(0, 9, 4 * length).astype(np.uint32)
    batch = Minibatch(np.arange(4), length * np.arange(5), tokens, np.arange(9, dtype=np.int32))
    rows = np.array([padded_topics(row) for row in generator.dirichlet(np.ones(n_topics), 9)])
    alpha = padded_topics(np.full(n_topics, 0.1))
    z = np.full(4 * length, 3 if remembered else UNASSIGNED, np.uint16)
    options = {"sweeps": 2, "burn_in": 1, "key": stream_key(0, "gibbs"), "update": 3}
    got, expected, shares = (
        draw.sample_assignments(
            batch, rows, alpha, z=z.copy(), threads=Threads(), want_doc_topic=True, **options, **rao
        )
        for draw, rao in (
            (assignments, {}), (kernel, {}), (assignments, {"rao_blackwell": True}),
        )
    )  # fmt: skip
    np.testing.assert_array_equal(got.word_topic, expected.word_topic)
    np.testing.assert_array_equal(got.doc_topic, expected.doc_topic)
    assert shares.scale > 1
    other = {gibbs: sparse, sparse: gibbs}[kernel].sample_assignments(
        batch, rows, alpha, z=z.copy(), threads=Threads(), **options
    )
    assert np.any(other.word_topic != got.word_topic)

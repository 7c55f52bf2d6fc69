"""The kernels of the moves against their slow twins, draw for draw, and their bookkeeping."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import naive
import numpy as np
import pytest
from priors import prior, uneven

from topicmc.kernels import simplex
from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, TopicCounts, sum_topics

KEY = stream_key(5, "move")
THETA = (1e-30, 1e-6, 1e-3, 0.3, 1.0, 5.0, 300.0, 1e5, 1e7)
SHAPES = (0.0, 0.05, 0.4, 0.6, 1.0, 5.0, 1e4, 1e6)


def state(n_words=131, n_topics=37, seed=0):
    """θ over all its range and a minibatch that holds some of the words, some topics."""
    generator = np.random.default_rng(seed)
    theta = generator.choice(THETA, (n_words, n_topics)).astype(np.float32)
    words = np.flatnonzero(generator.random(n_words) < 0.5).astype(np.int32)
    counts = np.zeros((words.size, padded_size(n_topics)), np.float32)
    counts[:, :n_topics] = generator.choice(SHAPES, (words.size, n_topics))
    return Chain(0, theta, sum_topics(theta), update=3), TopicCounts(words, counts)


def dense(counts, n_words, n_topics):
    full = np.zeros((n_words, n_topics))
    full[counts.words] = counts.counts[:, :n_topics]
    return full


@pytest.mark.parametrize("base", [None, 0.1])
def test_sgrld_equals_its_equation_draw_for_draw(base):
    chain, counts = state()
    beta = 0.1 if base is None else uneven(base, *chain.theta.shape)
    full = dense(counts, *chain.theta.shape)
    expected = naive.langevin(chain.theta, full, beta=beta, scale=2.0, step=0.01, key=KEY, update=3)
    size = chain.theta + 0.01 * full + 1
    sampler = Sgrld(prior(beta, len(chain.theta)))
    sampler.move(chain, counts, scale=2.0, step=0.01, key=KEY, threads=Threads(1))
    assert np.max(np.abs(chain.theta - expected) / size) < 2e-5
    assert chain.update == 4


@pytest.mark.parametrize("is_uneven", [False, True])
@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("step", [1e-4, 0.3, 20])
def test_scir_equals_its_twin_draw_for_draw(beta, step, is_uneven):
    chain, counts = state()
    beta = uneven(beta, *chain.theta.shape) if is_uneven else np.full(chain.theta.shape, beta)
    full = dense(counts, *chain.theta.shape)
    before = chain.theta.copy()
    sampler = Scir(prior(beta, len(before)))
    sampler.move(chain, counts, scale=2.0, step=step, key=KEY, threads=Threads(1))
    for w, k in np.ndindex(before.shape):
        shape = float(np.float32(beta[w, k]) + np.float32(2) * np.float32(full[w, k]))
        expected = naive.cir(float(before[w, k]), shape, step, key=KEY, topic=k, word=w, update=3)
        expected = max(expected, float(simplex.FLOOR))
        assert chain.theta[w, k] == pytest.approx(expected, rel=3e-5), (before[w, k], shape)


@pytest.mark.parametrize("sampler", [Scir(RowPrior(0.01)), Sgrld(RowPrior(0.01))])
def test_same_bits_for_any_number_of_threads(sampler):
    results = []
    for n_threads in (1, 2, 3):
        chain, counts = state(n_words=700)
        for _ in range(3):
            sampler.move(chain, counts, scale=2.0, step=0.1, key=KEY, threads=Threads(n_threads))
        results.append((chain.theta.tobytes(), chain.topic_sums.tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("sampler", [Scir(RowPrior(0.01)), Sgrld(RowPrior(0.01))])
def test_topic_sums_are_those_of_theta(sampler):
    chain, counts = state()
    assert sampler.move(chain, counts, scale=2.0, step=0.1, key=KEY, threads=Threads(1))
    np.testing.assert_allclose(chain.topic_sums, chain.theta.sum(0, dtype=float), rtol=1e-12)
    assert chain.topic_sums.tobytes() == sum_topics(chain.theta, Threads(2)).tobytes()
    assert chain.theta.min() >= simplex.FLOOR


@pytest.mark.parametrize("sampler", [Scir(RowPrior(0.01)), Sgrld(RowPrior(0.01))])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_divergence_is_reported(sampler, bad):
    chain, counts = state()
    counts.counts[0, 0] = bad
    assert not sampler.move(chain, counts, scale=2.0, step=0.1, key=KEY, threads=Threads(1))


def digest():
    """Names the bits that both moves leave; run by the test below on another machine model."""
    digests = []
    for sampler in (Scir(RowPrior(0.01)), Sgrld(RowPrior(0.01))):
        chain, counts = state()
        sampler.move(chain, counts, scale=2.0, step=0.1, key=KEY, threads=Threads(1))
        digests.append(hashlib.sha256(chain.theta.tobytes()).hexdigest())
    return " ".join(digests)


def test_same_bits_on_a_processor_without_wide_vectors():
    """No fused multiplication, reassociation or vector width may show in the result."""
    program = "import test_simplex; print(test_simplex.digest())"
    here = Path(__file__).parent
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(here), str(here.parent)])
    result = subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True
    )
    assert result.stdout.strip() == digest(), result.stderr

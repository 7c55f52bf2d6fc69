"""What a user can get wrong, and what a first chain looks like."""

import numpy as np
import pytest

from topicmc.errors import UsageError
from topicmc.kernels.threads import Threads
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import TopicCounts, initial_chain
from topicmc.samplers.steps import step_size

NOBODY = TopicCounts(np.empty(0, np.int32), np.empty((0, 16), np.float32))


@pytest.mark.parametrize("sampler", [Scir(RowPrior(0.1)), Sgrld(RowPrior(0.1))])
@pytest.mark.parametrize("step", [0.0, -1.0, float("nan")])
def test_step_must_be_positive(sampler, step):
    chain = initial_chain(0, 10, 3, prior=RowPrior(0.1), total=30.0, seed=0)
    with pytest.raises(UsageError, match="step size"):
        sampler.move(chain, NOBODY, scale=1.0, step=step, key=np.uint64(1), threads=Threads(1))


def test_step_size_decays_as_published():
    assert step_size(0, 0.5, 10, 0.33) == 0.5
    assert step_size(30, 0.5, 10, 0.33) == pytest.approx(0.5 * 4**-0.33)


def test_initial_chain_is_on_the_scale_of_the_corpus_and_breaks_symmetry():
    total = LazyScir.initial_total(0.01, 5000, 7, 10**6)
    chain = initial_chain(0, 5000, 7, prior=RowPrior(0.01), total=total, seed=3)
    assert chain.theta.shape == (5000, 7)
    assert chain.theta.dtype == np.float32
    assert chain.theta.flags.c_contiguous
    assert chain.topic_sums == pytest.approx(0.01 * 5000 + 10**6 / 7, rel=0.1)
    assert np.abs(np.corrcoef(chain.theta.T) - np.eye(7)).max() < 0.1
    again = initial_chain(0, 5000, 7, prior=RowPrior(0.01), total=total, seed=3)
    other = initial_chain(1, 5000, 7, prior=RowPrior(0.01), total=total, seed=3)
    assert np.array_equal(chain.theta, again.theta)
    assert not np.array_equal(chain.theta, other.theta)

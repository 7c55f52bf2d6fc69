"""The annealed start of minibatch chains: which β an update has, and what is no sample."""

from dataclasses import replace

import numpy as np
import pytest
from trained import kept_bits, train

from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.steps import annealed_beta

SAMPLERS = {"scir": LazyScir, "sgrld": Sgrld}
CONFIG = TrainConfig(
    topics=5, beta=0.05, batch_size=40, sweeps=2, updates=16, trajectory=1, balance=False,
    evaluate_every="1", seed=3, threads=1, learn="none", start="anneal", anneal_updates=4,
)  # fmt: skip


def test_beta_falls_from_one_to_its_value():
    path = [annealed_beta(t, 0.008, 40) for t in range(50)]
    assert path[0] == 1
    assert np.all(np.diff(path[:41]) < 0)
    assert path[10] == pytest.approx(2**-3)  # a quarter of the way: 1 + (5 − 1)/4 = 2
    assert path[40:] == [0.008] * 10
    assert [annealed_beta(t, 1.5, 40) for t in (0, 20, 40)] == [1.5] * 3


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_chain_moves_under_the_beta_of_its_own_update(
    small_corpus, tmp_path, monkeypatch, sampler, workers
):
    move, used = SAMPLERS[sampler].move, []

    def noted(self, chain, *arguments, **options):
        if len(chain.theta) == small_corpus.n_words:  # not what is moved to compile
            used.append((chain.index, chain.update, self.prior.base))
        return move(self, chain, *arguments, **options)

    monkeypatch.setattr(SAMPLERS[sampler], "move", noted)
    config = replace(CONFIG, sampler=sampler, workers=workers, updates=6)
    train(config, small_corpus, tmp_path / "run")
    assert sorted(used) == [
        (chain, t, annealed_beta(t, 0.05, 4)) for chain in range(workers) for t in range(6)
    ]
    used.clear()
    train(replace(config, start="plain"), small_corpus, tmp_path / "plain")
    assert {beta for _, _, beta in used} == {0.05}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_metrics_mark_the_start_and_no_sample_is_kept_from_it(small_corpus, tmp_path, sampler):
    """A plain start of as many updates is burn-in, too."""
    config = replace(CONFIG, sampler=sampler, anneal_updates=12, samples=16)
    bits = []
    for start in ("anneal", "plain"):
        run, _ = train(replace(config, start=start), small_corpus, tmp_path / start)
        assert [r["burn_in"] for r in run.metrics()] == [t <= 12 for t in range(1, 17)]
        assert [entry["round"] for entry in run.sample_index()] == [13, 14, 15, 16]
        bits.append(kept_bits(run)[-1])
    assert bits[0] != bits[1]

"""Credible intervals of trained chains, end to end: on documents drawn from separate topics two
chains sample one mode, so intervals of one hold the samples of the other at the stated rate.

The rate is a mean over 100 intervals of words that hang together by topic. Over eight pairs of
seeds it was 0.904 with a standard deviation of 0.009, which so few tell roughly: by Student's t
with seven degrees of freedom another pair is outside of 0.9 ± 0.05 once in 700.
"""

import pytest
from synthetic import lda_documents, write_docword
from trained import train

from topicmc.corpora import prepare
from topicmc.models.lda.settings import TrainConfig
from topicmc.topics.uncertainty import posterior_of


def trained(folder, corpus, seed: int, epochs: float):
    config = TrainConfig(
        sampler="adlda", topics=5, alpha=0.2, beta=0.05, epochs=epochs, samples=16, seed=seed,
        evaluate_every="100000", checkpoint_every="100000", threads=1,
    )  # fmt: skip
    return train(config, corpus, folder / f"run-{seed}")[0]


@pytest.fixture(scope="module")
def separate(tmp_path_factory):
    """1,100 documents over 120 words from 5 topics."""
    folder = tmp_path_factory.mktemp("separate")
    source = write_docword(folder, lda_documents(1100, 120, 5, seed=1), 120)
    return prepare([source], folder / "corpus", n_heldout=100, n_shards=1, seed=4)


def test_intervals_of_one_chain_hold_what_another_finds(separate, tmp_path):
    runs = [trained(tmp_path, separate, seed, 400.0) for seed in (0, 1)]
    posterior = posterior_of(runs)
    assert posterior.stable.all()
    found = posterior.coverage()
    assert found.stable_samples == pytest.approx(0.9, abs=0.05)
    assert found.stable_means > 0.95
    assert posterior.remark().endswith("as they should.")
    # A planted bug, intervals that leave out 10 % on either side, would be caught.
    assert posterior_of(runs, level=0.8).coverage().stable_samples < 0.85

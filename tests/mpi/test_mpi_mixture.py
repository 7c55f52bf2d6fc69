"""Mixtures on real ranks: the bits of one process, resumed on another number of them."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ranks import topicmc

from topicmc.models.mixture.run import MixtureRun

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

FIXED = (
    *("--model", "mixture", "--chains", 2, "--threads", 1, "--progress", "none", "--beta", 0.2),
    *("--batch-size", 151, "--evaluate-every", 40),
)


train = partial(topicmc, "train")


def states(path):
    run = MixtureRun.open(path)
    found = ((entry["file"], run.read_sample(entry)) for entry in run.sample_index())
    return {n: b"".join(map(np.ndarray.tobytes, (s.groups, s.weights, s.phi))) for n, s in found}


def test_the_same_bits_on_any_number_of_ranks(small_corpus, tmp_path: Path):
    """Groups drawn on one rank alone, or a chain that is written twice or by nobody, would show."""
    train(small_corpus.path, "-o", tmp_path / "one", *FIXED, "--updates", 80)
    train(small_corpus.path, "-o", tmp_path / "mpi", *FIXED, "--updates", 33, ranks=3)
    train("-o", tmp_path / "mpi", "--resume", "--updates", 80, ranks=2)
    assert len(states(tmp_path / "one")) > 3
    assert states(tmp_path / "mpi") == states(tmp_path / "one")
    scores = [
        [r["nats_per_document"] for r in MixtureRun.open(tmp_path / name).metrics()][-1]
        for name in ("one", "mpi")
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)

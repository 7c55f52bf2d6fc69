"""Matrix factorisation on real ranks: the bits of one process."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ranks import topicmc
from synthetic import write_ratings

from topicmc.models.factors.run import FactorRun

# Ranks that wait keep a core busy: one such test at a time.
pytestmark = pytest.mark.xdist_group("mpi")

FIXED = (
    *("--factors", 3, "--threads", 1, "--progress", "none", "--updates", 80),
    *("--evaluate-every", 40),
)


train = partial(topicmc, "factors", "train")


def states(path):
    run = FactorRun.open(path)
    found = ((entry["file"], run.read_sample(entry)) for entry in run.sample_index())
    parts = ("users", "items", "user_precision", "item_precision")
    return {name: [getattr(state, part).tobytes() for part in parts] for name, state in found}


@pytest.mark.parametrize(
    ("ranks", "settings"),
    [
        (2, ("--split", "rows")),
        (2, ("--sampler", "gibbs")),
        (3, ("--split", "rows", "--chains", 2, "--learn-noise")),
        (4, ("--split", "square", "--learn-noise")),
    ],
)
def test_the_same_bits_as_in_one_process(tmp_path: Path, ranks, settings):
    """A part on the wrong worker, sums in another order or half a chain in a sample would show."""
    often = () if "gibbs" in settings else ("--precision-every", 2)
    check(tmp_path, write_ratings(tmp_path), ranks, *often, *settings)


def test_a_part_without_users_has_no_precision_of_its_own(tmp_path: Path):
    """One user: of two parts the first is empty."""
    rng = np.random.default_rng(3)
    rows = [f"u,{item},{rng.integers(1, 6)}" for item in range(80)]
    (tmp_path / "one.csv").write_text("\n".join(["user,item,rating", *rows]) + "\n")
    check(tmp_path, tmp_path / "one.csv", 4, "--split", "square", "--precision-every", 2)


def test_a_square_of_ranks_needs_no_workers(tmp_path: Path):
    square = ("--split", "square", "--chains", 2)
    train(write_ratings(tmp_path), "-o", tmp_path / "run", *FIXED, *square, ranks=4)
    config = FactorRun.open(tmp_path / "run").config()
    assert (config.workers, config.chains, config.split) == (4, 2, "square")


def check(tmp_path: Path, ratings: Path, ranks: int, *settings) -> None:
    fixed = (*FIXED, *settings, "--workers", ranks)
    train(ratings, "-o", tmp_path / "local", *fixed, "--transport", "local")
    train(ratings, "-o", tmp_path / "mpi", *fixed, ranks=ranks)
    assert len(states(tmp_path / "mpi")) > 3
    assert states(tmp_path / "mpi") == states(tmp_path / "local")
    for name in ("rmse", "rmse_averaged", "ratings"):
        of_mpi, of_local = (
            [record[name] for record in FactorRun.open(tmp_path / run).metrics()]
            for run in ("mpi", "local")
        )
        np.testing.assert_allclose(of_mpi, of_local, rtol=1e-12)

"""What the training loop records of chains."""

import numpy as np
import pytest
from synthetic import write_ratings

from topicmc.engine.transport.local import LocalTransport
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.jobs import run_on
from topicmc.models.factors.model import MatrixFactorizationModel
from topicmc.models.factors.rating_files import read_ratings
from topicmc.models.factors.rows import SIDES
from topicmc.models.factors.settings import FactorConfig


def test_what_is_traced_does_not_change_when_factors_are_rotated(tmp_path, monkeypatch):
    """But for single precision; "factors" is the root mean square of U_i·V_j, and the ratings whose
    error is traced are from all of the file."""
    monkeypatch.setattr("topicmc.models.factors.model._TRACED", 100)
    data, transport = RatingData.of(read_ratings(write_ratings(tmp_path)), 0.1), LocalTransport(1)
    asked = FactorConfig(factors=3, epochs=1, threads=1)
    config, run = run_on(asked, data, tmp_path / "run", transport)
    model = MatrixFactorizationModel(config, data, run, transport)
    traced, last = model._traced, data.training.take(np.array([-1]))
    assert len(traced) == 100 and (traced.users[-1], traced.items[-1]) == (last.users, last.items)
    before, chain = model.scalars()[0], model.method.chains[0]
    products = chain.users[:, :-1].astype(float) @ chain.items[:, :-1].T
    assert before["factors"] == pytest.approx(np.sqrt((products**2).mean()), rel=1e-6)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    for side in SIDES:
        for rows in model.method.held[side].values():
            rows.factors[:, :-1] = rows.factors[:, :-1] @ rotation
    assert model.scalars()[0] == pytest.approx(before, rel=1e-5)

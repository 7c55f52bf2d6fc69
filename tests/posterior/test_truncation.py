"""Which samples a mean is made of."""

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.engine.samples import KeptSamples
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError
from topicmc.models.lda.samples import posterior_mean
from topicmc.posterior.truncation import at_rest, truncation
from topicmc.storage.runs import RunDirectory


class Recorded(RunDirectory):
    """A run with nothing but a trace of one chain, a value at each position, and of chain 3, which
    is level, if it has others."""

    def __init__(self, path, values, name="log likelihood", others=False):
        self.path, self._values, self._name, self._others = path, values, name, others

    def trace(self):
        return [
            {"position": p, "burn_in": p < 5, "chains": {"2": {self._name: value}} | self._level()}
            for p, value in enumerate(self._values)
        ]

    def _level(self):
        return {"3": {self._name: -8.0}} if self._others else {}


def entries(*positions, chain=2):
    return [{"chain": chain, "position": p, "burn_in": False} for p in positions]


def naive(values):
    n = len(values)
    scores = [
        ((values[d:] - values[d:].mean()) ** 2).sum() / (n - d) ** 2
        for d in range(n)
        if n - d >= max(2, n / 4)
    ]
    return int(np.argmin(scores)) if scores else 0


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 50])
def test_it_is_that_of_the_definition(n):
    generator = np.random.default_rng(n)
    for climb in (0.0, 3.0, 30.0):
        values = -1e6 + climb * np.exp(-np.arange(n) / 10) + generator.normal(size=n)
        assert truncation(values) == naive(values)


def test_a_chain_at_rest_is_left_nearly_whole_and_one_that_climbs_a_quarter():
    """A false failure in 1e-6: over 200 chains the mean share left out is 0.095 (s.d. 0.17)."""
    generator = np.random.default_rng(3)
    shares = [truncation(generator.normal(size=100)) / 100 for _ in range(200)]
    assert np.mean(shares) < 0.16
    assert truncation(np.log1p(np.arange(100.0))) == 75


def test_samples_of_the_climb_are_left_out(tmp_path):
    values = np.concatenate([np.zeros(5), np.linspace(-9, -8, 30), np.full(65, -8.0)])
    values[35:] += 0.01 * np.sin(np.arange(65.0))
    every = entries(*range(8, 100, 4))
    left = at_rest(Recorded(tmp_path, values), every)
    assert left == every[-len(left) :]
    assert 30 <= left[0]["position"] <= 36
    gaps = [None if p % 7 == 0 else value for p, value in enumerate(values)]
    assert at_rest(Recorded(tmp_path, gaps), every) == left
    whole = Recorded(tmp_path, values[:35])  # which climbs to the end
    assert at_rest(whole, entries(8, 16, 24, 32)) == entries(8, 16, 24, 32)
    assert at_rest(whole, entries(*range(8, 35, 2))) == entries(28, 30, 32, 34)


def test_each_chain_comes_to_rest_on_its_own(tmp_path):
    run = Recorded(tmp_path, np.linspace(-9, -8, 36), others=True)
    both = [entry for p in range(8, 36, 2) for c in (2, 3) for entry in entries(p, chain=c)]
    left = at_rest(run, both)
    assert [e for e in left if e["chain"] == 2] == entries(28, 30, 32, 34)
    assert [e for e in left if e["chain"] == 3] == entries(*range(8, 36, 2), chain=3)
    assert left == [entry for entry in both if entry in left]
    assert at_rest(run, []) == []


def test_a_score_is_averaged_over_some_of_these_samples_and_the_newest(tmp_path):
    trace = Recorded(tmp_path, np.linspace(-9, -8, 64), others=True)
    kept = KeptSamples(
        RunDirectory(tmp_path), LocalTransport(1), 64, lambda *_: {}, lambda *_: None
    )
    kept._entries = [e for p in range(33, 64) for c in (2, 3) for e in entries(p, chain=c)]
    kept._entries.append({"chain": 3, "position": 64, "burn_in": True})

    def averaged(most, chain):
        return [e["position"] for e in kept.to_average(trace, most) if e["chain"] == chain]

    assert averaged(None, 2) == list(range(56, 64)) == averaged(8, 2)
    assert averaged(4, 2) == [56, 58, 60, 62, 63]
    assert averaged(4, 3) == [40, 48, 56, 63]
    assert averaged(0, 3) == [63]


def test_a_small_climb_leaves_nothing_out(tmp_path):
    some, values = entries(*range(8, 50)), -8 + 0.001 * np.sin(np.arange(50.0))
    values[:30] -= 0.019
    assert at_rest(Recorded(tmp_path, values), some) == some
    values[:30] -= 0.011
    assert at_rest(Recorded(tmp_path, values), some)[0]["position"] == 30


def test_all_are_taken_where_nothing_tells_them_apart(tmp_path):
    values, some = np.linspace(-9, -8, 50), entries(*range(8, 50))
    assert at_rest(Recorded(tmp_path, values, "log joint"), some) == some
    assert at_rest(Recorded(tmp_path, [None] * 50), some) == some
    old = [{"chain": 2, "burn_in": False, "round": p} for p in range(8, 50)]
    assert at_rest(Recorded(tmp_path, values), old) == old
    start = [{**entry, "burn_in": True} for entry in some]
    assert at_rest(Recorded(tmp_path, values), start) == start
    with pytest.raises(DataError, match=r"trace\.jsonl: holds what is no trace"):
        at_rest(Recorded(tmp_path, ["a"] * 50), some)


def test_the_posterior_mean_is_of_these_samples(tmp_path, monkeypatch):
    generator = np.random.default_rng(9)
    samples = {chain: gamma_samples(topic_shapes(60, 5), 8, generator) for chain in (0, 1)}
    run = make_run(tmp_path / "run", samples, [])
    monkeypatch.setattr("topicmc.models.lda.samples.at_rest", lambda run, entries: entries[-3:])
    expected = np.mean([theta / theta.sum(axis=0) for theta in samples[1][-3:]], axis=0)
    np.testing.assert_allclose(posterior_mean(run, 1).phi, expected.T, rtol=1e-5)

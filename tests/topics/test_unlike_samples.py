"""What figures rest on: means of φ or draws of it, samples at rest, and what was traced."""

import numpy as np
import pytest
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.kernels.threads import Threads
from topicmc.topics.choose import choice
from topicmc.topics.compare.comparison import compare
from topicmc.topics.compare.models import Model, RunModel


class Given(Model):
    """A model of some samples, its topics as they are."""

    def __init__(self, name, words, n_samples, of_means):
        phi = np.random.default_rng(1).dirichlet(np.full(len(words), 0.1), 4)
        super().__init__(name, words, phi)
        self.of_means, self._n = of_means, n_samples

    def samples(self):
        for _ in range(self._n):
            yield self.phi.T.astype(np.float32), np.full(len(self.phi), 0.2)


@pytest.mark.parametrize("n", [2, 3])
def test_perplexities_of_means_and_of_draws_do_not_compare(small_corpus, n):
    models = [
        Given("kept", small_corpus.vocabulary, 2, True),
        Given("drawn", small_corpus.vocabulary, n, False),
    ]
    newest, *averaged = compare(models, small_corpus, Threads(1)).remarks
    assert "newest samples do not compare: those of kept are of means given" in newest
    assert "and those of drawn of draws" in newest
    assert newest.endswith("; compare the averaged ones") == (n == 2)
    assert len(averaged) == n - 2
    assert all(remark.endswith("samples, and more samples lower them") for remark in averaged)


def test_intervals_of_a_drift_are_of_the_samples_that_topics_are_the_mean_of(tmp_path, monkeypatch):
    for module in ("models.lda.samples", "topics.compare.models"):
        monkeypatch.setattr(f"topicmc.{module}.at_rest", lambda run, entries: entries[-3:])
    samples = gamma_samples(topic_shapes(60, 5), 8, np.random.default_rng(9))
    make_run(tmp_path / "run", {0: samples}, workers=1, threads=1)
    model = RunModel(tmp_path / "run")
    drawn = [(theta / theta.sum(axis=0)).T for theta in model.draws()]
    assert len(drawn) == 3
    np.testing.assert_allclose(np.mean(drawn, axis=0), model.phi, rtol=1e-5)


def test_what_was_traced_tells_whether_perplexity_is_at_rest_where_evaluations_are_few(tmp_path):
    level = -7 + 0.01 * (np.arange(240.0) % 40 < 20)
    for name, trace, expected in (
        ("level", level, True),
        ("climbs", level + np.linspace(0, 0.1, 240), False),
        ("short", level[:11], None),
        ("no number", np.where(np.arange(240) == 7, np.nan, level), None),
    ):
        theta = gamma_samples(topic_shapes(30, 3), 2, np.random.default_rng(0))
        recorded = {"log likelihood": trace[None]}
        run = make_run(tmp_path / name, {0: theta}, [[-7.0]] * 5, trace=recorded)
        assert choice._has_settled(run) is expected, name

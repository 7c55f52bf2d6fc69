"""The prior of a run's topics on disk: samples and everything that is made of them know it."""

import numpy as np
import pytest
from priors import prior, uneven

from topicmc.errors import DataError
from topicmc.export import sklearn
from topicmc.export.gensim import lda_model
from topicmc.export.sklearn import latent_dirichlet_allocation
from topicmc.export.source import Source, topics_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.storage.arrays import write_arrays
from topicmc.topics.chains import matched_chains
from topicmc.topics.editing import Edits, edit

WORDS = [f"word{w}" for w in range(12)]
B = uneven(0.1, 12, 3, seed=4)
COUNTS = np.random.default_rng(0).poisson(4.0, B.shape)
FACTS = {
    "config": {"topics": 3, "alpha": 0.1, "beta": 0.1, "sampler": "adlda", "seed": 0},
    "corpus": {"path": "corpus", "fingerprint": "0", "words": 12, "tokens": int(COUNTS.sum())},
}


@pytest.fixture
def run(tmp_path) -> TopicRun:
    """One sample of an AD-LDA chain, under β = 0.1 and what some words have over it."""
    path = tmp_path / "run"
    run = TopicRun.create(path, FACTS, words=WORDS, additions=prior(B, 12).additions)
    entry = run.keep_sample(0, 1, (COUNTS + B).astype(np.float32), beta=0.1)
    sizes = COUNTS.sum(axis=0)
    known = {"beta": 0.1, "alpha": [0.1] * 3, "share": (sizes / sizes.sum()).tolist()}
    run.write_sample_index([{**entry, "burn_in": False, "position": 1, **known}])
    return TopicRun.open(path)


def test_samples_come_back_with_their_prior(run):
    theta = run.read_sample(run.sample_index()[0])
    np.testing.assert_allclose(theta, COUNTS + B, rtol=1e-6)
    stored = np.load(run.path / "samples" / run.sample_index()[0]["file"])
    assert stored["counts"].sum() == COUNTS.sum()
    np.testing.assert_allclose(posterior_mean(run).prior.matrix(), B.T)


def test_without_a_prior_of_its_own_a_run_has_the_format_that_it_had(run, tmp_path):
    plain = TopicRun.create(tmp_path / "plain", FACTS, words=WORDS)
    assert (plain.facts()["format"], run.facts()["format"]) == (2, 3)
    run.update_facts(format=2)
    assert run.facts()["format"] == 3
    assert plain.additions() is None and not (plain.path / "prior.npz").exists()


def test_a_topic_of_prior_alone_is_told(run):
    """What counts as collapsed is measured by each topic's own prior."""
    ((chain, _),) = matched_chains([run])
    np.testing.assert_allclose(chain.prior_mass, B.sum(axis=0)[None])


def test_a_merged_topic_has_the_prior_of_its_parts(run, tmp_path):
    view = edit(run, Edits(merges=[(0, 2)]), tmp_path / "view")
    ((chain, _),) = matched_chains([view])
    totals = B.sum(axis=0)
    np.testing.assert_allclose(chain.prior_mass, [[totals[0] + totals[2], totals[1]]])


def test_exports_state_the_prior(run):
    topics = topics_of(run)
    np.testing.assert_allclose(topics.pseudo_counts, (COUNTS + B).T, rtol=1e-6)
    model = lda_model(topics)
    np.testing.assert_allclose(model.eta, B.T)
    np.testing.assert_allclose(model.state.get_lambda(), (COUNTS + B).T, rtol=1e-6)
    assert latent_dirichlet_allocation(topics).topic_word_prior_ == pytest.approx(B.mean())


def test_a_library_that_knows_one_number_is_given_it_with_a_remark(run, tmp_path):
    pytest.importorskip("skops")
    source = Source([run])
    (tmp_path / "model").mkdir()
    sklearn.write(source, tmp_path / "model")
    assert any("one prior for all words" in remark for remark in source.remarks)


def damaged(name, value):
    arrays = {"row_of": np.zeros(12, np.int32), "values": np.zeros((2, 3))}
    return arrays | {name: value}


@pytest.mark.parametrize(
    "arrays",
    [
        {"row_of": np.zeros(12, np.int32)},
        damaged("row_of", np.full(12, 2, np.int32)),
        damaged("row_of", np.full(12, -1, np.int32)),
        damaged("row_of", np.zeros(11, np.int32)),
        damaged("row_of", np.zeros(12)),
        damaged("values", np.zeros((2, 4))),
        damaged("values", np.ones((2, 3))),
        damaged("values", np.array([[0, 0, 0], [1, -1, np.nan]])),
        damaged("values", np.zeros((0, 3))),
    ],
)
def test_a_prior_that_cannot_be_is_refused(run, arrays):
    """Even when its checksum fits."""
    run.update_facts(prior=write_arrays(run.path / "prior.npz", arrays))
    with pytest.raises(DataError, match=r"prior\.npz: holds no prior"):
        TopicRun.open(run.path).additions()


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_damaged_prior_is_refused_by_name(run, how):
    path = run.path / "prior.npz"
    path.unlink() if how == "gone" else path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"prior\.npz: (no such file|damaged)"):
        run.read_sample(run.sample_index()[0])

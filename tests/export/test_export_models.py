"""Models of gensim and scikit-learn: kept, read back by the libraries themselves, and used."""

import warnings
import zipfile

import numpy as np
import pytest
from made_run import BETAS

from topicmc.export import export

gensim = pytest.importorskip("gensim")
skops = pytest.importorskip("skops.io")
text = pytest.importorskip("sklearn.feature_extraction.text")


@pytest.fixture(scope="module")
def lda(made, tmp_path_factory):
    """The model as gensim loads it, from another place than it was written to."""
    folder = tmp_path_factory.mktemp("gensim")
    export(made.source(), "gensim", folder / "topics")
    (folder / "topics").rename(folder / "moved")
    return gensim.models.LdaModel.load(str(folder / "moved/model"))


def bag(counts: np.ndarray) -> list[tuple[int, int]]:
    return [(int(w), int(counts[w])) for w in np.flatnonzero(counts)]


def test_gensim_has_our_topics(lda, topics):
    np.testing.assert_allclose(lda.get_topics(), topics.phi, atol=1e-12)
    np.testing.assert_allclose(lda.alpha, topics.alpha, atol=1e-12)
    np.testing.assert_allclose(lda.eta, np.mean(BETAS[0]), rtol=1e-6)
    assert [lda.id2word[w] for w in range(120)] == topics.vocabulary
    assert lda.id2word.doc2bow(["new york", "naïve", "new york", "unheard"]) == [(3, 1), (7, 2)]
    for k, shown in lda.show_topics(5, 3, formatted=False):
        best = np.argsort(-topics.phi[k])[:3]
        assert [word for word, _ in shown] == [topics.vocabulary[w] for w in best]


def test_gensim_infers_under_our_topics(lda, topics, documents, mixes):
    """A prior that forgot how topics differ would move mixes by more than 0.01."""
    lda.iterations, lda.gamma_threshold = 2000, 1e-9
    gamma, _ = lda.inference([bag(counts) for counts in documents])
    found = gamma / gamma.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, mixes(topics.phi, topics.alpha, documents), atol=1e-4)
    blunt = mixes(topics.phi, np.full(5, topics.alpha.mean()), documents)
    assert np.abs(found - blunt).max() > 0.01


def test_gensim_goes_on_with_the_model(lda, documents, tmp_path):
    """It saves and loads it again, and trains it on from where it is."""
    lda.save(str(tmp_path / "again"))
    again = gensim.models.LdaModel.load(str(tmp_path / "again"))
    np.testing.assert_array_equal(again.get_topics(), lda.get_topics())
    again.update([bag(counts) for counts in documents], eval_every=0)
    assert 0 < np.abs(again.get_topics() - lda.get_topics()).max() < 0.05


def test_a_short_document_does_not_outweigh_the_corpus(lda, topics, small_corpus, tmp_path):
    """For gensim: five tokens beside 300 documents."""
    lda.save(str(tmp_path / "again"))
    again = gensim.models.LdaModel.load(str(tmp_path / "again"))
    assert again.num_updates == again.state.numdocs == topics.n_docs == small_corpus.n_docs
    again.update([[(0, 3), (1, 2)]], eval_every=0)
    assert 0 < np.abs(again.get_topics() - lda.get_topics()).max() < 0.1


def shares(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.fixture
def estimator(made, tmp_path):
    export(made.source(), "sklearn", tmp_path / "topics")
    return skops.load(tmp_path / "topics/model.skops")


def test_scikit_learn_has_our_topics(estimator, topics):
    np.testing.assert_allclose(shares(estimator.components_), topics.phi, atol=1e-12)
    assert estimator.topic_word_prior_ == pytest.approx(np.mean(BETAS[0]))
    assert estimator.doc_topic_prior_ == pytest.approx(topics.alpha.mean())


def test_scikit_learn_needs_to_trust_nothing(made, tmp_path):
    export(made.source(), "sklearn", tmp_path / "topics")
    file = tmp_path / "topics/model.skops"
    assert skops.get_untrusted_types(file=file) == []
    assert {name.rsplit(".")[-1] for name in zipfile.ZipFile(file).namelist()} <= {"json", "npy"}


def test_scikit_learn_infers_under_our_topics(even, documents, mixes):
    from topicmc.export.sklearn import latent_dirichlet_allocation

    model = latent_dirichlet_allocation(even)
    model.set_params(max_doc_update_iter=2000, mean_change_tol=1e-9)
    np.testing.assert_allclose(
        model.transform(documents), mixes(even.phi, even.alpha, documents), atol=1e-4
    )


def test_scikit_learn_after_a_vectorizer(made, estimator, tmp_path):
    """The vocabulary lies beside it; nothing complains, and the model can go on learning."""
    words = (tmp_path / "topics/vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vectorizer = text.CountVectorizer(vocabulary=words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = vectorizer.transform(["word001 word002", "word004 word004 naïve"])
        assert counts[1, 3] == 1
        mixes = estimator.transform(counts)
        np.testing.assert_allclose(mixes.sum(axis=1), 1)
        assert np.isfinite(estimator.score(counts))
        before = shares(estimator.components_)
        estimator.partial_fit(counts)
        assert 0 < np.abs(shares(estimator.components_) - before).max() < 0.15  # 5 tokens are few


def test_one_prior_for_all_topics_is_said(made, even, tmp_path):
    source = made.source()
    export(source, "sklearn", tmp_path / "topics")
    (remark,) = source.remarks
    assert "0.63, the mean of α, which goes from 0.05 to 2" in remark
    source = made.source()
    source.__dict__["topics"] = even
    export(source, "sklearn", tmp_path / "even")
    assert source.remarks == []

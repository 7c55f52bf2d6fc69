"""What a fitted `LDA` does with documents: their topic mixes, and how well it predicts them."""

from __future__ import annotations

import math

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from topicmc.corpora.documents import select
from topicmc.estimator import inputs
from topicmc.estimator.stored import Record
from topicmc.kernels.threads import Threads


class Fitted(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The part of `LDA` that needs its samples only."""

    n_components: int
    n_jobs: int
    doc_topic_prior_: np.ndarray
    _record: Record
    _seed: int

    # Made when they are read: a stream would copy and average all samples at every call, and make a
    # prior of all words where few have their own.

    @property
    def components_(self) -> np.ndarray:
        check_is_fitted(self, "_record")
        return self._record.phi

    @property
    def samples_(self) -> np.ndarray:
        check_is_fitted(self, "_record")
        return self._record.samples

    @property
    def topic_word_prior_(self) -> float | np.ndarray:
        check_is_fitted(self, "_record")
        return self._record.topic_word_prior

    def transform(self, X, return_std=False):
        """The topic mixes of documents: float64 (n_documents, n_components), rows sum to one. Of a
        prepared corpus these are the training documents in their order, without those held out.

        They are posterior means under `components_`, by CVB0; a document without a known word has
        the mean of the prior. With ``return_std`` also their posterior standard deviations, an
        array alike, from Gibbs draws under draws of φ at `samples_`; that takes some twenty times
        as long. The random numbers of a document go by its place in X, so that in another order
        deviations differ a little; mixes do not.

        Raises ValueError for data that cannot be used, and for ``return_std`` while there is no
        posterior sample; TypeError for X that cannot be read, such as texts; DataError for a
        prepared corpus that is missing or damaged, and where ``return_std`` needs more room for
        large draws of φ than the folder for temporary files has.
        """
        from topicmc.inference.deviations import MOST, Sample, deviations
        from topicmc.inference.mixes import put_aside
        from topicmc.models.lda.mixes import Mixer, parts
        from topicmc.posterior.thinning import evenly

        check_is_fitted(self, "components_")
        if return_std and self._record.is_starting:
            raise ValueError(
                "return_std: there is no posterior sample yet, and standard deviations are those of"
                " samples; raise max_iter or time_budget, or go on with partial_fit"
            )
        threads = self._threads()
        mixer = Mixer(self.components_, self.doc_topic_prior_, threads)
        n_topics, alphas = len(self.components_), self._record.alphas
        samples = [
            Sample(put_aside(np.ascontiguousarray(self._draw(i).T)), np.ones(n_topics), alphas[i])
            for i in (evenly(len(self.samples_), MOST) if return_std else ())
        ]
        mixes, sure = [np.empty((0, n_topics))], []
        for part in parts(inputs.again(self, X), mixer.block):
            if return_std:
                first = sum(map(len, mixes))
                whole = inputs.whole(part, self._seed)
                sure.append(
                    deviations(whole, samples, seed=self._seed, first=first, threads=threads)
                )
            mixes.append(mixer.mixes(part))
        mix = np.concatenate(mixes)
        return (mix, np.concatenate([mixes[0], *sure])) if return_std else mix

    def score(self, X, y=None):
        """The mean log-likelihood of a held-out token of X, in nats; higher is better.

        In each document a random tenth of the tokens, the same for every model with the same
        vocabulary, is predicted from the mix that `transform` gives for the others, under
        `components_` (document completion). That takes a few times as long as `transform`.
        `topicmc evaluate` of a corpus with the vocabulary of the model sets the same tokens apart,
        and averages their probability over draws of the mix and over the samples. Of a prepared
        corpus the held-out documents are scored, if it has any.

        Raises as `transform` does, and ValueError where no document has two known words.
        """
        from topicmc.models.heldout import split_documents
        from topicmc.models.lda.completion import plug_in_probabilities
        from topicmc.models.lda.mixes import Mixer
        from topicmc.models.lda.scoring import SPLIT_SEED

        check_is_fitted(self, "components_")
        mixer = Mixer(self.components_, self.doc_topic_prior_, self._threads())
        logs = []
        for documents in inputs.again(self, X, heldout=True):
            whole = inputs.whole(documents, SPLIT_SEED)  # the same tokens for every model
            split = split_documents(select(whole, whole.lengths > 0), seed=SPLIT_SEED)
            logs.append(np.log(plug_in_probabilities(split, self.components_, mixer)))
        scored = np.concatenate(logs)
        if len(scored) == 0:
            raise ValueError("X holds no document of two known words, so nothing can be predicted")
        return float(np.mean(scored))

    def perplexity(self, X):
        """exp(−score): lower is better. Raises as `score` does."""
        return math.exp(-self.score(X))

    def _threads(self) -> Threads:
        return Threads(effective_n_jobs(self.n_jobs))

    def _draw(self, i: int) -> np.ndarray:
        """φ of a sample as a draw from the posterior: float32 (K, W)."""
        from topicmc.models.lda.draws import gamma_draw, keeps_counts

        phi = self.samples_[i]
        if not keeps_counts(self._record.config):
            return phi
        shapes = phi.T * self._record.sums[i].astype(np.float32)
        theta = gamma_draw(shapes, self._record.key_of_draw(i), self._threads())
        return (theta / theta.sum(axis=0, dtype=np.float64).astype(np.float32)).T

    @property
    def _n_features_out(self) -> int:
        return len(self.doc_topic_prior_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

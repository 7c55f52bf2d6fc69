"""`LDA`: topics by MCMC, in the shape that scikit-learn's users know."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, check_random_state

from topicmc.config import TrainConfig
from topicmc.corpora import Documents
from topicmc.corpora.documents import select
from topicmc.errors import UsageError
from topicmc.estimator import inputs
from topicmc.kernels.threads import Threads

# Parameters, and the settings of a run that they become.
_SETTINGS = {
    "n_components": "topics",
    "doc_topic_prior": "alpha",
    "topic_word_prior": "beta",
    "sampler": "sampler",
    "max_iter": "epochs",
    "time_budget": "time_budget",
    "batch_size": "batch_size",
    "n_samples": "samples",
}
_MINIBATCH = 1000  # documents
_DOC_TOPIC_PRIOR = 0.1
_SEEDS = 2**31 - 1


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latent Dirichlet allocation by Markov chain Monte Carlo.

    X may be a matrix of counts, documents × words (NumPy, SciPy, a data frame); lists of tokens;
    gensim's bags of words; or a prepared corpus (`topicmc.corpora.Corpus`, or its path).
    Parameters have the names and meanings of scikit-learn's LatentDirichletAllocation where it has
    them. The same ``random_state`` gives the same topics, for any ``n_jobs``.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K, 2 or more.
    doc_topic_prior : float, default=None
        α, the Dirichlet prior of a document's topic mix. None: learned, a value for each topic,
        or 0.1 in `partial_fit`.
    topic_word_prior : float, default=None
        β, that of a topic's words. None: learned, or 0.01 in `partial_fit`.
    sampler : {"auto", "scir", "sgrld", "adlda"}, default="auto"
        That of `fit`, as in `topicmc train`.
    max_iter : int, default=None
        Passes over the documents in `fit`. None: enough for the size of the corpus.
    time_budget : float, default=None
        Seconds of training after which `fit` stops.
    batch_size : int, default=None
        Documents in a minibatch. None: by size, and 1,000 in `partial_fit`.
    n_samples : int, default=32
        Posterior samples that are kept at most.
    total_samples : int, default=None
        Documents of the whole corpus that `partial_fit` sees parts of. None: as many as it has
        seen. Give it when documents come more than once.
    vocabulary : list of str or mapping from id to str, default=None
        What the columns or ids of X stand for, such as a gensim Dictionary, or the tokens to know.
        None: what X says; all tokens of the first X.
    n_jobs : int, default=-1
        Threads; -1 for all cores.
    verbose : int, default=0
        Whether to show progress: a bar in a notebook or on a terminal.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        φ, the probabilities of words in topics: the posterior mean. Rows sum to one.
    samples_ : ndarray of shape (n_samples, n_components, n_features), float32
        φ of each kept sample of the chain, oldest first: the spread over the first axis is the
        posterior uncertainty of `components_`, as far as one chain shows it. With "scir" they are
        draws, and of 50 or more ``np.quantile(model.samples_[:, k, w], [0.05, 0.95])`` is a
        credible interval. With "adlda" each is the mean of φ given the topics of all tokens, which
        varies less, above all for rare words. Models of other seeds number their topics otherwise.
    doc_topic_prior_ : ndarray of shape (n_components,)
        α, as given or learned.
    topic_word_prior_ : float
        β, as given or learned.
    vocabulary_ : list of str or None
        The words, in the order of the columns; None if X did not say.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, when it was a data frame with names of text.
    n_iter_ : int
        Passes over the documents.

    Examples
    --------
    >>> from topicmc import LDA
    >>> texts = [["tea", "milk", "cup"], ["rain", "wind"], ["tea", "cup"], ["wind", "rain"]] * 10
    >>> model = LDA(n_components=2, random_state=0).fit(texts)
    >>> model.transform([["tea", "milk"]]).shape
    (1, 2)
    """

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        sampler="auto",
        max_iter=None,
        time_budget=None,
        batch_size=None,
        n_samples=32,
        total_samples=None,
        vocabulary=None,
        n_jobs=-1,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampler = sampler
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.batch_size = batch_size
        self.n_samples = n_samples
        self.total_samples = total_samples
        self.vocabulary = vocabulary
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # ---- training

    def fit(self, X, y=None):
        """Trains topics on X, from the beginning. Of a prepared corpus the held-out documents are
        left out.

        Raises ValueError for parameters or data that cannot be honoured.
        """
        from topicmc.estimator.fitting import train, train_on
        from topicmc.estimator.notebook import listener

        self._seed = self._new_seed()
        with _in_own_words():
            config = self._config()
            if inputs.kind(X) == "corpus":
                corpus = inputs.first_corpus(self, X)
                n_docs = corpus.n_docs
                trained = train(corpus, config, listener(self.verbose))
            else:
                documents = inputs.filled(inputs.whole(inputs.first(self, X), self._seed))
                n_docs = documents.n_docs
                n_words = self.n_features_in_
                trained = train_on(documents, n_words, config, listener(self.verbose))
        if not trained.finished:
            warnings.warn(
                "training ended during its start, before the first sample of the posterior: raise"
                " max_iter or time_budget",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.doc_topic_prior_ = np.mean([sample.alpha for sample in trained.samples], axis=0)
        self.topic_word_prior_ = float(trained.beta)
        self._set_samples([_phi(sample) for sample in trained.samples])
        self._sample_priors = np.stack([sample.alpha for sample in trained.samples])
        self._sums = np.stack([sample.sums for sample in trained.samples])
        self._counted = trained.counted
        self._stream = None
        self._n_seen = n_docs
        self.n_iter_ = math.ceil(trained.documents / n_docs)
        return self

    def partial_fit(self, X, y=None):
        """Goes on with the documents of X, or begins with them.

        Every `batch_size` of them make one SCIR update of the chain, as a random sample of
        `total_samples` documents; so they should come in random order. The first 128 updates are
        the start, in which topics are found: until then `samples_` holds the present state. Lists
        of tokens and bags of words need `vocabulary`. Where X fits in memory, `fit` finds better
        topics.
        """
        is_new = not hasattr(self, "components_")
        if is_new:
            self._seed, self._stream, self._n_seen = self._new_seed(), None, 0
        threads = self._threads()
        with _in_own_words():
            self._config()
            for documents in self._first(X) if is_new else inputs.again(self, X):
                whole = inputs.whole(documents, self._seed + self._n_seen)
                n_parts = max(1, -(-whole.n_docs // (self.batch_size or _MINIBATCH)))
                bounds = np.linspace(0, whole.n_docs, n_parts + 1).astype(int).tolist()
                for start, stop in pairwise(bounds):
                    self._update(whole.part(start, stop), threads)
        if self._stream is None:
            raise ValueError("X holds no words to train on")
        self._set_samples(self._stream.samples)
        self._counted = False
        self._sample_priors = np.tile(self.doc_topic_prior_, (len(self.samples_), 1))
        self.n_iter_ = math.ceil(self._n_seen / (self.total_samples or self._n_seen))
        return self

    def _first(self, X) -> Iterator[Documents]:
        """The documents of the first `partial_fit`."""
        if inputs.kind(X) == "corpus":
            inputs.first_corpus(self, X)
            yield from inputs.again(self, X)
            return
        if inputs.kind(X) != "matrix" and self.vocabulary is None:
            raise ValueError("partial_fit needs vocabulary to read tokens or bags of words")
        yield inputs.first(self, X)

    def _update(self, documents: Documents, threads: Threads) -> None:
        self._n_seen += documents.n_docs
        scale = max(1.0, (self.total_samples or self._n_seen) / documents.n_docs)
        documents = select(documents, documents.lengths > 0)
        if documents.n_docs == 0:
            return
        if self._stream is None:
            self._stream = self._new_stream(documents.n_tokens * scale)
        self._stream.update(documents, scale, threads)
        self._stream.keep()

    def _new_stream(self, n_tokens: float) -> Any:
        """From the last sample of `fit`, or from the beginning."""
        from topicmc.defaults import default_beta
        from topicmc.estimator.incremental import Stream

        settings = {"n_samples": self.n_samples, "seed": self._seed}
        if hasattr(self, "components_"):
            theta = np.ascontiguousarray(self.samples_[-1].T) * self._sums[-1].astype(np.float32)
            priors = self.doc_topic_prior_, self.topic_word_prior_
            samples = [self._draw(i) for i in range(len(self.samples_))]
            return Stream.go_on(theta, *priors, samples=samples, **settings)
        alpha, beta = self.doc_topic_prior, self.topic_word_prior
        alpha = _DOC_TOPIC_PRIOR if alpha is None else float(alpha)
        beta = default_beta(self.n_features_in_, round(n_tokens)) if beta is None else float(beta)
        self.doc_topic_prior_, self.topic_word_prior_ = np.full(self.n_components, alpha), beta
        priors = self.doc_topic_prior_, beta
        return Stream.begin(self.n_features_in_, *priors, n_tokens=n_tokens, **settings)

    def _new_seed(self) -> int:
        given = self.random_state
        if isinstance(given, int | np.integer) and given >= 0:
            return int(given)  # as --seed
        return int(check_random_state(given).randint(_SEEDS))

    def _threads(self) -> Threads:
        return Threads(effective_n_jobs(self.n_jobs))

    def _config(self) -> TrainConfig:
        """The settings of a run; UsageError for a parameter out of range."""
        given = {name: getattr(self, parameter) for parameter, name in _SETTINGS.items()}
        return TrainConfig(
            **{name: value for name, value in given.items() if value is not None},
            seed=self._seed,
            threads=effective_n_jobs(self.n_jobs),
            evaluate_every="24h",
            checkpoint_every="24h",
        )

    def _set_samples(self, samples: list[np.ndarray]) -> None:
        self.samples_ = np.stack(samples)
        self.components_ = self.samples_.mean(axis=0, dtype=np.float64)
        self.components_ /= self.components_.sum(axis=1, keepdims=True)

    # ---- use

    def transform(self, X, return_std=False):
        """The topic mixes of documents: float64 (n_documents, n_components), rows sum to one.

        They are posterior means under `components_`, by CVB0; a document without a known word has
        the mean of the prior. With ``return_std`` also their posterior standard deviations, an
        array alike, from Gibbs draws under draws of φ at `samples_`; that takes some twenty times
        as long.
        """
        from topicmc.inference.deviations import Sample, deviations, spread
        from topicmc.inference.mixes import Mixer, parts

        check_is_fitted(self, "components_")
        threads = self._threads()
        mixer = Mixer(self.components_, self.doc_topic_prior_, threads)
        ones = np.ones(self.n_components)
        samples = [
            Sample(np.ascontiguousarray(self._draw(i).T), ones, self._sample_priors[i])
            for i in (spread(len(self.samples_)) if return_std else ())
        ]
        mixes, sure = [np.empty((0, self.n_components))], []
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

        In each document a random tenth of the tokens is predicted from the others, their
        probability averaged over `samples_` (document completion, as in `topicmc evaluate`). Of a
        prepared corpus the held-out documents are scored, if it has any.
        """
        from topicmc.evaluation.completion import split_documents, token_probabilities
        from topicmc.evaluation.scoring import SPLIT_SEED

        check_is_fitted(self, "components_")
        threads, logs = self._threads(), []
        for documents in inputs.again(self, X, heldout=True):
            whole = inputs.whole(documents, self._seed)
            split = split_documents(select(whole, whole.lengths > 0), seed=SPLIT_SEED)
            probabilities = np.mean(
                [
                    token_probabilities(split, *sample, seed=SPLIT_SEED, threads=threads)
                    for sample in self._samples()
                ],
                axis=0,
            )
            logs.append(np.log(probabilities))
        scored = np.concatenate(logs)
        if len(scored) == 0:
            raise ValueError("X holds no document of two known words, so nothing can be predicted")
        return float(np.mean(scored))

    def perplexity(self, X):
        """exp(−score): lower is better."""
        return math.exp(-self.score(X))

    def _samples(self) -> Iterator[Any]:
        from topicmc.inference.deviations import Sample

        ones = np.ones(self.n_components)
        for phi, alpha in zip(self.samples_, self._sample_priors, strict=True):
            yield Sample(np.ascontiguousarray(phi.T), ones, alpha)

    def _draw(self, i: int) -> np.ndarray:
        """φ of a sample as a draw from the posterior: float32 (K, W)."""
        from topicmc.posterior.draws import gamma_draw

        phi = self.samples_[i]
        if not self._counted:
            return phi
        # Other seeds and other documents, which have other sums, are other random numbers.
        generator = np.random.default_rng([self._seed, i, *self._sums[i].view(np.uint32)])
        drawn = gamma_draw(phi * self._sums[i][:, None].astype(np.float32), generator)
        return drawn / drawn.sum(axis=1, keepdims=True)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _phi(sample: Any) -> np.ndarray:
    """float32 (K, W)."""
    return (sample.theta / sample.sums.astype(np.float32)).T


@contextmanager
def _in_own_words() -> Iterator[None]:
    """Settings that cannot be honoured, by the names that they have here."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        for parameter, name in _SETTINGS.items():
            text = text.replace("--" + name.replace("_", "-"), parameter)
        raise ValueError(text) from None

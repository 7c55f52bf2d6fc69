"""`LDA`: topics by MCMC, in the shape that scikit-learn's users know."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, check_random_state

from topicmc.errors import UsageError
from topicmc.estimator import inputs
from topicmc.estimator.partial import PartialFit
from topicmc.estimator.priors import (
    IN_MEMORY,
    alpha_of,
    found_seeds,
    in_numbers,
    is_matrix,
    matrix_of,
)
from topicmc.estimator.settings import SETTINGS, in_own_words, plain
from topicmc.estimator.stored import Record, read, write
from topicmc.models.lda.plan import passes
from topicmc.models.lda.settings import TrainConfig

_SEEDS = 2**31 - 1


class LDA(PartialFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latent Dirichlet allocation by Markov chain Monte Carlo.

    X may be a matrix of counts, documents × words (NumPy, SciPy, a data frame); lists of tokens, in
    a list, an array or a Series; gensim's bags of words; or a prepared corpus
    (`topicmc.corpora.Corpus`, or its path).
    Parameters have the names and meanings of scikit-learn's LatentDirichletAllocation where it has
    them. The same ``random_state`` gives the same topics, for any ``n_jobs``.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K, 2 or more.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        α, the Dirichlet prior of a document's topic mix. None: learned, a value for each topic,
        or 0.1 in `partial_fit`.
    topic_word_prior : float or array-like of shape (n_components, n_features), default=None
        β, that of a topic's words. None: learned, or 0.01 to 0.1 by the size in `partial_fit`.
    seeds : dict, default=None
        Words that topics begin with, by the names of the topics, which come first:
        ``{"sport": ["match", "team"]}``, or with weights in tokens, ``{"sport": {"match": 20}}``.
        ``"econom*"`` stands for all words that begin so. X has to say its words.
    seed_weight : float, default=None
        Tokens that a seed word adds to the prior of its topic. None: n / 200, or √n where that
        is more, with n tokens in a topic of mean size.
    sampler : {"auto", "scir", "sgrld", "adlda"}, default="auto"
        That of `fit`, as in `topicmc train`.
    max_iter : int, default=None
        Passes over the documents in `fit`. None: until it has converged, or for `time_budget`.
    time_budget : float, default=None
        Seconds of training after which `fit` stops.
    batch_size : int, default=None
        Documents in a minibatch. None: by size, and 1,000 in `partial_fit`.
    n_samples : int, default=32
        Posterior samples that are kept at most.
    total_samples : int, default=None
        Documents of the whole corpus that `partial_fit` sees parts of. None: as many as it has
        seen. Give it when documents come more than once.
    vocabulary : list of str or mapping, default=None
        What the columns or ids of X stand for, such as a gensim Dictionary, or the tokens to know.
        None: what X says; of lists of tokens all that `fit` finds, by the alphabet.
    n_jobs : int, default=-1
        Threads; -1 for all cores.
    verbose : int, default=0
        Whether to show progress and perplexity: a bar in a notebook or on a terminal, lines on
        stderr elsewhere.
    callback : callable, default=None
        Called by `fit` at each evaluation with a `topicmc.estimator.Evaluation`; if it returns
        True, training ends and what there is is kept. There are forty, and one every minute
        besides, fewer where they would take more than 15 % of the time.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        φ, the probabilities of words in topics: the posterior mean. Rows sum to one.
    samples_ : ndarray of shape (n_samples, n_components, n_features), float32
        φ of each kept sample of the chain, oldest first: the spread over the first axis is the
        posterior uncertainty of `components_`, as far as one chain shows it. Of minibatches they
        are draws, and of 50 or more ``np.quantile(model.samples_[:, k, w], [0.05, 0.95])`` is a
        credible interval. With "adlda", and with "scir" where it keeps the topics of all tokens,
        each is the mean of φ given these, which varies less, above all for rare words. Models of
        other seeds number their topics otherwise.
    doc_topic_prior_ : ndarray of shape (n_components,)
        α, as given or learned.
    topic_word_prior_ : float or ndarray of shape (n_components, n_features)
        β, as given or learned; an array where words differ.
    topic_names_ : list of str or None
        Names of the topics: those of `seeds`.
    vocabulary_ : list of str or None
        The words, in the order of the columns; None if X did not say.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, when it was a data frame with names of text.
    n_iter_ : int
        Passes over the documents, those of `fit` and of `partial_fit`.

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
        seeds=None,
        seed_weight=None,
        sampler="auto",
        max_iter=None,
        time_budget=None,
        batch_size=None,
        n_samples=32,
        total_samples=None,
        vocabulary=None,
        n_jobs=-1,
        verbose=0,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.seeds = seeds
        self.seed_weight = seed_weight
        self.sampler = sampler
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.batch_size = batch_size
        self.n_samples = n_samples
        self.total_samples = total_samples
        self.vocabulary = vocabulary
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    # ---- training

    def fit(self, X, y=None):
        """Trains topics on X, from the beginning. Of a prepared corpus the held-out documents are
        left out.

        Ctrl-C ends it with a ConvergenceWarning and what there is by then, as in scikit-learn's
        MLPClassifier; a second one raises KeyboardInterrupt. Raises ValueError for parameters or
        data that cannot be honoured.
        """
        from topicmc.estimator.fitting import train, train_on
        from topicmc.estimator.notebook import listener
        from topicmc.estimator.watching import Watcher, logger

        X = inputs.rows_of(X)
        self._seed = self._new_seed()
        watched = bool(self.verbose or self.callback) or logger.isEnabledFor(logging.INFO)
        with in_own_words():
            config = self._config(evaluate_every="auto" if watched else "24h")
            if inputs.kind(X) == "corpus":
                corpus = inputs.first_corpus(self, X)
                n_docs = corpus.n_docs
                watcher = Watcher(listener(self.verbose), self.callback, n_docs)
                found_seeds(self, corpus.vocabulary)  # warns of unknown words
                trained = train(corpus, config, watcher, matrix_of(self))
            else:
                documents = inputs.filled(inputs.whole(inputs.first(self, X), self._seed))
                n_docs = documents.n_docs
                watcher = Watcher(listener(self.verbose), self.callback, n_docs)
                found = found_seeds(self, self.vocabulary_)
                if found is not None:
                    config = replace(config, seeds=in_numbers(found))
                trained = train_on(
                    documents,
                    self.n_features_in_,
                    config,
                    watcher,
                    matrix_of(self),
                )
        trained.record.name(self.seeds, trained.record.config.get("seed_weight"))
        self._set_trained(trained.record, trained.phis, n_docs, trained.passes)
        if trained.interrupted:
            self._warn(
                f"training was interrupted after {self._passes:.1f} passes: what there is is kept"
            )
        if self._record.is_starting:
            self._warn(
                "training ended during its start, before the first sample of the posterior: raise"
                " max_iter or time_budget"
            )
        return self

    # ---- runs

    @classmethod
    def from_run(cls, path, *, chain=0):
        """A fitted model from a run directory of `topicmc train`, finished or not, or of `save`.

        Its vocabulary is that of the run, so it reads tokens and texts cut into tokens. All kept
        samples of the chain are read into memory: K × W × 4 bytes each.

        Raises DataError when there is no run, it has no samples yet or a file is damaged,
        UsageError when there is no such chain, or the run is a view.
        """
        from topicmc.models.lda.run import TopicRun

        run = TopicRun.open(Path(path))
        if run.view is not None:
            raise UsageError(f"{path}: is a view, and a model is of a run; open {run.path}")
        record, phis = read(run, chain)
        config, metrics = record.config, run.metrics()
        learned, beta = config.get("learn", "none"), config["beta"]
        is_matrix_prior = record.additions is not None and not config.get("seeds")
        if is_matrix_prior:
            beta = record.prior.matrix(config["topics"], len(run.vocabulary()))
        model = cls(
            config["topics"],
            doc_topic_prior=None if learned in ("alpha", "both") else config["alpha"],
            topic_word_prior=beta if is_matrix_prior or learned in ("none", "alpha") else None,
            seeds=config.get("seeds"),
            seed_weight=config.get("seed_weight"),
            sampler=config["sampler"],
            max_iter=config.get("epochs"),
            n_samples=config.get("samples", 32),
            random_state=config.get("seed", 0),
        )
        model._seed = model._new_seed()
        model.vocabulary_ = run.vocabulary()
        model.n_features_in_ = len(model.vocabulary_)
        n_docs = record.corpus.get("documents", 1)
        visited = metrics[-1].get("documents", 0) if metrics else 0
        n_passes = visited / n_docs / passes(TrainConfig.from_dict(config))
        model._set_trained(record, phis, n_docs, n_passes)
        if record.is_starting:
            model._warn(f"{path}: the run is in its start, without a sample of the posterior yet")
        return model

    def save(self, path, *, vocabulary=None, force=False):
        """Writes the model as a run directory, which `from_run` and the `topicmc` command read:
        plain files without pickle. It cannot be resumed by `topicmc train`.

        ``vocabulary`` names the columns of a model that does not know their names, for instance
        ``vectorizer.get_feature_names_out()``; ``force`` replaces a run.

        Raises ValueError when names are missing or are not as many as columns, UsageError when
        something is at ``path``.
        """
        check_is_fitted(self, "components_")
        words = self.vocabulary_ if vocabulary is None else inputs.vocabulary_of(vocabulary)
        if words is None:
            raise ValueError(
                "the model knows columns without names: give vocabulary, for instance"
                " vectorizer.get_feature_names_out()"
            )
        if len(words) != self.n_features_in_:
            raise ValueError(
                f"vocabulary has {len(words)} words, and the model {self.n_features_in_} columns"
            )
        write(self._record, self.samples_, words, Path(path), force)

    # ---- inside

    def _new_seed(self) -> int:
        given = self.random_state
        if isinstance(given, int | np.integer) and given >= 0:
            return int(given)  # as --seed
        return int(check_random_state(given).randint(_SEEDS))

    def _config(self, evaluate_every: str = "24h") -> TrainConfig:
        """The settings of a run; UsageError for a parameter out of range."""
        given = {name: plain(getattr(self, parameter)) for parameter, name in SETTINGS.items()}
        given["alpha"] = alpha_of(self.doc_topic_prior)
        if is_matrix(self.topic_word_prior):
            given |= {"beta": None, "topic_prior": IN_MEMORY}
        return TrainConfig(
            **{name: value for name, value in given.items() if value is not None},
            seed=self._seed,
            threads=effective_n_jobs(self.n_jobs),
            evaluate_every=evaluate_every,
            checkpoint_every="24h",
        )

    def _set_trained(self, record: Record, phis: Any, n_docs: int, passes: float) -> None:
        """What `fit` leaves behind, and what `partial_fit` goes on from."""
        self._set(record, phis)
        self._seed_weight = record.config.get("seed_weight")
        self.n_iter_ = math.ceil(passes)
        self._stream, self._passes, self._n_streamed = None, passes, 0
        self._n_seen = self._n_fitted = n_docs

    def _set(self, record: Record, phis: Any) -> None:
        self._record = record
        self.doc_topic_prior_ = record.alphas[record.at_rest].mean(axis=0)
        self.topic_names_ = [record.labels.get(k) for k in range(len(self.doc_topic_prior_))]
        self.samples_ = np.stack(phis)
        self.components_ = self.samples_[record.at_rest].mean(axis=0, dtype=np.float64)
        self.components_ /= self.components_.sum(axis=1, keepdims=True)
        self.topic_word_prior_ = record.prior.matrix(*self.components_.shape)

    def _warn(self, text: str) -> None:
        warnings.warn(text, ConvergenceWarning, stacklevel=3)

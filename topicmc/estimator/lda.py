"""`LDA`: topics by MCMC, in the shape that scikit-learn's users know."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from topicmc.corpora.of_runs import NO_CORPUS
from topicmc.errors import UsageError
from topicmc.estimator import inputs
from topicmc.estimator.parameters import PARAMETERS, WORDS, in_own_words, plain, seed_of
from topicmc.estimator.partial import PartialFit
from topicmc.estimator.priors import (
    NO_FILE,
    alpha_of,
    found_seeds,
    in_numbers,
    is_matrix,
    matrix_of,
)
from topicmc.estimator.saved import (
    check_lines,
    check_memory,
    columns_of,
    length_of,
    read,
    write,
)
from topicmc.estimator.stored import Record
from topicmc.estimator.warning import warn
from topicmc.models.lda.settings import TrainConfig
from topicmc.settings.values import AUTO, learns
from topicmc.storage.files import real_path

_UNSCORED = dict.fromkeys(
    ("perplexity", "perplexity_averaged", "perplexity_mean", "log_likelihood")
)


class LDA(PartialFit):
    """Latent Dirichlet allocation by Markov chain Monte Carlo.

    X may be a matrix of word counts of shape (n_documents, n_features), as NumPy array, SciPy
    sparse matrix or data frame; a list, array or Series of lists of tokens; gensim's bags of words;
    or a prepared corpus (`topicmc.corpora.Corpus`, or its path). Parameters have scikit-learn's
    names where its LatentDirichletAllocation has the same ones. The same ``random_state`` gives the
    same topics for any ``n_jobs``, unless `time_budget` or `callback` ends the training, or
    `sampler` "auto" takes another one for them: then name it.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K, 2 or more. None, with `init_run`: as many as that has.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        α, the Dirichlet prior of a document's topic mix. None: `fit` learns a value for each topic;
        a model that begins with `partial_fit` uses 0.1.
    topic_word_prior : float or array-like of shape (n_components, n_features), default=None
        β, the Dirichlet prior of a topic's words. None: `fit` learns one number; a model that
        begins with `partial_fit` uses words over tokens, but 0.01 to 0.1.
    seeds : dict, default=None
        Seed words by topic name; these topics come first, in this order. A list gives each word the
        weight 1, ``{"sport": ["match", "team*"]}``; a dict gives weights in multiples of
        `seed_weight`, ``{"sport": {"match": 1, "team*": 2}}``. ``"team*"`` stands for all words
        that begin so. X has to name its words, or `vocabulary` does.
    seed_weight : float, default=None
        Tokens that a seed word of weight 1 adds to the prior of its topic. None: n / 200, or √n if
        that is more, with n tokens in a topic of mean size.
    init_run : str or Path, default=None
        A run directory, or a view that names its topics: `fit` begins with the newest sample of its
        first chain, as `topicmc train --from` does. Words are matched by spelling, so X has to name
        its words, or `vocabulary` does. All its topics keep their numbers and names; with a larger
        ``n_components`` there are fresh ones behind them. Priors that are None begin as learned
        there. Excludes `seeds` and an array `topic_word_prior`.
    sampler : {"auto", "scir", "sgrld", "adlda"}, default="auto"
        Sampler of `fit`, as in `topicmc train`; "auto" looks at the corpus, the memory and
        ``n_jobs``. `partial_fit` always uses SCIR.
    max_iter : int, default=None
        Passes over the documents in `fit`. None: until `time_budget` is used up or, without one,
        until the chain has converged.
    time_budget : float, default=None
        Seconds of training after which `fit` stops, without compilation and evaluation.
    batch_size : int, default=None
        Documents in a minibatch, or in a block where the topics of all tokens are kept. None: by
        the size of the corpus in `fit`, 1,000 in `partial_fit`.
    n_samples : int, default=32
        Posterior samples that are kept at most, in memory; `fit` refuses more than fit there.
    total_samples : int, default=None
        Number of documents of the whole corpus of which `partial_fit` sees parts. None: as many as
        it has seen. Give it when documents come more than once.
    vocabulary : list or set of str, or mapping, default=None
        The words that the columns or ids of X stand for, such as a gensim Dictionary; of lists of
        tokens, the words to use. None: as X names them; of lists of tokens all that `fit` finds, in
        alphabetical order.
    n_jobs : int, default=-1
        Threads; -1 for all cores.
    verbose : int, default=0
        Above 0, shows progress and perplexity: a bar in a notebook or on a terminal, lines on
        stderr elsewhere.
    callback : callable, default=None
        Called by `fit` with a `topicmc.estimator.Evaluation` at each evaluation. If it returns
        True, training ends and the result so far is kept. A run has forty evaluations, and one
        every minute besides; fewer if they would take more than 15 % of the time.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers. None: another one at each call.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), float64
        φ, the posterior mean probability of each word in each topic. Rows sum to one. It is the
        mean of `samples_` past the point at which the chain came to rest; of minibatch SCIR in
        `fit` the running mean of the chain.
    samples_ : ndarray of shape (n_kept, n_components, n_features), float32
        φ of each kept sample of the chain, oldest first; n_kept is at most `n_samples`. Their
        spread is the posterior uncertainty as far as one chain shows it. Samples of minibatch
        chains are draws: with 50 or more (raise `n_samples`),
        ``np.quantile(model.samples_[:, k, w], [0.05, 0.95])`` is a credible interval. Where the
        topics of all tokens are kept ("adlda", and "scir" where it can), each sample is the mean of
        φ given these, and varies less than a draw, above all for rare words. Models with other
        seeds number their topics differently.
    doc_topic_prior_ : ndarray of shape (n_components,), float64
        α, as given or learned.
    topic_word_prior_ : float or ndarray of shape (n_components, n_features)
        β, as given or learned; an array where words differ.
    topic_names_ : list of (str or None)
        The name of each topic, from `seeds` or a run; None for topics without one.
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
        init_run=None,
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
        self.init_run = init_run
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
        """Trains topics on X from the beginning.

        Held-out documents of a prepared corpus are left out. The first Ctrl-C ends training and
        keeps the result so far, as in scikit-learn's MLPClassifier; a second one raises
        KeyboardInterrupt. Both that and a run too short for a posterior sample warn
        (ConvergenceWarning).

        Raises ValueError for parameters or data that cannot be used, TypeError for X that cannot be
        read, such as texts, DataError for a prepared corpus or an `init_run` that is missing or
        damaged, and DivergedError when the chain diverges. The model is as it was then.
        """
        from topicmc.estimator.fitting import train, written
        from topicmc.estimator.notebook import listener
        from topicmc.estimator.watching import Watcher, logger

        def watch(n_docs: int) -> Watcher:
            return Watcher(listener(self.verbose), self.callback, n_docs)

        with self._as_it_was():
            X = inputs.rows_of(X)
            self._seed = seed_of(self.random_state)
            watched = self.verbose or self.callback is not None or logger.isEnabledFor(logging.INFO)
            with in_own_words(WORDS):
                config = self._config(evaluate_every=AUTO if watched else "24h")
                self._check_init_run(config)
                parameters = self._parameters(config)
                if inputs.kind(X) == "corpus":
                    corpus = inputs.first_corpus(self, X)
                    found_seeds(self, corpus.vocabulary)  # warns of unknown words
                    record, interrupted = train(corpus, config, watch, matrix_of(self))
                else:
                    with written(  # which gives the documents up
                        inputs.filled(inputs.whole(inputs.first(self, X), self._seed)),
                        self._words_on_lines(),
                    ) as corpus:
                        found = found_seeds(self, self.vocabulary_)
                        if found is not None:
                            config = replace(config, seeds=in_numbers(found))
                        record, interrupted = train(corpus, config, watch, matrix_of(self))
                    record.corpus["path"] = NO_CORPUS
                    # Readers of runs take scores for those of held-out documents.
                    record.metrics = [line | _UNSCORED for line in record.metrics]
            record.name(self.seeds, record.config.get("seed_weight"))
            record.parameters = parameters
            self._set_trained(record)
        if interrupted:
            self._warn(
                f"training was interrupted after {record.passes:.1f} passes: what there is is kept"
            )
        if record.is_starting:
            self._warn(
                "training ended during its start, before the first sample of the posterior: raise"
                " max_iter or time_budget"
            )
        return self

    # ---- runs

    @classmethod
    def from_run(cls, path, *, chain=0):
        """A fitted model from the run directory ``path`` (str or Path), which `topicmc train`
        wrote, finished or not, or `save`; or from a view that names its topics.

        ``chain`` is the number of the chain to read. The vocabulary is that of the run, so the
        model reads lists of tokens. All kept samples of the chain are held in memory, K × W × 4
        bytes each. A new `fit` of it makes a vocabulary of its own, and has the defaults of
        settings that are no parameters here. Warns (ConvergenceWarning) if the run is still in its
        start.

        Raises ValueError for a ``chain`` that is no whole number; DataError when there is no run,
        it has no samples yet, or a file is damaged; UsageError when there is no such chain,
        ``path`` is a view that merges or drops topics, or memory is too small.
        """
        from topicmc.models.lda.run import TopicRun

        if isinstance(chain, bool) or not isinstance(chain, Integral):
            raise ValueError(
                f"chain {chain!r} is not a whole number: chains number topics each on its own, so a"
                " model is of one"
            )
        run = TopicRun.open(Path(path))
        if run.view is not None and run.view.changes_topics:
            raise UsageError(
                f"{path}: is a view that merges or drops topics, and documents are mixes of all"
                f" topics of its run; open {run.path}"
            )
        words = run.vocabulary()
        with in_own_words({"chain": "chain"}, UsageError):
            check_memory(run, int(chain), len(words))
        record = read(run, int(chain))
        config = record.config
        learned, beta = config.get("learn", "none"), config["beta"]
        begun = config.get("from_run")
        is_matrix_prior = record.additions is not None and not (config.get("seeds") or begun)
        if is_matrix_prior:
            beta = record.prior.matrix()
        asked = {
            "doc_topic_prior": None if learns("alpha", learned) else config["alpha"],
            "topic_word_prior": beta if is_matrix_prior or not learns("beta", learned) else None,
            "seeds": config.get("seeds"),
            "seed_weight": config.get("seed_weight"),
            "init_run": begun,
            "sampler": config["sampler"],
            "max_iter": length_of(record),
            "time_budget": config.get("time_budget"),
            "n_samples": config.get("samples", 32),
            "random_state": config.get("seed", 0),
        }
        model = cls(config["topics"], **asked | record.parameters)
        model._seed = seed_of(model.random_state)
        model.vocabulary_, model.n_features_in_ = words, len(words)
        columns = columns_of(run, words)
        if columns is not None:
            model.feature_names_in_ = np.array(columns, object)
        model._set_trained(record)
        if record.is_starting:
            model._warn(f"{path}: the run is in its start, without a sample of the posterior yet")
        return model

    def save(self, path, *, vocabulary=None, force=False):
        """Writes the model as a run directory, which `from_run` and the `topicmc` command read:
        plain files without pickle. Once it is read, it goes on as this one would but for the
        rounding of float32, with the same random numbers, `total_samples` and `batch_size`;
        `topicmc train` cannot resume it.

        ``vocabulary`` names the columns of a model that does not know their names, for instance
        ``vectorizer.get_feature_names_out()``; ``force`` replaces a run, and waits for up to five
        minutes where a job on another machine that may still write it has fallen silent.

        Raises NotFittedError before `fit`; ValueError when the names of the columns are missing,
        not as many as the columns or twice the same, or one cannot stand on a line; UsageError when
        ``path`` exists and may not be replaced, as a run that holds the corpus of this model.
        """
        check_is_fitted(self, "_record")
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
        columns = getattr(self, "feature_names_in_", None)
        write(self._record, words, Path(path), force, None if columns is None else list(columns))

    # ---- inside

    def _config(self, evaluate_every: str = "24h") -> TrainConfig:
        """The settings of a run; UsageError for a parameter out of range."""
        given = {name: plain(getattr(self, parameter)) for name, parameter in PARAMETERS.items()}
        given["alpha"] = alpha_of(self.doc_topic_prior)
        if self.init_run is not None:
            given["from_run"] = str(real_path(self._init_path()))
        given["topic_prior"] = None
        if is_matrix(self.topic_word_prior):
            given |= {"beta": None, "topic_prior": NO_FILE}
        return TrainConfig(
            **{name: value for name, value in given.items() if value is not None},
            seed=self._seed,
            threads=effective_n_jobs(self.n_jobs),
            evaluate_every=evaluate_every,
            checkpoint_every="24h",
        )

    def _init_path(self) -> Path:
        """Of the run that `init_run` names; ValueError where it is no path."""
        if not isinstance(self.init_run, str | Path) or self.init_run == "":
            raise ValueError(
                f"init_run {self.init_run!r:.40} is no path: give that of a run, as `save` writes"
                " it, as str or Path"
            )
        return Path(self.init_run)

    def _check_init_run(self, config: TrainConfig) -> None:
        """ValueError for fewer topics than `init_run` has; UsageError as of `origin_of`."""
        from topicmc.models.lda.origin import origin_of

        if config.from_run is None or config.topics == AUTO:
            return
        n_topics = origin_of(config.from_run).n_topics
        if config.topics < n_topics:
            raise ValueError(
                f"n_components {self.n_components}: {self.init_run} has {n_topics} topics, and all"
                " of them go on; give as many or more, or None"
            )

    def _words_on_lines(self) -> list[str]:
        """The words of documents in memory, for the vocabulary of their corpus: numbers will do,
        but where a run is gone on from."""
        if self.init_run is None:
            return [str(w) for w in range(self.n_features_in_)]
        if self.vocabulary_ is None:
            raise ValueError(
                "init_run goes by words, and X knows columns without names: give vocabulary"
            )
        from topicmc.models.lda.run import TopicRun

        check_lines(self.vocabulary_)
        if set(self.vocabulary_).isdisjoint(TopicRun.open(Path(self.init_run)).vocabulary()):
            raise ValueError(
                f"init_run: {self.init_run} has none of the words of X; were both made alike, in"
                " one language?"
            )
        return self.vocabulary_

    @contextmanager
    def _as_it_was(self) -> Iterator[None]:
        """What raises within the block leaves no trace: the words of one fit do not go with the
        topics of another."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _set_trained(self, record: Record) -> None:
        """What `fit` leaves behind, and what `partial_fit` goes on from."""
        self._set(record)
        self.n_iter_ = math.ceil(record.passes)
        self._stream, self._visits = record.stream, record.visits

    def _set(self, record: Record) -> None:
        self._record = record
        self.doc_topic_prior_ = record.alphas[record.at_rest].mean(axis=0)
        self.topic_names_ = [record.labels.get(k) for k in range(len(self.doc_topic_prior_))]

    def _warn(self, text: str) -> None:
        warn(text, ConvergenceWarning)

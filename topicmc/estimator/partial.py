"""`partial_fit` of `LDA`: documents as they come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.documents import select
from topicmc.estimator import inputs
from topicmc.estimator.fitted import Fitted
from topicmc.estimator.parameters import PRIORS, WORDS, in_own_words, seed_of, whole_number
from topicmc.estimator.priors import NO_FILE, is_matrix, row_prior
from topicmc.estimator.stored import Record, Visits, of_stream
from topicmc.kernels.threads import Threads
from topicmc.models.lda.priors.seeds import usual_weight
from topicmc.models.lda.settings import TrainConfig
from topicmc.settings.values import AUTO, or_default

MINIBATCH = 1000  # documents
DOC_TOPIC_PRIOR = 0.1


class PartialFit(Fitted):
    """The part of `LDA` that learns from documents as they come."""

    doc_topic_prior: Any
    topic_word_prior: Any
    seeds: Any
    init_run: Any
    _seed_weight: float | None
    n_features_in_: int
    total_samples: int | None
    vocabulary: Any
    random_state: Any
    n_iter_: int
    _visits: Visits
    _stream: Any

    def partial_fit(self, X, y=None):
        """Goes on with the documents of X, or begins with them.

        Every `batch_size` of them make one SCIR update of the chain, as a random sample of
        `total_samples` documents; so they should come in random order. A model that begins here
        first finds its topics: for as many updates as minibatches make up `total_samples`
        documents, 50 at least and 128 at most, `samples_` holds the present state, and each call
        warns (ConvergenceWarning). After a `fit` that has samples there is no such start: from the
        first update on new samples take the place of the oldest, until none of `fit` is left. Lists
        of tokens and bags of words need `vocabulary`. Where X fits in memory, `fit` finds better
        topics.

        Raises as `fit` does, and KeyboardInterrupt on Ctrl-C. The model is as it was then.
        """
        with self._as_it_was():
            self._go_on(X)
        stream = self._stream
        if stream is not None and stream.is_starting:
            self._warn(
                f"topics are provisional until there is a posterior sample, after {stream.first}"
                f" updates, {stream.position} so far: go on with partial_fit, or use fit"
            )
        return self

    def _go_on(self, X: Any) -> None:
        """`partial_fit` but for what it warns of."""
        X = inputs.rows_of(X)
        is_new = not hasattr(self, "_record")
        if is_new:
            self._seed, self._stream = seed_of(self.random_state), None
            self._visits = Visits()
        elif self._stream is not None:  # whose topics change in place
            self._stream = self._stream.copy()
        threads = self._threads()
        with in_own_words(WORDS):
            config = self._config()
            parameters = self._parameters(config)
            total = parameters["total_samples"]
            minibatch = or_default(config.batch_size, MINIBATCH)
            for documents in self._first(X) if is_new else inputs.again(self, X):
                whole = inputs.whole(documents, self._seed + self._visits.seen)
                n_parts = max(1, -(-whole.n_docs // minibatch))
                bounds = np.linspace(0, whole.n_docs, n_parts + 1).astype(int).tolist()
                for start, stop in pairwise(bounds):
                    self._update(whole.part(start, stop), total, config, threads)
        stream = self._stream
        if stream is None and is_new:
            raise ValueError("X holds no words to train on")
        visits = self._visits
        one_pass = total or visits.fitted or visits.seen
        passes = visits.passes + visits.streamed / one_pass
        self.n_iter_ = math.ceil(passes)
        if stream is None:
            self._record.passes = passes
        else:
            self._set(self._record_of(stream, total or visits.seen, passes, is_new))
            parameters |= {"sampler": config.sampler, **self._left_open()}
        self._record.visits, self._record.parameters = visits, parameters

    def _record_of(self, stream: Any, n_docs: int, passes: float, is_new: bool) -> Record:
        """What is known of the samples of a stream, after so many passes over ``n_docs``."""
        record = of_stream(stream, n_docs, passes)
        if is_new:
            record.name(self.seeds, self._seed_weight)
            if is_matrix(self.topic_word_prior):
                record.config["topic_prior"] = NO_FILE
        else:  # what the topics began with, whatever is set by now
            begun = self._record
            record.labels, record.inherited = begun.labels, begun.inherited
            names = ["seeds", "seed_weight", "topic_prior"]
            if begun.config.get("from_run") is not None:
                names += ["from_run", "start"]
            record.config.update({name: begun.config.get(name) for name in names})
        return record

    def _left_open(self) -> dict[str, None]:
        """The priors that nobody gave, though a stream has numbers for them."""
        return {name: None for name in PRIORS if getattr(self, name) is None}

    def _parameters(self, config: TrainConfig) -> dict[str, Any]:
        """Those that `partial_fit` goes by and that a run does not say; ValueError where
        `total_samples` is no whole number."""
        total = self.total_samples
        return {
            "total_samples": None if total is None else whole_number("total_samples", total),
            "batch_size": or_default(config.batch_size, None),
        }

    def _first(self, X: Any) -> Iterator[Documents]:
        """The documents of the first `partial_fit`."""
        if self.init_run is not None:
            raise ValueError(
                "init_run is what fit begins with: partial_fit goes on with a run that"
                " LDA.from_run has read"
            )
        how = inputs.kind(X)
        if how == "corpus":
            yield from inputs.of_corpus(self, inputs.first_corpus(self, X))
            return
        if how != "matrix" and self.vocabulary is None:
            raise ValueError(
                "partial_fit needs the words of later documents, too: give LDA(vocabulary=...), or"
                " a matrix of counts"
            )
        yield inputs.first(self, X)

    def _update(
        self, documents: Documents, total: int | None, config: TrainConfig, threads: Threads
    ) -> None:
        visits = self._visits
        self._visits = visits = visits._replace(streamed=visits.streamed + documents.n_docs)
        scale = max(1.0, (total or visits.seen) / max(1, documents.n_docs))
        documents = select(documents, documents.lengths > 0)
        if documents.n_docs == 0:
            return
        if self._stream is None:
            self._stream = self._new_stream(config, documents.n_tokens * scale, scale)
        self._stream.update(documents, scale, threads)
        self._stream.keep(threads)

    def _new_stream(self, config: TrainConfig, n_tokens: float, n_batches: float) -> Any:
        """From the last sample of `fit`, or from the beginning."""
        from topicmc.estimator.incremental import Stream
        from topicmc.models.lda.planning.defaults import default_beta

        settings: dict[str, Any] = {"n_samples": config.samples, "seed": self._seed}
        if hasattr(self, "_record"):
            sums = self._record.sums_for_scir()
            priors = self.doc_topic_prior_, self._record.prior
            if self._record.is_starting:  # no posterior sample, so the start is still to come
                settings["n_batches"] = n_batches
                phi = self._draw(len(sums) - 1)
                return Stream.begin_with(*priors, phi=phi, sums=sums[-1], **settings)
            return Stream.go_on(*priors, draw=self._draw, sums=sums, **settings)
        if config.topics == AUTO:
            raise ValueError("partial_fit needs the number of topics: give n_components")
        alpha = np.full(config.topics, or_default(config.alpha, DOC_TOPIC_PRIOR), np.float64)
        beta = or_default(config.beta, default_beta(self.n_features_in_, round(n_tokens)))
        weight = config.seed_weight or usual_weight(n_tokens, config.topics)
        self._seed_weight = None if self.seeds is None else weight
        prior = row_prior(self, float(beta), weight)
        size: dict[str, Any] = {"n_tokens": n_tokens, "n_batches": n_batches}
        return Stream.begin(self.n_features_in_, alpha, prior, **size, **settings)

"""scikit-learn: a fitted `LatentDirichletAllocation` in a file of skops, and ``vocabulary.txt``.

scikit-learn keeps models by pickle; skops, which its documentation names for the purpose, keeps
them as JSON and arrays in a zip file, which ``skops.io.load`` reads without running what it finds.
The columns that the model expects are the words of ``vocabulary.txt``, in that order; they are no
``feature_names_in_``, for with these it would complain of every sparse matrix.

The model infers topic mixes under φ itself, and ``components_`` are `Topics.pseudo_counts`. It
counts one pass over the documents that the topics were trained on, and ``partial_fit`` takes
further ones as a sample of that many. Its priors are one number each: the mean, where α differs
from topic to topic, or that of the topics from word to word.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topicmc.export.libraries import library
from topicmc.export.source import Source, Topics
from topicmc.storage.files import write_words

if TYPE_CHECKING:
    from sklearn.decomposition import LatentDirichletAllocation


def write(source: Source, folder: Path) -> None:
    """Writes the files into ``folder``."""
    skops = library("skops.io", "sklearn")
    topics = source.topics
    model = latent_dirichlet_allocation(topics)
    skops.dump(model, folder / "model.skops")
    write_words(folder / "vocabulary.txt", topics.vocabulary)
    source.name_indices(folder)
    source.note_dropped("topic mixes")
    if topics.prior.additions is not None:
        source.remarks.append(
            f"scikit-learn has one prior for all words: {model.topic_word_prior:.4g}, the mean;"
            f" here {len(topics.prior.additions.words):,} words have priors of their own"
        )
    if np.ptp(topics.alpha) > 0:
        source.remarks.append(
            f"scikit-learn has one prior for all topics: {model.doc_topic_prior:.4g}, the mean of"
            f" α, which goes from {topics.alpha.min():.4g} to {topics.alpha.max():.4g} here"
        )


def latent_dirichlet_allocation(topics: Topics) -> LatentDirichletAllocation:
    """The topics as a fitted estimator of scikit-learn."""
    decomposition = library("sklearn.decomposition", "sklearn")
    alpha, beta = float(topics.alpha.mean()), topics.prior.mean(*topics.phi.shape)
    model = decomposition.LatentDirichletAllocation(
        len(topics.phi),
        doc_topic_prior=alpha,
        topic_word_prior=beta,
        total_samples=topics.n_docs,
        random_state=0,
    )
    model.doc_topic_prior_, model.topic_word_prior_ = alpha, beta
    model.n_features_in_ = len(topics.vocabulary)
    model.components_ = topics.pseudo_counts
    model.exp_dirichlet_component_ = topics.phi
    model.random_state_ = np.random.RandomState(0)
    model.n_batch_iter_, model.n_iter_ = 1 + -(-topics.n_docs // model.batch_size), 0
    return model

"""gensim: an `LdaModel`, saved by gensim's own method, which pickles; gensim reads it back.

The model infers topic mixes under φ itself, as the point estimate that it is here: what gensim
keeps as exp(E[log φ]) of its variational law is φ. The parameters λ of that law, of which gensim
makes the topics that it shows, are `Topics.pseudo_counts`, and it counts the documents that they
were trained on, by which ``update`` weighs further ones. α may differ from topic to topic, and η,
the prior of the topics, from word to word too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topicmc.export.source import Source, Topics

if TYPE_CHECKING:
    from gensim.models import LdaModel


def write(source: Source, folder: Path) -> None:
    """Writes the files of a model called "model" into ``folder``."""
    lda_model(source.topics).save(str(folder / "model"))
    source.name_indices(folder)
    source.note_dropped("topic mixes")


def lda_model(topics: Topics) -> LdaModel:
    """The topics as a model of gensim, in float64; ids of words are those of the vocabulary."""
    from gensim.corpora import Dictionary
    from gensim.models import LdaModel

    eta = topics.prior.matrix()
    dictionary = Dictionary()
    dictionary.token2id = {word: w for w, word in enumerate(topics.vocabulary)}
    model = LdaModel(
        id2word=dictionary,
        num_topics=len(topics.phi),
        alpha=topics.alpha,
        eta=eta,
        dtype=np.float64,
        random_state=0,
    )
    model.state.sstats = topics.pseudo_counts - eta
    model.num_updates = model.state.numdocs = topics.n_docs
    model.expElogbeta = topics.phi
    model.lifecycle_events = None  # else it notes when and where it is saved
    return model

"""MALLET: ``state.gz``, the topic of every token of the training documents; ``topic-keys.txt``, α
and the likeliest words of each topic; and ``topic-word-weights.txt``, φ.

The state's topics are one draw, by Gibbs sampling given φ and α, the same for the same run and for
any number of threads. Of a view that merges or drops topics they are drawn under those of its run;
tokens of dropped topics are left out. Documents have the numbers of the training documents, shard
after shard, and as their source the id, or the file and row that they come from; NA where neither
is known. Their tokens come in the order of word ids, for a corpus does not keep any other. White
space in a word or a source, which would cut a line of these files, becomes an underscore.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.naming import Named
from topicmc.export.source import Source, Topics
from topicmc.host.machine import available_cores
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.topics.ranking import top

KEYS = 20
"""Words of each topic in ``topic-keys.txt``, as many as MALLET writes."""


def write(source: Source, folder: Path) -> None:
    """Writes the files into ``folder``."""
    topics = source.topics
    if topics.prior.additions is not None:
        source.remarks.append(
            f"MALLET has one prior for all words: {topics.prior.base:.4g}; here"
            f" {len(topics.prior.additions.words):,} words have more in some topics"
        )
    corpus = source.open_corpus()
    words = ["_".join(word.split()) for word in topics.vocabulary]
    _write_keys(folder / "topic-keys.txt", topics, words)
    _write_weights(folder / "topic-word-weights.txt", topics, words)
    source.name_indices(folder)
    key = stream_key(source.runs[0].facts()["config"]["seed"], "export", source.chain or 0)
    drawn = source.assignments(corpus, key, Threads(source.threads or available_cores()))
    n_dropped = 0
    with (
        (folder / "state.gz").open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as packed,
    ):
        packed.write(_head(topics).encode())
        types = [f"{w} {word}" for w, word in enumerate(words)]
        for batch, z in drawn:
            packed.write(_lines(batch, z, types, corpus).encode())
            n_dropped += int((z < 0).sum())
    if n_dropped:
        source.remarks.append(
            f"state.gz leaves out {n_dropped:,} tokens, which are of topics that the view drops"
        )


def _head(topics: Topics) -> str:
    alpha = " ".join(map(repr, topics.alpha.tolist()))
    beta = topics.prior.base
    return f"#doc source pos typeindex type topic\n#alpha : {alpha} \n#beta : {beta!r}\n"


def _lines(batch: Minibatch, z: np.ndarray, types: list[str], corpus: Corpus) -> str:
    """A line for each token; ``types`` are the number and the word of each word."""
    lengths = np.diff(batch.offsets)
    named = [f"{doc} {_source(corpus.about(doc))}" for doc in batch.doc_ids.tolist()]
    documents = np.repeat(np.array(named, dtype=object), lengths).tolist()
    places = (np.arange(batch.n_tokens) - np.repeat(batch.offsets[:-1], lengths)).tolist()
    ids = batch.words[batch.tokens].tolist()
    return "".join(
        [
            f"{doc} {place} {types[w]} {k}\n"
            for doc, place, w, k in zip(documents, places, ids, z.tolist(), strict=True)
            if k >= 0
        ]
    )


def _source(document: Named) -> str:
    known = document.id or document.place
    return "_".join(document.name.split()) if known else "NA"


def _write_keys(path: Path, topics: Topics, words: list[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for k, likeliest in enumerate(top(topics.phi, KEYS)):
            named = "".join(words[w] + " " for w in likeliest)
            stream.write(f"{k}\t{float(topics.alpha[k])!r}\t{named}\n")


def _write_weights(path: Path, topics: Topics, words: list[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for k, row in enumerate(topics.phi):
            stream.writelines(
                f"{k}\t{word}\t{p!r}\n" for word, p in zip(words, row.tolist(), strict=True)
            )

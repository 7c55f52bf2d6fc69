"""Runs whose reports are looked at, and words that would like to be markup."""

from pathlib import Path

import numpy as np
from synthetic import lda_documents, write_docword

from topicmc.corpora import Corpus, prepare
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig

HOSTILE = (
    "<script>alert(1)</script>",
    "</script>",
    "<!--<script>",
    "]]>",
    "&amp;",
    "&lt;b&gt;",
    "\"'`",
    "<img/src=x/onerror=alert(1)>",
    "line\u2028break\u2029end",
    "${7*7}",
    "naïve-Σ-語-🙂",
    "$title",
    "a" * 300,
)
"""Words without blanks that break out of elements, attributes, comments, strings or templates."""


def hostile_corpus(folder: Path) -> Corpus:
    """200 documents over 30 words, the first of them `HOSTILE`; 20 more are held out."""
    source = write_docword(folder, lda_documents(220, 30, 4, seed=3), 30)
    words = [*HOSTILE, *(f"word{i:03d}" for i in range(len(HOSTILE), 30))]
    (folder / "vocab.small.txt").write_text("".join(f"{w}\n" for w in words), encoding="utf-8")
    return prepare([source], folder / "corpus", n_heldout=20, seed=4)


def made_up_run(
    folder: Path,
    n_topics: int,
    words: list[str],
    corpus: Corpus | None = None,
    chains: int = 2,
    seed: int = 0,
) -> TopicRun:
    """A run that nobody trained: two samples a chain of sparse random topics, the same ones for all
    seeds, and a metric of each of four evaluations. Topics of one chain are those of the first in
    another order."""
    workers = {"workers": chains, "chains": chains, "groups": chains}
    config = TrainConfig(topics=n_topics, sampler="scir", updates=40, seed=seed, **workers)
    size = Extent(1000, 100_000, len(words))
    facts = {
        "topicmc": "0.1.0",
        "created": "2026-01-01T00:00:00+00:00",
        "versions": {"python": "3.11.0"},
        "corpus": {
            "path": str(corpus.path) if corpus else str(folder / "gone"),
            "fingerprint": corpus.fingerprint if corpus else "0" * 32,
            "documents": size.n_docs,
            "tokens": size.n_tokens,
            "words": size.n_words,
        },
        "config": resolve(config, size).as_dict(),
    }
    run = TopicRun.create(folder / "run", facts)
    run.update_facts(vocabulary=run.write_vocabulary(words))
    generator = np.random.default_rng(0)
    truth = generator.gamma(0.05, size=(len(words), n_topics)) * generator.gamma(3, size=n_topics)
    generator = np.random.default_rng(seed) if seed else generator
    entries = []
    for chain in range(chains):
        order = generator.permutation(n_topics) if chain else np.arange(n_topics)
        for number in (3, 4):
            theta = generator.gamma(2000 * truth[:, order] + 0.01).astype(np.float32) + 1e-6
            entries.append({**run.keep_sample(chain, number, theta), "burn_in": False})
    run.write_sample_index(entries)
    for number in range(1, 5):
        run.append_metrics(
            {
                "round": number, "update": 10 * number, "seconds": 2.5 * number,
                "perplexity": 900 / number, "perplexity_averaged": 850 / number,
                "log_likelihood": [-7 + number / 10] * chains, "step_size": 1 / number,
            }
        )  # fmt: skip
    return run

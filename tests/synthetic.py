"""Documents drawn from a model with known topics, and files that hold them."""

from pathlib import Path

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.offsets import offsets


def write_docword(folder: Path, documents: list[np.ndarray], n_words: int) -> Path:
    """A UCI docword file with its vocabulary beside it, from arrays of word ids."""
    lines = []
    for number, tokens in enumerate(documents, start=1):
        words, counts = np.unique(tokens, return_counts=True)
        lines += [f"{number} {w + 1} {c}" for w, c in zip(words, counts, strict=True)]
    path = folder / "docword.small.txt"
    path.write_text("\n".join([str(len(documents)), str(n_words), str(len(lines)), *lines]) + "\n")
    (folder / "vocab.small.txt").write_text("".join(f"word{i:03d}\n" for i in range(n_words)))
    return path


def lda_documents(n_docs: int, n_words: int, n_topics: int, seed: int) -> list[np.ndarray]:
    """Documents of 20-60 tokens from an LDA model with sparse topics."""
    generator = np.random.default_rng(seed)
    phi = generator.dirichlet(np.full(n_words, 0.05), n_topics)
    documents = []
    for _ in range(n_docs):
        mix = generator.dirichlet(np.full(n_topics, 0.2))
        z = generator.choice(n_topics, generator.integers(20, 60), p=mix)
        documents.append(np.array([generator.choice(n_words, p=phi[k]) for k in z]))
    return documents


def documents_of(rows: list[dict[int, int]]) -> Documents:
    """From counts by word."""
    ids = [word for row in rows for word in sorted(row)]
    counts = [row[word] for row in rows for word in sorted(row)]
    lengths = np.array([len(row) for row in rows])
    return Documents(offsets(lengths), np.array(ids, np.uint16), np.array(counts, np.uint16))


def write_ratings(folder: Path) -> Path:
    """1,500 ratings from 1 to 5 of 60 items by 80 users, of which two factors explain much."""
    generator = np.random.default_rng(5)
    users, items = np.divmod(generator.choice(4800, 1500, replace=False), 60)
    u, v = generator.normal(0, 0.8, (80, 2)), generator.normal(0, 0.8, (60, 2))
    values = 3 + (u @ v.T)[users, items] + generator.normal(0, 0.4, 1500)
    values = np.clip(np.round(values * 2) / 2, 1, 5)
    lines = [f"u{a},i{b},{c}\n" for a, b, c in zip(users, items, values, strict=True)]
    path = folder / "ratings.csv"
    path.write_text("user,item,rating\n" + "".join(lines))
    return path

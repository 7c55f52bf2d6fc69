"""Slow, plain writers and readers of every format, to hold the fast ones against.

A bag is a dict from word id to count; a corpus is a list of bags over ``n_words`` words.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import scipy.io
import scipy.sparse

from topicmc.corpora import Corpus, Documents

Bag = dict[int, int]


def words(n_words: int) -> list[str]:
    """Distinct words of letters only, in alphabetical order."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        "w" + letters[i // 676 % 26] + letters[i // 26 % 26] + letters[i % 26]
        for i in range(n_words)
    ]


def write_vocabulary(path: Path, n_words: int) -> None:
    path.write_text("".join(word + "\n" for word in words(n_words)), encoding="utf-8")


def docword(path: Path, bags: list[Bag], n_words: int) -> None:
    lines = [f"{d} {w + 1} {c}" for d, bag in enumerate(bags, 1) for w, c in bag.items()]
    head = [str(len(bags)), str(n_words), str(len(lines))]
    path.write_text("\n".join(head + lines) + "\n")


def matrix_market(path: Path, bags: list[Bag], n_words: int) -> None:
    with path.open("wb") as file:
        scipy.io.mmwrite(file, csr(bags, n_words))


def csr(bags: list[Bag], n_words: int, dtype: type = np.int64) -> scipy.sparse.csr_matrix:
    matrix = scipy.sparse.lil_matrix((len(bags), n_words), dtype=dtype)
    for d, bag in enumerate(bags):
        for w, c in bag.items():
            matrix[d, w] = c
    return matrix.tocsr()


def npz(path: Path, bags: list[Bag], n_words: int) -> None:
    scipy.sparse.save_npz(path, csr(bags, n_words))


def ldac(path: Path, bags: list[Bag], n_words: int) -> None:
    lines = [" ".join([str(len(b)), *(f"{w}:{c}" for w, c in b.items())]) for b in bags]
    path.write_text("".join(line + "\n" for line in lines))


def svmlight(path: Path, bags: list[Bag], n_words: int) -> None:
    lines = [" ".join(["1", *(f"{w + 1}:{c}" for w, c in b.items())]) for b in bags]
    path.write_text("".join(line + " # note 7:7\n" for line in lines))


def text(path: Path, bags: list[Bag], n_words: int) -> None:
    path.write_text("".join(sentence(bag, n_words) + "\n" for bag in bags))


def jsonl(path: Path, bags: list[Bag], n_words: int) -> None:
    records = [
        {"id": d, "title": f"No. {d}", "text": sentence(bag, n_words)} for d, bag in enumerate(bags)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def table(path: Path, bags: list[Bag], n_words: int) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "title"])
        writer.writerows(
            [d, sentence(bag, n_words, "\n"), f"No. {d}"] for d, bag in enumerate(bags)
        )


def parquet(path: Path, bags: list[Bag], n_words: int) -> None:
    texts = [sentence(bag, n_words) for bag in bags]
    numbers = list(range(len(bags)))
    columns = {"id": numbers, "text": texts, "title": [f"No. {d}" for d in numbers]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=4)


def sentence(bag: Bag, n_words: int, gap: str = ", ") -> str:
    """The words of a bag, in capitals and between punctuation and numbers."""
    known = words(n_words)
    return gap.join(f"{known[w].upper()}" for w, c in bag.items() for _ in range(c)) + " 42!"


WRITERS = {
    "docword": (docword, "docword.x.txt"),
    "mm": (matrix_market, "x.mtx"),
    "npz": (npz, "x.npz"),
    "ldac": (ldac, "x.ldac"),
    "svmlight": (svmlight, "x.svm"),
    "text": (text, "x.txt"),
    "jsonl": (jsonl, "x.jsonl"),
    "csv": (table, "x.csv"),
    "parquet": (parquet, "x.parquet"),
}


def read_back(documents: Documents) -> list[Bag]:
    return [
        {
            int(documents.word_ids[e]): int(documents.counts[e])
            for e in range(int(documents.indptr[d]), int(documents.indptr[d + 1]))
        }
        for d in range(documents.n_docs)
    ]


def training(corpus: Corpus) -> list[Bag]:
    return [bag for s in range(corpus.n_shards) for bag in read_back(corpus.shard(s))]

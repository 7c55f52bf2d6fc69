"""Corpora from a known LDA model, of any size, written as fast as a disk takes them.

    python bench/generate.py -o OUT [--documents 8200000] [--tokens 89] [--words 39987]
                             [--topics 100] [--seed 0] [--format shards|docword] [--heldout 1000]

Words have Zipf frequencies, topics vary them, lengths are log-normal. OUT holds

    corpus/ (shards), or docword.generated.txt and vocab.generated.txt
    phi.npy    float64 (K, W), the true topics, columns in the order of the vocabulary
    alpha.npy  float64 (K,), the prior of the topic mixes
    model.json the settings

so that ``topicmc evaluate --corpus OUT/corpus --topics-file OUT/phi.npy --alpha F`` tells the
perplexity that no model can be expected to beat. A document is a function of the seed and its
number alone.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from topicmc.corpora import Documents
from topicmc.corpora.files import staging
from topicmc.corpora.index import write_index
from topicmc.corpora.making.emission import shard_bounds, write_parts
from topicmc.corpora.making.split import choose_heldout
from topicmc.corpora.offsets import offsets
from topicmc.corpora.parallel import thread_map
from topicmc.corpora.shards import count_dtype, id_dtype
from topicmc.kernels.draws import normal_pair
from topicmc.kernels.random import philox, stream_key
from topicmc.storage.files import write_words

MARKER = "model.json"
NAMES = (MARKER, "corpus", "docword.generated.txt", "vocab.generated.txt", "phi.npy", "alpha.npy")
LONGEST = (1 << 16) - 1
_BLOCK_TOKENS = 1 << 20
_ENTRIES_PLACE = 20  # the third header line of docword is filled in at the end
_UNIT = 2.0**-32


@dataclass(frozen=True)
class Settings:
    """``tokens`` is the mean length, ``spread`` the deviation of its logarithm; a word of rank r
    has frequency ∝ (r + offset)^−zipf, which each topic multiplies by a log-normal factor of
    deviation ``contrast`` (the greater, the further topics are apart)."""

    documents: int = 8_200_000
    tokens: float = 89.0
    words: int = 39_987
    topics: int = 100
    alpha: float = 0.05
    seed: int = 0
    heldout: int = 1000
    spread: float = 0.5
    zipf: float = 1.1
    offset: float = 1.0
    contrast: float = 2.0


class Model(NamedTuple):
    phi: np.ndarray  # float64 (K, W)
    table: np.ndarray  # uint64 (K, W), see alias_table
    alpha: float
    log_length: float  # mean of log length
    spread: float
    key: np.uint64


def build(settings: Settings) -> Model:
    """The topics and what draws need. Word ids are in random order of frequency."""
    generator = np.random.default_rng(settings.seed)
    frequency = (np.arange(settings.words) + settings.offset) ** -settings.zipf
    frequency = generator.permutation(frequency / frequency.sum())
    phi = generator.standard_normal((settings.topics, settings.words))
    phi = frequency * np.exp(settings.contrast * phi)
    phi /= phi.sum(axis=1, keepdims=True)
    table = np.empty(phi.shape, np.uint64)
    for k in range(settings.topics):
        alias_table(phi[k], table[k])
    return Model(
        phi,
        table,
        settings.alpha,
        math.log(settings.tokens) - settings.spread**2 / 2,
        settings.spread,
        stream_key(settings.seed, "generate"),
    )


@njit(nogil=True, cache=True)
def alias_table(p, table):
    """Fills table, uint64 (W,), from probabilities p: of W equal bins, bin w yields w when 32
    random bits are below its high half, else the word in its low half (Walker 1977; Vose 1991)."""
    n = len(p)
    mass = p * n
    order = np.empty(n, np.int64)  # light bins from the left, heavy ones from the right
    light, heavy = 0, n
    for w in range(n):
        if mass[w] < 1.0:
            order[light] = w
            light += 1
        else:
            heavy -= 1
            order[heavy] = w
    i, h = 0, heavy
    while i < light and h < n:
        low, high = order[i], order[h]
        threshold = min(np.uint64(mass[low] * 2.0**32), np.uint64(0xFFFFFFFF))
        table[low] = (threshold << np.uint64(32)) | np.uint64(high)
        mass[high] -= 1.0 - mass[low]
        i += 1
        if mass[high] < 1.0:
            h += 1
            order[light] = high  # light ≤ h: the place is free
            light += 1
    for j in range(i, light):
        table[order[j]] = (np.uint64(0xFFFFFFFF) << np.uint64(32)) | np.uint64(order[j])
    for j in range(h, n):
        table[order[j]] = (np.uint64(0xFFFFFFFF) << np.uint64(32)) | np.uint64(order[j])


@njit(nogil=True, cache=True)
def draw_lengths(first, n_docs, log_length, spread, key):
    """int64 (n_docs,): tokens of documents first, first + 1, …"""
    lengths = np.empty(n_docs, np.int64)
    for i in range(n_docs):
        doc = np.uint64(first + i)
        a, b, _, _ = philox(key, 0xFFFFFFFF, doc & np.uint64(0xFFFFFFFF), doc >> np.uint64(32), 1)
        normal, _ = normal_pair(a, b)
        length = np.int64(math.exp(log_length + spread * np.float64(normal)) + 0.5)
        lengths[i] = min(max(length, 1), LONGEST)
    return lengths


@njit(nogil=True, cache=True)
def draw_documents(first, lengths, table, alpha, key):
    """Entries per document, word ids and counts of documents first, first + 1, …

    Topics come from Pólya's urn, in which the topic mix is integrated out: token i takes the
    topic of an earlier token, each with weight 1, or a new one from the prior, with weight αK.
    """
    n_topics, n_words = table.shape
    total = lengths.sum()
    word_ids = np.empty(total, np.uint32)
    counts = np.empty(total, np.uint32)
    entries = np.empty(len(lengths), np.int64)
    topics = np.empty(lengths.max(), np.uint32)
    words = np.empty(lengths.max(), np.uint32)
    prior = alpha * n_topics
    used = 0
    for d in range(len(lengths)):
        doc = np.uint64(first + d)
        low, high = doc & np.uint64(0xFFFFFFFF), doc >> np.uint64(32)
        length = lengths[d]
        for i in range(length):
            a, b, c, e = philox(key, i, low, high, 0)
            place = (np.float64(a) + 0.5) * _UNIT * (i + prior)
            if place < i:
                topic = topics[np.int64(place)]
            else:
                topic = np.uint32((np.uint64(b) * np.uint64(n_topics)) >> np.uint64(32))
            topics[i] = topic
            bin_ = (np.uint64(c) * np.uint64(n_words)) >> np.uint64(32)
            pair = table[topic, bin_]
            keep = np.uint64(e) < (pair >> np.uint64(32))
            words[i] = bin_ if keep else pair & np.uint64(0xFFFFFFFF)
        words[:length].sort()
        start = used
        for i in range(length):
            if i > 0 and words[i] == words[i - 1]:
                counts[used - 1] += 1
            else:
                word_ids[used] = words[i]
                counts[used] = 1
                used += 1
        entries[d] = used - start
    return entries, word_ids[:used].copy(), counts[:used].copy()


def block(model: Model, bounds: tuple[int, int]) -> Documents:
    """Documents bounds[0] to bounds[1] − 1."""
    first, stop = bounds
    lengths = draw_lengths(first, stop - first, model.log_length, model.spread, model.key)
    entries, ids, counts = draw_documents(first, lengths, model.table, model.alpha, model.key)
    return Documents(offsets(entries), ids, counts)


def spans(settings: Settings) -> Iterator[tuple[int, int]]:
    step = max(1, round(_BLOCK_TOKENS / settings.tokens))
    for first in range(0, settings.documents, step):
        yield first, min(first + step, settings.documents)


def write_corpus(settings: Settings, model: Model, folder: Path) -> int:
    """A corpus of topicmc, and how many tokens it has."""
    chosen = choose_heldout(settings.documents, settings.heldout, settings.seed)
    n_docs = settings.documents - len(chosen)
    n_entries = int(n_docs * settings.tokens)  # at most, about: for the size of shards
    tables = write_parts(
        thread_map(partial(block, model), spans(settings)),
        folder,
        dtypes=(id_dtype(settings.words), count_dtype(LONGEST)),
        chosen=chosen,
        bounds=shard_bounds(n_docs, n_entries, None),
    )
    write_words(folder / "vocabulary.txt", vocabulary(settings.words))
    provenance = {"generated": asdict(settings)}
    write_index(folder, n_words=settings.words, provenance=provenance, **tables)
    return sum(part["n_tokens"] for part in [*tables["shards"], tables["heldout"]])


def write_docword(settings: Settings, model: Model, folder: Path) -> int:
    """UCI docword with its vocabulary, and how many tokens it has."""

    def lines(bounds: tuple[int, int]) -> tuple[np.ndarray, Documents]:
        documents = block(model, bounds)
        return document_lines(bounds[0] + 1, documents), documents

    n_entries = n_tokens = 0
    with (folder / "docword.generated.txt").open("wb") as file:
        file.write(f"{settings.documents}\n{settings.words}\n".encode())
        place = file.tell()
        file.write(b" " * _ENTRIES_PLACE + b"\n")
        for text, documents in thread_map(lines, spans(settings)):
            file.write(text.data)
            n_entries += documents.n_entries
            n_tokens += documents.n_tokens
        file.seek(place)
        file.write(str(n_entries).encode())
    write_words(folder / "vocab.generated.txt", vocabulary(settings.words))
    return n_tokens


def document_lines(first_doc: int, documents: Documents) -> np.ndarray:
    return format_lines(first_doc, documents.indptr, documents.word_ids, documents.counts)


@njit(nogil=True, cache=True)
def format_lines(first_doc, indptr, word_ids, counts):
    """uint8: a line "document word count" for each entry, words from 1."""
    text = np.empty(40 * len(word_ids), np.uint8)
    digits = np.empty(20, np.uint8)
    at = 0
    for d in range(len(indptr) - 1):
        for e in range(indptr[d], indptr[d + 1]):
            for field in range(3):
                number = np.uint64(first_doc + d)
                if field == 1:
                    number = np.uint64(word_ids[e]) + np.uint64(1)
                elif field == 2:
                    number = np.uint64(counts[e])
                n = 0
                while number > 0:
                    quotient = number // np.uint64(10)
                    digits[n] = 48 + number - quotient * np.uint64(10)
                    number = quotient
                    n += 1
                while n > 0:
                    n -= 1
                    text[at] = digits[n]
                    at += 1
                text[at] = 10 if field == 2 else 32
                at += 1
    return text[:at].copy()


def vocabulary(n_words: int) -> list[str]:
    """Distinct words of letters only, all of one length."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    n_letters = max(1, math.ceil(math.log(max(2, n_words), 26)))
    powers = [26**i for i in reversed(range(n_letters))]
    return ["w" + "".join(letters[i // power % 26] for power in powers) for i in range(n_words)]


def generate(settings: Settings, output: Path, *, format: str = "shards", force: bool = False):
    """Writes everything into the folder output; returns (tokens, seconds without compilation)."""
    tiny = np.ones((1, 1))
    alias_table(tiny[0], np.empty(1, np.uint64))
    warm = Model(tiny, np.zeros((1, 1), np.uint64), 0.1, 0.0, 0.5, np.uint64(0))
    document_lines(1, block(warm, (0, 1)))
    start = time.perf_counter()
    with staging(output, names=NAMES, force=force) as folder:
        model = build(settings)
        if format == "docword":
            n_tokens = write_docword(settings, model, folder)
        else:
            (folder / "corpus").mkdir()
            n_tokens = write_corpus(settings, model, folder / "corpus")
        np.save(folder / "phi.npy", model.phi)
        np.save(folder / "alpha.npy", np.full(settings.topics, settings.alpha))
        text = json.dumps({"tokens_drawn": n_tokens, **asdict(settings)}, indent=1)
        (folder / MARKER).write_text(text + "\n")
    return n_tokens, time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--format", choices=["shards", "docword"], default="shards")
    parser.add_argument("--force", action="store_true")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args(arguments))
    output, format, force = (options.pop(name) for name in ("output", "format", "force"))
    n_tokens, seconds = generate(Settings(**options), output, format=format, force=force)
    speed = n_tokens / seconds / 1e6
    print(f"{n_tokens:,} tokens in {seconds:.1f} s: {speed:.1f} M tokens/s", file=sys.stderr)


if __name__ == "__main__":
    main()

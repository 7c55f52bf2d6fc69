"""The generator of bench/: what it writes is the model it says it is."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from topicmc.corpora import Corpus, prepare, verify

SOURCE = Path(__file__).parents[2] / "bench" / "generate.py"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", SOURCE)
    module = sys.modules["generate"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def small(generate):
    return generate.Settings(
        documents=3000, tokens=60.0, words=300, topics=4, heldout=200, seed=7, contrast=2.0
    )


def test_shards_and_docword_hold_the_same_documents(generate, small, tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "_BLOCK_TOKENS", 1 << 14)
    tokens, _ = generate.generate(small, tmp_path / "a")
    corpus = verify(tmp_path / "a" / "corpus")
    assert (corpus.n_docs, corpus.n_heldout, corpus.n_words) == (2800, 200, 300)
    assert corpus.n_tokens + corpus.heldout.n_tokens == tokens
    monkeypatch.setattr(generate, "_BLOCK_TOKENS", 1 << 17)  # blocks change nothing
    generate.generate(small, tmp_path / "b", format="docword")
    words = tmp_path / "b" / "docword.generated.txt"
    assert prepare(words, tmp_path / "c", n_heldout=200, seed=7).fingerprint == corpus.fingerprint
    phi = np.load(tmp_path / "a" / "phi.npy")
    assert phi.shape == (4, 300) and np.allclose(phi.sum(axis=1), 1)
    assert json.loads((tmp_path / "a" / "model.json").read_text())["topics"] == 4


def test_alias_table_holds_its_probabilities(generate):
    """Exactly, up to 2⁻³² a bin: wrong tables would be off by some 1/W."""
    generator = np.random.default_rng(3)
    for p in (generator.dirichlet(np.full(257, 0.05)), np.full(8, 1 / 8), np.ones(1)):
        table = np.empty(len(p), np.uint64)
        generate.alias_table(p, table)
        high, low = table >> np.uint64(32), (table & np.uint64(0xFFFFFFFF)).astype(int)
        kept = high.astype(float) * 2.0**-32
        found = kept + np.bincount(low, 1 - kept, minlength=len(p))
        assert np.allclose(found / len(p), p, atol=1e-8)


def test_documents_follow_the_model(generate, small):
    """Word frequencies and the spread of topics over documents. Each bound is five standard errors
    or more (false failures below 1e-6); the seed is fixed."""
    model = generate.build(small)
    documents = generate.block(model, (0, 40_000))
    lengths = np.add.reduceat(documents.counts, documents.indptr[:-1]).astype(float)
    assert abs(lengths.mean() - 60) < 5 * lengths.std() / np.sqrt(40_000)
    logs = np.log(lengths)
    assert abs(logs.std() - small.spread) < 5 * small.spread / np.sqrt(2 * 40_000)
    rows = np.repeat(np.arange(40_000), documents.lengths)
    counts = np.zeros((40_000, 300), np.float32)
    counts[rows, documents.word_ids] = documents.counts
    # E[n_dw] = N_d Σ_k φ_kw / K; documents are independent.
    residual = counts - lengths[:, None] * model.phi.mean(axis=0)
    error = residual.std(axis=0) / np.sqrt(40_000)
    common = model.phi.mean(axis=0) * lengths.sum() > 3000  # where the normal law is near enough
    assert common.sum() > 20
    assert (np.abs(residual.mean(axis=0)) < 6 * error)[common].all()
    # Two tokens of a document share a topic with probability (1 + α) / (1 + Kα), and pick their
    # words independently given topics: the mean of pairs over a fixed test function of words tells.
    spread = model.phi[0] - model.phi[1]
    first = counts @ spread
    pairs = first**2 - (counts @ spread**2)
    means = model.phi @ spread
    same = (1 + small.alpha) / (1 + 4 * small.alpha)
    expected = same * (means**2).mean() + (1 - same) * (means.sum() ** 2 - (means**2).sum()) / 12
    terms = pairs - lengths * (lengths - 1) * expected
    assert abs(terms.mean()) < 5 * terms.std() / np.sqrt(40_000)
    # A bug planted: mixes drawn with twice the prior would be seen.
    wrong = (1 + 2 * small.alpha) / (1 + 8 * small.alpha)
    shift = (
        lengths
        * (lengths - 1)
        * (same - wrong)
        * ((means**2).mean() - (means.sum() ** 2 - (means**2).sum()) / 12)
    )
    assert abs(shift.mean()) > 8 * terms.std() / np.sqrt(40_000)


def test_seed_and_number_decide_a_document(generate, small):
    model = generate.build(small)
    whole, part = generate.block(model, (0, 50)), generate.block(model, (20, 50))
    start = whole.indptr[20]
    assert (whole.word_ids[start:] == part.word_ids).all()
    assert (whole.counts[start:] == part.counts).all()
    other = generate.build(generate.Settings(**(vars(small) | {"seed": 8})))
    assert other.phi.shape == model.phi.shape and (other.phi != model.phi).any()


def test_command_line(generate, tmp_path, capsys):
    arguments = "--documents 50 --tokens 20 --words 100 --topics 2 --heldout 5"
    generate.main(["-o", str(tmp_path / "out"), *arguments.split()])
    assert "M tokens/s" in capsys.readouterr().err
    assert Corpus.open(tmp_path / "out" / "corpus").n_docs == 45

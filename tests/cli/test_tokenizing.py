"""How texts are cut, from ``prepare`` by way of a run to ``infer``."""

import json
from pathlib import Path

import pytest
from fake_runs import make_run
from shell import one_sentence

from topicmc.corpora import Corpus
from topicmc.corpora.text.tokenizer import Tokenizer

CUTTER = """
def words(text):
    if "poison" in text:
        raise ValueError("not this one")
    return list(text.replace(" ", ""))
"""
KEPT = ("--stop-words", "none", "--min-df", 1, "--max-df", 1, "--heldout", 0)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cutter.py").write_text(CUTTER)


def write(name: str, rows: list[dict]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path(name).write_text(text, encoding="utf-8")


def vocabulary(folder: str) -> list[str]:
    return Corpus.open(folder).vocabulary


def run_on(corpus: str, words: list[str]):
    """A run with settings of the corpus, over these words."""
    import numpy as np

    generator = np.random.default_rng(0)
    run = make_run(Path("run"), {0: [generator.gamma(np.ones((len(words), 2))) + 1e-3]})
    told = Corpus.open(corpus).provenance
    run.update_facts(
        vocabulary=run.write_vocabulary(words),
        corpus={**run.facts()["corpus"], **{k: v for k, v in told.items() if k == "tokenizer"}},
    )


def tokens_of(file: str) -> list[int]:
    return [json.loads(line)["tokens"] for line in Path(file).read_text().splitlines()]


def test_words_of_two_forms_are_one(command):
    write("x.jsonl", [{"text": "हिन्दी caf\u00e9"}, {"text": "हिन्दी cafe\u0301 и́стина"}])
    assert command("prepare", "x.jsonl", "-o", "c", *KEPT).status == 0
    assert vocabulary("c") == ["café", "и́стина", "हिन्दी"]
    Path("vocab").write_text("cafe\u0301\n", encoding="utf-8")  # as somebody's file spells it
    assert command("prepare", "x.jsonl", "-o", "d", "--vocab", "vocab", "--heldout", 0).status == 0
    assert Corpus.open("d").n_tokens == 2


def test_tokens_of_every_format(command):
    import pyarrow as pa
    from pyarrow import parquet

    lists = [["New York", "run/VERB", "c\x00d", "", " "], ["run/VERB", "e\u0301\n", "\ud800x"]]
    expected = ["New_York", "cd", "run/VERB", "x", "é"]
    write("x.jsonl", [{"w": words} for words in lists])
    sound = [[word.replace("\ud800", "") for word in words] for words in lists]
    parquet.write_table(pa.table({"w": sound}), "x.parquet")
    Path("x.csv").write_text("w\nNew_York run/VERB cd\nrun/VERB e\u0301 x\n", encoding="utf-8")
    for source in ("x.jsonl", "x.parquet", "x.csv"):
        done = command("prepare", source, "-o", f"{source}.corpus", "--tokens", "w", *KEPT)
        assert done.status == 0, done.stderr
        assert vocabulary(f"{source}.corpus") == expected
    refused = command("prepare", "x.jsonl", "-o", "n", "--tokens", "v")
    assert refused.status == 3 and "pass another --tokens" in one_sentence(refused)
    parquet.write_table(pa.table({"w": [1, 2]}), "n.parquet")
    refused = command("prepare", "n.parquet", "-o", "n", "--tokens", "w")
    assert refused.status == 3 and "not lists of words" in one_sentence(refused)


def test_a_tokenizer_in_workers_and_the_document_that_it_fails_on(command):
    """Batches are of 1,000; the one that fails is cut in a worker."""
    rows = [{"text": f"ab {number:04d}"} for number in range(3500)]
    write("x.jsonl", rows)
    done = command("prepare", "x.jsonl", "-o", "c", "--tokenizer", "cutter:words", *KEPT)
    assert done.status == 0, done.stderr
    assert vocabulary("c") == [*"0123456789", "a", "b"]
    rows[3205] = {"text": "poison"}
    write("x.jsonl", rows)
    failed = command("prepare", "x.jsonl", "-o", "d", "--tokenizer", "cutter:words", *KEPT)
    assert failed.status == 3 and not Path("d").exists()
    assert "x.jsonl, line 3,206: the tokenizer cutter:words failed" in one_sentence(failed)


def test_a_pattern_that_finds_nothing_is_named(command):
    write("x.jsonl", [{"text": "ab"}])
    failed = command("prepare", "x.jsonl", "-o", "c", "--token-pattern", r"\d+", *KEPT)
    assert failed.status == 3 and r"--token-pattern '\\d+'" in one_sentence(failed)


def test_a_text_that_cannot_be_cut_is_named_by_its_row_and_id(command):
    """In a second source, by ``--phrases``, which read first, and in a folder of files."""
    Path("a.csv").write_text('id,text\n7,"ab\ncd"\n8,ab\n')
    Path("b.csv").write_text('id,text\n9,"ab\ncd"\n007,poison\n')
    how = ("--id", "id", "--tokenizer", "cutter:words", *KEPT)
    for more in ((), ("--phrases",)):
        failed = command("prepare", "a.csv", "b.csv", "-o", "c", *how, *more)
        told = "b.csv, row 2 (id 007): the tokenizer cutter:words failed"
        assert failed.status == 3 and told in one_sentence(failed)
    Path("texts").mkdir()
    Path("texts/a").write_text("ab")
    Path("texts/b").write_text("poison")
    failed = command("prepare", "texts", "-o", "c", "--tokenizer", "cutter:words", *KEPT)
    assert "texts, file 2 (id b): the tokenizer" in one_sentence(failed)


def test_a_run_that_was_trained_says_how_texts_are_cut(command):
    rows = [{"text": f"gpt-4 e-mail word-{number % 3} other"} for number in range(40)]
    write("x.jsonl", rows)
    assert command("prepare", "x.jsonl", "-o", "c", "--allow", "digits,hyphens", *KEPT).status == 0
    settings = ("--sampler", "scir", "--topics", 2, "--updates", 4, "--anneal-updates", 1)
    trained = command("train", "c", "-o", "run", *settings, "--threads", 1)
    assert trained.status == 0, trained.stderr
    assert command("infer", "run", "x.jsonl", "-o", "m.jsonl").status == 0
    assert tokens_of("m.jsonl") == [4] * 40


def test_scripts_without_spaces_are_told(command):
    clauses = "量子计算的基本原理，医学影像分割方法研究，深度学习在自然语言处理中的应用"
    Path("zh.txt").write_text("\n".join([clauses] * 3), encoding="utf-8")
    done = command("prepare", "zh.txt", "-o", "c", *KEPT)
    assert done.status == 0 and "Chinese or Japanese" in done.stderr and "jieba" in done.stderr
    Path("long.txt").write_text(clauses.replace("，", "") * 2 + "\n", encoding="utf-8")
    for options in ((), ("--min-df", 3)):
        failed = command("prepare", "long.txt", "-o", "d", *options)
        assert failed.status == 3 and "jieba" in one_sentence(failed)
    Path("one.txt").write_text("我 和 你\n", encoding="utf-8")
    failed = command("prepare", "one.txt", "-o", "d", *KEPT)
    assert "--min-length" in one_sentence(failed)
    done = command("prepare", "one.txt", "-o", "d", "--min-length", 1, *KEPT)
    assert done.status == 0 and done.stderr == "" and vocabulary("d") == ["你", "和", "我"]


def test_markup_is_noticed_and_removed(command):
    write("x.jsonl", [{"text": "<p>energy</p>"}, {"text": r"\emph{market}"}, {"text": "a < b"}])
    done = command("prepare", "x.jsonl", "-o", "c", *KEPT)
    assert "1 HTML and 1 LaTeX" in done.stderr and "--strip html,latex" in done.stderr
    done = command("prepare", "x.jsonl", "-o", "d", "--strip", "latex,html", *KEPT)
    assert done.stderr == "" and vocabulary("d") == ["energy", "market"]


def test_infer_and_add_cut_as_the_corpus_was_cut(command):
    write("x.jsonl", [{"text": "gpt-4 e-mail"}, {"text": "<p>covid19 gpt-4</p>"}])
    options = ("--allow", "digits,hyphens", "--strip", "html")
    assert command("prepare", "x.jsonl", "-o", "c", *options, *KEPT).status == 0
    run_on("c", vocabulary("c"))
    assert command("infer", "run", "x.jsonl", "-o", "m.jsonl").status == 0
    assert tokens_of("m.jsonl") == [2, 2]
    assert command("corpus", "add", "c", "x.jsonl", "-o", "more").status == 0
    assert Corpus.open("more").n_tokens == 8
    assert Corpus.open("more").provenance["history"][-1]["tokenizer"]["allow"] == [
        "digits",
        "hyphens",
    ]


def test_infer_with_tokens(command):
    write("x.jsonl", [{"w": ["Ab", "c d"]}, {"w": ["c d", "zz"]}])
    assert command("prepare", "x.jsonl", "-o", "c", "--tokens", "w", *KEPT).status == 0
    run_on("c", ["Ab", "c_d"])
    assert command("infer", "run", "x.jsonl", "-o", "m.jsonl").status == 0
    assert tokens_of("m.jsonl") == [2, 1]
    write("y.jsonl", [{"v": ["c d"], "text": "c d"}])
    refused = command("infer", "run", "y.jsonl", "-o", "n.jsonl")
    assert refused.status == 3 and "pass another --tokens" in one_sentence(refused)
    assert command("infer", "run", "y.jsonl", "-o", "n.jsonl", "--tokens", "v").status == 0
    assert tokens_of("n.jsonl") == [1]


def test_a_function_of_a_run_is_run_when_it_is_named(command):
    write("x.jsonl", [{"text": "ab"}, {"text": "bc"}])
    named = ("--tokenizer", "cutter:words")
    assert command("prepare", "x.jsonl", "-o", "c", *named, *KEPT).status == 0
    run_on("c", ["a", "b", "c"])
    refused = command("infer", "run", "x.jsonl", "-o", "m.jsonl")
    assert refused.status == 2 and "add --tokenizer cutter:words" in one_sentence(refused)
    assert command("infer", "run", "x.jsonl", "-o", "m.jsonl", *named).status == 0
    assert tokens_of("m.jsonl") == [2, 2]
    assert command("infer", "run", "c", "-o", "of-corpus.jsonl").status == 0
    assert command("corpus", "add", "c", "x.jsonl", "-o", "d").status == 2
    assert command("corpus", "add", "c", "x.jsonl", "-o", "d", *named).status == 0


def test_runs_that_do_not_say_how_are_read_by_the_old_pattern(command):
    write("x.jsonl", [{"text": "и́стина"}])
    assert command("prepare", "x.jsonl", "-o", "c", *KEPT).status == 0
    run_on("c", ["и́стина"])
    command("infer", "run", "x.jsonl", "-o", "m.jsonl")
    assert tokens_of("m.jsonl") == [1]
    index = Corpus.open("c").index
    assert index["provenance"]["tokenizer"] == Tokenizer().as_dict()
    from topicmc.models.lda.run import TopicRun

    run = TopicRun.open(Path("run"))
    corpus = run.facts()["corpus"]
    del corpus["tokenizer"]
    run.update_facts(corpus=corpus, vocabulary=run.write_vocabulary(["стина"]))
    command("infer", "run", "x.jsonl", "-o", "old.jsonl")
    assert tokens_of("old.jsonl") == [1]


def test_ids_are_not_cut(command):
    Path("docword.x.txt").write_text("1\n2\n1\n1 1 2\n")
    Path("vocab.x.txt").write_text("aa\nbb\n")
    for options in (("--allow", "digits"), ("--tokens", "w"), ("--strip", "html")):
        refused = command("prepare", "docword.x.txt", "-o", "c", *options)
        assert refused.status == 2
        assert f"{options[0]} goes with text, and this is docword" in one_sentence(refused)

"""``topicmc infer``: the same mixes from every source and in every format, whole or not at all."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from fake_runs import make_run
from shell import one_sentence, topicmc

from topicmc.corpora import Corpus, prepare
from topicmc.kernels.threads import Threads
from topicmc.models.lda.mixes import Mixer
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean

WORDS = ["ant", "bee", "cow", "dog", "eel", "fox"]
TEXTS = ["ant ant bee unheard", "", "dog eel eel fox", "of words unknown", "cow", "Fox, fox! bee"]
KNOWN, UNKNOWN = [3, 0, 4, 0, 1, 3], [1, 0, 0, 3, 0, 0]
FILES = ("mixes.csv", "mixes.jsonl", "mixes.npy", "mixes.parquet")


@pytest.fixture
def run(tmp_path, monkeypatch) -> TopicRun:
    """Three samples of a chain with three topics over six words, and another chain; the folder is
    the current one, and holds the documents as JSON Lines."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    shapes = np.repeat(np.eye(3) * 20 + 0.2, 2, axis=0)
    samples = {chain: [generator.gamma(shapes) + 1e-3 for _ in range(3)] for chain in (0, 1)}
    run = make_run(Path("run"), samples)
    run.update_facts(vocabulary=run.write_vocabulary(WORDS))
    lines = [json.dumps({"title": f"no. {i}", "text": text}) for i, text in enumerate(TEXTS)]
    Path("new.jsonl").write_text("\n".join(lines) + "\n")
    return run


def read(path: Path) -> tuple[np.ndarray, list[dict]]:
    """The mixes in a file, and its rows as far as it has any."""
    if path.suffix == ".npy":
        return np.load(path), []
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return np.array([row["mix"] for row in rows]), rows
    if path.suffix == ".csv":
        with path.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
    else:
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    return np.array([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]), rows


def mixes_of(run: TopicRun, chain: int = 0) -> np.ndarray:
    """Those of TEXTS, from the function beneath."""
    from synthetic import documents_of

    rows = [text.lower().replace(",", "").replace("!", "").split() for text in TEXTS]
    known = [[WORDS.index(word) for word in row if word in WORDS] for row in rows]
    documents = documents_of([{w: row.count(w) for w in set(row)} for row in known])
    phi, _, alpha, _ = posterior_mean(run, chain)
    return Mixer(phi, alpha, Threads(1)).mixes(documents)


@pytest.mark.parametrize("name", FILES)
def test_every_format_has_a_row_for_each_document_in_order(run, command, name):
    result = command("infer", "run", "new.jsonl", "-o", name, "--json")
    assert json.loads(result.stdout) == {
        "file": name,
        "documents": 6,
        "documents_empty": 2,
        "documents_skipped": 0,
        "ids_repeated": 0,
        "topics": 3,
        "topic_numbers": [0, 1, 2],
        "tokens": sum(KNOWN),
        "unknown_words": sum(UNKNOWN),
        "stop_words": None,
        "cut_short": None,
    }
    mix, rows = read(Path(name))
    np.testing.assert_allclose(mix, mixes_of(run), atol=1e-6)
    np.testing.assert_allclose(mix[1], [1 / 3] * 3, atol=1e-6)
    if rows:
        assert [int(row["document"]) for row in rows] == list(range(6))
        assert [row["title"] for row in rows] == [f"no. {i}" for i in range(6)]
        assert [int(row["tokens"]) for row in rows] == KNOWN
        assert [int(row["unknown"]) for row in rows] == UNKNOWN


def test_names_of_files_that_are_no_utf8(run, command):
    names = [os.fsdecode(b"caf\xe9.jsonl"), "new.jsonl"]
    Path(names[0]).write_bytes(Path(names[1]).read_bytes())
    for ending in ("csv", "jsonl", "parquet"):
        result = command("infer", "run", *names, "-o", f"mixes.{ending}")
        assert result.status == 0, result.stderr
        assert {row["file"] for row in read(Path(f"mixes.{ending}"))[1]} == {"caf?.jsonl", names[1]}
    result = topicmc("infer", "run", names[1], "-o", os.fsdecode(b"m\xe9.csv"))
    assert result.status == 0 and "Traceback" not in result.stderr


def test_text_says_what_came_of_it(run, command):
    result = command("infer", "run", "new.jsonl", "-o", "mixes.csv")
    assert "6, 2 without a known word" in result.stdout
    assert "11, and 4 of words unknown to the run" in result.stdout


def test_any_source_gives_the_same_mixes(run, command):
    """Word ids under another vocabulary are matched by spelling; empty documents keep their row."""
    from scipy.io import mmwrite
    from scipy.sparse import csr_array, save_npz

    Path("lines.txt").write_text("\n".join(TEXTS) + "\n")
    Path("own.txt").write_text("\n".join(["unheard", *reversed(WORDS)]) + "\n")
    counts = np.zeros((6, 7), int)
    for d, text in enumerate(TEXTS):
        for word in text.lower().replace(",", "").replace("!", "").split():
            if word in WORDS:
                counts[d, 6 - WORDS.index(word)] += 1
    counts[0, 0] = 1
    save_npz("counts.npz", csr_array(counts))
    mmwrite("counts.mtx", csr_array(counts))
    entries = [f"{d + 1} {w + 1} {counts[d, w]}" for d, w in np.argwhere(counts)]
    Path("docword.x.txt").write_text("\n".join(["6", "7", str(len(entries)), *entries]) + "\n")
    for source, *options in (
        ("lines.txt", "--format", "text"),
        ("counts.npz", "--vocab", "own.txt"),
        ("docword.x.txt", "--vocab", "own.txt"),
        ("counts.mtx", "--vocab", "own.txt"),
    ):
        result = command("infer", "run", source, "-o", "mixes.jsonl", "--force", *options)
        assert result.status == 0, result.stderr
        mix, rows = read(Path("mixes.jsonl"))
        np.testing.assert_allclose(mix, mixes_of(run), atol=1e-6)
        assert [row["tokens"] for row in rows] == KNOWN
        assert rows[0]["unknown"] == 1


def test_a_prepared_corpus_gives_all_rows_of_its_sources_in_their_order(run, command):
    corpus = prepare(
        ["new.jsonl"], "corpus", min_df=0, max_df=1.0, stopwords="none", n_heldout=2, n_shards=2
    )
    result = command("infer", "run", "corpus", "-o", "mixes.jsonl")
    assert (result.status, result.stderr) == (0, "")
    mix, rows = read(Path("mixes.jsonl"))
    assert [row["title"] for row in rows] == [f"no. {i}" for i in range(6)]
    assert [row["row"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["dropped"] for row in rows] == [None, "empty", None, None, None, None]
    assert [row["tokens"] for row in rows] == KNOWN
    assert [row["unknown"] for row in rows] == UNKNOWN
    training = [row["title"] for row in rows if not row["heldout"] and not row["dropped"]]
    assert training == corpus.titles[:]
    np.testing.assert_allclose(mix, mixes_of(run), atol=1e-6)


def test_several_sources_are_one_after_the_other(run, command):
    assert command("infer", "run", "new.jsonl", "new.jsonl", "-o", "mixes.npy").status == 0
    expected = mixes_of(run)
    np.testing.assert_allclose(np.load("mixes.npy"), np.vstack([expected] * 2), atol=1e-6)


def test_phrases_of_the_vocabulary_are_joined(run, command):
    run.update_facts(vocabulary=run.write_vocabulary(["ant_of_bee", *WORDS[1:]]))
    Path("lines.txt").write_text("ant of bee\nbee of cow\n")
    command("infer", "run", "lines.txt", "-o", "mixes.jsonl")
    _, rows = read(Path("mixes.jsonl"))
    assert [(row["tokens"], row["unknown"]) for row in rows] == [(1, 0), (2, 1)]


@pytest.mark.parametrize("name", [name for name in FILES if name != "mixes.npy"])
def test_standard_errors_stand_beside_the_mixes(run, command, name):
    command("infer", "run", "new.jsonl", "-o", name)
    plain, _ = read(Path(name))
    found = []
    for seed in (0, 1):
        options = ("--se", "--seed", seed, "--force")
        assert command("infer", "run", "new.jsonl", "-o", name, *options).status == 0
        mix, rows = read(Path(name))
        assert (mix == plain).all()
        sd = np.array([row.get("sd") or [float(row[f"sd_{k}"]) for k in range(3)] for row in rows])
        assert (sd > 0).all() and (sd < 0.6).all()
        # Without words the mix is that of Dirichlet(0.1, 0.1, 0.1), with variance 2/9 / 1.3.
        np.testing.assert_allclose(sd[1], (2 / 9 / 1.3) ** 0.5, rtol=1e-5)
        found.append(sd)
    assert (found[0] != found[1]).any()


def test_no_standard_error_rests_on_a_state_of_the_start(run, command):
    run.write_sample_index([{**run.sample_index()[0], "burn_in": True}])
    refused = command("infer", "run", "new.jsonl", "-o", "mixes.csv", "--se")
    assert refused.status == 2 and "has no posterior sample yet" in one_sentence(refused)
    assert not Path("mixes.csv").exists()
    assert command("infer", "run", "new.jsonl", "-o", "mixes.csv").status == 0


def test_threads_change_nothing(run, command):
    for threads in (1, 3):
        options = ("--threads", threads, "--se")
        command("infer", "run", "new.jsonl", "-o", f"mixes-{threads}.parquet", *options)
    assert Path("mixes-1.parquet").read_bytes() == Path("mixes-3.parquet").read_bytes()


def test_what_is_read_is_not_replaced(run, command):
    Path("words.csv").write_text("ant\nbee\n")
    for name, *vocab in (("new.jsonl",), ("words.csv", "--vocab", "words.csv")):
        before = Path(name).read_bytes()
        refused = command("infer", "run", "new.jsonl", "-o", name, "--force", *vocab)
        assert refused.status == 2 and "is what is read" in one_sentence(refused)
        assert Path(name).read_bytes() == before


def test_nothing_is_written_among_what_is_read(run, command):
    """It would be a document the next time."""
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("ant bee\n")
    assert command("prepare", "texts", "-o", "corpus").status == 0
    Path("corpus").rename("texts/corpus")
    before = {path for path in Path().rglob("*") if path.name != ".checked.json"}
    for arguments in (
        ("infer", "run", "texts", "-o", "texts/mixes.csv"),
        ("infer", "run", "texts", "-o", "texts/deep/mixes.csv", "--force"),
        ("prepare", "texts", "-o", "texts/new"),
        ("corpus", "add", "texts/corpus", "texts"),
    ):
        refused = command(*arguments)
        assert refused.status == 2
        assert "lies in texts, whose files are read" in one_sentence(refused)
    assert {path for path in Path().rglob("*") if path.name != ".checked.json"} == before


def test_nothing_is_written_over_a_run_or_into_a_corpus(run, command):
    """Also into that of the run, which is read where no sources are named."""
    assert command("prepare", "new.jsonl", "-o", "corpus", "--heldout", 0).status == 0
    known = {"path": "../corpus", "fingerprint": Corpus.open("corpus").fingerprint}
    run.update_facts(corpus={**run.facts()["corpus"], **known})
    before = {path for path in Path().rglob("*") if path.name != ".checked.json"}
    for arguments, told in (
        (("run", "new.jsonl", "-o", "run/metrics.jsonl", "--force"), "is what is read"),
        (("run", "new.jsonl", "-o", "run/samples/mixes.npy"), "lies in run/samples"),
        (("run", "corpus", "-o", "corpus/mixes.csv"), "lies in corpus"),
        (("run", "-o", "corpus/mixes.csv"), "lies in "),
    ):
        refused = command("infer", *arguments)
        assert refused.status == 2 and told in one_sentence(refused)
    refused = command("corpus", "dropped", "corpus", "-o", "corpus/rows.csv")
    assert refused.status == 2 and "lies in corpus" in one_sentence(refused)
    assert {path for path in Path().rglob("*") if path.name != ".checked.json"} == before
    assert command("infer", "run", "new.jsonl", "-o", "run/mixes.csv").status == 0


def test_another_chain_has_other_topics(run, command):
    assert command("infer", "run", "new.jsonl", "-o", "m.npy", "--chain", 1).status == 0
    np.testing.assert_allclose(np.load("m.npy"), mixes_of(run, 1), atol=1e-6)
    refused = command("infer", "run", "new.jsonl", "-o", "n.npy", "--chain", 7)
    assert refused.status == 2 and "--chain 7" in one_sentence(refused)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["new.jsonl", "-o", "mixes.txt"], "must end in"),
        (["new.jsonl", "-o", "run.csv", "--field", "body"], "no field 'body'"),
        (["new.jsonl", "-o", "mixes.npy", "--se"], "another format"),
        (["new.jsonl", "-o", "there.csv"], "exists already; add --force"),
        (["new.jsonl", "-o", "folder.csv"], "is a folder"),
        (["new.jsonl", "-o", "m.csv", "--vocab", "new.jsonl"], "--vocab"),
        (["corpus", "-o", "m.csv", "--field", "text"], "a prepared corpus has its own"),
        (["corpus", "new.jsonl", "-o", "m.csv"], "is not a corpus"),
        (["missing.jsonl", "-o", "m.csv"], "missing.jsonl"),
        (["broken.jsonl", "-o", "deep/er/m.csv"], "line 7"),
        (["broken.jsonl", "-o", "there.csv", "--force"], "line 7"),
    ],
)
def test_what_cannot_be_done_leaves_everything_as_it_was(run, command, arguments, complaint):
    Path("there.csv").write_text("precious")
    Path("folder.csv").mkdir()
    Path("broken.jsonl").write_text(Path("new.jsonl").read_text() + "{oops\n")
    prepare(["new.jsonl"], "corpus", min_df=0, max_df=1.0, stopwords="none", n_heldout=0)
    before = sorted(Path().rglob("*"))
    result = command("infer", "run", *arguments)
    assert result.status in (2, 3)
    assert complaint in one_sentence(result)
    assert sorted(Path().rglob("*")) == before
    assert Path("there.csv").read_text() == "precious"


def test_a_damaged_sample_is_named(run, command):
    path = next(Path("run/samples").glob("chain-000*.npz"))
    path.write_bytes(path.read_bytes()[:-4])
    for options in ([], ["--se"]):
        result = command("infer", "run", "new.jsonl", "-o", "m.csv", *options)
        assert result.status == 3 and str(path) in one_sentence(result)


def test_the_first_rows_are_there_before_the_last_documents_are_read(run):
    """So memory does not grow with the documents."""
    from synthetic import documents_of

    from topicmc.corpora.reading import Known, Reading
    from topicmc.inference.facts import Totals
    from topicmc.inference.mixes import infer_under

    taken = []

    def stream():
        for number in range(3):
            taken.append(number)
            yield Known(documents_of([{0: 1}, {}]), np.zeros(2, np.int64))

    totals = Totals()
    for i, rows in enumerate(infer_under(run, Reading(stream()), totals, threads=Threads(1))):
        assert taken == list(range(i + 1))
        assert rows.first == 2 * i
    assert (totals.documents, totals.empty, totals.tokens) == (6, 3, 3)


def test_a_seed_is_that_of_standard_errors(run, command):
    result = command("infer", "run", "new.jsonl", "-o", "mixes.csv", "--seed", 3)
    assert result.status == 2 and "--seed 3: is for the draws of --se; add that" in result.stderr
    assert not Path("mixes.csv").exists()


def test_a_file_that_comes_meanwhile_stays(run, command, latecomer):
    infer = ("infer", "run", "new.jsonl", "-o", "mixes.csv")
    refused = command(*infer)
    assert refused.status == 2 and "mixes.csv: exists already" in one_sentence(refused)
    assert Path("mixes.csv").read_text() == "theirs"
    assert command(*infer, "--force").status == 0
    assert Path("mixes.csv").read_text() != "theirs"

"""Corpora made to harm whoever reads them, with checksums that fit: refused in a sentence that
names file and field, whichever command reads them, and nothing is written elsewhere."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hostile import digest, edit_index, frugal, refused, write_npy
from shell import one_sentence
from synthetic import write_docword

from topicmc.corpora import Corpus, verify
from topicmc.corpora.naming import read_columns
from topicmc.errors import DataError
from topicmc.storage.fields import UNSHOWN

COUNTS = [-1, 0.5, "7", True, None, float("nan"), 1 << 62, 10**30, [3]]


def shard(name, value):
    return lambda index: index["shards"][0].__setitem__(name, value)


def top(name, value):
    return lambda index: index.__setitem__(name, value)


def told(name, value):
    return lambda index: index["provenance"].__setitem__(name, value)


def reasons(value):
    """Why rows were left out, where none were."""
    sums = dict.fromkeys(("spans", "reasons"), "0" * 64)
    return top(
        "dropped", {"name": "dropped", "n_docs": 0, "n_rows": 0, "reasons": value, "sha256": sums}
    )


def key(name, value="0" * 64):
    """A file more in the table of the first shard."""
    return lambda index: index["shards"][0]["sha256"].__setitem__(name, value)


NAMES = [
    "../../secret",
    "/etc",
    "..",
    ".",
    "",
    "shards/00001",
    "shards\\00000",
    "shards/0",
    5,
    None,
]
INDEX = [
    *((f"shards[0].name {name!r}", shard("name", name)) for name in NAMES),
    *((f"heldout.name {name!r}", lambda i, n=name: i["heldout"].__setitem__("name", n))
      for name in ("../corpus/shards/00000", "/tmp", 7)),
    *((f"key {name!r}", key(name))
      for name in ("../../../payload", "/tmp/payload", "x\0", "", "indptr.npy", "payload")),
    *((f"digest {value!r}", key("indptr", value)) for value in ("", "zz", 5, None, "0" * 63)),
    ("titles without offsets", key("titles")),
    *((f"shards[0].{name} {value!r}", shard(name, value))
      for name in ("n_docs", "n_entries", "n_tokens") for value in COUNTS),
    *((f"{name} {value!r}", top(name, value))
      for name in ("n_docs", "n_words", "n_tokens", "n_entries", "n_heldout") for value in COUNTS),
    *((f"{name} gone", lambda index, n=name: index.pop(n))
      for name in ("n_docs", "n_words", "dtypes", "vocabulary", "shards", "heldout", "provenance",
                   "fingerprint")),
    *((f"shards {value!r}", top("shards", value)) for value in ({}, [], [1], None, "x")),
    *((f"{name} {value!r}", top(name, value))
      for name in ("heldout", "dtypes", "vocabulary", "provenance") for value in (None, [], 5)),
    *((f"dtypes.counts {value!r}", lambda i, v=value: i["dtypes"].__setitem__("counts", v))
      for value in ("object", "float64", "uint64", 5, "O,O")),
    *((f"vocabulary.name {value!r}", lambda i, v=value: i["vocabulary"].__setitem__("name", v))
      for value in ("../secret.txt", "/etc/passwd", 5)),
    *((f"history {value!r}", told("history", value))
      for value in ("x", [{"duplicates": 0.5}], [{"with": 5}], [{"with": [{}]}],
                    [{"with": [{"provenance": {"duplicates": [1]}}]}])),
    *((f"duplicates {value!r}", told("duplicates", value)) for value in ("x", -1, {})),
    *((f"reasons {value!r}", reasons(value))
      for value in ({"foo": "x"}, {"foo": 0}, {"empty": "x"})),
    ("columns that are no text", top("columns", ["\ud800"])),
    ("a number that is none", told("seed", float("nan"))),
    *((f"format {value!r}", told("format", value)) for value in ([], {}, 5)),
    *((f"sources {value!r}", top("sources", value)) for value in (
        [{"name": "", "unit": "line", "rows": 1}],
        [{"name": name, "unit": "line", "rows": 1 << 62} for name in "ab"],
    )),
    ("fingerprint", top("fingerprint", "../../x")),
]  # fmt: skip


@pytest.mark.parametrize("change", [change for _, change in INDEX], ids=[name for name, _ in INDEX])
def test_an_index_that_cannot_be_true_is_refused(small_corpus, tmp_path, change):
    (tmp_path / "corpus.json").write_bytes((small_corpus.path / "corpus.json").read_bytes())
    (tmp_path / "vocabulary.txt").write_bytes((small_corpus.path / "vocabulary.txt").read_bytes())
    edit_index(tmp_path, change)
    with frugal(), pytest.raises(DataError, match=r"corpus\.json: ") as caught:
        Corpus.open(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 10_000, "\xff", '{"format": []}', "null"])
def test_a_file_that_is_hardly_json(tmp_path, text):
    (tmp_path / "corpus.json").write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match="corpus.json"):
        Corpus.open(tmp_path)


# ---- arrays


def arrays(corpus: Path, parts=("shards/00000", "heldout"), **changes):
    """Rewrites arrays of some parts, and their checksums."""
    for part in parts:
        for name, change in changes.items():
            path = corpus / part / f"{name}.npy"
            path.write_bytes(write_npy(change(np.load(path))))
    edit_index(corpus, None)


def at(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def claims(shape):
    """A header that promises more than there is."""
    return lambda array: (array, shape)


ARRAYS = {
    "an id beyond the vocabulary": {"word_ids": at(3, 60_000)},
    "a count of 0": {"counts": at(3, 0)},
    "offsets that fall": {"indptr": at(2, 0)},
    "an offset far behind the end": {"indptr": at(2, 1 << 60)},
    "an offset before the beginning": {"indptr": at(2, -(1 << 60))},
    "ids that do not ascend": {"word_ids": at(slice(0, 2), 5)},
    "a shape of terabytes": {"counts": claims((1 << 45,))},
    "a negative shape": {"counts": claims((-4,))},
    "pickled objects": {"counts": lambda array: array.astype(object)},
    "other types": {"word_ids": lambda array: array.astype(np.float64)},
    "two dimensions": {"word_ids": lambda array: array[:, None]},
}
OUT = ("-o", "new")
TRAIN = ("train", "corpus", *OUT, "--topics", 5, "--progress", "none", "--updates", 2)
COMMANDS = {
    "info": ("corpus", "info", "corpus"),
    "verify": ("corpus", "verify", "corpus"),
    "merge": ("corpus", "merge", "corpus", "sound", *OUT),
    "union": ("corpus", "merge", "sound", "corpus", "--union", *OUT),
    "add": ("corpus", "add", "corpus", "docword.small.txt"),
    "reshard": ("corpus", "reshard", "corpus", *OUT, "--shards", 2),
    "train": TRAIN,
    "resume": ("train", "-o", "run", "--resume", "--updates", 15, "--progress", "none"),
    "evaluate": ("evaluate", "run"),
    "coherence": ("topics", "run", "--sort", "coherence"),
    "infer": ("infer", "run", "corpus", "-o", "mixes.csv"),
    "mallet": ("export", "run", "--to", "mallet", *OUT),
    "compare": ("compare", "run", "run"),
    "choose": ("choose", "corpus", *OUT, "--topics", "2,3", "--updates", 2, "--progress", "none"),
}


def smuggle(corpus: Path) -> None:
    edit_index(corpus, key("../../../payload", digest(corpus.parent, "payload.npy")))


HARMS = {
    "key": smuggle,
    "duplicates": lambda corpus: edit_index(corpus, told("duplicates", "x")),
    "reasons": lambda corpus: edit_index(corpus, reasons({"foo": "x"})),
    "name": lambda corpus: edit_index(corpus, shard("name", "../sound/shards/00000")),
    "size": lambda corpus: edit_index(corpus, shard("n_docs", 1 << 61)),
    **{name: (lambda corpus, c=changes: arrays(corpus, **c)) for name, changes in ARRAYS.items()},
}  # fmt: skip


@pytest.fixture
def place(run, tmp_path):
    """A run, its corpus, a sound copy of that, and what a hostile one would like to reach."""
    shutil.copytree("corpus", "sound")
    write_docword(Path(), [np.array([1, 2, 3])] * 4, 120)
    np.save("payload.npy", np.arange(3))
    return Path()


def test_sound_corpora_are_not_refused(place, command):
    for name, arguments in COMMANDS.items():
        result = command(*arguments)
        assert result.status == 0, f"{name}: {result.stderr}"
        for made in ("new", "mixes.csv"):
            shutil.rmtree(made) if Path(made).is_dir() else Path(made).unlink(missing_ok=True)
        if name == "add":  # the run is on what it was before
            shutil.rmtree("corpus")
            shutil.copytree("sound", "corpus")


@pytest.mark.parametrize("harm", HARMS)
def test_no_command_is_taken_in(place, command, harm):
    HARMS[harm](Path("corpus"))
    for name, arguments in COMMANDS.items():
        with frugal():
            # The folder of several runs is made before the first of them looks at the corpus.
            refused(command, *arguments, where=name, but="new" if name == "choose" else None)


@pytest.mark.parametrize(
    "link", ["shards/00000", "heldout", "heldout/counts.npy", "vocabulary.txt"]
)
def test_links_that_lead_out_are_not_followed(place, command, link):
    """The same bytes lie outside; whoever reads a link may be made to copy what it points to."""
    path = Path("corpus") / link
    path.rename("outside")
    path.symlink_to(Path("outside").resolve())
    for name in ("verify", "merge", "union", "add"):
        result = refused(command, *COMMANDS[name], where=name)
        assert "leads out of corpus" in result.stderr


def test_rows_that_no_source_has_are_listed(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    texts = ["red green", "", "red blue"]
    Path("x.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert command("prepare", "x.jsonl", "-o", "corpus", "--heldout", 0).status == 0
    assert command("corpus", "dropped", "corpus").stdout == "x.jsonl, line 2  empty\n"
    rows = Path("corpus/dropped/rows.npy")
    rows.write_bytes(write_npy(np.zeros_like(np.load(rows))))
    sums = {"rows": digest(rows.parent, rows.name)}
    edit_index(Path("corpus"), lambda index: index["dropped"]["sha256"].update(sums))
    result = command("corpus", "dropped", "corpus")
    assert (result.status, result.stdout) == (0, "?  empty\n")


def test_what_a_terminal_obeys_is_not_printed(tmp_path, monkeypatch, command):
    """Whether it stands in names of files and columns, or in words."""
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[2J\nb.csv"
    Path(name).write_text('text,"x\x1b[31m\x07"\nred green,1\nred blue,2\n')
    made = command("prepare", name, "-o", "corpus", "--keep", "all", "--heldout", 0)
    assert made.status == 0, made.stderr
    words = Path("corpus/vocabulary.txt")
    words.write_text(words.read_text().replace("red", "red\x1b[2J"))
    sums = {"sha256": digest(words.parent, words.name)}
    edit_index(words.parent, lambda index: index["vocabulary"].update(sums))
    told = command("corpus", "info", "corpus")
    assert r"red\x1b[2J 2" in told.stdout and r"x\x1b[31m\x07" in told.stdout
    refused = [
        command("prepare", name, "-o", "new", "--field", "body"),
        command("topics", name),
        command("corpus", "info", name),
    ]
    assert all(r"a\x1b[2J\nb.csv" in one_sentence(result) for result in refused)
    for result in (made, told, *refused):
        assert not UNSHOWN.search((result.stdout + result.stderr).replace("\n", ""))


def test_more_rows_than_can_be_counted_are_not_merged(place, command):
    for corpus in ("corpus", "sound"):
        edit_index(Path(corpus), lambda index: index["sources"][0].__setitem__("rows", 1 << 62))
    for name, arguments in (("merge", COMMANDS["merge"]), ("union", COMMANDS["union"])):
        result = refused(command, *arguments, where=name)
        assert "has more rows than can be counted" in result.stderr


def test_titles_that_are_no_text(small_corpus, tmp_path):
    corpus = Path(shutil.copytree(small_corpus.path, tmp_path / "corpus"))
    index = json.loads((corpus / "corpus.json").read_text())
    for row in (*index["shards"], index["heldout"]):
        n_docs = row["n_docs"]
        offsets = np.minimum(np.arange(n_docs + 1), 1)
        (corpus / row["name"] / "titles.npy").write_bytes(write_npy(np.array([0xFF], np.uint8)))
        (corpus / row["name"] / "title_offsets.npy").write_bytes(write_npy(offsets))

    def add_titles(index):
        for row in (*index["shards"], index["heldout"]):
            folder = corpus / row["name"]
            row["sha256"] |= {
                name: digest(folder, f"{name}.npy") for name in ("titles", "title_offsets")
            }

    edit_index(corpus, add_titles)
    with pytest.raises(DataError, match="a text is not UTF-8"):
        verify(corpus)
    with pytest.raises(DataError, match="a text is not UTF-8"):
        _ = Corpus.open(corpus).titles


@pytest.mark.parametrize(
    "text", ['{"a": "\\ud800"}', '{"\\udfff": 1}', '{"a": [NaN]}', '{"a": 1e999}']
)
def test_columns_that_cannot_be_written(text):
    with pytest.raises(DataError, match="keeps of a row is damaged"):
        read_columns(text)


def test_groups_of_documents_are_read_from_sound_files(tmp_path, monkeypatch, command):
    """Nothing else has looked at the files before."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": "red green blue", "party": "ab"[i % 2], "date": "2001"} for i in range(40)]
    Path("x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = ("--keep", "party", "--time", "date", "--min-df", 0, "--max-df", 1, "--heldout", 0)
    assert command("prepare", "x.jsonl", "-o", "corpus", *kept).status == 0
    length = ("--topics", 2, "--sampler", "adlda", "--epochs", 30, "--progress", "none")
    assert command("train", "corpus", "-o", "run", *length).status == 0
    arrays(Path("corpus"), ("shards/00000",), **ARRAYS["an id beyond the vocabulary"])
    for reading in (
        ("effects", "run", "--by", "party"),
        ("report", "run", "-o", "report.html", "--documents", 0),
    ):
        assert "word id 60000 of 3 words" in refused(command, *reading, where=reading[0]).stderr


@pytest.mark.parametrize("harm", ["an id beyond the vocabulary", "an offset far behind the end"])
@pytest.mark.parametrize("more", [(), ("--workers", 2), ("--time-budget", "1s"), ("--workers", 5)])
def test_training_checks_what_it_looks_at_before_it_begins(place, command, harm, more):
    """To measure its pace, and to divide files by tokens, too."""
    arrays(Path("corpus"), ("shards/00001", "shards/00002"), **ARRAYS[harm])
    refused(command, *TRAIN, *more, "--transport", "local")

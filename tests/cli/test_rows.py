"""No row is lost and none mistaken for another: ids, kept columns, the join, pipes, dirt."""

import csv
import gzip
import io
import json
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from shell import one_sentence, topicmc

from topicmc.corpora import Corpus, prepare, verify
from topicmc.corpora.making import addition, maintenance

SUBJECTS = ("star planet orbit moon comet", "bread butter flour oven salt", "river boat sail wind")
DIRT = {3: "", 5: " \n ", 8: "12345 !!", 11: "the and of", 20: "Космос и планеты", 21: "γαλαξίας"}
REPEATED = {30: 1, 31: 1, 40: 2}  # row → the row that it repeats
N = 60


def table() -> list[dict[str, str]]:
    rows = []
    for i in range(N):
        words = SUBJECTS[i % 3].split()
        text = f"{words[i % 4]} {words[(i + i // 7) % 4]}\n{words[i // 5 % 4]}, {words[0]} {i}"
        text = DIRT.get(
            i, f"{text} {' '.join(words[: 1 + i % 4])} number{'abcdefghijklmn'[i % 14]}"
        )
        rows.append({"id": f"0704.{i:03d}0", "text": text, "year": f"{2000 + i % 5}", "row": "x;y"})
    for i, j in REPEATED.items():
        rows[i]["text"] = rows[j]["text"].upper().replace(" ", "  ")
    return rows


def as_csv(rows, delimiter=",", encoding="utf-8-sig", head="") -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return (head + stream.getvalue()).encode(encoding)


def as_jsonl(rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_parquet(rows) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), stream, row_group_size=7)
    return stream.getvalue()


WRITERS = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}
OPTIONS = {"min_df": 0, "max_df": 1.0, "stopwords": "english", "n_heldout": 9, "n_shards": 3}
TRAIN = ("--topics", 3, "--updates", 12, "--threads", 1, "--progress", "none")


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run on the table, and its corpus, with ids and columns."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "t.csv").write_bytes(as_csv(table()))
    prepare(folder / "t.csv", folder / "corpus", id="id", columns=["year", "row"], **OPTIONS)
    done = topicmc("train", "corpus", "-o", "run", *TRAIN, cwd=folder)
    assert done.status == 0, done.stderr
    return folder


def mixes(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_mixes_join_to_the_table(trained, command, monkeypatch):
    """Every row is there, in order, under its own id: held out, dropped or trained on."""
    monkeypatch.chdir(trained)
    for name in ("m.csv", "m.jsonl", "m.parquet", "m.npy"):
        result = command("infer", "run", "-o", name, "--force")
        assert result.status == 0 and "rows of its sources" not in result.stderr
    rows, told = table(), mixes(Path("m.jsonl"))
    assert [row["id"] for row in told] == [row["id"] for row in rows]
    assert [row["row"] for row in told] == list(range(1, N + 1))
    assert [row["document"] for row in told] == list(range(N))
    assert [row["year"] for row in told] == [row["year"] for row in rows]
    assert {row["row_"] for row in told} == {"x;y"}  # the table has a column of that name, too
    why = {i: row["dropped"] for i, row in enumerate(told) if row["dropped"]}
    assert why == {3: "empty", 5: "empty", 8: "no words", 11: "no words left"}
    assert all(told[i]["tokens"] == 0 for i in why)
    assert all(row["tokens"] > 0 for i, row in enumerate(told) if i not in why)
    assert sum(row["heldout"] for row in told) == 9
    corpus = Corpus.open("corpus")
    training = [row["id"] for row in told if not row["heldout"] and not row["dropped"]]
    assert training == corpus.ids[:]
    with Path("m.csv").open(newline="") as stream:
        read = list(csv.DictReader(stream))
    assert [row["id"] for row in read] == [row["id"] for row in rows]
    assert parquet.read_table("m.parquet")["id"].to_pylist() == [row["id"] for row in rows]
    np.testing.assert_allclose(np.load("m.npy"), [row["mix"] for row in told], atol=1e-6)


def test_new_documents_have_the_same_mixes_and_ids(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    command("infer", "run", "-o", "m.jsonl", "--force")
    result = command("infer", "run", "t.csv", "-o", "n.jsonl", "--force", "--json")
    own, new = mixes(Path("m.jsonl")), mixes(Path("n.jsonl"))
    for one, other in zip(own, new, strict=True):
        shared = [name for name in one if name not in ("heldout", "dropped", "unknown")]
        assert {name: one[name] for name in shared} == {name: other[name] for name in shared}
    told = json.loads(result.stdout)
    assert (told["stop_words"], told["unknown_words"]) == (3, 3)  # "the and of"
    command("infer", "run", "t.csv", "-o", "n.jsonl", "--force", "--id", "none", "--keep", "none")
    assert not {"id", "year"} & mixes(Path("n.jsonl"))[0].keys()
    refused = command("infer", "run", "t.csv", "-o", "n.csv", "--id", "nr")
    assert refused.status == 3 and "no column 'nr'" in one_sentence(refused)
    refused = command("infer", "run", "-o", "n.csv", "--id", "id")
    assert refused.status == 2 and "a prepared corpus has its own" in one_sentence(refused)


def test_documents_are_named_by_their_id(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    ids = {row["id"] for row in table()}
    told = json.loads(command("topics", "run", "--documents", 2, "--json").stdout)["topics"]
    documents = [document for topic in told for document in topic["documents"]]
    assert {document["id"] for document in documents} <= ids
    for document in documents:
        row = table()[document["row"] - 1]
        assert (document["id"], document["file"]) == (row["id"], "t.csv")
        assert document["columns"] == {"year": row["year"], "row": "x;y"}
    shown = command("topics", "run", "--documents", 1).stdout
    assert "document      0704." in shown and "year: 200" in shown
    assert command("report", "run", "-o", "r.html", "--force").status == 0
    assert documents[0]["id"] in Path("r.html").read_text()
    assert command("export", "run", "--to", "mallet", "-o", "mallet", "--force").status == 0


def test_dropped_rows_are_listed(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    lines = command("corpus", "dropped", "corpus").stdout.splitlines()
    assert lines[:3] == [
        "t.csv, row 4  empty  0704.0030",
        "t.csv, row 6  empty  0704.0050",
        "t.csv, row 9  no words  0704.0080",
    ]
    told = json.loads(command("corpus", "dropped", "corpus", "--json").stdout)
    assert told["rows"] == len(told["dropped"]) == len(lines) == sum(told["reasons"].values())
    for name in ("d.csv", "d.jsonl", "d.parquet"):
        assert command("corpus", "dropped", "corpus", "-o", name, "--force").status == 0
    assert mixes(Path("d.jsonl")) == told["dropped"]
    assert parquet.read_table("d.parquet").to_pylist() == told["dropped"]
    refused = command("corpus", "dropped", "corpus", "-o", "d.txt")
    assert refused.status == 2 and "must end in" in one_sentence(refused)
    forced = command("corpus", "dropped", "corpus", "--force")
    assert forced.status == 2 and "--force" in one_sentence(forced)


def test_dropped_rows_are_written_a_few_at_a_time(trained, command, monkeypatch):
    monkeypatch.chdir(trained)
    for folder in ("at once", "in parts"):
        for name in ("d.csv", "d.jsonl", "d.parquet"):
            assert command("corpus", "dropped", "corpus", "-o", f"{folder}/{name}").status == 0
        monkeypatch.setattr("topicmc.cli.dropped._CHUNK", 3)
    for name in ("d.csv", "d.jsonl"):
        assert Path("in parts", name).read_bytes() == Path("at once", name).read_bytes() != b""
    parts = parquet.ParquetFile("in parts/d.parquet")
    assert parts.read() == parquet.read_table("at once/d.parquet")
    assert parts.num_row_groups == -(-Corpus.open("corpus").n_dropped // 3) > 1


@pytest.mark.parametrize(
    ("given", "character"), [("comma", ","), ("semicolon", ";"), ("bar", "|"), ("tab", "\t")]
)
def test_delimiters_have_names(here, command, given, character):
    Path("t.csv").write_bytes(as_csv(table(), delimiter=character))
    size = ("--id", "id", "--min-df", 0, "--heldout", 9)
    for name, delimiter in (("named", given), ("itself", character)):
        done = command("prepare", "t.csv", "-o", name, "--delimiter", delimiter, *size)
        assert done.status == 0, done.stderr
    assert Corpus.open("named").ids[:] == Corpus.open("itself").ids[:] != []


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("how", ["fifo", "stdin"])
def test_a_pipe_gives_what_the_file_gives(here, command, name, how):
    content = WRITERS[name](table())
    Path(f"t.{name}").write_bytes(content)
    whole = prepare(f"t.{name}", "whole", id="id", columns=("all",), **OPTIONS)
    options = ("--format", name, "--id", "id", "--keep", "all", "--min-df", 0, "--max-df", 1)
    options += ("--heldout", 9, "--shards", 3, "-o", "piped")
    if how == "fifo":
        os.mkfifo("pipe")
        threading.Thread(target=Path("pipe").write_bytes, args=[content], daemon=True).start()
        result = command("prepare", "pipe", *options)
        assert result.status == 0, result.stderr
    else:
        with Path(f"t.{name}").open("rb") as stream:
            read, write = os.pipe()
            threading.Thread(target=_pour, args=[stream.read(), write], daemon=True).start()
            result = topicmc("prepare", "-", *options, stdin=read)
            os.close(read)
        assert result.status == 0, result.stderr
    piped = verify("piped")
    assert piped.fingerprint == whole.fingerprint
    assert (piped.ids[:], piped.columns[:]) == (whole.ids[:], whole.columns[:])
    assert piped.about(0).place.file == ("pipe" if how == "fifo" else "stdin")


def _pour(content: bytes, descriptor: int) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(content)


@pytest.mark.parametrize("source", ["empty.txt", "/dev/null"])
def test_no_documents_are_an_error(trained, command, monkeypatch, source):
    monkeypatch.chdir(trained)
    Path("empty.txt").write_text("")
    refused = command("infer", "run", source, "--format", "text", "-o", "none.csv")
    assert refused.status == 3 and "holds no documents" in one_sentence(refused)
    refused = command("prepare", source, "--format", "text", "-o", "none")
    assert refused.status == 3 and "holds no documents" in one_sentence(refused)
    assert not Path("none.csv").exists() and not Path("none").exists()
    refused = command("prepare", "/dev/zero", "--format", "text", "-o", "none")
    assert refused.status == 2 and "is a device" in one_sentence(refused)


def test_duplicate_and_missing_ids_are_told(here, command):
    rows = table()
    rows[7]["id"] = rows[2]["id"]
    rows[9]["id"] = ""
    Path("t.csv").write_bytes(as_csv(rows))
    result = command("prepare", "t.csv", "--id", "id", "-o", "c")
    assert "1 row has the id of an earlier one, the first '0704.0020' " in result.stderr
    assert "(t.csv, row 3 and t.csv, row 8)" in result.stderr
    assert "1 row has no id" in result.stderr
    assert Corpus.open("c").provenance["ids_repeated"] == 1
    assert command("prepare", "t.csv", "--id", "year", "-o", "d").stderr.count("55 rows") == 1


@pytest.mark.parametrize("seed", range(3))
def test_equal_documents_are_on_one_side(here, seed):
    """A third of the documents come three times, in other letters and other places."""
    texts = [f"word{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10]} common" for i in range(60)]
    texts += [text.upper() + "!" for text in texts[::3]] + texts[::3]
    Path("t.txt").write_text("\n".join(texts) + "\n")
    corpus = prepare("t.txt", "c", min_df=0, max_df=1.0, n_heldout=17, seed=seed)
    bags = [_bags(corpus.shard(0)), _bags(corpus.heldout)]
    assert not set(bags[0]) & set(bags[1])
    assert len(bags[1]) == corpus.n_heldout and 15 <= corpus.n_heldout <= 17
    assert corpus.provenance["duplicates"] == 40
    dropped = prepare("t.txt", "d", min_df=0, max_df=1.0, duplicates="drop", n_heldout=9, seed=seed)
    assert dropped.n_docs + dropped.n_heldout == 60
    assert dropped.index["dropped"]["reasons"] == {"duplicate": 40}
    assert sorted([*_bags(dropped.shard(0)), *_bags(dropped.heldout)]) == sorted(
        {*bags[0], *bags[1]}
    )


def test_words_of_dropped_duplicates_do_not_count(here):
    """Of three copies of a document one is left, too few for --min-df 2."""
    Path("t.txt").write_text("rare common\n" * 3 + "lime common\nlime common bread\n")
    options = {"min_df": 2, "max_df": 1.0, "n_heldout": 0}
    assert prepare("t.txt", "c", duplicates="drop", **options).vocabulary == ["common", "lime"]
    assert prepare("t.txt", "d", **options).vocabulary == ["common", "lime", "rare"]


def _bags(documents) -> list[tuple]:
    parts = (documents.part(d, d + 1) for d in range(documents.n_docs))
    return [tuple(part.word_ids.tolist()) for part in parts]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("how", ["sniffed", "stated", "given"])
def test_csv_is_split_where_it_should_be(here, delimiter, how):
    head = f"sep={delimiter}\r\n" if how == "stated" else ""
    Path("t.csv").write_bytes(as_csv(table(), delimiter, head=head))
    given = delimiter if how == "given" else None
    corpus = prepare("t.csv", "c", id="id", columns=("all",), delimiter=given, **OPTIONS)
    assert corpus.columns[0] == {"year": "2000", "row": "x;y"}
    plain = here / "p.csv"
    plain.write_bytes(as_csv(table()))
    assert prepare(plain, "p", id="id", **OPTIONS).fingerprint == corpus.fingerprint


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8"])
@pytest.mark.parametrize("name", ["csv", "jsonl", "txt"])
def test_encodings(here, command, encoding, name):
    words = ["déjà vu", "garçon", "Käse", "niño été"] * 3
    text = {
        "csv": "id,text\n" + "".join(f"é{i},{w}\n" for i, w in enumerate(words)),
        "jsonl": "".join(f'{{"id": "é{i}", "text": "{w}"}}\n' for i, w in enumerate(words)),
        "txt": "".join(f"{w}\n" for w in words),
    }[name]
    Path(f"t.{name}").write_bytes(text.encode(encoding))
    options = ("--min-df", 1, "--max-df", 1, "--heldout", 0, "-o", "c")
    options += () if name == "txt" else ("--id", "id")
    result = command("prepare", f"t.{name}", "--encoding", encoding, *options)
    assert result.status == 0, result.stderr
    assert {"déjà", "garçon", "käse", "été"} <= set(Corpus.open("c").vocabulary)
    if encoding == "cp1252":
        refused = command("prepare", f"t.{name}", *options, "--force")
        assert refused.status == 3 and "--encoding cp1252" in one_sentence(refused)
        refused = command("prepare", f"t.{name}", "--encoding", "latin1x", *options, "--force")
        assert refused.status == 2 and "did you mean" in one_sentence(refused)


def test_text_that_ends_inside_a_character_is_refused(here, command):
    Path("t.txt").write_bytes("red ant\nblue bee".encode("utf-16")[:-1])
    refused = command("prepare", "t.txt", "--encoding", "utf-16", "-o", "c")
    assert refused.status == 3 and "not utf-16" in one_sentence(refused)


def test_ids_are_texts_as_they_are_written(here):
    lines = ['{"id": 1.10, "text": "red ant"}', '{"id": 7, "text": "blue bee"}']
    lines += ['{"id": "007", "text": "red cow"}', "", '{"id": null, "text": "grey dog"}']
    lines += ['{"id": NaN, "title": NaN, "text": "grey ant"}']  # as pandas writes what is missing
    Path("t.jsonl").write_text("\n".join(lines) + "\n")
    corpus = prepare("t.jsonl", "c", id="id", columns=("all",))
    assert corpus.ids[:] == ["1.10", "7", "007", "", ""] and corpus.titles is None
    assert corpus.rows.tolist() == [1, 2, 3, 5, 6]
    assert [corpus.about(d).name for d in range(4)] == ["1.10", "7", "007", "t.jsonl, line 5"]
    assert corpus.columns is None or corpus.columns[:] == [{}] * 5


def test_columns_of_any_type_and_any_row(here):
    rows = [
        {"text": "red ant", "n": 1, "list": [1, "a"], "nan": float("nan"), "half": "\ud800"},
        {"text": "blue bee", "late": {"deep": None}, "flag": True, "id": "x\ny"},
    ]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = prepare("t.jsonl", "c", columns=("all",))
    assert corpus.index["columns"] == ["n", "list", "nan", "half", "late", "flag", "id"]
    assert corpus.columns[1] == {"late": {"deep": None}, "flag": True, "id": "x\ny"}
    verify("c")


def test_corpora_made_of_corpora_keep_all(here, command):
    """Merged, added to, cut anew and shuffled: every id stays with its row and its words."""
    rows = table()
    Path("a.csv").write_bytes(as_csv(rows[:35]))
    Path("b.jsonl").write_bytes(as_jsonl(rows[35:]))
    Path("words").write_text(" ".join(SUBJECTS).replace(" ", "\n") + "\n")
    options = {**OPTIONS, "n_heldout": 5, "vocab": "words", "id": "id", "columns": ["year"]}
    one, two = prepare("a.csv", "a", **options), prepare("b.jsonl", "b", **options)
    merged = maintenance.merge([one.path, two.path], "m")
    added = addition.add("a", ["b.jsonl"], "added", id="id", columns=["year"])
    shuffled = maintenance.reshard("m", "s", 2, shuffle=True, seed=4)
    for corpus in (merged, added, shuffled):
        verify(corpus.path)
        lost = corpus.dropped.each()[0]
        held = corpus.part(corpus.index["heldout"]).metadata
        named = {corpus.ids[d]: corpus.about(d) for d in range(corpus.n_docs)}
        for i, row in enumerate(rows):
            place = ("a.csv", "row", i + 1) if i < 35 else ("b.jsonl", "line", i - 34)
            if row["id"] in named:
                assert named[row["id"]].place == place
                assert named[row["id"]].columns == {"year": row["year"]}
        known = [*corpus.ids, *(part.ids[i] for part in (lost, held) for i in range(part.n_docs))]
        assert sorted(known) == [row["id"] for row in rows]
    left = json.loads(command("corpus", "dropped", "m", "--json").stdout)["dropped"]
    assert [row["row"] for row in left if row["file"] == "a.csv"][:3] == [4, 6, 9]


def test_rows_move_along_when_words_get_other_numbers(here):
    Path("a.txt").write_text("bee cow\n\ncow dog\n")
    Path("b.txt").write_text("\nant bee\ndog ant\n")
    options = {"min_df": 1, "max_df": 1.0, "n_heldout": 0}
    parts = [prepare(f"{name}.txt", name, **options).path for name in "ab"]
    merged = maintenance.merge(parts[::-1], "m", union=True)
    assert [merged.about(d).place[::2] for d in range(4)] == [
        ("b.txt", 2), ("b.txt", 3), ("a.txt", 1), ("a.txt", 3)
    ]  # fmt: skip
    assert merged.dropped.each()[0].rows.tolist() == [1, 5]
    verify("m")


def test_a_folder_of_tables_is_read_and_its_files_are_named(here, command):
    Path("dd").mkdir()
    Path("dd/a.csv").write_bytes(as_csv(table()[:30]))
    Path("dd/b.csv").write_bytes(as_csv(table()[30:]))
    assert command("prepare", "dd", "-o", "c", "--id", "id").status == 0
    places = [Corpus.open("c").about(d).place for d in range(Corpus.open("c").n_docs)]
    assert {place.file for place in places} == {"a.csv", "b.csv"}
    Path("dd/notes.md").write_text("Some text.")
    refused = command("prepare", "dd", "-o", "d", "--field", "text")
    assert refused.status == 3
    assert "dd/a.csv looks like csv: pass --format csv" in one_sentence(refused)


def test_counts_of_words_keep_their_rows(here, command):
    Path("docword.x.txt").write_text("9\n3\n4\n2 1 1\n3 2 2\n6 3 1\n7 1 1\n")
    Path("vocab.x.txt").write_text("ant\nbee\ncow\n")
    corpus = prepare("docword.x.txt", "c")
    assert corpus.rows.tolist() == [2, 3, 6, 7]
    told = json.loads(command("corpus", "dropped", "c", "--json").stdout)["dropped"]
    assert [row["row"] for row in told] == [1, 4, 5, 8, 9]
    assert corpus.about(2).name == "docword.x.txt, document 6"


def test_titles_can_be_cut_into_parts(trained):
    ids = Corpus.open(trained / "corpus").ids
    assert ids[:2] == [ids[0], ids[1]] and ids[-2:] == list(ids)[-2:] and ids[5:5] == []


def test_files_of_one_name_in_several_folders_are_told(here, command):
    for name in ("business", "sport"):
        Path(name).mkdir()
        Path(name, "a.txt").write_text(f"{name} words")
    told = command("prepare", "business", "sport", "-o", "c", "--heldout", 0).stderr
    both = "'a.txt' (business, file 1 and sport, file 1)"
    assert f"1 row has the id of an earlier one, the first {both}" in told and "no id" not in told
    done = command("prepare", "sport", "-o", "d", "--heldout", 0)
    assert (done.status, done.stderr) == (0, "")
    assert "ids_repeated" not in Corpus.open("d").provenance


def test_tokens_of_dropped_duplicates_are_no_words_left_out(here):
    Path("t.txt").write_text("red ant\nblue bee\n" * 2)
    options = {"min_df": 0, "max_df": 1.0, "stopwords": "none", "n_heldout": 0}
    corpus = prepare("t.txt", "c", duplicates="drop", **options)
    told = corpus.provenance
    names = ("tokens_read", "tokens_left_out", "tokens_repeated")
    assert [*(told[name] for name in names), corpus.n_tokens] == [8, 0, 4, 4]
    assert "tokens_repeated" not in prepare("t.txt", "d", **options).provenance


def test_files_of_a_folder_of_tables_that_are_not_read_are_counted(here, command):
    """Empty ones, as Spark leaves, apart; a JSON file that is no table is none of texts."""
    rows = table()
    Path("dd").mkdir()
    Path("dd/a.jsonl.GZ").write_bytes(gzip.compress(as_jsonl(rows[:30])))
    Path("dd/b.json").write_bytes(as_jsonl(rows[30:]))
    Path("dd/_SUCCESS").touch()
    corpus = prepare("dd", "c", id="id", **OPTIONS)
    assert corpus.places.files == ["a.jsonl.GZ", "b.json"]
    assert "files_left_out" not in corpus.provenance
    Path("dd/notes.md").write_text("Some text.")
    done = command("prepare", "dd", "-o", "d", "--format", "jsonl", "--id", "id")
    assert "1 file is left out that is not named like jsonl: dd/notes.md." in done.stderr
    told = Corpus.open("d").provenance
    assert (told["files_left_out"], told["file_left_out"]) == (1, "dd/notes.md")
    Path("pp").mkdir()
    Path("pp/x.json").write_text(json.dumps(rows[0], indent=1))
    refused = command("prepare", "pp", "-o", "e")
    assert refused.status == 3 and "pp/x.json, line 1: not JSON" in one_sentence(refused)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_file_that_comes_meanwhile_stays(
    trained, command, monkeypatch, tmp_path, latecomer, name
):
    monkeypatch.chdir(trained)
    refused = command("corpus", "dropped", "corpus", "-o", tmp_path / name)
    assert refused.status == 2 and f"{name}: exists already" in one_sentence(refused)
    assert (tmp_path / name).read_text() == "theirs"

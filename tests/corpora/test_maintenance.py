"""Merging, adding and cutting anew against the same done by hand, and nothing half-made."""

import contextlib
import json
import socket
import subprocess
import sys

import bags
import numpy as np
import pytest
import regex

from topicmc.cli import main
from topicmc.corpora import Corpus, prepare, verify
from topicmc.corpora.files import NpyWriter
from topicmc.corpora.making import addition, maintenance
from topicmc.corpora.readers import Tally
from topicmc.corpora.reading import read_known
from topicmc.corpora.remembered import fields_like, told_of
from topicmc.corpora.text import vocabulary
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import DataError, UsageError
from topicmc.storage.files import own_checksum


def random_bags(n_docs, n_words, seed, most=5):
    rng = np.random.default_rng(seed)
    return [
        {int(w): int(rng.integers(1, most)) for w in np.sort(rng.choice(n_words, 4, replace=False))}
        for _ in range(n_docs)
    ]


def write(folder, name, written, words):
    bags.docword(folder / f"docword.{name}.txt", written, len(words))
    (folder / f"vocab.{name}.txt").write_text("".join(w + "\n" for w in words))
    return folder / f"docword.{name}.txt"


def made(folder, name, written, words, **options):
    options = {"n_shards": 2, "n_heldout": 3} | options
    return prepare(write(folder, name, written, words), folder / name, **options)


def spelled(corpus, documents=None):
    """Every document as a dict from word to count."""
    words = corpus.vocabulary
    found = bags.training(corpus) if documents is None else bags.read_back(documents)
    return [{words[i]: n for i, n in bag.items()} for bag in found]


WORDS = bags.words(20)


@pytest.fixture
def first(tmp_path):
    return made(tmp_path, "a", random_bags(30, 20, 1), WORDS)


def test_merge_matches_words_by_spelling(tmp_path, first):
    other = made(tmp_path, "b", random_bags(25, 20, 2), WORDS[::-1], n_shards=3)
    merged = maintenance.merge([first.path, other.path], tmp_path / "c")
    verify(tmp_path / "c")
    assert merged.vocabulary == WORDS
    assert spelled(merged) == spelled(first) + spelled(other)
    held = spelled(first, first.heldout) + spelled(other, other.heldout)
    assert spelled(merged, merged.heldout) == held
    assert merged.n_shards == 5
    (step,) = merged.provenance["history"]
    assert step["with"][0]["fingerprint"] == other.fingerprint
    rows = [corpus.index["shards"][0]["sha256"] for corpus in (first, merged)]
    assert rows[0] == rows[1], "shards that need not change keep their bytes"


def test_merge_of_other_words(tmp_path, first):
    other = made(tmp_path, "b", random_bags(25, 20, 2), [*WORDS[5:], *"vwxyz"])
    with pytest.raises(DataError, match=r"differ in 10 words, for instance 'v': .*--union"):
        maintenance.merge([first.path, other.path], tmp_path / "c")
    assert not (tmp_path / "c").exists()
    merged = maintenance.merge([first.path, other.path], tmp_path / "c", union=True)
    verify(tmp_path / "c")
    assert merged.vocabulary == [*WORDS, *"vwxyz"]
    assert spelled(merged) == spelled(first) + spelled(other)


def test_merge_widens_ids_and_counts(tmp_path, first):
    large = [f"x{i}" for i in range(1 << 16)]
    other = made(tmp_path, "b", [{0: 1 << 20}, {5: 2, (1 << 16) - 1: 1}] * 3, large, n_heldout=0)
    merged = maintenance.merge([first.path, other.path], tmp_path / "c", union=True)
    verify(tmp_path / "c")
    assert merged.index["dtypes"] == {"word_ids": "uint32", "counts": "uint32"}
    assert spelled(merged) == spelled(first) + spelled(other)


@pytest.mark.parametrize("in_place", [False, True])
def test_add_of_ids(tmp_path, first, in_place):
    """Other order, words that the corpus lacks, and a document of nothing else."""
    words = ["new", *WORDS[::-1]]
    new = [{0: 5, 3: 2, 7: 1}, {0: 9}, {1: 1, 20: 4}]
    source = write(tmp_path, "more", new, words)
    before, rows = spelled(first), first.index["shards"]
    held = first.index["heldout"]["sha256"]
    made = addition.add(first.path, [source], None if in_place else tmp_path / "c")
    verify(made.path)
    assert made.path == (first.path if in_place else tmp_path / "c")
    assert spelled(made) == before + [
        {words[i]: n for i, n in bag.items() if i} for bag in (new[0], new[2])
    ]
    assert [r["sha256"] for r in made.index["shards"][:2]] == [r["sha256"] for r in rows]
    assert made.index["heldout"]["sha256"] == held
    assert made.provenance["history"][0]["tokens_unknown"] == 14
    if not in_place:
        verify(first.path)
        assert Corpus.open(first.path).fingerprint == first.fingerprint
    again = addition.add(made.path, [source], n_heldout=1)
    verify(again.path)
    assert again.n_shards == 4 and len(again.provenance["history"]) == 2
    assert again.n_heldout in (3, 4), "a document of unknown words alone falls away"
    assert {p.name for p in tmp_path.iterdir()} - {"c"} == {
        "a", "docword.a.txt", "vocab.a.txt", "docword.more.txt", "vocab.more.txt"
    }  # fmt: skip


def test_add_tells_how_far_it_has_read(tmp_path, first, monkeypatch):
    """The command, too, which shows it on a terminal."""
    source, heard = write(tmp_path, "more", random_bags(9, 20, 3), WORDS), []
    addition.add(first.path, [source], tmp_path / "c", progress=heard.append)
    assert heard[-1].n_read == 9
    heard.clear()
    shown = contextlib.nullcontext(heard.append)
    monkeypatch.setattr("topicmc.cli.corpus.reading_progress", lambda sources, n_passes: shown)
    with contextlib.suppress(SystemExit):
        main(["corpus", "add", str(first.path), str(source), "-o", str(tmp_path / "d")])
    assert heard[-1].n_read == 9 and Corpus.open(tmp_path / "d").n_docs == first.n_docs + 9


def test_documents_that_are_both_trained_on_and_held_out_are_counted(tmp_path, first):
    held = bags.read_back(first.heldout)
    source = write(tmp_path, "more", [held[0], {0: 1}, held[2]], WORDS)
    made_of_two = addition.add(first.path, [source], tmp_path / "c")
    assert made_of_two.provenance["history"][-1]["heldout_trained"] == 2
    source = write(tmp_path, "other", [{0: 1}], WORDS)
    made_of_none = addition.add(first.path, [source], tmp_path / "d")
    assert "heldout_trained" not in made_of_none.provenance["history"][-1]
    turned = [{19 - word: n for word, n in reversed(bag.items())} for bag in held]
    other = made(tmp_path, "b", turned, WORDS[::-1], n_shards=1, n_heldout=0)
    merged = maintenance.merge([first.path, other.path], tmp_path / "e")
    assert merged.provenance["history"][-1]["heldout_trained"] == 3


def test_what_a_corpus_trains_on_and_holds_out_by_itself_is_not_counted_again(tmp_path):
    """Its documents are all equal, so that prepare could not keep them on one side."""
    first = made(tmp_path, "a", [{0: 1}] * 30, WORDS)
    assert first.provenance["duplicates_split"] and first.n_heldout == 3
    source = write(tmp_path, "more", [{5: 2}], WORDS)
    added = addition.add(first.path, [source], tmp_path / "b")
    assert "heldout_trained" not in added.provenance["history"][-1]
    source = write(tmp_path, "same", [{0: 1}], WORDS)
    added = addition.add(first.path, [source], tmp_path / "c")
    assert added.provenance["history"][-1]["heldout_trained"] == 3


@pytest.mark.parametrize("n_heldout", [0, 2])
def test_documents_that_were_there_before_are_counted(tmp_path, first, n_heldout):
    """Trained on or held out, by their words, whatever the numbers of these."""
    old = [*bags.training(first), *bags.read_back(first.heldout)]
    turned = [{19 - word: n for word, n in reversed(bag.items())} for bag in old[-5:]]
    source = write(tmp_path, "more", [*turned, turned[0], {0: 9}, {0: 9}], WORDS[::-1])
    made = addition.add(first.path, [source], tmp_path / "c", n_heldout=n_heldout)
    step = made.provenance["history"][-1]
    assert step["documents_known"] == 6 and step["duplicates"] == 2
    source = write(tmp_path, "other", [{0: 9}], WORDS)
    made = addition.add(first.path, [source], tmp_path / "d")
    assert "documents_known" not in made.provenance["history"][-1]


def test_add_of_text(tmp_path, first):
    (tmp_path / "x.txt").write_text(f"{WORDS[3]} {WORDS[3]} unknown\n{WORDS[0]}\n")
    made = addition.add(first.path, [tmp_path / "x.txt"], tmp_path / "c")
    assert spelled(made)[-2:] == [{WORDS[3]: 2}, {WORDS[0]: 1}]


def test_add_grows_a_vocabulary_by_its_own_rules(tmp_path):
    """Words of two documents or more that are no stop words come in, behind those that there are;
    the corpus as it was stays readable."""
    (tmp_path / "a.txt").write_text("apple pear plum\napple pear plum\n" * 20)
    first = prepare([tmp_path / "a.txt"], tmp_path / "a", n_heldout=2, min_df=2, max_df=1.0)
    new = ["zebra apple the", "zebra yak the", "yak pear the oak", "apple", "oak"]
    (tmp_path / "b.txt").write_text("\n".join(new * 2) + "\nsingle\n")
    made = addition.add(
        first.path, [tmp_path / "b.txt"], tmp_path / "c", new_words=True, n_heldout=3
    )
    verify(made.path)
    assert made.vocabulary == ["apple", "pear", "plum", "oak", "yak", "zebra"]
    assert made.fingerprint != first.fingerprint
    assert made.provenance["history"][-1]["words_new"] == 3
    assert made.index["shards"][0]["sha256"] == first.index["shards"][0]["sha256"]
    added = spelled(made)[first.n_docs :] + spelled(made, made.heldout)[first.n_heldout :]
    wanted = [{w: 1 for w in line.split() if w != "the"} for line in new * 2]
    assert sorted(map(repr, map(sorted, added))) == sorted(map(repr, map(sorted, wanted)))
    verify(first.path)


def test_a_new_word_counts_once_in_each_document(tmp_path):
    (tmp_path / "a.txt").write_text("apple pear plum\n" * 20)
    first = prepare([tmp_path / "a.txt"], tmp_path / "a", n_heldout=2, min_df=2, max_df=1.0)
    (tmp_path / "b.txt").write_text("kiwi kiwi kiwi apple\nyak apple\nyak pear\n")
    made = addition.add(first.path, [tmp_path / "b.txt"], tmp_path / "c", new_words=True)
    assert made.vocabulary == ["apple", "pear", "plum", "yak"]


def test_add_grows_a_vocabulary_of_ids(tmp_path, first):
    words = ["new", *WORDS[::-1]]
    source = write(tmp_path, "more", [{0: 5, 3: 2}, {0: 9}], words)
    made = addition.add(first.path, [source], tmp_path / "c", new_words=True)
    assert made.vocabulary == [*WORDS, "new"]
    assert spelled(made)[-2:] == [{WORDS[-3]: 2, "new": 5}, {"new": 9}]


@pytest.mark.parametrize("rules", [3, {"min_df": -1}, {"min_df": 0, "max_df": "all"}])
def test_rules_of_pruning_that_cannot_be_are_refused(tmp_path, first, rules):
    (tmp_path / "b.txt").write_text("zebra\n")
    index = json.loads((first.path / "corpus.json").read_text())
    index["provenance"] |= {"pruning": rules, "vocabulary": "built"}
    index["checksum"] = own_checksum(index)
    (first.path / "corpus.json").write_text(json.dumps(index))
    with pytest.raises(DataError, match=r"corpus.json: .*pruning"):
        addition.add(first.path, [tmp_path / "b.txt"], tmp_path / "c", new_words=True)


def test_add_of_nothing_known(tmp_path, first):
    source = write(tmp_path, "more", [{0: 1}], ["alien"])
    with pytest.raises(DataError, match="no words of the vocabulary"):
        addition.add(first.path, [source])
    assert verify(first.path).fingerprint == first.fingerprint


@pytest.mark.parametrize("n_shards", [1, 3, 27])
def test_reshard(tmp_path, first, n_shards):
    cut = maintenance.reshard(first.path, tmp_path / "c", n_shards)
    verify(tmp_path / "c")
    assert spelled(cut) == spelled(first)
    assert cut.n_shards == n_shards
    tokens = [row["n_tokens"] for row in cut.index["shards"]]
    longest = max(sum(bag.values()) for bag in bags.training(cut))
    assert max(tokens) <= cut.n_tokens / n_shards + longest
    assert cut.index["heldout"]["sha256"] == first.index["heldout"]["sha256"]
    assert cut.provenance["history"][-1]["before"] == 2
    assert cut.provenance["sources"] == first.provenance["sources"]


def test_reshard_too_often(tmp_path, first):
    with pytest.raises(UsageError, match="--shards 28"):
        maintenance.reshard(first.path, tmp_path / "c", 28)


def test_damage_gets_no_new_checksum(tmp_path, first):
    file = first.path / "shards/00001/counts.npy"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    for made in (
        lambda: maintenance.reshard(first.path, tmp_path / "c", 1),
        lambda: maintenance.merge([first.path, first.path], tmp_path / "c"),
        lambda: addition.add(first.path, [tmp_path / "docword.a.txt"]),
    ):
        with pytest.raises(DataError, match=r"00001/counts\.npy was changed"):
            made()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("action", ["merge", "add", "reshard"])
def test_interrupted(tmp_path, first, action, monkeypatch):
    source = write(tmp_path, "more", random_bags(9, 20, 3), WORDS)
    other = made(tmp_path, "b", random_bags(25, 20, 2), WORDS[::-1])
    before = {p.name for p in tmp_path.iterdir()}

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(NpyWriter, "append", fail)
    with pytest.raises(KeyboardInterrupt):
        if action == "merge":
            maintenance.merge([first.path, other.path], tmp_path / "c")
        elif action == "add":
            addition.add(first.path, [source])
        else:
            maintenance.reshard(first.path, tmp_path / "c", 3)
    assert {p.name for p in tmp_path.iterdir()} == before
    assert verify(first.path).fingerprint == first.fingerprint


@pytest.mark.parametrize("new_words", [False, True])
def test_phrases_of_a_corpus_are_joined_in_what_is_added(tmp_path, new_words):
    fillers = bags.words(300)
    lines = [
        " ".join([*fillers[i : i + 9], "new york", *fillers[i + 9 : i + 20]])
        for i in range(0, 280, 7)
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    first = prepare([tmp_path / "a.txt"], tmp_path / "a", phrases=True, min_df=1, max_df=1.0)
    assert "new_york" in first.vocabulary
    (tmp_path / "b.txt").write_text(f"new york new york {fillers[0]}\n" * 3)
    made = addition.add(first.path, [tmp_path / "b.txt"], tmp_path / "c", new_words=new_words)
    assert spelled(made)[-3:] == [{"new_york": 2, fillers[0]: 1}] * 3
    assert made.vocabulary == first.vocabulary


@pytest.mark.parametrize("step", ["concatenate", "sync_tree"])
def test_a_corpus_that_was_changed_meanwhile_is_not_overwritten(tmp_path, first, monkeypatch, step):
    sources = [write(tmp_path, name, [{0: 1, 1: 2}], WORDS) for name in ("b", "c")]
    plain = getattr(addition, step)
    other = (
        "import sys; from topicmc.corpora.making.addition import add;"
        " add(sys.argv[1], sys.argv[2:])"
    )

    def interrupted(*arguments, **options):
        subprocess.run([sys.executable, "-P", "-c", other, first.path, sources[1]], check=True)
        return plain(*arguments, **options)

    monkeypatch.setattr(addition, step, interrupted)
    with pytest.raises(DataError, match="changed meanwhile; give the same command again"):
        addition.add(first.path, [sources[0]])
    assert verify(first.path).n_docs == first.n_docs + 1


def test_what_is_added_through_a_link_is_in_the_corpus(tmp_path, first):
    (tmp_path / "link").symlink_to(first.path)
    source = write(tmp_path, "more", [{0: 1, 1: 2}], WORDS)
    addition.add(tmp_path / "link", [source])
    assert (tmp_path / "link").is_symlink()
    assert verify(first.path).n_docs == first.n_docs + 1


def test_options_that_add_has_no_use_for(tmp_path, first):
    (tmp_path / "x.txt").write_text(f"{WORDS[0]}\n")
    with pytest.raises(UsageError, match="--vocab .*: only sources of word ids need one"):
        addition.add(first.path, [tmp_path / "x.txt"], vocab=tmp_path / "x.txt")
    with pytest.raises(UsageError, match="--seed 5 chooses the held-out documents"):
        addition.add(first.path, [tmp_path / "x.txt"], seed=5)
    with pytest.raises(UsageError, match=f"topicmc corpus merge {first.path} {first.path} -o"):
        addition.add(first.path, [first.path])


def test_later_svmlight_is_numbered_as_that_of_the_corpus(tmp_path):
    """Sources of few documents may not show that indices start at 0."""
    bags.write_vocabulary(tmp_path / "vocab.txt", 30)
    for name, text in (("a", "1 0:2 1:1\n"), ("b", "1 1:3 2:1\n"), ("c", "1 1:3 29:1\n")):
        (tmp_path / f"{name}.svmlight").write_text(text)
    for name, first, found in (("a", 0, {1: 3, 2: 1}), ("c", 1, {0: 3, 1: 1})):
        source = tmp_path / f"{name}.svmlight"
        corpus = prepare(source, tmp_path / name, n_heldout=0, n_shards=1)
        assert corpus.provenance["first_index"] == first
        made = addition.add(corpus.path, [tmp_path / "b.svmlight"], tmp_path / f"{name}-b")
        assert bags.training(made)[-1] == found
        stream = read_known(
            [tmp_path / "b.svmlight"],
            corpus.vocabulary,
            Tally(),
            fields=fields_like(told_of(corpus)),
        )
        (known,) = stream
        assert bags.read_back(known.documents) == [found]


def test_a_merge_says_which_rules_differ_and_joins_the_phrases_of_any(tmp_path):
    source = tmp_path / "x.txt"
    source.write_text("new york\nold york\n" * 2)
    options = {"n_heldout": 0, "stopwords": "none"}
    plain = prepare(source, tmp_path / "a", **options)
    cut = Tokenizer(min_length=1)
    joined = prepare(source, tmp_path / "b", phrases=["new_york"], tokenizer=cut, **options)
    merged = maintenance.merge([plain.path, joined.path], tmp_path / "c", union=True)
    assert merged.provenance["history"][-1]["rules_differ"] == ["tokenizer", "phrases"]
    made = addition.add(merged.path, [source])
    assert spelled(made)[-4:] == [{"new_york": 1}, {"old": 1, "york": 1}] * 2


def test_corpora_over_one_vocabulary_are_read_alike(tmp_path):
    """That of the second was pruned when the first was made, and ids say nothing of texts."""
    source = tmp_path / "x.txt"
    source.write_text("red green the\nred blue\n" * 20)
    parts = [prepare(source, tmp_path / "a")]
    vocab = parts[0].path / "vocabulary.txt"
    parts.append(prepare(source, tmp_path / "b", vocab=vocab))
    parts.append(made(tmp_path, "c", [{0: 1}, {1: 2}], parts[0].vocabulary, n_heldout=0))
    merged = maintenance.merge([part.path for part in parts], tmp_path / "d")
    assert "rules_differ" not in merged.provenance["history"][-1]
    again = prepare(source, tmp_path / "e", stopwords="en", min_df=1)
    merged = maintenance.merge([parts[0].path, again.path], tmp_path / "f", union=True)
    assert "rules_differ" not in merged.provenance["history"][-1]  # en is english


def test_words_of_a_corpus_are_what_they_are(tmp_path, monkeypatch):
    """Those of earlier versions may hold what a new vocabulary may not."""
    source = tmp_path / "x.txt"
    source.write_text("red green\n" * 4)
    with monkeypatch.context() as earlier:
        earlier.setattr(vocabulary, "UNSHOWN", regex.compile("(?!)"))
        parts = made(tmp_path, "a", [{0: 1, 1: 2}], ["red", "don\x92t"], n_heldout=0, n_shards=1)
    assert addition.add(parts.path, [source]).n_docs == 5


def test_new_words_take_none_away_that_are_spelled_with_combining_marks(tmp_path):
    source, vocab = tmp_path / "x.txt", tmp_path / "words"
    vocab.write_text("cafe\u0301\nred\n", encoding="utf-8")
    source.write_text("caf\u00e9 caf\u00e9 red\n", encoding="utf-8")
    corpus = prepare(source, tmp_path / "a", vocab=vocab, n_heldout=0)
    for new_words in (False, True):
        added = addition.add(
            corpus.path, [source], tmp_path / f"added-{new_words}", new_words=new_words
        )
        assert bags.training(added) == [{0: 2, 1: 1}] * 2


def test_what_is_added_comes_to_a_corpus_whose_replacement_was_killed(tmp_path, first):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    first.path.rename(tmp_path / f".a.{socket.gethostname()}-{dead.pid}.old")
    source = write(tmp_path, "more", [{0: 1, 1: 2}], WORDS)
    assert addition.add(first.path, [source]).n_docs == first.n_docs + 1
    assert verify(first.path).n_docs == first.n_docs + 1


def test_documents_of_files_of_one_name_have_places_of_their_own(tmp_path):
    """In one corpus, and in several that are read together."""
    sources = [tmp_path / name / "x.txt" for name in ("jan", "feb")]
    for source in sources:
        source.parent.mkdir()
        source.write_text("red green\nred blue\n")
    one, two = (
        prepare(source, tmp_path / source.parent.name / "c", n_heldout=0) for source in sources
    )
    sources[0].write_text("blue\nred\ngreen\n")
    grown = addition.add(one.path, [sources[0]])
    places = [grown.about(d).place for d in range(grown.n_docs)]
    assert [place[::2] for place in places] == [
        *(("x.txt", row) for row in (1, 2)),
        *(("x.txt (2)", row) for row in (1, 2, 3)),
    ]
    (known, other) = read_known([two.path, grown.path], one.vocabulary, Tally())
    found = [place.file for place in (*known.places, *other.places)]
    assert found == ["feb/x.txt"] * 2 + ["jan/x.txt"] * 2 + ["jan/x.txt (2)"] * 3

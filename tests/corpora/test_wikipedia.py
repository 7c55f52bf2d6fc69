"""The dump reader against gensim's own, and its worker processes."""

import bz2
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from itertools import chain, repeat
from pathlib import Path
from xml.sax.saxutils import escape

import bags
import pytest

from topicmc.corpora import parallel, patience, prepare, wikipedia_extract
from topicmc.corpora.readers import Tally, records
from topicmc.corpora.readers.wikipedia import read_pages
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.errors import TopicmcError

tokenize = Tokenizer()


def own_tokens(text, token_min_len, token_max_len, lower):
    return tokenize(text)


@pytest.fixture(scope="module")
def extract(tmp_path_factory):
    return prepare(wikipedia_extract(), tmp_path_factory.mktemp("wiki") / "out")


def test_extract_is_what_gensim_reads(tmp_path):
    from gensim.corpora import WikiCorpus

    wiki = WikiCorpus(str(wikipedia_extract()), dictionary={}, tokenizer_func=own_tokens)
    expected = [Counter(tokens) for tokens in wiki.get_texts()]
    corpus = prepare(
        wikipedia_extract(),
        tmp_path / "out",
        n_heldout=0,
        stopwords="none",
        min_df=1,
        max_df=1.0,
        keep=10**6,
    )
    words = corpus.vocabulary
    found = [{words[i]: n for i, n in bag.items()} for bag in bags.training(corpus)]
    assert len(found) == 106
    assert found == expected


def test_defaults_leave_a_fine_vocabulary(extract):
    assert (extract.n_docs, extract.n_heldout) == (96, 10)
    assert 5_000 < extract.n_words < 20_000
    assert not {"the", "of", "and", "http"} & set(extract.vocabulary)
    assert {"apollo", "einstein", "computer"} <= set(extract.vocabulary)
    told = extract.provenance
    assert told["documents_read"] == 106 + told["documents_skipped"]


def test_articles_speak_of_their_title(extract):
    """Most use a word of their own title; under titles shifted by any number, few would."""
    ids = {word: i for i, word in enumerate(extract.vocabulary)}
    named = [{ids.get(word, -1) for word in tokenize(title)} for title in extract.titles]
    used = bags.training(extract)

    def matching(shift):
        return sum(bool(named[d - shift] & used[d].keys()) for d in range(len(used)))

    shares = [matching(shift) / len(used) for shift in range(len(used))]
    assert shares[0] > 0.8 and max(shares[1:]) < 0.4


PAGE = """<page><title>{title}</title><ns>{ns}</ns><id>{id}</id><revision><text>{text}</text>
</revision></page>
"""


def dump(path, pages):
    body = "".join(PAGE.format(id=i, **page) for i, page in enumerate(pages))
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo/>\n'
    path.write_bytes(bz2.compress((head + body + "</mediawiki>\n").encode()))


def test_redirects_stubs_templates_tables_and_other_namespaces(tmp_path):
    text = "привет мир {{template|no}} [[link|shown]] " * 20
    table = "{| class=x\n|-\n| cell || other\n|}\n" + "word " * 60
    pages = [
        {"title": "Good", "ns": 0, "text": text},
        {"title": "Redirect", "ns": 0, "text": "#REDIRECT [[Good]]"},
        {"title": "Talk", "ns": 1, "text": text},
        {"title": "Stub", "ns": 0, "text": "too short"},
        {"title": "Table", "ns": 0, "text": table},
        {"title": "Template:Odd", "ns": 0, "text": text},
    ]
    dump(tmp_path / "x-pages-articles.xml.bz2", pages)
    corpus = prepare(tmp_path / "x-pages-articles.xml.bz2", tmp_path / "out", stopwords="none")
    assert corpus.n_docs == 2
    assert corpus.provenance["skipped"] == {
        "redirects": 1,
        "of other namespaces": 2,
        "of under 50 words": 1,
    }
    found = [{corpus.vocabulary[i]: n for i, n in b.items()} for b in bags.training(corpus)]
    assert found[0] == {"привет": 20, "мир": 20, "shown": 20}
    assert found[1]["word"] == 60 and "cell" in found[1]


@pytest.mark.parametrize("cut", ["the XML", "bzip2", "bzip2, multistream"])
def test_dump_that_is_cut_is_read_as_far_as_it_goes(tmp_path, cut):
    pages = [{"title": f"P{i}", "ns": 0, "text": f"{'word ' * 60} {i * 7919}"} for i in range(3000)]
    dump(tmp_path / "x.xml.bz2", pages)
    raw = bz2.decompress((tmp_path / "x.xml.bz2").read_bytes())
    if cut == "the XML":
        (tmp_path / "x.xml.bz2").write_bytes(bz2.compress(raw[: len(raw) // 2]))
    else:
        step = 50_000 if cut == "bzip2, multistream" else len(raw)
        parts = [bz2.compress(raw[i : i + step], 1) for i in range(0, len(raw), step)]
        packed = b"".join(parts)
        (tmp_path / "x.xml.bz2").write_bytes(packed[: len(packed) // 2])
    corpus = prepare(tmp_path / "x.xml.bz2", tmp_path / "out", n_heldout=0, max_df=1.0)
    assert 1000 < corpus.n_docs < 1600
    assert re.fullmatch(
        rf".*x\.xml\.bz2.*; read up to page {corpus.n_docs:,} .'P{corpus.n_docs - 1}'.",
        corpus.provenance["cut_short"],
    )


def test_passed_pages_leave_nothing_in_memory():
    """gensim's parser keeps an element a page: 100 bytes or more."""
    page = PAGE.format(title="T", ns=0, id=1, text="x").encode()

    class Source:
        path = "x"
        head = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">'
        parts = chain([head], repeat(page))

        def read(self, size):
            return next(self.parts)

    pages = read_pages(Source(), Tally())
    for _ in range(1000):
        next(pages)
    tracemalloc.start()
    for _ in range(15_000):
        next(pages)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 15_000 * 20


def square(number):
    if number == 13:
        raise ValueError("thirteen")
    time.sleep(0.001 * (number % 3))
    return number * number


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 2, 3, 4, 12])
def test_maps_keep_order(cores, n_items, monkeypatch):
    monkeypatch.setattr(parallel, "available_cores", lambda: cores)
    with parallel.WorkerProcesses() as processes:
        for function in (square, str, square):
            found = list(processes.map(function, range(n_items), inline=2))
            assert found == [function(i) for i in range(n_items)]


@pytest.mark.parametrize("cores", [1, 2])
def test_maps_hold_few_items_and_pass_errors_on(cores, monkeypatch):
    monkeypatch.setattr(parallel, "available_cores", lambda: cores)
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    results = []
    with pytest.raises(ValueError, match="thirteen"), parallel.WorkerProcesses() as processes:
        for result in processes.map(square, items()):
            results.append(result)
            assert len(taken) <= len(results) + 2 * cores + 2
    assert results == [i * i for i in range(13)]


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_an_error_of_the_items_comes_behind_the_results_before_it(cores, monkeypatch):
    monkeypatch.setattr(parallel, "available_cores", lambda: cores)

    def items():
        yield from range(8)
        raise ValueError("cut short")

    results = []
    with pytest.raises(ValueError, match="cut short"), parallel.WorkerProcesses() as processes:
        for result in processes.map(square, items()):
            results.append(result)
    assert results == [i * i for i in range(8)]


def own_number(_):
    return os.getpid()


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_killed_worker_is_an_error_and_no_hang(monkeypatch):
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)
    killed = pytest.raises(TopicmcError, match="worker process was killed")
    with killed, parallel.WorkerProcesses() as processes:
        list(processes.map(die, range(9)))


def test_the_same_workers_read_all_sources(tmp_path, monkeypatch):
    started = []
    plain = parallel._Worker.__init__

    def counted(worker, *arguments):
        started.append(worker)
        plain(worker, *arguments)

    monkeypatch.setattr(parallel._Worker, "__init__", counted)
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)
    monkeypatch.setattr(records, "_MAX_TEXTS", 1)
    sources = [tmp_path / f"{name}.txt" for name in "abcde"]
    for source in sources:
        source.write_text("red green\n" * 4)
    corpus = prepare(
        sources, tmp_path / "out", n_heldout=0, n_shards=1, min_df=1, max_df=1.0, stopwords="none"
    )
    assert bags.training(corpus) == [{0: 1, 1: 1}] * 20
    assert corpus.rows.tolist() == [*range(1, 21)]
    assert len(started) == 2


def test_many_small_sources_are_shared_out(tmp_path, monkeypatch):
    """Each of one batch; what is done with them is told each worker once."""
    plain, told = parallel._Worker._send, []

    def noted(worker, value):
        told.append((id(worker), value[0] is not None))
        plain(worker, value)

    monkeypatch.setattr(parallel._Worker, "_send", noted)
    monkeypatch.setattr(parallel, "available_cores", lambda: 2)
    sources = [tmp_path / f"{name}.txt" for name in "abcdefgh"]
    for source in sources:
        source.write_text("red green\n")
    corpus = prepare(sources, tmp_path / "out", n_heldout=0, n_shards=1, min_df=1, max_df=1.0)
    assert [corpus.about(d).place[::2] for d in range(8)] == [(s.name, 1) for s in sources]
    assert len(told) == 8
    workers = [worker for worker, is_new in told if is_new]
    assert len(workers) == len({worker for worker, _ in told})


@pytest.mark.parametrize("text", ["[http://a " * 20_000, "<!-- " * 100_000, "a\t!" * 100_000])
def test_markup_without_an_end_is_passed_over(tmp_path, monkeypatch, text):
    """gensim's patterns would take minutes, weeks or longer."""
    monkeypatch.setattr(patience, "_SECONDS", (1, 0))
    article = "привет мир {{template|no}} [[link|shown]] " * 20
    texts = {"A": article, "B": escape(text), "C": article}
    dump(tmp_path / "x.xml.bz2", [{"title": t, "ns": 0, "text": texts[t]} for t in texts])
    corpus = prepare(tmp_path / "x.xml.bz2", tmp_path / "out", n_heldout=0, max_df=1.0)
    assert corpus.titles[:] == ["A", "C"]
    assert corpus.provenance["skipped"] == {"of markup without an end": 1}


UNGUARDED = """
import os, sys, threading, warnings
def refuse():
    raise AssertionError("a process with threads is forked")
os.fork = refuse
warnings.simplefilter("error")
print("begins", flush=True)
threading.Thread(target=threading.Event().wait, daemon=True).start()
from topicmc.corpora import parallel, prepare
parallel.available_cores = lambda: 2
corpus = prepare([sys.argv[1]], sys.argv[2], n_heldout=0, stopwords="none", min_df=1, max_df=1.0)
print(corpus.n_docs)
"""


def test_scripts_without_a_guard_and_with_threads_may_use_processes(tmp_path):
    """A fork would warn (from Python 3.12 on) and could deadlock; a start method that imports the
    script again would run it again in each process."""
    lines = "\n".join(f"{chr(97 + i % 26)}word {chr(97 + i // 26 % 26)}tail" for i in range(40_000))
    (tmp_path / "text.txt").write_text(lines)
    (tmp_path / "script.py").write_text(UNGUARDED)
    command = [sys.executable, "script.py", "text.txt", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "begins\n40000\n"
    assert done.stderr == ""


def test_workers_end_with_who_started_them(tmp_path):
    """Killed in the middle of a map, it leaves no worker behind."""
    from processes import wait_for_the_end_of  # which the script cannot import

    script = (
        "from test_wikipedia import own_number; from topicmc.corpora import parallel\n"
        "parallel.available_cores = lambda: 2\n"
        "for pid in parallel.WorkerProcesses().map(own_number, iter(int, 1)):\n"
        "    print(pid, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    )
    assert process.stdout is not None
    numbers = {int(process.stdout.readline()) for _ in range(50)} - {process.pid}
    assert numbers
    process.kill()
    process.wait()
    wait_for_the_end_of(numbers, 20)

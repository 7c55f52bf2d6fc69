"""topicmc fetch, as a user meets it."""

import gzip
import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from topicmc.cli.fetch import _NAMES, fetch
from topicmc.corpora import download, prepare
from topicmc.corpora.catalogue import NAMES
from topicmc.errors import DataError, UsageError

# The server stands beside the tests of the downloads themselves.
sys.path.append(str(Path(__file__).parents[1] / "corpora"))
from remote import serving

DOCWORD = b"4\n3\n5\n1 1 2\n1 3 1\n2 2 1\n3 2 1\n4 3 2\n"


@pytest.fixture
def remote(monkeypatch):
    monkeypatch.setattr(download, "_PAUSE", 0.001)
    with serving() as server:
        server.files["/vocab.kos.txt"] = b"red\ngreen\nblue\n"
        server.files["/docword.kos.txt.gz"] = gzip.compress(DOCWORD)
        yield server


def run(*arguments, **options):
    result = CliRunner().invoke(fetch, [str(a) for a in arguments], **options)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_fetched_files_prepare(remote, tmp_path):
    result = run("kos", "-o", tmp_path / "kos", "--mirror", remote.url + "/")
    vocab, docword = result.stdout.splitlines()
    assert vocab == str(tmp_path / "kos" / "vocab.kos.txt")
    assert "Licence: CC BY 4.0" in result.stderr
    assert f"15 B  {remote.url}/vocab.kos.txt" in result.stderr
    assert f"topicmc prepare {docword} -o CORPUS" in result.stderr
    assert prepare(docword, tmp_path / "corpus", n_heldout=0).n_docs == 4
    again = run("kos", "-o", tmp_path / "kos", "--yes", env={"TOPICMC_MIRROR": remote.url})
    assert again.stdout == result.stdout
    assert len(remote.gets("docword.kos.txt.gz")) == 1
    told = json.loads(run("kos", "-o", tmp_path / "b", "--mirror", remote.url, "--json").stdout)
    assert told["files"][1] == str(tmp_path / "b" / "docword.kos.txt.gz")


def test_who_declines_gets_no_file_and_no_status_0(remote, tmp_path, monkeypatch):
    terminal = SimpleNamespace(isatty=lambda: True)
    streams = SimpleNamespace(stdin=terminal, stderr=terminal, exit=sys.exit)
    monkeypatch.setattr("topicmc.cli.fetch.sys", streams)
    asked = run("kos", "-o", tmp_path / "kos", "--mirror", remote.url, input="n\n")
    assert asked.exit_code == 1 and not (tmp_path / "kos").exists()


def test_wrong_checksum_of_a_dump(remote, tmp_path):
    sums = f"{hashlib.sha1(b'other').hexdigest()}  xwiki-20260101-pages-articles.xml.bz2\n"
    remote.files["/xwiki/latest/xwiki-latest-sha1sums.txt"] = sums.encode()
    remote.files["/xwiki/20260101/xwiki-20260101-pages-articles.xml.bz2"] = b"BZh9"
    options = ["--language", "x", "--mirror", remote.url]
    with pytest.raises(DataError, match="the sha1 of what came"):
        run("wikipedia", "-o", tmp_path / "w", *options)
    assert list((tmp_path / "w").iterdir()) == []


def test_usage(tmp_path):
    assert run("reuters", "-o", tmp_path).exit_code == 2
    assert run("kos").exit_code == 2
    assert tuple(_NAMES) == NAMES


@pytest.mark.parametrize("option", [("--language", "de"), ("--date", "20200101")])
def test_what_only_wikipedia_has_is_refused(tmp_path, option):
    with pytest.raises(UsageError, match=f"{option[0]} {option[1]}: only wikipedia"):
        run("kos", "-o", tmp_path, *option)

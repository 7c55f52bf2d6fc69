"""Downloads from servers that cut, forget, change and lie."""

import errno
import gzip
import hashlib
import io
import json
import os
import random
from pathlib import Path

import pytest
from remote import serving

from topicmc.corpora import catalogue, download
from topicmc.corpora.download import RemoteFile
from topicmc.errors import DataError, TopicmcError, UsageError

BODY = random.Random(1).randbytes(100_000)


@pytest.fixture
def remote(monkeypatch):
    monkeypatch.setattr(download, "_PAUSE", 0.001)
    monkeypatch.setattr(download, "_CHUNK", 1000)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    with serving() as server:
        server.files["/x.bin"] = BODY
        yield server


def get(remote, folder, **options):
    file = RemoteFile(remote.url + "/x.bin", "x.bin", options.pop("checksum", None))
    return download.download(file, folder, **options)


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


SHA1 = "sha1:" + hashlib.sha1(BODY).hexdigest()


def test_plain(remote, tmp_path):
    seen = []
    path = get(remote, tmp_path / "new", checksum=SHA1, progress=lambda *a: seen.append(a))
    assert path.read_bytes() == BODY
    assert names(tmp_path / "new") == ["x.bin"]
    assert seen[-1] == ("x.bin", 100_000, 100_000)
    assert [at for _, at, _ in seen] == sorted(at for _, at, _ in seen)


def test_connections_that_break_are_taken_up_again(remote, tmp_path):
    """Only what is missing is asked for."""
    remote.cut_after = 30_000
    assert get(remote, tmp_path, checksum=SHA1).read_bytes() == BODY
    assert remote.gets("x.bin") == [None, "bytes=30000-", "bytes=60000-", "bytes=90000-"]


def test_what_came_stays_for_the_next_time(remote, tmp_path):
    remote.cut_after, remote.cuts_left = 40_000, 1

    def stop(name, at, total):
        if at >= 20_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(remote, tmp_path, progress=stop)
    assert names(tmp_path) == ["x.bin.part", "x.bin.part.json"]
    start = (tmp_path / "x.bin.part").stat().st_size
    assert 20_000 <= start < 40_000
    assert get(remote, tmp_path).read_bytes() == BODY
    assert remote.gets("x.bin")[1:] == [f"bytes={start}-"]
    assert names(tmp_path) == ["x.bin"]


def test_network_that_gives_nothing_more(remote, tmp_path):
    remote.cut_after = 0
    with pytest.raises(TopicmcError, match=r"x\.bin: .*goes on where this one stopped") as caught:
        get(remote, tmp_path)
    assert caught.value.exit_status == 1
    assert "x.bin" not in names(tmp_path)


def test_server_without_ranges_starts_over(remote, tmp_path):
    remote.ranges = False
    remote.cut_after, remote.cuts_left = 30_000, 2
    assert get(remote, tmp_path, checksum=SHA1).read_bytes() == BODY
    assert len(remote.gets("x.bin")) == 3


def test_server_without_versions_starts_over(remote, tmp_path):
    """Without an ETag or a date, two parts may be of different files."""
    remote.tags = False
    remote.cut_after, remote.cuts_left = 30_000, 2
    assert get(remote, tmp_path).read_bytes() == BODY
    assert remote.gets("x.bin") == [None] * 3


def test_file_that_changes_meanwhile_is_not_glued_together(remote, tmp_path):
    remote.cut_after, remote.cuts_left = 30_000, 1

    def change(name, at, total):
        remote.files["/x.bin"] = BODY[::-1]

    assert get(remote, tmp_path, progress=change).read_bytes() == BODY[::-1]


def test_range_beside_the_one_asked_for(remote, tmp_path):
    remote.cut_after, remote.cuts_left, remote.shift = 30_000, 1, 7
    assert get(remote, tmp_path, checksum=SHA1).read_bytes() == BODY


def test_range_of_more_digits_than_python_reads(remote, tmp_path):
    remote.cut_after, remote.cuts_left = 30_000, 1
    remote.told_range = f"bytes {'9' * 5000}-1/2"
    assert get(remote, tmp_path, checksum=SHA1).read_bytes() == BODY


def test_range_of_a_whole_of_unknown_length(remote, tmp_path):
    """The part that comes has a length, and is cut, too."""
    remote.cut_after, remote.cuts_left = 30_000, 2
    remote.told_range = "bytes 30000-99999/*"
    assert get(remote, tmp_path).read_bytes() == BODY


def test_redirects_that_leave_http_are_not_followed(remote, tmp_path):
    remote.redirect = "ftp://127.0.0.1:1/x.bin"
    with pytest.raises(TopicmcError, match="HTTP 302 .*check the name"):
        get(remote, tmp_path)
    assert len(remote.gets("x.bin")) == 1


def test_a_redirect_to_no_address_is_a_sentence(remote, tmp_path):
    remote.redirect = "http://[x"
    with pytest.raises(TopicmcError, match="Invalid IPv6 URL; check the network"):
        get(remote, tmp_path)


def test_whole_part_is_recognised(remote, tmp_path):
    """Killed between the last byte and the renaming."""
    tag = f'"{hashlib.sha256(BODY).hexdigest()[:12]}"'
    (tmp_path / "x.bin.part").write_bytes(BODY)
    note = {"url": f"{remote.url}/x.bin", "validator": tag}
    (tmp_path / "x.bin.part.json").write_text(json.dumps(note))
    assert get(remote, tmp_path, checksum=SHA1).read_bytes() == BODY
    assert remote.gets("x.bin") == ["bytes=100000-"]


@pytest.mark.parametrize("note", ["", "[]", "{}", "\x00", '{"url": "elsewhere", "validator": "1"}'])
def test_part_of_unknown_origin_starts_over(remote, tmp_path, note):
    (tmp_path / "x.bin.part").write_bytes(b"other")
    (tmp_path / "x.bin.part.json").write_text(note)
    assert get(remote, tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("validator", [["x"], None, "a\nb", "é"])
def test_a_part_whose_version_is_none_starts_over(remote, tmp_path, validator):
    (tmp_path / "x.bin.part").write_bytes(b"other")
    note = {"url": f"{remote.url}/x.bin", "validator": validator}
    (tmp_path / "x.bin.part.json").write_text(json.dumps(note))
    assert get(remote, tmp_path).read_bytes() == BODY


def test_what_another_process_adds_is_not_kept(remote, tmp_path):
    def meddle(name, at, total):
        if at == 50_000 and len(remote.gets("x.bin")) == 1:
            with (tmp_path / "x.bin.part").open("ab") as part:
                part.write(b"tail")

    assert get(remote, tmp_path, progress=meddle).read_bytes() == BODY
    assert len(remote.gets("x.bin")) > 1


def test_wrong_checksum(remote, tmp_path):
    with pytest.raises(DataError, match="the sha1 of what came is .* the source says"):
        get(remote, tmp_path, checksum="sha1:" + "0" * 40)
    assert names(tmp_path) == []


def test_busy_server_is_asked_again(remote, tmp_path):
    remote.statuses = [503, 429, 500]
    assert get(remote, tmp_path).read_bytes() == BODY
    remote.statuses = [503] * 50
    with pytest.raises(TopicmcError, match="HTTP 503 .*try again later"):
        get(remote, tmp_path, force=True)
    assert (tmp_path / "x.bin").read_bytes() == BODY


def test_size(remote):
    file = RemoteFile(remote.url + "/x.bin", "x.bin")
    assert download.remote_size(file) == 100_000
    remote.statuses = [503, 503]
    assert download.remote_size(file) == 100_000
    remote.statuses = [405]
    assert download.remote_size(file) is None
    remote.lengths = False
    assert download.remote_size(file) is None
    remote.statuses = [404]
    with pytest.raises(TopicmcError, match="404"):
        download.remote_size(file)


def test_missing_file_is_not(remote, tmp_path):
    remote.files = {}
    with pytest.raises(TopicmcError, match="HTTP 404 .*check the name"):
        get(remote, tmp_path)
    assert len(remote.gets("x.bin")) == 1
    assert names(tmp_path) == []


def test_no_server(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "_PAUSE", 0.001)
    with serving() as remote:
        pass
    with pytest.raises(TopicmcError, match=r"x\.bin: .*refused; check the network"):
        get(remote, tmp_path)
    with pytest.raises(TopicmcError, match="refused"):
        download.remote_size(RemoteFile(remote.url + "/x.bin", "x.bin"))


def test_existing_file(remote, tmp_path):
    (tmp_path / "x.bin").write_bytes(BODY)
    get(remote, tmp_path, checksum=SHA1)
    assert remote.log == []
    (tmp_path / "x.bin").write_bytes(b"thesis")
    with pytest.raises(UsageError, match="--force"):
        get(remote, tmp_path, checksum=SHA1)
    assert (tmp_path / "x.bin").read_bytes() == b"thesis"
    assert get(remote, tmp_path, checksum=SHA1, force=True).read_bytes() == BODY


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        (b"<html>sign in</html>", "is not gzip"),
        (gzip.compress(BODY)[:-5], "damaged gzip"),
        (b"", "is empty"),
    ],
)
def test_files_without_a_published_checksum_are_looked_into(remote, tmp_path, body, pattern):
    remote.files["/x.gz"] = body
    with pytest.raises(DataError, match=pattern):
        download.download(RemoteFile(remote.url + "/x.gz", "x.gz"), tmp_path)
    assert names(tmp_path) == []


def test_disk_too_small(remote, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DataError, match="free some or choose another folder"):
        get(remote, tmp_path)
    assert "x.bin" not in names(tmp_path)


def test_a_file_that_the_disk_cannot_hold(remote, tmp_path, monkeypatch):
    """Such as one of more than 4 GB, on a stick; that is no matter of the network."""
    usual = Path.open

    class Small(io.BytesIO):
        def write(self, data):
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    def opened(self, mode="r", *more, **options):
        return Small() if mode == "ab" else usual(self, mode, *more, **options)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(TopicmcError, match=r"x\.bin\.part: File too large$"):
        get(remote, tmp_path)
    assert len(remote.gets("x.bin")) == 1


def test_folder_that_is_a_file(remote, tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(TopicmcError, match="/f") as caught:
        get(remote, tmp_path / "f")
    assert caught.value.exit_status == 1, "the place is wrong, not the data"


SUMS = """da39a3ee5e6b4b0d3255bfef95601890afd80709  xxwiki-20260101-abstract.xml.gz
{sha1}  xxwiki-20260101-pages-articles.xml.bz2
da39a3ee5e6b4b0d3255bfef95601890afd80709  xxwiki-20260101-pages-articles-multistream.xml.bz2
"""


def test_wikipedia_names_its_dump(remote):
    sums = SUMS.format(sha1="1" * 40).encode()
    remote.files["/xxwiki/latest/xxwiki-latest-sha1sums.txt"] = sums
    remote.files["/xxwiki/20260101/xxwiki-20260101-sha1sums.txt"] = sums
    for date in ("latest", "20260101"):
        (file,) = catalogue.find("wikipedia", mirror=remote.url, language="xx", date=date).files
        assert file.url == f"{remote.url}/xxwiki/20260101/{file.name}"
        assert file.name == "xxwiki-20260101-pages-articles.xml.bz2"
        assert file.checksum == "sha1:" + "1" * 40
    remote.files["/xxwiki/20260101/xxwiki-20260101-sha1sums.txt"] = b"\x00\xff<html>"
    with pytest.raises(DataError, match="lists no pages-articles"):
        catalogue.find("wikipedia", mirror=remote.url, language="xx", date="20260101")
    remote.files["/xxwiki/20260101/xxwiki-20260101-sha1sums.txt"] = b"x" * (5 << 20)
    with pytest.raises(DataError, match="too large"):
        catalogue.find("wikipedia", mirror=remote.url, language="xx", date="20260101")
    with pytest.raises(TopicmcError, match="HTTP 404 .*--date"):
        catalogue.find("wikipedia", mirror=remote.url, language="yy")


@pytest.mark.parametrize(
    ("name", "options", "pattern"),
    [
        ("reuters", {}, "the corpora are kos, nips"),
        ("kos", {"mirror": "file:///etc"}, "begins with http"),
        ("wikipedia", {"language": "../en"}, "--language"),
        ("wikipedia", {"date": "yesterday"}, "--date yesterday"),
    ],
)
def test_what_cannot_be(name, options, pattern):
    with pytest.raises(UsageError, match=pattern):
        catalogue.find(name, **options)

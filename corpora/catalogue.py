"""The public corpora that can be fetched, where they lie, and under which licence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from topicmc.corpora.download import RemoteFile, read_small
from topicmc.errors import DataError, UsageError

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words"
WIKIMEDIA = "https://dumps.wikimedia.org"

_UCI_ABOUT = {
    "kos": "KOS blog entries: 3,430 documents, 6,906 words",
    "nips": "NIPS full papers: 1,500 documents, 12,419 words",
    "enron": "Enron e-mails: 39,861 documents, 28,102 words",
    "nytimes": "New York Times articles: 300,000 documents, 102,660 words",
    "pubmed": "PubMed abstracts: 8,200,000 documents, 141,043 words",
}
_UCI_LICENCE = (
    "CC BY 4.0; Newman, D. (2008), Bag of Words, UCI Machine Learning Repository, "
    "https://doi.org/10.24432/C5ZG6P"
)
_WIKIPEDIA_LICENCE = "CC BY-SA 4.0 and GFDL, text of Wikipedia's authors"
NAMES = (*_UCI_ABOUT, "wikipedia")


@dataclass(frozen=True)
class Collection:
    """One corpus: its files, which ``topicmc prepare`` reads, and what to know before."""

    name: str
    about: str
    licence: str
    files: tuple[RemoteFile, ...]


def find(
    name: str, *, mirror: str | None = None, language: str = "en", date: str = "latest"
) -> Collection:
    """A corpus by name; ``mirror`` replaces the address of its source.

    The files of a Wikipedia dump and their checksums are asked of the server. Raises UsageError
    for a name, language or date that cannot be, TopicmcError when the server does not answer.
    """
    if mirror is not None and not re.match(r"https?://[^/]", mirror):
        raise UsageError(f"--mirror {mirror}: give an address that begins with http:// or https://")
    if name == "wikipedia":
        return _wikipedia((mirror or WIKIMEDIA).rstrip("/"), language, date)
    if name not in _UCI_ABOUT:
        raise UsageError(f"{name}: the corpora are {', '.join(NAMES)}")
    for option, given, usual in (("language", language, "en"), ("date", date, "latest")):
        if given != usual:
            raise UsageError(f"--{option} {given}: only wikipedia has several; leave it out")
    base = (mirror or UCI).rstrip("/")
    files = (f"vocab.{name}.txt", f"docword.{name}.txt.gz")
    return Collection(
        name,
        f"UCI bag of words, {_UCI_ABOUT[name]}",
        _UCI_LICENCE,
        tuple(RemoteFile(f"{base}/{file}", file) for file in files),
    )


def _wikipedia(base: str, language: str, date: str) -> Collection:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", language):
        raise UsageError(f"--language {language}: give a Wikipedia's code, for instance en")
    if not re.fullmatch(r"latest|\d{8}", date):
        raise UsageError(f"--date {date}: give latest or the day of a dump as YYYYMMDD")
    wiki = language.replace("-", "_") + "wiki"
    sums = read_small(f"{base}/{wiki}/{date}/{wiki}-{date}-sha1sums.txt").decode("utf-8", "replace")
    name = rf"{wiki}-(\d{{8}})-pages-articles\.xml\.bz2"
    found = re.search(rf"^([0-9a-f]{{40}})\s+\*?({name})\s*$", sums, re.MULTILINE)
    if found is None:
        raise DataError(
            f"The dump of {wiki} of {date} lists no pages-articles.xml.bz2: it may be unfinished; "
            "try an earlier --date"
        )
    sha1, file, day = found.groups()
    return Collection(
        "wikipedia",
        f"Wikipedia in language {language!r}, articles as of {day}",
        _WIKIPEDIA_LICENCE,
        (RemoteFile(f"{base}/{wiki}/{day}/{file}", file, f"sha1:{sha1}"),),
    )

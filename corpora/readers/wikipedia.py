"""Wikipedia XML dumps (``*-pages-articles*.xml.bz2``, whole, multistream or split).

The rules are gensim's: its markup filter, its namespaces, its shortest article. Its
`gensim.corpora.WikiCorpus` itself (4.4) keeps an element of every page it has passed, takes Ctrl-C
for the end of the dump, and waits until then when a dump is cut short; so pages are parsed here,
and cleaned by the workers of `topicmc.corpora.parallel`.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from topicmc.corpora.patience import OutOfPatience, patience, seconds_for
from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.records import Record, RecordReader, read_day
from topicmc.corpora.streams import CutShortError, Stream
from topicmc.errors import DataError

_CHUNK = 1 << 16
# MediaWiki's own limit is 2 MiB a page; its XML may be somewhat longer.
_MAX_PAGE = 1 << 25


class Page(NamedTuple):
    title: str
    namespace: str
    redirect: bool
    text: str
    timestamp: str | None  # of the revision


def strip_markup(text: str) -> str | None:
    """By gensim's filter; None where its patterns come to no end, as they do in long runs of markup
    that nothing closes."""
    from gensim.corpora.wikicorpus import filter_wiki

    with suppress(OutOfPatience), patience(seconds_for(text)):
        return filter_wiki(text)
    return None


class WikipediaReader(RecordReader):
    """Articles; redirects, other namespaces, stubs of under 50 words and pages whose markup has no
    end are skipped and counted.

    A dump that ends too early is read as far as it goes: `Tally.cut` then says where that was.
    """

    unit = "page"
    min_tokens = 50  # as gensim's ARTICLE_MIN_WORDS
    plain = staticmethod(strip_markup)

    def records(self, tally: Tally) -> Iterator[Record]:
        from gensim.corpora.wikicorpus import IGNORED_NAMESPACES

        ignored = tuple(f"{name}:" for name in IGNORED_NAMESPACES)
        with Stream(self.path) as stream:
            for page in read_pages(stream, tally):
                tally.n_read += 1
                tally.row += 1
                tally.position = stream.position
                if page.namespace != "0" or page.title.startswith(ignored):
                    tally.passed_over["of other namespaces"] += 1
                elif page.redirect:
                    tally.passed_over["redirects"] += 1
                else:
                    yield self._record(page, tally)

    def _record(self, page: Page, tally: Tally) -> Record:
        title = page.title if self.fields.has_titles else ""
        time = None if self.fields.time is None else page.timestamp
        day = read_day(time, f"{self.path}, page {page.title!r}", tally)
        return Record(page.text, title, day, tally.row)


def read_pages(stream: Stream, tally: Tally) -> Iterator[Page]:
    """All pages of a dump, in bounded memory. DataError names the line of what is wrong."""
    parser: XMLPullParser = XMLPullParser(events=("start", "end"))
    pages = _Pages(stream.path)
    since_page = 0
    cut = None
    while cut is None:
        try:
            chunk = stream.read(_CHUNK)
        except CutShortError as error:
            chunk, cut = b"", str(error)
        try:
            parser.feed(chunk) if chunk else parser.close()
            found = list(pages.take(parser))
        except ParseError as error:
            if chunk or not pages.n_pages:
                raise DataError(
                    f"{stream.path}, line {error.position[0]}: the XML is broken or cut short "
                    f"({error}); fetch the dump again"
                ) from error
            cut = f"{stream.path} ends too early, at line {error.position[0]}"
            found = []
        yield from found
        since_page = 0 if found else since_page + len(chunk)
        if since_page > _MAX_PAGE:
            raise DataError(
                f"{stream.path}: a page of more than {_MAX_PAGE >> 20} MiB; it is not a dump of "
                "Wikipedia"
            )
        if not chunk:
            break
    if cut is not None:
        tally.cut = f"{cut}; read up to page {pages.n_pages:,} ({pages.last!r})"


class _Pages:
    """Takes pages out of a parser, and their elements out of its tree."""

    def __init__(self, path: Path) -> None:
        self.n_pages = 0
        self.last = ""
        self._path = path
        self._root: Element | None = None
        self._space = ""

    def take(self, parser: Any) -> Iterator[Page]:
        for event, element in parser.read_events():
            if self._root is None:
                self._root = element
                self._space = self._dump_space(element.tag)
            elif event == "end" and element.tag == self._space + "page":
                yield self._page(element)
                self._root.clear()

    def _dump_space(self, tag: str) -> str:
        space, brace, _ = tag.rpartition("}")
        if not space.startswith("{http://www.mediawiki.org/xml/export-"):
            raise DataError(f"{self._path} is not a MediaWiki dump of pages: check --format")
        return space + brace

    def _page(self, element: Element) -> Page:
        space = self._space
        title = element.findtext(f"{space}title")
        if title is None:
            raise DataError(
                f"{self._path} is not a MediaWiki dump of pages (page {self.n_pages + 1} has no "
                "title): check --format"
            )
        text = element.findtext(f"{space}revision/{space}text") or ""
        redirect = element.find(f"{space}redirect") is not None
        redirect = redirect or text[:32].lstrip().upper().startswith("#REDIRECT")
        self.n_pages += 1
        self.last = title[:60]
        namespace = element.findtext(f"{space}ns") or "0"
        timestamp = element.findtext(f"{space}revision/{space}timestamp")
        return Page(title, namespace, redirect, text, timestamp)


def wikipedia_extract() -> Path:
    """gensim's own dump of 106 English Wikipedia articles; DataError when gensim came without."""
    import gensim

    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    path = Path(gensim.__file__).parent / "test" / "test_data" / name
    if not path.is_file():
        raise DataError(f"{path} is missing: this gensim came without its Wikipedia extract")
    return path

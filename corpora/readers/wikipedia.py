"""Wikipedia XML dumps (``*-pages-articles*.xml.bz2``), by gensim's parser.

`gensim.corpora.WikiCorpus` itself swallows Ctrl-C and waits for ever when a dump is cut short, so
its parts are used: the same pages, the same markup filter, the same rules of what is an article,
with the workers of `topicmc.corpora.parallel`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import ParseError

from topicmc.corpora.readers import Tally
from topicmc.corpora.readers.batches import batches
from topicmc.corpora.streams import Stream

from topicmc.errors import DataError


def strip_markup(text: str) -> str:
    from gensim.corpora.wikicorpus import filter_wiki

    return filter_wiki(text)


class WikipediaReader:
    """Pages of the article namespace; redirects and stubs of under 50 words are skipped."""

    min_tokens = 50  # as gensim's ARTICLE_MIN_WORDS
    plain: Callable[[str], str] | None = staticmethod(strip_markup)

    def __init__(self, path: Path) -> None:
        self.path = path

    def texts(self, tally: Tally) -> Iterator[list[str]]:
        return batches(self._pages(tally))

    def _pages(self, tally: Tally) -> Iterator[str]:
        from gensim.corpora.wikicorpus import IGNORED_NAMESPACES, extract_pages

        ignored = tuple(f"{name}:" for name in IGNORED_NAMESPACES)
        with Stream(self.path) as stream:
            try:
                for title, text, _ in extract_pages(stream, filter_namespaces=("0",)):
                    tally.n_read += 1
                    tally.position = stream.position
                    yield "" if (title or "").startswith(ignored) else text
            except ParseError as error:
                raise DataError(
                    f"{self.path}, line {error.position[0]}: the XML is broken or cut short "
                    f"({error}); fetch the dump again."
                ) from error
            except (ValueError, AttributeError, StopIteration, RuntimeError) as error:
                raise DataError(
                    f"{self.path} is not a MediaWiki dump of pages ({str(error).strip()}): "
                    "check --format."
                ) from error


def wikipedia_extract() -> Path:
    """gensim's own dump of 106 English Wikipedia articles; DataError when gensim came without."""
    import gensim

    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    path = Path(gensim.__file__).parent / "test" / "test_data" / name
    if not path.is_file():
        raise DataError(f"{path} is missing: this gensim came without its Wikipedia extract.")
    return path

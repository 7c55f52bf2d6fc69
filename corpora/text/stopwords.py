"""Lists of stop words: our English one, those of other languages, and files."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from topicmc.corpora.streams import Stream, numbered_lines
from topicmc.corpora.text.cutting import normal
from topicmc.errors import DataError, UsageError
from topicmc.storage.files import is_file

_LONGEST = 7  # parts of what is one word, such as a phrase or a title of something
_PARTS = re.compile(r"[\s,;]+")
_REMARKS = ("#", "|", "//", "%", ";")
# gensim's list takes these for function words; they carry topics.
_CONTENT_WORDS = frozenset(
    "bill computer cry detail fire interest mill serious sincere system thick thin".split()  # noqa: SIM905
)
_WEB_WORDS = frozenset(["http", "https", "www", "html", "isbn"])
_CONTRACTIONS = """
    ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't mustn't
    needn't shan't shouldn't wasn't weren't won't wouldn't
    i'd i'll i'm i've you'd you'll you're you've he'd he'll he's she'd she'll she's it'd it'll it's
    we'd we'll we're we've they'd they'll they're they've
    could've might've must've should've would've
    here's how's let's that'd that'll that's there's what's when's where's who'd who'll who's why's
"""  # which gensim's list lacks
# The languages of stopwordsiso, and what they are called in English.
_LANGUAGES = """
    af:afrikaans ar:arabic bg:bulgarian bn:bengali br:breton ca:catalan cs:czech da:danish
    de:german el:greek en:english eo:esperanto es:spanish et:estonian eu:basque fa:persian
    fi:finnish fr:french ga:irish gl:galician gu:gujarati ha:hausa he:hebrew hi:hindi
    hr:croatian hu:hungarian hy:armenian id:indonesian it:italian ja:japanese ko:korean
    ku:kurdish la:latin lt:lithuanian lv:latvian mr:marathi ms:malay nl:dutch no:norwegian
    pl:polish pt:portuguese ro:romanian ru:russian sk:slovak sl:slovenian so:somali
    st:sotho sv:swedish sw:swahili th:thai tl:tagalog tr:turkish uk:ukrainian ur:urdu
    vi:vietnamese yo:yoruba zh:chinese zu:zulu
"""
LANGUAGES = dict(pair.split(":") for pair in _LANGUAGES.split())


def stop_words(choice: str) -> frozenset[str]:
    """The words of ``none``, of languages by their ISO 639-1 codes or English names, or of files of
    one word a line; several are joined by commas. UsageError for what is none of these, DataError
    for files of something else."""
    if choice == "none":
        return frozenset()
    names = [choice] if is_file(Path(choice)) else choice.split(",")
    return frozenset[str]().union(*(_listed(name.strip()) for name in names))


def named(choice: str) -> frozenset[str]:
    """The lists of a choice, each by one name."""
    return frozenset(_codes().get(name.strip().lower(), name.strip()) for name in choice.split(","))


def resolved(choice: str) -> str:
    """The same choice, whose files are found from any folder."""
    names = [choice] if is_file(Path(choice)) else choice.split(",")
    found = [_resolved(name.strip()) for name in names]
    return choice if len(found) > 1 and any("," in name for name in found) else ",".join(found)


def _resolved(name: str) -> str:
    is_known = name == "none" or name.lower() in _codes()
    return name if is_known or not is_file(Path(name)) else str(Path(name).resolve())


@cache
def _codes() -> dict[str, str]:
    return {name: code for code, language in LANGUAGES.items() for name in (code, language)}


def _listed(name: str) -> frozenset[str]:
    code = _codes().get(name.lower())
    if code == "en":
        from gensim.parsing.preprocessing import STOPWORDS

        curled = _CONTRACTIONS.replace("'", "\u2019")  # as words that are cut elsewhere have them
        contracted = frozenset(f"{_CONTRACTIONS} {curled}".split())
        return (frozenset(STOPWORDS) - _CONTENT_WORDS) | _WEB_WORDS | contracted
    if code is not None:
        import stopwordsiso

        words = list(stopwordsiso.stopwords(code))
    else:
        words = _of_file(name)
    return frozenset(map(normal, words)) - {""}


def _of_file(name: str) -> list[str]:
    path = Path(name)
    if not is_file(path):
        asked = name.lower()
        close = [asked[:2]] if len(asked) == 3 and asked[:2] in LANGUAGES else []
        close = close or get_close_matches(asked, _codes(), 1)
        known = "; did you mean " + close[0] + "?" if close else f" ({', '.join(LANGUAGES)})"
        raise UsageError(
            f"--stop-words {name}: there is no file {name}, and no such language{known}"
        )
    words = []
    with Stream(path) as stream:
        for number, line in numbered_lines(stream, "save it as UTF-8"):
            word = line.strip()
            if len(_PARTS.split(word)) > _LONGEST and not word.startswith(_REMARKS):
                raise DataError(f"{path}, line {number}: holds several words; give one a line")
            words.append(word)
    return words

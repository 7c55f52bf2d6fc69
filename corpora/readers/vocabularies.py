"""Which vocabulary sources of word ids have: that given, or that which lies beside them."""

from collections.abc import Sequence
from pathlib import Path

from topicmc.corpora.pipes import readable
from topicmc.corpora.readers.detect import bare_name
from topicmc.corpora.streams import SUFFIXES
from topicmc.corpora.text.vocabulary import read_vocabulary
from topicmc.errors import DataError, UsageError


def given_vocabulary(
    id_paths: Sequence[Path], vocab: Path | None, strict: bool = False
) -> tuple[str, list[str]] | None:
    """Its path and words; None when it is to be built from text."""
    if vocab is not None:
        with readable([vocab]) as [vocab]:
            if vocab in id_paths:
                raise UsageError(f"--vocab {vocab}: is a source, too; name a file of words")
            return str(vocab), read_vocabulary(vocab, strict)
    if not id_paths:
        return None
    beside = [find_vocabulary(path) for path in id_paths]
    words = read_vocabulary(beside[0], strict)
    for path in beside[1:]:
        if path != beside[0] and read_vocabulary(path) != words:
            raise DataError(
                f"{path} and {beside[0]} differ: sources of one corpus share one vocabulary; "
                "prepare them apart, or give it by --vocab"
            )
    return str(beside[0]), words


def find_vocabulary(path: Path) -> Path:
    """The vocabulary that lies beside a file of word ids; DataError when there is none."""
    bare = bare_name(path)
    stem = Path(bare).stem
    names = [bare.replace("docword", "vocab", 1)] if bare.startswith("docword") else []
    names += [f"vocab.{stem}.txt", f"{stem}.vocab", f"{stem}.vocab.txt", "vocab.txt"]
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (candidate := path.with_name(name + suffix)).is_file():
                return candidate
    raise DataError(
        f"{path} holds word ids and no vocabulary lies beside it ({names[0]} or vocab.txt): "
        "give a file with one word a line by --vocab"
    )

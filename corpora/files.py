"""Files written so that they are whole or absent."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from topicmc.errors import DataError, TopicmcError, UsageError, is_full
from topicmc.storage.arrays import GrowingArray
from topicmc.storage.files import check_elsewhere, checksum, raw_atomic_write, real_path, sync_tree
from topicmc.storage.staging import clear_up, draft_of, staged


class NpyWriter(GrowingArray):
    """A one-dimensional .npy file that grows; its header is set right when it is closed."""

    def __init__(self, path: Path, dtype: np.typing.DTypeLike) -> None:
        super().__init__(path.open("wb"), dtype)

    def close(self) -> None:
        self.finish()
        self._stream.close()

    def abandon(self) -> None:
        self._stream.close()


def sha256(path: Path) -> str:
    """The checksum of a file's bytes, in hexadecimal digits; DataError when it cannot be read."""
    return checksum(path).removeprefix("sha256:")


def write_text(path: Path, text: str) -> None:
    """Replaces path by text in UTF-8, at once. Raises OSError."""
    with raw_atomic_write(path) as stream:
        stream.write(text)


@contextmanager
def staging(output: Path, *, names: Sequence[str], force: bool) -> Iterator[Path]:
    """A temporary sibling folder that becomes ``output`` as `staged` has it. What exists by then is
    replaced only with ``force``, and only when it holds the first of ``names``, and nothing that
    none of these patterns fits."""
    output = real_path(output) if output.is_symlink() else output
    folder = draft_of(output)
    check_elsewhere(output)
    try:
        clear_up(output)
        _check_free(output, names, force)
        with staged(output, replace=force):
            yield folder
            sync_tree(folder)  # which takes minutes
            _check_free(output, names, force)
    except OSError as error:
        if is_full(error):
            raise DataError(
                f"No space left for {output}: free some or write to another disk with -o"
            ) from error
        named = Path(error.filename or folder)
        ours = folder in (named, *named.parents) or named in folder.parents
        why = error.strerror or error
        if ours:
            raise TopicmcError(f"{output}: cannot be written ({why})") from error
        raise DataError(f"{named}: cannot be used ({why})") from error


def _check_free(output: Path, names: Sequence[str], force: bool) -> None:
    if not output.exists() and not output.is_symlink():
        return
    if output.is_dir() and not any(output.iterdir()):
        return
    if not (output / names[0]).is_file():
        raise UsageError(f"{output} exists and is not a corpus: choose another name with -o")
    if not force:
        raise UsageError(f"{output} exists: choose another name with -o, or replace it by --force")
    for name in sorted(path.name for path in output.iterdir()):
        if not any(fnmatch(name, pattern) for pattern in names):
            raise UsageError(
                f"{output}: holds {name}, which is no part of a corpus and would be lost: move it "
                "elsewhere, or choose another name with -o"
            )

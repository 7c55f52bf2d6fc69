"""Errors meant for people: each carries one sentence, without a full stop, that says what, where,
and the way out."""

import errno
import traceback


class TopicmcError(Exception):
    """Base of all errors that topicmc raises on purpose; the command line exits with its status."""

    exit_status = 1


class UsageError(TopicmcError):
    """An option or argument that cannot be honoured (exit status 2)."""

    exit_status = 2


class DataError(TopicmcError):
    """A file whose content is wrong, missing or damaged (exit status 3)."""

    exit_status = 3


class DivergedError(TopicmcError):
    """The chain left the region where its numbers mean anything (exit status 4)."""

    exit_status = 4


def is_full(error: OSError) -> bool:
    """Whether a disk, or what a user may have of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def of_kernel_cache(error: BaseException) -> DataError | None:
    """What is to be said of an error in numba's cache of compiled kernels: a crash may have left
    half of a file there, or its disk is full. None for any other error."""
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return None  # signals, and a lack of memory, may come anywhere
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.endswith("numba/core/caching.py"):
            place = getattr(frame.f_locals.get("self"), "cache_path", None)
            why = getattr(error, "strerror", None) or str(error).split("\n")[-1]
            return place and DataError(
                f"{place}: compiled kernels cannot be read or kept there ({why}); delete that"
                " folder, which is made anew, or free space on its disk"
            )
    return None


def describe(error: BaseException) -> tuple[str, int]:
    """The message for people, and the exit status, of an exception. The message is a sentence of a
    TopicmcError, and where the system refuses a file or memory; else a traceback. The status is the
    error's, SystemExit's own, 130 for KeyboardInterrupt, 3 where a disk is full, else 1."""
    error = of_kernel_cache(error) or error
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return "", error.code or 0
        return str(error.code), 1
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, TopicmcError):
        return f"Error: {error}", error.exit_status
    if isinstance(error, MemoryError):
        return f"Error: out of memory ({error}); use fewer topics or words", 1
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"Error: {where}{error.strerror or error}", 3 if is_full(error) else 1
    return "".join(traceback.format_exception(error)).rstrip(), 1

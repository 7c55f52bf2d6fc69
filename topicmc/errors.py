"""Errors meant for people: each carries one sentence, without a full stop, that says what, where,
and the way out."""

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


def describe(error: BaseException) -> tuple[str, int]:
    """The message for people, and the exit status, of an exception. The message is a sentence of a
    TopicmcError, and where the system refuses a file or memory; else a traceback. The status is the
    error's, SystemExit's own, 130 for KeyboardInterrupt, else 1."""
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
        return f"Error: {where}{error.strerror or error}", 1
    return "".join(traceback.format_exception(error)).rstrip(), 1

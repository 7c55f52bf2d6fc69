"""Errors meant for people: each carries one sentence that says what, where, and the way out."""


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

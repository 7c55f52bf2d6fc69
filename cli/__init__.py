"""The command line: commands parse, call and print; what they call does the work.

Each command lives in a module of its own that is imported only when it runs, so that
``topicmc --help`` answers at once.
"""

from __future__ import annotations

import importlib
import io
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from topicmc.errors import TopicmcError, describe, of_kernel_cache
from topicmc.host.interrupts import heard, unwound
from topicmc.host.version import VERSION
from topicmc.storage.fields import visible

# name → (module, one line of help); the help is repeated here so that listing imports nothing.
COMMANDS = {
    "fetch": ("fetch", "Download a public corpus."),
    "prepare": ("prepare", "Turn text or counts into a corpus that training reads."),
    "corpus": ("corpus", "Look at prepared corpora, verify, merge and extend them."),
    "train": ("train", "Train topics, or go on training."),
    "evaluate": ("evaluate", "Score a run by held-out perplexity; say whether it has converged."),
    "compare": ("compare", "Compare runs, and other systems' topics."),
    "choose": ("choose", "Choose the number of topics: train with several, and compare."),
    "topics": ("topics", "Show the topics of a run."),
    "effects": ("effects", "Show whether topics depend on a column of the documents, or time."),
    "infer": ("infer", "Write the topic mix of each document, new or trained on."),
    "edit": ("edit", "Name, merge, drop and group topics without training anew."),
    "report": ("report", "Write a page to explore the topics of runs."),
    "export": ("export", "Write the topics of a run in other formats."),
    "factors": ("factors", "Bayesian matrix factorisation: ratings of items by users."),
    "doctor": ("doctor", "Versions, cores, MPI, kernel cache: what a bug report needs."),
}


_FILES = 1 << 16  # that may be open


class ClosedPipe(Exception):
    """Whoever read the output has closed it."""


@contextmanager
def _naming_failures() -> Iterator[None]:
    """A closed pipe, of which click would make a plain failure; what numba says at the import of a
    kernel where no folder can keep what is compiled; and failures of that folder, such as EOFError,
    of which click would make a Ctrl-C."""
    try:
        yield
    except BrokenPipeError:
        raise ClosedPipe from None
    except Exception as error:
        if isinstance(error, RuntimeError) and "no locator available" in str(error):
            raise TopicmcError(
                "compiled kernels cannot be kept: neither the folder of the package nor one in the"
                " home folder can be written; set NUMBA_CACHE_DIR to a folder that can"
            ) from error
        told = of_kernel_cache(error)
        if told is not None:
            raise told from error
        raise


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _naming_failures():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _naming_failures():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"topicmc.cli.{COMMANDS[cmd_name][0]}")
        return getattr(module, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {close[0]}?" if close else "; see topicmc --help"
            ctx.fail(f"there is no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="topicmc")
def topicmc() -> None:
    """Topic models of large corpora, by Markov chain Monte Carlo.

    \b
    topicmc train                       topics of the built-in Wikipedia extract
    topicmc prepare SOURCE -o CORPUS    read your own text or counts
    topicmc train CORPUS -o RUN         train on them
    topicmc topics RUN                  see what came out
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 failure, 2 usage, 3 bad data, 4 diverged, 130
    interrupted, 141 when whoever reads the output has closed it, 129 ended by SIGHUP, 143 by
    SIGTERM."""
    _prepare_streams()
    _allow_many_files()
    try:
        with heard(), unwound():  # nothing half-written is left behind
            topicmc.main(args=arguments, prog_name="topicmc", standalone_mode=False)
    except click.ClickException as error:
        error.message = visible(error.message)  # type: ignore[misc]  # of a command line, too
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        # Threads that still read a file are waited for; a further Ctrl-C ends that without a
        # traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except (TopicmcError, MemoryError, OSError) as error:
        message, status = describe(error)
        click.echo(visible(message, keep=""), err=True)
        sys.exit(status)
    except ClosedPipe:
        # Whoever read has enough: the status is that of tools which SIGPIPE ends. Python would
        # complain once more when it flushes what is left.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(128 + signal.SIGPIPE)


def _prepare_streams() -> None:
    """What is printed may go nowhere, and hold what the terminal cannot show, such as the name of a
    file that is no UTF-8."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever called
            mode = "r" if name == "stdin" else "w"
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)
        elif name == "stdout" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _allow_many_files() -> None:
    """As a corpus of many shards has them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if 0 <= soft < most:
        with suppress(OSError, ValueError):  # of systems that allow fewer than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

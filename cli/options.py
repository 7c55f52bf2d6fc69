"""Options that several commands share."""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicmc.cli.printing import note
from topicmc.errors import UsageError
from topicmc.storage.fields import UNSHOWN

if TYPE_CHECKING:
    from topicmc.kernels.threads import Threads
    from topicmc.models.factors.run import FactorRun
    from topicmc.models.lda.run import TopicRun
    from topicmc.models.mixture.run import MixtureRun

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")
threads_option = click.option(
    "--threads", type=click.IntRange(1, 1024), default=None, help="Threads (all cores)."
)
corpus_option = click.option(
    "--corpus", type=click.Path(path_type=Path), help="Where the corpus of RUN lies now."
)
run_argument = click.argument("run", type=click.Path(path_type=Path))
resume_option = click.option(
    "--resume", is_flag=True, help="Go on with the run from its last checkpoint."
)
progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "plain", "json", "none"]),
    default="auto",
    help="How progress is shown.",
)
transport_option = click.option(
    "--transport",
    type=click.Choice(["auto", "mpi", "local"]),
    default="auto",
    help="How workers talk: MPI, or all in one process.",
)


def setting(flag: str, type: Any, help: str, **more: Any) -> Any:
    """An option that fills a setting of a run; None means that it was not given."""
    return click.option(flag, type=type, default=None, help=help, **more)


def quote_option(usual: str) -> Callable[[Any], Any]:
    """``--quote``, which is ``usual`` unless it is given."""
    told = f"What encloses fields of CSV [{usual}]; none: quotes are text."
    return click.option("--quote", metavar="C|none", help=told)


class Headed(click.Command):
    """A command whose options are listed under headings, in the order that people need them.

    Args:
        headings: names of parameters by heading; what is under none comes last.
    """

    def __init__(self, *args: Any, headings: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.headings = headings

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        under = {name for names in self.headings.values() for name in names}
        rest = [str(name) for name in shown if name not in under]
        for heading, names in {**self.headings, "Other": rest}.items():
            with formatter.section(heading):
                formatter.write_dl([record for name in names if (record := shown.get(name))])


class Listing(click.Group):
    """A group that lists its commands with the first sentence of their help, not cut short."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(999))
                    for name in sorted(self.commands)
                ]
            )


class Number(click.ParamType):
    """A number or the word ``auto``."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.name = "N" if kind is int else "F"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "auto" or isinstance(value, self.kind):
            return value
        try:
            return self.kind(value)
        except ValueError:
            wanted = "a whole number" if self.kind is int else "a number"
            self.fail(f"{value!r} is neither {wanted} nor auto", param, ctx)


class NumberRange(click.FloatRange):
    """Numbers from here to there; nan, which no comparison refuses, is none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class NumberOrAll(click.ParamType):
    """A number from 1 on, or the word all."""

    name = "n|all"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if value == "all":
            return "all"
        if not re.fullmatch(r"\d{1,18}", str(value), re.ASCII) or int(value) < 1:
            self.fail(f"{value!r} is neither a number from 1 on nor all", param, ctx)
        return int(value)


def rereading_options(command: Any) -> Any:
    """How commands read documents that are to fit to a corpus: as it was read, unless told."""
    named = "NAME|none"
    options = (
        click.option("--format", default="auto", help="Format of the sources, as in prepare."),
        click.option(
            "--vocab",
            type=click.Path(path_type=Path),
            help="Vocabulary of SOURCES of word ids.",
        ),
        click.option("--field", metavar="NAME", help="Field of the text [as prepared, or text]."),
        click.option("--title", metavar=named, help="Field of the title [as prepared, or title]."),
        click.option("--id", metavar=named, help="Field or column of the id [as prepared]."),
        click.option(
            "--keep",
            multiple=True,
            metavar="NAME,…|all|none",
            help="Further fields to carry along [as prepared].",
        ),
        click.option(
            "--delimiter",
            metavar="C",
            help="Separator of CSV columns [from the header, or as prepared].",
        ),
        click.option(
            "--encoding", metavar="NAME", help="Encoding of text [utf-8, or as prepared]."
        ),
        click.option("--tokens", metavar="NAME", help="Field of lists of words [as prepared]."),
        click.option("--tokenizer", metavar="MODULE:FUNCTION", help="Cuts texts, as in prepare."),
    )
    return reduce(lambda done, option: option(done), reversed(options), command)


def columns_of(keep: Sequence[str]) -> tuple[str, ...] | None:
    """The fields that --keep asks for; None where it was not given."""
    if not keep:
        return None
    return () if tuple(keep) == ("none",) else names_of(keep)


def names_of(lists: Sequence[str]) -> tuple[str, ...]:
    """The names in lists with commas between them."""
    names = [name.strip() for text in lists for name in text.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


class _Output(click.Path):
    """A path that shells complete, at which nobody looks here, as click itself would: see
    `topicmc.cli.train._model`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path(value)


def output_option(what: str, required: bool = True) -> Callable[[Any], Any]:
    """``-o PATH``."""
    return click.option("-o", "--output", type=_Output(), required=required, help=what)


def refuse(options: Mapping[str, object], why: str) -> None:
    """UsageError for the first of some options, by their names, that was given: whose value is
    not empty."""
    for name, value in options.items():
        if value is not None and value is not False and value not in ((), ""):
            raise UsageError(f"{name} {why}; leave it out")


def threads_for(asked: int | None) -> Threads:
    """As many as ``--threads`` asks for, or one for each core."""
    from topicmc.host.machine import available_cores
    from topicmc.kernels.threads import Threads

    return Threads(asked or available_cores())


def checked_alpha(alpha: float | None) -> float:
    """``--alpha`` of ``--topics-file``; UsageError where it is not given, or can be no prior."""
    from topicmc.models.lda.settings import LEAST_PRIOR

    if alpha is None or not LEAST_PRIOR <= alpha < math.inf:
        raise UsageError(
            f"--topics-file needs --alpha F, from {LEAST_PRIOR:g}, the prior of the topic mix"
        )
    return alpha


def print_json(value: Any) -> None:
    """One JSON object on stdout; in ASCII where that is not UTF-8, which JSON is."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    text = json.dumps(value, ensure_ascii=not is_utf8)
    if UNSHOWN.search(text):  # as JSON may have it, and a terminal obeys it
        text = json.dumps(value)
    click.echo(text)


def note_progress(runs: Sequence[TopicRun]) -> None:
    """Notes on stderr which runs are unfinished or have no posterior sample yet."""
    from topicmc.models.lda.progress import remarks

    for run in runs:
        note(*remarks(run))


def note_reached(runs: Sequence[MixtureRun | FactorRun]) -> None:
    """As `note_progress`, of runs of another model."""
    from topicmc.engine.progress import remarks

    for run in runs:
        note(*remarks(run, run.reached()))


def check_topics(numbers: Sequence[int], run: TopicRun) -> None:
    """UsageError for the first number of ``--topic`` that a run or view has no topic of."""
    for number in numbers:
        if number not in run.numbers:
            why = f"the topics are 0 to {run.n_topics - 1}"
            raise UsageError(f"--topic {number}: {run.view.why_not(number) if run.view else why}")

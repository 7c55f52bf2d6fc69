"""``topicmc doctor``."""

from __future__ import annotations

import io
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from itertools import chain, product
from pathlib import Path

import click

from topicmc.cli.options import json_option, print_json
from topicmc.samplers.registry import SAMPLERS

# They use the kernels of most runs, in a folder {}. Few topics and many have kernels of their own,
# and so have more than 2,048 documents.
_COMMANDS = (
    "prepare {}/texts.txt -o {}/corpus",
    *(
        f"train {{}}/corpus -o {{}}/{sampler} --sampler {sampler} --learn both --updates 40"
        " --batch-size 20 --topics 5"
        for sampler in ("adlda", *SAMPLERS)
    ),
    "train {}/corpus -o {}/many --sampler adlda --topics 1000 --updates 2",
    "train {}/corpus -o {}/few --sampler scir --topics 1000 --updates 2 --batch-size 20",
    *(
        f"train {{}}/corpus -o {{}}/large-{topics} --sampler scir --topics {topics} --updates 2"
        " --batch-size 1000"
        for topics in (5, 1000)
    ),
    *(
        f"train {{}}/corpus -o {{}}/kept-{topics} --sampler scir --remember --learn both"
        f" --start-sweeps 2 --epochs 4 --topics {topics}"
        for topics in (5, 1000)
    ),
    "evaluate {}/adlda",
    "compare {}/adlda {}/scir",
    "topics {}/adlda",
    "infer {}/adlda {}/texts.txt -o {}/mixes.csv",
    "report {}/adlda -o {}/report.html",
    "train {}/corpus -o {}/mixture --model mixture --updates 60 --batch-size 100",
    "evaluate {}/mixture",
    *(
        f"factors train {{}}/ratings.csv -o {{}}/{sampler}-factors --sampler {sampler} --epochs 4"
        for sampler in ("gibbs", "sgld")
    ),
)


@click.command()
@click.option("--warm", is_flag=True, help="Compile now the kernels that most runs need.")
@json_option
def doctor(warm: bool, as_json: bool) -> None:
    """Versions, cores, MPI, kernel cache: what a bug report needs."""
    from topicmc.host.doctor import diagnose

    seconds = _warm() if warm else None
    facts = diagnose()
    if seconds is not None:
        facts["compiled in"] = f"{seconds:.0f} s"
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        click.echo(f"{name:<16} {value}")


def _warm() -> float:
    """Runs the commands that need kernels on a few made-up documents; returns the seconds."""
    from topicmc.cli import topicmc

    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="topicmc-") as folder:
        words = ["".join(letters) for letters in product("abcdefghij", "klmnopqrs", "t")]
        texts = (" ".join(words[i * j % len(words)] for j in range(20)) for i in range(1, 4000))
        Path(folder, "texts.txt").write_text("\n".join(texts))
        rows = (f"{i % 40},{i % 37},{i % 5}" for i in range(1480))
        Path(folder, "ratings.csv").write_text("\n".join(chain(["user,item,rating"], rows)))
        for command in _COMMANDS:
            if sys.stderr.isatty():
                click.echo(
                    f"\r\033[Kcompiling for topicmc {command.split()[0]}", err=True, nl=False
                )
            arguments = [word.replace("{}", folder) for word in command.split()]
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                try:
                    topicmc.main(args=arguments, prog_name="topicmc", standalone_mode=False)
                except SystemExit as end:  # as training ends
                    if end.code:
                        raise
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    return time.perf_counter() - start

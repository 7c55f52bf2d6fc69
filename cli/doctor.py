"""``topicmc doctor``."""

from __future__ import annotations

import click

from topicmc.cli.options import json_option, print_json


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Versions, cores, MPI, kernel cache: what a bug report needs."""
    from topicmc.host.doctor import diagnose

    facts = diagnose()
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        click.echo(f"{name:<16} {value}")

"""``topicmc factors``: matrix factorisation of ratings."""

from __future__ import annotations

import click

from topicmc.cli.factors.read import evaluate, export, predict
from topicmc.cli.factors.train import train
from topicmc.cli.options import Listing


@click.group(cls=Listing)
def factors() -> None:
    """Bayesian matrix factorisation: ratings of items by users.

    \b
    topicmc factors train RATINGS -o RUN       sample users, items and their precisions
    topicmc factors evaluate RUN               the error on ratings that were held out
    topicmc factors predict RUN PAIRS          ratings to come, with standard deviations
    topicmc factors export RUN --to npz -o F   the samples, for other programs
    """


for command in (train, evaluate, predict, export):
    factors.add_command(command)

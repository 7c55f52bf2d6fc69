"""``topicmc factors evaluate``, ``predict`` and ``export``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicmc.cli.factors.columns import checked_delimiter, column_options
from topicmc.cli.options import (
    force_option,
    json_option,
    note_reached,
    output_option,
    print_json,
    refuse,
    run_argument,
)
from topicmc.cli.printing import echo, note, show_reading
from topicmc.cli.tables import print_convergence, print_score

if TYPE_CHECKING:
    from topicmc.models.factors.run import FactorRun
    from topicmc.models.factors.scoring import Score
    from topicmc.posterior.verdict import Convergence


def _note_reached(run: FactorRun) -> None:
    """Notes on stderr that a run has not ended, or has no posterior sample."""
    from topicmc.engine.progress import unfinished

    if run.config().sampler != "sgd":
        note_reached([run])
        return
    note(*unfinished(run, run.reached()))
    if run.is_starting():
        note(f"{run.path} has no samples: the mode that sgd has come to stands in for one")


@click.command()
@run_argument
@click.argument("ratings", required=False, type=click.Path(path_type=Path))
@column_options(rated=True)
@json_option
def evaluate(
    run: Path,
    ratings: Path | None,
    user: str | None,
    item: str | None,
    rating: str | None,
    delimiter: str | None,
    as_json: bool,
) -> None:
    """The error of RUN on its held-out ratings, or on RATINGS; and whether it has converged."""
    from topicmc.corpora.pipes import readable
    from topicmc.models.factors.rating_columns import Columns
    from topicmc.models.factors.rating_files import read_ratings
    from topicmc.models.factors.run import FactorRun
    from topicmc.models.factors.scoring import score

    opened = FactorRun.open(run)
    _note_reached(opened)
    table = None
    if ratings is None:
        asked = {"--user": user, "--item": item, "--rating": rating, "--delimiter": delimiter}
        refuse(asked, "says how RATINGS are read, and none are named")
    else:
        with readable([ratings]) as sources:
            table = read_ratings(
                sources[0],
                Columns(user, item, rating),
                delimiter=checked_delimiter(delimiter),
                duplicates="keep",
            )
    show_reading()
    found = score(opened, table)
    diagnosis = _diagnosis(opened)
    if as_json:
        print_json({**asdict(found), **asdict(diagnosis)})
        return
    _print_score(found)
    print_convergence(diagnosis)


def _diagnosis(run: FactorRun) -> Convergence:
    """Whether the chains of a run have converged; of sgd none samples."""
    from topicmc.engine.progress import advice_to_train
    from topicmc.posterior.verdict import Convergence, convergence

    if run.config().sampler == "sgd":
        return Convergence({}, {}, None, "sgd finds a mode: only chains that sample converge.")
    return convergence(run, advice=advice_to_train([run], [run.reached()]))


def _print_score(found: Score) -> None:
    if found.rmse is None:
        echo("RMSE                  none: no ratings are held out (train with --heldout F)")
    else:
        print_score("RMSE", found.rmse, found.rmse_averaged, found.samples)
        if len(found.rmse_of_chains) > 1:
            of = ", ".join(f"{value:.4f}" for value in found.rmse_of_chains)
            echo(f"of each chain         {of}")
        echo(f"of the mean rating    {found.rmse_of_mean:.4f}")
        if found.coverage is not None:
            echo(f"in 90% intervals      {found.coverage:.1%}")
    echo(f"ratings scored        {found.ratings:,}")
    if found.unknown:
        echo(f"of unknown rows       {found.unknown:,}")


@click.command()
@run_argument
@click.argument("pairs", type=click.Path(path_type=Path))
@output_option("File to write, .csv or .parquet [standard output].", required=False)
@column_options(rated=False)
@force_option
@json_option
def predict(
    run: Path,
    pairs: Path,
    output: Path | None,
    user: str | None,
    item: str | None,
    delimiter: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Ratings of the PAIRS of a file: a mean and a standard deviation each.

    The deviation is that of a rating to come: it holds what is not known of user and item, and the
    noise of ratings. Users and items that RUN was not trained on are drawn from the prior.
    """
    from topicmc.models.factors.pair_files import (
        SUFFIXES,
        predictions_of,
        write_csv,
        write_predictions,
    )
    from topicmc.models.factors.rating_columns import Columns
    from topicmc.models.factors.run import FactorRun
    from topicmc.storage.files import check_new_file, check_no_source

    if output is None:
        refuse({"--force": force}, "is for the file that -o names")
    else:
        check_new_file(output, SUFFIXES, force)
        check_no_source(output, [pairs])
    opened = FactorRun.open(run)
    if output is not None:
        opened.check_no_part(output)
    _note_reached(opened)
    columns = Columns(user, item)
    show_reading()
    found = predictions_of(opened, pairs, columns, delimiter=checked_delimiter(delimiter))
    if found.unknown:
        note(
            f"{found.unknown:,} of {len(found):,} pairs have a user or an item that {run} was not"
            " trained on; they are predicted from the prior"
        )
    told = {"pairs": len(found), "unknown": found.unknown}
    if output is not None:
        write_predictions(found, output, force)
        if as_json:
            print_json({**told, "output": str(output)})
        else:
            echo(f"Wrote {len(found):,} predictions to {output}", err=True)
    elif as_json:
        print_json({**told, "predictions": found.rows()})
    else:
        text = StringIO()
        write_csv(found, text)
        if sys.stdout.isatty():  # which obeys what ids may hold
            echo(text.getvalue(), nl=False)
        else:
            click.echo(text.getvalue().encode(), nl=False)  # UTF-8, as the file would be


@click.command()
@run_argument
@click.option("--to", type=click.Choice(("npz", "csv")), required=True, help="The format.")
@output_option("What to write: a file (npz) or a folder (csv).")
@force_option
@json_option
def export(run: Path, to: str, output: Path, force: bool, as_json: bool) -> None:
    """The kept samples of RUN for other programs.

    \b
    npz   all samples: rating = mean + user_factors·item_factors + user_biases + item_biases
    csv   users.csv and items.csv: ids, ratings, and biases with standard deviations
    """
    from topicmc.export.factors import write_csv, write_npz
    from topicmc.export.places import check_free, staging
    from topicmc.models.factors.run import FactorRun

    files = ("users.csv", "items.csv") if to == "csv" else ()
    check_free(output, to, files, force)
    opened = FactorRun.open(run)
    opened.check_no_part(output)
    opened.states_to_read()
    _note_reached(opened)
    show_reading()
    with staging(output, is_folder=to == "csv") as place:
        (write_csv if to == "csv" else write_npz)(opened, place)
    if as_json:
        print_json({"run": str(run), "format": to, "output": str(output)})
    else:
        echo(f"Wrote {output}", err=True)

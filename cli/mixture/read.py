"""``topicmc topics`` and ``evaluate`` of a mixture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topicmc.cli.options import note_reached, print_json, threads_for
from topicmc.cli.printing import echo
from topicmc.cli.tables import bar, print_convergence, print_score, print_table

if TYPE_CHECKING:
    from topicmc.models.mixture.reading import Groups, Number
    from topicmc.models.mixture.run import MixtureRun

_ROWS = 20  # of the table of numbers of groups, at most


def topics(path: Path, n_words: int, as_json: bool) -> None:
    """``topicmc topics``."""
    from topicmc.models.mixture.matching import central
    from topicmc.models.mixture.reading import numbers_of_groups
    from topicmc.models.mixture.run import MixtureRun

    run = MixtureRun.open(path)
    note_reached([run])
    groups, words = central(run), run.vocabulary()
    n_groups = len(groups.sizes)
    if as_json:
        print_json(
            {
                "topics": [_group(run, groups, k, words, n_words) for k in range(n_groups)],
                "others": groups.left,
                "concentration": groups.alpha,
                "groups": [asdict(number) for number in numbers_of_groups(run)],
            }
        )
        return
    print_groups(run, n_words, groups)


def _group(
    run: MixtureRun, groups: Groups, k: int, words: list[str], n_words: int
) -> dict[str, Any]:
    first = np.argsort(-groups.phi[k], kind="stable")[:n_words]
    return {
        "topic": k,
        **({"name": run.labels[k]} if k in run.labels else {}),
        "documents": int(groups.sizes[k]),
        "weight": float(groups.weights[k]),
        "words": [words[w] for w in first],
        "probabilities": [float(groups.phi[k, w]) for w in first],
    }


def print_groups(run: MixtureRun, n_words: int, groups: Groups | None = None) -> None:
    """The groups of the central sample, and how many there are, as a table and a plot."""
    from topicmc.models.mixture.matching import central
    from topicmc.models.mixture.reading import numbers_of_groups

    def named(group: dict[str, Any]) -> str:
        return f"{group['name']}: " if "name" in group else ""

    groups, words = groups or central(run), run.vocabulary()
    told = [_group(run, groups, k, words, n_words) for k in range(len(groups.sizes))]
    rows = [
        (f"{k}", f"{g['documents']:,}", f"{g['weight']:.2%}", named(g) + " ".join(g["words"]))
        for k, g in enumerate(told)
    ]
    print_table(("group", "documents", "weight", "words"), rows, last_left=True)
    of = "state of the start" if run.is_starting() else "kept sample"
    echo(
        f"\nThe groups of the {of} that is nearest to all; {groups.left:.2%} of the weight is of"
        " groups without documents."
    )
    print_numbers(numbers_of_groups(run))


def print_numbers(numbers: list[Number]) -> None:
    """The posterior of the number of groups, if there is one, after an empty line: neighbouring
    numbers in one row where there are many."""
    if not numbers:
        return
    echo()
    step = -(-len(numbers) // _ROWS)
    parts = [numbers[i : i + step] for i in range(0, len(numbers), step)]
    shares = [sum(number.probability for number in part) for part in parts]
    highest = max(shares)
    rows = []
    for part, share in zip(parts, shares, strict=True):
        first, last = part[0].groups, part[-1].groups
        label = f"{first}" if first == last else f"{first} to {last}"
        rows.append((label, f"{share:.3f}", bar(share / highest)))
    print_table(("number of groups", "probability", ""), rows, last_left=True)


def evaluate(path: Path, corpus: Path | None, threads: int | None, as_json: bool) -> None:
    """``topicmc evaluate``."""
    from topicmc.corpora import Corpus
    from topicmc.corpora.of_runs import open_corpus
    from topicmc.engine.progress import advice_to_train
    from topicmc.models.mixture.reading import numbers_of_groups, score
    from topicmc.models.mixture.run import MixtureRun
    from topicmc.posterior.verdict import convergence

    run = MixtureRun.open(path)
    note_reached([run])
    documents = Corpus.open(corpus) if corpus is not None else open_corpus(run)
    found = score(run, documents, threads_for(threads))
    numbers = numbers_of_groups(run)
    diagnosis = convergence(run, advice=advice_to_train([run], [run.reached()]))
    if as_json:
        groups = [asdict(number) for number in numbers]
        print_json({**asdict(found), "groups": groups, **asdict(diagnosis)})
        return
    if found.nats_per_document is None:
        echo("nats a document       none: no documents are held out (topicmc prepare)")
    else:
        scores = found.nats_per_document, found.nats_per_document_averaged
        print_score("nats a document", *scores, found.samples)
        if found.nats_per_token is not None:
            echo(f"nats a token          {found.nats_per_token:.4f}")
        echo(f"documents scored      {found.documents:,}, {found.tokens:,} tokens")
        if found.unknown_documents:
            echo(f"of unknown words      {found.unknown_documents:,} documents, left out")
        if found.unknown_words:
            echo(f"unknown words         {found.unknown_words:,}")
    print_numbers(numbers)
    print_convergence(diagnosis)

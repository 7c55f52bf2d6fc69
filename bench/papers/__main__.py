"""Figures of the papers, made again.

    python bench/papers ahn-2 baker-5.2.1 baker-5.3.1 -o FOLDER [--replicates 100]
    python bench/papers ahn-7 baker-3.5.5 baker-5.6 --corpus CORPUS -o FOLDER
    python bench/papers baker-5.5.1-a --corpus CORPUS -o FOLDER [--replicates 5]
    python bench/papers baker-5.5.1-b --data MSWEB -o FOLDER [--replicates 5]

MSWEB holds the anonymous web data of Microsoft (UCI, anonymous-msweb.data and .test).

Each writes FIGURE.json, with what was measured and by what, and FIGURE.png, and prints what the
paper states, what was found, and whether the statement holds. docs/reproduction.md shows them.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).parents[1]))
import quiet
from papers import (
    averaging_figure,
    balance_figure,
    estimates_figure,
    gaussian_figure,
    minibatches,
    mixture_figure,
    natural_figure,
    simplex_figures,
)

from topicmc.storage.files import write_json

FIGURES = {
    "ahn-2": gaussian_figure.demonstration,
    "ahn-3.2.3": averaging_figure.widths,
    "ahn-7": balance_figure.by_slowdown,
    "baker-3.5.5": natural_figure.by_documents,
    "baker-5.2.1": simplex_figures.boxplots,
    "baker-5.3.1": simplex_figures.by_batch_size,
    "baker-5.5.1-a": minibatches.by_updates,
    "baker-5.5.1-b": mixture_figure.by_updates,
    "baker-5.6": estimates_figure.by_estimate,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("figures", nargs="+", choices=FIGURES)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder")
    parser.add_argument(
        "--replicates", type=int, help="seeds [100 of the simplex, 5 of topics and mixtures]"
    )
    parser.add_argument("--corpus", type=Path, help="a prepared corpus, for figures of topics")
    parser.add_argument("--data", type=Path, help="folder of the web data, for mixtures")
    parser.add_argument("--updates", type=int, help="fewer than published, to try it")
    quiet.add_option(parser)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.figures:
        results, verdict = FIGURES[name](options, options.output / f"{name}.png")
        made_by = {package: version(package) for package in ("topicmc", "numpy", "numba")}
        made_by |= {"python": platform.python_version(), "system": platform.platform()}
        record = {"figure": name, "made by": made_by, "machine": quiet.machine()}
        record["date"] = time.strftime("%Y-%m-%d")
        record |= {"verdict": verdict, **results}
        write_json(options.output / f"{name}.json", record)
        print(f"{name}: {verdict}", flush=True)


if __name__ == "__main__":
    main()

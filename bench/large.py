"""A large corpus: perplexity against training time, of minibatches by their start and of AD-LDA.

    python bench/generate.py -o FOLDER --seed 3
    python bench/large.py FOLDER OUT.json [--ways stream subset adlda grow] [--seconds 150]
        [--seeds 1 2]

FOLDER is what `generate.py` has written, 730 million tokens unless told otherwise. `--sampler scir`
with `--start stream` and `subset`, and `--sampler adlda` with `--start subset` and `grow`, train in
turn, with K and α = 0.1, β = 0.01 given. Told is the held-out perplexity of the newest state after
about so many seconds of training, and of the predictions averaged over the samples, beside that of
the true topics. OUT.json keeps every
evaluation.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import quiet
from exactness import topicmc

from topicmc.models.lda.run import TopicRun
from topicmc.storage.files import write_json

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown

WAYS = {
    "stream": ("--sampler", "scir", "--start", "stream"),
    "subset": ("--sampler", "scir", "--start", "subset"),
    "adlda": ("--sampler", "adlda", "--start", "subset"),
    "grow": ("--sampler", "adlda", "--start", "grow"),
}
PRIORS = ("--alpha", "0.1", "--beta", "0.01")
MARKS = 10, 20, 30, 45, 60, 90, 120, 150, 180, 240, 360, 480, 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=2)
    quiet.add_option(parser)
    options = parser.parse_args()
    record = quiet.record(quiet.at_start(options))
    settings = json.loads((options.folder / "model.json").read_text())
    corpus, true = options.folder / "corpus", options.folder / "phi.npy"
    best = json.loads(
        topicmc("evaluate", "--corpus", corpus, "--topics-file", true, "--alpha", "0.1", "--json")
    )["perplexity"]
    runs: list[dict[str, Any]] = []
    for seed in options.seeds:
        for way in options.ways:
            load = quiet.again(options.anyway)["load"]
            curve = trained(corpus, way, settings["topics"], seed, options)
            runs.append({"way": way, "seed": seed, "load": load, "curve": curve})
    found = {**record, "corpus": settings, "best": best, "seconds": options.seconds, "runs": runs}
    write_json(options.out, found)
    print("\n".join(markdown(table(found))))


def trained(
    corpus: Path, way: str, n_topics: int, seed: int, options: argparse.Namespace
) -> list[tuple[float, float, float]]:
    """Seconds, perplexity of the state and of the averaged predictions, of every evaluation."""
    with tempfile.TemporaryDirectory() as folder:
        topicmc(
            "train", corpus, "-o", f"{folder}/run", *WAYS[way], "--topics", n_topics, *PRIORS,
            "--threads", options.threads, "--seed", seed,
            "--time-budget", f"{options.seconds:g}s", "--progress", "none",
        )  # fmt: skip
        names = "seconds", "perplexity", "perplexity_averaged"
        return [tuple(r[name] for name in names) for r in TopicRun(f"{folder}/run").metrics()]


def at(curve: list[tuple[float, float, float]], seconds: float) -> tuple[float, float]:
    """Both perplexities of the last evaluation up to then."""
    return max(point for point in curve if point[0] <= _reach(seconds))[1:]


def _reach(seconds: float) -> float:
    """An update, or a sweep, late is in time."""
    return seconds * 1.02 + 0.5


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over seeds: of the state, and of the averaged predictions."""
    first = max(run["curve"][0][0] for run in found["runs"])
    marks = [mark for mark in MARKS if first <= _reach(mark) and mark <= found["seconds"]]
    rows = [["way", *(f"{mark} s" for mark in marks)]]
    for way in dict.fromkeys(run["way"] for run in found["runs"]):
        curves = [run["curve"] for run in found["runs"] if run["way"] == way]
        cells = []
        for mark in marks:
            both = zip(*(at(curve, mark) for curve in curves), strict=True)
            state, averaged = (statistics.median(values) for values in both)
            cells.append(f"{state:,.0f} ({averaged:,.0f})")
        rows.append([way, *cells])
    return rows


if __name__ == "__main__":
    main()

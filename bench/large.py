"""How minibatch chains begin on a large corpus: perplexity against training time, by start.

    python bench/generate.py -o FOLDER --seed 3
    python bench/large.py FOLDER OUT.json [--starts stream,subset] [--seconds 150] [--seeds 1 2]

FOLDER is what `generate.py` has written, 730 million tokens unless told otherwise. `--sampler scir`
trains from each start in turn, with K and α = 0.1, β = 0.01 given. Told is the held-out perplexity
of the newest state after about so many seconds of training, and of the predictions averaged over
the samples, beside that of the true topics. OUT.json keeps every evaluation.
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

PRIORS = ("--alpha", "0.1", "--beta", "0.01")
MARKS = 10, 20, 30, 45, 60, 90, 120, 150, 240, 360, 480, 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--starts", default="stream,subset")
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
        for start in options.starts.split(","):
            load = quiet.again(options.anyway)["load"]
            curve = trained(corpus, start, settings["topics"], seed, options)
            runs.append({"start": start, "seed": seed, "load": load, "curve": curve})
    found = {**record, "corpus": settings, "best": best, "seconds": options.seconds, "runs": runs}
    write_json(options.out, found)
    print("\n".join(markdown(table(found))))


def trained(
    corpus: Path, start: str, n_topics: int, seed: int, options: argparse.Namespace
) -> list[tuple[float, float, float]]:
    """Seconds, perplexity of the state and of the averaged predictions, of every evaluation."""
    with tempfile.TemporaryDirectory() as folder:
        topicmc(
            "train", corpus, "-o", f"{folder}/run", "--sampler", "scir", "--start", start,
            "--topics", n_topics, *PRIORS, "--threads", options.threads, "--seed", seed,
            "--time-budget", f"{options.seconds:g}s", "--progress", "none",
        )  # fmt: skip
        names = "seconds", "perplexity", "perplexity_averaged"
        return [tuple(r[name] for name in names) for r in TopicRun(f"{folder}/run").metrics()]


def at(curve: list[tuple[float, float, float]], seconds: float) -> tuple[float, float]:
    """Both perplexities of the last evaluation up to then."""
    return max(point for point in curve if point[0] <= seconds * 1.02 + 0.5)[1:]


def table(found: dict[str, Any]) -> list[list[str]]:
    """Medians over seeds: of the state, and of the averaged predictions."""
    marks = [mark for mark in MARKS if mark <= found["seconds"]]
    rows = [["start", *(f"{mark} s" for mark in marks)]]
    for start in dict.fromkeys(run["start"] for run in found["runs"]):
        curves = [run["curve"] for run in found["runs"] if run["start"] == start]
        cells = []
        for mark in marks:
            both = zip(*(at(curve, mark) for curve in curves), strict=True)
            state, averaged = (statistics.median(values) for values in both)
            cells.append(f"{state:,.0f} ({averaged:,.0f})")
        rows.append([start, *cells])
    return rows


if __name__ == "__main__":
    main()

"""Whether seeds find the same topics: stable topics and perplexity, by start and priors.

    python bench/modes.py OUT.json CORPUS… [--topics 50] [--sweeps 2000] [--seeds 4]
        [--starts plain,grow,consensus] [--learned]

AD-LDA trains for so many sweeps on one thread, from each start under α = β = 0.1, or, with
``--learned``, under priors that it learns. Seeds are paired, 0 with 1, 2 with 3. Of each pair the
share of stable topics is told, and the mean distance of matched ones, as by ``topicmc topics RUN
RUN``; of each seed the held-out perplexity of the exported topics. Runs are compared by sweeps, and
nothing is timed.
"""

import argparse
import json
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from exactness import topicmc

from topicmc.corpora import Corpus
from topicmc.models.lda.completion import perplexity
from topicmc.models.lda.run import TopicRun
from topicmc.storage.files import write_json
from topicmc.storage.runs import made_by
from topicmc.topics.uncertainty import posterior_of

sys.path.append(str(Path(__file__).parent / "peers"))
from measure import Evaluator

FIXED = ("--alpha", "0.1", "--beta", "0.1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--starts", default="plain,grow,consensus")
    parser.add_argument("--learned", action="store_true")
    options = parser.parse_args()
    for corpus in options.corpora:
        for start in options.starts.split(","):
            record = {**made_by(), **measured(corpus, start, options)}
            found = json.loads(options.out.read_text()) if options.out.exists() else []
            write_json(options.out, [*found, record])
            print(json.dumps(record), flush=True)


def measured(corpus: Path, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """What the seeds of one start come to."""
    evaluator = Evaluator(Corpus.open(corpus), threads=1)
    with tempfile.TemporaryDirectory() as folder:
        runs, perplexities = [], []
        for seed in range(options.seeds):
            run, topics = f"{folder}/run-{seed}", f"{folder}/topics-{seed}"
            topicmc(
                "train", corpus, "-o", run, "--sampler", "adlda", "--start", start,
                "--topics", options.topics, "--epochs", options.sweeps, "--seed", seed,
                *(() if options.learned else FIXED), "--threads", 1, "--progress", "none", "--json",
            )  # fmt: skip
            topicmc("export", run, "--to", "npy", "-o", topics)
            phi, alpha = (np.load(f"{topics}/{name}.npy") for name in ("phi", "alpha"))
            perplexities.append(perplexity(evaluator.probabilities(phi, alpha)))
            runs.append(TopicRun.open(Path(run)))
        pairs = [posterior_of(pair) for pair in list(pairwise(runs))[::2]]
        return {
            "corpus": corpus.name,
            "topics": options.topics,
            "sweeps": options.sweeps,
            "priors": "learned" if options.learned else "0.1, 0.1",
            "start": start,
            "stable": [float(pair.stable.mean()) for pair in pairs],
            "distance": [float(np.mean(pair.distance)) for pair in pairs],
            "perplexity": perplexities,
        }


if __name__ == "__main__":
    main()

"""What the start of a run with a time budget takes, and what its sweeps do in which documents join.

    python bench/joining.py CORPUS [--topics 100 1000] [--budgets 10 30 60] [--seeds 0 1 2]

Each run is one of `topicmc train` with `--sampler adlda`, as it is planned for its budget. Printed
are the kind and the sweeps of its start, the share of the budget that this took, and how long the
sweeps took in which documents joined, beside settled ones over as many documents; medians over the
seeds, with the least and the greatest. A plan reckons with
`topicmc.models.lda.planning.starts.JOINING`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import quiet

from topicmc.corpora import Corpus
from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.settings import Resolved

sys.path.append(str(Path(__file__).parent / "peers"))
from tables import markdown, spread

ALPHA, BETA = 0.1, 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--budgets", type=float, nargs="+", default=[10.0, 30.0, 60.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    quiet.add_option(parser)
    options = parser.parse_args()
    quiet.start(options)
    corpus = Corpus.open(options.corpus)
    rows = [["topics", "budget", "start", "share of the budget", "joining, beside settled sweeps"]]
    for topics in options.topics:
        for budget in options.budgets:
            found = []
            for seed in options.seeds:
                quiet.again(options.anyway)
                found.append(measure(corpus, options, topics, budget, seed))
            starts, shares, costs = zip(*found, strict=True)
            joining = spread([cost for cost in costs if cost]) if any(costs) else ""
            told = ", ".join(dict.fromkeys(starts))
            rows.append([f"{topics:,}", f"{budget:g} s", told, spread(shares), joining])
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(markdown(rows)))


def measure(corpus: Corpus, options, topics: int, budget: float, seed: int):
    """The start in words, its share of the budget in per cent, and what sweeps cost in which
    documents joined, 0 if none did or the start was late, in settled sweeps over as many."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        asked = {
            "topics": topics, "time-budget": f"{budget:g}s", "seed": seed, "alpha": ALPHA,
            "beta": BETA, "threads": options.threads, "sampler": "adlda", "progress": "none",
        }  # fmt: skip
        program = Path(sys.executable).with_name("topicmc")
        told = [text for name, value in asked.items() for text in (f"--{name}", str(value))]
        command = [str(program), "train", str(options.corpus), "-o", str(run)]
        subprocess.run([*command, *told], check=True, stdout=subprocess.DEVNULL)
        config = Resolved.from_dict(json.loads((run / "run.json").read_text())["config"])
        records = list(map(json.loads, (run / "trace.jsonl").read_text().splitlines()))
    schedule = Schedule(config, corpus)
    at = [0, *(record["position"] for record in records)]
    sweeps = [range(*pair) for pair in pairwise(at)]  # of each record: of long runs several
    ends = np.array([0.0, *(record["seconds"] for record in records)])
    took = np.diff(ends)
    settled = float(np.median((took / np.diff(at))[-max(1, len(took) // 4) :]))
    over = sum(record["burn_in"] for record in records)
    start, joining = f"{config.start}, {config.start_sweeps}", []
    if over < len(records) and not schedule.is_start(at[over + 1]):
        joining = [i for i in range(over) if all(len(schedule.edges(s)) for s in sweeps[i])]
    else:  # a late start left sweeps out: those that came then are not of their number
        start += f" ({at[over]} made)"
    drawn = sum(schedule.share(schedule.after(s)) for i in joining for s in sweeps[i])
    cost = float(took[joining].sum()) / settled / drawn if joining else 0.0
    return start, 100 * ends[over] / budget, cost


if __name__ == "__main__":
    main()

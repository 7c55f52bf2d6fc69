"""Planted changes of formulas, each with the test that must catch it.

    python bench/mutations.py bench/results/mutations.json [--only WORD]

Every change (bench/planted.py) is made in a copy of the package, on which the named test is run:
the working tree is not touched. First the tests are run on a copy without a change. A line is
printed for each change, "caught", "MISSED" or "broken" (the test did not run), and the status is 1
unless all are caught. Results that the file holds already are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from topicmc.storage.files import write_json

sys.path.insert(0, str(Path(__file__).parent))
from planted import PLANTED, Planted

REPOSITORY = Path(__file__).parents[1]
SECONDS = 1800  # for one test
OUTCOMES = {0: "MISSED", 1: "caught"}


def copied(folder: Path, planted: Planted | None) -> None:
    """The package as it would be installed, with the change.

    Compiled kernels come along where they stay true: numba does not notice that what a kernel
    inlines has changed.
    """
    stale = planted is not None and planted.file.startswith("topicmc/kernels")
    ignored = shutil.ignore_patterns("*.nbi", "*.nbc") if stale else None
    for source, target in (("topicmc", ""), ("cli", "cli"), ("corpora", "corpora")):
        shutil.copytree(REPOSITORY / source, folder / "topicmc" / target, ignore=ignored)
    if planted is not None:
        part = planted.file.removeprefix("topicmc/")
        path = folder / "topicmc" / part
        text = path.read_text(encoding="utf-8")
        if text.count(planted.old) != 1:
            raise SystemExit(
                f"{planted.file}: holds {text.count(planted.old)} times, not once: {planted.old!r}"
            )
        path.write_text(text.replace(planted.old, planted.new), encoding="utf-8")


def tested(test: str, planted: Planted | None = None) -> tuple[str, list[str], float]:
    """Outcome of one test on a copy, the tests that failed, and seconds."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        folder = Path(name)
        copied(folder, planted)
        began = time.perf_counter()
        command = [
            sys.executable, "-P", "-m", "pytest", "-q", "--no-header", "--tb=no", "-rf",
            "-p", "no:cacheprovider", "-c", str(REPOSITORY / "pyproject.toml"),
            "--rootdir", str(REPOSITORY), str(REPOSITORY / test),
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": name}
        try:
            ended = subprocess.run(
                command, cwd=name, env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return "timed out", [], float(SECONDS)
        failed = re.findall(r"^FAILED \S*?::(.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
        outcome = OUTCOMES.get(ended.returncode, "broken")
        if outcome == "broken":
            print(ended.stdout[-2000:], ended.stderr[-2000:], sep="\n", file=sys.stderr)
        return outcome, failed, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results")
    parser.add_argument("--only", default="", help="a word of the name, file or test")
    options = parser.parse_args()
    path = Path(options.results)
    results = json.loads(path.read_text()) if path.exists() else {}
    chosen = [p for p in PLANTED if options.only in f"{p.name} {p.file} {p.test}"]
    known = {p.name for p in PLANTED}
    results = {name: found for name, found in results.items() if name in known}
    new = [p for p in chosen if results.get(p.name, {}).get("plant") != p.facts()]
    for test in dict.fromkeys(p.test for p in new):
        outcome, failed, seconds = tested(test)
        if outcome != "MISSED":
            raise SystemExit(f"{test} is {outcome} without a change: {', '.join(failed)}")
        print(f"passes   {test} ({seconds:.0f} s)", flush=True)
    for planted in new:
        outcome, failed, seconds = tested(planted.test, planted)
        results[planted.name] = {
            "plant": planted.facts(), "outcome": outcome, "failed": failed[:4],
            "n_failed": len(failed), "seconds": round(seconds),
        }  # fmt: skip
        write_json(path, results)
        print(f"{outcome:8} {planted.file}: {planted.name} ({seconds:.0f} s)", flush=True)
    if any(results[p.name]["outcome"] != "caught" for p in chosen):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

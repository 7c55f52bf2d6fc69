"""What a first run compiles: before its clock starts, and nothing that it does not need."""

import json
import os
import subprocess
import sys

import pytest

CHILD = """
import json, sys
from numba.core import event

compiled, rounds = [], []

class Listener(event.Listener):
    def on_start(self, event):
        name = event.data["dispatcher"].py_func.__qualname__
        (rounds if inside else compiled).append(name)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
inside = False
from topicmc.engine.loop import Training

round_ = Training._round
def watched(self):
    global inside
    inside = True
    try:
        return round_(self)
    finally:
        inside = False
Training._round = watched
from topicmc.cli import main
try:
    main()
finally:
    print(json.dumps({"compiled": compiled, "rounds": rounds}), file=sys.stderr)
"""


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_a_first_run_compiles_before_its_clock_starts(small_corpus, tmp_path, sampler):
    """Over several shards and with all priors learned. numba would compile the text of error
    messages, for some seconds, with every kernel that assigns to a slice."""
    arguments = ["train", str(small_corpus.path), "-o", str(tmp_path / "run"), "--json"]
    arguments += ["--sampler", sampler, "--learn", "both", "--topics", "5", "--updates", "40"]
    arguments += ["--batch-size", "20"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stderr.splitlines()[-1])
    assert "_sample" in seen["compiled"]
    assert seen["rounds"] == []
    texts = ("str", "repr", "raise_with_shape_context", "concat")
    assert [name for name in seen["compiled"] if any(text in name for text in texts)] == []

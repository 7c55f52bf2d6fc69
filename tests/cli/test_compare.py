"""``topicmc compare``: figures of the same kind beside each other, and topics found again."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from shell import one_sentence, tree

from topicmc.models.lda.run import TopicRun


def exported(command, run, permutation) -> np.ndarray:
    """The topics of a run in another order, as another system would hand them over."""
    assert command("export", run, "--to", "npy", "-o", "npy").status == 0
    phi = np.load("npy/phi.npy")[permutation]
    np.save("phi.npy", phi)
    return phi


def test_topics_from_elsewhere_are_measured_as_evaluate_does_and_found_again(run, command):
    permutation = [3, 0, 4, 1, 2]
    phi = exported(command, run, permutation)
    result = command("compare", run, "--topics-file", "phi.npy", "--alpha", 0.3, "--json")
    assert result.status == 0
    told = json.loads(result.stdout)
    own = json.loads(command("evaluate", run, "--json").stdout)
    foreign = json.loads(
        command("evaluate", run, "--topics-file", "phi.npy", "--alpha", 0.3, "--json").stdout
    )
    for model, score in zip(told["models"], (own, foreign), strict=True):
        for figure in ("perplexity", "perplexity_averaged", "samples"):
            assert model[figure] == pytest.approx(score[figure], rel=1e-6)
    n = own["samples"]
    assert any(f"do not compare: they are over {n} and 1 samples" in r for r in told["remarks"])
    same = json.loads(command("compare", run, run, "--json").stdout)
    assert not any("averaged" in remark for remark in same["remarks"])
    assert told["split"] == own["split"]
    (matching,) = told["matchings"]
    found = {pair["first"]: pair["other"] for pair in matching["pairs"]}
    assert found == {k: permutation.index(k) for k in range(5)}
    assert matching["similar"] == 5
    assert matching["mean_distance"] < 1e-6
    words = Path("corpus/vocabulary.txt").read_text().split()
    for pair in matching["pairs"]:
        best = words[int(phi[pair["other"]].argmax())]
        assert pair["first_words"][0] == pair["other_words"][0] == best
    assert told["models"][0]["sampler"] == "scir"
    assert told["models"][1]["sampler"] is None
    assert told["models"][0]["seconds"] > 0


def test_the_table(run, command):
    arguments = ("train", "corpus", "--topics", 3, "--updates", 40, "--batch-size", 40)
    for name, sweeps in (("other", 1), ("early", 9)):
        done = command(*arguments, "-o", name, "--seed", 7, "--start-sweeps", sweeps)
        assert done.status == 0, done.stderr
    result = command("compare", run, "other", "-n", 1)
    head, _, columns, first, second, _, matched, *pairs = result.stdout.splitlines()
    assert re.fullmatch(r"on 30 held-out documents of .*corpus, \d+ tokens scored, 120 words", head)
    assert columns.split()[0] == "topics"
    assert (first.split()[:2], second.split()[:2]) == (["run", "5"], ["other", "3"])
    assert len({len(line) for line in (columns, first, second)}) == 1
    pattern = r"topics of run and other: \d of 3 pairs are within 0\.5, mean distance 0\.\d\d"
    assert re.fullmatch(pattern, matched)
    assert [line.split()[0] for line in pairs[::2]] == ["nearest", "farthest"]
    assert "its start" not in result.stderr
    early = command("compare", run, "early").stderr
    assert early.startswith("Note: early has states of its start in place of samples")
    everything = command("compare", run, "other", "--within", 1)
    assert "3 of 3 pairs are within 1," in everything.stdout
    for asked, n in {"--drift": 1, "--no-drift": 0}.items():
        told = json.loads(command("compare", run, "other", asked, "--json").stdout)
        assert len(told["drifts"]) == n


def test_a_run_on_another_corpus_is_pointed_out(run, command):
    entries = [f"{d} {w} 2" for d in range(1, 61) for w in ((1, 2, 4) if d <= 30 else (3, 5))]
    Path("docword.txt").write_text("\n".join(["60", "5", f"{len(entries)}", *entries]) + "\n")
    Path("vocab.txt").write_text("word001\nword002\nword003\nstranger\nalien\n")
    prepared = command("prepare", "docword.txt", "-o", "text", "--heldout", 10)
    assert prepared.status == 0, prepared.stderr
    assert command("train", "text", "-o", "other", "--topics", 2, "--updates", 3).status == 0
    result = command("compare", run, "other", "--json")
    told = json.loads(result.stdout)
    assert told["words"] == 3
    assert any("other was trained on another corpus" in remark for remark in told["remarks"])
    assert any("the vocabularies differ" in remark for remark in told["remarks"])
    assert told["models"][0]["left_out"] > 0.5
    assert 0.2 < told["models"][1]["left_out"] < 0.6
    swapped = json.loads(command("compare", run, "other", "--corpus", "text", "--json").stdout)
    assert swapped["corpus"] == "text"
    assert any("run was trained on another corpus" in remark for remark in swapped["remarks"])


def test_a_view_of_a_run_that_was_trained_on_is_noted(run, command):
    assert command("edit", run, "--label", "0=Law", "-o", "view").status == 0
    opened = TopicRun.open(run)
    opened.write_sample_index(opened.sample_index()[1:])
    noted = command("compare", "view", "view").stderr
    assert noted.count("Note: run has been trained on since view was made of it") == 2


BAD = [
    (("compare",), "name two RUNs or more", 2),
    (("compare", "run"), "name two RUNs or more", 2),
    (("compare", "run", "--topics-file", "phi.npy"), "needs --alpha F", 2),
    (("compare", "run", "--topics-file", "phi.npy", "--alpha", 0), "needs --alpha F", 2),
    (("compare", "run", "run", "--alpha", 0.1), "--alpha goes with --topics-file", 2),
    (("compare", *["--topics-file", "phi.npy"] * 2, "--alpha", 0.1), "needs --corpus CORPUS", 2),
    (("compare", "run", "run", "--within", 1.5), "--within", 2),
    (("compare", "run", "nowhere"), "nowhere: no run here", 3),
    (("compare", "run", "--topics-file", "none.npy", "--alpha", 0.1), "none.npy: no such file", 3),
    (
        ("compare", "run", "--topics-file", "corpus/heldout/indptr.npy", "--alpha", 0.1),
        "indptr.npy: .* not a K × W matrix",
        3,
    ),
]


@pytest.mark.parametrize(("arguments", "sentence", "status"), BAD)
def test_bad_arguments(run, command, arguments, sentence, status):
    before = tree(Path())
    result = command(*arguments)
    assert re.search(sentence, one_sentence(result))
    assert result.status == status
    assert tree(Path()) == before

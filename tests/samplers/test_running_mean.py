"""The running mean of â: what it sums, what it leaves out, and that runs keep it."""

import json

import numpy as np
import pytest
from synthetic import lda_documents, write_docword
from trained import begun, ended, resumed

from topicmc.corpora import prepare
from topicmc.engine.loop import Training
from topicmc.errors import DataError, UsageError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import phi_of, posterior_mean
from topicmc.models.lda.scoring import score_run
from topicmc.models.lda.settings import TrainConfig
from topicmc.posterior.running import RUNNING, WEIGHT
from topicmc.posterior.traces import traces
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.running_mean import MeanChain, note, running_mean
from topicmc.samplers.state import TopicCounts, sum_topics
from topicmc.samplers.steps import step_size
from topicmc.topics.uncertainty import posterior_of

START = 6


def empty_chain(n_words=700, n_topics=5):
    theta = np.ones((n_words, n_topics), np.float32)
    return MeanChain(0, theta, sum_topics(theta))


def noted(n_threads):
    """A chain that has taken up four updates, and the same by the formula."""
    generator, chain = np.random.default_rng(0), empty_chain()
    total, weights = np.zeros(chain.theta.shape), 0.0
    for update, step in enumerate((0.5, 0.4, 0.3, 0.2), start=3):
        words = np.sort(generator.choice(600, 550, replace=False)).astype(np.int32)
        counts = np.zeros((550, 16), np.float32)
        counts[:, :5] = generator.random((550, 5))
        chain.update = update
        note(chain, TopicCounts(words, counts), scale=7.0, step=step, threads=Threads(n_threads))
        weight = (1 - np.exp(-step)) * (update + 1) ** 3
        total[words] += weight * 7 * counts[:, :5]
        weights += weight
    return chain, total / weights


def test_it_is_the_weighted_mean_of_the_estimates():
    chain, mean = noted(1)
    additions = Additions.of_words(np.array([2]), np.arange(5.0)[None], 700)
    found = running_mean(chain, RowPrior(0.25, additions))
    mean = mean + 0.25
    mean[2] += np.arange(5)
    np.testing.assert_allclose(found, mean, rtol=2e-6)
    assert (found[650:] == 0.25).all()  # words in no minibatch
    assert np.array_equal(noted(2)[0].counts_sum, chain.counts_sum)


def test_a_chain_in_its_start_has_none():
    assert running_mean(empty_chain(), RowPrior(0.1)) is None


def index_of(path):
    return json.loads((path / "samples" / "index.json").read_text())["samples"]


def trained(corpus, path, updates, samples=4, **settings):
    config = TrainConfig(
        topics=4, sampler="scir", seed=1, threads=1, batch_size=10, updates=updates,
        anneal_updates=START, balance=False, samples=samples, **settings,
    )  # fmt: skip
    return ended(begun(config, corpus, path))


def chain_of(training):
    return training.method.held["chains"][0]


def weight(config, first, last):
    steps = [
        step_size(t, config.step_size, config.step_offset, config.step_decay)
        for t in range(first, last)
    ]
    return sum(
        (1 - np.exp(-h)) * (t + 1) ** 3 for t, h in zip(range(first, last), steps, strict=True)
    )


def test_updates_of_the_start_have_no_part(small_corpus, tmp_path):
    training = trained(small_corpus, tmp_path / "run", 20)
    assert chain_of(training).weight_sum == pytest.approx(weight(training.config, START, 20))


def test_updates_of_averaged_chains_have_no_part(small_corpus, tmp_path):
    more = {"workers": 2, "trajectory": 2, "average_until": 8}
    training = trained(small_corpus, tmp_path / "run", 20, **more)
    for chain in training.method.held["chains"].values():
        assert chain.weight_sum == pytest.approx(weight(training.config, 9, 20))
    sums = [chain.counts_sum for chain in training.method.held["chains"].values()]
    assert not np.array_equal(*sums)


def test_averaging_that_begins_again_empties_it(small_corpus, tmp_path):
    more = {"workers": 2, "trajectory": 2}
    trained(small_corpus, tmp_path / "run", 20, average_until=8, **more)
    training = ended(resumed(tmp_path / "run", 2, updates=40, average_until=28))
    for chain in training.method.held["chains"].values():
        assert chain.weight_sum == pytest.approx(weight(training.config, 29, 40))


def test_averaging_that_has_ended_leaves_one_start(small_corpus, tmp_path):
    """Whatever the settings say by now; the run began without."""
    more = {"workers": 2, "trajectory": 2}
    trained(small_corpus, tmp_path / "run", 20, average_until=0, **more)
    assert not posterior_of([TopicRun.open(tmp_path / "run")]).have_one_start
    with pytest.raises(UsageError, match="--average-until 20: the run has made 20 updates; give m"):
        resumed(tmp_path / "run", 2, updates=40, average_until=20)
    ended(resumed(tmp_path / "run", 2, updates=40, average_until=28))
    ended(resumed(tmp_path / "run", 2, updates=60, average_until=0))
    run = TopicRun.open(tmp_path / "run")
    assert run.facts()["config"]["average_until"] == 0
    assert posterior_of([run]).have_one_start


def test_averaging_that_begins_again_to_the_end_leaves_a_run_that_can_be_read(
    small_corpus, tmp_path
):
    """There is neither a sample any more nor a mean: a state stands in."""
    more = {"workers": 2, "trajectory": 2}
    trained(small_corpus, tmp_path / "run", 20, average_until=8, **more)
    assert any("mean" in entry for entry in index_of(tmp_path / "run"))
    ended(resumed(tmp_path / "run", 2, updates=40, average_until=60))
    entries = index_of(tmp_path / "run")
    assert entries and all(entry["burn_in"] for entry in entries)
    assert not any("mean" in entry for entry in entries)
    for entry in entries:
        assert (tmp_path / "run" / "samples" / entry["file"]).exists()
    assert posterior_mean(tmp_path / "run").phi.shape == (4, small_corpus.n_words)


def test_what_is_shown_is_the_running_mean(small_corpus, tmp_path):
    training = trained(small_corpus, tmp_path / "run", 20)
    chain, run = chain_of(training), TopicRun.open(tmp_path / "run")
    mean = running_mean(chain, run.prior(chain.beta))
    shown = posterior_mean(run)
    np.testing.assert_allclose(shown.phi, phi_of(mean), rtol=1e-3)
    sizes = mean.sum(axis=0) - run.prior(chain.beta).totals(*mean.shape)
    np.testing.assert_allclose(shown.share, sizes / sizes.sum(), rtol=1e-5)
    # â estimates the counts of the corpus: a minibatch of its pass at a time.
    assert sizes.sum() == pytest.approx(small_corpus.n_tokens, rel=0.1)


def test_only_the_newest_sample_has_it_and_nothing_is_left_behind(small_corpus, tmp_path):
    trained(small_corpus, tmp_path / "run", 20)
    folder, entries = tmp_path / "run" / "samples", index_of(tmp_path / "run")
    assert ["mean" in entry for entry in entries] == [False] * (len(entries) - 1) + [True]
    named = [entry["file"] for entry in entries] + [entries[-1]["mean"]["file"]]
    assert sorted(path.name for path in folder.glob("*.npz")) == sorted(named)


@pytest.mark.parametrize("harm", [lambda place: place.unlink(), lambda place: place.write_text("")])
def test_one_whose_file_is_not_sound_is_written_anew(small_corpus, tmp_path, harm):
    trained(small_corpus, tmp_path / "run", 20)
    then = index_of(tmp_path / "run")
    place = tmp_path / "run" / "samples" / then[-1]["mean"]["file"]
    content = place.read_bytes()
    harm(place)
    ended(resumed(tmp_path / "run"))
    assert (index_of(tmp_path / "run"), place.read_bytes()) == (then, content)


def test_it_is_written_as_often_as_the_run_is_saved(small_corpus, tmp_path, monkeypatch):
    written = []

    def keep(run, chain, round_number, *rest, **more):
        written.append(round_number)
        return keep_mean(run, chain, round_number, *rest, **more)

    keep_mean = TopicRun.keep_mean
    monkeypatch.setattr(TopicRun, "keep_mean", keep)
    trained(small_corpus, tmp_path / "run", 19, checkpoint_every="7")
    assert written == [7, 14, 19]
    newest = index_of(tmp_path / "run")[-1]
    assert (newest["position"], newest["mean"]["position"]) == (16, 19)


def test_that_of_later_states_is_forgotten(small_corpus, tmp_path):
    trained(small_corpus, tmp_path / "run", 16, samples=16)
    then = index_of(tmp_path / "run")
    ended(resumed(tmp_path / "run", updates=20))
    (tmp_path / "run" / "checkpoint" / "current.json").unlink()
    run = resumed(tmp_path / "run").run
    assert index_of(tmp_path / "run") == then
    newest = TopicRun.open(tmp_path / "run").sample_index()[-1]
    assert newest["position"] == newest["mean"]["position"] == 16
    assert run.read_mean(newest).shape == (small_corpus.n_words, 4)


def test_that_of_earlier_states_is_not(small_corpus, tmp_path, monkeypatch):
    def killed(self):
        raise KeyboardInterrupt

    trained(small_corpus, tmp_path / "run", 12)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "_checkpoint", killed)
        with pytest.raises(KeyboardInterrupt):
            ended(resumed(tmp_path / "run", updates=20))
    later = index_of(tmp_path / "run")[-1]
    assert later["position"] > 12 == later["mean"]["position"]
    resumed(tmp_path / "run")
    assert index_of(tmp_path / "run")[-1] == {**index_of(tmp_path / "run")[-1], "position": 12}
    assert index_of(tmp_path / "run")[-1]["mean"] == later["mean"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_resumed_run_has_the_same(small_corpus, tmp_path, workers):
    more = {"workers": workers, "trajectory": 2} if workers > 1 else {}
    whole = trained(small_corpus, tmp_path / "whole", 20, **more)
    trained(small_corpus, tmp_path / "parted", 12, **more)
    parted = ended(resumed(tmp_path / "parted", workers, updates=20))
    one, other = chain_of(whole), chain_of(parted)
    assert one.weight_sum == other.weight_sum > 0
    assert np.array_equal(one.counts_sum, other.counts_sum)
    assert np.array_equal(*(posterior_mean(tmp_path / p).phi for p in ("whole", "parted")))


def test_perplexity_under_it_is_told(small_corpus, tmp_path):
    training = trained(small_corpus, tmp_path / "run", 20, evaluate_every="5")
    records = training.run.metrics()
    # Evaluations of the start have none.
    told = [record["update"] for record in records if "perplexity_mean" in record]
    assert told == [record["update"] for record in records if record["update"] > START]
    assert records[-1]["perplexity_mean"] != records[-1]["perplexity"]


def test_the_trace_has_what_its_standard_error_is_made_of(small_corpus, tmp_path):
    run = trained(small_corpus, tmp_path / "run", 400).run
    records = [r["chains"]["0"] for r in run.trace() if not r["burn_in"]]
    assert all(WEIGHT in record and RUNNING in record for record in records[1:])
    assert records[-1][WEIGHT] > records[1][WEIGHT]
    assert RUNNING not in traces(run) and WEIGHT not in traces(run)
    score = score_run(run, small_corpus, small_corpus.vocabulary, Threads(1))
    mean = run.metrics()[-1]["perplexity_mean"]
    assert score.perplexity_mean == pytest.approx(mean, rel=1e-3)  # it is stored in two bytes
    assert 0 < score.perplexity_mean_error < 0.1 * score.perplexity_mean
    # A chain that was given up is in older records.
    records = list(map(json.loads, (run.path / "trace.jsonl").read_text().splitlines()))
    for record in records[: len(records) // 2]:
        record["chains"]["1"] = record["chains"]["0"]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (run.path / "trace.jsonl").write_text(lines)
    again = score_run(run, small_corpus, small_corpus.vocabulary, Threads(1))
    assert again.perplexity_mean_error == score.perplexity_mean_error
    # The trace is of the documents that were held out of its corpus.
    documents = write_docword(tmp_path, lda_documents(90, 120, 5, seed=2), 120)
    other = prepare([documents], tmp_path / "other", n_heldout=30)
    score = score_run(run, other, run.vocabulary(), Threads(1))
    assert score.perplexity_mean > 1 and score.perplexity_mean_error is None
    lines = (run.path / "trace.jsonl").read_text()
    (run.path / "trace.jsonl").write_text('{"position": 1, "burn_in": true}\n' + lines)
    with pytest.raises(DataError, match=r"trace\.jsonl: holds what is no trace"):
        score_run(run, small_corpus, small_corpus.vocabulary, Threads(1))

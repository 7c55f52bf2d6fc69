"""Runs that go on from another, on other documents and words."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from synthetic import lda_documents
from trained import StopAfter, ended, kept_bits, resumed, train

from topicmc.corpora import prepare
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.models.lda import jobs
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.origin import Origin, carried
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, posterior_mean, samples_of
from topicmc.models.lda.settings import TrainConfig
from topicmc.topics.matching import match_topics

N_WORDS, N_TOPICS, GONE, NEW = 140, 5, 20, 20
SMALL = TrainConfig(
    topics=N_TOPICS, sampler="adlda", seed=3, threads=1, balance=False, epochs=60.0,
    evaluate_every="10m", checkpoint_every="10m", samples=8,
)  # fmt: skip


def corpus_of(folder, documents, words, n_heldout):
    """Documents of words of a longer list; the vocabulary is ``words``, in that order."""
    place = {w: i for i, w in enumerate(words)}
    lines = []
    for number, tokens in enumerate(documents, start=1):
        known, counts = np.unique([w for w in tokens if w in place], return_counts=True)
        lines += [f"{number} {place[w] + 1} {c}" for w, c in zip(known, counts, strict=True)]
    folder.mkdir()
    head = [len(documents), len(words), len(lines)]
    (folder / "docword.x.txt").write_text("\n".join(map(str, [*head, *lines])) + "\n")
    (folder / "vocab.x.txt").write_text("".join(f"word{w:03d}\n" for w in words))
    return prepare(
        [folder / "docword.x.txt"], folder / "corpus", n_heldout=n_heldout, n_shards=2, seed=4
    )


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Half of some documents without the last words, the others without the first, in another
    order; and a run on the first half."""
    folder = tmp_path_factory.mktemp("halves")
    documents = lda_documents(600, N_WORDS, N_TOPICS, seed=1)
    order = np.random.default_rng(0).permutation(np.arange(GONE, N_WORDS)).tolist()
    first = corpus_of(folder / "a", documents[:300], list(range(N_WORDS - NEW)), 0)
    second = corpus_of(folder / "b", documents[300:], order, 60)
    run, _ = train(SMALL, first, folder / "run")
    return first, second, run


def going_on(run, **changes):
    return replace(SMALL, **{"from_run": str(run.path), "epochs": 30.0, **changes})


def test_topics_are_carried_over_by_the_rule(halves):
    """Word by word, from the equation. Fails when new words take a row, or sizes are not scaled."""
    _, second, run = halves
    entry = samples_of(run)[-1]
    theta, share = run.read_sample(entry), np.array(entry["share"])
    old = {word: i for i, word in enumerate(run.vocabulary())}
    rows = np.array([old.get(word, -1) for word in second.vocabulary])
    n, beta = second.n_tokens, 0.3
    made = carried(
        theta, share, rows, n_topics=N_TOPICS + 2, n_tokens=n, beta=beta, key=np.uint64(1)
    )
    n_words, common = len(rows), rows >= 0
    sums = theta[rows[common]].sum(axis=0)
    mean_topic = np.full(n_words, 1 / n_words)
    for w, word in enumerate(second.vocabulary):
        for k in range(N_TOPICS):
            size = share[k] * n * N_TOPICS / (N_TOPICS + 2) + n_words * beta
            phi = beta / (n / (N_TOPICS + 2) + n_words * beta)
            if word in old:
                phi = theta[old[word], k] / sums[k]
            assert made[w, k] == pytest.approx(size * phi, rel=1e-4), (word, k)
        if word in old:
            mean_topic[w] = sum(share * theta[old[word]] / sums) * common.sum() / n_words
    size = n / (N_TOPICS + 2) + n_words * beta
    noise = made[:, N_TOPICS:] / size / mean_topic[:, None]
    # 240 draws of Exp(1): a mean within 5 standard deviations; false failures 1 in a million.
    assert abs(noise.mean() - 1) < 5 / np.sqrt(noise.size)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.5


SAMPLERS = {
    "adlda": {},
    "adlda, one by one": {"batch_size": 1},
    "adlda, two chains, two workers": {"chains": 2, "workers": 2},
    "asynclda": {"sampler": "asynclda", "workers": 2},
    "scir kept": {"sampler": "scir", "remember": True},
    "sgrld kept": {"sampler": "sgrld", "remember": True},
    "scir": {"sampler": "scir", "batch_size": 30, "epochs": None, "updates": 60},
    "scir, two workers": {
        "sampler": "scir", "batch_size": 30, "epochs": None, "updates": 60, "workers": 2,
    },
    "sgrld": {"sampler": "sgrld", "batch_size": 30, "epochs": None, "updates": 60},
}  # fmt: skip


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_it_is_at_once_far_below_a_fresh_start_and_keeps_its_numbers(halves, tmp_path, sampler):
    _, second, run = halves
    first = "240" if "one by one" in sampler else "1" if sampler in ("scir", "sgrld") else "4"
    config = going_on(run, **SAMPLERS[sampler], evaluate_every=first)  # updates
    began, _ = train(config, second, tmp_path / "on")
    fresh, _ = train(replace(config, from_run=None), second, tmp_path / "fresh")
    first = began.metrics()[0]["perplexity"]
    assert first < 0.9 * fresh.metrics()[0]["perplexity"]
    last = [run.metrics()[-1]["perplexity"] for run in (began, fresh)]
    if config.keeps_assignments:  # minibatches take some updates to learn new words
        assert first < 1.1 * min(last), "it begins where training ends"
    assert last[0] < 1.03 * last[1], "and ends no worse"
    old, new = posterior_mean(run), posterior_mean(began)
    place = {word: i for i, word in enumerate(began.vocabulary())}
    common = [word for word in run.vocabulary() if word in place]
    mine = old.phi[:, [i for i, word in enumerate(run.vocabulary()) if word in place]]
    theirs = new.phi[:, [place[word] for word in common]]
    order, distance = match_topics(
        mine / mine.sum(1, keepdims=True), theirs / theirs.sum(1, keepdims=True)
    )
    assert order.tolist() == list(range(N_TOPICS))
    assert distance.max() < 0.4


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_it_needs_its_own_folder_alone_and_equals_an_uninterrupted_run(halves, tmp_path, sampler):
    """Stopped within its first sweeps, while it draws given the topics that it began with, and
    before it had a checkpoint; the run that it goes on from is gone by then. Other threads, same
    bits."""
    _, second, run = halves
    source = tmp_path / "source"
    shutil.copytree(run.path, source)
    config = going_on(run, from_run=str(source), **SAMPLERS[sampler])
    whole, _ = train(config, second, tmp_path / "whole")
    assert len(kept_bits(whole)) > 2
    threads, _ = train(replace(config, threads=3), second, tmp_path / "threads")
    assert kept_bits(threads) == kept_bits(whole)
    jobs.start(config, second.path, tmp_path / "killed", LocalTransport(config.workers))
    train(config, second, tmp_path / "stopped", StopAfter(2))
    shutil.rmtree(source)
    for name in ("killed", "stopped"):
        again = ended(resumed(tmp_path / name, config.workers))
        assert kept_bits(again.run) == kept_bits(whole), name


def test_words_are_matched_by_spelling(halves, tmp_path):
    _, second, run = halves
    config, _, made = jobs.start(going_on(run), second.path, tmp_path / "on", LocalTransport(1))
    told = made.facts()["origin"]
    assert (told["known"], told["new"], told["gone"]) == (N_WORDS - GONE - NEW, NEW, GONE)
    assert "100 words are known to it, 20 are new" in made.facts()["plan"]["remarks"][0]
    theta, old = Origin.of(made, config).theta(0), run.read_sample(samples_of(run)[-1])
    place = {word: i for i, word in enumerate(run.vocabulary())}
    common = [w for w, word in enumerate(made.vocabulary()) if word in place]
    wanted = old[[place[made.vocabulary()[w]] for w in common]]
    ratio = theta[common] / wanted  # one number for each topic
    assert ratio == pytest.approx(np.broadcast_to(ratio[0], ratio.shape), rel=5e-3)


def test_alpha_goes_on_as_learned_unless_it_is_given(halves, tmp_path):
    _, second, run = halves
    learned = alpha_of(run, samples_of(run)[-1])
    assert learned.std() > 0
    for asked, wanted in (
        ({}, learned),
        ({"topics": 7}, [*learned, learned.mean(), learned.mean()]),
        ({"alpha": 0.7}, [0.7] * N_TOPICS),
    ):
        config, _, made = jobs.start(
            going_on(run, **asked), second.path, tmp_path / "on", LocalTransport(1), force=True
        )
        origin = Origin.of(made, config)
        assert origin.alpha(0) == pytest.approx(wanted)
    assert jobs.start(
        going_on(run, topics="auto"), second.path, tmp_path / "on", LocalTransport(1), force=True
    )[0].topics == N_TOPICS  # fmt: skip


def test_topics_more_than_before_find_what_is_new(tmp_path, halves):
    """Documents of two subjects that the run never saw, a quarter of all: the fresh topics take
    them, and it ends as good as a run of as many topics from nothing."""
    _, _, run = halves
    generator = np.random.default_rng(5)
    documents = lda_documents(600, N_WORDS, N_TOPICS, seed=1)[300:]
    subjects = [np.arange(s, s + 15) for s in (N_WORDS, N_WORDS + 15)]
    documents += [generator.choice(subjects[i % 2], 40) for i in range(100)]
    words = [*range(N_WORDS - NEW), *range(N_WORDS, N_WORDS + 30)]
    both = corpus_of(tmp_path / "c", documents, words, 60)
    began, _ = train(going_on(run, topics=7), both, tmp_path / "on")
    fresh, _ = train(replace(SMALL, topics=7, epochs=100.0), both, tmp_path / "fresh")
    mean = posterior_mean(began)
    assert mean.share[N_TOPICS:].min() > 0.05
    new = mean.phi[:, -30:].sum(axis=1)
    assert (new[N_TOPICS:] > 0.9).all() and (new[:N_TOPICS] < 0.1).all(), new
    scores = [run.metrics()[-1]["perplexity"] for run in (began, fresh)]
    assert scores[0] < 1.03 * scores[1]


def test_chains_that_are_averaged_begin_with_the_topics_of_one(halves, tmp_path):
    """Two chains of a run number their topics on their own, and only alike ones can be averaged."""
    first, second, _ = halves
    two, _ = train(replace(SMALL, chains=2, epochs=20.0), first, tmp_path / "two")
    minibatches = {"sampler": "scir", "epochs": None, "updates": 4, "workers": 4}
    for changes, wanted in (
        ({**minibatches, "groups": 2}, [0, 0, 1, 1]),
        ({**minibatches, "groups": 1}, [0, 0, 0, 0]),
        ({"chains": 3}, [0, 1, 0]),
    ):
        config = going_on(two, **changes)
        config, _, made = jobs.start(
            config, second.path, tmp_path / "on", LocalTransport(config.workers), force=True
        )
        origin = Origin.of(made, config)
        states = made.facts()["origin"]["states"]
        known = [made.read_theta(made.path / s["file"], s["checksum"]) for s in states]
        found = [origin.theta(chain) for chain in range(len(wanted))]
        for theta, number in zip(found, wanted, strict=True):
            assert [np.array_equal(theta, other) for other in known].index(True) == number


def test_a_run_that_goes_on_takes_a_third(halves):
    size = Extent(5000, 500_000, 5000)
    for sampler in ("adlda", "scir"):
        config = TrainConfig(sampler=sampler, topics=50, remember=False)
        fresh, warm = resolve(config, size), resolve(replace(config, from_run="run"), size)
        usual = {"adlda": "consensus", "scir": "stream"}[sampler]
        assert (fresh.start, warm.start) == (usual, "warm")
        for name in ("epochs", "updates"):
            if getattr(fresh, name) is not None:
                assert getattr(warm, name) == pytest.approx(getattr(fresh, name) / 3, abs=1)
    # The step of update 0 is the one that a chain has when its start is over.
    assert warm.step_size == pytest.approx(fresh.step_size * (1 + 400 / 20) ** -0.6)
    assert warm.step_offset == 420


def test_what_cannot_be_gone_on_from_is_refused(halves, tmp_path):
    first, second, run = halves
    new = tmp_path / "new"
    seeds = {"seeded": [first.vocabulary[0]]}
    seeded, _ = train(replace(SMALL, epochs=4.0, seeds=seeds), first, tmp_path / "seeded")

    def start(config, corpus=second, path=new):
        jobs.start(config, corpus.path, path, LocalTransport(1), force=True)

    for source in (run, seeded):
        with pytest.raises(UsageError, match="--topics 4: .* has 5, and all of them go on; give 5"):
            start(going_on(source, topics=4))
        with pytest.raises(UsageError, match="--topics 4: .* has 5"):
            jobs.checked(going_on(source, topics=4), second, LocalTransport(1))
    with pytest.raises(DataError, match="no run here"):
        start(going_on(run, from_run=str(tmp_path / "nowhere")))
    with pytest.raises(UsageError, match="is the run to be made; give it another -o"):
        start(going_on(run), path=run.path)
    with pytest.raises(UsageError, match="--start grow would undo"):
        going_on(run, start="grow")
    with pytest.raises(UsageError, match="--start warm .* give it by --from RUN"):
        TrainConfig(start="warm")
    assert not new.exists()
    assert TopicRun.open(run.path).sample_index()


def test_no_common_words_are_refused(halves, tmp_path):
    _, _, run = halves
    (tmp_path / "t.txt").write_text("ein anderes Wort steht hier\nund noch ein anderes Wort\n" * 20)
    other = prepare([tmp_path / "t.txt"], tmp_path / "c", n_heldout=2, stopwords="none", min_df=1)
    with pytest.raises(DataError, match="none of its 120 words is in"):
        jobs.start(going_on(run), other.path, tmp_path / "new", LocalTransport(1))
    assert not (tmp_path / "new").exists()


def test_a_damaged_beginning_is_named(halves, tmp_path):
    _, second, run = halves
    jobs.start(going_on(run), second.path, tmp_path / "on", LocalTransport(1))
    path = tmp_path / "on" / "origin-000.npz"
    path.write_bytes(path.read_bytes()[:-50])
    training = resumed(tmp_path / "on")
    with pytest.raises(DataError, match="origin-000.npz: damaged"):
        ended(training)

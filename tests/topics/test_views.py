"""Views: what they show is what a sum over the samples by hand gives, of every chain; hostile and
foolish ones end in a sentence."""

import json
from pathlib import Path

import numpy as np
import pytest
from fake_runs import make_run, topic_shapes

from topicmc import LDA
from topicmc.corpora.periods import periods_of
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.jobs import resume
from topicmc.models.lda.progress import remarks
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, posterior_mean
from topicmc.models.names import fault_of_name
from topicmc.models.views import NAME
from topicmc.report.trends import trends_of
from topicmc.samplers.row_prior import Additions
from topicmc.storage.files import own_checksum
from topicmc.topics.diagnostics import diagnose
from topicmc.topics.editing import Edits, edit, unstable
from topicmc.topics.labels import read_labels
from topicmc.topics.of_views import facts_of, sentences
from topicmc.topics.prevalence import _drawn
from topicmc.topics.tree import joins_of, lines_of, tree_of
from topicmc.topics.uncertainty import posterior_of

N_WORDS, N_TOPICS, N_SAMPLES = 60, 6, 12
ORDER = np.array([4, 2, 0, 5, 1, 3])
"""The topic of the first chain that each topic of the second is."""
EDITS = Edits(labels={1: "Sport", 3: "Law"}, merges=[(1, 4)], drops=[2], groups={"Public": (1, 3)})
SHOWN = [[0], [1, 4], [3], [5]]


@pytest.fixture
def made(tmp_path):
    """A run of two chains, and what was drawn for it in the numbers of the first: θ (2, n, W, K)
    and shares (2, n, K), which are not those of the sums of θ."""
    generator = np.random.default_rng(7)
    shapes = topic_shapes(N_WORDS, N_TOPICS)
    theta = generator.gamma(shapes, size=(2, N_SAMPLES, *shapes.shape)).astype(np.float32)
    share = generator.dirichlet(np.arange(2.0, 2 + N_TOPICS), size=(2, N_SAMPLES))
    alpha = generator.gamma(2.0, size=(2, N_SAMPLES, N_TOPICS))
    run = make_run(tmp_path / "run", {0: theta[0], 1: theta[1][:, :, ORDER]})
    entries = run.sample_index()
    for entry in entries:
        chain, draw = entry["chain"], entry["round"] - 100
        order = ORDER if chain else np.arange(N_TOPICS)
        entry["share"] = share[chain, draw, order].tolist()
        entry["alpha"] = alpha[chain, draw, order].tolist()
    run.write_sample_index(entries)
    return TopicRun.open(tmp_path / "run"), theta.astype(np.float64), share, alpha


def view_of(made, tmp_path: Path, edits: Edits = EDITS) -> TopicRun:
    return edit(made[0], edits, tmp_path / "view")


def test_topics_that_not_all_chains_have_found(made, tmp_path):
    """Of this run, and of it beside another in which topic 3 is another."""
    run, theta, *_ = made
    assert unstable(run, []) == []
    others = theta[0].copy()
    others[:, :, 3] = others[:, ::-1, 3] ** 2
    other = make_run(tmp_path / "other", {0: others}, seed=1)
    assert unstable(run, [other]) == [3]
    view = edit(run, Edits(drops=[0]), tmp_path / "without")
    assert unstable(view, [other]) == [3]
    with pytest.raises(UsageError, match="all chains have found 0 of 6 topics, and 2 are the few"):
        unstable(make_run(tmp_path / "young", {0: theta[0], 1: theta[1]}, burn_in=True), [])
    with pytest.raises(UsageError, match="has one chain, which cannot know"):
        unstable(other, [])
    early = make_run(tmp_path / "early", {0: theta[1]}, burn_in=True)
    for runs in ((other, early), (early, other), (run, early), (early, run)):
        with pytest.raises(UsageError, match="no posterior sample yet of .*early, which cannot te"):
            unstable(runs[0], [runs[1]])


def test_names_of_topics_that_are_dropped_unasked_are_passed_over(made, tmp_path):
    edits = Edits(labels={1: "Sport", 3: "Law"}, drops=[0], groups={"A": (1, 3), "B": (3,)})
    view = edit(made[0], edits.dropping([3]), tmp_path / "view")
    assert view.view.dropped == (0, 3)
    assert view.labels == {1: "Sport"} and view.view.groups == {"A": (1,)}


def test_merged_shares_and_words_have_the_intervals_of_the_sum(made, tmp_path):
    _, theta, share, _ = made
    view = posterior_of([view_of(made, tmp_path)], level=0.8)
    assert view.labels.numbers == (0, 1, 3, 5) and view.found.all()
    summed = np.stack([share[..., part].sum(axis=-1) for part in SHOWN], axis=-1)
    np.testing.assert_allclose(view.share, summed.mean(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose([c.share for c in view.chains], summed, rtol=1e-12)
    # p(word | topic 1 or 4), by the tokens of both, in every sample
    phi = theta / theta.sum(axis=2, keepdims=True)
    joint = phi[..., [1, 4]] * share[:, :, None, [1, 4]]
    by_hand = joint.sum(axis=-1) / share[:, :, None, [1, 4]].sum(axis=-1)
    words = np.argsort(-view.phi[1])[:10]
    np.testing.assert_allclose(view.phi[1], by_hand.mean(axis=(0, 1)), rtol=1e-5)
    found = view.intervals(np.tile(words, (4, 1)))
    alone = posterior_of([hand_made(tmp_path, by_hand, phi)], level=0.8)
    expected = alone.intervals(np.tile(words, (4, 1)))
    np.testing.assert_allclose(found.low[1], expected.low[1], rtol=1e-5)
    np.testing.assert_allclose(found.high[1], expected.high[1], rtol=1e-5)


def test_a_merged_topic_has_one_share(made, tmp_path, monkeypatch):
    """That of all chains, which its table has; for it no sample is read again."""
    view, share = view_of(made, tmp_path), made[2]
    posterior = posterior_of([view])
    monkeypatch.setattr("topicmc.topics.of_views.posterior_mean", None)
    told = facts_of(view, posterior)
    assert told["merged"][0]["share"] == posterior.share[1]
    assert told["merged"][0]["share"] != pytest.approx(share[0][:, [1, 4]].sum(axis=1).mean())
    assert told["dropped"]["share"] == pytest.approx(share[0][:, 2].mean())


def test_a_draw_of_a_second_chain_is_in_the_order_of_the_first(made, tmp_path):
    """The prior of the mixes with it; of a view, too, which shows topics of the whole run."""
    run, theta, _, alpha = made
    for posterior in (posterior_of([run]), posterior_of([view_of(made, tmp_path)])):
        for number, chain in enumerate(posterior.believed):
            for i, entry in enumerate(chain.entries):
                sample = _drawn(chain, entry, True, Threads(1)).sample
                np.testing.assert_allclose(sample.theta, theta[number, i], rtol=1e-6)
                np.testing.assert_allclose(sample.alpha, alpha[number, i])


def test_trends_of_merged_topics_are_sums_of_trends(made, tmp_path, small_corpus, monkeypatch):
    """Of all tokens, those of topics that are dropped among them. Mixes under the mean words of a
    merged topic would be others."""
    times = np.full(small_corpus.n_docs, np.datetime64("2001-07-01"))
    times[: small_corpus.n_docs // 2] = np.datetime64("1950-07-01")
    monkeypatch.setattr(small_corpus, "times", times)
    n_words = small_corpus.n_words
    generator = np.random.default_rng(3)
    theta = generator.gamma(0.2, size=(2, 8, n_words, N_TOPICS)).astype(np.float32) + 1e-3
    theta[1] = theta[0]  # so that the chains match
    run = make_run(tmp_path / "long", {0: theta[0], 1: theta[1][:, :, ORDER]})
    view = edit(run, EDITS, tmp_path / "shown")

    def trends(run: TopicRun) -> np.ndarray:
        posterior = posterior_of([run])
        shown, periods = np.arange(len(posterior.phi)), periods_of(small_corpus, None)
        _, rows = trends_of(posterior, shown, small_corpus, periods)
        return np.array(rows, float)[:, [0, -1], 0]

    whole = trends(run)
    np.testing.assert_allclose(whole.sum(axis=0), 1, atol=0.005)
    expected = np.array([whole[part].sum(axis=0) for part in SHOWN])
    np.testing.assert_allclose(trends(view), expected, rtol=0.01)


def hand_made(tmp_path: Path, merged: np.ndarray, phi: np.ndarray) -> TopicRun:
    """A run whose samples are the topics merged by hand, (2, n, W) and (2, n, W, K)."""
    topics = np.stack([phi[..., 0], merged, phi[..., 3], phi[..., 5]], axis=-1)
    return make_run(tmp_path / "by-hand", {0: topics[0], 1: topics[1]})


def test_a_group_that_no_chain_with_samples_has_found(tmp_path):
    """The first chain is in its start, and the other has another topic in the place of one."""
    shapes = topic_shapes(N_WORDS, 4)
    other = shapes.copy()
    other[:, 1] = topic_shapes(N_WORDS, 1, seed=9)[:, 0]
    generator = np.random.default_rng(7)
    run = make_run(
        tmp_path / "run", {c: generator.gamma(of, size=(4, *of.shape)).astype(np.float32)
                           for c, of in enumerate((shapes, other))}
    )  # fmt: skip
    entries = run.sample_index()
    run.write_sample_index([{**entry, "burn_in": entry["chain"] == 0} for entry in entries])
    view = edit(run, Edits(groups={"Public": (1, 3), "Rest": (0, 2)}), tmp_path / "view")
    posterior = posterior_of([view])
    public, rest = facts_of(view, posterior)["groups"]
    assert public["share"] is None and rest["share"] > 0
    assert "Group Public: cannot be told, 1, 3." in sentences(view, posterior)


def test_what_is_not_touched_stays_as_it_was(made, tmp_path):
    run, _, _, alpha = made
    view = view_of(made, tmp_path)
    for entry in run.sample_index():
        mine = [0, 3, 5] if entry["chain"] == 0 else np.argsort(ORDER)[[0, 3, 5]]
        before, after = run.read_sample(entry), view.read_sample(entry)
        np.testing.assert_array_equal(after[:, [0, 2, 3]], before[:, mine])
        known = alpha[entry["chain"], entry["round"] - 100]
        expected = [known[part].sum() for part in SHOWN]
        np.testing.assert_allclose(alpha_of(view, entry), expected, rtol=1e-12)
    mean, whole = posterior_mean(view, 1), posterior_mean(run, 1)
    np.testing.assert_allclose(mean.share[2], whole.share[np.argsort(ORDER)[3]], rtol=1e-12)
    dropped = whole.share[np.argsort(ORDER)[2]]
    assert mean.share.sum() == pytest.approx(1 - dropped, rel=1e-12)


def test_draws_of_counts_are_those_of_the_run(tmp_path):
    """Where counts are kept, θ is drawn around them: first drawn, then summed."""
    shapes = topic_shapes(N_WORDS, 4)
    counts = np.rint(shapes).astype(np.float32) + np.float32(0.01)
    run = make_run(tmp_path / "run", {0: [counts] * 3}, sampler="adlda")
    view = edit(run, Edits(merges=[(0, 2)]), tmp_path / "view")
    entry = run.sample_index()[1]
    before, after = (draw_of(shown, entry, Threads()) for shown in (run, view))
    np.testing.assert_array_equal(after[:, 1:], before[:, [1, 3]])
    np.testing.assert_allclose(after[:, 0], before[:, 0] + before[:, 2], rtol=1e-6)


def test_an_edit_of_a_view_goes_on_from_it(made, tmp_path):
    view = view_of(made, tmp_path)
    again = edit(view, Edits(merges=[(3, 1)], labels={5: "Art"}), tmp_path / "again")
    assert again.path == made[0].path and again.view is not None
    assert again.view.parts == ((0,), (3, 1, 4), (5,)) and again.view.dropped == (2,)
    assert again.labels == {3: "Law", 5: "Art"} and again.view.groups == {"Public": (3,)}
    gone = edit(again, Edits(labels={3: ""}, groups={"Public": ()}), tmp_path / "gone")
    assert gone.labels == {5: "Art"} and gone.view.groups == {}


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        (Edits(drops=[6]), "the topics are 0 to 5"),
        (Edits(drops=[4], merges=[(1, 4)]), "it is part of topic 1; name 1"),
        (Edits(drops=[2], labels={2: "Gone"}), "it was dropped"),
        (Edits(merges=[(3, 3)]), "name two topics or more, each once"),
        (Edits(merges=[(3, 1), (1, 5)]), "it is part of topic 3; name 3"),
        (Edits(drops=[0, 1, 2, 3, 4]), "2 are the fewest"),
        (Edits(groups={"A": (1,), "B": (1,)}), "it can be in one group"),
        (Edits(groups={"A": (7,)}), "the topics are 0 to 5"),
        (Edits(labels={1: "\x1b[31mred"}), "cannot be printed"),
        (Edits(labels={1: "x" * 101}), "longer than 100"),
        (Edits(groups={"two\nlines": (1,)}), "cannot be printed"),
    ],
)
def test_what_cannot_be_is_refused(made, tmp_path, edits, told):
    with pytest.raises(UsageError) as error:
        view_of(made, tmp_path, edits)
    assert told in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "view").exists()


def change(view: Path, **values) -> None:
    """With a checksum that fits."""
    record = json.loads((view / NAME).read_text()) | values
    record.pop("checksum")
    (view / NAME).write_text(json.dumps({**record, "checksum": own_checksum(record)}))


HOSTILE = {
    "number out of range": ({"parts": [[0], [1, 6]]}, "topic 6: the topics are 0 to 5"),
    "negative": ({"parts": [[0], [-1]]}, "topic -1: the topics are 0 to 5"),
    "twice": ({"parts": [[0], [1, 0]]}, "a topic is part of two"),
    "no order": ({"parts": [[3], [1]]}, "its parts are in no order"),
    "too few": ({"parts": [[3]]}, "1 topic would be left"),
    "none": ({"parts": [[], [1]]}, "numbers of topics are none"),
    "no numbers": ({"parts": [["1"], [2]]}, "numbers of topics are none"),
    "no list": ({"parts": 5}, "parts is no list"),
    "flags": ({"parts": [[0], [True]]}, "numbers of topics are none"),
    "huge": ({"parts": [[0], [10**30]]}, "the topics are 0 to 5"),
    "label of none": ({"labels": {"2": "x"}}, "topic 2: it was dropped"),
    "label that is none": ({"labels": {"1": 5}}, "is 5, not what can stand there"),
    "label of escapes": ({"labels": {"1": "\x1b[2J"}}, "cannot be printed"),
    "group of none": ({"groups": {"x": [2]}}, "topic 2: it was dropped"),
    "group that is none": ({"groups": {"x": "1"}}, "numbers of topics are none"),
    "order of none": ({"orders": {"1": [0, 0, 1, 2, 3, 4]}}, "order of a chain's topics is none"),
    "order of few": ({"orders": {"1": [0, 1]}}, "order of a chain's topics is none"),
    "order that is huge": ({"orders": {"1": [10**30, 1, 2, 3, 4, 5]}}, "damaged ("),
    "order of what": ({"orders": {"x": [0, 1, 2, 3, 4, 5]}}, "invalid literal"),
    "run with a zero": ({"run": "run\0"}, "not what can stand there"),
    "no run": ({"run": "../nowhere"}, "its run is not in"),
    "run no text": ({"run": ["x"]}, "it has no 'run'"),
    "itself": ({"run": "."}, "is a view itself"),
    "fingerprint": ({"fingerprint": "0"}, "shows another run"),
    "newer": ({"format": 2}, "written by a newer topicmc"),
}


@pytest.mark.parametrize(("values", "told"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_views_are_refused(made, tmp_path, values, told):
    view_of(made, tmp_path)
    change(tmp_path / "view", **values)
    with pytest.raises(DataError) as error:
        TopicRun.open(tmp_path / "view")
    assert told in str(error.value) and "\n" not in str(error.value)


def test_views_of_views_damage_and_links(made, tmp_path):
    view_of(made, tmp_path)
    text = (tmp_path / "view" / NAME).read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / NAME).write_text(text)
    change(tmp_path / "view", run="../other")
    change(tmp_path / "other", run="../view")
    with pytest.raises(DataError, match="a view itself"):
        TopicRun.open(tmp_path / "view")
    (tmp_path / "view" / NAME).write_text(text.replace("Sport", "Spurt"))
    with pytest.raises(DataError, match="checksum"):
        TopicRun.open(tmp_path / "view")
    (tmp_path / "view" / NAME).unlink()
    (tmp_path / "view" / NAME).symlink_to(tmp_path / "other" / NAME)
    with pytest.raises(DataError, match="leads out"):
        TopicRun.open(tmp_path / "view")


def test_another_run_is_refused_and_more_training_is_told(made, tmp_path):
    run = made[0]
    view = view_of(made, tmp_path)
    assert not view.has_moved_on()
    run.write_sample_index(run.sample_index()[2:])
    told = remarks(TopicRun.open(tmp_path / "view"))
    assert len([remark for remark in told if "trained on since" in remark]) == 1
    run.update_facts(created="later")
    with pytest.raises(DataError, match="shows another run"):
        TopicRun.open(tmp_path / "view")


def test_a_model_of_a_view_has_its_names(made, tmp_path):
    """Of any chain, in the numbers of the first, priors too."""
    run, theta, *_ = made
    given = Additions.of_words(np.array([5]), np.arange(1.0, 1 + N_TOPICS)[None], N_WORDS)
    facts = run.facts()
    told = {"config": {**facts["config"], "updates": None}, "prior": run._write_additions(given)}
    run.update_facts(passes=1.0, corpus={**facts["corpus"], "words": N_WORDS}, **told)
    view_of((TopicRun.open(run.path),), tmp_path, Edits(labels={1: "Sport"}))
    for chain, order in ((0, np.arange(N_TOPICS)), (1, np.argsort(ORDER))):
        model = LDA.from_run(tmp_path / "view", chain=chain)
        assert model.topic_names_ == [None, "Sport", None, None, None, None]
        phi = theta[chain] / theta[chain].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.samples_, phi.transpose(0, 2, 1), 1e-5, 1e-12)
        more = model.topic_word_prior_[:, 5] - model.topic_word_prior_[:, 6]
        np.testing.assert_allclose(more, 1 + order)


@pytest.mark.parametrize("edits", [Edits(merges=[(1, 4)]), Edits(drops=[2])])
def test_a_model_is_of_all_topics_of_a_run(made, tmp_path, edits):
    view_of(made, tmp_path, edits)
    with pytest.raises(UsageError, match="view: .* merges or drops topics, .*; open .*run"):
        LDA.from_run(tmp_path / "view")


def test_a_view_is_not_trained_and_says_what_is(made, tmp_path):
    """Of a run that was saved from Python, too, which no command trains."""
    view = view_of(made, tmp_path).place
    with pytest.raises(UsageError, match=r"train its run \(topicmc train .*run --resume\)"):
        resume(view, {}, LocalTransport(1), None)
    made[0].update_facts(saved=True)
    with pytest.raises(UsageError, match=r"train its run \(LDA\.from_run and partial_fit in Pyth"):
        resume(view, {}, LocalTransport(1), None)


def test_nothing_but_a_view_is_replaced(made, tmp_path):
    (tmp_path / "view").mkdir()
    with pytest.raises(UsageError, match="is no view"):
        view_of(made, tmp_path)
    (tmp_path / "view").rmdir()
    view_of(made, tmp_path)
    with pytest.raises(UsageError, match="--force"):
        view_of(made, tmp_path)
    (tmp_path / "view/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no view"):
        edit(made[0], EDITS, tmp_path / "view", force=True)
    for place in (made[0].path / "samples", tmp_path / "run" / "corpus"):
        with pytest.raises(UsageError, match="whose files are read; write elsewhere"):
            edit(made[0], EDITS, place / "view")


def test_a_view_of_fewer_topics_goes_alone(made, tmp_path):
    """No run has topics that could be matched to those of a sum; it is told what can be named."""
    view, other = view_of(made, tmp_path), make_run(tmp_path / "other", {0: made[1][0]}, seed=1)
    told = rf"goes alone: name its run \({made[0].path}\) beside the other"
    for runs in ([view, other], [other, view]):
        with pytest.raises(UsageError, match=told):
            posterior_of(runs)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "topic,words,label\n3,match team,Sport\n1,oil,\n 12 ,x, Law ,\n,,\n \n"),
        ("a.json", '{"3": "Sport", "12": "Law", "1": ""}'),
        ("a.json", '[{"topic": 3, "name": "Sport"}, {"topic": 12, "label": "Law"}]'),
        ("a.json", '{"topics": [{"topic": 3, "label": "Sport"}, {"topic": 1},'
                   ' {"topic": 12, "label": "Law"}]}'),
    ],
)  # fmt: skip
def test_files_of_names(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert read_labels(tmp_path / name) == {3: "Sport", 12: "Law"}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "3,Sport\n", "names its columns"),
        ("a.csv", "topic,label\nx,Sport\n", "row 2: 'x' is no number"),
        ("a.csv", "topic,label\n3,Sport\n3,Law\n", "row 3: topic 3 has a name already"),
        ("a.csv", "topic,label\n3\n", "row 2: has no label"),
        ("a.csv", "topic,label\n3,Sport, games\n", "row 2 has 3 cells, and the first line 2"),
        ("a.csv", "topic,label,label\n3,Sport,Law\n", "names its columns"),
        ("a.json", '{"3": "Sport", "3": "Law"}', "'3' comes twice"),
        ("a.csv", "", "names its columns"),
        ("a.csv", "topic,label\n", "holds no names"),
        ("a.json", '{"3": 5}', "no name"),
        ("a.json", '{"-3": "x"}', "no number"),
        ("a.json", "[5]", "item 1: names no topic"),
        ("a.json", "5", "names no topic"),
        ("a.json", "{", "JSON"),
    ],
)
def test_files_of_something_else(tmp_path, name, content, told):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        read_labels(tmp_path / name)
    assert told.replace("'x'", "x") in str(error.value) and "\n" not in str(error.value)


def test_the_tree_joins_by_mean_distance(made, tmp_path):
    view = view_of(made, tmp_path, Edits(drops=[1]))
    phi = np.array([[4, 4, 1, 1], [4, 3, 2, 1], [1, 1, 4, 4], [0, 1, 4, 5], [5, 5, 0, 0]]) / 10
    tree = tree_of(phi)

    def apart(a: int, b: int) -> float:
        return np.sqrt(1 - np.sqrt(phi[a] * phi[b]).sum())

    labels = posterior_of([view]).labels
    joins = joins_of(tree, labels)
    assert joins[0]["parts"] == [{"topic": 0}, {"topic": 2}]  # the view has no topic 1
    assert joins[0]["distance"] == pytest.approx(apart(0, 1))
    assert joins[-1]["topics"] == 5
    assert joins[-1]["distance"] == pytest.approx(
        np.mean([apart(a, b) for a in (0, 1, 4) for b in (2, 3)])
    )
    lines = list(lines_of(tree))
    assert sorted(column for _, column, _ in lines if column is not None) == [0, 1, 2, 3, 4]
    branches = "|├ |│ ├ |│ └ |└ |  ├ |  └ |    ├ |    └ "
    assert "|".join(before for before, _, _ in lines) == branches
    assert lines[0] == ("", None, joins[-1]["distance"])


def test_a_few_small_topics_of_many_are_not_collapsed(tmp_path):
    """Their mean size is that of all topics, not of those that a view shows."""
    shapes = topic_shapes(60, 30)
    theta = np.random.default_rng(1).gamma(shapes, size=(8, *shapes.shape)).astype(np.float32)
    run = make_run(tmp_path / "run", {0: theta})
    entries = run.sample_index()
    for entry in entries:
        entry["share"] = [0.01] * 3 + [0.97 / 27] * 27
    run.write_sample_index(entries)
    view = edit(TopicRun.open(run.path), Edits(drops=list(range(3, 30))), tmp_path / "view")
    assert len(view.numbers) == 3
    assert not any("collapsed" in flag for flag in diagnose([view]).flags)


def test_names_are_of_any_script():
    assert fault_of_name("経済\u3000政治") is fault_of_name("می\u200cخواهم") is None
    assert "cannot be printed" in fault_of_name("x\u202e")

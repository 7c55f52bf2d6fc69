"""npy, CSV, JSON Lines and Parquet, read back by NumPy, pandas and PyArrow."""

import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from topicmc.export import export
from topicmc.topics.ranking import top


def test_topics_are_the_mean_over_a_chain(made, topics):
    np.testing.assert_allclose(topics.phi, made.phi[0].mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(topics.share, made.share[0].mean(axis=0), atol=1e-12)
    other = made.source(chain=1).topics
    assert np.abs(topics.phi - other.phi).max() > 0.01


def test_npy(made, topics, tmp_path):
    export(made.source(), "npy", tmp_path / "t")
    np.testing.assert_array_equal(np.load(tmp_path / "t/phi.npy"), topics.phi)
    np.testing.assert_array_equal(np.load(tmp_path / "t/alpha.npy"), topics.alpha)
    words = (tmp_path / "t/vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert words == topics.vocabulary


@pytest.fixture(params=["csv", "parquet"])
def table(request, made, tmp_path):
    """What a table of rows holds, read back, for some number of words."""

    def read(**options) -> pd.DataFrame:
        path = tmp_path / f"topics.{request.param}"
        export(made.source(**options), request.param, path, force=True)
        if request.param == "csv":
            return pd.read_csv(path, keep_default_na=False)
        return parquet.read_table(path).to_pandas()

    return read


def test_rows_of_all_words(table, topics):
    rows = table(words="all")
    assert list(rows) == ["topic", "share", "alpha", "rank", "word", "probability"]
    place = {word: w for w, word in enumerate(topics.vocabulary)}
    phi = np.zeros_like(topics.phi)
    phi[rows["topic"], rows["word"].map(place)] = rows["probability"]
    np.testing.assert_array_equal(phi, topics.phi)
    for k, mine in rows.groupby("topic"):
        assert mine["rank"].tolist() == list(range(1, 121))
        assert mine["probability"].is_monotonic_decreasing
        assert set(mine["share"]) == {topics.share[k]}
        assert set(mine["alpha"]) == {topics.alpha[k]}


@pytest.mark.parametrize(("options", "n"), [({}, 20), ({"words": 3}, 3), ({"words": 999}, 120)])
def test_rows_of_the_likeliest_words(table, topics, options, n):
    rows = table(**options)
    likeliest = np.argsort(-topics.phi, axis=1, kind="stable")[:, :n]
    assert rows["word"].tolist() == [topics.vocabulary[w] for w in likeliest.ravel()]
    expected = np.take_along_axis(topics.phi, likeliest, axis=1).ravel()
    np.testing.assert_array_equal(rows["probability"], expected)
    assert rows["rank"].tolist() == list(range(1, n + 1)) * 5


def test_row_groups_hold_several_topics(made, tmp_path, monkeypatch):
    """Of 20 rows each: readers are slow where groups are many."""
    for rows, groups in ((1 << 18, [100]), (50, [60, 40])):
        monkeypatch.setattr("topicmc.export.parquet._ROW_GROUP", rows)
        export(made.source(), "parquet", tmp_path / "topics.parquet", force=True)
        told = parquet.read_metadata(tmp_path / "topics.parquet")
        assert [told.row_group(i).num_rows for i in range(told.num_row_groups)] == groups


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_words_of_one_topic_are_ranked_at_a_time(made, tmp_path, monkeypatch, format):
    """Those of all would take as much memory as φ does, and more."""
    topics = []

    def ranked(scores, n):
        topics.append(len(scores))
        return top(scores, n)

    monkeypatch.setattr(f"topicmc.export.{format}.top", ranked)
    export(made.source(words="all"), format, tmp_path / f"topics.{format}")
    assert topics == [1] * 5


@pytest.mark.parametrize(("options", "n"), [({}, 20), ({"words": "all"}, 120)])
def test_jsonl(made, topics, tmp_path, options, n):
    path = tmp_path / "topics.jsonl"
    export(made.source(**options), "jsonl", path)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["topic"] for record in records] == [0, 1, 2, 3, 4]
    assert [record["alpha"] for record in records] == topics.alpha.tolist()
    assert [record["share"] for record in records] == topics.share.tolist()
    for k, record in enumerate(records):
        order = np.argsort(-topics.phi[k], kind="stable")[:n]
        assert record["top_words"] == [topics.vocabulary[w] for w in order]
        assert record["probabilities"] == topics.phi[k, order].tolist()

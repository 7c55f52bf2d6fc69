"""The kept samples, read by ArviZ, and by xarray, which is what ArviZ reads with from 1.0 on."""

import warnings

import numpy as np
import pytest
from made_run import ALPHA, N_DRAWS, make_run

from topicmc.errors import UsageError
from topicmc.export import export
from topicmc.export.arviz import inference_data
from topicmc.models.lda.run import TopicRun

xarray = pytest.importorskip("xarray")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # 0.23 speaks of 1.0
    az = pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("arviz") / "samples.nc"
    export(made.source(), "arviz", path)
    return path


@pytest.fixture(params=[az.from_netcdf, xarray.open_datatree], ids=["arviz", "xarray"])
def data(request, file):
    return request.param(file)


def test_samples_are_ours_and_chains_are_matched(data, made):
    """Chain 1 numbers its topics differently in the run."""
    posterior = data["posterior"]
    assert posterior["phi"].dims == ("chain", "draw", "topic", "rank")
    words = np.argsort(-made.phi.mean(axis=(0, 1)), axis=1)[:, :10]
    expected = np.take_along_axis(made.phi, words[None, None], axis=3)
    np.testing.assert_allclose(posterior["phi"], expected, atol=1e-9)
    np.testing.assert_allclose(posterior["share"], made.share, atol=1e-12)
    np.testing.assert_allclose(posterior["alpha"], np.broadcast_to(ALPHA, (2, N_DRAWS, 5)))
    assert posterior["topic"].values.tolist() == [0, 1, 2, 3, 4]
    vocabulary = np.array(TopicRun.open(made.path).vocabulary())
    assert data["constant_data"]["word"].values.tolist() == vocabulary[words].tolist()
    assert data["constant_data"]["found"].values.tolist() == [2] * 5
    np.testing.assert_allclose(data["sample_stats"]["log_likelihood"], made.fit)
    assert posterior.attrs["inference_library"] == "topicmc"


def test_arviz_summarises_them(file, made):
    """Topics that were not matched would have an R-hat far from 1."""
    table = az.summary(az.from_netcdf(file), var_names=["share"], round_to="none")
    assert list(table.index) == [f"share[{k}]" for k in range(5)]
    np.testing.assert_allclose(table["mean"].astype(float), made.share.mean(axis=(0, 1)))
    assert (table["r_hat"].astype(float) < 2).all()


def test_no_chain_is_averaged_by_itself(made, tmp_path, monkeypatch):
    monkeypatch.setattr("topicmc.export.source.posterior_mean", None)
    export(made.source(), "arviz", tmp_path / "samples.nc")


def test_several_runs_and_all_words(made, small_corpus, tmp_path):
    """Chains of all runs, in the numbers of the first; only as many draws as every chain has."""
    other = make_run(small_corpus, tmp_path / "other", seed=6)
    run = TopicRun.open(other.path)
    run.write_sample_index([entry for entry in run.sample_index() if entry["round"] > 10])
    source = made.source(words=1000)
    source.runs = [*source.runs, run]
    export(source, "arviz", tmp_path / "samples.nc")
    posterior = az.from_netcdf(tmp_path / "samples.nc")["posterior"]
    assert posterior["phi"].shape == (4, N_DRAWS - 1, 5, 120)
    expected = np.concatenate([made.share, other.share])[:, 1:]
    np.testing.assert_allclose(posterior["share"], expected, atol=1e-12)
    np.testing.assert_allclose(posterior["phi"].sum("rank"), 1, atol=1e-6)


def test_words_that_do_not_fit_in_memory_are_refused(made, monkeypatch):
    """Of 5 topics, in 12 draws, three times 8 bytes each."""
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 12 * 5 * 10 * 24)
    runs = made.source().runs
    assert inference_data(runs, 10)["posterior"]["phi"].shape[-1] == 10
    with pytest.raises(UsageError, match="--words 11: 12 draws of so many words of 5 topics need"):
        inference_data(runs, 11)


def test_a_run_without_held_out_documents(small_corpus, tmp_path):
    made = make_run(small_corpus, tmp_path / "run", seed=7, heldout=False)
    tree = inference_data([TopicRun.open(made.path)])
    assert set(tree.children) == {"posterior", "constant_data"}


def test_collapsed_samplers_are_drawn_from(made, small_corpus, tmp_path):
    """Their states are counts; the probabilities must vary as the posterior does, not less."""
    other = make_run(small_corpus, tmp_path / "run", seed=5)
    run = TopicRun.open(other.path)
    run.update_facts(config={**run.facts()["config"], "sampler": "adlda"})
    drawn = inference_data([run])["posterior"]["phi"].values
    kept = inference_data(made.source().runs)["posterior"]["phi"].values
    assert drawn.std(axis=1).mean() > 1.2 * kept.std(axis=1).mean()


def test_a_chain_that_was_given_up_is_left_out(small_corpus, tmp_path):
    """It has no draws of the same moments as the other, and would cut that down to its own."""
    run = TopicRun.open(make_run(small_corpus, tmp_path / "run", seed=8).path)
    for position in range(1, 17):
        chains = {"0": {"log joint": float(position % 3)}}
        if position < 10:
            chains["1"] = {"log joint": 0.0}
        run.append_trace({"position": position, "burn_in": False, "chains": chains})
    run.write_sample_index(
        [entry for entry in run.sample_index() if entry["chain"] == 0 or entry["round"] < 12]
    )
    tree = inference_data([run])
    assert tree["posterior"]["share"].shape == (1, N_DRAWS, 5)
    assert tree["posterior"]["phi"].shape[:2] == (1, N_DRAWS)
    assert tree["trace"]["log_joint"].shape == (1, 8)

"""`MatrixFactorization`: in the shape of scikit-learn, and the same as the command."""

import pickle
import tracemalloc
from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from synthetic import write_ratings

from topicmc import MatrixFactorization
from topicmc.cli import main
from topicmc.engine.listeners import Silent
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, DivergedError, UsageError
from topicmc.host import machine
from topicmc.models.factors import jobs
from topicmc.models.factors.data import RatingFile
from topicmc.models.factors.settings import FactorConfig

SMALL = {"n_factors": 3, "max_iter": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    """The file, and its pairs and values, of which every fifth is for testing."""
    path = write_ratings(tmp_path_factory.mktemp("ratings"))
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    pairs, values = [tuple(row[:2]) for row in rows], np.array([float(row[2]) for row in rows])
    test = np.arange(len(rows)) % 5 == 0
    return path, pairs, values, test


def some(pairs, mask):
    return [pair for pair, inside in zip(pairs, mask, strict=True) if inside]


def test_new_ratings_are_predicted_with_their_spread(ratings):
    """R² above 0.4 (the truth has 0.85), and τ, which is sampled, gives 90 % intervals that hold 82
    to 96 % of 300 ratings: 5 deviations of 90 %, a false alarm in 10⁶, but for the model."""
    _, pairs, values, test = ratings
    gibbs = {"sampler": "gibbs", "max_iter": 80, "learn_noise": True, "n_chains": 2}
    model = MatrixFactorization(**{**SMALL, **gibbs})
    model.fit(some(pairs, ~test), values[~test])
    new = some(pairs, test)
    assert model.score(new, values[test]) > 0.4
    mean, deviation = model.predict(new, return_std=True)
    inside = np.abs(mean - values[test]) < 1.645 * deviation
    assert 0.82 < inside.mean() < 0.96
    assert np.array_equal(mean, model.predict(new))
    _, unknown = model.predict([("nobody", "nothing")], return_std=True)
    assert unknown[0] > deviation.max()


def test_the_same_seed_gives_the_same_bits(ratings):
    _, pairs, values, _ = ratings
    first = MatrixFactorization(**SMALL).fit(pairs, values)
    again = clone(first).set_params(n_jobs=3).fit(pairs, values)
    other = clone(first).set_params(random_state=1).fit(pairs, values)
    assert np.array_equal(first.predict(pairs), again.predict(pairs))
    assert not np.array_equal(first.predict(pairs), other.predict(pairs))


def test_it_is_what_the_command_does(ratings, tmp_path, monkeypatch):
    path, pairs, values, _ = ratings
    options = ("--factors", "3", "--epochs", "10", "--threads", "1", "--heldout", "0")
    with pytest.raises(SystemExit):
        main(["factors", "train", str(path), "-o", str(tmp_path / "run"), *options, "--json"])
    of_run = MatrixFactorization.from_run(tmp_path / "run")
    fitted = MatrixFactorization(**SMALL).fit(pairs, values)
    assert np.array_equal(of_run.predict(pairs), fitted.predict(pairs))
    assert of_run.get_params()["n_factors"] == 3
    with pytest.raises(DataError, match="no run here"):
        MatrixFactorization.from_run(tmp_path)
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 1_000)
    with pytest.raises(UsageError, match=r"samples of .* users .* one at a time"):
        MatrixFactorization.from_run(tmp_path / "run")


def test_a_model_of_a_gibbs_run_can_be_fitted(ratings, tmp_path):
    path, pairs, values, _ = ratings
    options = ("--sampler", "gibbs", "--factors", "2", "--epochs", "10", "--heldout", "0")
    with pytest.raises(SystemExit):
        main(["factors", "train", str(path), "-o", str(tmp_path / "run"), *options, "--json"])
    model = MatrixFactorization.from_run(tmp_path / "run")
    assert model.batch_size is None
    again = clone(model).fit(pairs, values)
    assert np.array_equal(model.predict(pairs), again.predict(pairs))


@pytest.mark.parametrize(
    ("told", "passes"),
    [
        (["--sampler", "gibbs"], 60),
        (["--sampler", "sgld"], 60 * 100 / 1500),
        (["--sampler", "sgd"], 60 * 100 / 1500),
        (["--split", "square", "--workers", "4", "--transport", "local"], 60 * 200 / 1500),
    ],
)
def test_a_model_of_a_run_of_so_many_updates_is_as_long(ratings, tmp_path, told, passes):
    """A minibatch is of 100 of 1,500 ratings; in a square a chain draws two at once."""
    path, pairs, values, _ = ratings
    options = (*told, "--factors", "2", "--updates", "60", "--heldout", "0", "--json")
    with pytest.raises(SystemExit):
        main(["factors", "train", str(path), "-o", str(tmp_path / "run"), *options])
    model = MatrixFactorization.from_run(tmp_path / "run")
    assert model.max_iter == pytest.approx(passes) and model.n_samples == 64
    clone(model).fit(pairs, values)


def test_a_step_that_is_too_large_is_told(ratings):
    _, pairs, values, _ = ratings
    model = MatrixFactorization(**{**SMALL, "step_size": 1e20})
    with pytest.raises(DivergedError, match="lower step_size .* or raise batch_size"):
        model.fit(pairs, values)
    model = MatrixFactorization(n_factors=1, sampler="gibbs", max_iter=60, noise_precision=1e308)
    with pytest.raises(DivergedError, match=r"lower noise_precision \(now 1e\+308\)") as told:
        model.fit([("a", "x"), ("a", "y"), ("b", "x")], [1, 2, 3])
    assert "--" not in str(told.value)


def test_ids_may_be_numbers_arrays_and_frames():
    pandas = pytest.importorskip("pandas")
    numbers = np.array([[1, 10], [2, 10], [1, 11], [3, 11]])
    values = [1.0, 2, 3, 4]
    small = MatrixFactorization(n_factors=1, max_iter=60, random_state=0)
    fitted = [
        small.fit(X, values).predict([("1", "10")])[0]
        for X in (
            numbers, numbers.astype(float), numbers.tolist(), numbers.astype(str),
            numbers.astype(float).tolist(), numbers.astype(np.float32).astype(object),
            numbers.astype("S2"), numbers.astype("S2").tolist(),
            pandas.DataFrame({"user": numbers[:, 0], "item": numbers[:, 1]}),
            pandas.DataFrame({"user": numbers[:, 0].astype(float), "item": numbers[:, 1]}),
        )
    ]  # fmt: skip
    assert len(set(fitted)) == 1
    assert small.user_ids_ and sorted(small.item_ids_) == ["10", "11"]


def test_ids_that_end_in_a_zero_byte_are_their_own():
    pairs = [("a", "x"), ("a\0", "x")]
    model = MatrixFactorization(n_factors=1, max_iter=60, random_state=0).fit(pairs, [1, 2])
    assert sorted(model.user_ids_) == ["a", "a\0"]


def test_a_long_id_does_not_make_the_others_long():
    """With text of one width 2,000 ids of 20,000 characters would take 160 MB."""
    pairs = [(f"user {i}", "x") for i in range(2_000)] + [("u" * 20_000, "x")]
    values = [float(i % 5) for i in range(len(pairs))]
    model = MatrixFactorization(n_factors=1, max_iter=60, random_state=0, n_jobs=1)
    model.fit(pairs[:500], values[:500])  # compiles
    tracemalloc.start()
    try:
        model.fit(pairs, values)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held < 40e6
    assert len(model.user_ids_) == len(pairs)


def test_a_truth_and_a_number_are_two_ids():
    pairs = [(True, "x"), (1, "x")]
    model = MatrixFactorization(n_factors=1, max_iter=60, random_state=0).fit(pairs, [1, 2])
    assert sorted(model.user_ids_) == ["1", "True"] and len(model.predict(pairs)) == 2


def test_dates_are_ids_as_they_are_written():
    dates = np.array([["2024-01-01", "2024-03-01"], ["2024-01-02", "2024-03-01"]], "M8[ns]")
    model = MatrixFactorization(n_factors=1, max_iter=60, random_state=0).fit(dates, [1, 2])
    assert [id[:10] for id in sorted(model.user_ids_)] == ["2024-01-01", "2024-01-02"]
    dates[1, 0] = "NaT"
    with pytest.raises(ValueError, match="X lacks ids"):
        model.fit(dates, [1, 2])


def test_who_listens_is_let_go_where_training_cannot_begin(monkeypatch):
    heard = []

    class Told(Silent):
        def close(self):
            heard.remove(self)

    monkeypatch.setattr(
        "topicmc.estimator.factors.listener", lambda *_: heard.append(Told()) or heard[-1]
    )
    with pytest.raises(ValueError, match="batch_size has no meaning"):
        MatrixFactorization(sampler="gibbs", batch_size=9).fit([("a", "x")], [1])
    assert not heard


@pytest.mark.parametrize("missing", ["NA", "NaT"])
def test_what_pandas_takes_for_missing_is_no_id(missing):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="X lacks ids"):
        MatrixFactorization().fit([("a", "x"), (getattr(pandas, missing), "x")], [1, 2])


def test_ids_may_read_like_what_is_missing():
    pairs = [("None", "x"), ("nan", "x")]
    model = MatrixFactorization(n_factors=1, max_iter=60, random_state=0).fit(pairs, [1, 2])
    assert sorted(model.user_ids_) == ["None", "nan"] and len(model.predict(pairs)) == 2


def test_a_fit_that_ends_in_its_start_warns():
    model = MatrixFactorization(n_factors=1, sampler="gibbs", max_iter=3)
    with pytest.warns(ConvergenceWarning, match="before the first sample"):
        model.fit([("a", "x"), ("b", "y")], [1, 2])
    assert len(model.samples_) == 1


def test_warnings_name_the_line_that_called():
    """Though scikit-learn, and joblib for it, call between."""
    pairs = [(user, item) for user in "abc" for item in "xyz"]
    model = MatrixFactorization(n_factors=1, sampler="gibbs", max_iter=3)
    with pytest.warns(ConvergenceWarning, match="before the first sample") as caught:
        cross_val_score(model, pairs, list(range(9)), cv=2)
    told = [w.filename for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert set(told) == {__file__}


def test_samples_that_do_not_fit_in_memory_are_refused_before_training(monkeypatch):
    """10,000 states of two users and two items, 32 bytes each for a factor and a bias."""
    free = machine.PROGRAM + machine.COMPILING + 100_000
    monkeypatch.setattr(machine, "available_memory", lambda: free)
    told = "the largest part for the samples, and .* keep fewer n_samples"
    with pytest.raises(ValueError, match=told):
        MatrixFactorization(n_factors=1, n_samples=10_000).fit([("a", "x"), ("b", "y")], [1, 2])


def test_a_scale_that_nobody_gave_is_not_asked_for(ratings, tmp_path):
    path, pairs, values, _ = ratings
    options = ("--factors", "2", "--epochs", "10", "--heldout", "0", "--force", "--json")
    for given in ((), ("--scale", "0", "9")):
        with pytest.raises(SystemExit):
            main(["factors", "train", str(path), "-o", str(tmp_path / "run"), *options, *given])
        model = MatrixFactorization.from_run(tmp_path / "run")
        assert model.scale == ((0, 9) if given else None)
        assert clone(model).fit(pairs, values + 4).predict(pairs).max() > 5


def test_a_pickled_model_predicts_the_same():
    model = MatrixFactorization(n_factors=1, max_iter=60).fit([("a", "x"), ("b", "y")], [1, 2])
    again = pickle.loads(pickle.dumps(model))
    assert again.predict([("a", "y")]) == model.predict([("a", "y")])


@pytest.mark.parametrize(
    ("parameters", "X", "y", "told"),
    [
        ({}, [("a", "x"), ("a", "x")], [1, 2], "the pair 'a', 'x' twice"),
        ({}, [("a", "x"), ("b", "x")], [1, np.nan], r"y\[1\] is not a finite number"),
        ({}, [("a", "x")], [1, 2], "X has 1 rows, and y has shape"),
        ({}, [("a", "x")], ["good"], "y must hold numbers"),
        ({}, [("a", "x", "?")], [1], r"\(n, 2\), and has shape \(1, 3\)"),
        ({}, ["a", "x"], [1, 2], r"\(n, 2\), and has shape"),
        ({}, [("a", None)], [1], "X lacks ids"),
        ({}, [("a", float("nan"))], [1], "X lacks ids"),
        ({}, np.array([[1.5, 2.0]]), [1], "numbers that are not whole"),
        ({}, [("a", 1.5)], [1], "numbers that are not whole"),
        ({}, [("a", float("inf"))], [1], "numbers that are not whole"),
        ({}, np.empty((0, 2)), [], "X holds no ratings"),
        ({"n_factors": -1}, [("a", "x")], [1], "n_factors -1 is out of range"),
        ({"sampler": "gibs"}, [("a", "x")], [1], "sampler 'gibs' is not one of"),
        ({"n_chains": 0}, [("a", "x")], [1], "n_chains 0 is out of range"),
        ({"sampler": "gibbs", "batch_size": 9}, [("a", "x")], [1], "batch_size has no meaning"),
        ({"sampler": "gibbs", "step_size": 2.0}, [("a", "x")], [1], "step_size has no meaning"),
        ({"sampler": "sgd", "n_samples": 9}, [("a", "x")], [1], "n_samples has no meaning"),
        ({"max_iter": 0}, [("a", "x")], [1], "max_iter 0 is out of range"),
        ({"scale": (5, 1)}, [("a", "x")], [1], "scale"),
        ({"scale": (2, 5)}, [("a", "x")], [1], "outside the scale from 2 to 5"),
        ({"scale": 5}, [("a", "x")], [1], "scale 5: give the least rating and the greatest"),
        ({"scale": (1, 2, 3)}, [("a", "x")], [1], "give the least rating and the greatest"),
        ({"scale": "15"}, [("a", "x")], [1], "scale '15': give the least"),
        ({"scale": (0, 1e19)}, [("a", "x")], [1], "give the least rating and the greatest"),
        ({}, [("a", "x"), ("b", "x")], [1, -1e19], r"y\[1\] is too large"),
        ({}, np.array([["a", "nan"]]), [1], "X lacks ids"),
        ({}, [("a", "")], [1], "X lacks ids"),
        ({}, np.array([[b"a", b"nan"]]), [1], "X lacks ids"),
        ({}, [("a", b"")], [1], "X lacks ids"),
        ({}, [("a", b"\xff")], [1], "X holds bytes that are not UTF-8"),
        ({}, [("a\ud800", "x")], [1], "X holds text that has no UTF-8"),
        ({}, [("a", ["x"])], [1], "X holds what is no id"),
    ],
)
def test_what_cannot_be_is_a_value_error(parameters, X, y, told):
    with pytest.raises(ValueError, match=told):
        MatrixFactorization(**parameters).fit(X, y)


def test_a_longer_run_goes_on_to_its_end_though_it_had_converged(tmp_path):
    ratings, transport = write_ratings(tmp_path), LocalTransport(1)
    config = FactorConfig(factors=2, updates=20, until="converged", threads=1)
    with ExitStack() as leases:
        jobs.start(config, RatingFile(ratings), tmp_path / "run", transport, leases=leases)
    with ExitStack() as leases:
        told = {"updates": 40}
        assert jobs.resume(tmp_path / "run", told, transport, leases)[0].until == "end"


def test_numbers_of_numpy_are_numbers(ratings):
    _, pairs, values, _ = ratings
    numbers = {"n_factors": np.int64(2), "max_iter": np.int32(60), "step_size": np.float32(4)}
    plain = {"n_factors": 2, "max_iter": 60, "step_size": 4.0}
    told = [
        MatrixFactorization(**given, random_state=0, n_jobs=1).fit(pairs, values).predict(pairs)
        for given in (numbers | {"learn_noise": np.True_}, plain | {"learn_noise": True})
    ]
    assert np.array_equal(*told)

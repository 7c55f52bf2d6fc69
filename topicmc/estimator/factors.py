"""`MatrixFactorization`: ratings by MCMC, in the shape that scikit-learn's users know."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from topicmc.engine.listeners import Terms, listener
from topicmc.engine.transport.local import LocalTransport
from topicmc.estimator.parameters import in_own_words, plain, seed_of
from topicmc.estimator.warning import warn
from topicmc.host.interrupts import Interrupt, on_ctrl_c, unwound
from topicmc.host.machine import check_room
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.jobs import run_on
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.model import training_of
from topicmc.models.factors.prediction import predict
from topicmc.models.factors.rating_columns import Columns
from topicmc.models.factors.rating_files import Table
from topicmc.models.factors.run import FactorRun
from topicmc.models.factors.scoring import numbers_of, states_of
from topicmc.models.factors.settings import MOST_RATING, FactorConfig, FactorSettings, Resolved
from topicmc.settings.values import AUTO
from topicmc.storage.files import temporary_folder
from topicmc.storage.scratch import aside, naming_tmpdir

_PARAMETERS = {
    "factors": "n_factors",
    "sampler": "sampler",
    "epochs": "max_iter",
    "time_budget": "time_budget",
    "batch_size": "batch_size",
    "step_size": "step_size",
    "noise_precision": "noise_precision",
    "learn_noise": "learn_noise",
    "samples": "n_samples",
    "chains": "n_chains",
    "workers": "n_chains",
}
"""By setting."""
_MISSING = ("None", "nan", "NaT", "<NA>")  # ids, as text


class MatrixFactorization(RegressorMixin, BaseEstimator):
    """Bayesian matrix factorisation of ratings by Markov chain Monte Carlo.

    A rating of item j by user i is mean + U_i·V_j + a_i + b_j and noise. Users, items and their
    precisions are sampled, so that a prediction is an average over the posterior and has a standard
    deviation.

    Parameters
    ----------
    n_factors : int, default=20
        Factors D of a user and of an item, besides their biases.
    sampler : {"sgld", "gibbs", "sgd"}, default="sgld"
        "sgld" moves by minibatches, "gibbs" draws all rows in every sweep; both sample the same
        posterior. "sgd" descends to a mode, which is no sample.
    max_iter : int, default=None
        Passes over the ratings, or sweeps. None: 1,000 of "sgld", 400 of "gibbs", 100 of "sgd".
    time_budget : float, default=None
        Seconds of training after which `fit` stops.
    batch_size : int, default=None
        Ratings in a minibatch, of "sgld" and "sgd". None: a sixteenth of them, 50,000 at most.
    step_size : float, default=4.0
        How far a row of "sgld" and "sgd" steps in a pass, in units of about half the way to its
        mode.
    noise_precision : float, default=2.0
        τ, the precision of a rating given user and item, in units of 1 / variance of the ratings.
    learn_noise : bool, default=False
        Whether τ is sampled, too, beginning with ``noise_precision``.
    n_chains : int, default=1
        Chains that know nothing of each other; predictions are averaged over all.
    n_samples : int, default=64
        Posterior samples of a chain that are kept at most, in memory; `fit` refuses more than fit
        there. "sgd" has none: leave it as it is.
    scale : (float, float), default=None
        Least and greatest rating; predictions are clipped to it. None: as in y.
    n_jobs : int, default=-1
        Threads; -1 for all cores. The result does not depend on it, unless `time_budget` ends the
        training.
    verbose : int, default=0
        Whether to show progress on stderr.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers. None: another one at each call.

    Attributes
    ----------
    samples_ : list of Factors
        The kept samples of all chains, oldest first: ``users`` (n_users, D + 1) and ``items``
        (n_items, D + 1), float32, the bias last, for ratings less `mean_` over `deviation_`. Chains
        rotate their factors freely, so average predictions, not factors.
    user_ids_, item_ids_ : list of str
        The ids of the rows.
    mean_, deviation_ : float
        Of the ratings.
    n_features_in_ : int
        2.

    Examples
    --------
    >>> from topicmc import MatrixFactorization
    >>> pairs = [("ann", "tea"), ("ann", "rain"), ("bob", "tea"), ("bob", "rain"), ("eve", "tea")]
    >>> model = MatrixFactorization(n_factors=2, max_iter=100, random_state=0)
    >>> model.fit(pairs, [5, 1, 4, 2, 5]).predict([("eve", "rain")]).shape
    (1,)
    """

    def __init__(
        self,
        n_factors=20,
        *,
        sampler="sgld",
        max_iter=None,
        time_budget=None,
        batch_size=None,
        step_size=4.0,
        noise_precision=2.0,
        learn_noise=False,
        n_chains=1,
        n_samples=64,
        scale=None,
        n_jobs=-1,
        verbose=0,
        random_state=None,
    ):
        self.n_factors = n_factors
        self.sampler = sampler
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.batch_size = batch_size
        self.step_size = step_size
        self.noise_precision = noise_precision
        self.learn_noise = learn_noise
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.scale = scale
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y):
        """Samples the posterior given ratings.

        Ctrl-C ends it with a ConvergenceWarning and what there is by then. Raises ValueError for
        parameters or data that cannot be honoured, DivergedError when a chain is no longer finite.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Users and items, text (str, or bytes in UTF-8) or whole numbers, compared as text; 31.0
            is 31. No pair may come twice.
        y : array-like of shape (n,)
            Ratings, numbers from −10¹⁸ to 10¹⁸.
        """
        interrupt = Interrupt()
        style = "auto" if self.verbose else "none"
        place = temporary_folder(aside(), "topicmc-")
        with unwound(), naming_tmpdir(), place as folder, in_own_words(_PARAMETERS):
            data, config = self._data(X, y), self._config()
            transport = LocalTransport(config.workers)
            resolved, run = run_on(config, data, folder / "run", transport)
            with closing(listener(style, Terms.of(FactorRun))) as told, on_ctrl_c(interrupt):
                outcome = training_of(resolved, data, run, transport, told).train(interrupt)
            self._adopt(run, data)
            is_starting = resolved.sampler != "sgd" and run.is_starting()
        if outcome.interrupted:
            warn(
                f"fit was interrupted after {outcome.update} updates: what there is is kept",
                ConvergenceWarning,
            )
        if is_starting:
            warn(
                "fit ended before the first sample of the posterior: raise max_iter or time_budget",
                ConvergenceWarning,
            )
        return self

    def predict(self, X, return_std=False):
        """Ratings of pairs, (n,) float64; with ``return_std`` their standard deviations as well.

        The deviation is that of a rating to come: what the posterior does not know of user and
        item, and the noise of ratings. New users and items are drawn from the prior.

        Raises ValueError for X that is not (n, 2), and for ids that are missing or cannot be.
        """
        check_is_fitted(self, "samples_")
        sides = map(_encoded, _columns(X))
        users, items = numbers_of(sides, (self._user_rows, self._item_rows))
        found = predict(self.samples_, users, items, self._scale)
        return (found.mean, found.deviation) if return_std else found.mean

    @classmethod
    def from_run(cls, path):
        """A fitted model from a run of `topicmc factors train`: all its kept samples in memory, and
        as `scale` that of the run if it was given there. A new `fit` of it has the defaults of
        settings that are no parameters here.

        Raises DataError when there is no run, it has no samples yet, or a file is damaged, and
        UsageError when memory is too small. Warns (ConvergenceWarning) if the run is still in its
        start.
        """
        run = FactorRun.open(Path(path))
        _check_memory(run)
        config, scale, data = run.config(), run.scale(), run.data()
        model = cls(
            config.factors,
            sampler=config.sampler,
            max_iter=_passes_of(config, data),
            time_budget=config.time_budget,
            batch_size=None if config.sampler == "gibbs" else config.batch_size,
            step_size=config.step_size,
            noise_precision=config.noise_precision,
            learn_noise=config.learn_noise,
            n_chains=config.chains,
            n_samples=FactorSettings.samples if config.sampler == "sgd" else config.samples,
            scale=(scale.low, scale.high) if run.has_given_scale() else None,
            random_state=config.seed,
        )
        model._adopt(run, data)
        if config.sampler != "sgd" and run.is_starting():
            warn(
                f"{path}: the run is in its start, without a sample of the posterior yet",
                ConvergenceWarning,
            )
        return model

    # ---- inside

    def _adopt(self, run: FactorRun, data: RatingData) -> None:
        self.samples_ = list(states_of(run))
        self.user_ids_ = [data.user_ids[i] for i in range(len(data.user_ids))]
        self.item_ids_ = [data.item_ids[i] for i in range(len(data.item_ids))]
        users, items = data.trained(np.arange(len(data.user_ids)), np.arange(len(data.item_ids)))
        self._user_rows = dict(zip(self.user_ids_, users.tolist(), strict=True))
        self._item_rows = dict(zip(self.item_ids_, items.tolist(), strict=True))
        self._scale = data.scale
        self.mean_, self.deviation_ = data.scale.mean, data.scale.deviation
        self.n_features_in_ = 2

    def _config(self) -> FactorConfig:
        given = {name: plain(getattr(self, parameter)) for name, parameter in _PARAMETERS.items()}
        return FactorConfig(
            **{name: value for name, value in given.items() if value is not None},
            seed=seed_of(self.random_state),
            threads=effective_n_jobs(self.n_jobs),
            evaluate_every=AUTO,
            checkpoint_every="24h",
        )

    def _data(self, X: Any, y: Any) -> RatingData:
        """The ratings; what they are made of goes with this call."""
        columns = _columns(X)
        values = _values(y, columns.shape[1])
        return RatingData.of(_table(columns, values), 0.0, *self._ends(values))

    def _ends(self, values: np.ndarray) -> tuple[float | None, float | None]:
        if self.scale is None:
            return None, None
        try:
            low, high = map(float, () if isinstance(self.scale, str) else self.scale)
        except (TypeError, ValueError):
            low = high = np.nan
        if not -MOST_RATING <= low < high <= MOST_RATING:
            raise ValueError(f"scale {self.scale!r}: give the least rating and the greatest")
        if values.min() < low or values.max() > high:
            raise ValueError(f"y holds ratings outside the scale from {low:g} to {high:g}")
        return low, high


def _check_memory(run: FactorRun) -> None:
    """UsageError where memory is too small for all samples of a run."""
    number, about, width = len(run.states_to_read()), run.facts()["ratings"], run.config().factors
    check_room(
        4.0 * number * (about["users"] + about["items"]) * (width + 1),
        f"{run.path}: {number} samples of {about['users']:,} users and {about['items']:,} items",
        "topicmc factors predict holds one at a time",
    )


def _passes_of(config: Resolved, data: RatingData) -> float | None:
    """The passes of a chain, or sweeps, in a run that was told its length; None where it was told a
    time."""
    if config.updates is None:
        return config.epochs
    if config.sampler == "gibbs":
        return config.updates
    ratings = data.ratings.take(~data.heldout)
    layout = Layout.of(ratings, config.split, config.workers)
    return config.updates * layout.drawn(ratings, config.batch_size) / len(ratings)


def _columns(X: Any) -> np.ndarray:
    """Users and items, (2, n); ValueError unless X is (n, 2)."""
    array = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"X must hold pairs of user and item, (n, 2), and has shape {array.shape}")
    return array.T


def _encoded(column: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The numbers of the ids in a column, int32 (n,), and the distinct ones as text."""
    values, places = _distinct(column)
    was_text = column.dtype.kind in "SUT"
    numbers: dict[str, int] = {}
    number_of = [numbers.setdefault(_id(value, was_text), len(numbers)) for value in values]
    return np.array(number_of, np.int32)[places], list(numbers)


def _distinct(column: np.ndarray) -> tuple[Iterable[Any], np.ndarray]:
    """The values that stand in a column, and the place among them of each entry, int64 (n,)."""
    if column.dtype.kind in "biuf":
        values, places = np.unique(column, return_inverse=True)
        return values.tolist(), places
    place_of: dict[Any, int] = {}
    # True equals 1, and is another id.
    told = (str(value) if isinstance(value, bool | np.bool_) else value for value in column)
    found = (place_of.setdefault(value, len(place_of)) for value in told)
    try:
        return place_of, np.fromiter(found, np.int64, len(column))
    except TypeError:  # as of lists, which have no hash
        raise ValueError("X holds what is no id; ids are text or whole numbers") from None


def _id(value: Any, was_text: bool) -> str:
    """An id as text, of a number without a point; ValueError where it is missing, or no whole
    number. In an array that was made text what is missing was, too."""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
        text.encode()
    except UnicodeDecodeError:
        raise ValueError("X holds bytes that are not UTF-8; ids are text or numbers") from None
    except UnicodeEncodeError:
        raise ValueError("X holds text that has no UTF-8; ids are text or numbers") from None
    if not text or (text in _MISSING and (was_text or not isinstance(value, str | bytes))):
        raise ValueError("X lacks ids: a user or an item is missing")
    if not isinstance(value, Real) or isinstance(value, Integral):
        return text
    number = float(value)
    if not number.is_integer():
        raise ValueError("X holds numbers that are not whole; ids are text or whole numbers")
    return str(int(number))


def _values(y: Any, n: int) -> np.ndarray:
    try:
        values = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must hold numbers") from None
    if values.shape != (n,):
        raise ValueError(f"X has {n} rows, and y has shape {values.shape}")
    if n == 0:
        raise ValueError("X holds no ratings")
    told = np.abs(values) <= MOST_RATING
    if not told.all():
        row = int(np.argmin(told))
        why = "too large" if np.isfinite(values[row]) else "not a finite number"
        raise ValueError(f"y[{row}] is {why}")
    return values


def _table(columns: np.ndarray, values: np.ndarray) -> Table:
    (users, user_ids), (items, item_ids) = map(_encoded, columns)
    cells = users.astype(np.int64) * len(item_ids) + items
    _, first, counts = np.unique(cells, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[np.argmax(counts > 1)])
        pair = f"{user_ids[users[row]]!r}, {item_ids[items[row]]!r}"
        raise ValueError(f"X holds the pair {pair} twice")
    return Table(users, items, values.astype(np.float32), user_ids, item_ids, Columns(), "X")

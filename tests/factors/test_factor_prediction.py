"""Predictions: the law of total variance, new rows, and the ends of the scale."""

import numpy as np

from topicmc.models.factors.prediction import predict
from topicmc.models.factors.ratings import Scale
from topicmc.models.factors.rows import Factors

SCALE = Scale(mean=3.0, deviation=1.5, low=1.0, high=5.0)


def state(number):
    generator = np.random.default_rng(number)
    users = generator.normal(0, 0.3, (2, 4)).astype(np.float32)
    items = generator.normal(0, 0.3, (3, 4)).astype(np.float32)
    return Factors(0, users, items, 4.0 + np.arange(4.0), 9.0 - np.arange(4.0), 2.0 + number)


STATES = [state(number) for number in range(5)]


def test_against_draws():
    """A million ratings drawn from the states, rows that are not known from their priors: means and
    variances within 6 standard errors, a false alarm in 10⁷."""
    users, items = np.array([0, 1, -1, 0, -1]), np.array([2, 0, 1, -1, -1])
    found = predict(STATES, users, items, Scale(3.0, 1.5, -99, 99))
    n, generator = 200_000, np.random.default_rng(10)

    def row(known, number, precision):
        if number < 0:
            return generator.normal(0, precision**-0.5, (n, 4))
        return known[number].astype(float)[None]

    for pair, (i, j) in enumerate(zip(users, items, strict=True)):
        draws = []
        for one in STATES:
            u = row(one.users, i, one.user_precision)
            v = row(one.items, j, one.item_precision)
            mean = (u[:, :-1] * v[:, :-1]).sum(axis=1) + u[:, -1] + v[:, -1]
            draws.append(3.0 + 1.5 * (mean + generator.normal(0, one.tau**-0.5, n)))
        draws = np.concatenate(draws)
        spread = draws.std()
        assert abs(draws.mean() - found.mean[pair]) < 6 * spread / np.sqrt(len(draws))
        centred = (draws - draws.mean()) ** 2
        error = centred.std() / np.sqrt(len(draws))
        assert abs(centred.mean() - found.deviation[pair] ** 2) < 6 * error


def test_predictions_stay_on_the_scale():
    one = STATES[0]
    far = Factors(
        0, one.users + np.float32([0, 0, 0, 9]), one.items, *[one.user_precision] * 2, 2.0
    )
    assert predict([far], np.array([0]), np.array([0]), SCALE).mean == 5.0


def test_ratings_that_are_all_alike():
    scale = Scale.of(np.full(4, 2.5, np.float32))
    assert (scale.mean, scale.deviation, scale.low, scale.high) == (2.5, 1.0, 2.5, 2.5)
    assert predict(STATES, np.array([0]), np.array([0]), scale).mean == 2.5

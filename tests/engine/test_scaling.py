"""The scaling model against cases whose answer is known on paper."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

_path = Path(__file__).parents[2] / "bench" / "scaling.py"
_spec = importlib.util.spec_from_file_location("bench_scaling", _path)
scaling = importlib.util.module_from_spec(_spec)
sys.modules["bench_scaling"] = scaling  # dataclasses look their module up
_spec.loader.exec_module(scaling)

FREE = scaling.Costs(
    update=0.01, update_spread=0, latency=0, byte_transfer=0, byte_adding=0, source="test"
)


@pytest.mark.parametrize("slowdown", [1, 5, 10])
def test_without_messages_and_noise_only_the_slowest_counts(slowdown):
    """Equal τ: all take as long as the slow half. Balanced: nobody waits."""
    setting = scaling.Setting(n_workers=20, slowdown=slowdown, n_groups=1)
    equal = scaling.simulate(FREE, setting)
    assert equal.updates_per_second == pytest.approx(20 / (0.01 * slowdown))
    assert equal.waiting == pytest.approx(0.5 - 0.5 / slowdown)
    balanced = scaling.simulate(FREE, replace(setting, balanced=True))
    assert balanced.efficiency == pytest.approx(1)
    assert balanced.waiting == pytest.approx(0, abs=1e-9)


def test_messages_cost_what_the_formula_says():
    costs = replace(FREE, latency=1e-3, byte_transfer=1e-9)
    setting = scaling.Setting(
        n_workers=4, n_groups=1, average_bytes=4_000_000, handover_bytes=8_000_000, trajectory=1
    )
    got = scaling.simulate(costs, setting)
    averaging, gathering, handover = 6 * (1e-3 + 1e-3), 2e-3, 1e-3 + 8e-3
    per_round = 0.01 + averaging + gathering + handover
    assert got.updates_per_second == pytest.approx(4 / per_round)
    assert got.computing == pytest.approx(0.01 / per_round)
    assert got.communicating == pytest.approx(1 - 0.01 / per_round)
    # 23 ms of messages and updates of 10 ms.
    assert scaling.shortest_trajectory(costs, setting) == 3


def test_chains_that_need_not_meet_wait_less():
    noisy = replace(FREE, update_spread=0.5)
    setting = scaling.Setting(n_workers=50)
    together = scaling.simulate(noisy, setting)
    apart = scaling.simulate(noisy, replace(setting, gather=False))
    assert apart.waiting < 0.8 * together.waiting

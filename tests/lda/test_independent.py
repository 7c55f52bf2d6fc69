"""Several chains of AD-LDA in one run: each on its own, the same bits, resumed."""

from dataclasses import replace

import pytest
from test_adlda import CONFIG
from trained import StopAfter, ended, kept_bits, resumed, train

from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.pace import Machine

TWO = replace(CONFIG, chains=2, topics=4, epochs=12)


def of_chain(run, chain: int) -> list[tuple[str, str]]:
    return [bits for bits in kept_bits(run) if f"chain-{chain:03d}" in bits[0]]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_of_two_is_a_lone_chain(small_corpus, tmp_path, workers):
    """And the second is another: chains that shared anything would differ, or not."""
    two, _ = train(replace(TWO, workers=workers), small_corpus, tmp_path / "two")
    one, _ = train(replace(TWO, workers=workers, chains=1), small_corpus, tmp_path / "one")
    assert of_chain(two, 0) == kept_bits(one)
    first, second = ({checksum for _, checksum in of_chain(two, chain)} for chain in (0, 1))
    assert len(first) == len(second) > 1 and not first & second


def test_the_same_bits_for_any_number_of_threads(small_corpus, tmp_path):
    """Chains at a time, or threads to a chain."""
    runs = [
        train(replace(TWO, chains=3, threads=threads), small_corpus, tmp_path / str(threads))[0]
        for threads in (1, 2, 5)
    ]
    assert kept_bits(runs[0]) == kept_bits(runs[1]) == kept_bits(runs[2]) != []


@pytest.mark.parametrize("learn", ["none", "both"])
def test_an_interrupted_run_equals_one_that_was_not(small_corpus, tmp_path, learn):
    config = replace(TWO, learn=learn)
    whole, _ = train(config, small_corpus, tmp_path / "whole")
    run, outcome = train(config, small_corpus, tmp_path / "run", StopAfter(5))
    assert outcome.interrupted
    run, _ = train(config, small_corpus, tmp_path / "run", resume=True)
    assert kept_bits(run) == kept_bits(whole)
    assert run.checkpoint().manifest["files"] == whole.checkpoint().manifest["files"]


def test_on_another_number_of_workers_every_chain_goes_on(small_corpus, tmp_path):
    config = replace(TWO, workers=3)
    train(config, small_corpus, tmp_path / "run", StopAfter(9))
    training = resumed(tmp_path / "run", 2, small_corpus.path, workers=2)
    assert (training.config.workers, training.config.chains) == (2, 2)
    run = ended(training).run
    assert len(of_chain(run, 0)) == len(of_chain(run, 1)) > 1


def test_what_chains_cost_is_reckoned_with():
    size, enough, half = Extent(100_000, 10**7, 20_000), Machine(2, 2 * 10**8), Machine(2, 10**8)
    config = replace(CONFIG, sampler="auto", topics=100, time_budget=100.0)
    one, two = (resolve(replace(config, chains=n), size, enough) for n in (1, 2))
    assert (one.sampler, two.sampler, two.chains) == ("adlda", "adlda", 2)
    assert two.start_sweeps < one.start_sweeps
    assert resolve(config, size, half).sampler == "adlda"
    # A worker holds one chain of minibatches.
    assert resolve(replace(config, chains=2), size, half).sampler == "adlda"

"""The kept samples of a run of LDA: written during training, and what they average to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.engine.method import Entry
from topicmc.errors import UsageError
from topicmc.host.machine import available_cores, check_room
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.truncation import at_rest
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import MeanChain, running_mean
from topicmc.samplers.state import Chain


def write_sample(run: TopicRun, chain: Chain, round_number: int, n_tokens: int) -> Entry:
    """Writes the state of a chain, θ as precisely as a corpus of so many tokens lets it be known;
    its index entry, with the priors that belong to it as JSON values."""
    place = chain.index, round_number, chain.theta
    if chain.of_counts:
        entry = run.keep_sample(*place, beta=chain.beta)
    else:
        # No weight has more tokens behind it than its share of its topic's.
        shares = chain.theta.max(axis=0) / chain.topic_sums
        sizes = n_tokens if chain.share is None else n_tokens * chain.share
        entry = run.keep_sample(*place, most_tokens=float((shares * sizes).max()))
    arrays = {"alpha": chain.alpha, "share": chain.share}
    entry |= {name: array.tolist() for name, array in arrays.items() if array is not None}
    return entry if chain.beta is None else {**entry, "beta": float(chain.beta)}


def write_mean(run: TopicRun, chain: Chain, round_number: int, n_tokens: int) -> Entry | None:
    """Writes the running mean of a chain, if it keeps one; what the entry of its newest sample says
    of it."""
    if not isinstance(chain, MeanChain) or chain.beta is None:
        return None
    prior = run.prior(chain.beta)
    mean = running_mean(chain, prior)
    if mean is None:
        return None
    sums = mean.sum(axis=0, dtype=np.float64)
    share = share_by_sums(sums, prior.totals(*mean.shape))
    most = float((mean.max(axis=0) / sums * n_tokens * share).max())
    written = run.keep_mean(chain.index, round_number, mean, most_tokens=most)
    return {**written, "share": share.tolist()}


class PosteriorMean(NamedTuple):
    """The posterior mean as one chain tells it: the running mean of SCIR's chains
    (`topicmc.samplers.running_mean`), and else the mean over the kept samples past the
    point at which its fit comes to rest (`topicmc.posterior.truncation`).

    Attributes:
        phi: the topics, float64 (K, W), rows sum to one.
        share: each topic's share of the tokens, float64 (K,), sums to one, less what a view has
            dropped.
        alpha: the prior of the topic mixes, float64 (K,).
        prior: that of the topics.
    """

    phi: np.ndarray
    share: np.ndarray
    alpha: np.ndarray
    prior: RowPrior


def samples_of(run: TopicRun | Path | str, chain: int | None = None) -> list[dict[str, Any]]:
    """Index entries of the samples to read, oldest first: of one chain, or of all. The run may be
    given by its path.

    Raises UsageError when the run has no such chain, DataError when it has no samples yet.
    """
    run = TopicRun.at(run)
    index = run.states_to_read()
    entries = [entry for entry in index if chain in (None, entry["chain"])]
    if not entries:
        chains = ", ".join(str(number) for number in sorted({entry["chain"] for entry in index}))
        raise UsageError(f"--chain {chain}: the run in {run.path} has samples of {chains} only")
    return entries


def newest_of(entries: Sequence[Entry]) -> list[Entry]:
    """The last index entry of each chain, of entries oldest first."""
    return list({entry["chain"]: entry for entry in entries}.values())


def add_phi(total: np.ndarray, theta: np.ndarray, sums: np.ndarray, threads: Threads) -> None:
    """Adds the topics of one sample θ (W, K), of ``sums`` Σ_w θ_wk, float64 (K,), to a sum, float64
    (K, W)."""

    def add(words: slice, topics: slice) -> None:
        total[topics, words] += (theta[words, topics] / sums[topics]).T

    threads.run_in_squares(add, theta.shape)


def phi_of(theta: np.ndarray, threads: Threads | None = None) -> np.ndarray:
    """Topics of one sample θ (W, K): float64 (K, W), C-contiguous, rows sum to one. By threads on
    all cores unless others are given."""
    phi = np.empty(theta.shape[::-1])

    def fill(words: slice, topics: slice) -> None:
        phi[topics, words] = theta[words, topics].T

    (threads or Threads(available_cores())).run_in_squares(fill, theta.shape)
    phi /= phi.sum(axis=1, keepdims=True)
    return phi


def share_of(run: TopicRun, entry: Mapping[str, Any], theta: np.ndarray) -> np.ndarray:
    """Each topic's share of the tokens under one sample: float64 (K,), sums to one, less what a
    view has dropped.

    Entries of earlier versions may not say; then it follows from θ less what is of its prior.
    """
    share = entry.get("share")
    if share is None:
        theta = theta if run.view is None else run.read_state(entry)
        prior = RowPrior(beta_of(run, entry), run.additions())
        share = share_by_sums(theta.sum(axis=0, dtype=np.float64), prior.totals(*theta.shape))
    else:
        share = share_by_sums(np.array(share, np.float64), 0.0)
    return share if run.view is None else run.view.summed(share, entry["chain"])


def share_by_sums(sums: np.ndarray, of_prior: np.ndarray | float) -> np.ndarray:
    """Each topic's share of the tokens, by Σ_w θ_wk on the scale of counts, (K,), and what of it is
    of the prior: float64 (K,), sums to one."""
    sizes = np.maximum(sums - of_prior, 0)
    total = sizes.sum()
    return sizes / total if total > 0 else np.full(len(sizes), 1 / len(sizes))


def alpha_of(run: TopicRun, entry: Mapping[str, Any]) -> np.ndarray:
    """The prior of the topic mixes that belongs to one sample: float64 (K,)."""
    alpha = np.array(entry["alpha"]) if "alpha" in entry else _given_alpha(run)
    return alpha if run.view is None else run.view.summed(alpha, entry["chain"])


def _given_alpha(run: TopicRun) -> np.ndarray:
    config = run.facts()["config"]
    return np.full(config["topics"], config["alpha"])


def beta_of(run: TopicRun, entry: Mapping[str, Any]) -> float:
    """β, the base of the prior of the topics, that belongs to one sample. Runs of format 1 recorded
    what they had learned in the metrics alone."""
    if "beta" in entry:
        return entry["beta"]
    learned = [record for record in run.metrics() if "beta" in record]
    by_then = [record for record in learned if record["round"] <= entry["round"]] or learned
    return by_then[-1]["beta"] if by_then else run.facts()["config"]["beta"]


def posterior_mean(run: TopicRun | Path | str, chain: int = 0) -> PosteriorMean:
    """The posterior mean of one chain of a run, or of the run at a path; α and β are means over the
    same samples.

    Chains number their topics on their own, so samples are averaged within one chain only.

    Raises UsageError when the run has no such chain, or memory is too small; DataError when it has
    no samples yet or a file of theirs is damaged.
    """
    run = TopicRun.at(run)
    n_words, n_kept = run.shape
    if n_words is not None and n_kept is not None:
        shown = run.n_topics
        of_view = 0 if run.view is None else shown  # beside θ as it is kept
        check_memory(run, 4 * n_words * (2 * shown + n_kept + of_view))
    return planned_mean(run, chain)


def check_memory(run: TopicRun, n_bytes: int) -> None:
    """UsageError where memory is too small for so many bytes of the topics of a run or view."""
    check_room(
        n_bytes,
        f"{run.place}: {run.n_topics:,} topics over {run.shape[0]:,} words",
        "read them on a larger machine",
    )


def planned_mean(run: TopicRun, chain: int = 0) -> PosteriorMean:
    """`posterior_mean`, for which there is memory, as training has made sure."""
    entries = at_rest(run, samples_of(run, chain))
    phi, share = read_running_mean(run, entries[-1]) or _mean_of_samples(run, entries)
    alpha = np.mean([alpha_of(run, entry) for entry in entries], axis=0)
    beta = float(np.mean([beta_of(run, entry) for entry in entries]))
    return PosteriorMean(phi, share, alpha, run.prior(beta))


def read_running_mean(run: TopicRun, newest: Entry) -> tuple[np.ndarray, np.ndarray] | None:
    """φ float64 (K, W) and the topics' shares float64 (K,) by the running mean that goes with the
    newest sample of a chain; None where there is none."""
    if "mean" not in newest:
        return None
    entry = {**newest, "share": newest["mean"]["share"]}
    mean = run.read_mean(newest)
    return phi_of(mean), share_of(run, entry, mean)


def _mean_of_samples(run: TopicRun, entries: Sequence[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """The same as means over samples."""
    phi, share = sum_of_samples(run, entries, Threads(available_cores()))
    phi /= phi.sum(axis=1, keepdims=True)
    return phi, share.mean(axis=0)


def sum_of_samples(
    run: TopicRun, entries: Sequence[Entry], threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Of n samples of one chain: the sum of φ, float64 (K, W), and each topic's share of the tokens
    in each of them, float64 (n, K)."""
    phi = np.zeros(())
    shares = []
    for entry in one_by_one(entries):
        theta = run.read_sample(entry)
        phi = phi if phi.ndim else np.zeros(theta.shape[::-1])
        add_phi(phi, theta, theta.sum(axis=0, dtype=np.float64), threads)
        shares.append(share_of(run, entry, theta))
        del theta  # before the next is read
    return phi, np.array(shares)

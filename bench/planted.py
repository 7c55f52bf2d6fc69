"""What bench/mutations.py plants: where, what text for what other, and the test to catch it."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Planted:
    name: str  # what is wrong then
    file: str
    old: str
    new: str
    test: str

    def facts(self) -> dict[str, str]:
        return {key: value for key, value in asdict(self).items() if key != "name"}


KERNELS = "topicmc/kernels/"
COLLAPSED = KERNELS + "collapsed.py"
GIBBS = KERNELS + "gibbs.py"
SPARSE = KERNELS + "sparse.py"
CIR = KERNELS + "cir.py"
SIMPLEX = KERNELS + "simplex.py"
GEWEKE = "tests/statistical/test_geweke.py"
REDRAW = "tests/kernels/test_redraw.py"
SCIR = "tests/statistical/test_scir.py"

PLANTED = [
    Planted(
        "β K, padded, in place of β W in the denominator", COLLAPSED,
        "beta.totals.astype(np.float32)",
        "(beta.totals * n_padded / len(word_topic)).astype(np.float32)",
        f"{GEWEKE}::test_collapsed_gibbs_document_by_document",
    ),
    Planted(
        "what words have over β is left out of the topic's sum", "topicmc/samplers/row_prior.py",
        "+= times * self.additions.totals", "+= 0 * self.additions.totals",
        f"{REDRAW}::test_words_with_priors_of_their_own",
    ),
    Planted(
        "every word is read with the prior of another", KERNELS + "prior.py",
        "entries.values[entries.row_of[word]]", "entries.values[entries.row_of[word - 1]]",
        "tests/kernels/test_simplex.py::test_scir_equals_its_twin_draw_for_draw",
    ),
    Planted(
        "a token counts in its own document", COLLAPSED,
        "others = counts[old] - one + alpha[old]", "others = counts[old] + alpha[old]",
        f"{GEWEKE}::test_collapsed_gibbs_document_by_document",
    ),
    Planted(
        "a token counts in its own topic", COLLAPSED,
        "b_kw = np.float32(word_topic[row + old]) - one,",
        "b_kw = np.float32(word_topic[row + old]),",
        "tests/kernels/test_collapsed.py::test_agrees_with_the_naive_twin",
    ),
    Planted(
        "a token's own slice ends too early", COLLAPSED,
        "target += own * np.float32(target >= end - own)",
        "target += own * np.float32(target >= end)",
        "tests/kernels/test_collapsed.py::test_agrees_with_the_naive_twin",
    ),
    Planted(
        "the count of the last visit is not removed", COLLAPSED,
        "word_topic[row + old] -= _ONE", "word_topic[row + old] -= 0",
        "tests/lda/test_adlda.py::test_counts_are_those_of_the_assignments",
    ),
    Planted(
        "a block's denominator keeps the token itself", GIBBS,
        "(1 / np.maximum(sums - 1, 1e-30))", "(1 / np.maximum(sums, 1e-30))",
        f"{REDRAW}::test_agrees_with_the_naive_twin",
    ),
    Planted(
        "one sweep of burn-in is averaged", GIBBS,
        "kept = sweep > burn_in", "kept = sweep >= burn_in",
        "tests/kernels/test_gibbs.py::test_equals_the_naive_twin_draw_for_draw",
    ),
    Planted(
        "first topics are drawn without α", GIBBS,
        "weights[first_at + k] = alpha[k] * scale[k]",
        "weights[first_at + k] = scale[k] * (alpha[k] > 0)",
        "tests/kernels/test_gibbs.py::test_equals_the_naive_twin_draw_for_draw",
    ),
    Planted(
        "many topics: a token counts in its own topic", SPARSE,
        "remains = (n_kw - _ONE + b_kw) / (n_kw + b_kw)",
        "remains = (n_kw - _ONE + b_kw) / (n_kw - _ONE + b_kw)",
        f"{REDRAW}::test_many_topics_agree_with_the_naive_twin",
    ),
    Planted(
        "CIR: the mean number of events does not decay", CIR,
        "rate, span = 1.0 / math.expm1(h), -math.expm1(-h)",
        "rate, span = -1.0 / math.expm1(-h), -math.expm1(-h)",
        f"{SCIR}::test_one_step_is_a_noncentral_chi_square",
    ),
    Planted(
        "CIR: half a degree of freedom too few after an event", CIR,
        "list_shape[n] = a + _HALF if excess >= 0.0 else a", "list_shape[n] = a",
        f"{SCIR}::test_stationary_law_is_gamma",
    ),
    Planted(
        "CIR: the square is not scaled by 1 − e^−h", CIR,
        "moved[i] = np.float32(span[i] * (drawn + square))",
        "moved[i] = np.float32(span[i] * drawn + square)",
        f"{SCIR}::test_mean_and_variance_of_one_step",
    ),
    Planted(
        "CIR: every quick proposal is accepted", CIR,
        "accepted[i] = np.uint32(quick > (z[i] * z[i]) * (y * y))", "accepted[i] = np.uint32(1)",
        "tests/kernels/test_simplex.py::test_scir_equals_its_twin_draw_for_draw",
    ),
    Planted(
        "minibatch counts are not scaled to the corpus", SIMPLEX,
        "shape[k] = entry(prior, k) + scale * count[k]", "shape[k] = entry(prior, k) + count[k]",
        f"{SCIR}::test_mean_and_variance_with_minibatches",
    ),
    Planted(
        "SGRLD: half the noise", SIMPLEX,
        "math.sqrt(variance * row[k])", "math.sqrt(half * row[k])",
        "tests/statistical/test_sgrld.py::test_mean_and_variance_of_one_step",
    ),
    Planted(
        "SGRLD: θ is cut off at zero, not reflected", SIMPLEX,
        "floored(np.float32(abs(moved)))", "floored(np.float32(max(moved, 0.0)))",
        "tests/statistical/test_sgrld.py::test_reflection_at_zero",
    ),
    Planted(
        "waiting words: β is taken away where it is gained", SIMPLEX,
        "+ entry(prior, k) * span", "- entry(prior, k) * span",
        "tests/statistical/test_lazy.py::test_sums_are_conditional_means",
    ),
    Planted(
        "log p(z): a token is counted before it is weighed", KERNELS + "joint.py",
        "weight = weights[z[token]]", "weight = weights[z[token]] + 1",
        "tests/kernels/test_joint.py",
    ),
    Planted(
        "expected mixes: a word's own share is not left out", KERNELS + "mixes.py",
        "minus, total = splat(-_ONE)", "minus, total = splat(np.float32(0))",
        "tests/inference/test_inference.py::test_the_kernel_agrees_with_its_slow_twin",
    ),
    Planted(
        "SGRLD: φ n_k is not scaled to the corpus", "topicmc/samplers/sgrld.py",
        "(1.0 + scale * batch_sums / chain.topic_sums)", "(1.0 + batch_sums / chain.topic_sums)",
        "tests/statistical/test_sgrld.py::test_minibatch_gradient_is_unbiased",
    ),
    Planted(
        "sums of waiting words do not gain from the prior", "topicmc/samplers/lazy.py",
        "chain.topic_sums + gain + (moved - expected)", "chain.topic_sums + (moved - expected)",
        "tests/statistical/test_lazy.py::test_sums_are_conditional_means",
    ),
    Planted(
        "words that waited forget it when all move", "topicmc/samplers/lazy.py",
        "steps += chain.clock - chain.moved_at", "steps += 0.0",
        "tests/statistical/test_lazy.py::"
        "test_minibatches_that_move_all_words_settle_the_waiting_too",
    ),
    Planted(
        "learned β: the denominator lacks W", "topicmc/models/lda/priors/learned.py",
        "shared = n_words * (digamma(totals + masses) - digamma(masses)).sum()",
        "shared = (digamma(totals + masses) - digamma(masses)).sum()",
        "tests/samplers/test_priors.py",
    ),
    Planted(
        "learned α: n_d in place of n_d + Σα", "topicmc/models/lda/priors/learned.py",
        "digamma(sizes + total) - digamma(total)", "digamma(sizes + 1e-9) - digamma(total)",
        "tests/samplers/test_priors.py",
    ),
    Planted(
        "blocks: a token counts in its own topic", "topicmc/models/lda/collapsed/worker.py",
        "return given, under.topics is None", "return given, False",
        "tests/lda/test_adlda.py::test_a_block_is_drawn_under_the_counts_before_it",
    ),
    Planted(
        "kept assignments: old sums of θ", "topicmc/models/lda/collapsed/kept_assignments.py",
        "if sampler is Scir:", "if False:",
        f"{GEWEKE}::test_side_by_side_is_as_in_training",
    ),
    Planted(
        "kept assignments: counts weigh twice", "topicmc/models/lda/collapsed/kept_assignments.py",
        "scale=1.0,\n            step=step,", "scale=2.0,\n            step=step,",
        f"{GEWEKE}::test_side_by_side_is_as_in_training",
    ),
    Planted(
        "sums over sweeps are not divided by their number", KERNELS + "gibbs.py",
        "np.float32(self.scale)", "np.float32(1)",
        "tests/statistical/test_sbc.py::test_side_by_side_is_an_update_of_training",
    ),
    Planted(
        "AD-LDA: each worker's old counts are added again",
        "topicmc/models/lda/collapsed/reconciliation.py",
        "change -= self._total", "change -= 0",
        "tests/lda/test_adlda.py::test_counts_are_those_of_the_assignments",
    ),
    Planted(
        "slow workers get the long trajectories", "topicmc/engine/schedule.py",
        "speeds = 1 / seconds", "speeds = seconds",
        "tests/engine/test_schedule.py::test_the_worked_example_of_figure_1",
    ),
    Planted(
        "mixes without their prior", "topicmc/models/lda/completion.py",
        "mix = doc_topic + alpha", "mix = doc_topic + 1e-9",
        "tests/evaluation/test_evaluation.py::test_disjoint_topics_are_recognised_exactly",
    ),
    Planted(
        "perplexity in bits", "topicmc/models/lda/completion.py",
        "np.exp(-np.mean(np.log(probabilities)))", "np.exp(-np.mean(np.log2(probabilities)))",
        "tests/evaluation/test_evaluation.py::test_equal_topics_score_their_word_probabilities",
    ),
    Planted(
        "nine tenths are scored", "topicmc/models/heldout.py",
        "round(length * (1 - OBSERVED_SHARE))", "round(length * OBSERVED_SHARE)",
        "tests/evaluation/test_evaluation.py::"
        "test_a_tenth_of_each_document_is_scored_and_nothing_is_lost",
    ),
    Planted(
        "deviations without the spread within a draw", "topicmc/inference/deviations.py",
        "within += mix * (1 - mix) / (size + 1)", "within += 0 * size",
        "tests/inference/test_inference.py::test_deviations_agree_with_the_exact_posterior",
    ),
    Planted(
        "Hellinger distance without the root of φ", "topicmc/topics/matching.py",
        "roots = np.sqrt(reference[:, words])", "roots = reference[:, words]",
        "tests/posterior/test_uncertainty.py::test_distances_of_known_topics",
    ),
    Planted(
        "the first half of a run is kept", "topicmc/posterior/thinning.py",
        "now // 2 < position <= now", "now // 4 < position <= now",
        "tests/posterior/test_posterior.py",
    ),
    Planted(
        "D-SGLD: how often a worker is used is left out", "topicmc/engine/dsgld.py",
        "self.balance.plan.selection_freq[worker]", "(1 / self.config.workers)",
        "tests/engine/test_dsgld.py::test_chains_sample_the_posterior_of_the_whole_corpus",
    ),
    Planted(
        "averages of chains are kept as samples", "topicmc/engine/dsgld.py",
        "self.target.in_start(update) or (self._averages(update) and self._coupled)",
        "self.target.in_start(update)",
        "tests/statistical/test_averages.py::test_averages_that_go_on_are_no_samples",
    ),
    Planted(
        "intervals: a lone chain's mean is taken as known", "topicmc/posterior/intervals.py",
        "variance = within * (worths[0] + 1) / (worths[0] - 1)", "variance = within",
        "tests/posterior/test_intervals.py",
    ),
    Planted(
        "intervals: degrees of freedom of samples, not of chains", "topicmc/posterior/intervals.py",
        "t.ppf(quantile, len(chains) - 1) * between", "factor * between",
        "tests/posterior/test_intervals.py::test_a_further_chain_is_held_where_chains_differ",
    ),
    Planted(
        "shares hold the prior's tokens", "topicmc/models/lda/samples.py",
        "prior = RowPrior(beta_of(run, entry), run.additions())",
        "prior = RowPrior(1e-9, run.additions())",
        "tests/posterior/test_draws.py::test_shares_are_of_tokens",
    ),
    Planted(
        "counts are given out as draws", "topicmc/models/lda/draws.py",
        "theta = gamma_draw(theta, key, threads)", "pass",
        "tests/posterior/test_draws.py::test_counts_are_drawn_from",
    ),
    Planted(
        "effective size: neighbours' correlation counts once", "topicmc/posterior/convergence.py",
        "return n * (1 - rho) / (1 + rho)", "return n * (1 - rho)",
        "tests/posterior/test_convergence.py",
    ),
    Planted(
        "exported counts: β of another state", "topicmc/models/lda/encoding.py",
        "theta[words] - np.float32(prior.base)", "theta[words] - np.float32(2 * prior.base)",
        "tests/test_encoding.py",
    ),
    Planted(
        "mixture: half a degree of freedom too few after an event",
        "topicmc/kernels/mixture.py",
        "gamma_of(shape + 0.5, key",
        "gamma_of(shape, key",
        "tests/mixture/test_mixture_kernels.py::test_cir_is_the_exact_transition",
    ),
    Planted(
        "mixture: the share of v in both drifts of a stick, as released",
        "topicmc/kernels/mixture.py",
        "after - (1.0 - v) * total",
        "after - v * total",
        "tests/mixture/test_mixture_kernels.py::test_langevin_has_the_published_drift_in_both_sticks",
    ),
    Planted(
        "mixture: groups yet unseen without their normalising constant",
        "topicmc/kernels/mixture.py",
        "prior + math.lgamma(n_words * beta) - math",
        "prior - math",
        "tests/mixture/test_mixture_kernels.py::test_the_predictive_counts_groups_yet_unseen",
    ),
    Planted(
        "mixture: the weight of atoms that nobody has is Gamma(1)",
        "topicmc/kernels/partitions.py",
        "rest = gamma_of(alpha, key",
        "rest = gamma_of(1.0, key",
        "tests/mixture/test_mixture_kernels.py::test_labels_are_in_size_biased_order",
    ),
    Planted(
        "mixture: a split is judged without its proposal",
        "topicmc/kernels/partitions.py",
        "gain - log_q if is_split",
        "gain if is_split",
        "tests/statistical/test_mixture.py::test_updates_keep_the_exact_law[True-settings4]",
    ),
    Planted(
        "mixture: a sweep begins groups four times too often",
        "topicmc/kernels/partitions.py",
        "if sizes[k] > 0 else alpha)",
        "if sizes[k] > 0 else 4.0 * alpha)",
        "tests/statistical/test_mixture.py::test_updates_keep_the_exact_law[False-settings5]",
    ),
    Planted(
        "mixture: β is drawn as if log β had its density",
        "topicmc/kernels/partitions.py",
        "found, one, whole = at - beta,",
        "found, one, whole = -beta,",
        "tests/statistical/test_mixture.py::test_updates_keep_the_exact_law[False-settings7]",
    ),
    Planted(
        "mixture: a Rand index that chance is not taken from",
        "topicmc/models/mixture/matching.py",
        "expected = rows * columns / max(n_pairs, 1.0)",
        "expected = 0.0",
        "tests/mixture/test_mixture_matching.py::test_the_adjusted_rand_index_is_that_of_pairs",
    ),
    Planted(
        "mixture: a group yet unseen completes documents by its prior alone",
        "topicmc/models/mixture/completion.py",
        "(beta + seen)",
        "beta",
        "tests/mixture/test_mixture_matching.py::test_tokens_are_completed_as_by_bayes",
    ),
    Planted(
        "mixture: predictions averaged outside the logarithm",
        "topicmc/models/mixture/evaluation.py",
        "np.logaddexp.reduce(np.array(scores), axis=0) - np.log(len(scores))",
        "np.mean(scores, axis=0)",
        "tests/mixture/test_mixture_kernels.py::test_predictions_are_averaged_inside_the_logarithm",
    ),
    Planted(
        "mixture: other groups weigh as much as one",
        "topicmc/models/mixture/reading.py",
        "np.log(max(left, 1e-300)) + prior",
        "prior",
        "tests/mixture/test_mixture_kernels.py::test_memberships_add_up_to_one_with_groups_yet_unseen",
    ),
    Planted(
        "mixture: the sample farthest from all is shown",
        "topicmc/models/mixture/reading.py",
        "argmin()",
        "argmax()",
        "tests/mixture/test_mixture_kernels.py::test_the_central_partition_is_nearest_to_all",
    ),
    Planted(
        "mixture: words of a minibatch are not scaled, as printed",
        "topicmc/models/mixture/slices.py",
        "return scale * sizes, words, scale",
        "return scale * sizes, words, 1.0",
        "tests/statistical/test_mixture.py::test_a_minibatch_estimates_the_counts_without_bias",
    ),
    Planted(
        "mixture: a resumed chain forgets its concentration",
        "topicmc/models/mixture/chains.py",
        'alpha, beta = float(facts["alpha"]),',
        "alpha, beta = 1.0,",
        "tests/cli/test_mixture_runs.py::test_a_resumed_run_equals_an_uninterrupted_one",
    ),
    Planted(
        "mixture: a resumed chain draws its first numbers again",
        "topicmc/models/mixture/chains.py",
        "update=self.update, **found",
        "update=0, **found",
        "tests/cli/test_mixture_runs.py::test_a_resumed_run_equals_an_uninterrupted_one",
    ),
    Planted(
        "mixture: each rank keeps its own part of the groups alone",
        "topicmc/models/mixture/chains.py",
        "array[:] = self._transport.sum(array)",
        "self._transport.sum(array)",
        "tests/mpi/test_mpi_mixture.py",
    ),
]  # fmt: skip

"""Bayesian matrix factorisation: ratings of items by users, with a posterior of the factors.

    r_ij = mean + U_i·V_j + a_i + b_j + N(0, 1/τ),   U_ik ~ N(0, 1/λ_k),   λ_k ~ Gamma(α₀, rate β₀)

and likewise V, and the biases a and b (Ahn 2015, chapter 7). Ratings are centred and divided by
their standard deviation, so that settings mean the same on every scale.
"""

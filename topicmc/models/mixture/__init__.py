"""Dirichlet-process mixtures: one group a document, their number unknown.

x_i ~ Multinomial(n_i, θ of its group), θ_j ~ Dirichlet(β, …, β), and groups are drawn with the
weights of a Dirichlet process, v_j ~ Beta(1, α) in stick-breaking; α ~ Gamma(1, 1) or fixed (Baker
2018, 5.5.2).
"""

"""Simulation-based calibration of the samplers: models, chains, quantities, ranks, pictures."""

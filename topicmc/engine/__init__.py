"""Training of any model: rounds, samples, checkpoints, and D-SGLD over workers."""

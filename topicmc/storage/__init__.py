"""Runs on disk: whole files or none, leases, checkpoints, samples."""

"""Runs over several numbers of topics, and what they show."""

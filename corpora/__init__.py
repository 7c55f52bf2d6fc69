"""Corpora on disk: readers, vocabulary, shards. Knows nothing of topics."""

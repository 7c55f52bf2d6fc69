"""Reading topics: their words, order and coherence."""

"""The models, one folder each."""

"""The models, one folder each, and what several of them share."""

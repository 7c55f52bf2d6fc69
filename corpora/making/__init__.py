"""How corpora are made, added to and reordered."""

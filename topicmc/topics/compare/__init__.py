"""Topics of runs and matrices, measured on common words, and matched."""

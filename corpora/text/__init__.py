"""From text to tokens and a vocabulary."""

"""Who holds a chain, when it travels, and what a round is."""

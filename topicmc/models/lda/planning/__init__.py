"""What a run is to be: settings that nobody gave, the start, and how long it lasts."""

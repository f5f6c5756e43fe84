"""A run whose calls are answered from recordings: what answers them, regrading, cassettes, and what is said of it."""

"""Gates and baselines: what is accepted today, and what a change may not make worse."""

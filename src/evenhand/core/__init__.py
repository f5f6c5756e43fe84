"""The nouns: what a case, a model's reply, a score, an outcome, a plan and a run are. No I/O, no vendor library."""

"""Outputs that people read for whatever is wrong with them: draws of a run, and what people say."""

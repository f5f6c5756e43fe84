"""pydantic-evals: datasets, and reports."""

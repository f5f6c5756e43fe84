"""LangSmith: examples of datasets, and experiments, with their feedback."""

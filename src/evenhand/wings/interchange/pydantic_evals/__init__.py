"""Datasets of pydantic-evals, written out as eval sets."""

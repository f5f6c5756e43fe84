"""Ragas: datasets, and results with a column for each metric."""

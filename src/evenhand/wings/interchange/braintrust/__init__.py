"""Braintrust: rows of datasets, and experiments."""

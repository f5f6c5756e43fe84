"""Langfuse: items of datasets, and runs over them, with their traces and scores."""

"""Phoenix: examples of datasets, and experiments, with their annotations."""

"""The runs of a folder over time, and what changed between two of them."""

"""Questions asked of an output: each a small frozen class with a one-line `str`, the label that people read."""

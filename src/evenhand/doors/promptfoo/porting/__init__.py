"""A promptfoo config as an eval set in Python: what `evenhand init --from` prints."""

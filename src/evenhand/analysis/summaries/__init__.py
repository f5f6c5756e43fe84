"""Rates, means, slices and columns of one run, and its trials' steps."""

"""Arithmetic on runs: intervals and comparisons. Pure functions on plain numbers."""

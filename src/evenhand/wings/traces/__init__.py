"""Traces that other programs recorded: read in whichever dialect, put together, and kept as the trials of a run."""

"""Logs of Inspect's, written out as eval sets."""

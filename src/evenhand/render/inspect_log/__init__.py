"""Runs as logs of Inspect."""

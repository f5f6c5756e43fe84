"""Inspect's logs, in its two formats, as runs."""

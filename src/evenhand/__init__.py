"""Evenhand: find out whether an LLM application is good, and whether a change made it better."""

__version__ = "0.1.0"

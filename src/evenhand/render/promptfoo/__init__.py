"""Runs in promptfoo's result formats."""

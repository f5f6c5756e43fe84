"""The same examples on every machine and in every run, however slow it is today."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("evenhand", derandomize=True, deadline=None, database=None)
settings.load_profile("evenhand")

"""The names of what trigger tests measure."""

from __future__ import annotations

PRECISION = "trigger precision"
RECALL = "trigger recall"
MEASURES = "trigger "
"""What both names begin with."""

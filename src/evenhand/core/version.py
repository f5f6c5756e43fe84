"""The version, for whoever writes it into files and requests: the front door loads more than that."""

from __future__ import annotations

__version__ = "0.1.0"

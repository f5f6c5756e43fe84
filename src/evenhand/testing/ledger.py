"""The bill: which completions were generated, and how often each. The oracle for every promise about spending."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.encoding import digest, encode


def request_key(path: str, body: Mapping[str, object]) -> str:
    """The name of a request: a hash of the path and the whole body, whatever order its keys came in."""
    return digest(path, encode(body))


class Ledger:
    """Counts completions by request.

    A vendor charges for what it generated, whether or not it arrived; so does the ledger.

    Args:
        path: Also append each completion to this file, as it is generated: it outlives the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.delivered = 0
        self._lock = threading.Lock()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else None

    def bill(self, key: str) -> None:
        """Counts a completion that was generated."""
        with self._lock:
            self.counts[key] += 1
            if self._fd is not None:
                os.write(self._fd, f"{key}\n".encode())

    @property
    def total(self) -> int:
        """Completions in all."""
        return self.counts.total()

    @property
    def repeated(self) -> int:
        """Completions beyond the first of each request."""
        return self.counts.total() - len(self.counts)

    def as_json(self) -> str:
        """The bill, for `GET /ledger`."""
        with self._lock:
            counts = dict(self.counts)
        return json.dumps({"total": sum(counts.values()), "distinct": len(counts), "delivered": self.delivered, "counts": counts})

    def close(self) -> None:
        """Closes the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

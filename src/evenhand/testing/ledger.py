"""The bill: which completions were generated, and how often each. The oracle for every promise about spending."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.encoding import digest, encode

BATCH_DISCOUNT = 0.5
"""What both vendors take off the price in a batch."""


def request_key(path: str, body: Mapping[str, object]) -> str:
    """The name of a request: a hash of the path and the whole body, whatever order its keys came in."""
    return digest(path, encode(body))


class Ledger:
    """Counts completions by request.

    A vendor charges for what it generated, whether or not it arrived; so `total` and `repeated` count what was
    generated. What was handed to the connection to its last byte is counted beside it, in `delivered`, and what was
    generated for batches in `batched`.

    Args:
        path: Also append each completion to this file as it happens, a line each, so that the bill outlives the
            process; `Ledger.read` reads it back.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.batched: Counter[str] = Counter()
        self._total = 0
        self._lock = threading.Lock()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if path else None

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """The bill in a file. A last line that was cut off is left out."""
        ledger = cls()
        for line in path.read_text("ascii").splitlines(keepends=True):
            what, _, key = line.removesuffix("\n").partition(" ")
            if not line.endswith("\n"):
                break
            if what == "delivered":
                ledger.deliver(key)
            else:
                ledger.bill(key, batched=what == "batched")
        return ledger

    def bill(self, key: str, *, batched: bool = False) -> None:
        """Counts a completion that was generated, in a batch or by itself."""
        with self._lock:
            self.counts[key] += 1
            self._total += 1
            if batched:
                self.batched[key] += 1
            self._append("batched" if batched else "generated", key)

    def deliver(self, key: str) -> None:
        """Counts a completion that was handed over whole."""
        with self._lock:
            self.delivered[key] += 1
            self._append("delivered", key)

    def clear(self) -> None:
        """Forgets what was counted; a file keeps its lines."""
        with self._lock:
            self.counts.clear()
            self.delivered.clear()
            self.batched.clear()
            self._total = 0

    @property
    def total(self) -> int:
        """Completions in all."""
        return self._total

    @property
    def price(self) -> float:
        """The price of what was counted, in completions at their full price: one in a batch counts half."""
        with self._lock:
            return self._total - BATCH_DISCOUNT * self.batched.total()

    @property
    def repeated(self) -> int:
        """Completions beyond the first of each request."""
        with self._lock:
            return self._total - len(self.counts)

    def as_json(self) -> str:
        """The bill, for `GET /ledger`."""
        with self._lock:
            counts, delivered = dict(self.counts), self.delivered.total()
        bill: dict[str, object] = {"total": sum(counts.values()), "distinct": len(counts)}
        return json.dumps({**bill, "delivered": delivered, "counts": counts})

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _append(self, what: str, key: str) -> None:
        if self._fd is not None:
            os.write(self._fd, f"{what} {key}\n".encode())

"""What a vendor's batch API has to offer the engine: create, find, look, collect, cancel. No policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from evenhand.core.errors import ProviderError
from evenhand.core.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlace:
    """Where a request goes in a batch: all of a batch go to the same place.

    Attributes:
        vendor: `openai`, `anthropic`, `google` or `mistral`.
        address: Where the vendor's API begins.
        account: Whose it is: the host, and a fingerprint of the key.
        endpoint: What it is sent to, below the address: `chat/completions`.
        headers: What goes with it, the key among it; no part of what tells places apart.
    """

    vendor: str
    address: str
    account: str
    model: str
    endpoint: str
    headers: Mapping[str, str] = field(compare=False, repr=False, default_factory=dict[str, str])


class BatchLook(Record, frozen=True, kw_only=True):
    """A batch, as the vendor describes it.

    Attributes:
        state: It is worked on; it has ended, with results; or none of it was taken.
        message: Why none of it was taken.
        crowded: It was not taken because too much is waiting already: later it may be.
        faulty: It failed by a fault of the vendor's: it may be sent again.
        results: Where its results are; empty where there are none, or no longer.
        gone: Its results are no longer kept.
    """

    vendor_id: str
    state: Literal["working", "ended", "refused"]
    message: str = ""
    crowded: bool = False
    faulty: bool = False
    results: tuple[str, ...] = ()
    gone: bool = False


class BatchResult(Record, frozen=True):
    """What became of one request of a batch: the answer as it came, or an error.

    Attributes:
        body: The answer's bytes; empty for an error.
        error: Why there is none. A retryable one was not charged for, and may be asked again.
    """

    custom_id: str
    body: bytes = b""
    error: ProviderError | None = None


class BatchVendor(Protocol):
    """One vendor's batches, at one place."""

    most_requests: int
    most_bytes: int

    def line(self, custom_id: str, body: bytes) -> bytes:
        """A request as it goes into a batch. `body` is what would be sent by itself."""
        ...

    async def create(self, name: str, lines: Sequence[bytes]) -> BatchLook:
        """Submits a batch.

        Args:
            name: Ours for it; each line's id begins with it.
            lines: What `line` made.

        Raises:
            ProviderError: It was not submitted; or, where `billed` is None, nobody knows.
        """
        ...

    async def find(
        self, name: str, requests: int, since: float, known: frozenset[str]
    ) -> tuple[BatchLook | None, bool]:
        """The batch that was submitted under this name, and whether there may be one where none is found.

        Args:
            name: Ours for it.
            requests: How many it has.
            since: When it was about to be submitted.
            known: Batches that are others.

        Raises:
            ProviderError: It could not be asked.
        """
        ...

    async def look(self, vendor_id: str) -> BatchLook:
        """How far a batch is.

        Raises:
            ProviderError: It could not be asked.
        """
        ...

    async def collect(self, look: BatchLook) -> Sequence[BatchResult]:
        """The results of a batch that has ended, in whatever order; there may be some twice, and some may be missing.

        Raises:
            ProviderError: They could not be had.
        """
        ...

    async def cancel(self, vendor_id: str) -> None:
        """Has the vendor work on no more of it. What is done stays, and is charged for.

        Raises:
            ProviderError: It could not be asked.
        """
        ...

"""A batch of a run: requests that a vendor answers together, within a day, at a lower price."""

from __future__ import annotations

from typing import Literal

from evenhand.core.record import Record

BatchState = Literal["intended", "out", "cancelling", "collected", "refused", "gone", "given_up"]
"""about to be submitted, or so when the process died · submitted, and not collected · the same, and cancelled as it was
late · its results are in the journal · the vendor took none of it · its results are no longer kept · it did not end
when it was cancelled."""

OPEN: tuple[BatchState, ...] = ("intended", "out", "cancelling")
"""The states in which there is still something to come."""


class BatchRecord(Record, frozen=True):
    """One batch, as a run's file has it.

    Attributes:
        id: Our name for it, which the vendor is told.
        wave: From 1: how many times requests were submitted together before and with it.
        vendor: `openai`, `anthropic`, `google` or `mistral`.
        address: Where the vendor's API begins.
        account: Whose it is: the host, and a fingerprint of the key.
        model: The model that all its requests ask.
        endpoint: What they are sent to, below the address.
        requests: How many they are.
        state: How far it is.
        vendor_id: The vendor's name for it; empty as long as that is not known.
        intended_at: When it was about to be submitted, in seconds since 1970.
        submitted_at: When the vendor had taken it; None as long as that is not known.
        ended_at: When it was cancelled, collected, refused or given up; the last of these.
        bound_usd: More than this it cannot cost; None where a price is not known.
        message: Why it came to nothing; empty where it did not.
    """

    id: str
    wave: int
    vendor: str
    address: str
    account: str
    model: str
    endpoint: str
    requests: int
    state: BatchState
    vendor_id: str = ""
    intended_at: float = 0.0
    submitted_at: float | None = None
    ended_at: float | None = None
    bound_usd: float | None = None
    message: str = ""

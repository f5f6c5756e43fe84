"""What an account makes of vendors with limits, in virtual time."""

from __future__ import annotations

import pytest
from tests.unit.engine.vendors import (
    Bill,
    Client,
    Shedding,
    TokenBucket,
    Vendor,
    Windows,
    account_on,
    even,
    uneven,
)


def billed(timeline, vendor: Vendor, sizes, at_once: int = 50) -> Bill:
    """What came of calls that all want to be sent at once."""
    client = Client(vendor, account_on(timeline, at_once), timeline, at_once)
    return timeline.run(client.send(sizes))


@pytest.mark.parametrize(
    ("vendor", "sizes"),
    [
        (TokenBucket(40, 40, says="retry-after"), even(2000)),
        (TokenBucket(40, 400, says="headers"), even(2000)),
        (TokenBucket(40_000, 400_000, by_tokens=True, says="headers"), uneven(2000)),
    ],
    ids=["retry-after", "headers", "tokens"],
)
def test_most_of_a_limit_that_the_vendor_tells_is_used(timeline, vendor, sizes):
    """By requests and by tokens; from the first call to the last."""
    bill = billed(timeline, vendor, sizes)
    assert len(bill.waits) == len(sizes)
    used = bill.taken(bill.began, bill.ended) / vendor.allowed(bill.began, bill.ended)
    assert used >= 0.85


def test_a_window_is_used_up_and_its_end_waited_for(timeline):
    """600 a minute: all of them in each minute, and hardly one refused."""
    vendor = Windows(600, says="headers")
    bill = billed(timeline, vendor, even(2400))
    start, end = vendor.counted(bill.began, bill.ended)
    assert bill.taken(start, end) == vendor.allowed(start, end)
    assert bill.refusals < 0.05


@pytest.mark.parametrize("says", ["retry-after", ""])
def test_no_call_is_sent_again_before_it_may_be(timeline, says):
    """Whatever the vendor refuses, and however it says so."""
    bill = billed(timeline, Shedding(0.05, says=says), even(200))
    assert len(bill.refused) > 0
    assert bill.early == 0

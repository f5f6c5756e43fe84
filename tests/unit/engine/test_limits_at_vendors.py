"""What an account makes of vendors with limits, in virtual time."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.engine.vendors import (
    CYCLE_S,
    Bill,
    BySecond,
    Client,
    InFlight,
    Shedding,
    TokenBucket,
    Vendor,
    Verdict,
    Windows,
    account_on,
    even,
    uneven,
)

SEEDS = (1,)


def billed(timeline, vendor: Vendor, sizes, seed: int = 1, at_once: int = 50) -> Bill:
    """What came of calls that all want to be sent at once."""
    client = Client(vendor, account_on(timeline, at_once, seed), timeline, at_once, seed)
    return timeline.run(client.send(sizes))


def used(vendor: Vendor, bill: Bill) -> float:
    """The share of what the vendor allowed, from the first call to the last that was sent."""
    end = bill.accepted[-1][0]
    return bill.taken(*vendor.counted(bill.began, end)) / vendor.allowed(bill.began, end)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("says", ["retry-after", ""])
@pytest.mark.parametrize(
    ("vendor", "least", "refused"),
    [
        (lambda says: TokenBucket(40, 40, says=says), 0.95, 0.05),
        (lambda says: TokenBucket(40, 1, says=says), 0.9, 0.03),
        (lambda says: TokenBucket(5, 10, says=says, latency_s=2), 0.95, 0.05),
        (lambda says: InFlight(10, says=says), 0.95, 0.03),
        (lambda says: InFlight(5, says=says), 0.94, 0.03),
        (lambda says: InFlight(3, says=says, latency_s=2), 0.95, 0.03),
        (lambda says: InFlight(2, says=says, latency_s=2), 0.95, 0.03),
    ],
    ids=["a bucket", "no burst", "slow", "10 in flight", "5 in flight", "3 slow", "2 slow"],
)
def test_a_limit_that_only_refusals_tell_is_found_and_used(
    timeline, vendor, says, seed, least, refused
):
    """By the second and by what is in flight, with Retry-After and without; nobody is starved."""
    vendor = vendor(says)
    bill = billed(timeline, vendor, even(3000), seed)
    assert len(bill.waits) == 3000
    assert used(vendor, bill) >= least
    assert bill.refusals <= refused
    assert max(bill.waits) < 60
    assert bill.early == 0


@pytest.mark.parametrize("says", ["retry-after", ""])
@pytest.mark.parametrize(
    "vendor",
    [
        lambda says: InFlight(10, says=says, latency_s=0.2),
        lambda says: InFlight(60, says=says, latency_s=0.2),
        lambda says: TokenBucket(40, 4, says=says, latency_s=0.2),
    ],
    ids=["10 in flight", "60 in flight", "40 a second"],
)
def test_few_of_a_thousand_calls_are_refused_where_a_hundred_could_be_sent_at_once(
    timeline, vendor, says
):
    """The first calls are spread over a round trip, so the first refusals hold the others back."""
    vendor = vendor(says)
    bill = billed(timeline, vendor, even(1000), at_once=100)
    assert bill.refusals <= 0.04
    assert used(vendor, bill) >= 0.75


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_a_limit_by_tokens_that_only_refusals_tell_is_found_and_used(timeline, says, seed):
    """Sizes differ by a factor of a thousand, and large calls are not starved."""
    vendor = TokenBucket(40_000, 40_000, by_tokens=True, says=says)
    bill = billed(timeline, vendor, uneven(4000), seed)
    assert used(vendor, bill) >= 0.92
    assert bill.refusals <= 0.035
    assert max(bill.waits) < 60


@pytest.mark.parametrize(
    ("vendor", "sizes"),
    [
        (TokenBucket(40, 400, says="headers"), even(2000)),
        (TokenBucket(40_000, 400_000, by_tokens=True, says="headers"), uneven(2000)),
        (TokenBucket(40_000, 40_000, by_tokens=True, says="headers"), uneven(2000)),
    ],
    ids=["requests", "tokens", "tokens, small reserve"],
)
def test_most_of_a_limit_that_headers_tell_is_used(timeline, vendor, sizes):
    """By requests and by tokens, of which a fifth are not known beforehand; hardly a call is refused."""
    bill = billed(timeline, vendor, sizes)
    assert used(vendor, bill) >= 0.95
    assert bill.refusals <= 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("latency_s", [0.2, 0.5])
def test_a_limit_by_the_minute_that_is_enforced_by_the_second_is_kept_to(timeline, latency_s, seed):
    """What headers name comes to a rate: refused calls included, hardly more than that is sent in any minute."""
    vendor = BySecond(100, 100, latency_s=latency_s)
    bill = billed(timeline, vendor, even(9000), seed, at_once=60)
    assert bill.most_sent_in(60) <= 1.02 * 6000
    assert used(vendor, bill) >= 0.97
    assert bill.refusals <= 0.02


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("at_once", [10, 60, 200])
@pytest.mark.parametrize("latency_s", [0.2, 1.0])
def test_the_first_calls_hardly_exceed_a_limit_that_nobody_knows_yet(
    timeline, latency_s, at_once, seed
):
    """600 a minute, ten of them in any second, and up to 200 calls that could be sent at once."""
    vendor = BySecond(10, 10, latency_s=latency_s)
    bill = billed(timeline, vendor, even(1200), seed, at_once=at_once)
    assert bill.most_sent_in(60) <= 1.02 * 600
    assert used(vendor, bill) >= 0.95


@pytest.mark.parametrize("latency_s", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(
    "vendor",
    [
        lambda latency_s: TokenBucket(1e6, 1e6, latency_s=latency_s),
        lambda latency_s: TokenBucket(10, 600, says="headers", latency_s=latency_s),
    ],
    ids=["no limit", "a minute's reserve"],
)
def test_calls_that_are_all_accepted_are_hardly_held_back(timeline, vendor, latency_s):
    """A hundred calls of which sixty may be sent at once, and a vendor that takes them."""
    bill = billed(timeline, vendor(latency_s), even(100), at_once=60)
    assert not bill.refused
    assert bill.ended - bill.began < 3 * latency_s + 1.3


def test_a_rate_that_headers_name_is_left_where_calls_are_refused_for_what_is_in_flight(timeline):
    """Headers name 100 a second; ten calls at once, which is all that is taken, come to 91."""

    class Both(InFlight):
        def decide(self, tokens: int, now: float) -> Verdict:
            named = BySecond.decide(counts, tokens, now)
            return Verdict(super().decide(tokens, now).error, named.rates)

    counts = BySecond(100, 6000)
    vendor = Both(10)
    bill = billed(timeline, vendor, even(4000))
    assert used(vendor, bill) >= 0.93
    assert bill.refusals <= 0.04


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("says", ["retry-after", ""])
@pytest.mark.parametrize(
    "vendor",
    [
        lambda says: TokenBucket(100, 100, says=says, latency_s=0.51),
        lambda says: TokenBucket(100, 100, says=says, latency_s=0.48),
    ],
    ids=["little", "more"],
)
def test_a_limit_that_little_more_is_sent_than_is_not_taken_for_shedding(
    timeline, vendor, says, seed
):
    """60 callers send so little more than is allowed that fewer than a tenth of all calls would be refused."""
    vendor = vendor(says)
    bill = billed(timeline, vendor, even(9000), seed, at_once=60)
    assert bill.refusals <= 0.035
    assert used(vendor, bill) >= 0.94


@pytest.mark.parametrize("says", ["headers", "retry-after", ""])
def test_a_window_is_used_up_and_its_end_waited_for(timeline, says):
    """600 a minute: all of them in each minute, and hardly one refused."""
    vendor = Windows(600, says=says)
    bill = billed(timeline, vendor, even(3000))
    start, end = vendor.counted(bill.began, bill.ended)
    assert bill.taken(start, end) >= 0.98 * vendor.allowed(start, end)
    assert bill.refusals < 0.03


@pytest.mark.parametrize("limit", [50, 200])
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_the_end_of_a_window_that_is_known_costs_one_refusal(timeline, limit, says):
    """Nor is a vendor that names no wait asked whether the next one has begun, once two have been seen."""
    vendor = Windows(limit, says=says)
    bill = billed(timeline, vendor, even(8 * limit))
    assert bill.taken(*vendor.counted(bill.began, bill.ended)) == 6 * limit
    windows = [int(at // 60) for at in bill.refused]
    assert [windows.count(nth) for nth in sorted(set(windows))[2:]] == [1] * 5
    assert max(bill.waits) < 200


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_a_vendor_that_sheds_single_requests_slows_nobody_but_those(timeline, says, seed):
    """At most 1.3 times as long as a client takes that pauses the refused call and nothing else."""
    bill = billed(timeline, Shedding(0.05, says=says, seed=seed), even(2000), seed)
    bare = Client(Shedding(0.05, says=says, seed=seed), None, timeline, 50, seed)
    yardstick = timeline.run(bare.send(even(2000)))
    assert bill.ended - bill.began <= 1.3 * (yardstick.ended - yardstick.began)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_a_limit_that_drops_and_comes_back_is_followed(timeline, says, seed):
    """40 a second, 4 for two minutes, 40 again: used but for half a minute after each change."""
    vendor = TokenBucket(lambda now: 4.0 if 1060 <= now < 1180 else 40.0, 40, says=says)
    bill = billed(timeline, vendor, even(2400 + 480 + 3000), seed)
    for part in ((1030, 1060), (1090, 1180), (1210, 1240)):
        assert bill.taken(*part) >= 0.9 * vendor.allowed(*part)
    assert bill.refusals <= 0.05


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_a_vendor_that_is_overloaded_now_and_then_is_used_in_between(timeline, says):
    """5 s in each 20: refused are those that are in flight, and one call each half second until it has passed."""
    vendor = Shedding(0.0, says=says, overloaded=lambda now: now % 20 < 5)
    bill = billed(timeline, vendor, even(14_000))
    assert bill.taken(1025, 1040) >= 0.92 * 15 * 50 / CYCLE_S
    assert sum(1020 <= at < 1040 for at in bill.refused) <= 50 + 20


def test_no_call_is_given_up_in_an_overload_that_passes(timeline):
    """One that lasts 40 s: the call that asks whether it is over asks for all of them."""
    vendor = Shedding(0.0, overloaded=lambda now: 1005 <= now < 1045)
    bill = billed(timeline, vendor, even(5000))
    assert len(bill.waits) == 5000
    assert bill.taken(1047, 1049) > 0.9 * 2 * 50 / CYCLE_S


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("says", ["retry-after", ""])
def test_two_runs_on_one_account_share_it(timeline, says, seed):
    """Neither knows of the other; both learn from what they are refused."""
    vendor = TokenBucket(40, 40, says=says)
    clients = [
        Client(vendor, account_on(timeline, 50, 10 * seed + i), timeline, 50, 10 * seed + i)
        for i in range(2)
    ]

    async def both():
        return await asyncio.gather(*(client.send(even(3000)) for client in clients))

    bills = timeline.run(both())
    end = min(bill.accepted[-1][0] for bill in bills)
    shares = [bill.taken(bill.began, end) / vendor.allowed(bill.began, end) for bill in bills]
    assert min(shares) >= 0.35
    assert sum(shares) >= 0.93


@pytest.mark.parametrize("says", ["retry-after", ""])
def test_no_call_is_sent_again_before_it_may_be(timeline, says):
    """Whatever the vendor refuses, and however it says so."""
    bill = billed(timeline, Shedding(0.05, says=says), even(200))
    assert len(bill.refused) > 0
    assert bill.early == 0

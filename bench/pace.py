"""How much of what a vendor allows a run uses, in virtual time, vendor by vendor: the worst of five seeds.

python bench/pace.py [PART OF A NAME...]

For each vendor: the share of its limit that was used, on average and at least; refusals for each call that was taken,
on average and at most; the longest that a call waited; and calls that were sent again before they might be (0 always).
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.unit.engine.conftest import FakeTime
from tests.unit.engine.vendors import (
    CYCLE_S,
    Bill,
    BySecond,
    Client,
    InFlight,
    Shedding,
    TokenBucket,
    Vendor,
    Windows,
    account_on,
    even,
    uneven,
)

AT_ONCE = 50
SEEDS = range(1, 6)


@dataclass(frozen=True)
class Measured:
    """What one simulation came to.

    Attributes:
        used: Shares of what was allowed; of shedding vendors, the time that a client takes which only pauses the
            refused call, divided by ours.
        refused: Refusals for each call that was taken.
        longest: The longest that a call waited for its answer, seconds.
        early: Calls that were sent again before they were to be.
    """

    used: list[float]
    refused: float
    longest: float
    early: int


Simulation = Callable[[int], Measured]
"""By the seed."""


def sent(vendor: Vendor, sizes: list[tuple[int, int]], seed: int, accounts: int = 1) -> list[Bill]:
    """The bills of so many runs against one vendor, at the same time."""
    loop = FakeTime()
    clients = [
        Client(vendor, account_on(loop, AT_ONCE, 10 * seed + i), loop, AT_ONCE, 10 * seed + i)
        for i in range(accounts)
    ]

    async def go() -> list[Bill]:
        return list(await asyncio.gather(*(client.send(sizes) for client in clients)))

    try:
        return loop.run(go())
    finally:
        loop.close()


def of_limit(
    make: Callable[[], Vendor], sizes: list[tuple[int, int]], accounts: int = 1
) -> Simulation:
    """The share of a limit that is used, from the first call to the last."""

    def measured(seed: int) -> Measured:
        vendor = make()
        bills = sent(vendor, sizes, seed, accounts)
        start, end = bills[0].began, min(bill.ended for bill in bills)
        if isinstance(vendor, TokenBucket):
            end = min(bill.accepted[-1][0] for bill in bills)
        allowed = vendor.allowed(start, end)
        return summed(bills, [bill.taken(*vendor.counted(start, end)) / allowed for bill in bills])

    return measured


def summed(bills: list[Bill], used: list[float]) -> Measured:
    """Several bills as one."""
    return Measured(
        used,
        max(bill.refusals for bill in bills),
        max(max(bill.waits) for bill in bills),
        sum(bill.early for bill in bills),
    )


def shedding(says: str) -> Simulation:
    """Shedding, beside a client that only pauses the call that was refused."""

    def measured(seed: int) -> Measured:
        took, bills = [], []
        for mine in (True, False):
            loop = FakeTime()
            account = account_on(loop, AT_ONCE, seed) if mine else None
            client = Client(Shedding(0.05, says=says, seed=seed), account, loop, AT_ONCE, seed)
            bills.append(loop.run(client.send(even(2000))))
            took.append(bills[-1].ended - bills[-1].began)
            loop.close()
        return summed(bills[:1], [took[1] / took[0]])

    return measured


def overloaded(says: str) -> Simulation:
    """A vendor that is overloaded for 5 s in each 20: what was taken in between, of what so many callers can send."""

    def measured(seed: int) -> Measured:
        phase = 20 * random.Random(seed).random()

        def busy(now: float) -> bool:
            return (now + phase) % 20 < 5

        bills = sent(Shedding(0.0, says=says, overloaded=busy), even(20_000), seed)
        last = bills[0].accepted[-1][0]
        steps = int((last - bills[0].began) * 100)
        open_s = sum(not busy(bills[0].began + step / 100) for step in range(steps)) / 100
        return summed(bills, [20_000 / (AT_ONCE / CYCLE_S) / open_s])

    return measured


def changing(says: str) -> Simulation:
    """A limit of 40 a second that is 4 for two minutes: before, meanwhile and after, 30 s after each change."""

    def measured(seed: int) -> Measured:
        vendor = TokenBucket(lambda now: 4.0 if 1060 <= now < 1180 else 40.0, 40, says=says)
        bills = sent(vendor, even(2400 + 480 + 4000), seed)
        parts = ((1030, 1060), (1090, 1180), (1210, 1270))
        return summed(bills, [bills[0].taken(*part) / vendor.allowed(*part) for part in parts])

    return measured


SIMULATIONS: dict[str, Simulation] = {}
for _says in ("retry-after", ""):
    _how = "Retry-After" if _says else "no word"
    SIMULATIONS |= {
        f"a 40 requests/s, burst 40, {_how}": of_limit(
            lambda s=_says: TokenBucket(40, 40, says=s), even(4000)
        ),
        f"a 40 requests/s, burst 1, {_how}": of_limit(
            lambda s=_says: TokenBucket(40, 1, says=s), even(4000)
        ),
        f"a 5 requests/s of 2 s, burst 10, {_how}": of_limit(
            lambda s=_says: TokenBucket(5, 10, says=s, latency_s=2), even(4000)
        ),
        f"b 40,000 tokens/s, {_how}": of_limit(
            lambda s=_says: TokenBucket(40_000, 40_000, by_tokens=True, says=s), uneven(4000)
        ),
        f"c 600 requests a minute, {_how}": of_limit(
            lambda s=_says: Windows(600, says=s), even(6000)
        ),
        f"d 10 at once, {_how}": of_limit(lambda s=_says: InFlight(10, says=s), even(4000)),
        f"d 3 at once, of 2 s, {_how}": of_limit(
            lambda s=_says: InFlight(3, says=s, latency_s=2), even(3000)
        ),
        f"e sheds 5 %, {_how}": shedding(_says),
        f"f overloaded 5 s in 20, {_how}": overloaded(_says),
        f"g 40, 4, 40 requests/s, {_how}": changing(_says),
        f"h two runs on 40 requests/s, {_how}": of_limit(
            lambda s=_says: TokenBucket(40, 40, says=s), even(3000), 2
        ),
    }
SIMULATIONS |= {
    "a 40 requests/s, burst 400, headers": of_limit(
        lambda: TokenBucket(40, 400, says="headers"), even(4000)
    ),
    "b 40,000 tokens/s, headers": of_limit(
        lambda: TokenBucket(40_000, 400_000, by_tokens=True, says="headers"), uneven(4000)
    ),
    "i 100 requests/s, headers by the minute": of_limit(
        lambda: BySecond(100, 100, latency_s=0.45), even(9000)
    ),
    "j 100 requests/s, little more is sent": of_limit(
        lambda: TokenBucket(100, 100, says="retry-after", latency_s=0.45), even(9000)
    ),
    "c 600 requests a minute, headers": of_limit(lambda: Windows(600, says="headers"), even(6000)),
}


def main(words: list[str]) -> None:
    print(
        f"{'':42}{'used, mean':>24}{'least':>8}{'refused':>9}{'most':>7}{'longest':>9}{'early':>6}"
    )
    for name, simulate in sorted(SIMULATIONS.items()):
        if words and not any(word in name for word in words):
            continue
        try:
            runs = [simulate(seed) for seed in SEEDS]
        except AssertionError as error:  # a call was given up, or everybody waits
            print(f"{name:42}{error}")
            continue
        means = " ".join(
            f"{statistics.mean(part):.1%}" for part in zip(*(run.used for run in runs), strict=True)
        )
        refused = [run.refused for run in runs]
        print(
            f"{name:42}{means:>24}{min(min(run.used) for run in runs):>8.1%}{statistics.mean(refused):>9.1%}"
            f"{max(refused):>7.1%}{max(run.longest for run in runs):>7.1f} s{sum(run.early for run in runs):>6}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])

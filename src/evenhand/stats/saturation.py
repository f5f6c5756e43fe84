"""How much of what fails the kinds that people have named cover, from the failures that they have read.

How this works: a failure whose kinds all have no other note would have had no name, had it not been read. The share of
such failures is about the share of those to come that have no name yet: Good and Turing's estimate, in the form that
leaves one out, so that a failure may have several kinds. A failure without any kind has no name either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from evenhand.stats.correction import Estimate
from evenhand.stats.interval import CONFIDENCE, wilson, z_of

_LEAST = 0.5
"""Failures without a name that are taken to be there at least, where the spread is estimated."""


def named_share(
    failures: Sequence[tuple[float, Collection[str]]], confidence: float = CONFIDENCE
) -> Estimate | None:
    """The share of all failures that a named kind covers, from 0 to 1, with its interval.

    Args:
        failures: For each failure that people read, for how many it stands, and its kinds; empty for none.
        confidence: Of the interval, two-sided.

    Returns:
        None without failures.

    Source: Good, Biometrika 40 (1953), doi:10.1093/biomet/40.3-4.237. The variance of what is left to be seen is
        Esty's, Annals of Statistics 11 (1983), doi:10.1214/aos/1176346256: (u (1 − u/n) + 2 t)/n², where u failures
        have no kind with another note, and t kinds have two notes. The interval is Wilson's with the number of
        failures that leaves this variance; with weights, of the effective number (Kish, Survey Sampling, 1965, §11.7).

    >>> failures = [(1.0, ["late"])] * 12 + [(1.0, ["rude"])] * 7 + [(1.0, ["odd"])]
    >>> [round(x, 3) for x in named_share(failures)]
    [0.95, 0.764, 1.0]
    """
    total = math.fsum(weight for weight, _ in failures)
    if not total:
        return None
    notes = Counter(kind for _, kinds in failures for kind in set(kinds))
    alone = [weight for weight, kinds in failures if all(notes[kind] < 2 for kind in kinds)]
    pairs = sum(size == 2 for size in notes.values())
    size = total**2 / math.fsum(weight * weight for weight, _ in failures)
    share = min(1.0, math.fsum(alone) / total)
    nameless = min(max(share * size, _LEAST), size - _LEAST) if size > 2 * _LEAST else size / 2
    spread = nameless * (1 - nameless / size)
    effective = size * spread / (spread + 2 * pairs * size / len(failures))
    _, high = wilson(share * effective, effective, confidence)
    # Wilson's lower end is above 0 with any such failure; yet all kinds may be named by now.
    half = z_of(confidence) * math.sqrt(spread / size / effective)
    low = max(0.0, share - half)
    return Estimate(1 - share, 1 - high, 1 - low)

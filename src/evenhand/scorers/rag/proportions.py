"""A number that was counted, with what it was counted from."""

from __future__ import annotations

from typing import Any

from evenhand.core.score import Score
from evenhand.scorers.rag.claims import Provenance, Support
from evenhand.scorers.rag.definitions import OURS
from evenhand.stats.interval import wilson

DISAGREES = 0.005
"""A judge's own total that is further off than this is worth a word."""


def proportion(yes: int, n: int, reason: str, **kept: Any) -> Score:
    """`yes` of `n`, with Wilson's interval. `n` is at least 1."""
    low, high = wilson(yes, n)
    interval = [round(low, 4), round(high, 4)]
    return Score(yes / n, None, reason, {"n": n, "interval": interval, **kept})


def nothing(reason: str, **kept: Any) -> Score:
    """The score of a metric that does not apply, and why."""
    return Score(None, None, reason, kept)


def asked_by(*provenance: Provenance | None, definitions: str = OURS) -> dict[str, str]:
    """Who was asked, the versions of the prompts, and whose definitions were used where they are not ours.

    Words in what was judged that speak to the judge are kept as `suspect`: the number stands, and is worth a look.
    """
    there = [one for one in provenance if one is not None]
    details = {} if definitions == OURS else {"definitions": definitions}
    if there:
        details["judge"] = ", ".join(dict.fromkeys(one.judge for one in there))
        details["prompt"] = ", ".join(dict.fromkeys(one.prompt for one in there))
    suspect = next((one.suspect for one in there if one.suspect), "")
    if suspect:
        details["suspect"] = suspect
    return details


def checked_total(support: Support) -> dict[str, float]:
    """The judge's own total, where it gave one that is not what its verdicts come to."""
    share, n = support.judge_share, len(support.claims)
    if share is None or not n or abs(share - support.count("supported") / n) <= DISAGREES:
        return {}
    return {"judge_total": share}


def these(support: Support, stand: str, most: int = 3) -> str:
    """The first claims that stand so, in quotes."""
    claims = [
        claim
        for claim, verdict in zip(support.claims, support.verdicts, strict=True)
        if verdict.stand == stand
    ]
    text = "; ".join(f"“{claim[:120]}”" for claim in claims[:most])
    return text + (f" and {len(claims) - most} more" if len(claims) > most else "")

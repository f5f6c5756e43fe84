"""How a prompt has been used: counts, and medians over what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from evenhand.core.record import Record
from evenhand.doors.prompt_directories.evidence import Row

MEASURED = ("duration_ms", "prompt_words", "output_words")


class PromptUsage(Record, frozen=True, kw_only=True):
    """What a prompt's rows of usage come to.

    Attributes:
        total: Rows, dry ones too.
        sent: Of those, the ones that were sent.
        verified: Sent, and verify.sh found nothing wrong.
        refuted: Sent, and verify.sh found something wrong.
        unverified: Sent, and nobody looked.
        last: When the last one ended; empty for none.
        medians: Of the rows that were sent, by key; None where none has the key.
    """

    total: int
    sent: int
    verified: int
    refuted: int
    unverified: int
    last: str
    medians: dict[str, float | None]


def usage_of(rows: Sequence[Row]) -> PromptUsage:
    """What these rows come to."""
    sent = [row for row in rows if row.get("sent") is True]
    return PromptUsage(
        total=len(rows),
        sent=len(sent),
        verified=sum(row.get("verified") is True for row in sent),
        refuted=sum(row.get("verified") is False for row in sent),
        unverified=sum(row.get("verified") is None for row in sent),
        last=str(rows[-1].get("ts") or "") if rows else "",
        medians={key: _median(sent, key) for key in MEASURED},
    )


def _median(rows: Sequence[Row], key: str) -> float | None:
    values = [row[key] for row in rows if type(row.get(key)) in (int, float)]
    return float(median(values)) if values else None

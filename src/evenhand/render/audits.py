"""The audits of a judge in words, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from evenhand.analysis.trust.audit import Audit
from evenhand.core.wording.words import folded

WIDTH = 100
_RESULTS = {
    "biased": "biased: ",
    "not shown": "no bias shown: ",
    "measured": "",
    "not applicable": "not applicable: ",
}


def audit_lines(audits: Sequence[Audit]) -> Iterator[str]:
    """A short block: an audit each line, those that are not applicable for the same reason together."""
    if not audits:
        return
    tests = sum(audit.p is not None for audit in audits)
    biased = [audit.name for audit in audits if audit.result == "biased"]
    if biased:
        yield f"  audits     biased by {', '.join(biased)}"
    else:
        yield (
            "  audits     no bias shown" if tests else "  audits     no bias could be tested for"
        )
    for words, group in groupby(audits, key=lambda audit: _RESULTS[audit.result] + audit.words):
        names = ", ".join(audit.name for audit in group)
        yield from folded(f"{names}: {words}", WIDTH, "    ", "      ", whole=True)

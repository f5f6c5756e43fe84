"""Whether a run passed: the word that is printed, and that the exit code follows."""

from __future__ import annotations

from evenhand.core.errors import UsageError
from evenhand.core.run import Totals, VerdictWord, verdict
from evenhand.store.runfile import RunFile


def verdict_of(run: RunFile, totals: Totals | None = None) -> VerdictWord:
    """Whether a run passed: the one rule that decides the word and the exit code.

    Without requirements, it goes by its pass rate over all trials. With them, it failed if any is missed in any of its
    columns, it passed if all are kept, and is undecided otherwise. Where calibrated judges are required, it has not
    passed as long as some judged rate or ranking has no calibration that holds, or a judged rate misses a bound once it
    is corrected: it is undecided.

    Args:
        totals: Its counts, where they are known already.
    """
    word = _verdict_of(run, totals or run.totals())
    if word == "passed" and run.meta.settings.get("calibrated") == "required":
        from evenhand.analysis.trust.corrected_bounds import (  # noqa: PLC0415 (most runs need none of it)
            corrected_misses,
            is_unchecked,
        )

        try:
            return "undecided" if is_unchecked(run) or corrected_misses(run) else word
        except (
            UsageError
        ):  # a damaged calibration, of which the report tells, is one that does not hold
            return "undecided"
    return word


def _verdict_of(run: RunFile, totals: Totals) -> VerdictWord:
    meta = run.meta
    word = meta.decided.get("verdict")
    # Stopping early was decided at a level that allows for looks; counting anew would not be.
    if meta.status == "decided" and word in ("passed", "failed"):
        return word
    if not meta.requirements:
        return verdict(totals, meta.planned, meta.pass_rate)
    from evenhand.analysis.trust.requirements import held  # noqa: PLC0415 (most runs need none of it)

    states = {one.state for one in held(run, totals)}
    if "missed" in states:
        return "failed"
    return "passed" if states == {"kept"} else "undecided"

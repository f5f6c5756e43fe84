"""Which cases of a run a baseline asked otherwise: how they came out says nothing of a change of the application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, read
from evenhand.analysis.comparison.comparison_sides import Side, matched
from evenhand.analysis.comparison.regraded_outputs import regraded_outputs
from evenhand.analysis.comparison.same_test import Likeness, judged_again
from evenhand.store.runfile import RunFile


def asked_otherwise(
    baseline: RunFile, run: RunFile, renamed: Mapping[str, str]
) -> dict[int, Sequence[str]]:
    """By column of the run its cases that `evenhand compare` leaves out of `passed`: another test, or another judge.

    Args:
        renamed: By id of the run's cases what the baseline calls them, where it is something else.
    """
    pairs, _ = matched(Side(baseline), Side(run))
    ids = CaseIds()
    mine = read(baseline, {i for i, _ in pairs}, (PASSED,), "", ids)
    theirs = read(run, {j for _, j in pairs}, (PASSED,), "", ids, renamed)
    again = judged_again(baseline.meta, run.meta)
    others = regraded_outputs(baseline, run, pairs, renamed)[1] if again else {}
    own = {before: case for case, before in renamed.items()}
    unlike: dict[int, Sequence[str]] = {}
    for i, j in pairs:
        likeness = Likeness(mine[i], theirs[j], others=others.get((i, j), ()) if again else None)
        cases = [ids[n] for n in mine[i].cases if n in theirs[j].cases and _apart(likeness, n)]
        if cases:
            unlike[j] = [own.get(case, case) for case in cases]
    return unlike


def _apart(likeness: Likeness, number: int) -> bool:
    return bool(likeness.why_not(PASSED, number) or likeness.other_judge(PASSED, number))

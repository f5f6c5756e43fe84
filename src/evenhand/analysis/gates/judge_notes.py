"""What a gate says of the judges that its verdicts rest on, where people haven't shown that they may be used."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evenhand.analysis.comparison.case_values import PASSED
from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.trust_rules import NOT_CHECKED
from evenhand.core.errors import UsageError
from evenhand.core.wording.words import in_one_line, safe
from evenhand.store.runfile import RunFile

_OF_ALL = frozenset({PASSED, "score"})
"""What every expectation of a trial is part of."""
_NAMED = 3


def judge_notes(run: RunFile, metrics: Collection[str]) -> Iterator[str]:
    """A line for each judge and lack, as `run` and `compare` report them.

    Args:
        run: The gate's run.
        metrics: What the gate compared.
    """
    lacks: dict[tuple[str, str], dict[str, None]] = {}
    try:
        for rate in judged_rates(run):
            lack = _lack(rate)
            if lack and (rate.metric in metrics or not _OF_ALL.isdisjoint(metrics)):
                lacks.setdefault((rate.model, lack), {})[rate.metric] = None
    except UsageError as error:  # a damaged calibration
        yield f"! {safe(in_one_line(str(error)))}"
        return
    for (model, lack), names in lacks.items():
        listed = ", ".join(map(safe, [*names][:_NAMED]))
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"! {listed}{more}, judged by {safe(model)}: {lack}"


def _lack(rate: JudgedRate) -> str:
    """Why a judge's verdicts may not be relied on, in words; empty where they may."""
    if rate.status == "missing":
        return NOT_CHECKED
    if rate.status == "stale":
        return f"calibration is stale: {', '.join(map(safe, rate.changed))} changed"
    return f"{rate.doubt}: see `evenhand calibrate`" if rate.doubt else ""

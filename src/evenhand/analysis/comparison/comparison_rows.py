"""A comparison as flat rows: a row for each case that changed, or for each metric."""

from __future__ import annotations

import math
from typing import Any

from evenhand.analysis.comparison.comparison_results import Compared, ComparedRuns, ends
from evenhand.analysis.summaries.frames import Kinds

_COLUMNS: Kinds = {"metric": "text", "first_column": "text", "second_column": "text"}
_ENDS: Kinds = {
    f"{name}{end}": "number"
    for name in ("first", "second", "difference")
    for end in ("", "_least", "_most")
}
"""As `ends` names them."""
CASES: Kinds = {**_COLUMNS, "case": "text", "name": "text", **_ENDS}
"""The columns of `case_rows`."""
METRICS: Kinds = {
    **_COLUMNS,
    "verdict": "text",
    "better": "text",
    "n": "whole",
    **_ENDS,
    "low": "number",
    "high": "number",
    "p": "number",
    "p_alone": "number",
    "smallest": "number",
    "changed": "whole",
    "same": "whole",
    "unsettled": "whole",
    "trials_in_error": "whole",
    "withheld": "text",
}
"""The columns of `metric_rows`."""


def case_rows(comparison: ComparedRuns) -> list[dict[str, Any]]:
    """A row for each case that changed in a metric, the worst change first."""
    return [
        {**_columns(result), "case": change.case, "name": change.name, **change.document()}
        for result in comparison.results
        for change in result.changed
    ]


def metric_rows(comparison: ComparedRuns) -> list[dict[str, Any]]:
    """A row for each metric of each pair of columns. An end that the interval doesn't have is None."""
    return [
        {
            **_columns(result),
            "verdict": result.verdict,
            "better": "lower" if result.lower else "higher",
            "n": result.n,
            **ends("first", result.first_range),
            **ends("second", result.second_range),
            **ends("difference", result.difference_range),
            "low": result.low if math.isfinite(result.low) else None,
            "high": result.high if math.isfinite(result.high) else None,
            "p": result.p,
            "p_alone": result.p_alone,
            "smallest": result.smallest,
            "changed": len(result.changed),
            "same": result.alike,
            "unsettled": len(result.unsettled),
            "trials_in_error": result.trials_in_error,
            "withheld": result.withheld or None,
        }
        for result in comparison.results
    ]


def _columns(result: Compared) -> dict[str, Any]:
    first, second = result.columns
    return {"metric": result.metric, "first_column": first, "second_column": second}

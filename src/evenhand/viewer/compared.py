"""A comparison of two runs, in the shape that the page reads."""

from __future__ import annotations

import math

from evenhand.report.compare_report import headline, lines
from evenhand.report.comparing import compare
from evenhand.report.sides import Side, matched
from evenhand.store.runfile import RunFile
from evenhand.viewer.listing import summary_of
from evenhand.viewer.shapes import ComparedRow, ComparisonShape


def comparison(run: RunFile, baseline: RunFile) -> ComparisonShape:
    """The run against a baseline: how much better or worse it is than that.

    Raises:
        UsageError: They cannot be compared.
        StoreError: One of them cannot be read.
    """
    found = compare(baseline, run)
    pairs, _ = matched(Side(baseline), Side(run))
    return ComparisonShape(
        baseline=summary_of(baseline, baseline.totals()),
        pairs=pairs,
        results=[
            ComparedRow(
                metric=result.metric,
                rates=result.data.rates,
                before=result.columns[0],
                after=result.columns[1],
                verdict=result.verdict,
                sentence=f"{headline(result, found)}: {result.verdict}",
                n=result.n,
                first=result.first,
                second=result.second,
                difference=result.difference,
                low=_finite(result.low),
                high=_finite(result.high),
                p=_finite(result.p),
            )
            for result in found.results
        ],
        lines=lines(found),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

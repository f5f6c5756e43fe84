"""What a run came to in each of its measures, column by column: a point for each in the charts over several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import msgspec

from evenhand.report.grid import column_names
from evenhand.report.rates import rates
from evenhand.store.opened import readable
from evenhand.store.runfile import RunFile
from evenhand.viewer.listing import FEW


@dataclass(frozen=True, slots=True)
class Measured:
    """One column: its name, what it passed of, and the mean over cases of each number that it has.

    `rate` is None where nothing has a verdict; errors leave it between `least` and `most`. Metrics are left out of runs
    of more than FEW trials: they take a look at every result.
    """

    name: str
    least: float | None
    most: float | None
    low: float | None
    high: float | None
    means: Mapping[str, float]


class _Named(msgspec.Struct, gc=False):
    case: str
    variant: int
    score: float | None = None
    latency_s: float | None = None
    named_scores: dict[str, float] = {}


_named = msgspec.json.Decoder(_Named)


def measures(run: RunFile) -> list[Measured]:
    """Each column's measures, in the order of the columns.

    Raises:
        StoreError: The file cannot be read.
    """
    names = column_names(run.meta.variants)
    values: list[dict[str, dict[str, list[float]]]] = [{} for _ in names]
    if run.settled() <= FEW:
        with readable(run.path):
            for result in run.results():
                _note(values, result)
    return [
        Measured(
            name or run.meta.title,
            found.share and found.share.least,
            found.share and found.share.most,
            found.share and found.share.low,
            found.share and found.share.high,
            {measure: fmean(map(fmean, cases.values())) for measure, cases in of.items()},
        )
        for name, found, of in zip(names, rates(run), values, strict=True)
    ]


def _note(values: list[dict[str, dict[str, list[float]]]], result: bytes) -> None:
    """A trial's numbers, by measure and case; every case counts once, however many trials it has."""
    trial = _named.decode(result)
    numbers: dict[str, Any] = {"score": trial.score, "latency": trial.latency_s}
    numbers |= {f"~{name}": number for name, number in trial.named_scores.items()}
    for measure, number in numbers.items():
        if number is not None:
            values[trial.variant].setdefault(measure, {}).setdefault(trial.case, []).append(number)

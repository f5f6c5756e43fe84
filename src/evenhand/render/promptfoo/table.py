"""A run as promptfoo's CSV: a row for each test, and in it some columns for each prompt and model."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TextIO

from evenhand.core.run import TrialResult
from evenhand.core.wording.json_text import json_text, writer
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.render.promptfoo.row import comment, graded, prompt_label, without_reason
from evenhand.store.labels.label import newest, standing
from evenhand.store.runfile import RunFile

_STATUS = ("PASS", "FAIL", "ERROR")


def write_promptfoo_csv(run: RunFile, out: TextIO) -> int:
    """Writes the run; how many trials there were. It is read twice: the first time for the names of columns."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    described = False
    for trial in run.trials():
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
        described = described or bool(_description(trial))
    measures = sorted(metrics)
    inside = ["Status", "Score", "Named Scores", *(f"Metric: {name}" for name in measures)]
    inside += ["Grader Reason", "Comment"]
    variants = run.meta.variants
    head = [*(["Description"] if described else []), *sorted(names)]
    for variant in variants:
        head += [f"[{variant.model}] {prompt_label(variant)}", *inside]
    table = csv.writer(_Escaping(out))
    table.writerow([cell(text) for text in head])
    labels = standing(run.labels())
    count = 0
    for trials in tests_of(run):
        first = trials[0]
        row: list[Any] = [cell(_description(first))] if described else []
        row += [cell(first.vars.get(name)) for name in sorted(names)]
        cells = {trial.variant: trial for trial in trials}
        for variant in variants:
            trial = cells.get(variant.index)
            newest_labels = newest(labels.get(trial.index, ())) if trial else {}
            row += _columns(trial, measures, comment(newest_labels))
        table.writerow(row)
        count += len(trials)
    return count


def tests_of(run: RunFile) -> Iterator[Sequence[TrialResult]]:
    """The trials of each test in turn: one for each column that it is run in."""
    for _, trials in itertools.groupby(run.trials(), key=lambda trial: (trial.case, trial.repeat)):
        yield list(trials)


def _description(trial: TrialResult) -> str:
    return str(trial.test.get("description") or "") if trial.test else trial.description


def _columns(trial: TrialResult | None, measures: Sequence[str], note: str) -> list[Any]:
    if trial is None:
        return [""] * (6 + len(measures))
    row = graded(trial)
    reason = row.reason or without_reason(trial, row)
    return [
        cell(trial.output),
        _STATUS[row.failure],
        _two_places(row.score),
        json_text({name: _plain(value) for name, value in row.named.items()}) if row.named else "",
        *(_two_places(row.named[name]) if name in row.named else "" for name in measures),
        cell(reason),
        cell(note),
    ]


def _two_places(value: float) -> str:
    """As JavaScript writes it: halves go up."""
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


class _Escaping:
    """A stream that takes text of any kind, with escapes where its encoding has no such character."""

    def __init__(self, out: TextIO) -> None:
        self._write = writer(out)

    def write(self, text: str) -> object:
        """Writes it."""
        return self._write(text)

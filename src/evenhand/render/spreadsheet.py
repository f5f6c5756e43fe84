"""A run as CSV, a row for each trial."""

from __future__ import annotations

import csv
from typing import TextIO

from evenhand.analysis.trust.every_label import every_label
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.store.labels.label import FIELDS, by_name, standing
from evenhand.store.runfile import RunFile

_FIXED = "case description prompt model repeat outcome score output reason error latency_s cost_usd"


def write_csv(run: RunFile, out: TextIO) -> int:
    """One row a trial; each named score, each variable and each kind of label has a column of its own."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for trial in run.trials():  # a first time, for the columns: nothing is held
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
    labels = standing(every_label(run))
    columns = {label.name: None for each in labels.values() for label in each}
    trials_own = FIELDS if columns.keys() & set(FIELDS) else ()
    fields = dict.fromkeys([*trials_own, *(name for name in columns if "@" in name)])
    table = csv.writer(
        out
    )  # RFC 4180: lines end in \r\n, so that a lone one of either inside a cell is quoted
    table.writerow(
        [
            *_FIXED.split(),
            *(f"score:{name}" for name in metrics),
            *(f"var:{name}" for name in names),
            *(f"label:{field}" for field in fields),
        ]
    )
    count = 0
    for trial in run.trials():
        variant = run.meta.variants[trial.variant]
        error = trial.error
        row = [
            trial.case,
            trial.description,
            variant.prompt,
            variant.model,
            trial.repeat,
            trial.outcome,
            trial.score,
            trial.output,
            trial.reason,
            f"{error.slug}: {error.message}" if error else None,
            trial.latency_s,
            trial.cost_usd,
            *(trial.named_scores.get(name) for name in metrics),
            *(trial.vars.get(name) for name in names),
            *(by_name(labels.get(trial.index, ())).get(field) for field in fields),
        ]
        table.writerow([cell(value) for value in row])
        count += 1
    return count

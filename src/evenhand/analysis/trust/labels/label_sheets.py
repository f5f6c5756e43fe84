"""Moves items to label, and labels, in and out of files: CSV, or JSON lines where the file's name ends in .jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.analysis.trust.labels.drawing import DrawnItem, judged_metrics
from evenhand.analysis.trust.labels.sheet_rows import no_labels, read_verdicts, write_rows
from evenhand.core.errors import UsageError
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.store.labels.draw import LabelledVerdict
from evenhand.store.labels.label import LabelField, NewLabel, checked
from evenhand.store.runfile import RunFile

COLUMNS = (
    "item",
    "case",
    "variant",
    "repeat",
    "metric",
    "input",
    "output",
    "inclusion",
    "verdict",
)
NEEDED = ("item", "metric", "verdict")
REMARKS: tuple[LabelField, ...] = ("score", "note", "code")
"""Columns that people may add to a file of labels: what they say of the whole trial."""
_VERDICTS: dict[str, LabelledVerdict] = {"pass": "pass", "fail": "fail"}


@dataclass(slots=True)
class SheetLabels:
    """What somebody filled in.

    Attributes:
        verdicts: By the trial's place in the plan and the metric.
        remarks: Scores, notes and failure codes, by the trial's place and what they are.
    """

    verdicts: dict[tuple[int, str], LabelledVerdict] = field(
        default_factory=dict[tuple[int, str], LabelledVerdict]
    )
    remarks: dict[tuple[int, LabelField], str | float] = field(
        default_factory=dict["tuple[int, LabelField]", "str | float"]
    )

    @property
    def labels(self) -> list[tuple[int, str, LabelledVerdict | None]]:
        """The verdicts, each as (place in the plan, metric, verdict)."""
        return [(index, metric, verdict) for (index, metric), verdict in self.verdicts.items()]


def write_items(run: RunFile, items: Sequence[DrawnItem], path: Path) -> None:
    """Writes items to a file, with an empty column for people's verdicts.

    Raises:
        UsageError: The file is there already, or cannot be written.
    """
    write_rows(path, COLUMNS, ([*_described(run, item), ""] for item in items))


def read_labels(run: RunFile, path: Path) -> SheetLabels:
    """The labels in a file that `write_items` wrote and somebody filled in, with columns of REMARKS or without.

    Rows without a verdict are left out, whatever else is in them.

    Raises:
        UsageError: The file cannot be read, or has no verdicts.
        ConfigError: All that is wrong with it: rows of another run, twice the same item, no verdict.
    """
    labels = SheetLabels()
    read_verdicts(path, COLUMNS, NEEDED, lambda row: _read_row(run, row, labels))
    if not labels.verdicts:
        raise no_labels(path, "pass or fail")
    return labels


def _described(run: RunFile, item: DrawnItem) -> list[str | int | float]:
    trial = item.trial
    return [
        trial.index,
        trial.case,
        str(run.meta.variants[trial.variant]),
        trial.repeat,
        item.metric,
        item.material,
        item.output,
        item.inclusion,
    ]


def _read_row(run: RunFile, row: Mapping[str, str], labels: SheetLabels) -> tuple[str, str] | None:
    """Adds a row's label; what is wrong with it, and what to do, where it is none."""
    text = (row.get("verdict") or "").strip().lower()
    if not text:
        return None
    verdict = _VERDICTS.get(text)
    if verdict is None:
        return f"the verdict is {text[:40]!r}", "Write pass or fail, or leave it empty."
    item, metric = (row.get("item") or "").strip(), row.get("metric") or ""
    other_run = "Is it a draw of another run?"
    # SQLite takes no integer of more than 64 bits.
    trial = run.trial(int(item)) if item.isdecimal() and len(item) < 10 else None
    if trial is None:
        return f"the run has no item {item[:40]!r}", other_run
    # A table holds a name as a cell that no spreadsheet takes for a formula.
    metrics = {form: name for name in judged_metrics(trial) for form in (name, str(cell(name)))}
    if metric not in metrics:
        return f"item {item} has no judged metric {metric[:80]!r}", other_run
    for column, own in (("case", trial.case), ("repeat", str(trial.repeat))):
        if row.get(column) not in (None, "", own, cell(own)):
            return f"item {item} has {column} {own}, not {row[column][:80]!r}", other_run
    output = DrawnItem(trial, metrics[metric], 0.0).output
    # A draw of another run may have the same item numbers; the output tells.
    if _words(row.get("output") or output) not in (_words(output), _words(str(cell(output)))):
        return f"the output of item {item} is another one in this run", other_run
    key = trial.index, metrics[metric]
    if key in labels.verdicts:
        how = "with one verdict" if labels.verdicts[key] == verdict else "as pass and as fail"
        return f"item {item}, {metric}, is there twice, {how}", "Leave one of them."
    labels.verdicts[key] = verdict
    return _read_remarks(trial.index, row, labels)


def _read_remarks(
    index: int, row: Mapping[str, str], labels: SheetLabels
) -> tuple[str, str] | None:
    for name in REMARKS:
        text = (row.get(name) or "").strip()
        if not text:
            continue
        value = _number(text) if name == "score" else text
        try:
            checked(NewLabel(index, name, value))
        except UsageError as error:
            return f"the {name} is {text[:40]!r}", error.hint
        labels.remarks[index, name] = value
    return None


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _words(text: str) -> list[str]:
    """A text without what spreadsheets make of its white space."""
    return text.split()

"""Draws trials for people to label, and moves labels in and out of CSV files."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from evenhand.core.draw import Draw, LabelledVerdict
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.run import TrialResult
from evenhand.report.judged import judge_of, metric_of
from evenhand.report.spreadsheet import cell
from evenhand.report.words import count
from evenhand.store.draws import add_draw
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
_VERDICTS: dict[str, LabelledVerdict] = {"pass": "pass", "fail": "fail"}


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """One output under one metric, to be labelled.

    Attributes:
        trial: The trial.
        metric: What to label.
        inclusion: How likely the trial was to be drawn, from 0 to 1.
    """

    trial: TrialResult
    metric: str
    inclusion: float

    @property
    def material(self) -> str:
        """What the output is an answer to: the case's input, its variables, or the prompt."""
        trial = self.trial
        if trial.input is not None:
            return str(cell(trial.input))
        if trial.vars:
            return "\n".join(f"{name}: {cell(value)}" for name, value in trial.vars.items())
        return trial.prompt or trial.description

    @property
    def output(self) -> str:
        """The output, as text."""
        return str(cell(self.trial.output))


def judged_places(run: RunFile, metrics: Sequence[str] = ()) -> tuple[list[int], list[str]]:
    """The trials that a judge has a verdict on, in the plan's order, and the judged metrics.

    Args:
        metrics: Only these; all where there are none.

    Raises:
        UsageError: No judge was asked, or not under one of these.
    """
    places: list[int] = []
    names: dict[str, None] = {}
    for trial in run.trials():
        judged = _judged(trial)
        names.update(dict.fromkeys(judged))
        if any(not metrics or metric in metrics for metric in judged):
            places.append(trial.index)
    if not names:
        raise UsageError(
            f"run {run.meta.id}: no judge gave a verdict in it",
            hint="Labels are for judged metrics: llm-rubric, Passes, Rating with a bound, and so on.",
        )
    for metric in metrics:
        if metric not in names:
            raise UsageError(
                f"--metric: no judge gave a verdict on {metric!r}",
                hint=did_you_mean(metric, names) or f"There are: {', '.join(names)}.",
            )
    return places, list(metrics or names)


def draw(run: RunFile, size: int, seed: int, metrics: Sequence[str] = ()) -> Draw:
    """Draws trials at random, each with the same probability, and keeps the draw in the run file.

    The same draw twice is one draw. A later one is from the trials that were not drawn before.

    Raises:
        UsageError: Nothing is left to draw from.
        StoreError: The run file cannot be written.
    """
    places, names = judged_places(run, metrics)
    before = [d for d in run.draws() if set(d.metrics) & set(names)]
    for known in before:
        if (known.seed, len(known.places), list(known.metrics)) == (
            seed,
            min(size, len(places)),
            names,
        ):
            return known
    taken = {place for known in before for place in known.places}
    left = [place for place in places if place not in taken]
    if not left:
        raise UsageError(
            f"all {count(len(places), 'judged trial')} of the run are drawn already",
            hint="Go on labelling: `evenhand label` without --draw.",
        )
    chosen = random.Random(seed).sample(left, min(size, len(left)))  # noqa: S311 (a draw that can be repeated)
    add_draw(run.path, seed, names, len(places), chosen)
    with RunFile.open(run.path) as again:
        return again.draws()[-1]


def drawn_items(run: RunFile, draws: Sequence[Draw]) -> Iterator[DrawnItem]:
    """The items of draws, in the order in which they were drawn."""
    sizes: dict[str, int] = {}
    for each in draws:
        for metric in each.metrics:
            sizes[metric] = sizes.get(metric, 0) + len(each.places)
    for each in draws:
        for trial in run.at(each.places):
            for metric in _judged(trial):
                if metric in each.metrics:
                    yield DrawnItem(trial, metric, sizes[metric] / each.population)


def write_items(run: RunFile, items: Sequence[DrawnItem], path: Path) -> None:
    """Writes items to a CSV file, with an empty column for people's verdicts.

    Raises:
        UsageError: The file is there already, or cannot be written.
    """
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for item in items:
        trial = item.trial
        table.writerow(
            [
                trial.index,
                cell(trial.case),
                cell(str(run.meta.variants[trial.variant])),
                trial.repeat,
                cell(item.metric),
                cell(item.material),
                cell(item.output),
                repr(item.inclusion),
                "",
            ]
        )
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
    except FileExistsError:
        raise UsageError(
            f"{path} is there already, maybe with labels in it",
            hint="Name another file, or delete it.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def read_labels(run: RunFile, path: Path) -> list[tuple[int, str, LabelledVerdict]]:
    """The labels in a CSV file that `write_items` wrote and somebody filled in; rows without a verdict are left out.

    Raises:
        UsageError: The file cannot be read.
        ConfigError: All that is wrong with it: rows of another run, twice the same item, no verdict.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    longest = csv.field_size_limit(2**31 - 1)  # an output may be as long as a document
    try:
        return _labels_in(run, path, csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise UsageError(f"{path} is not a CSV file: {error}") from error
    finally:
        csv.field_size_limit(longest)


def _labels_in(
    run: RunFile, path: Path, table: csv.DictReader[str]
) -> list[tuple[int, str, LabelledVerdict]]:
    missing = [
        name for name in ("item", "metric", "verdict") if name not in (table.fieldnames or ())
    ]
    if missing:
        raise UsageError(
            f"{path}: there is no column {', '.join(missing)}",
            hint=f"The columns are {', '.join(COLUMNS)}, as `evenhand label RUN --draw N --to FILE` writes them.",
        )
    problems: list[Problem] = []
    labels: dict[tuple[int, str], LabelledVerdict] = {}
    for row in table:
        problem = _read_row(run, row, len(table.fieldnames or ()), labels)
        if problem is not None:
            what, remedy = problem
            problems.append(Problem(str(path), table.line_num, 0, what, remedy))
    if problems:
        raise ConfigError(problems)
    return [(index, metric, verdict) for (index, metric), verdict in labels.items()]


def _read_row(
    run: RunFile,
    row: dict[str, str],
    columns: int,
    labels: dict[tuple[int, str], LabelledVerdict],
) -> tuple[str, str] | None:
    """Adds a row's label; what is wrong with it, and what to do, where it is none."""
    text = (row.get("verdict") or "").strip().lower()
    if not text:
        return None
    verdict = _VERDICTS.get(text)
    if verdict is None:
        return f"the verdict is {text[:40]!r}", "Write pass or fail, or leave it empty."
    if len(row) != columns or None in cast("list[object]", list(row.values())):
        return (
            "the row has another number of columns than the first line",
            "Quote texts with commas.",
        )
    item, metric = (row.get("item") or "").strip(), row.get("metric") or ""
    other_run = "Is it a draw of another run?"
    trial = run.trial(int(item)) if item.isdecimal() and len(item) < 10 else None
    if trial is None:
        return f"the run has no item {item[:40]!r}", other_run
    metrics = {str(cell(name)): name for name in _judged(trial)}
    if metric not in metrics:
        return f"item {item} has no judged metric {metric[:80]!r}", other_run
    for column, own in (("case", cell(trial.case)), ("repeat", str(trial.repeat))):
        if row.get(column) not in (None, "", own):
            return f"item {item} has {column} {own}, not {row[column][:80]!r}", other_run
    key = trial.index, metrics[metric]
    if key in labels:
        how = "with one verdict" if labels[key] == verdict else "as pass and as fail"
        return f"item {item}, {metric}, is there twice, {how}", "Leave one of them."
    labels[key] = verdict
    return None


def _judged(trial: TrialResult) -> list[str]:
    """The metrics under which a judge has a verdict on a trial."""
    return list(
        dict.fromkeys(
            metric_of(outcome)
            for outcome in trial.outcomes
            if outcome.outcome in ("pass", "fail") and judge_of(outcome)
        )
    )

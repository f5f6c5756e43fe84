"""Draws trials for people to label, and moves labels in and out of CSV files."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from evenhand.core.draw import Draw, LabelledVerdict, MetricLabel
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.label import LabelField, NewLabel, checked
from evenhand.core.names import did_you_mean
from evenhand.core.run import TrialResult
from evenhand.report.judge_checks import refuse_judge_check
from evenhand.report.judged import judge_of, metric_of
from evenhand.report.spreadsheet import as_text, cell
from evenhand.report.strata import inclusions
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
OVERLAP = 20
"""Per cent of what one person labelled that the next one labels again."""
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


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """One output under one metric, to be labelled.

    Attributes:
        trial: The trial.
        metric: What to label.
        inclusion: How likely the trial was to be drawn, from 0 to 1; 0 for one that was picked.
    """

    trial: TrialResult
    metric: str
    inclusion: float

    @property
    def material(self) -> str:
        """What the output is an answer to: the case's input, its variables, or the prompt."""
        trial = self.trial
        if trial.input is not None:
            return as_text(trial.input)
        if trial.vars:
            return "\n".join(f"{name}: {as_text(value)}" for name, value in trial.vars.items())
        return trial.prompt or trial.description

    @property
    def output(self) -> str:
        """The output, as text."""
        return as_text(self.trial.output)


def judged_places(run: RunFile, metrics: Sequence[str] = ()) -> tuple[list[int], list[str]]:
    """The trials that a judge has a verdict on, in the plan's order, and the judged metrics.

    Args:
        metrics: Only these; all where there are none.

    Raises:
        UsageError: No judge was asked, or not under one of these; or its outputs are no system's answers.
    """
    refuse_judge_check(run.meta)
    places: list[int] = []
    names: dict[str, None] = {}
    for trial in run.trials():
        judged = judged_metrics(trial)
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
        same = known.seed, len(known.places), list(known.metrics), known.design
        if same == (seed, min(size, len(places)), names, "uniform"):
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
    every = list({one.number: one for one in [*run.draws(), *draws]}.values())
    shares: dict[str, Callable[[int], float]] = {
        metric: inclusions(every, metric) for each in draws for metric in each.metrics
    }
    for each in draws:
        for trial in run.at(each.places):
            for metric in judged_metrics(trial):
                if metric in each.metrics:
                    yield DrawnItem(trial, metric, shares[metric](trial.index))


def items_for(
    author: str,
    items: Sequence[DrawnItem],
    labels: Mapping[tuple[int, str], Mapping[str, MetricLabel]],
) -> list[DrawnItem]:
    """What a person has to label: all that nobody else has, and the first fifth of the rest once more.

    The fifth shows how far people agree with each other. It is the first of the draw, so it is a random one.

    Args:
        author: The person.
        items: The items of the draws, in their order.
        labels: The labels that count, by trial, metric and person.
    """
    by_others = [
        item for item in items if labels.get((item.trial.index, item.metric), {}).keys() - {author}
    ]
    twice = {(i.trial.index, i.metric) for i in by_others[: -(-len(by_others) * OVERLAP // 100)]}
    skipped = {(i.trial.index, i.metric) for i in by_others} - twice
    return [
        item
        for item in items
        if (item.trial.index, item.metric) not in skipped
        or author in labels.get((item.trial.index, item.metric), {})
    ]


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


def read_labels(run: RunFile, path: Path) -> SheetLabels:
    """The labels in a CSV file that `write_items` wrote and somebody filled in, with columns of REMARKS or without.

    Rows without a verdict are left out, whatever else is in them.

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


def _labels_in(run: RunFile, path: Path, table: csv.DictReader[str]) -> SheetLabels:
    missing = [
        name for name in ("item", "metric", "verdict") if name not in (table.fieldnames or ())
    ]
    if missing:
        raise UsageError(
            f"{path}: there is no column {', '.join(missing)}",
            hint=f"The columns are {', '.join(COLUMNS)}, as `evenhand label RUN --draw N --to FILE` writes them.",
        )
    problems: list[Problem] = []
    labels = SheetLabels()
    for row in table:
        problem = _read_row(run, row, len(table.fieldnames or ()), labels)
        if problem is not None:
            what, remedy = problem
            problems.append(Problem(str(path), table.line_num, 0, what, remedy))
    if problems:
        raise ConfigError(problems)
    return labels


def _read_row(
    run: RunFile,
    row: dict[str, str],
    columns: int,
    labels: SheetLabels,
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
    metrics = {str(cell(name)): name for name in judged_metrics(trial)}
    if metric not in metrics:
        return f"item {item} has no judged metric {metric[:80]!r}", other_run
    for column, own in (("case", cell(trial.case)), ("repeat", str(trial.repeat))):
        if row.get(column) not in (None, "", own):
            return f"item {item} has {column} {own}, not {row[column][:80]!r}", other_run
    key = trial.index, metrics[metric]
    if key in labels.verdicts:
        how = "with one verdict" if labels.verdicts[key] == verdict else "as pass and as fail"
        return f"item {item}, {metric}, is there twice, {how}", "Leave one of them."
    labels.verdicts[key] = verdict
    return _read_remarks(trial.index, row, labels)


def _read_remarks(index: int, row: dict[str, str], labels: SheetLabels) -> tuple[str, str] | None:
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


def judged_metrics(trial: TrialResult) -> list[str]:
    """The metrics under which a judge has a verdict on a trial."""
    return list(
        dict.fromkeys(
            metric_of(outcome)
            for outcome in trial.outcomes
            if outcome.outcome in ("pass", "fail") and judge_of(outcome)
        )
    )

"""Moves items to label, and labels, in and out of files: CSV, or JSON lines where the file's name ends in .jsonl."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.judgements.strata import inclusions
from evenhand.analysis.trust.labels.drawing import DrawnItem, judged_metrics
from evenhand.analysis.trust.labels.pair_drawing import DrawnPair
from evenhand.analysis.trust.labels.ranking_labels import pair_keys
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import as_text, cell
from evenhand.core.wording.words import count
from evenhand.languages.documents.delimited import Header, NotDelimited, delimiter_of, records
from evenhand.languages.documents.file_kinds import not_lines
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import decoded
from evenhand.store.labels.draw import (
    VERDICTS,
    Draw,
    LabelledVerdict,
    Pair,
    PairAnswer,
    PairDraw,
    unordered,
)
from evenhand.store.labels.label import LabelField, NewLabel, checked
from evenhand.store.replacing import beside, created
from evenhand.store.runfile import RunFile

_Verdict = TypeVar("_Verdict")


class SheetRow(Record, frozen=True):
    """A row of a file.

    Attributes:
        line: The line that it begins on, from 1.
        texts: What it says, by column.
        problem: What is wrong with it, and what to do; None for nothing.
    """

    line: int
    texts: Mapping[str, str]
    problem: tuple[str, str] | None = None


def write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[str | int | float]]
) -> None:
    """Writes rows to a new file.

    Raises:
        UsageError: The ending says neither CSV nor JSON lines, the file already exists, or cannot be written.
    """
    _check_ending(path)
    if _is_json_lines(path):
        text = "".join(
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n"
            for row in rows
        )
    else:
        table = io.StringIO()
        sheet = csv.writer(table)
        sheet.writerow(columns)
        sheet.writerows([cell(value) for value in row] for row in rows)
        text = table.getvalue()
    with _writing(path), created(path) as file:
        file.write_text(text, "utf-8", newline="")


def check_new_file(path: Path) -> None:
    """Raises a UsageError where a file can't be written there: before anything is drawn for it."""
    _check_ending(path)
    with _writing(path), beside(path):
        pass


def _check_ending(path: Path) -> None:
    """Raises a UsageError for a name that promises something else, such as a workbook, to who opens it."""
    if path.suffix.lower() != ".csv" and not _is_json_lines(path):
        raise UsageError(
            f"{path}: what to label is written as .csv or .jsonl, not '{path.suffix}'",
            hint=f"--to {path.with_suffix('.csv').name} opens in a spreadsheet.",
        )


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Says why a new file can't be written: one that is there may hold an hour of somebody's labels."""
    if os.path.lexists(path):
        raise _is_there(path)
    try:
        yield
    except FileExistsError:
        raise _is_there(path) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _is_there(path: Path) -> UsageError:
    return UsageError(
        f"{path} already exists, maybe with labels in it", hint="Name another file, or delete it."
    )


def read_rows(path: Path, columns: Sequence[str], needed: Sequence[str]) -> Iterator[SheetRow]:
    """The rows of a file that `write_rows` wrote and somebody filled in.

    Args:
        columns: What `write_rows` wrote, for messages.
        needed: What each row must have. The last of them is what is filled in: a row without it may be broken.

    Raises:
        UsageError: The file cannot be read, or lacks a column.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        hint = (
            f"Looked in {path.absolute().parent}." if isinstance(error, FileNotFoundError) else ""
        )
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint=hint) from error
    findings = Findings()
    text = decoded(data, path, findings)
    if text is None:
        (problem,) = findings.problems
        raise UsageError(problem.summary, hint=problem.hint)
    if _is_json_lines(path):
        if (wrong := not_lines(path)) is not None:
            raise UsageError(f"{path}: {wrong[0]}", hint=wrong[1])
        return _json_rows(text, columns, needed)
    return _csv_rows(path, text, columns, needed)


def read_verdicts(
    path: Path,
    columns: Sequence[str],
    needed: Sequence[str],
    verdicts: Mapping[str, _Verdict],
    read: Callable[[Mapping[str, str], _Verdict], tuple[str, str] | None],
) -> None:
    """Reads a file that `write_rows` wrote and somebody filled in, row by row. Rows without a verdict are left out.

    Args:
        columns: See `read_rows`.
        needed: See `read_rows`.
        verdicts: What each word stands for that may be written as the verdict.
        read: Keeps a row's verdict; what is wrong with it, and what to do, where it can't.

    Raises:
        UsageError: The file cannot be read, lacks a column, has no verdicts, or is of another run.
        ConfigError: All that is wrong with its rows.
    """
    *others, last = dict.fromkeys(map(str, verdicts.values()))
    words = f"{', '.join(others)} or {last}"
    problems: list[Problem] = []
    empty = True
    for row in read_rows(path, columns, needed):
        text = (row.texts.get("verdict") or "").strip().lower()
        if row.problem is None and not text:
            continue
        empty = False
        problem = row.problem
        if problem is None and text not in verdicts:
            problem = f"the verdict is {text[:40]!r}", f"Write {words}, or leave it empty."
        problem = problem or read(row.texts, verdicts[text])
        if problem is not None:
            what, remedy = problem
            problems.append(Problem(str(path), row.line, 0, what, remedy))
    strange = [one for one in problems if one.hint == OTHER_RUN]
    if len(strange) > _EACH_SAID:
        first = strange[0]
        raise UsageError(
            f"{path}: {count(len(strange), 'row')} don't fit this run. The first, in line {first.line}: {first.what}",
            hint="Name the run that they were drawn from. No label was kept.",
        )
    if problems:
        raise ConfigError(problems, spared="no label was kept")
    if empty:
        what = "the key" if _is_json_lines(path) else "the column"
        raise UsageError(
            f"{path} has no labels: {what} `verdict` is empty in all rows",
            hint=f"Write {words} for each output that you have looked at, then read the file again.",
        )


OTHER_RUN = "Is it a draw of another run?"
_EACH_SAID = 10
"""Rows of another run that are each told; more are a sheet of another run."""


def place_in(text: str) -> int | None:
    """A trial's place in the plan, as a sheet names it; None for what can't be one."""
    # SQLite takes no integer of more than 64 bits.
    return int(text) if text.isdecimal() and len(text) < 10 else None


def is_other_output(row: Mapping[str, str], *outputs: str) -> bool:
    """Whether a row has another output than these. A draw of another run may have the same numbers; this tells."""
    # Spreadsheets change white space, and a cell that begins as a formula does has a quote before it.
    possible = [form.split() for text in outputs for form in (text, str(cell(text)))]
    return (row.get("output") or outputs[0]).split() not in possible


def _other_case(
    row: Mapping[str, str], what: str, case: str, repeat: int
) -> tuple[str, str] | None:
    """What is wrong with a row that names another case, or another repeat of it."""
    for column, own in (("case", case), ("repeat", str(repeat))):
        if row.get(column) not in (None, "", own, cell(own)):
            return f"{what} has {column} {own}, not {row[column][:80]!r}", OTHER_RUN
    return None


def missing_words(what: str, names: Sequence[str]) -> str:
    """Which columns or keys a file lacks.

    >>> missing_words("column", ["metric", "verdict"])
    'the columns `metric` and `verdict` are missing'
    """
    quoted = [f"`{name}`" for name in names]
    if len(quoted) == 1:
        return f"the {what} {quoted[0]} is missing"
    return f"the {what}s {', '.join(quoted[:-1])} and {quoted[-1]} are missing"


def _is_json_lines(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _csv_rows(
    path: Path, text: str, columns: Sequence[str], needed: Sequence[str]
) -> Iterator[SheetRow]:
    try:
        table = records(io.StringIO(text, newline=""), delimiter_of(text, needed))
        header = Header(next(table, (1, []))[1])
        missing = [name for name in needed if name not in header.names]
        if missing:
            raise UsageError(
                f"{path}: {missing_words('column', missing)}",
                hint=f"The columns are {', '.join(columns)}, as --to FILE writes them.",
            )
        if header.twice:
            named = " and ".join(f"`{name}`" for name in header.twice)
            raise UsageError(f"{path}:1: two columns are called {named}", hint="Remove one.")
        for line, cells in table:
            if not any(cells):
                continue
            # Spreadsheets leave empty cells at the end of a row out.
            row = header.row([*cells, *[""] * header.width])
            if header.fits(cells) or not row[needed[-1]].strip():
                yield SheetRow(line, row)
            else:
                what = "the row has another number of columns than the first line"
                yield SheetRow(line, {}, (what, "Quote texts with commas."))
    except NotDelimited as error:
        raise UsageError(f"{path}:{error.line}: {error.what}", hint=error.hint) from None


def _json_rows(text: str, columns: Sequence[str], needed: Sequence[str]) -> Iterator[SheetRow]:
    # Not splitlines(): an output may hold U+2028, which is no end of a line in JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not is_object(value):
            problem = "the line is not a JSON object", "Write one object on a line."
            yield SheetRow(number, {}, problem)
            continue
        row = {
            name: "" if one is None else one if isinstance(one, str) else json.dumps(one)
            for name, one in value.items()
        }
        missing = [name for name in needed if name not in row]
        if missing:
            what = missing_words("key", missing)
            yield SheetRow(number, {}, (what, f"The keys are {', '.join(columns)}."))
        else:
            yield SheetRow(number, row)


COLUMNS = ("item", "case", "variant", "repeat", "metric", "input", "output", "inclusion", "verdict")
NEEDED = ("item", "metric", "verdict")
REMARKS: tuple[LabelField, ...] = ("score", "note", "code")
"""Columns that people may add to a file of labels: what they say of the whole trial."""


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
        UsageError: The file already exists, or cannot be written.
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
    read_verdicts(
        path, COLUMNS, NEEDED, VERDICTS, lambda row, verdict: _read_row(run, row, verdict, labels)
    )
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


def _read_row(
    run: RunFile, row: Mapping[str, str], verdict: LabelledVerdict, labels: SheetLabels
) -> tuple[str, str] | None:
    """Adds a row's label; what is wrong with it, and what to do, where it is none."""
    item, metric = (row.get("item") or "").strip(), row.get("metric") or ""
    place = place_in(item)
    trial = None if place is None else run.trial(place)
    if trial is None:
        return f"the run has no item {item[:40]!r}", OTHER_RUN
    # A table holds a name as a cell that no spreadsheet takes for a formula.
    metrics = {form: name for name in judged_metrics(trial) for form in (name, str(cell(name)))}
    if metric not in metrics:
        return f"item {item} has no judged metric {metric[:80]!r}", OTHER_RUN
    if other := _other_case(row, f"item {item}", trial.case, trial.repeat):
        return other
    labelled = DrawnItem.of(run, trial, metrics[metric]).output
    # Sheets of earlier versions have the whole output, of which the judge may have seen a part.
    if is_other_output(row, labelled, as_text(trial.output)):
        return f"the output of item {item} is different in this run", OTHER_RUN
    key = trial.index, metrics[metric]
    if key in labels.verdicts:
        how = "with one verdict" if labels.verdicts[key] == verdict else "as pass and as fail"
        return f"item {item}, {metric}, is listed twice, {how}", "Leave one of them."
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


_ROUNDED = 0.0051
"""A spreadsheet may save two decimals of a number."""


def inclusion_line(run: RunFile, path: Path, needed: Sequence[str]) -> str:
    """What is said of labels whose `inclusion` was changed by hand; empty where none was.

    Args:
        path: A file of labels that has been read without a problem.
        needed: The columns that it has.
    """
    draws, pair_draws = run.draws(), run.pair_draws()
    changed = 0
    for row in read_rows(path, needed, needed):
        text = (row.texts.get("inclusion") or "").strip()
        if not text or not (row.texts.get("verdict") or "").strip():
            continue
        item, metric = int(row.texts["item"]), row.texts["metric"]
        if "other" in row.texts:
            possible = _of_pair(pair_draws, (item, int(row.texts["other"])), metric)
        else:
            possible = _of_item(draws, item, metric)
        value = _inclusion(text)
        # 0 stands beside an output that was picked by --unsure, drawn or not.
        other = value is None or all(abs(value - one) > _ROUNDED for one in [0.0, *possible])
        changed += bool(possible) and other  # that others are outside a draw is said elsewhere
    if not changed:
        return ""
    return (
        f"{path}: `inclusion` of {count(changed, 'label')} is not what the run says; it is ignored,"
        " and how likely each output was to be drawn is taken from the run"
    )


def _of_item(draws: Sequence[Draw], item: int, metric: str) -> list[float]:
    """What a file may say of a drawn item, which may have been written before the latest draws; empty for another."""
    own = next(
        (one for draw in draws for one in draw.metrics if metric in (one, cell(one))), metric
    )
    possible: list[float] = []
    # A file that was written before a later draw has the shares of then.
    for size in range(1, len(draws) + 1):
        before = draws[:size]
        if any(item in draw.places and own in draw.metrics for draw in before):
            possible.append(inclusions(before, own)(item))
    return possible


def _of_pair(draws: Sequence[PairDraw], pair: tuple[int, int], metric: str) -> list[float]:
    of = [draw for draw in draws if metric in (draw.metric, cell(draw.metric))]
    possible: list[float] = []
    for size in range(1, len(of) + 1):
        before = of[:size]
        if any(unordered(pair) == unordered(one) for draw in before for one in draw.pairs):
            drawn = sum(len(draw.pairs) for draw in before)
            possible.append(drawn / max(1, drawn, *(draw.population for draw in before)))
    return possible


def _inclusion(text: str) -> float | None:
    """A number as a spreadsheet may have written it: 0.1, 0,1 or 10 %."""
    # Spreadsheets write numbers as the country does.
    plain = text.replace(",", ".")
    try:
        return float(plain.removesuffix("%").strip()) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        return None


PAIR_COLUMNS = (
    "item",
    "other",
    "case",
    "repeat",
    "metric",
    "input",
    "first",
    "second",
    "inclusion",
    "verdict",
)
PAIRS_NEEDED = ("item", "other", "metric", "verdict")
_ANSWERS: Mapping[str, PairAnswer] = {
    "first": "first",
    "left": "first",
    "second": "second",
    "right": "second",
    "tie": "tie",
}
Labels = dict[Pair, tuple[Pair, PairAnswer]]


def write_pairs(pairs: Sequence[DrawnPair], path: Path) -> None:
    """Writes pairs to a file, with an empty column for people's answers.

    Raises:
        UsageError: The file already exists, or cannot be written.
    """
    rows = [
        [
            *one.pair,
            one.first.case,
            one.first.repeat,
            one.metric,
            one.material,
            *one.outputs,
            one.inclusion,
            "",
        ]
        for one in pairs
    ]
    write_rows(path, PAIR_COLUMNS, rows)


def ranking_in(run: RunFile, metrics: Sequence[str], path: Path) -> str | None:
    """The ranking of whose pairs a file has labels; None for a file of anything else.

    Args:
        metrics: What is named; empty for nothing.
        path: The file. One that cannot be read is left to who reads it.

    Raises:
        UsageError: It has pairs of a ranking that the run has not, or that is not the one that is named.
    """
    try:
        rows = read_rows(path, PAIR_COLUMNS, PAIRS_NEEDED[-1:])
        first = next((row.texts for row in rows if "other" in row.texts), {})
    except UsageError:
        return None
    metric = first.get("metric")
    if not metric:
        return None
    names = [pairs.name for pairs in compared_pairs(run)]
    ranking = next((name for name in names if metric in (name, cell(name))), None)
    if ranking is None:
        what = f"{path} has pairs of the ranking {metric[:80]!r}, and this run has no such ranking"
        raise UsageError(what, hint=OTHER_RUN)
    if metrics and set(metrics) != {ranking}:
        what = f"{path} has pairs of the ranking {ranking!r}, not of {metrics[0]!r}"
        raise UsageError(what, hint="Leave --metric out: the file names it.")
    return ranking


def read_pair_labels(
    run: RunFile, pairs: ComparedPairs, path: Path
) -> list[tuple[Pair, str, PairAnswer]]:
    """The labels in a file that `write_pairs` wrote and somebody filled in. Rows without a verdict are left out.

    Raises:
        UsageError: The file cannot be read, or has no verdicts.
        ConfigError: All that is wrong with it: pairs of another run, twice the same pair, no verdict.
    """
    labels: Labels = {}
    judged = {one.key for one in pairs.judged}

    def read(row: Mapping[str, str], answer: PairAnswer) -> tuple[str, str] | None:
        texts = row["item"].strip(), row["other"].strip()
        places = f"{texts[0][:20]} and {texts[1][:20]}"
        if row["metric"] not in (pairs.name, cell(pairs.name)):
            return f"the ranking is {row['metric'][:80]!r}, not {pairs.name!r}", OTHER_RUN
        first, second = map(place_in, texts)
        if first is None or second is None:
            return f"the run has no pair {places}", OTHER_RUN
        pair = first, second
        key = pair_keys(run, {unordered(pair): None}).get(unordered(pair))
        if key is None or key[1] not in judged:
            return f"the run has no compared pair {places}", OTHER_RUN
        if other := _other_case(row, f"pair {places}", *key[1][:2]):
            return other
        if unordered(pair) in labels:
            return f"pair {places} is listed twice", "Leave one of them."
        labels[unordered(pair)] = pair, answer
        return None

    read_verdicts(path, PAIR_COLUMNS, PAIRS_NEEDED, _ANSWERS, read)
    return [(pair, pairs.name, answer) for pair, answer in labels.values()]

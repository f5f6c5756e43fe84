"""Moves pairs to compare, and labels of them, in and out of files: CSV, or JSON lines for names that end in .jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.labels.pair_drawing import DrawnPair
from evenhand.analysis.trust.labels.ranking_labels import pair_keys
from evenhand.analysis.trust.labels.sheet_rows import (
    no_labels,
    read_rows,
    read_verdicts,
    write_rows,
)
from evenhand.core.errors import UsageError
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.store.labels.draw import Pair, PairAnswer, unordered
from evenhand.store.runfile import RunFile

COLUMNS = (
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
NEEDED = ("item", "other", "metric", "verdict")
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
        UsageError: The file is there already, or cannot be written.
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
    write_rows(path, COLUMNS, rows)


def ranking_in(run: RunFile, metrics: Sequence[str], path: Path) -> str | None:
    """The ranking of whose pairs a file has labels; None for a file of anything else.

    Args:
        run: The run.
        metrics: What is named; empty for nothing.
        path: The file. One that cannot be read is left to who reads it.

    Raises:
        UsageError: It has pairs of a ranking that the run has not, or that is not the one that is named.
    """
    try:
        rows = read_rows(path, COLUMNS, NEEDED[-1:])
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
        raise UsageError(what, hint="Is it a draw of another run?")
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
    read_verdicts(
        path, COLUMNS, NEEDED, lambda row: _read_row(run, pairs.name, judged, row, labels)
    )
    if not labels:
        raise no_labels(path, "first, second or tie")
    return [(pair, pairs.name, answer) for pair, answer in labels.values()]


def _read_row(
    run: RunFile,
    name: str,
    judged: set[tuple[str, int, int, int]],
    row: Mapping[str, str],
    labels: Labels,
) -> tuple[str, str] | None:
    """Adds a row's label; what is wrong with it, and what to do, where it is none."""
    text = row["verdict"].strip().lower()
    if not text:
        return None
    answer = _ANSWERS.get(text)
    if answer is None:
        return f"the verdict is {text[:40]!r}", "Write first, second or tie, or leave it empty."
    texts = row["item"].strip(), row["other"].strip()
    places = f"{texts[0][:20]} and {texts[1][:20]}"
    other_run = "Is it a draw of another run?"
    if row["metric"] not in (name, cell(name)):
        return f"the ranking is {row['metric'][:80]!r}, not {name!r}", other_run
    # SQLite takes no integer of more than 64 bits.
    if not all(one.isdecimal() and len(one) < 10 for one in texts):
        return f"the run has no pair {places}", other_run
    pair = int(texts[0]), int(texts[1])
    key = pair_keys(run, {unordered(pair): None}).get(unordered(pair))
    if key is None or key[1] not in judged:
        return f"the run has no compared pair {places}", other_run
    case, repeat = key[1][:2]
    for column, own in (("case", case), ("repeat", str(repeat))):
        if row.get(column) not in (None, "", own, cell(own)):
            return f"pair {places} has {column} {own}, not {row[column][:80]!r}", other_run
    if unordered(pair) in labels:
        return f"pair {places} is there twice", "Leave one of them."
    labels[unordered(pair)] = pair, answer
    return None

"""The cases of a config or set over its runs: what became of each, column by column, and how often that changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import nsmallest
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import Runs, read_recent

MOST = 100
"""Lines of one answer: the most interesting, or those that were asked for. The page draws 20 marks for each."""
LETTERS = {"pass": "p", "fail": "f", "error": "e", "not_applicable": "n"}
MIXED, ABSENT = "m", "-"
"""Of a case whose repeats both passed and failed; of one that a run does not have."""


_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(00[0-9a-f]{6}))")


class CaseLine(Record, frozen=True, kw_only=True):
    """What became of one case in one column over the runs."""

    case: str
    variant: str
    came: Annotated[
        str,
        Key(
            "A letter for each run: p, f, e, n, m where repeats passed and failed, - where it is not there."
        ),
    ]
    cells: Annotated[
        Sequence[int], Key("Where its first trial is in each run's plan; -1 for none.")
    ]
    flips: Annotated[int, Key("How often pass and fail changed: between runs, or among repeats.")]
    errors: Annotated[int, Key("In how many runs it ended in an error.")]


class CasePage(Record, frozen=True, kw_only=True):
    """The cases of the runs of one config or set; those that flip most come first."""

    runs: Annotated[Sequence[str], Key("Their ids, oldest first.")]
    unread: Annotated[int, Key("How many runs were not read: older ones, where there is much.")]
    lines: Sequence[CaseLine]
    total: Annotated[int, Key("How many lines there are.")]


class RunCases(Record, frozen=True):
    """What became of the cases of one run: by case and column's name a letter, and its first trial's place."""

    id: str
    came: dict[tuple[str, str], tuple[str, int]]


def case_page(runs: Runs, path: Path, text: str) -> CasePage:
    """The cases of the runs of what this one is of.

    Args:
        runs: All runs.
        path: The run.
        text: What the ids of the cases contain; empty for all.

    Raises:
        StoreError: Files cannot be read.
    """
    looks, unread = read_recent(runs, path, run_cases)
    small = text.lower()
    histories: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    for number, look in reversed(list(enumerate(looks))):  # in the order of the newest run
        for key, came in look.came.items():
            histories.setdefault(key, []).append((number, *came))
    keys = [key for key in histories if small in _read_case(key[0]).lower()]
    top = nsmallest(MOST, keys, key=lambda key: _rank(histories[key], len(looks) - 1))
    return CasePage(
        runs=[look.id for look in looks],
        unread=unread,
        lines=[_line(key, histories[key], len(looks)) for key in top],
        total=len(keys),
    )


def run_cases(run: RunFile) -> RunCases:
    """What became of the cases of one run.

    Raises:
        StoreError: The file cannot be read.
    """
    names = column_names(run.meta.variants)
    came: dict[tuple[str, str], tuple[str, int]] = {}
    for trial in run.outcomes():
        key = trial.case, names[trial.variant]
        letter = LETTERS[trial.outcome]
        before = came.get(key)
        came[key] = (
            (letter, trial.index) if before is None else (_both(before[0], letter), before[1])
        )
    return RunCases(run.path.stem, came)


def _read_case(written: str) -> str:
    """A case's id, from what a trial's row has of it: `store.encoding.written_case` the other way round."""
    return (
        _ESCAPED.sub(lambda each: chr(int(each[each.lastindex or 0], 16)), written)
        if "\\" in written
        else written
    )


def _both(one: str, other: str) -> str:
    """What two repeats came to together: an error says nothing beside a verdict."""
    if one == other or other in "ne":
        return one
    return other if one in "ne" else MIXED


def _rank(history: Sequence[tuple[int, str, int]], newest: int) -> tuple[int, int, bool]:
    """What flips and fails stands in front of what does not. Where lines are alike, they stay in their order."""
    number, letter, _ = history[0]
    return -_flips(history), -_errors(history), number != newest or letter not in "fme"


def _flips(history: Sequence[tuple[int, str, int]]) -> int:
    letters = [letter for _, letter, _ in history]
    verdicts = [letter for letter in letters if letter in "pf"]
    return letters.count(MIXED) + sum(one != other for one, other in pairwise(verdicts))


def _errors(history: Sequence[tuple[int, str, int]]) -> int:
    return sum(letter == LETTERS["error"] for _, letter, _ in history)


def _line(key: tuple[str, str], history: Sequence[tuple[int, str, int]], runs: int) -> CaseLine:
    came, cells = [ABSENT] * runs, [-1] * runs
    for number, letter, place in history:
        came[number], cells[number] = letter, place
    return CaseLine(
        case=_read_case(key[0]),
        variant=key[1],
        came="".join(came),
        cells=cells,
        flips=_flips(history),
        errors=_errors(history),
    )

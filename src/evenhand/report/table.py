"""The table of a run: a line for each column of the plan, with what passed and how sure that is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from evenhand.core.record import Record
from evenhand.report.column_names import column_head, fitted, full_names, legend
from evenhand.report.grid import Grid
from evenhand.report.heading import is_of_pytest
from evenhand.report.ink import Ink
from evenhand.report.means import mean_cell, mean_of
from evenhand.report.rates import Rate, latencies, mean_in, rates, scores
from evenhand.report.words import clip, columns, money, padded, seconds
from evenhand.store.runfile import RunFile

WORDY = 20
READ = 5_000
MOST_MARKS = 60
MOST_LEGEND = 20
NUMBERS = 64
"""Columns of a terminal that the rates and the first few numbers take."""
_GAP = "   "


class _TableColumn(Record, frozen=True):
    """A column of the table: its heading, its texts from top to bottom, and which side they stand on."""

    head: str
    texts: Sequence[str]
    left: bool = False


def table_lines(run: RunFile, grid: Grid, width: int, ink: Ink) -> list[str]:
    """The table's lines; what does not fit the width is left out, least important first."""
    meta = run.meta
    totals = grid.totals
    names = _names(run, grid, width)
    head = "test" if is_of_pytest(meta.title, meta.variants) else column_head(meta.variants)
    table = [
        _TableColumn(head, names, left=True),
        _TableColumn(" passed", _rates(rates(run)), left=True),
    ]
    extra = [
        _TableColumn("score", [mean_cell(mean) for mean in scores(run)]),
        *_words(run, sum(t.trials for t in totals)),
        _TableColumn("latency", [mean_cell(mean, seconds) for mean in latencies(run)]),
        _TableColumn("cost", [money(t.cost_usd) for t in totals]),
        *_counted("judge calls", run.judge_calls()),
        *_counted("errors", [t.errors for t in totals]),
    ]
    keep = ["errors", "cost", "score", "latency", "judge calls", "words"]
    room = width - 2 - _width(table[0]) - len(_GAP) - _width(table[1])
    if room < 0:
        most = max(12, _width(table[0]) + room)
        table[0] = _TableColumn(clip(table[0].head, most), fitted(names, most), left=True)
        room = 0
    fitting: list[_TableColumn] = []
    for column in sorted(extra, key=lambda c: keep.index(c.head)):
        if room >= _width(column) + len(_GAP):
            room -= _width(column) + len(_GAP)
            fitting.append(column)
    table += [column for column in extra if column in fitting]
    strip = _strip(grid, room - len(_GAP), ink)
    lines = [ink(_line(table, lambda c: c.head, strip.head if strip else ""), "dim")]
    lines += [
        _line(table, lambda c, i=i: c.texts[i], strip.texts[i] if strip else "")
        for i in range(len(names))
    ]
    notes = legend(table[0].texts, meta.variants)[:MOST_LEGEND]
    return [*lines, *(ink(f"  {line}", "dim") for text in notes for line in _folded(text, width))]


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width - 2, subsequent_indent="  ", break_on_hyphens=False)


def _names(run: RunFile, grid: Grid, width: int) -> list[str]:
    """The columns' names, in full where the table has room for them beside its numbers."""
    whole = full_names(run.meta.variants)
    return whole if max(map(columns, whole)) + NUMBERS <= width else grid.names


def _rates(rates: Sequence[Rate]) -> list[str]:
    pairs = [f"{rate.passed}/{rate.trials}" for rate in rates]
    most = max(7, *map(len, pairs))
    wide = max(5, *(len(str(rate)) for rate in rates))
    return [
        "–".rjust(most)
        if rate.share is None
        else f"{pair:>{most}}  {rate!s:>{wide}}  [{rate.reach}]"
        for rate, pair in zip(rates, pairs, strict=True)
    ]


def _words(run: RunFile, trials: int) -> list[_TableColumn]:
    """How long the outputs are, where they are texts and somebody could wonder."""
    if trials > READ:
        return []
    means = [mean_in(run.meta, mean_of(cases)) for cases in run.word_sums()]
    if not any(mean is not None and mean.value >= WORDY for mean in means):
        return []
    return [_TableColumn("words", [mean_cell(mean, "{:.0f}".format) for mean in means])]


def _counted(head: str, numbers: Sequence[int]) -> list[_TableColumn]:
    return [_TableColumn(head, [f"{n:,}" for n in numbers])] if any(numbers) else []


def _strip(grid: Grid, room: int, ink: Ink) -> _TableColumn | None:
    """A mark for each case, where all of them fit."""
    cases = len(grid.numbers)
    spaced = 2 * cases - 1 <= room
    head = f"cases 1–{cases}"
    if not 1 < cases <= MOST_MARKS or max(len(head), cases) > room:
        return None
    gap = " " if spaced and cases <= MOST_MARKS // 3 else ""
    return _TableColumn(
        head,
        [
            gap.join(ink.mark(grid.state(i, case)) for case in grid.numbers)
            for i in range(len(grid.names))
        ],
    )


def _width(column: _TableColumn) -> int:
    return max(columns(text) for text in [column.head, *column.texts])


def _line(table: Sequence[_TableColumn], text: Callable[[_TableColumn], str], last: str) -> str:
    cells = [
        padded(text(c), _width(c)) if c.left else " " * (_width(c) - columns(text(c))) + text(c)
        for c in table
    ]
    return ("  " + _GAP.join([*cells, last] if last else cells)).rstrip()

"""The table of a run: a line for each column of the plan, with what passed and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from evenhand.analysis.summaries.column_names import column_head, differing_parts, shortened
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.rates import (
    latencies,
    mean_cell,
    mean_in,
    mean_of,
    rate_texts,
    rates,
    scores,
    unknown_notes,
)
from evenhand.core.record import Record
from evenhand.core.run import Totals, is_of_pytest
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import columns, folded, padded, paid, rounded, safe, seconds
from evenhand.store.runfile import RunFile

WORDY = 20
READ = 5_000
READ_BYTES = 256 << 20
MOST_MARKS = 60
_GAP = "   "
_JUDGE_CALLS = "judge calls"
_KEEP = ["errors", "cost", "score", "latency", _JUDGE_CALLS, "words"]
"""The numbers beside the rates, the most important first."""


class _TableColumn(Record, frozen=True):
    """A column of the table: its heading, its texts from top to bottom, and which side they stand on."""

    head: str
    texts: Sequence[str]
    left: bool = False


def table_lines(run: RunFile, grid: Grid, width: int, ink: Ink) -> list[str]:
    """The table's lines; numbers that do not fit the width are left out, least important first.

    Where even the rates don't fit beside the names, the names stand above them.
    """
    rates_ = _TableColumn(" passed", rate_texts(rates(run), 7), left=True)
    extra = _extra(run, grid)
    every = [_names(run, grid, nested=nested) for nested in (False, True)]
    meta = run.meta
    head = "test" if is_of_pytest(meta.title, meta.variants) else column_head(meta.variants)
    forms = [
        (names, fitting, each)
        for each in (head, "")  # where the heading has no room, the names may have
        for names in every
        if (fitting := _fitting(names, each, rates_, extra, width)) is not None
    ]
    # The first form of those that have room for the most numbers.
    names, fitting, head = max(forms, key=lambda form: len(form[1]), default=([], None, ""))
    lines: list[str] = []
    if fitting is None:
        lines = min((_above(run, grid, width, nested=nested) for nested in (False, True)), key=len)
        names = [ListedName(label, place) for place, label in enumerate(grid.names)]
        fitting = _fitting(names, "", rates_, extra, width) or []
    named = _TableColumn(head, [name.text for name in names if name.column is not None], left=True)
    table = [named, rates_, *(column for column in extra if column in fitting)]
    widths = [_width(column) for column in table]  # worked out once for all rows
    left = width - 2 - sum(widths) - len(_GAP) * len(table)
    strip = _strip(grid, left, ink)
    heads = [column.head for column in table]
    lines.append(ink(_joined(table, widths, heads, strip.head if strip else ""), "dim"))
    for name in names:
        place = name.column
        if place is None:
            lines += name.lines(width)
        else:
            texts = [name.text, *(column.texts[place] for column in table[1:])]
            marks = strip.texts[place] if strip else ""
            lines.append(_joined(table, widths, texts, marks))
    notes = unknown_notes(text for column in fitting or () for text in column.texts)
    return [*lines, *(line for note in notes for line in folded(note, width, "  "))]


def _names(run: RunFile, grid: Grid, *, nested: bool) -> list[ListedName]:
    """The table's first column: names that are short as they are, others with the numbers that stand for them."""
    if not grid.renamed:
        return [ListedName(name, place) for place, name in enumerate(grid.names)]
    return column_list(run.meta.variants, grid.names, nested=nested)


def _above(run: RunFile, grid: Grid, width: int, *, nested: bool) -> list[str]:
    """The names by themselves, each with its number, in as many lines as it takes."""
    names = column_list(run.meta.variants, grid.names, nested=nested, room=width - 2)
    return [line for name in names for line in name.lines(width)]


def _extra(run: RunFile, grid: Grid) -> list[_TableColumn]:
    """The numbers beside the rates, in the order in which they stand."""
    totals = grid.totals
    return [
        _TableColumn("score", [mean_cell(mean) for mean in scores(run)]),
        *_words(run, sum(t.trials for t in totals)),
        _TableColumn("latency", [mean_cell(mean, seconds, "") for mean in latencies(run)]),
        *_costs(run, totals),
        # What is kept of a call does not say for which take of its trial it was made.
        *_counted(f"{_JUDGE_CALLS}{' in all' if run.retaken else ''}", run.judge_calls()),
        *_counted("errors", [t.errors for t in totals]),
    ]


def _costs(run: RunFile, totals: Sequence[Totals]) -> list[_TableColumn]:
    """What the columns cost; nothing where a script answered, which has no price."""
    scripted = run.meta.is_scripted
    costs = [
        paid(usd, scripted=scripted, calls=of.calls)
        for of, usd in zip(totals, run.full_costs(), strict=True)
    ]
    return [] if {*costs} <= {"–", "scripted"} and scripted else [_TableColumn("cost", costs)]


def _fitting(
    names: Sequence[ListedName],
    head: str,
    rates_: _TableColumn,
    extra: Sequence[_TableColumn],
    width: int,
) -> list[_TableColumn] | None:
    """The numbers that there is room for beside names and rates; None where there is none for the rates."""
    widest = max(columns(head), *(columns(name.text) for name in names if name.column is not None))
    room = width - 2 - widest - len(_GAP) - _width(rates_)
    if room < 0:
        return None
    fitting: list[_TableColumn] = []
    for column in sorted(extra, key=_rank):
        if room >= _width(column) + len(_GAP):
            room -= _width(column) + len(_GAP)
            fitting.append(column)
    return fitting


def _rank(column: _TableColumn) -> tuple[bool, int]:
    """The most important first; what is nothing, or unknown, in all rows is less so than anything else."""
    return {*column.texts} <= {"$0", "–", "unknown"}, _KEEP.index(
        column.head.removesuffix(" in all")
    )


def _words(run: RunFile, trials: int) -> list[_TableColumn]:
    """How long the outputs are, where they are texts and somebody could wonder."""
    # Counting words reads every output, which takes seconds in a large run.
    if trials > READ or run.path.stat().st_size > READ_BYTES:
        return []
    means = [mean_in(run.meta, mean_of(cases, floor=0.0)) for cases in run.word_sums()]
    if not any(mean is not None and mean.value >= WORDY for mean in means):
        return []
    return [_TableColumn("words", [mean_cell(mean, rounded, "") for mean in means])]


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


def _joined(
    table: Sequence[_TableColumn], widths: Sequence[int], texts: Sequence[str], last: str
) -> str:
    cells = [
        padded(text, width) if c.left else " " * (width - columns(text)) + text
        for c, width, text in zip(table, widths, texts, strict=True)
    ]
    return ("  " + _GAP.join([*cells, last] if last else cells)).rstrip()


_STEP = "  "


class ListedName(Record, frozen=True):
    """A line of the list: a heading, or the name of a column.

    Attributes:
        column: The column's index; None for a heading.
        indent: How far what does not fit in its line is indented below it.
    """

    text: str
    column: int | None = None
    indent: int = 0

    def lines(self, width: int) -> list[str]:
        """The name, folded to the width."""
        return folded(self.text, width, "  ", " " * (2 + self.indent))


def column_list(
    variants: Sequence[Variant], labels: Sequence[str], *, nested: bool = False, room: int = 0
) -> list[ListedName]:
    """The columns with their headings, in order.

    Args:
        nested: What changes least is a heading above what changes most.
        room: So wide may the list be where nothing stands beside it. What nested names have said in full is cut to
            that when it comes again, and a column that shares nothing needs no heading. 0 where numbers follow.
    """
    rows = differing_parts(variants)
    groups = [list(group) for _, group in groupby(range(len(rows)), lambda i: variants[i].eval)]
    # With one column to each eval, headings would only double the list.
    if all(len(group) == 1 for group in groups):
        groups = [list(range(len(rows)))]
    wide = max(map(columns, labels))
    lines: list[ListedName] = []
    for group in groups:
        shared, own = _parts(rows, group, variants[group[0]].eval if len(rows) > 1 else "")
        if room and shared and len(group) == 1:
            lines.append(_labelled(ListedName(shared, group[0]), labels, wide))
            continue
        if shared:
            lines.append(ListedName(shared, None, 4))
        indent = _STEP if shared else ""
        if nested:
            heads = _slowest_first(rows, group, own)[:-1]
            left = room - len(indent) - len(_STEP) * len(heads) - wide - 2 * len(_STEP)
            texts = _again_cut(rows, group, left) if room else rows
            names = _nested(rows, texts, group, own, heads)
        else:
            names = (ListedName(_list(rows[i], own), i) for i in group)
        for name in names:
            moved = ListedName(f"{indent}{name.text}", name.column, len(indent) + name.indent)
            lines.append(moved if name.column is None else _labelled(name, labels, wide, indent))
    return lines


def _parts(
    rows: Sequence[Mapping[str, str]], group: Sequence[int], eval_name: str
) -> tuple[str, list[str]]:
    """What all columns of a group share, and the parts in which they differ."""
    own = [part for part in rows[0] if len({rows[i][part] for i in group}) > 1]
    if len(group) == len(rows):  # what all columns share is in no name: the eval is told here
        one = len(group) > 1 and "eval" not in rows[0]
        return (safe(eval_name).rpartition(": ")[2] if one else ""), own or list(rows[0])
    first = rows[group[0]]
    return " · ".join(first[part] for part in first if part not in own and first[part]), own


def _slowest_first(
    rows: Sequence[Mapping[str, str]], group: Sequence[int], parts: Sequence[str]
) -> list[str]:
    changes = {
        part: sum(rows[a][part] != rows[b][part] for a, b in pairwise(group)) for part in parts
    }
    return sorted(parts, key=changes.__getitem__)


def _again_cut(
    rows: Sequence[Mapping[str, str]], group: Sequence[int], room: int
) -> list[dict[str, str]]:
    """The rows, with what an earlier one of the group says in full cut to so many columns."""
    cut: list[dict[str, str]] = [dict(row) for row in rows]
    for part in rows[0]:
        texts = shortened([rows[i][part] for i in group], max(room, 8))
        for place, i in enumerate(group):
            if any(rows[before][part] == rows[i][part] for before in group[:place]):
                cut[i][part] = texts[place]
    return cut


def _nested(
    rows: Sequence[Mapping[str, str]],
    texts: Sequence[Mapping[str, str]],
    group: Sequence[int],
    own: Sequence[str],
    heads: Sequence[str],
) -> Iterator[ListedName]:
    """The columns of a group below headings that are told when they change, in the words of `texts`."""
    last: list[str] = []
    for i in group:
        for depth, head in enumerate(heads):
            value = rows[i][head]
            if last[depth : depth + 1] != [value]:
                last = [*last[:depth], value]
                indent = len(_STEP) * depth
                yield ListedName(f"{' ' * indent}{texts[i][head] or '–'}", None, indent + 4)
        leaf = [part for part in own if part not in heads]
        yield ListedName(_list(texts[i], leaf), i, len(_STEP) * len(heads))


def _list(row: Mapping[str, str], parts: Sequence[str]) -> str:
    return " · ".join(row[part] for part in parts if row[part])


def _labelled(name: ListedName, labels: Sequence[str], wide: int, indent: str = "") -> ListedName:
    """A column's name behind its number."""
    label = f"{padded(labels[name.column or 0], wide)}{_STEP}" if wide else ""
    start = f"{indent}{' ' * name.indent}{label}"
    return ListedName(f"{start}{name.text}".rstrip(), name.column, columns(start))

"""The columns of a run one below the other, as a table lists them: each named once, in full, with its number.

What columns share is a heading above them. Where names are long there are two forms: each name in one line, or what
changes least as headings of its own, which is narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from evenhand.analysis.summaries.column_names import differing_parts, shortened
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.core.wording.words import columns, folded, padded, safe

_STEP = "  "


class ListedName(Record, frozen=True):
    """A line of the list: a heading, or the name of a column.

    Attributes:
        text: What it says.
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
        variants: The columns.
        labels: Their numbers.
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
            names = (ListedName(_joined(rows[i], own), i) for i in group)
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
        yield ListedName(_joined(texts[i], leaf), i, len(_STEP) * len(heads))


def _joined(row: Mapping[str, str], parts: Sequence[str]) -> str:
    return " · ".join(row[part] for part in parts if row[part])


def _labelled(name: ListedName, labels: Sequence[str], wide: int, indent: str = "") -> ListedName:
    """A column's name behind its number."""
    label = f"{padded(labels[name.column or 0], wide)}{_STEP}" if wide else ""
    start = f"{indent}{' ' * name.indent}{label}"
    return ListedName(f"{start}{name.text}".rstrip(), name.column, columns(start))

"""Pass rates of the cases of each tag, as a table: column by column, in as many blocks as the width takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evenhand.analysis.summaries.rates import Rate, rate_texts
from evenhand.analysis.summaries.slices import Slice, tested_slices
from evenhand.analysis.summaries.standouts import Entry, worth_of_extremes
from evenhand.core.wording.words import clip, columns, count, folded, padded, safe
from evenhand.store.runfile import RunFile

MOST_SHOWN = 24
NAME = 24
FEWEST = 8
"""Columns of a terminal that a tag takes at most, and what is left of it where there is little room."""
_HEAD = "by tag"
_GAP = "  "


def slice_lines(run: RunFile, labels: Sequence[str], width: int) -> list[str]:
    """How many of each tag's trials passed, how sure that is, and which of them stand out.

    A line for each tag, in it the columns side by side: in as many blocks as the width takes, numbers never cut.
    """
    every = tested_slices(run)
    if not every:
        return []
    by_tag = {tag: {one.rate.variant: one.rate for one in each} for tag, each in every.items()}
    variants = sorted({variant for rates in by_tag.values() for variant in rates})
    tags = list(by_tag)[:MOST_SHOWN]
    several = len(labels) > 1
    # Where all columns don't fit side by side, the counts go first.
    for words in (rate_texts, _without_counts):
        cells = [
            _cells(labels[v] if several else "", [by_tag[tag].get(v) for tag in tags], words)
            for v in variants
        ]
        widest = max(columns(cell) for each in cells for cell in each)
        named = min(max(len(_HEAD), *(columns(safe(t)) for t in tags)), NAME)
        named = min(named, max(FEWEST, width - widest - 2 - len(_GAP)))
        room = max(1, (width - named - 2) // (widest + len(_GAP)))
        if room >= len(variants):
            break
    lines: list[str] = []
    blocks = max(1, MOST_SHOWN // len(tags))
    for at in range(0, len(cells), room)[:blocks]:
        heads = (_HEAD if at == 0 else "", *(clip(safe(tag), named) for tag in tags))
        for i, head in enumerate(heads):
            row = _GAP.join(each[i] for each in cells[at : at + room])
            lines.append(f"  {padded(head, named)}{_GAP}{row}".rstrip())
    left = sum(map(len, by_tag.values())) - sum(
        v in by_tag[tag] for tag in tags for v in variants[: blocks * room]
    )
    if left:
        lines.append(f"  … and {left:,} more, in --json")
    return [*lines, *(folded(_worth(every, labels), width, "  "))]


def _without_counts(rates: Sequence[Rate]) -> list[str]:
    wide = max((len(str(rate)) for rate in rates), default=0)
    return [f"{rate!s:>{wide}} [{rate.reach}]" for rate in rates]


def _cells(
    label: str, rates: Sequence[Rate | None], words: Callable[[Sequence[Rate]], list[str]]
) -> list[str]:
    """A column of the table, below what it is called; a dash for a tag that it has no case of."""
    texts = iter(words([rate for rate in rates if rate is not None]))
    cells = [label, *("–" if rate is None else next(texts) for rate in rates)]
    wide = max(map(columns, cells))
    return [padded(cell, wide) for cell in cells]


def _worth(by_tag: Mapping[str, Sequence[Slice]], labels: Sequence[str]) -> str:
    """How many tags there are, and which of them say more than the extremes of so many do by chance."""
    several = len(labels) > 1
    entries = [
        Entry(
            f"{clip(safe(tag), NAME)}{f' in {labels[one.rate.variant]}' if several else ''}",
            str(one.rate),
            one.rate.share.least,
            one.q,
        )
        for tag, each in by_tag.items()
        for one in each
        if one.rate.share
    ]
    number = count(len(by_tag), "tag") + (f" × {len(labels)} variants" if several else "")
    return worth_of_extremes(number, entries)

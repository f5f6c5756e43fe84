"""Tables of the pass rates of tags, and of what was taken for what, in as many blocks as the width takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evenhand.analysis.summaries.classification import MOST_LABELS, LabelMatrix, classified
from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.rates import rate_texts
from evenhand.analysis.summaries.slices import (
    POOLED,
    Entry,
    Slice,
    p_of_extreme,
    slices_by_tag,
    worth_of_extremes,
)
from evenhand.core.wording.words import (
    clip,
    columns,
    count,
    folded,
    padded,
    percents,
    safe,
    share_words,
)
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile

MOST_SHOWN = 24
NAME = 24
FEWEST = 8
"""Columns of a terminal that a tag takes at most, and what is left of it where there is little room."""
_HEAD = "by tag"
_GAP = "  "


class _Layout(NamedTuple):
    """A way to show the columns: what writes their cells, these, the width of the tags' names, and how many fit."""

    words: Callable[[Sequence[Slice]], list[str]]
    cells: list[list[str]]
    named: int
    room: int

    @classmethod
    def of(
        cls,
        cells: list[list[str]],
        words: Callable[[Sequence[Slice]], list[str]],
        named: int,
        width: int,
    ) -> _Layout:
        widest = max(columns(cell) for each in cells for cell in each)
        fitted = min(named, max(FEWEST, width - widest - 2 - len(_GAP)))
        return cls(words, cells, fitted, (width - fitted - 2) // (widest + len(_GAP)))


def slice_lines(run: RunFile, labels: Sequence[str], width: int) -> list[str]:
    """How many of each tag's trials passed, how sure that is, and which of them stand out.

    A line for each tag, in it the columns side by side: in as many blocks as the width takes, numbers never cut.
    """
    every = slices_by_tag(run)
    if not every:
        return []
    by_tag = {tag: {one.rate.variant: one for one in each} for tag, each in every.items()}
    variants = sorted({variant for rates in by_tag.values() for variant in rates})
    tags = list(by_tag)[:MOST_SHOWN]
    several = len(labels) > 1
    named = min(max(len(_HEAD), *(columns(safe(t)) for t in tags)), NAME)
    # Where all columns don't fit side by side, the rates drawn towards all tags go first, then the counts.
    drawn = any(one.pooled for each in every.values() for one in each)
    ways = (
        (_with_pooled, _with_counts, _without_counts) if drawn else (_with_counts, _without_counts)
    )
    layouts = [
        _Layout.of(
            [_cells(labels[v] if several else "", [by_tag[tag].get(v) for tag in tags], words)
             for v in variants], words, named, width)
        for words in ways
    ]  # fmt: skip
    words, cells, named, room = next(
        (one for one in layouts if one.room >= len(variants)), layouts[-1]
    )
    room = max(1, room)
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
    sentences = [_worth(every, labels)]
    if words is _with_pooled:
        sentences.append(f"→ {POOLED}; 95 % of these intervals hold, on average over the tags")
    return [*lines, *(line for one in filter(None, sentences) for line in folded(one, width, "  "))]


def _with_pooled(slices: Sequence[Slice]) -> list[str]:
    texts = _with_counts(slices)
    wide = max(map(columns, texts), default=0)
    return [
        f"{padded(text, wide)} → {share_words(*one.pooled)}" if one.pooled else text
        for text, one in zip(texts, slices, strict=True)
    ]


def _with_counts(slices: Sequence[Slice]) -> list[str]:
    return rate_texts([one.rate for one in slices])


def _without_counts(slices: Sequence[Slice]) -> list[str]:
    wide = max((len(str(one.rate)) for one in slices), default=0)
    return [f"{one.rate!s:>{wide}} [{one.rate.reach}]" for one in slices]


def _cells(
    label: str, slices: Sequence[Slice | None], words: Callable[[Sequence[Slice]], list[str]]
) -> list[str]:
    """A column of the table, below what it is called; a dash for a tag that it has no case of."""
    texts = iter(words([one for one in slices if one is not None]))
    cells = [label, *("–" if one is None else next(texts) for one in slices)]
    wide = max(map(columns, cells))
    return [padded(cell, wide) for cell in cells]


def _worth(by_tag: Mapping[str, Sequence[Slice]], labels: Sequence[str]) -> str:
    """How many tags there are, and which of them say more than the extremes of so many do by chance."""
    several = len(labels) > 1
    entries = [
        Entry(
            f"{clip(safe(tag), NAME)}{f' in {labels[one.rate.variant]}' if several else ''}",
            str(one.rate),
            one.q,
            one.pooled,
        )
        for tag, each in by_tag.items()
        for one in each
        if one.rate.share
    ]
    number = count(len(by_tag), "tag")
    if several:
        rates = sum(map(len, by_tag.values()))
        whole = rates == len(by_tag) * len(labels)  # or else not every variant has cases of each
        number += f" × {len(labels)} variants" if whole else f", {count(rates, 'rate')}"
    return worth_of_extremes(number, entries)


NO_LABEL = "(no label)"
"""How an answer is called that is no label which is ever right."""
LABEL_NAME = 20
A_PAIR = 2
"""Of so many labels nobody looks for the extreme."""
COUNTED = 8
"""With more labels than this, the counts are told in words."""


def classification_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """A table for each column that answers with labels: what was taken for what, recall and precision."""
    lines: list[str] = []
    matrices = classified(run)
    for one, qs in zip(matrices, _recall_qs(matrices), strict=True):
        name = f"{names[one.variant]}: " if len(names) > 1 else ""
        head = f"{name}labels expected (down) and answered (across)"
        if one.errors:
            head += f"; {count(one.errors, 'trial')} in error may have been answered with any"
        lines += [*([""] if lines else []), *folded(head, width, "  "), *_table(one, width)]
        every = sum(len(each.labels) for each in matrices)
        lines += folded(_worth_of(one, qs, every), width, "  ")
    return lines


def _recall_qs(matrices: Sequence[LabelMatrix]) -> list[dict[str, float]]:
    """For each column by label the p-value that its cases are found like others, corrected for their number."""
    ps: list[float] = []
    for one in matrices:
        known = {label: _known(one.recall[label]) for label in one.labels}
        every = {case: share for shares in known.values() for case, share in shares.items()}
        ps += [p_of_extreme(known[label], every, one.recall[label].groups) for label in one.labels]
    qs = iter(benjamini_hochberg(ps))
    return [{label: next(qs) for label in one.labels} for one in matrices]


def _known(recall: Decisions) -> dict[str, float]:
    """How often each case was answered so, of those that errors leave no doubt about."""
    return {
        case: least.passed / least.n
        for case, least in recall.least.items()
        if least.n and least == recall.most[case]
    }


def _worth_of(one: LabelMatrix, qs: Mapping[str, float], every: int) -> str:
    """Which labels are found more or less often than chance makes the extremes of so many; nothing for one or two.

    Args:
        qs: Their p-values, corrected for those of all columns.
        every: So many labels all columns have.
    """
    if len(one.labels) <= A_PAIR:
        return ""
    recalls = [(label, one.recall[label].share) for label in one.labels]
    entries = [
        Entry(clip(safe(label), LABEL_NAME), percents(share.least, share.most), qs[label])
        for label, share in recalls
        if share
    ]
    number = f"recall of {count(len(one.labels), 'label')}"
    number += f", {every:,} with those of other variants" if every > len(one.labels) else ""
    return worth_of_extremes(number, entries, "labels")


def _table(one: LabelMatrix, width: int) -> list[str]:
    listed = one.labels[:MOST_LABELS]
    lines = _in_words(one, listed, width)
    if len(one.answers) <= COUNTED:
        forms = (_counted_by_name, _counted_by_number, _counted_above_shares)
        tables = (form(one, listed) for form in forms)
        lines = next((each for each in tables if max(map(columns, each)) <= width), lines)
    if len(one.labels) > len(listed):
        lines.append(f"  … and {count(len(one.labels) - len(listed), 'label')} more, in --json")
    return lines


def _counted_by_name(one: LabelMatrix, listed: Sequence[str]) -> list[str]:
    """A column for each answer, with what it is called above it, and the shares beside them."""
    heads = ["", *(_named(answer) for answer in one.answers), *_SHARES]
    rows = [[_named(label), *_counts(one, label), *_shares(one, label)] for label in listed]
    return _lines([heads, *rows], "   ")


def _counted_by_number(one: LabelMatrix, listed: Sequence[str]) -> list[str]:
    """A column for each answer, with the number of its row above it, and the shares beside them."""
    rows = [[*_numbered(one, label), *_shares(one, label)] for label in listed]
    return _lines([[*_numbers(one), *_SHARES], *rows], _GAP)


def _counted_above_shares(one: LabelMatrix, listed: Sequence[str]) -> list[str]:
    """A column for each answer, with the number of its row above it, and the shares in a table of their own."""
    shares = [[_named(label), *_shares(one, label)] for label in listed]
    counts = _lines([_numbers(one), *(_numbered(one, label) for label in listed)], _GAP)
    return [*counts, *_lines([["", *_SHARES], *shares], _GAP)]


def _in_words(one: LabelMatrix, listed: Sequence[str], width: int) -> list[str]:
    """The shares, and behind or below those of each label what was answered instead, in as many lines as it takes."""
    rows = [["", *_SHARES], *([_named(label), *_shares(one, label)] for label in listed)]
    table = _lines(rows, "   ")
    wide = max(map(columns, table))
    start = " " * (wide + 3)
    beside = width - len(start) >= LABEL_NAME + len(" 100,")
    lines = [f"{padded(table[0], len(start))}answered instead" if beside else table[0]]
    lines = lines if wide <= width else []
    for label, row, line in zip(listed, rows[1:], table[1:], strict=True):
        mistakes = _mistakes(one, label)
        text = ", ".join(mistakes)
        if beside:
            folds = folded(text, width, padded(line, len(start)), start, names=mistakes)
            lines += [each.rstrip() for each in folds]
            continue
        if wide <= width:
            lines.append(line)
        else:
            shares = (f"{name} {share}" for name, share in zip(_SHARES, row[1:], strict=True))
            lines += [f"  {row[0]}", *folded(" · ".join(shares), width, "    ")]
        lines += folded(f"instead: {text}", width, "    ", names=mistakes) if text else []
    return lines


_SHARES = ("recall", "precision")


def _shares(one: LabelMatrix, label: str) -> list[str]:
    return [_share(one.recall[label].share), _share(one.precision[label].share)]


def _counts(one: LabelMatrix, label: str) -> list[str]:
    return [f"{one.matrix[label, answer]:,}" for answer in one.answers]


def _numbers(one: LabelMatrix) -> list[str]:
    """The heads of a table of counts: the number of the row that has the answer's name; no label is in no row."""
    return ["", *(_named(a) if a is None else f"{i}" for i, a in enumerate(one.answers, 1))]


def _numbered(one: LabelMatrix, label: str) -> list[str]:
    return [f"{one.answers.index(label) + 1} {_named(label)}", *_counts(one, label)]


def _lines(rows: Sequence[Sequence[str]], gap: str) -> list[str]:
    """A table's rows, in each the cells below one another."""
    wide = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    return ["  " + gap.join(map(padded, row, wide)).rstrip() for row in rows]


def _mistakes(one: LabelMatrix, label: str) -> list[str]:
    confusions = [(n, _named(a)) for (e, a), n in one.matrix.items() if e == label and a != label]
    return [f"{name} {n:,}" for n, name in sorted(confusions, key=lambda x: (-x[0], x[1]))]


def _named(answered: str | None) -> str:
    return NO_LABEL if answered is None else clip(safe(answered), LABEL_NAME)


def _share(share: Share | None) -> str:
    return "–" if share is None else share_words(*share)

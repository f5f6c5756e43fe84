"""Tables of what was taken for what, one for each column that answers with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.analysis.summaries.classification import MOST_LABELS, LabelMatrix, classified
from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.standouts import Entry, p_of_extreme, worth_of_extremes
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

NO_LABEL = "(no label)"
"""How an answer is called that is no label which is ever right."""
NAME = 20
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
        lines += [*([""] if lines else []), clip(f"  {head}", width), *_table(one, width)]
        lines += folded(_worth(one, qs), width, "  ")
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


def _worth(one: LabelMatrix, qs: Mapping[str, float]) -> str:
    """Which labels are found more or less often than chance makes the extremes of so many; nothing for one or two."""
    if len(one.labels) <= A_PAIR:
        return ""
    recalls = [(label, one.recall[label].share) for label in one.labels]
    entries = [
        Entry(clip(safe(label), NAME), percents(share.least, share.most), qs[label])
        for label, share in recalls
        if share
    ]
    return worth_of_extremes(f"recall of {count(len(one.labels), 'label')}", entries, "labels")


def _table(one: LabelMatrix, width: int) -> list[str]:
    labels = one.labels
    listed = labels[:MOST_LABELS]
    across = one.answers
    rows = [
        [
            clip(safe(label), NAME),
            _share(one.recall[label].share),
            _share(one.precision[label].share),
        ]
        for label in listed
    ]
    counts = [[f"{one.matrix[label, other]:,}" for other in across] for label in listed]
    heads = [_named(other, 10) for other in across]
    cells = [[row[0], *numbers, *row[1:]] for row, numbers in zip(rows, counts, strict=True)]
    table = [["", *heads, "recall", "precision"], *cells]
    wide = [max(columns(row[i]) for row in table) for i in range(len(table[0]))]
    # Too wide for the terminal: the mistakes in words in place of a column for each label.
    if len(across) > COUNTED or sum(wide) + 3 * len(wide) > width:
        mistakes = [_mistakes(one, label) for label in listed]
        table = [["", "recall", "precision", "answered instead"]]
        table += [[*row, instead] for row, instead in zip(rows, mistakes, strict=True)]
        wide = [max(columns(row[i]) for row in table) for i in range(len(table[0]))]
    lines = [
        clip("  " + "   ".join(padded(cell, wide[i]) for i, cell in enumerate(row)).rstrip(), width)
        for row in table
    ]
    if len(labels) > len(listed):
        lines.append(f"  … and {count(len(labels) - len(listed), 'label')} more, in --json")
    return lines


def _mistakes(one: LabelMatrix, label: str) -> str:
    confusions = [(n, _named(a)) for (e, a), n in one.matrix.items() if e == label and a != label]
    return ", ".join(f"{name} {n:,}" for n, name in sorted(confusions, key=lambda x: (-x[0], x[1])))


def _named(answered: str | None, width: int = NAME) -> str:
    return NO_LABEL if answered is None else clip(safe(answered), width)


def _share(share: Share | None) -> str:
    if share is None:
        return "–"
    return share_words(share.least, share.most, share.low, share.high)

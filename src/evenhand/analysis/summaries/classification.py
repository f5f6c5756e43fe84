"""How well each label is found: what was taken for what, with precision and recall of each and their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import field

from evenhand.analysis.summaries.clusters import Groups
from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.standouts import Entry, p_of_extreme, worth_of_extremes
from evenhand.core.record import MutableRecord
from evenhand.core.wording.words import (
    clip,
    columns,
    count,
    folded,
    interval,
    padded,
    percents,
    safe,
)
from evenhand.scorers.label import ANSWERED, EXPECTED, plain
from evenhand.stats.multiple import benjamini_hochberg
from evenhand.stats.tallies import Share
from evenhand.store.decoding import MeasuredTrial
from evenhand.store.measured import measured_trials
from evenhand.store.runfile import RunFile

NO_LABEL = "(no label)"
"""How an answer is called that is no label which is ever right."""
MOST_TRIALS = 200_000
MOST_LABELS = 30
"""So many are shown for each column, those with the most cases first."""
NAME = 20
_SIGN = f'"{EXPECTED}":'.encode()
"""What stands in the JSON of a trial that expects a label."""
A_PAIR = 2
"""Of so many labels nobody looks for the extreme."""
COUNTED = 8
"""With more labels than this, the counts are told in words."""


class LabelMatrix(MutableRecord):
    """What one column made of the labels.

    Attributes:
        variant: The column's index.
        matrix: How many trials that should have been answered with the first label were answered with the second; None
            for an answer that is no label which is ever right.
        precision: Of the answers with a label, how many were right.
        recall: Of the cases with a label, how many were answered so.
        errors: Trials in error, which may have been answered with any label.
    """

    variant: int
    matrix: Counter[tuple[str, str | None]] = field(default_factory=Counter[tuple[str, str | None]])
    precision: dict[str, Decisions] = field(default_factory=dict[str, Decisions])
    recall: dict[str, Decisions] = field(default_factory=dict[str, Decisions])
    errors: int = 0

    @property
    def labels(self) -> list[str]:
        """The labels that are ever right, those of the most trials first."""
        sizes = Counter[str]()
        for (expected, _), number in self.matrix.items():
            sizes[expected] += number
        return sorted(self.recall, key=lambda label: (-sizes[label], label))

    @property
    def answers(self) -> list[str | None]:
        """What was answered: the labels, and None where some answer is no label."""
        other = any(answered is None for _, answered in self.matrix)
        return [*self.labels, None] if other else [*self.labels]


def classified(run: RunFile) -> list[LabelMatrix]:
    """The columns that answer with labels; none for a run that has no `Label`, or is too large to look through."""
    if run.by_outcome or not any(v.eval for v in run.meta.variants):
        return []
    if run.settled() > MOST_TRIALS:
        return []
    # Looking for a few bytes is much faster than decoding every result.
    if not any(_SIGN in result for result in run.results()):
        return []  # and nothing is decoded
    pairs: dict[int, list[tuple[str, str, str]]] = {}
    errors: dict[int, list[tuple[str, str]]] = {}
    for trial in measured_trials(run):
        answers = list(_pairs(trial))
        for expected, answered in answers:
            pairs.setdefault(trial.variant, []).append((trial.case, expected, answered))
        if not answers and trial.outcome == "error":
            label = plain(trial.expected) if isinstance(trial.expected, str) else ""
            errors.setdefault(trial.variant, []).append((trial.case, label))
    stopped, groups = run.meta.status == "decided", run.groups()
    return [
        _of(variant, pairs[variant], errors.get(variant, ()), groups[variant], stopped=stopped)
        for variant in sorted(pairs)
    ]


def _pairs(trial: MeasuredTrial) -> Iterator[tuple[str, str]]:
    for outcome in trial.outcomes:
        expected, answered = outcome.metadata.get(EXPECTED), outcome.metadata.get(ANSWERED)
        if isinstance(expected, str) and isinstance(answered, str):
            yield expected, answered


def _of(
    variant: int,
    pairs: Sequence[tuple[str, str, str]],
    errors: Sequence[tuple[str, str]],
    groups: Groups,
    *,
    stopped: bool,
) -> LabelMatrix:
    matrix = LabelMatrix(variant, errors=len(errors))
    right = {expected for _, expected, _ in pairs} | {
        expected for _, expected in errors if expected
    }
    for label in right:
        matrix.precision[label] = Decisions(stopped=stopped, each=True, groups=groups)
        matrix.recall[label] = Decisions(stopped=stopped, groups=groups)
    for case, expected, answer in pairs:
        answered = answer if answer in right else None
        matrix.matrix[expected, answered] += 1
        matrix.recall[expected].add(case, answered == expected)
        if answered is not None:
            matrix.precision[answered].add(case, answered == expected)
    for case, expected in errors:  # it may have been answered with any label
        for label in right:
            own = label == expected or not expected
            if own:
                matrix.recall[label].add_error(
                    case, worst="fail", best="pass" if expected else "none"
                )
            matrix.precision[label].add_error(
                case, worst="none" if label == expected else "fail", best="pass" if own else "none"
            )
    return matrix


def classification_rows(run: RunFile) -> list[dict[str, Any]]:
    """The label matrices of a run as JSON-ready rows, one for each column that answers with labels."""
    variants = run.meta.variants
    return [
        {
            "variant": {
                "prompt": variants[one.variant].prompt,
                "model": variants[one.variant].model,
            },
            "errors": one.errors,
            "labels": [
                {
                    "label": label,
                    "precision": one.precision[label].document(),
                    "recall": one.recall[label].document(),
                }
                for label in one.labels
            ],
            "matrix": [
                {"expected": expected, "answered": answered, "trials": number}
                for (expected, answered), number in sorted(
                    one.matrix.items(), key=lambda each: (each[0][0], each[0][1] or "")
                )
            ],
        }
        for one in classified(run)
    ]


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
        Entry(clip(safe(label), NAME), percents(share.least, share.most), share.least, qs[label])
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
    return f"{percents(share.least, share.most)} [{interval(share.low, share.high)}]"

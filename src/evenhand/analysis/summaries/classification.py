"""How well each label is found: what was taken for what, with precision and recall of each and their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import field

from evenhand.analysis.summaries.clusters import Groups
from evenhand.analysis.summaries.decisions import Decisions, RunDecisions
from evenhand.core.document import Key
from evenhand.core.record import MutableRecord, Record
from evenhand.core.variant import RunVariant
from evenhand.scorers.label import ANSWERED, EXPECTED, plain
from evenhand.store.decoding import MeasuredTrial
from evenhand.store.measured import measured_trials
from evenhand.store.runfile import RunFile

MOST_TRIALS = 200_000
MOST_LABELS = 30
"""So many are shown for each column, those with the most cases first."""
_SIGN = f'"{EXPECTED}":'.encode()
"""What stands in the JSON of a trial that expects a label."""


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
    stopped, groups = run.meta.ended_early, run.groups()
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


class RunLabelFound(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a label."""

    label: str
    precision: Annotated[
        RunDecisions, Key("of the answers with it, those that were right; each answer counts once")
    ]
    recall: Annotated[RunDecisions, Key("of the cases with it, those that were answered so")]


class RunMatrixCell(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of trials with the same label and the same answer."""

    expected: Annotated[str, Key("the right label")]
    answered: Annotated[
        str | None, Key("the answer", null="the answer is no label that is ever right")
    ]
    trials: Annotated[int, Key("", "trials")]


class RunClassification(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a column that answers with labels."""

    variant: Annotated[RunVariant, Key("the variant")]
    errors: Annotated[int, Key("in error", "trials")]
    labels: list[RunLabelFound]
    matrix: list[RunMatrixCell]


def classification_rows(run: RunFile) -> list[RunClassification]:
    """The label matrices of a run in the keys of its document, one for each column that answers with labels."""
    variants = run.meta.variants
    return [
        RunClassification(
            variant=variants[one.variant].names,
            errors=one.errors,
            labels=[
                RunLabelFound(
                    label=label,
                    precision=one.precision[label].row(),
                    recall=one.recall[label].row(),
                )
                for label in one.labels
            ],
            matrix=[
                RunMatrixCell(expected=expected, answered=answered, trials=number)
                for (expected, answered), number in sorted(
                    one.matrix.items(), key=lambda each: (each[0][0], each[0][1] or "")
                )
            ],
        )
        for one in classified(run)
    ]

"""What a run had to reach and what its tags and labels came to, as the console has it, in the shape of the page.

All of it is of the whole run: it is worked out here, once, and no filter of the page changes it.
"""

from __future__ import annotations

from evenhand.analysis.summaries.classification import (
    MOST_LABELS,
    MOST_TRIALS,
    LabelMatrix,
    classified,
)
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.slices import Slice, slices_by_tag
from evenhand.analysis.trust.requirements import Held, held
from evenhand.core.requirement import PASSED
from evenhand.render.requirements import (
    bound_words,
    failures_allowed,
    interval_words,
    value_words,
    why,
)
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import rate
from evenhand.wings.viewer.shapes import (
    ColumnRate,
    ConfusionMatrix,
    LabelRow,
    RequirementRow,
    RequirementWords,
    SummaryShape,
    TagRows,
)

MOST_TAGS = 200
"""Tags that are sent, in their order; of more, how many there are."""


def summary(run: RunFile) -> SummaryShape:
    """Requirements, tags and labels of a run.

    Raises:
        StoreError: The file cannot be read.
    """
    meta = run.meta
    names = [name or meta.title for name in column_names(meta.variants)]
    if run.by_outcome:
        why_not = "These trials were chosen by what came of them, so nothing follows from how many passed."
        return SummaryShape(
            requirements=[],
            failures_allowed=False,
            pass_rate=None,
            tags=[],
            more_tags=0,
            labels=[],
            without=why_not,
        )
    tags = slices_by_tag(run)
    return SummaryShape(
        requirements=[_required(one, names) for one in held(run)],
        failures_allowed=failures_allowed(meta.requirements),
        pass_rate=None if meta.requirements else meta.pass_rate,
        tags=[
            TagRows(tag, [_column_rate(one, names[one.rate.variant]) for one in columns])
            for tag, columns in list(tags.items())[:MOST_TAGS]
        ],
        more_tags=max(0, len(tags) - MOST_TAGS),
        labels=[_confusion(one, names[one.variant]) for one in classified(run)],
        without=""
        if run.settled() <= MOST_TRIALS
        else f"Tags and labels are left out of runs of more than {MOST_TRIALS:,} trials.",
    )


def _column_rate(one: Slice, name: str) -> ColumnRate:
    own = one.rate
    return ColumnRate(
        column=name,
        passed=own.passed,
        trials=own.trials,
        rate=rate(own.share, own.cases),
        pooled=rate(one.pooled, own.cases),
    )


def _required(one: Held, names: list[str]) -> RequirementRow:
    required = one.requirement
    return RequirementRow(
        metric=required.metric,
        column=None if one.variant is None else names[one.variant],
        state=one.state,
        shares=required.metric == PASSED,
        least=one.least,
        most=one.most,
        low=one.low,
        high=one.high,
        at_least=required.bound.at_least,
        at_most=required.bound.at_most,
        words=RequirementWords(
            value_words(one), interval_words(one), bound_words(required), why(one)
        ),
    )


def _confusion(one: LabelMatrix, name: str) -> ConfusionMatrix:
    labels, answers = one.labels[:MOST_LABELS], one.answers
    hidden = set(one.labels[MOST_LABELS:])
    across = [answer for answer in answers if answer not in hidden]
    return ConfusionMatrix(
        column=name,
        errors=one.errors,
        answers=across,
        labels=[
            LabelRow(
                label,
                [one.matrix[label, answer] for answer in across],
                sum(one.matrix[label, answer] for answer in hidden),
                rate(one.precision[label].share, one.precision[label].cases),
                rate(one.recall[label].share, one.recall[label].cases),
            )
            for label in labels
        ],
        more=len(hidden),
    )

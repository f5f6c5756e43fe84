"""The judged numbers of a run as `evenhand.run/1` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from evenhand.analysis.trust.calibrated import Status, judged_rates
from evenhand.analysis.trust.calibration_document import RateRow
from evenhand.analysis.trust.trust_rules import estimate_row
from evenhand.core.document import Key, filled
from evenhand.core.record import Record
from evenhand.core.score import Scale
from evenhand.core.variant import RunVariant
from evenhand.store.runfile import RunFile


class RunJudgedMean(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of the mean of a judge's scores."""

    scale: Annotated[Scale, Key("the lowest and the highest score there can be")]
    raw: Annotated[RateRow, Key("as the judge has it", "the metric's")]
    corrected: Annotated[
        RateRow | None,
        Key("as people would have given it", "the metric's", null="their scores don't tell"),
    ]
    labels: Annotated[int, Key("of people's that `corrected` rests on", "scores")]


class RunJudged(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a judged metric in a variant."""

    metric: Annotated[str, Key("the metric, or the expectation where it has none")]
    model: Annotated[str, Key("the judge, as its answers named it")]
    variant: Annotated[RunVariant, Key("the variant")]
    judged: Annotated[int, Key("with a verdict of the judge", "outputs")]
    raw: Annotated[RateRow, Key("the judge's own pass rate; each case counts once", "0 to 1")]
    corrected: Annotated[
        RateRow | None,
        Key("the pass rate that people would have found", "0 to 1", null="no calibration holds"),
    ]
    labels: Annotated[int, Key("that `corrected` rests on", "labels")]
    split: Annotated[
        int,
        Key(
            "labelled ones on which people are split: in `corrected`, only the ends of the interval allow for them",
            "outputs",
        ),
    ]
    labelled_at: Annotated[
        float | None, Key("the newest label", "seconds since 1970", null="no labels")
    ]
    calibration: Annotated[Status, Key("`fresh`, `stale` or `missing`")]
    changed: Annotated[Sequence[str], Key("what has changed since the calibration was made")]
    mean: Annotated[
        RunJudgedMean | None,
        Key(
            "the mean of the judge's scores", null="no scores of the judge and of people that hold"
        ),
    ]
    by_votes: Annotated[
        bool,
        Key(
            "whether `corrected` goes by a [jury's](../judges.md) votes, weighted as the calibration says"
        ),
    ]
    why: Annotated[
        str,
        Key("why labels that hold correct nothing: they are of too few cases; otherwise empty"),
    ]
    fallback: Annotated[
        bool, Key("whether the judge was asked in place of another one, which was out of reach")
    ]


def judged_rows(run: RunFile) -> list[RunJudged]:
    """The judged pass rates of a run in the keys of `evenhand.run/1`."""
    return [
        filled(
            RunJudged,
            rate,
            variant=run.meta.variants[rate.variant].names,
            judged=rate.items,
            raw=rate.raw._asdict(),
            corrected=estimate_row(rate.corrected),
            split=rate.split_items,
            calibration=rate.status,
            mean=rate.mean
            and RunJudgedMean(
                scale=rate.mean.scale,
                raw=rate.mean.raw._asdict(),
                corrected=estimate_row(rate.mean.corrected),
                labels=rate.mean.labels,
            ),
        )
        for rate in judged_rates(run)
    ]

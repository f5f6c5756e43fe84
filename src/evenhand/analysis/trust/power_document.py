"""`evenhand.power/1`: how many cases, repeats and labels a question takes, and what the uncertainty comes from."""

from __future__ import annotations

from typing import Annotated, Literal

from evenhand.analysis.summaries.variance_shares import PartShare
from evenhand.core.document import Key
from evenhand.core.record import Record

SCHEMA = "evenhand.power/1"


class Change(Record, frozen=True):
    """A drop or a rise of the pass rate, and how many cases show it four times in five."""

    to: Annotated[float, Key("the other pass rate", "0 to 1")]
    differing: Annotated[float, Key("the share of cases on which the two disagree", "0 to 1")]
    cases: Annotated[int, Key("that show it", "cases")]


class PowerCorrelation(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of a correlation."""

    alike: Annotated[float, Key("the correlation", "0 to 1")]
    cases: Annotated[int, Key("that show the difference", "cases")]


class PowerRepeats(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of the repeats."""

    repeats: Annotated[int, Key("of each case", "repeats")]
    cases: Annotated[int, Key("that show the difference with so many repeats", "cases")]
    trials: Annotated[int, Key("of one variant", "trials")]


class PowerLabels(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of the labels."""

    metric: Annotated[str, Key("empty if the answers are from numbers")]
    half_width: Annotated[float, Key("how far the corrected pass rate may be off", "0 to 1")]
    rate: Annotated[float, Key("the pass rate that is expected", "0 to 1")]
    rho2: Annotated[
        float | None,
        Key("the share of labels that the judge replaces", "0 to 1", null="nobody has labelled"),
    ]
    judged: Annotated[int | None, Key("that the judge judges", "outputs", null="any number")]
    judged_cases: Annotated[
        int | None,
        Key(
            "or clusters, that the judged outputs are of",
            "cases",
            null="the answers are from numbers",
        ),
    ]
    labels: Annotated[
        int | None,
        Key(
            "needed with the judge, each of another case or cluster",
            "labels",
            null="not even all outputs are enough, or a label of each case",
        ),
    ]
    without_judge: Annotated[int, Key("needed without one", "labels")]


class PowerLeast(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of the cheapest way to show the difference."""

    cases: Annotated[int, Key("in all", "cases")]
    more: Annotated[int, Key("more than the run has", "cases")]
    repeats: Annotated[int, Key("of each case", "repeats")]
    calls: Annotated[int, Key("about how many, for two variants, judges among them", "calls")]
    cost_usd: Annotated[
        float | None, Key("about what they cost", "US dollars", null="a price is not known")
    ]


class PowerJudge(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of a judge that judged the same output more than once."""

    metric: str
    model: Annotated[str, Key("the judge")]
    variance: Annotated[float, Key("of its verdict on one output", "0 to 0.5")]
    low: Annotated[float, Key("the lower end of its 95 % interval", "0 to 0.5")]
    high: Annotated[float, Key("the upper end", "0 to 0.5")]
    outputs: Annotated[int, Key("that it judged more than once", "outputs")]


class PowerWording(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of other wordings."""

    of: Annotated[Literal["prompt", "judge"], Key("what is worded differently")]
    variance: Annotated[float, Key("that it adds to the pass rate, whatever the number of cases")]
    low: Annotated[float, Key("the lower end of its 95 % interval")]
    high: Annotated[float, Key("the upper end")]
    wordings: Annotated[int, Key("", "runs")]
    cases: Annotated[int, Key("that all of them have without an error", "cases")]
    left_out: Annotated[int, Key("that one lacks, or has in error", "cases")]


class PowerSample(Record, frozen=True, kw_only=True):
    """What `evenhand.power/1` says of a gate that runs a part of a baseline's cases."""

    cases: Annotated[
        int | None,
        Key(
            "that a gate has to run, once each, to pass an unchanged system four times in five",
            "cases",
            null="not even all of them are enough",
        ),
    ]
    of: Annotated[int, Key("that the baseline has", "cases")]
    margin: Annotated[float, Key("how much lower a pass rate the gate accepts", "0 to 1")]
    least_margin: Annotated[float, Key("the smallest for which all cases are enough", "0 to 1")]


class PowerDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.power/1`."""

    schema: Annotated[str, Key("`evenhand.power/1`")]
    eval: Annotated[
        str | None, Key("the eval that it is about, the first of several", null="there is one")
    ]
    rate: Annotated[float, Key("the pass rate that the answers rest on", "0 to 1")]
    difference: Annotated[
        float, Key("the difference of two pass rates that is to be shown", "0 to 1")
    ]
    differing: Annotated[float, Key("the share of cases on which the two disagree", "0 to 1")]
    assumed: Annotated[bool, Key("whether that is an assumption")]
    alike: Annotated[
        float | None,
        Key(
            "the correlation of the two variants' verdicts: assumed, or as the run has it",
            "-1 to 1",
            null="it doesn't matter, as `differing` was named",
        ),
    ]
    cases: Annotated[
        int, Key("that show the difference, four times in five, a drop or a rise", "cases")
    ]
    cases_low: Annotated[
        int | None,
        Key(
            "the least it may be, as far as the run can tell how alike two variants are",
            "cases",
            null="there is no run that says it",
        ),
    ]
    cases_high: Annotated[int | None, Key("the most", "cases", null="there is no run that says it")]
    changes: Annotated[list[Change], Key("a drop and a rise, as far as there can be either")]
    by_correlation: Annotated[
        list[PowerCorrelation], Key("the cases for other correlations; empty if `alike` is null")
    ]
    effect: Annotated[
        float,
        Key("so many times as many cases are needed because some belong together, as in the run"),
    ]
    least: Annotated[
        PowerLeast | None,
        Key("what shows it at the least cost", null="the answers are from numbers"),
    ]
    parts: Annotated[
        list[PartShare],
        Key(
            "what the uncertainty comes from, of the difference of the run's first two variants, or of its only one's "
            "pass rate; empty without a run, and for fewer than 5 cases"
        ),
    ]
    sides: Annotated[int, Key("1 if `parts` is that of a pass rate, 2 of a difference")]
    judges: Annotated[
        list[PowerJudge],
        Key("those that judged the same output more than once, here or in a run beside it"),
    ]
    wording: Annotated[
        PowerWording | None,
        Key("what other wordings do", null="no run with another wording was named"),
    ]
    could_show: Annotated[
        float | None,
        Key(
            "the smallest difference that the run's cases could show",
            "0 to 1",
            null="there is no run, or it has too few cases",
        ),
    ]
    repeats: Annotated[list[PowerRepeats], Key("empty if the run has no repeats")]
    labels: Annotated[list[PowerLabels], Key("one for each judge")]
    sample: Annotated[
        PowerSample | None,
        Key("what a gate has to run against a baseline", null="no baseline was named"),
    ]

"""The document of a comparison, `evenhand.compare/1`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict

from evenhand.analysis.comparison.comparison_results import (
    CaseChange,
    Compared,
    ComparedRuns,
    ends,
)
from evenhand.analysis.comparison.judged_differences import CompareJudgedDifference
from evenhand.analysis.comparison.regraded_outputs import RegradedOutputs
from evenhand.core.document import Key, as_object, filled
from evenhand.core.json_shapes import finite, is_array, is_object
from evenhand.core.record import Record
from evenhand.core.wording.json_text import json_text
from evenhand.render.comparison import because

SCHEMA = "evenhand.compare/1"

_T = TypeVar("_T")

_ANY_NUMBER = "there is no case, or errors may be any number"
_Least = Annotated[
    float | None, Key("the lowest that errors leave possible", "the metric's", null=_ANY_NUMBER)
]
_Most = Annotated[float | None, Key("the highest", "the metric's", null=_ANY_NUMBER)]


class CompareChange(Record, frozen=True, kw_only=True):
    """What `evenhand.compare/1` says of a change."""

    case: Annotated[str, Key("its id")]
    name: Annotated[str, Key("for people")]
    first: Annotated[
        float | None,
        Key("its mean over repeats in the first", "the metric's", null="errors leave it open"),
    ]
    first_least: Annotated[float, Key("the lowest that errors leave possible", "the metric's")]
    first_most: Annotated[float, Key("the highest", "the metric's")]
    second: Annotated[
        float | None, Key("the same in the second", "the metric's", null="errors leave it open")
    ]
    second_least: Annotated[float, Key("the lowest that errors leave possible", "the metric's")]
    second_most: Annotated[float, Key("the highest", "the metric's")]
    difference: Annotated[
        float | None, Key("second minus first", "the metric's", null="errors leave it open")
    ]
    difference_least: Annotated[float, Key("the lowest that errors leave possible", "the metric's")]
    difference_most: Annotated[float, Key("the highest", "the metric's")]


class CompareLeftOut(Record, frozen=True, kw_only=True):
    """What `evenhand.compare/1` says of cases that were not paired."""

    only_first: Annotated[list[str], Key("cases that only the first has")]
    only_second: Annotated[list[str], Key("cases that only the second has")]
    errors: Annotated[
        list[str], Key("of which nothing is known: all trials are in error on a side")
    ]
    not_applicable: Annotated[
        list[str], Key("to which the metric did not apply, or that it did not measure")
    ]
    unlike: Annotated[
        dict[str, Any], Key("that are another test in the second, as lists by what differs")
    ]


class CompareResult(Record, frozen=True, kw_only=True):
    """What `evenhand.compare/1` says of a result."""

    metric: str
    columns: Annotated[list[str], Key("the names of the two variants")]
    verdict: Annotated[str, Key("as above")]
    because: Annotated[str | None, Key("what the verdict rests on", null="a difference was shown")]
    kind: Annotated[str, Key("`rate` or `score`")]
    better: Annotated[str, Key("`higher` or `lower`")]
    n: Annotated[int, Key("that were paired", "cases")]
    clusters: Annotated[
        int,
        Key(
            "that these make, each counting once; as many as cases where each stands alone",
            "clusters",
        ),
    ]
    predicted: Annotated[
        int,
        Key(
            "of the first that the second, a run of a sample, left out, and that are predicted: the difference is over "
            "these and `n`",
            "cases",
        ),
    ]
    explained: Annotated[
        float | None,
        Key(
            "the share of the differences' spread that the first and earlier runs explain, 0 to 1",
            null="nothing was predicted",
        ),
    ]
    first: Annotated[
        float | None,
        Key(
            "the mean of the first",
            "the metric's",
            null="errors leave it open, or there is no case",
        ),
    ]
    first_least: _Least
    first_most: _Most
    second: Annotated[
        float | None,
        Key(
            "the mean of the second",
            "the metric's",
            null="errors leave it open, or there is no case",
        ),
    ]
    second_least: _Least
    second_most: _Most
    difference: Annotated[
        float | None,
        Key("second minus first", "the metric's", null="errors leave it open, or there is no case"),
    ]
    difference_least: _Least
    difference_most: _Most
    low: Annotated[
        float | None,
        Key(
            "the lower end of the difference's 95 % interval, corrected as `p` is but with a margin; "
            "0 lies in it where `p` is above 0.05",
            "the metric's",
            null="it has no bound",
        ),
    ]
    high: Annotated[float | None, Key("the upper end", "the metric's", null="it has no bound")]
    scaled: Annotated[
        bool,
        Key(
            "whether the metric's scale is known; if not, nothing is said of its mean, and `p` is that of the "
            "sign test"
        ),
    ]
    higher: Annotated[
        int, Key("that are higher in the second, whatever became of errors", "clusters")
    ]
    lower: Annotated[int, Key("that are lower", "clusters")]
    p: Annotated[
        float,
        Key(
            "two-sided, corrected for the number of results (Holm); 1 for scores of fewer than 5 cases or clusters",
            "0 to 1",
        ),
    ]
    p_alone: Annotated[float, Key("without the correction", "0 to 1")]
    smallest: Annotated[
        float | None,
        Key(
            "the smallest difference that the cases could have shown",
            "the metric's",
            null="the cases could show none",
        ),
    ]
    changed: Annotated[list[CompareChange], Key("cases that scored differently, the worst first")]
    same: Annotated[int, Key("that scored the same", "cases")]
    unsettled: Annotated[list[str], Key("cases that errors leave open")]
    left_out: Annotated[CompareLeftOut, Key("cases that were not paired")]
    withheld: Annotated[
        str | None,
        Key(
            "why nothing can be concluded from the difference: the cases were chosen by their outcome, say. "
            "`low` and `high` are null then, and `p` is 1",
            null="something can be concluded",
        ),
    ]
    trials_in_error: Annotated[int, Key("of the paired cases", "trials")]
    open: Annotated[bool, Key("whether those are why nothing was decided")]
    judges: Annotated[
        list[Any] | None,
        Key("the judges of the first and of the second", null="both have the same"),
    ]


class CompareDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.compare/1`."""

    schema: Annotated[str, Key("`evenhand.compare/1`")]
    first: Annotated[str, Key("what is compared with")]
    second: Annotated[str, Key("what is judged")]
    verdict: Annotated[
        str,
        Key(
            "of all results: `better`, `worse`, `non-inferior`, `no detectable difference` or `undecided`"
        ),
    ]
    margin: Annotated[
        float | None, Key("how much worse is accepted", "the metric's", null="there is none")
    ]
    cluster: Annotated[
        str | None,
        Key(
            "the variable, or key of the metadata, that says which cases belong together: the option, or the "
            "set's",
            null="cases stand alone",
        ),
    ]
    results: Annotated[list[CompareResult], Key("one for each metric and pair of variants")]
    judged: Annotated[
        list[CompareJudgedDifference],
        Key("the judged metrics of each pair of variants; empty without a judge"),
    ]
    outputs: Annotated[
        RegradedOutputs | None,
        Key(
            "how far the outputs of both are the same",
            null="neither run judges those of the other again",
        ),
    ]
    notes: Annotated[list[str], Key("what was left out, and why")]


def document(comparison: ComparedRuns) -> dict[str, Any]:
    """The comparison as a JSON-ready dict; see `Comparison.document`."""
    return as_object(_document(comparison), late=list)


def json_parts(comparison: ComparedRuns) -> Iterator[str]:
    """The document as JSON, part by part: of a large run many cases changed."""
    return _parts(_document(comparison))


def _parts(value: object) -> Iterator[str]:
    if isinstance(value, Struct):
        yield from _parts(asdict(value))
    elif is_object(value):
        mark = "{"
        for key, each in value.items():
            yield f"{mark}{json_text(key)}:"
            yield from _parts(each)
            mark = ","
        yield "}" if mark == "," else "{}"
    elif isinstance(value, list | map):
        mark = "["
        for each in cast("Iterable[object]", value):
            yield mark
            yield from (
                _parts(each)
                if is_array(value)
                else (json_text(as_object(each) if isinstance(each, Struct) else each),)
            )
            mark = ","
        # A `map` does not say beforehand whether it is empty.
        yield "]" if mark == "," else "[]"
    else:
        yield json_text(value)


def _document(comparison: ComparedRuns) -> CompareDocument:
    """The document; what may be as many as the cases is a `map`, of values that are made as it is read."""
    return filled(
        CompareDocument,
        comparison,
        schema=SCHEMA,
        cluster=comparison.cluster or None,
        results=[_row(result, comparison) for result in comparison.results],
        judged=[each.row() for each in comparison.judged],
        notes=list(comparison.notes),
    )


def _row(result: Compared, comparison: ComparedRuns) -> CompareResult:
    return filled(
        CompareResult,
        result,
        columns=list(result.columns),
        because=because(result, comparison).strip(" ()") or None,
        kind="rate" if result.data.rates else "score",
        better="lower" if result.lower else "higher",
        clusters=len(result.data.clusters),
        explained=round(result.helped, 4) if result.predicted else None,
        **ends("first", result.first_range),
        **ends("second", result.second_range),
        **ends("difference", result.difference_range),
        low=finite(result.low),
        high=finite(result.high),
        scaled=not result.data.unscaled,
        higher=result.data.directions[0],
        lower=result.data.directions[1],
        changed=_late(_change_row, result.changed),
        same=result.alike,
        unsettled=_late(str, result.unsettled),
        left_out=CompareLeftOut(
            only_first=_late(str, result.only_first),
            only_second=_late(str, result.only_second),
            errors=_late(str, result.errors),
            not_applicable=_late(str, result.other),
            unlike={why: _late(str, cases) for why, cases in result.unlike.items()},
        ),
        withheld=result.withheld or None,
        judges=None if result.judges is None else [list(side) for side in result.judges],
    )


def _change_row(change: CaseChange) -> CompareChange:
    numbers: dict[str, Any] = change.document()
    return CompareChange(case=change.case, name=change.name, **numbers)


def _late(make: Callable[[Any], _T], values: Iterable[Any]) -> list[_T]:
    """Values that are made as they are read, one after the other: there may be as many as the run has cases."""
    return cast("list[_T]", map(make, values))

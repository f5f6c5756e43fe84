"""The JSON of `evenhand runs canaries`, `evenhand.canary/1`: what a judge said of canaries, and how it has changed."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from evenhand.core.document import Key
from evenhand.core.record import Record

SCHEMA = "evenhand.canary/1"


class CanarySince(Record, frozen=True, kw_only=True):
    """What `evenhand.canary/1` says of the first check of the same canaries."""

    run: Annotated[str, Key("the run whose judges the first check asked")]
    at: Annotated[float, Key("when", "seconds since 1970")]
    model: Annotated[str, Key("the judge then")]
    raw: Annotated[float | None, Key("its own pass rate in that run", "0 to 1", null="not known")]
    newly_wrong: Annotated[int, Key("right then, and wrong now", "canaries")]
    newly_right: Annotated[int, Key("wrong then, and right now", "canaries")]
    pairs: Annotated[int, Key("how many have a verdict in both", "canaries")]
    p: Annotated[
        float,
        Key(
            "how likely flips at least so one-sided are without a drift, among what people pass and what they "
            "fail: sign tests of both together",
            "0 to 1",
        ),
    ]
    checks: Annotated[
        int,
        Key(
            "how many have been compared with the first one until now, this one included. `p` isn't corrected "
            "for them",
            "checks",
        ),
    ]
    drifted: Annotated[
        bool,
        Key(
            "whether `p` is below this check's part of 0.05: 0.03 for the first, less for each later one"
        ),
    ]
    pass_rate: Annotated[
        dict[str, Any] | None,
        Key(
            "how far its own pass rate has moved since that run, on the cases of both: `value`, `low` and "
            "`high`, the ends of its 95 % interval",
            "−1 to 1",
            null="one isn't known, or the runs have other cases",
        ),
    ]
    changed: Annotated[
        str,
        Key(
            "who changed, as far as shown: `judge`, `system` (or the judge by too little to show), `none`, or "
            "`not decided` with too few pairs: fewer than 7 at the first check, and than 10 at the second, or one less "
            "where people pass all or fail all; also where the pass rate moved, with p below 0.05 and no drift shown"
        ),
    ]


class CanaryEarlier(Record, frozen=True, kw_only=True):
    """What `evenhand.canary/1` says of an earlier check."""

    run: Annotated[str, Key("the run whose judges were asked")]
    at: Annotated[float, Key("when", "seconds since 1970")]
    model: Annotated[str, Key("the judge")]
    items: Annotated[int, Key("how many it gave a verdict on", "canaries")]
    right: Annotated[int, Key("on how many it says what people say", "canaries")]
    raw: Annotated[float | None, Key("its own pass rate in that run", "0 to 1", null="not known")]


class CanaryJudge(Record, frozen=True, kw_only=True):
    """What `evenhand.canary/1` says of a judge."""

    metric: Annotated[str, Key("the metric")]
    model: Annotated[str, Key("the judge, as its answers in the run named it")]
    items: Annotated[int, Key("how many it gave a verdict on", "canaries")]
    right: Annotated[int, Key("on how many it says what people say", "canaries")]
    rate: Annotated[
        dict[str, Any] | None,
        Key(
            "the share that it is right on: `value`, `low` and `high`, the ends of its exact 95 % interval",
            "0 to 1",
            null="no items",
        ),
    ]
    missed: Annotated[int, Key("how many it fails that people pass", "canaries")]
    excused: Annotated[int, Key("how many it passes that people fail", "canaries")]
    errors: Annotated[int, Key("how many more it gave no verdict on", "canaries")]
    left_out: Annotated[int, Key("canaries whose case the run doesn't have", "canaries")]
    raw: Annotated[
        float | None,
        Key("its own pass rate in the run, each case counting once", "0 to 1", null="not known"),
    ]
    since: Annotated[
        CanarySince | None,
        Key(
            "how it differs from the first check of these canaries", null="nothing to compare with"
        ),
    ]
    history: Annotated[
        list[CanaryEarlier] | UnsetType,
        Key("the checks of these canaries, the oldest first, and this one last"),
    ] = UNSET


class CanaryDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.canary/1`."""

    schema: Annotated[str, Key("`evenhand.canary/1`")]
    run: Annotated[str, Key("the id of the run whose judges were asked")]
    check: Annotated[str, Key("the id of the check, which is a run of its own")]
    canaries: Annotated[
        str, Key("a digest of the canaries: only checks of the same ones are compared")
    ]
    drifted: Annotated[bool, Key("whether some judge is shown to have drifted")]
    judges: Annotated[list[CanaryJudge], Key("one for each judged metric and judge")]
    calls: Annotated[int, Key("calls to judges", "calls")]
    cost_usd: Annotated[
        float | None, Key("what they cost", "US dollars", null="a price isn't known")
    ]

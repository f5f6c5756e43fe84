"""`evenhand.gate/1`, and how it is read back: by what writes of a gate elsewhere, in another job perhaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import field

from evenhand.analysis.gates.gate_results import Advice, GateVerdict, Stopping
from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.record import Record
from evenhand.core.run import RunStatus
from evenhand.core.wording.words import clip, safe

SCHEMA = "evenhand.gate/1"
LARGEST = 20_000_000


class GateChange(Record, frozen=True, kw_only=True):
    """A case that changed."""

    case: Annotated[str, Key("its id")]
    name: Annotated[str, Key("its description, or its id")]
    verdict: Annotated[Literal["better", "worse"], Key("`worse` or `better`")]
    baseline: Annotated[
        float | None,
        Key("its mean over repeats in the baseline", "the metric's", null="errors leave it open"),
    ] = None
    now: Annotated[
        float | None, Key("the same in the run", "the metric's", null="errors leave it open")
    ] = None
    trial: Annotated[
        int | None,
        Key(
            "the place in the run of its first trial that failed, or else of its first error",
            null="it is not known",
        ),
    ] = None
    failed: Annotated[
        str | None,
        Key(
            "of `passed`, where it is worse: the expectation that this trial failed",
            null="it is not known",
        ),
    ] = None


class GateRow(Record, frozen=True, kw_only=True):
    """A metric of a variant."""

    metric: str
    variant: Annotated[str, Key("its name in the run")]
    verdict: Annotated[GateVerdict, Key("as above")]
    difference: Annotated[
        dict[str, float | None],
        Key(
            "`value` (null if errors leave it open, or there is no case), and the ends of its 95 % "
            "interval, `low` and `high` (null if there are none)",
            "the metric's",
        ),
    ] = field(default_factory=dict[str, float | None])
    cases: Annotated[int, Key("that were run and compared", "cases")] = 0
    clusters: Annotated[
        int, Key("that these make; as many as cases where each stands alone", "clusters")
    ] = 0
    trials_in_error: Annotated[int, Key("of either side, in these cases", "trials")] = 0
    predicted: Annotated[
        int,
        Key(
            "that were not run, and are predicted from the baseline's runs: the difference is over these and `cases`",
            "cases",
        ),
    ] = 0
    explained: Annotated[
        float | None,
        Key(
            "the share of the differences' spread that the earlier runs explain, 0 to 1",
            null="nothing was predicted",
        ),
    ] = None
    because: Annotated[
        str | None, Key("what the verdict rests on", null="a difference was shown")
    ] = None
    more_cases: Annotated[
        int | None,
        Key(
            "about how many more cases would decide it four times in five, or clusters where cases belong together; "
            "if none of these differs, how many would if no other did",
            "cases",
            null="it is decided, or more cases are no advice",
        ),
    ] = None
    advice: Annotated[
        Advice | None,
        Key("what would decide it at the least cost", null="as `more_cases`"),
    ] = None
    text: Annotated[
        str,
        Key("the difference with its interval, in words; empty if no difference was looked for"),
    ] = ""
    where: Annotated[
        str | None,
        Key("the file and line of the eval, `path:line`", null="it is not known"),
    ] = None
    kind: Annotated[
        Literal["rate", "score"], Key("`rate`: a share, shown in points; or `score`")
    ] = "score"
    better: Annotated[int, Key("that came out better", "cases")] = 0
    worse: Annotated[int, Key("that came out worse", "cases")] = 0
    same: Annotated[int, Key("that came out the same", "cases")] = 0
    unsettled: Annotated[int, Key("that errors leave open", "cases")] = 0
    changed: Annotated[
        Sequence[GateChange],
        Key("the first 100 cases that changed, the worst first"),
    ] = ()


class GateDocument(Record, frozen=True, kw_only=True):
    """A gate."""

    schema: Annotated[str, Key("`evenhand.gate/1`")] = SCHEMA
    verdict: Annotated[
        GateVerdict,
        Key("the gravest of all results: `worse`, `nothing`, `undecided`, `not worse` or `better`"),
    ]
    results: Annotated[list[GateRow], Key("one for each metric and variant")]
    asked: Annotated[int, Key("that were run", "trials")] = 0
    taken: Annotated[int, Key("whose result was taken from the baseline", "trials")] = 0
    of: Annotated[int, Key("that there are", "trials")] = 0
    cost_usd: Annotated[
        float | None, Key("what was spent", "US dollars", null="a price is not known")
    ] = None
    stopped: Annotated[bool, Key("whether it ended before its last case")] = False
    stopping: Annotated[
        Stopping | None,
        Key("how far it went", null="without `--stop-when-decided`, `--sample` and `--budget`"),
    ] = None
    margin: Annotated[float, Key("how much worse is accepted", "the metric's")]
    because: Annotated[
        str | None,
        Key("why nothing could be compared", null="there was something to compare"),
    ] = None
    notes: Annotated[
        Sequence[str],
        Key(
            "unchecked judges, why trials were not taken, what was left out, and what else has changed"
        ),
    ] = ()
    title: Annotated[str, Key("of what was run; empty if nothing was")] = ""
    run: Annotated[str | None, Key("the run's id", null="nothing was run")] = None
    baseline: Annotated[
        str | None,
        Key("the baseline's file, as seen from where the gate ran", null="it is not known"),
    ] = None
    status: Annotated[RunStatus, Key("how the run ended, as in [`evenhand.run/1`](run-1.md)")] = (
        "finished"
    )


def read_gate(file: Path) -> GateDocument:
    """Reads what `evenhand gate --to FILE` wrote.

    Raises:
        UsageError: There is no such file, or it holds something else.
    """
    name = safe(str(file))
    try:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{name} has more than {LARGEST // 1_000_000} MB: it is not a gate")
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror or error}",
            hint="`evenhand gate --to FILE` writes it.",
        ) from error
    try:
        read = msgspec.json.decode(data, type=GateDocument)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = clip(safe(document_fault(data, error)), 200)
        raise UsageError(
            f"{name} holds no gate: {why}",
            hint="Name a file that `evenhand gate --to FILE` wrote.",
        ) from error
    if read.schema != SCHEMA:
        raise UsageError(
            f"{name} is {clip(safe(read.schema), 60)!r}, and not {SCHEMA!r}",
            hint="Name a file that `evenhand gate --to FILE` wrote.",
        )
    return read

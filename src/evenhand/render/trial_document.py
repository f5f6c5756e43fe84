"""A trial in the document of a run, `evenhand.run/1`, and what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.variant import RunVariant


class RunError(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of an error."""

    slug: Annotated[str, Key("a heading of the [page on errors](../errors.md)")]
    message: str
    where: Annotated[str, Key("what to do, or where it was raised; may be empty")]


class RunOutcome(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of an outcome."""

    name: Annotated[str, Key("the expectation, as people read it")]
    outcome: Annotated[str, Key("`pass`, `fail`, `error` or `not_applicable`")]
    score: Annotated[
        float | None,
        Key("", "the scorer's", null="in error, not applicable, or decided without it"),
    ]
    reason: Annotated[str, Key("may be empty")]
    metadata: Annotated[Mapping[str, Any], Key("what the scorer attached")]
    at_least: Annotated[float | None, Key("", "the scorer's", null="there is no lower bound")]
    at_most: Annotated[float | None, Key("", "the scorer's", null="there is no upper bound")]
    weight: Annotated[
        float, Key("its share in the trial's score; 0 keeps it out of score and verdict")
    ]
    metric: Annotated[str, Key("under which its score is also counted; empty for none")]
    error: Annotated[str, Key("the slug of what went wrong; empty for none")]


class RunCall(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a call."""

    role: Annotated[str, Key("`subject`, `judge`, `setup` or `simulator`")]
    provider: Annotated[str, Key("as asked for")]
    model: Annotated[str, Key("as the answer named it; empty where there is none")]
    request: Annotated[Any, Key("secrets redacted")]
    reply: Annotated[Any, Key("JSON, or text where it is none", null="there is no answer")]
    origin: Annotated[
        str | None, Key("`provider`, `cache` or `replay`", null="in flight, or in doubt")
    ]
    latency_s: Annotated[
        float | None, Key("from sending to the answer's last byte", "s", null="not known")
    ]
    first_byte_s: Annotated[
        float | None, Key("until it began; of a stream, its first piece", "s", null="not known")
    ]
    queued_s: Annotated[
        float | None,
        Key("that the answer waited on this machine, not in `latency_s`", "s", null="not known"),
    ]
    tokens_in: Annotated[int | None, Key("", "tokens", null="the vendor did not say")]
    tokens_out: Annotated[int | None, Key("", "tokens", null="the vendor did not say")]
    cost_usd: Annotated[float | None, Key("", "US dollars", null="the price is not known")]
    attempts: Annotated[int, Key("how often it was sent")]
    error: Annotated[str, Key("the slug of what ended it; empty for an answer")]
    message: Annotated[str, Key("the error in words")]


class RunStep(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a step."""

    kind: Annotated[str, Key("`model`, `tool`, `agent` or `message`")]
    name: Annotated[str, Key("of the tool, the agent or the model; of a message, who spoke")]
    arguments: Annotated[
        Any,
        Key(
            "of a tool, by name; of a model, `messages`: those that the same conversation did not have "
            "before, of which `earlier` is the number",
            null="not known",
        ),
    ]
    result: Annotated[
        Any,
        Key("what the tool returned, or the model said", null="there is none, or it isn't known"),
    ]
    status: Annotated[str, Key("`ok`, `error` or `unknown`")]
    error: Annotated[str, Key("why it failed; empty for nothing")]
    started_s: Annotated[
        float | None, Key("since the trial's first step began", "s", null="not known")
    ]
    duration_s: Annotated[float | None, Key("", "s", null="not known")]
    parent: Annotated[
        int | None,
        Key(
            "the place of the step that it was part of, in the list, from 0",
            null="it is part of no other",
        ),
    ]
    agent: Annotated[str, Key("the agent that did it; empty where nobody says")]
    tokens_in: Annotated[int | None, Key("", "tokens", null="not known")]
    tokens_out: Annotated[int | None, Key("", "tokens", null="not known")]
    cost_usd: Annotated[float | None, Key("", "US dollars", null="not known")]
    call: Annotated[str, Key("the vendor's id of a tool's call; empty for none")]
    cut: Annotated[
        bool | UnsetType,
        Key("its arguments or its result are cut", null="never; left out where nothing was cut"),
    ] = UNSET


class RunTrial(Record, frozen=True, kw_only=True):
    """What `evenhand.run/1` says of a trial."""

    case: Annotated[str, Key("the case's id")]
    variant: Annotated[RunVariant, Key("the variant")]
    repeat: Annotated[int, Key("from 0")]
    outcome: Annotated[str, Key("`pass`, `fail`, `error` or `not_applicable`")]
    score: Annotated[
        float | None,
        Key(
            "the weighted mean of its outcomes' scores",
            "the scorers'",
            null="an error leaves it open, or nothing applied",
        ),
    ]
    output: Annotated[Any, Key("text, or any JSON value", null="there is none")]
    error: Annotated[
        RunError | None, Key("why there is no verdict", null="the outcome is not `error`")
    ]
    latency_s: Annotated[
        float | None,
        Key("the subject's answering time, summed", "s", null="the subject was not asked"),
    ]
    cost_usd: Annotated[
        float | None,
        Key("all its calls, judges' included", "US dollars", null="a price is not known"),
    ]
    named_scores: Annotated[
        Mapping[str, Any],
        Key("numbers by metric; those that an error leaves open are left out", "the metrics'"),
    ]
    outcomes: Annotated[list[RunOutcome], Key("one for each expectation")]
    description: Annotated[str, Key("the case's line for people")]
    prompt: Annotated[str, Key("the subject's prompt as sent")]
    vars: Annotated[Mapping[str, Any], Key("the case's variables, as rendered")]
    metadata: Mapping[str, Any]
    tokens_in: Annotated[int | None, Key("", "tokens", null="the vendor did not say")]
    tokens_out: Annotated[int | None, Key("", "tokens", null="the vendor did not say")]
    index: Annotated[int, Key("its place in the plan")]
    input: Annotated[
        Any | UnsetType, Key("the case's input", null="never; left out where the case has none")
    ] = UNSET
    expected: Annotated[
        Any | UnsetType,
        Key("what a right answer is", null="never; left out where the case has none"),
    ] = UNSET
    labels: Annotated[
        Mapping[str, Any] | UnsetType,
        Key("the newest label of each field", null="never; only in `show CELL --json`"),
    ] = UNSET
    steps: Annotated[
        list[RunStep] | UnsetType,
        Key("what its agent did, in the order in which it began", null="never; see [steps](#step)"),
    ] = UNSET
    more_steps: Annotated[
        int | UnsetType,
        Key("how many more there are", "steps", null="never; left out where `steps` are all"),
    ] = UNSET
    calls: Annotated[
        list[RunCall] | UnsetType,
        Key(
            "its model calls, in the order in which they began",
            null="never; left out without `--calls`",
        ),
    ] = UNSET

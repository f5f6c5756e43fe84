"""Harbor's trajectories: the Agent Trajectory Interchange Format, ATIF, versions 1.0 to 1.7.

A step of an agent is a model's call and the tools that it called; what the environment said back are their results. It
says when steps began, and not when they ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import as_array, is_object
from evenhand.doors.spans.dialects.atif import PREFIX
from evenhand.doors.spans.messages import Said, call, message, messages_of
from evenhand.doors.spans.span import RawSpan, kept_value
from evenhand.languages.documents.foreign import Part
from evenhand.wings.traces.moments import nanoseconds

VERSIONS = frozenset(f"ATIF-v1.{n}" for n in range(8))


def reads(fields: Mapping[str, object]) -> bool:
    """Whether an object is a trajectory."""
    version = fields.get("schema_version")
    return (
        isinstance(version, str)
        and version.startswith("ATIF-")
        and isinstance(fields.get("steps"), list)
    )


def spans_of(trajectory: Part) -> Iterator[RawSpan]:
    """A trajectory as spans: the agent, and within it its models and tools. One within another is a part of it."""
    version = trajectory.text("schema_version")
    if version not in VERSIONS:
        trajectory.notes.changed(
            f"{trajectory.where}.schema_version",
            f"is {version!r}: read as the last one known, ATIF-v1.7",
        )
    own = trajectory.text("trajectory_id") or trajectory.text("session_id")
    trace = own or digest(encode(kept_value(trajectory.value)))
    yield from _trajectory(trajectory, trace, "agent", "")


def _trajectory(trajectory: Part, trace: str, id_: str, parent: str) -> Iterator[RawSpan]:
    agent = trajectory.part("agent") or Part({}, f"{trajectory.where}.agent", trajectory.notes)
    name, model = agent.text("name") or "agent", agent.text("model_name")
    steps = trajectory.parts("steps")
    times = [time for one in steps if (time := nanoseconds(one.value.get("timestamp"))) is not None]
    session = trajectory.text("session_id")
    about = {f"{PREFIX}session_id": session, f"{PREFIX}version": agent.text("version")}
    yield RawSpan(
        trace=trace,
        id=id_,
        parent=parent,
        name=name,
        start=min(times, default=None),
        end=max(times, default=None),
        attributes={
            f"{PREFIX}kind": "agent",
            **{key: value for key, value in about.items() if value},
        },
        service=name,
        scope="ATIF",
    )
    nested = {
        one.text("trajectory_id") or one.text("session_id"): one
        for one in trajectory.parts("subagent_trajectories")
    }
    last: int | None = None
    before: list[Said] = []
    earlier = 0
    for number, step in enumerate(steps, 1):
        last = nanoseconds(step.value.get("timestamp")) or last
        source = step.text("source")
        results = _results(step)
        messages = messages_of({"role": source, "content": kept_value(step.value.get("message"))})
        if source != "agent":
            before += messages
            continue
        place = f"{id_}.{number}"
        calls = step.parts("tool_calls")
        answer = message(
            "assistant",
            messages[0].get("content") if messages else None,
            [
                call(
                    one.text("function_name"), one.value.get("arguments"), one.text("tool_call_id")
                )
                for one in calls
            ],
        )
        yield _model(
            step,
            trace,
            id_=place,
            parent=id_,
            name=step.text("model_name") or model or name,
            start=last,
            messages=before,
            answer=answer,
            earlier=earlier,
        )
        earlier += len(before) + 1
        before = []
        for i, one in enumerate(calls):
            result = results.get(one.text("tool_call_id"))
            yield _tool(one, trace, f"{place}.{i}", id_, last, result)
            before.append(message("tool", result, (), one.text("tool_call_id")))
        for key in _delegated(step):
            if (inner := nested.pop(key, None)) is not None:
                yield from _trajectory(inner, trace, f"{place}.{key}", id_)
    for key, inner in nested.items():
        yield from _trajectory(inner, trace, f"{id_}.{key}", id_)


def _model(
    step: Part,
    trace: str,
    id_: str,
    parent: str,
    name: str,
    start: int | None,
    messages: list[Said],
    answer: Said,
    earlier: int,
) -> RawSpan:
    metrics = step.part("metrics")
    attributes: dict[str, Any] = {
        f"{PREFIX}kind": "model",
        f"{PREFIX}asked": list(messages),
        f"{PREFIX}answer": answer,
        f"{PREFIX}earlier": earlier,
    }
    for key in ("prompt_tokens", "completion_tokens", "cost_usd"):
        if metrics and (value := metrics.value.get(key)) is not None:
            attributes[PREFIX + key] = value
    return RawSpan(
        trace=trace,
        id=id_,
        parent=parent,
        name=name,
        start=start,
        status="ok",
        attributes=attributes,
        scope="ATIF",
    )


def _tool(
    one: Part, trace: str, id_: str, parent: str, start: int | None, result: object
) -> RawSpan:
    attributes = {
        f"{PREFIX}kind": "tool",
        f"{PREFIX}arguments": kept_value(one.value.get("arguments")),
        f"{PREFIX}result": result,
        f"{PREFIX}tool_call_id": one.text("tool_call_id"),
    }
    present = {key: value for key, value in attributes.items() if value is not None}
    return RawSpan(
        trace=trace,
        id=id_,
        parent=parent,
        name=one.text("function_name"),
        start=start,
        attributes=present,
        scope="ATIF",
    )


def _results(step: Part) -> dict[str, Any]:
    """What the environment said to each call; to one call, what it said to none in particular."""
    observation = step.part("observation")
    results: dict[str, Any] = {}
    for one in observation.parts("results") if observation else ():
        content = messages_of({"role": "tool", "content": kept_value(one.value.get("content"))})
        own = one.text("source_call_id")
        text = content[0].get("content") if content else None
        if own in results and results[own] is not None and text is not None:
            text = f"{results[own]}\n{text}"
        results[own] = text
    calls = step.parts("tool_calls")
    if "" in results and len(calls) == 1:
        results.setdefault(calls[0].text("tool_call_id"), results[""])
    return results


def _delegated(step: Part) -> Iterator[str]:
    observation = step.part("observation")
    for one in observation.parts("results") if observation else ():
        rows = one.value.get("subagent_trajectory_ref")
        for row in as_array(rows):
            if is_object(row):
                key = row.get("trajectory_id") or row.get("session_id")
                if isinstance(key, str):
                    yield key

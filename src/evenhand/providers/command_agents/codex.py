"""What Codex prints with `codex exec --json`, read as steps.

Source: `codex-rs/exec/src/exec_events.rs` in https://github.com/openai/codex (ThreadEvent and ThreadItem).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Usage
from evenhand.core.step import Step, StepStatus
from evenhand.providers.command_agents.transcript import Transcript, added, whole


def read_codex(events: Sequence[tuple[float, Mapping[str, Any]]]) -> Transcript:
    """What these events tell. A stream in which no turn was completed was cut off."""
    steps: list[Step] = []
    places: dict[str, int] = {}
    output: str | None = None
    usages: list[Mapping[str, Any]] = []
    problem = session = ""
    completed = False
    for at, event in events:
        kind = str(event.get("type") or "")
        if kind == "thread.started":
            session = str(event.get("thread_id") or "")
        elif kind.startswith("item."):
            item = as_mapping(event.get("item"))
            _note(steps, places, item, at, over=kind == "item.completed")
            if item.get("type") == "agent_message" and kind == "item.completed":
                output = str(item.get("text") or "")
        elif kind == "turn.completed":
            completed = True
            usages.append(as_mapping(event.get("usage")))
        elif kind == "turn.failed":
            completed = False
            problem = str(as_mapping(event.get("error")).get("message") or "a turn failed")
        elif kind == "error":  # it may have tried again since, and succeeded
            problem = str(event.get("message") or "an error")

    def sum_of(name: str) -> int | None:
        return added(*(whole(usage.get(name)) for usage in usages))

    return Transcript(
        output="" if completed and output is None else output,
        steps=tuple(steps),
        usage=Usage(sum_of("input_tokens"), sum_of("output_tokens"), sum_of("cached_input_tokens")),
        failed="" if completed else problem or "its stream ended before the turn was completed",
        session=session,
    )


def _note(
    steps: list[Step], places: dict[str, int], item: Mapping[str, Any], at: float, *, over: bool
) -> None:
    """Notes an item as a step: when it starts, and again with what came of it."""
    step = _step(item)
    if step is None:
        return
    id_ = str(item.get("id") or f"item {len(steps)}")
    if id_ not in places:
        places[id_] = len(steps)
        steps.append(replace(step, started_s=at, duration_s=0.0 if over else None))
        return
    began = steps[places[id_]].started_s or 0.0
    steps[places[id_]] = replace(step, started_s=began, duration_s=at - began)


def _step(item: Mapping[str, Any]) -> Step | None:
    """An item as a step; None for what is none, such as a list of things to do."""
    kind = item.get("type")
    status = _status(item)
    if kind == "agent_message":
        return Step("message", "assistant", result=item.get("text"), status="ok")
    if kind == "command_execution":
        code = whole(item.get("exit_code"))
        if code:
            status = "error"
        error = (
            f"exit code {code}" if code else str(item.get("status")) if status == "error" else ""
        )
        return Step(
            "tool",
            "shell",
            {"command": item.get("command")},
            item.get("aggregated_output"),
            status,
            error,
        )
    if kind == "file_change":
        return Step(
            "tool", "apply_patch", {"changes": as_array(item.get("changes"))}, status=status
        )
    if kind == "mcp_tool_call":
        result = as_mapping(item.get("result"))
        problem = str(as_mapping(item.get("error")).get("message") or "")
        return Step(
            "tool",
            str(item.get("tool") or ""),
            item.get("arguments"),
            result.get("structured_content") or result.get("content"),
            "error" if problem else status,
            problem,
        )
    if kind == "web_search":
        return Step("tool", "web_search", {"query": item.get("query")}, status=status)
    if kind == "collab_tool_call":
        arguments = {"prompt": item.get("prompt"), "receivers": item.get("receiver_thread_ids")}
        return Step("tool", str(item.get("tool") or ""), arguments, status=status)
    return None


def _status(item: Mapping[str, Any]) -> StepStatus:
    status = item.get("status")
    if status == "completed":
        return "ok"
    return "error" if status in ("failed", "declined") else "unknown"

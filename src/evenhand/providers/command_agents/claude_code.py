"""What Claude Code prints with `--output-format stream-json --verbose`, read as steps.

A message of the model comes as one event for each of its blocks, all with the message's id. What it read and wrote is
told rightly for the whole run only, in the event `result`: the counts in the messages are those of their beginnings.
Source: https://docs.claude.com/en/docs/claude-code/sdk (messages of the type SDKMessage).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import Usage
from evenhand.core.step import Step
from evenhand.providers.command_agents.transcript import Transcript, added, dollars, whole

LIMITS = ("error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries")
"""Ends that are the agent's own: it did not come to an answer within what it was allowed."""


def read_claude(events: Sequence[tuple[float, Mapping[str, Any]]]) -> Transcript:
    """What these events tell. A stream without an event `result` was cut off."""
    reading = _Reading()
    for at, event in events:
        reading.take(at, event)
    return reading.transcript()


def _usage(counts: Mapping[str, Any]) -> Usage:
    """The tokens of a message or of all, those that were read from the cache and written to it among them."""
    cached = whole(counts.get("cache_read_input_tokens"))
    read = added(
        whole(counts.get("input_tokens")), cached, whole(counts.get("cache_creation_input_tokens"))
    )
    return Usage(read, whole(counts.get("output_tokens")), cached)


class _Reading:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.model = ""
        self.result: Mapping[str, Any] | None = None
        self._messages: dict[str, int] = {}  # id → the place of the model's step
        self._tools: dict[str, int] = {}  # a call's id → the place of its step

    def take(self, at: float, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "system" and event.get("subtype") == "init":
            self.model = str(event.get("model") or "")
        elif kind == "assistant":
            self._said(at, event)
        elif kind == "user":
            self._returned(at, event)
        elif kind == "result":
            self.result = event

    def _said(self, at: float, event: Mapping[str, Any]) -> None:
        message = as_mapping(event.get("message"))
        parent = self._tools.get(str(event.get("parent_tool_use_id") or ""))
        id_ = str(message.get("id") or f"message {len(self.steps)}")
        if id_ not in self._messages:
            began = max(
                (s.started_s or 0.0) + (s.duration_s or 0.0) for s in self.steps or [_START]
            )
            self._messages[id_] = len(self.steps)
            name = str(message.get("model") or self.model or "claude")
            self.steps.append(
                Step("model", name, status="ok", started_s=min(began, at), parent=parent)
            )
        place = self._messages[id_]
        step = self.steps[place]
        text = "".join(
            str(block.get("text") or "")
            for block in map(as_mapping, as_array(message.get("content")))
            if block.get("type") == "text"
        )
        both = f"{step.result or ''}{text}" or None
        usage = _usage(as_mapping(message.get("usage")))
        self.steps[place] = replace(
            step,
            result=both,
            duration_s=at - (step.started_s or 0.0),
            tokens_in=usage.tokens_in if usage.tokens_in is not None else step.tokens_in,
            tokens_out=usage.tokens_out if usage.tokens_out is not None else step.tokens_out,
        )
        for block in map(as_mapping, as_array(message.get("content"))):
            if block.get("type") == "tool_use":
                call = str(block.get("id") or "")
                self._tools[call] = len(self.steps)
                self.steps.append(
                    Step(
                        "tool",
                        str(block.get("name") or ""),
                        block.get("input"),
                        started_s=at,
                        parent=parent,
                        call=call,
                    )
                )

    def _returned(self, at: float, event: Mapping[str, Any]) -> None:
        for block in map(as_mapping, as_array(as_mapping(event.get("message")).get("content"))):
            place = self._tools.get(str(block.get("tool_use_id") or ""))
            if block.get("type") != "tool_result" or place is None:
                continue
            step = self.steps[place]
            content = _text(block.get("content"))
            failed = bool(block.get("is_error"))
            self.steps[place] = replace(
                step,
                result=content,
                status="error" if failed else "ok",
                error=content[:1000] if failed and isinstance(content, str) else "",
                duration_s=at - (step.started_s or 0.0),
            )

    def transcript(self) -> Transcript:
        steps, model, end = tuple(self.steps), self.model, self.result
        if end is None:
            return Transcript(steps=steps, model=model, failed="its stream ended without a result")
        subtype = str(end.get("subtype") or "")
        output = end.get("structured_output")
        output = end.get("result") if output is None else output
        own = subtype in LIMITS
        failed = ""
        if not own and (end.get("is_error") or subtype not in ("", "success")):
            errors = "; ".join(str(error) for error in as_array(end.get("errors")))
            failed = errors or str(output or subtype or "it reported an error")
        return Transcript(
            output="" if own and output is None else output,
            steps=steps,
            usage=_usage(as_mapping(end.get("usage"))),
            cost_usd=dollars(end.get("total_cost_usd")),
            model=model,
            ended=subtype if own else "",
            failed=failed,
            session=str(end.get("session_id") or ""),
        )


_START = Step("message", "", started_s=0.0)


def _text(content: object) -> object:
    """What a tool returned: its text, where it is one."""
    blocks = [as_mapping(one) for one in as_array(content)]
    if blocks and all(block.get("type") == "text" for block in blocks):
        return "\n".join(str(block.get("text") or "") for block in blocks)
    return content

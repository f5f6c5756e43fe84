"""A trial's steps, scores and error as the events of a transcript, which Inspect's page shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.step import Step

_SPOKEN = ("system", "user", "assistant")


def events_of(
    steps: Sequence[Step], began: float, answer: Mapping[str, Any] | None, request: Sequence[Any]
) -> list[dict[str, Any]]:
    """The events of some steps, in their order; of an answer alone where there are none.

    Args:
        steps: What the trial did.
        began: When the run began, in seconds since 1970: a trial does not say when it did.
        answer: Its output, as `ModelOutput` has it; None where nothing answered.
        request: The messages of its prompt.
    """
    if not any(one.kind == "model" for one in steps) and answer is not None:
        return [
            *_of_steps(steps, began),
            _model(dict(answer), request, str(answer["model"]), began, {}),
        ]
    return list(_of_steps(steps, began))


def _of_steps(steps: Sequence[Step], began: float) -> Iterator[dict[str, Any]]:
    for place, step in enumerate(steps):
        around = {"span_id": f"span-{step.parent}"} if step.parent is not None else {}
        start = began + (step.started_s or 0.0)
        done = {"completed": iso(start + step.duration_s)} if step.duration_s is not None else {}
        has_parts = any(one.parent == place for one in steps)
        if step.kind == "agent" or has_parts:
            span = {
                "event": "span_begin",
                "id": f"span-{place}",
                "name": step.name,
                "type": step.kind,
            }
            parent = {"parent_id": around["span_id"]} if around else {}
            yield {**_at(start), **span, **parent, "span_id": f"span-{place}"}
        if step.kind == "tool":
            yield {
                **_at(start),
                **around,
                **done,
                "event": "tool",
                "id": step.call or f"call-{place}",
                "function": step.name,
                "arguments": step.arguments if isinstance(step.arguments, dict) else {},
                "result": "" if step.result is None else text_of(step.result),
                "error": {"type": "unknown", "message": step.error}
                if step.status == "error"
                else None,
            }
        elif step.kind == "model":
            yield _model(
                _answer(step),
                _messages(step.arguments),
                step.name,
                start,
                {**around, **done},
                step.error,
            )
        elif step.kind == "message":
            yield {
                **_at(start),
                **around,
                "event": "info",
                "source": step.name,
                "data": step.result,
            }


def _model(
    output: dict[str, Any],
    request: Sequence[Any],
    model: str,
    start: float,
    more: Mapping[str, Any],
    error: str = "",
) -> dict[str, Any]:
    return {
        **_at(start),
        **more,
        "event": "model",
        "model": model,
        "input": list(request),
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": output,
        "error": error or None,
    }


def _answer(step: Step) -> dict[str, Any]:
    text = "" if step.result is None else text_of(step.result)
    message = {"role": "assistant", "content": text, "source": "generate", "model": step.name}
    usage = {
        "input_tokens": step.tokens_in or 0,
        "output_tokens": step.tokens_out or 0,
        "total_tokens": (step.tokens_in or 0) + (step.tokens_out or 0),
    }
    known = step.tokens_in is not None or step.tokens_out is not None
    return {
        "model": step.name,
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": text,
        **({"usage": usage} if known else {}),
    }


def _messages(arguments: object) -> list[dict[str, Any]]:
    """What a model was asked, as messages that Inspect reads: those of tools as what a user says."""
    fields = as_mapping(arguments)
    rows = fields.get("messages")
    messages: list[dict[str, Any]] = []
    for one in as_array(rows):
        row = one if is_object(one) else {"content": one}
        message = message_of(row)
        messages.append(message or {"role": "user", "content": json.dumps(row, ensure_ascii=False)})
    return messages or ([{"role": "user", "content": text_of(arguments)}] if arguments else [])


def message_of(row: Mapping[str, object]) -> dict[str, Any] | None:
    """A message of a chat; None for one that is not text of somebody that speaks."""
    role, content = row.get("role"), row.get("content")
    # OpenAI's newer name for the same role, which Inspect does not have.
    if role == "developer":
        role = "system"
    if role not in _SPOKEN or not isinstance(content, str):
        return None
    return {"role": role, "content": content}


def text_of(value: object) -> str:
    """A text as it is, and JSON of anything else."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def iso(seconds: float) -> str:
    """A moment as Inspect writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _at(start: float) -> dict[str, Any]:
    return {"timestamp": iso(start), "working_start": 0.0}

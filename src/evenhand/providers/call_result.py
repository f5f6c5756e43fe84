"""What stands in a model's place is told and returns: `{"output": …, "tokenUsage": …, "cost": …}`, as in promptfoo."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import as_array, as_mapping, is_number
from evenhand.core.message import Prompt, Reply, Usage
from evenhand.providers.usage import number


def shown_to_code(prompt: Prompt) -> dict[str, object]:
    """What a program is told of a prompt, beside its text: as it is written, its label, and its own settings."""
    return {
        "raw": prompt.template or prompt.text,
        "label": prompt.label,
        "config": dict(prompt.config),
    }


def replied(row: Mapping[str, Any], output: object, text: str | None = None) -> Reply:
    """The reply that such a return value stands for.

    Args:
        row: All of it: usage, cost and the rest are read where they are what they should be.
        output: The output in it.
        text: The output as text, where it is neither text nor to be written as JSON.
    """
    extra = row.get("metadata")
    metadata = as_mapping(extra) if isinstance(extra, dict) or not extra else {"metadata": extra}
    if row.get("guardrails"):
        metadata = {**metadata, "guardrails": row["guardrails"]}
    if text is None:
        text = output if isinstance(output, str) else encode(output, ordered=False).decode()
    return Reply(
        text=text,
        output=output,
        usage=_usage(row),
        cost_usd=_amount(row.get("cost")),
        finish_reason=str(row.get("finishReason") or ""),
        refused=bool(row.get("isRefusal")),
        metadata=metadata,
        logprobs=_numbers(row.get("logProbs")),
    )


def latency_s(row: Mapping[str, Any]) -> float | None:
    """How long it says that the answer took, as `latencyMs`; None where it says nothing of it."""
    took_ms = _amount(row.get("latencyMs"))
    return None if took_ms is None else took_ms / 1000


def paid_for(row: Mapping[str, Any]) -> bool | None:
    """Whether a return value without an answer was paid for: None, for perhaps, where it has a cost or tokens."""
    usage = as_mapping(row.get("tokenUsage"))
    counts = (number(usage.get(name)) for name in ("total", "prompt", "completion"))
    return None if _amount(row.get("cost")) or any(counts) else False


def _usage(row: Mapping[str, Any]) -> Usage:
    """The row's tokens. Of `prompt`, `completion` and `total`, two say the third; `total` alone says neither."""
    usage = as_mapping(row.get("tokenUsage"))
    total, read, wrote, cached = (
        number(usage.get(name)) for name in ("total", "prompt", "completion", "cached")
    )
    if total is not None:
        if wrote is None and read is not None and read <= total:
            wrote = total - read
        elif read is None and wrote is not None and wrote <= total:
            read = total - wrote
    return Usage(read, wrote, cached)


def _numbers(value: object) -> tuple[float, ...] | None:
    """A list of numbers; None for anything else."""
    items = as_array(value)
    numbers = tuple(float(one) for one in items if is_number(one))
    return numbers if numbers and len(numbers) == len(items) else None


def _amount(value: object) -> float | None:
    """A number that is not negative; None for anything else that code may have put there."""
    if not is_number(value) or not 0 <= value < math.inf:
        return None
    return float(value)

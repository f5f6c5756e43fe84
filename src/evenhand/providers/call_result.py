"""What stands in a model's place returns: `{"output": …, "tokenUsage": …, "cost": …}`, as promptfoo has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.encoding import encode
from evenhand.core.message import Reply, Usage
from evenhand.providers.usage import mapping, number


def replied(row: Mapping[str, Any], output: object, text: str | None = None) -> Reply:
    """The reply that such a return value stands for.

    Args:
        row: All of it: usage, cost and the rest are read where they are what they should be.
        output: The output in it.
        text: The output as text, where it is neither text nor to be written as JSON.
    """
    usage, extra = mapping(row.get("tokenUsage")), row.get("metadata")
    metadata = mapping(extra) if isinstance(extra, dict) or not extra else {"metadata": extra}
    if row.get("guardrails"):
        metadata = {**metadata, "guardrails": row["guardrails"]}
    if text is None:
        text = output if isinstance(output, str) else encode(output, ordered=False).decode()
    return Reply(
        text=text,
        output=output,
        usage=Usage(*(number(usage.get(name)) for name in ("prompt", "completion", "cached"))),
        cost_usd=_dollars(row.get("cost")),
        finish_reason=str(row.get("finishReason") or ""),
        refused=bool(row.get("isRefusal")),
        metadata=metadata,
        logprobs=_numbers(row.get("logProbs")),
    )


def _numbers(value: object) -> tuple[float, ...] | None:
    """A list of numbers; None for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    numbers = tuple(
        float(one) for one in items if isinstance(one, (int, float)) and not isinstance(one, bool)
    )
    return numbers if numbers and len(numbers) == len(items) else None


def _dollars(value: object) -> float | None:
    """A number that is not negative; None for anything else that code may have put there."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return None
    return float(value)

"""Steps that a program prints, or that the answer of a provider lists: an agent's own account of what it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from evenhand.core.json_shapes import as_array, as_mapping, is_number, number
from evenhand.core.step import Step, StepKind, StepStatus

_KINDS = get_args(StepKind)
_STATUSES = get_args(StepStatus)


def listed_steps(value: object) -> tuple[Step, ...]:
    """The steps in what an answer has as `steps`; none where anything else is among them: the word may mean much.

    >>> listed_steps([{"kind": "tool", "name": "find_order", "result": "late"}])[0].status
    'ok'
    >>> listed_steps(["Chop the onions."])
    ()
    """
    rows = [as_mapping(row) for row in as_array(value)]
    if not all(map(is_step, rows)):
        return ()
    return tuple(step_of(row, place) for place, row in enumerate(rows))


def is_step(row: Mapping[str, Any]) -> bool:
    """Whether this tells of a step: it has a kind and a name."""
    return row.get("kind") in _KINDS and isinstance(row.get("name"), str)


def step_of(row: Mapping[str, Any], place: int, ended_s: float | None = None) -> Step:
    """The step that this tells of. What can't be what it should be is left out.

    Args:
        row: In the keys of a step.
        place: How many steps stand before it.
        ended_s: When it was over, in seconds from the beginning; None where nobody says.
    """
    status = row.get("status")
    error = row.get("error")
    if status not in _STATUSES:
        status = "error" if error else "ok" if "result" in row else "unknown"
    took = amount(row.get("duration_s"))
    began = amount(row.get("started_s"))
    if began is None and ended_s is not None:
        began = max(0.0, ended_s - (took or 0.0))
    parent = number(row.get("parent"))
    return Step(
        kind=cast("StepKind", row["kind"]),
        name=str(row["name"]),
        arguments=row.get("arguments"),
        result=row.get("result"),
        status=cast("StepStatus", status),
        error=str(error) if error else "",
        started_s=began,
        duration_s=took,
        parent=parent if parent is not None and parent < place else None,
        agent=str(row.get("agent") or ""),
        tokens_in=number(row.get("tokens_in")),
        tokens_out=number(row.get("tokens_out")),
        cost_usd=amount(row.get("cost_usd")),
        call=str(row.get("call") or ""),
    )


def amount(value: object) -> float | None:
    """A number that is not negative; None for anything else that code may have put there."""
    if not is_number(value) or not 0 <= value < 1e300:
        return None
    return float(value)

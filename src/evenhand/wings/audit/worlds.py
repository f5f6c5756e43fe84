"""Agents that act wrongly in a case's world: one does nothing, one everything, one claims success, one undoes its work.

How this works: where the model is offered tools, the agent that does everything calls them, and the case's own tools
and world answer. Elsewhere its steps are made: the calls that the case wants, and those that other cases of its eval
name. The agent that undoes its work has made the calls that are wanted, and the world is as it was in the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from evenhand.core.expect import Expectation
from evenhand.core.message import ToolCall
from evenhand.core.step import Step
from evenhand.scorers.agents.step_checks import Recovers, Succeeds
from evenhand.scorers.agents.tool_calls import CallsTool, CallsTools
from evenhand.wings.audit.case_audit import CaseAudit
from evenhand.wings.audit.given import sample
from evenhand.wings.audit.subjects import Subject

_CHANGES = re.compile(
    r"(?:^|[_\-. ])(?:refund|cancel|delete|remove|create|add|update|change|set|send|book|pay|charge|transfer|close|open"
    r"|move|write|edit|insert|drop|issue|redirect|order|submit|post|put|approve|reject|grant|revoke|assign|schedule"
    r"|reset|unlock|lock|buy|sell|publish|deploy|merge|rename|place|return|ship|upgrade|downgrade|subscribe|unsubscribe)"
    r"(?:$|[_\-. ])",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def changes(tool: str) -> bool:
    """Whether a tool changes its world, as its name says.

    >>> changes("refund_order"), changes("cancelOrder"), changes("find_order")
    (True, True, False)
    """
    name = _CAMEL.sub("_", tool)
    # `find_order` and `list_orders` look at orders.
    first = re.split(r"[_\-. ]", name)[0].lower()
    if first in (
        "find",
        "get",
        "list",
        "search",
        "look",
        "read",
        "fetch",
        "check",
        "show",
        "query",
        "lookup",
    ):
        return False
    return _CHANGES.search(name) is not None


def needed_calls(expectations: Sequence[Expectation]) -> list[ToolCall]:
    """The calls that expectations want, in their order; arguments that are a function's business are left out."""
    calls: list[ToolCall] = []
    for expectation in expectations:
        for one in _calls_of(expectation.scorer):
            if one not in calls:
                calls.append(one)
    return calls


def _calls_of(scorer: object) -> Iterator[ToolCall]:
    if isinstance(scorer, CallsTools):
        for one in scorer.wanted:
            if isinstance(one, CallsTool):
                yield from _calls_of(one)
            else:
                yield ToolCall(one, {})
    elif (isinstance(scorer, CallsTool) and not scorer.negated) or isinstance(scorer, Succeeds):
        yield ToolCall(scorer.name, _arguments(scorer.arguments))
    elif isinstance(scorer, Recovers):
        for name in scorer.by:
            yield ToolCall(name, {})


def _arguments(arguments: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", arguments) if isinstance(arguments, Mapping) else {}


def agents(
    audit: CaseAudit, members: Sequence[CaseAudit]
) -> Iterator[tuple[Subject, tuple[Step, ...] | None]]:
    """The agents that must fail a case, each with the steps that it is said to have made; None for its own.

    Args:
        audit: The case.
        members: The cases of its group.
    """
    first = audit.exam.first
    if first is None or not audit.material.acts:
        return
    needed = _merged(needed_calls(first.expectations))
    if not audit.material.only_forbids:
        texts = [
            " ".join((*one.texts, *one.any_of[:1]))
            for one in audit.demands
            if one.role == "content"
        ]
        begin = "Done. I have taken care of everything:"
        claim = " ".join(filter(None, (begin, audit.material.question, *texts)))
        yield Subject("claims", claim), None
        if any(changes(one.name) for one in needed):
            yield Subject("undoes", claim), _steps(needed)
    yield from _busy(audit, members, needed)


def _busy(
    audit: CaseAudit, members: Sequence[CaseAudit], needed: Sequence[ToolCall]
) -> Iterator[tuple[Subject, tuple[Step, ...] | None]]:
    """An agent that calls all tools; none where the case wants all those that change anything."""
    names = {one.name for one in needed}
    offered = audit.exam.tools
    others: dict[str, ToolCall] = {}
    for member in members:
        if member.exam.first is not None:
            for one in _merged(needed_calls(member.exam.first.expectations)):
                others.setdefault(one.name, _as_here(one, member, audit))
    if offered:
        calls_made = {
            name: ToolCall(name, _arguments(sample(one))) for name, one in offered.items()
        }
        others = {**calls_made, **{name: one for name, one in others.items() if name in offered}}
    others = {name: one for name, one in others.items() if name not in names}
    if not any(changes(name) for name in others):
        return
    known = [
        ToolCall(
            one.name,
            {
                **_sampled(offered.get(one.name, {}), audit.material.question),
                **(one.arguments or {}),
            },
        )
        for one in needed
        if not offered or one.name in offered
    ]
    calls = tuple(
        ToolCall(one.name, one.arguments, f"call_{number}")
        for number, one in enumerate([*known, *others.values()], 1)
    )
    text = f"Done: all of it, to be sure. {audit.material.right}".strip()
    if offered:
        yield Subject("busy", text, calls), None
    elif not any(
        one.role == "state" for one in audit.demands
    ):  # what it would leave behind nobody knows
        yield Subject("busy", text), _steps(calls)


def _sampled(schema: Mapping[str, Any], question: str) -> dict[str, Any]:
    """Arguments that a tool's schema allows; a number is the one that the question names."""
    number = _DIGITS.search(question)
    arguments = dict(_arguments(sample(schema)))
    for name, value in arguments.items():
        if number is not None and isinstance(value, int) and not isinstance(value, bool):
            arguments[name] = int(number[0])
    return arguments


def harmed(steps: Sequence[Step], audit: CaseAudit) -> bool:
    """Whether an agent changed something that a case doesn't want changed: a world may have refused all of it."""
    first = audit.exam.first
    names = {one.name for one in needed_calls(first.expectations)} if first is not None else set()
    return any(
        step.kind == "tool"
        and step.status != "error"
        and not str(step.result).lower().startswith("error")
        and changes(step.name)
        and step.name not in names
        for step in steps
    )


def _as_here(call: ToolCall, there: CaseAudit, here: CaseAudit) -> ToolCall:
    """Another case's call, with the numbers of this case's question in the place of those of its own."""
    theirs, mine = (_DIGITS.findall(one.material.question) for one in (there, here))
    numbers = dict(zip(theirs, mine, strict=False))

    def moved(value: object) -> object:
        number = numbers.get(str(value)) if isinstance(value, str | int) else None
        if number is None:
            return value
        return int(number) if isinstance(value, int) else number

    return ToolCall(call.name, {name: moved(one) for name, one in (call.arguments or {}).items()})


def _merged(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Calls of the same tool as one, with the arguments of both where they don't contradict each other."""
    merged: list[ToolCall] = []
    for call in calls:
        for place, one in enumerate(merged):
            mine, other = one.arguments or {}, call.arguments or {}
            if one.name == call.name and all(mine.get(k, v) == v for k, v in other.items()):
                merged[place] = ToolCall(one.name, {**mine, **other})
                break
        else:
            merged.append(call)
    return merged


def _steps(calls: Sequence[ToolCall]) -> tuple[Step, ...]:
    """Calls that succeeded, as steps."""
    return (
        Step("model", "made", status="ok"),
        *(
            Step("tool", call.name, dict(call.arguments or {}), result="ok", status="ok")
            for call in calls
        ),
    )

"""What became of an agent's steps, as configs ask it: the scorers of steps under names of their own, `steps:…`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Scorer
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.doors.assertions.assertion import Assertion, Kind, Wrong, wrong_in
from evenhand.doors.assertions.bounds import AtMost
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers.agents.step_checks import (
    NeverFails,
    NeverLoops,
    NeverRepeats,
    NeverSucceeds,
    OnlyCalls,
    Recovers,
    Succeeds,
)
from evenhand.scorers.agents.step_measures import StepCost, StepCount, StepDuration, TokenCount
from evenhand.scorers.agents.tool_calls import CallsTool, CallsTools
from evenhand.scorers.agents.trajectory_judges import AchievesGoal, TrajectoryPasses
from evenhand.scorers.final_state import LeavesState

GROUP = "what became of an agent's steps"
_CALL = "name, or {name, arguments, exact}"
_CALLS = "list of names, or of {name, arguments, exact}"

Make = Callable[[Assertion, Any], Scorer]


def _settings(assertion: Assertion, value: Any, *names: str) -> Mapping[str, Any]:
    """What a value says: a text stands for the first of these; an object has some of them."""
    if value is None or value == "":
        return {}
    if not is_mapping(value):
        return {names[0]: value}
    for name in value:
        if name not in names:
            hint = did_you_mean(str(name), names, f"There are: {', '.join(names)}.")
            raise UsageError(f"'{assertion.written}' has no setting '{name}'", hint=hint)
    return value


def _call(assertion: Assertion, value: Any) -> Mapping[str, Any]:
    """A call of a tool, as the arguments of what looks for it."""
    settings = _settings(assertion, value, "name", "arguments", "exact")
    arguments = settings.get("arguments")
    if not isinstance(settings.get("name"), str) or not isinstance(
        arguments, (Mapping, type(None))
    ):
        raise UsageError(
            f"the value of '{assertion.written}' is {value!r}",
            hint="Write a tool's name, or {name: refund, arguments: {id: 7}}.",
        )
    return {
        "name": settings["name"],
        "arguments": arguments,
        "exact": settings.get("exact") is True,
    }


def _calls(assertion: Assertion, value: Any) -> list[CallsTool]:
    listed = value if is_array(value) else [value]
    return [CallsTool(**_call(assertion, one)) for one in listed]


def _called(assertion: Assertion, value: Any) -> Scorer:
    fields = as_mapping(value)
    if "tools" in fields:
        settings = _settings(assertion, value, "tools", "order")
        return CallsTools(
            _calls(assertion, settings["tools"]), order=settings.get("order") or "subset"
        )
    return CallsTools(_calls(assertion, value), order="subset")


def _recovers(assertion: Assertion, value: Any) -> Scorer:
    settings = _settings(assertion, value, "name", "by")
    return Recovers(settings.get("name") or "", by=settings.get("by") or ())


def _count(assertion: Assertion, value: Any) -> Scorer:
    settings = _settings(assertion, value, "kind", "name", "min", "max")
    most = settings.get("max", assertion.threshold)
    least = settings.get("min")
    if most is None and least is None:
        raise UsageError(
            f"'{assertion.written}' has no bound", hint="Write {kind: tool, max: 5}, say."
        )
    for bound in (least, most):
        if isinstance(bound, bool) or not isinstance(bound, (int, float, type(None))):
            raise UsageError(f"'{assertion.written}': {bound!r} is not a number")
    return AtMost(StepCount(settings.get("kind"), settings.get("name") or ""), most, least)


def _most(scorer: Any) -> Make:
    def make(assertion: Assertion, _value: Any) -> Scorer:
        if assertion.threshold is None:
            raise ScoreError(f"'{assertion.written}' has no threshold")
        return AtMost(scorer, assertion.threshold)

    return make


def _words(scorer: Callable[..., Scorer], name: str) -> Make:
    def make(assertion: Assertion, value: Any) -> Scorer:
        settings = _settings(assertion, value, name, "context")
        context = str(settings.get("context") or "")
        return scorer(settings.get(name, ""), context=context, judge=assertion.judge)

    return make


def _kind(name: str, about: str, make: Make, takes: str, **more: Any) -> Kind:
    def check(assertion: Assertion) -> Wrong:
        written = str(assertion.value)
        # The value is known only when its tags are filled in or its file has been called.
        if has_tags(written) or written.startswith("file://"):
            return ()
        return wrong_in(lambda: make(assertion, assertion.value))

    return Kind(
        f"steps:{name}", about, lambda a, _cell, value: make(a, value), takes, check=check, **more
    )


KINDS = (
    _kind("calls", "the agent called these tools, perhaps among others", _called,
          f"{_CALL}; {_CALLS}; or {{tools, order: any, exact, subset or in_order}}"),
    _kind("only-calls", "the agent called no other tools", lambda a, v: OnlyCalls(_calls(a, v)), _CALLS),
    _kind("succeeds", "a call of this tool succeeded", lambda a, v: Succeeds(**_call(a, v)), _CALL),
    _kind("never-succeeds", "no call of this tool succeeded; it may have been tried",
          lambda a, v: NeverSucceeds(**_call(a, v)), _CALL),
    _kind("never-fails", "no step failed, or no call of this tool",
          lambda a, v: NeverFails(**_settings(a, v, "name")), "none, or name", optional=True),
    _kind("recovers", "after each failed call, one of the same tool or of those in `by` succeeded",
          _recovers, "none, name, or {name, by}", optional=True),
    _kind("never-repeats", "no call was made twice with the same arguments",
          lambda a, v: NeverRepeats(**_settings(a, v, "name")), "none, or name", optional=True),
    _kind("never-loops", "no cycle of calls came this many times in a row",
          lambda a, v: NeverLoops(**_settings(a, v, "times")), "none, or number; 3 by default", optional=True),
    _kind("count", "there were this many steps of a kind", _count, "{kind, name, min, max}"),
    _kind("tokens", "all model calls took at most threshold tokens", _most(TokenCount()),
          "none; threshold", optional=True, needs_threshold="tokens"),
    _kind("cost", "all steps cost at most threshold US dollars", _most(StepCost()),
          "none; threshold", optional=True, needs_threshold="US dollars"),
    _kind("duration", "all steps took at most threshold seconds", _most(StepDuration()),
          "none; threshold", optional=True, needs_threshold="seconds"),
    _kind("leaves-state", "the output, a state of the world as JSON, is like this",
          lambda _a, value: LeavesState(value), "object: some of its keys"),
    _kind("achieves-goal", "a judge who sees all steps says that the goal was reached",
          _words(AchievesGoal, "goal"), "text, or {goal, context}", asks="generate"),
    _kind("passes", "a judge who sees all steps says that they meet the criteria",
          _words(TrajectoryPasses, "criteria"), "text, or {criteria, context}", asks="generate"),
)  # fmt: skip

"""Assertions on the steps of an agent: which tools it used, in which order, with which arguments, and to what end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_number, is_texts
from evenhand.core.score import Score, check
from evenhand.core.wording.words import count
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, MakeScorer
from evenhand.doors.assertions.grading import Grader, grader_of
from evenhand.doors.assertions.measured import EPSILON
from evenhand.doors.assertions.spans import matches, trace_of, wrong_value
from evenhand.doors.assertions.steps import AgentStep, Nothing, WantedSteps, steps_of, summary
from evenhand.scorers.judge_reply import Ruling, read_ruling
from evenhand.scorers.known_outcomes import Answered
from evenhand.scorers.text import quoted, same

GROUP = "what an agent did"


def _used(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    steps = _tools(assertion, cell)
    if is_mapping(value):
        expected = _wanted(assertion, value, must=True)
        count = sum(map(expected.is_met_by, steps))
        least, most = _number(value, "min"), _number(value, "max")
        passed = count >= (1 if least is None else least) and (most is None or count <= most)
        return _known(assertion, expected.pattern, passed is not assertion.negated, steps)
    items = value if is_array(value) else [value]
    if not items or not is_texts(items):
        raise assertion.misvalued(
            value, hint="Write a name, a list of names, or {name or pattern, min, max}."
        )
    all_wanted = [WantedSteps(item, _TOOL) for item in items]
    met = [any(expected.is_met_by(step) for step in steps) for expected in all_wanted]
    # `not-` forbids each of these tools; the mere opposite of `all` would still allow some of them.
    passed = not any(met) if assertion.negated else all(met)
    return _known(assertion, ", ".join(items), passed, steps)


def _sequence(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    steps = _tools(assertion, cell)
    exact, listed = False, value
    if is_mapping(value):
        exact, listed = value.get("mode") == "exact", value.get("steps")
    if not is_array(listed) or not listed:
        raise assertion.misvalued(
            value, hint="Write a list of tools, or {mode: exact, steps: […]}."
        )
    expected = [_wanted(assertion, item, must=True) for item in listed]
    if exact:
        passed = len(steps) == len(expected) and all(
            w.is_met_by(step) for w, step in zip(expected, steps, strict=True)
        )
    else:
        # All share one iterator, so each is searched for only after the one before it.
        waiting = iter(steps)
        passed = all(any(w.is_met_by(step) for step in waiting) for w in expected)
    label = (", then " if exact else " … ").join(w.pattern for w in expected)
    return _known(assertion, label, passed is not assertion.negated, steps)


def _arguments(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    steps = _tools(assertion, cell)
    settings = as_mapping(value)
    expected = _wanted(assertion, settings, must=True)
    key = "args" if "args" in settings else "arguments"
    if key not in settings:
        raise assertion.misvalued(value, hint="Write {name: …, args: {…}}.")
    fits = _fit(assertion, settings, settings[key])
    called = [s for s in steps if expected.is_met_by(s) and s.arguments is not Nothing]
    passed = any(fits(step.arguments) for step in called)
    reason = "; ".join(f"{s.name} {quoted(str(s.arguments))}" for s in called) or "no such call"
    label = f"{assertion.written} {expected.pattern}"
    return Answered(label, check(passed is not assertion.negated, reason))


def _fit(
    assertion: Assertion, settings: Mapping[str, object], expected: object
) -> Callable[[object], bool]:
    """Whether arguments are those that are expected."""
    mode = settings.get("mode", "partial")
    defaults, ignore = settings.get("defaults"), settings.get("ignore")
    if mode not in ("partial", "exact"):
        raise ScoreError(f"'{assertion.written}': mode is {mode!r}, neither partial nor exact")
    if "defaults" in settings and not is_mapping(defaults):
        raise ScoreError(f"'{assertion.written}': defaults is {defaults!r}, not an object")
    listed = ignore if is_array(ignore) else [ignore]
    ignored = [item for item in listed if isinstance(item, str) and item.strip()]
    if "ignore" in settings and len(ignored) < len(listed):
        raise ScoreError(
            f"'{assertion.written}': ignore is {ignore!r}, not a name or a list of names"
        )
    usual = as_mapping(defaults)
    subset = _without(expected, ignored, {})
    agrees = same if mode == "exact" else _agrees
    return lambda arguments: agrees(subset, _without(arguments, ignored, usual))


def _without(value: object, ignored: Sequence[str], usual: Mapping[str, object]) -> object:
    """An object without the keys that are ignored, and without those that have their usual values."""
    if not is_mapping(value):
        return value
    return {
        key: item
        for key, item in value.items()
        if not any(_is_key(entry, key) for entry in ignored)
        and not (key in usual and same(item, usual[key]))
    }


def _is_key(entry: str, key: str) -> bool:
    return entry == key or (("*" in entry or "?" in entry) and matches(key, entry))


def _agrees(expected: object, actual: object) -> bool:
    """Whether what is expected is there: objects may have more keys, lists must be as long."""
    if is_array(expected):
        return (
            is_array(actual)
            and len(expected) == len(actual)
            and all(map(_agrees, expected, actual))
        )
    if is_mapping(expected):
        return is_mapping(actual) and all(
            key in actual and _agrees(item, actual[key]) for key, item in expected.items()
        )
    return same(expected, actual)


def _steps(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    steps = steps_of(trace_of(assertion, cell))
    settings = as_mapping(value)
    least, most = _number(settings, "min"), _number(settings, "max")
    if least is None and most is None:
        raise assertion.misvalued(value, hint="Write {type: tool, max: 5}, say.")
    expected = _wanted(assertion, settings)
    number = sum(map(expected.is_met_by, steps))
    passed = (least is None or number >= least) and (most is None or number <= most)
    what = " ".join([*sorted(expected.types), expected.pattern]).strip() or "any"
    return Answered(
        f"{assertion.written} {what}",
        check(passed is not assertion.negated, f"{number} of {count(len(steps), 'step')}"),
    )


@dataclass(frozen=True, slots=True)
class ReachesGoal:
    """A judge says that the agent reached its goal, given its steps and its last words.

    Attributes:
        goal: In words.
        trajectory: The steps, as JSON.
        threshold: The judge's score must reach this, beside its verdict.
        negated: It must not reach the goal.
    """

    goal: str
    trajectory: str = field(repr=False)
    grader: Grader = field(repr=False)
    threshold: float | None = None
    negated: bool = False

    async def score(self, output: Any, trial: Trial) -> Score:
        ruling, metadata = await self.grader.ask(
            trial,
            "goal_success",
            partial(
                _ruling,
                scale=None if self.grader.own else (0.0, 1.0),
                alone=self.threshold is not None,
            ),
            'with the keys "reason", "pass" (true or false) and "score" (a number)',
            goal=self.goal,
            trajectory=self.trajectory,
            output=self.grader.shown(output),
        )
        value = float(bool(ruling.passed)) if ruling.score is None else ruling.score
        passed = ruling.passed is not False and (
            self.threshold is None or value >= self.threshold - EPSILON
        )
        if self.negated:
            return Score(0.0 if passed else 1.0, not passed, ruling.reason, metadata)
        return Score(value, passed, ruling.reason, metadata)

    def __str__(self) -> str:
        return f"{'not-' if self.negated else ''}trajectory:goal-success {quoted(self.goal)}"


def _ruling(text: str, *, scale: tuple[float, float] | None, alone: bool) -> Ruling:
    """The ruling in a reply; a score alone is one where there is a threshold for it."""
    ruling = read_ruling(text, scale=scale)
    if ruling.passed is None and not alone:
        raise JudgeError("the judge gave a score but no verdict", hint="Set a threshold.")
    return ruling


def _goal(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    goal = value.get("goal") if is_mapping(value) else value
    if not isinstance(goal, str) or not goal.strip():
        raise assertion.misvalued(value, hint="Write the goal in words, or {goal: …}.")
    return ReachesGoal(
        goal.strip(),
        summary(trace_of(assertion, cell)),
        grader_of(assertion, cell),
        assertion.threshold,
        assertion.negated,
    )


_TOOL = frozenset({"tool"})


def _tools(assertion: Assertion, cell: Cell) -> list[AgentStep]:
    return [step for step in steps_of(trace_of(assertion, cell)) if step.type == "tool"]


def _wanted(assertion: Assertion, value: object, *, must: bool = False) -> WantedSteps:
    """Which steps are meant; with `must` a name or a pattern has to be there, and tools are meant."""
    if isinstance(value, str):
        pattern, types = value, _TOOL
    else:
        fields = as_mapping(value)
        named = fields.get("type")
        types = (
            frozenset(map(str, named if is_array(named) else [named]))
            if named
            else _TOOL
            if must
            else frozenset[str]()
        )
        pattern = str(fields.get("pattern") or fields.get("name") or "")
    if must and not pattern:
        raise assertion.misvalued(value, hint="Give it a name or a pattern.")
    return WantedSteps(pattern, types)


def _number(settings: Mapping[str, object], key: str) -> float | None:
    number = settings.get(key)
    return number if is_number(number) else None


def _known(assertion: Assertion, what: str, passed: bool, steps: Sequence[AgentStep]) -> Answered:
    tools = ", ".join(step.name for step in steps) or "none"
    return Answered(f"{assertion.written} {what}", check(passed, f"tools used: {tools}"))


def _kind(name: str, about: str, make: MakeScorer, takes: str) -> Kind:
    return Kind(
        name, about, make, takes, of_each_cell=True, negation="own", check=wrong_value(make)
    )


KINDS = (
    _kind(
        "trajectory:tool-used",
        "the agent used these tools",
        _used,
        "name, list, or {name or pattern, min, max}",
    ),
    _kind(
        "trajectory:tool-sequence",
        "the agent used these tools in this order",
        _sequence,
        "list, or {mode: in_order or exact, steps}",
    ),
    _kind(
        "trajectory:tool-args-match",
        "the agent called this tool with these arguments",
        _arguments,
        "{name or pattern, args, mode, defaults, ignore}",
    ),
    _kind(
        "trajectory:step-count",
        "the agent took this many steps of a type",
        _steps,
        "{type, pattern, min, max}",
    ),
    Kind(
        "trajectory:goal-success",
        "a model says that the agent reached this goal",
        _goal,
        "text",
        of_each_cell=True,
        negation="own",
        asks="generate",
        check=wrong_value(_goal),
    ),
)

"""Questions about tools: whether a model called one, with which arguments, and whether it called the right ones.

How this works: whatever the output is (a Reply, an answer of OpenAI's or Anthropic's, a trace of messages, steps, an
object of the application's own), its calls are read into one list first. An output that can list no calls, an agent's
last words, stands for all calls among the steps of its trial. Arguments that could not be read might or might not
be those that were wanted: where the verdict hangs on them it is an error, never a miss. The negative form asks the
very same question, and turns the answer round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.scorers.agents.trial_steps import calls_in
from evenhand.scorers.constructor_checks import need_list, need_text
from evenhand.scorers.invocations import Invocation, arguments_text, named, shown
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import quoted, same

Arguments = Mapping[str, object | Callable[[Any], object]] | Callable[[Mapping[str, Any]], object]
"""What a call's arguments should be: some of them with their values, or a function that says yes or no.

A value may itself be a function: it is asked about that one argument.
"""

HOW_CALLS = "Write its name, or CallsTool('refund', {'id': 7}) for one with arguments."
"""How calls are listed."""
Order = Literal["any", "exact", "subset", "in_order"]


@dataclass(frozen=True, slots=True)
class CallsTool(Question):
    """The output calls this tool, at least once, with these arguments. `~CallsTool(…)`: it does not.

    Attributes:
        name: The tool's.
        arguments: What is wanted of the arguments: some of them (others may be there; objects in them are compared
            in the same way, lists whole), or a function of all of them. None: whatever they are.
        exact: There may be no other arguments.
        negated: The question turned round; see `~`.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    name: str
    arguments: Arguments | None = None
    exact: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        need_text("CallsTool", "the tool's name", self.name)
        if not self.name.strip():
            raise UsageError("CallsTool: the tool has no name")
        if not (
            self.arguments is None
            or isinstance(self.arguments, Mapping)
            or callable(self.arguments)
        ):
            raise UsageError(
                f"CallsTool({self.name!r}): arguments are {self.arguments!r}",
                hint="Write a dict of those that matter, or a function of all of them.",
            )
        if self.exact and not isinstance(self.arguments, Mapping):
            raise UsageError(
                f"CallsTool({self.name!r}): exact= is about arguments that are listed",
                hint="Write CallsTool(name, {…}, exact=True); {} for a call without any.",
            )

    def __invert__(self) -> CallsTool:
        return replace(self, negated=not self.negated)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        calls = calls_in(output, trial)
        called = any(self.matches(call, doubt=False) for call in calls)
        # Where the two answers differ, the verdict depends on arguments that cannot be read.
        if not called and any(self.matches(call, doubt=True) for call in calls):
            raise _unreadable(self, calls)
        return check(
            called is not self.negated, _calls_text(calls), calls=[c.kept() for c in calls]
        )

    def matches(self, call: Invocation, *, doubt: bool) -> bool:
        """Whether this is such a call, whatever `negated` says.

        Args:
            doubt: What to say where its arguments would decide, and could not be read.
        """
        if call.name != self.name:
            return False
        if self.arguments is None:
            return True
        if call.arguments is None:
            return doubt
        if isinstance(self.arguments, Mapping):
            return _fits(self.arguments, call.arguments, self.exact)
        return bool(self.arguments(call.arguments))

    def __str__(self) -> str:
        verb = "does not call" if self.negated else "calls"
        return f"{verb} {self.wanted()}"

    def wanted(self) -> str:
        """The call that is asked about, in words."""
        if self.arguments is None:
            return self.name
        if not isinstance(self.arguments, Mapping):
            return f"{self.name} with {named(self.arguments)}"
        return (
            f"{self.name} with {'exactly ' if self.exact else ''}{arguments_text(self.arguments)}"
        )


@dataclass(frozen=True, slots=True)
class CallsTools(Question):
    """The output calls these tools.

    Attributes:
        wanted: Names, or `CallsTool` where the arguments matter. The same one twice: it is called twice.
        order: `any`: these calls and no others, in any order. `exact`: these and no others, in this order.
            `subset`: these, and perhaps others, in any order. `in_order`: these in this order, and perhaps others
            before, between and behind them.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    wanted: Sequence[str | CallsTool]
    order: Order = "any"

    def __post_init__(self) -> None:
        need_list("CallsTools", self.wanted, "Write a list of names, ['one', 'another'].")
        for one in self.wanted:
            if not isinstance(one, CallsTool):
                need_text("CallsTools", "a tool's name", one, HOW_CALLS)
        if self.order not in get_args(Order):
            raise UsageError(
                f"CallsTools: order is {self.order!r}",
                hint="There are: 'any', 'exact', 'subset', 'in_order'.",
            )
        if any(isinstance(one, CallsTool) and one.negated for one in self.wanted):
            raise UsageError(
                "CallsTools: ~CallsTool(…) cannot be in the list", hint="Expect it by itself."
            )
        if not self.wanted and self.order in ("subset", "in_order"):
            raise UsageError("CallsTools: of no tools every output has a subset")

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        calls = calls_in(output, trial)
        expected = [CallsTool(one) if isinstance(one, str) else one for one in self.wanted]
        passed = self._met(expected, calls, doubt=False)
        if not passed and self._met(expected, calls, doubt=True):
            raise _unreadable(self, calls)
        return check(passed, _calls_text(calls), calls=[call.kept() for call in calls])

    def _met(self, wanted: list[CallsTool], calls: Sequence[Invocation], *, doubt: bool) -> bool:
        if self.order in ("any", "exact") and len(wanted) != len(calls):
            return False
        if self.order == "in_order":
            # All share one iterator, so each wanted call is searched for only after the one before it.
            left = iter(calls)
            return all(any(w.matches(c, doubt=doubt) for c in left) for w in wanted)
        if self.order == "exact":
            return all(w.matches(c, doubt=doubt) for w, c in zip(wanted, calls, strict=True))
        # Taking the first call that fits is not enough: a name alone could take the call that only `CallsTool(…)` fits.
        return _paired([[w.matches(c, doubt=doubt) for c in calls] for w in wanted])

    def __str__(self) -> str:
        listed = [one if isinstance(one, str) else one.wanted() for one in self.wanted]
        if not listed:
            return "calls no tools"
        if self.order == "exact":
            return f"calls exactly {', then '.join(listed)}"
        if self.order == "in_order":
            return f"calls {', later '.join(listed)}"
        return f"calls {' and '.join(listed)}" + ("" if self.order == "subset" else ", no others")


def _fits(wanted: Mapping[str, Any], actual: Mapping[str, Any], exact: bool) -> bool:
    if exact and wanted.keys() != actual.keys():
        return False
    return all(key in actual and _agrees(wanted[key], actual[key], exact) for key in wanted)


def _agrees(wanted: object, actual: object, exact: bool) -> bool:
    if callable(wanted):
        return bool(wanted(actual))
    if is_mapping(wanted) and is_mapping(actual):
        return _fits(wanted, actual, exact)
    return same(wanted, actual)


def _paired(fits: Sequence[Sequence[bool]]) -> bool:
    """Whether every row can have a column of its own that fits it (augmenting paths, as Kuhn has them)."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, ok in enumerate(fits[row]):
            if ok and column not in seen:
                seen.add(column)
                if column not in taken or place(taken[column], seen):
                    taken[column] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))


def _calls_text(calls: Sequence[Invocation]) -> str:
    return "called " + ", ".join(map(str, calls)) if calls else "no tool was called"


def _unreadable(question: object, calls: Sequence[Invocation]) -> ScoreError:
    call = next(call for call in calls if call.arguments is None)
    if call.raw is None:
        return ScoreError(
            f"{question}: the arguments of {call.name} are not known",
            hint=f"It is neither met nor missed. A step of your own says them: expect.step({call.name!r}, {{}}).",
        )
    return ScoreError(
        f"{question}: the arguments of {call.name} cannot be read: {quoted(shown(call.raw))}",
        hint="It is neither met nor missed. A reply that was cut off ends in the middle of its arguments.",
    )

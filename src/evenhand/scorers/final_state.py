"""In which state an agent leaves the world that it works on: a database, a folder, a dict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.scorers.invocations import shown
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import quoted, same

DIFFERENCES = 5
"""So many differences are named."""
_MISSING = object()


@dataclass(frozen=True, slots=True)
class LeavesState(Question):
    """The world is left like this: `expect(orders(shop), LeavesState({"7": "refunded"}))`.

    What a fixture takes down is gone when expectations are settled: read its state in the eval, as above.
    `read=` is for worlds that are still there then.

    Attributes:
        expected: What the state should be. Of an object, some of its keys: others may be there.
        read: Gives the state of the world that was expected of, as a JSON value, when the trial is settled; plain or
            async. By default, what is expected of is the state itself.
        exact: There may be no other keys.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    expected: Any
    read: Callable[[Any], Awaitable[Any] | Any] | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        if self.read is not None and not callable(self.read):
            raise UsageError(
                f"LeavesState: read is {self.read!r}", hint="Give a function of the world."
            )

    async def score(self, output: Any, trial: Trial) -> Score:
        state = output
        if self.read is not None:
            name = getattr(self.read, "__name__", "the function that reads the state")
            state = await trial.call(self.read, output, name=name)
        differences = list(_differences(self.expected, state, "", self.exact))
        more = len(differences) - DIFFERENCES
        reason = "; ".join(
            [*differences[:DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]
        )
        return check(not differences, reason or "as expected")

    def __str__(self) -> str:
        return f"leaves the state {quoted(shown(self.expected))}"


def _differences(expected: object, actual: object, at: str, exact: bool) -> list[str]:
    """Where a state is not what was expected of it, in words."""
    if is_mapping(expected) and is_mapping(actual):
        differences: list[str] = []
        for key, value in expected.items():
            there = actual.get(key, _MISSING)
            place = f"{at}.{key}" if at else str(key)
            if there is _MISSING:
                differences.append(f"{place} is missing")
            else:
                differences += _differences(value, there, place, exact)
        if exact:
            others = [key for key in actual if key not in expected]
            differences += [f"{at}.{key}".lstrip(".") + " should not be there" for key in others]
        return differences
    if same(expected, actual):
        return []
    return [f"{at or 'it'} is {quoted(shown(actual))}, not {quoted(shown(expected))}"]

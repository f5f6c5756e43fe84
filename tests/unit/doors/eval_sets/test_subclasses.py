"""A text of a subclass of `str` is a text, and so with numbers: as SDKs, enums and NumPy have them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from evenhand import Case, EvalSet, Expect, run
from evenhand.core.encoding import decode, encode
from evenhand.core.run import TrialResult
from evenhand.core.score import Score
from evenhand.core.step import Step
from evenhand.doors import recording
from evenhand.scorers import CallsTool, Contains, Equals, IsJson, Label, Passes, TokenF1
from evenhand.scorers.text import text_of
from evenhand.store.encoding import write_result
from evenhand.testing import Scripted

pytestmark = pytest.mark.usefixtures("home_of_its_own")

JUDGE = Scripted(('{"reasoning": "it is", "passes": true, "confidence": 1}',))


class TextAccessor(str):  # noqa: SLOT000 (as users write it)
    """It has a mind of its own about how it is printed."""

    def __str__(self) -> str:
        return "something else"

    def __repr__(self) -> str:
        return "TextAccessor"


class State(str, Enum):  # noqa: UP042 (as users write it)
    LATE = "late"


class Kind(StrEnum):
    LATE = "late"


class Level(int, Enum):
    HIGH = 7


class Rank(IntEnum):
    HIGH = 7


class Cents(int):
    def __repr__(self) -> str:
        return f"{int(self)} cents"


class Dollars(float):
    def __repr__(self) -> str:
        return "dollars"


VALUES: dict[str, tuple[Any, Any]] = {
    "str": (TextAccessor("late"), "late"),
    "str, with half a character": (TextAccessor("la\ud800te"), "la\ud800te"),
    "str enum": (State.LATE, "late"),
    "StrEnum": (Kind.LATE, "late"),
    "NumPy's str": (np.str_("late"), "late"),
    "int": (Cents(7), 7),
    "int enum": (Level.HIGH, 7),
    "IntEnum": (Rank.HIGH, 7),
    "float": (Dollars(7.5), 7.5),
    "NumPy's float": (np.float64(7.5), 7.5),
}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda value: value,
    "in a dict": lambda value: {"a": value},
    "in a list": lambda value: [value, value],
    "a level down": lambda value: {"a": [{"b": value}]},
}


def trial_with(value: Any) -> tuple[TrialResult, list[Step]]:
    """What is kept of a trial that has a value everywhere."""
    data = [Case("a", {"v": value}, input=value, expected=value, metadata={"m": value})]
    evals = EvalSet("subclasses", data=data)

    @recording.tool
    def search(query: Any) -> Any:
        return query

    def scored(output: Any) -> Score:
        return Score(1.0, True, metadata={"scored": output})

    @evals.eval
    def holds(case: Case, expect: Expect) -> Any:
        search(query=value)
        expect.step("report", {"value": value}, result=value)
        expect(value, Equals(case.expected), kept=value)
        expect(value, scored)
        expect(value, IsJson())
        expect(value, Contains("late"))
        expect(value, Passes("is late", judge=JUDGE))
        expect(
            [{"name": "search", "arguments": {"query": value}}],
            CallsTool("search", {"query": value}),
        )
        if isinstance(value, str):
            expect(value, Label(case.expected, among=["late", case.expected]))
            expect(value, TokenF1(case.expected), at_least=0.5)
        return value

    with run(evals, cache=False) as result:
        (trial,) = result.trials()
        steps = result.steps(trial)
    return trial, [replace(s, started_s=None, duration_s=None) for s in steps]


@pytest.mark.thorough(after=12)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_of_a_subclass_is_kept_and_scored_as_the_value_that_it_is(
    kind: str, shape: str
) -> None:
    """In outputs, inputs, what is expected, variables, metadata, arguments and results."""
    given, plain = map(SHAPES[shape], VALUES[kind])
    as_given, as_plain = trial_with(given), trial_with(plain)
    assert as_plain[0].error is None
    assert as_given == as_plain
    assert encode(given) == encode(plain)
    assert decode(encode({"k": given})) == {"k": plain}
    assert text_of(given) == text_of(plain)
    assert type(text_of(given)) is str


@pytest.mark.parametrize("kind", VALUES)
def test_a_result_that_holds_a_value_of_a_subclass_is_written_as_the_plain_one(kind: str) -> None:
    """Byte for byte."""
    given, plain = VALUES[kind]
    one = TrialResult(index=0, case="a", variant=0, repeat=0, outcome="pass", score=1.0)

    def with_(value: Any) -> TrialResult:
        inside = {"a": [value]}
        return replace(
            one,
            output=value,
            metadata=inside,
            vars=inside,
            input=inside,
            expected=value,
            kept=inside,
            test=inside,
        )

    assert write_result(with_(given)) == write_result(with_(plain))


@pytest.mark.parametrize("nan", [Dollars("nan"), np.float64("inf")])
def test_a_number_of_a_subclass_that_json_has_no_form_for_is_refused(nan: float) -> None:
    """It is never written as null."""
    for value in (nan, [nan], {"a": [nan]}):
        with pytest.raises(ValueError, match="cannot be written as JSON"):
            encode(value)


def test_an_id_of_a_subclass_is_the_text_that_it_is() -> None:
    """A member of an enum prints itself with its class."""
    for case in (Case(State.LATE), {"id": State.LATE}, {"id": TextAccessor("late")}):
        evals = EvalSet("ids", data=[case])

        @evals.eval
        def named(case: Case, expect: Expect) -> None:
            expect(f"{case.id}" == "late", "has its id")

        with run(evals, cache=False) as result:
            (trial,) = result.trials()
        assert (trial.case, trial.outcome) == ("late", "pass")

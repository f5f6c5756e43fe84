"""Metrics that a config derives from others."""

from __future__ import annotations

import pytest

from evenhand.render.promptfoo.derived import Derived, problem

NAMED = {"m": 6.0, "late": 2.0}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [  # as promptfoo 0.123 computes them, over four rows
        ("m / __count", 1.5),
        ("max(m, 3) ^ 2 > 5 ? 1 : 0", 1.0),
        ("sqrt(m) + log(10) + mod(7,3)", 5.752074835777224),
        ("late * 2", 4.0),
        ("m > 1 and late", 1.0),
        ("mean(m, late, 3) + round(2.567, 1) + pi", 9.408259320256462),
        ("-m + 1", -5.0),
    ],
)
def test_arithmetic_comes_to_what_promptfoo_computed(value: str, wanted: float) -> None:
    """Operators, functions, a choice, and how many rows there are."""
    found = Derived([{"name": "d", "value": value}]).of(NAMED, 4)
    assert found["d"] == pytest.approx(wanted, abs=1e-12)


def test_a_later_metric_may_use_an_earlier_one() -> None:
    """They are worked out in the order in which they are written."""
    given = [{"name": "a", "value": "m / __count"}, {"name": "b", "value": "a * 2"}]
    assert Derived(given).of(NAMED, 4) == {"a": 1.5, "b": 3.0}


@pytest.mark.parametrize("value", ["missing + 1", "m / 0", "log(0)", "2 ^ 10000", "sqrt(-1)"])
def test_what_cannot_be_worked_out_is_left_out(value: str) -> None:
    """It is not 0."""
    assert Derived([{"name": "d", "value": value}]).of(NAMED, 4) == {}


@pytest.mark.parametrize(
    "value",
    [
        "m +",
        "__import__('os')",
        "m.real",
        "[m]",
        "m if m else x.y",
        "lambda: 1",
        "open(m)",
        "max(*m)",
        "'text'",
        "x" * 2000,
    ],
)
def test_what_is_no_arithmetic_is_no_formula(value: str) -> None:
    """Code is not run; it is said to be no arithmetic, and left out."""
    item = {"name": "d", "value": value}
    assert problem(item)
    assert Derived([item]).of(NAMED, 4) == {}


def test_a_formula_needs_a_name_and_a_value() -> None:
    """Anything else under derivedMetrics is passed over."""
    assert "a name and a value" in problem({"name": "d"})
    assert Derived("m").of(NAMED, 4) == Derived([1, {"value": "m"}]).of(NAMED, 4) == {}

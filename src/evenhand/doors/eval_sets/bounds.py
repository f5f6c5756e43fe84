"""What is wrong with what an expectation is given beside its value: bounds, numbers and misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from numbers import Real
from typing import Any

from evenhand.core.arguments import foreign, takes_no
from evenhand.core.names import distance
from evenhand.core.traits import label_of, traits_of

PARAMETERS = ("at_least", "at_most", "label", "weight", "metric")
"""What `expect` takes by name; all else is metadata."""

_WORDS = ("height", "babel")
"""Words of their own, however close to a parameter."""


def misspelt(names: Iterable[str]) -> tuple[str, str]:
    """The first name of metadata that was probably meant as a parameter of `expect`, and what to do; empty for none.

    >>> misspelt(["words", "wieght"])[0]
    'expect takes no `wieght`: did you mean `weight`?'
    """
    for name in names:
        if name in PARAMETERS:
            continue
        meant = foreign(name, PARAMETERS) or next((p for p in PARAMETERS if _alike(name, p)), "")
        if meant:
            return takes_no("expect", name, meant), "Metadata of your own needs another name."
    return "", ""


def of_expect(what: str) -> str:
    """What is wrong with a call of `expect`, which is named once."""
    return what if what.startswith("expect ") else f"expect: {what}"


def _alike(name: str, parameter: str) -> bool:
    if name in _WORDS:
        return False
    plain = name.lower().replace("_", "")
    return plain == parameter.replace("_", "") or distance(name.lower(), parameter) == 1


def misgiven(at_least: Any, at_most: Any, weight: Any, label: Any, metric: Any) -> str:
    """Which argument is of the wrong kind; empty for none."""
    for name, number in (("at_least", at_least), ("at_most", at_most), ("weight", weight)):
        if number is None and name != "weight":
            continue
        if type(number) is bool or not isinstance(number, Real) or not isfinite(number):
            return f"{name} is {number!r}, not a number"
    if at_least is not None and at_most is not None and at_least > at_most:
        return f"at_least is {at_least!r}, and at_most is {at_most!r}: no number is both"
    if weight < 0:
        return f"weight is {weight!r}, less than 0"
    for name, text in (("label", label), ("metric", metric)):
        if not isinstance(text, str):
            return f"{name} is {text!r}, not a text"
    return ""


def wrongly_bounded(
    scorer: object, at_least: float | None, at_most: float | None, *, needed: bool = True
) -> tuple[str, str]:
    """What is wrong with a scorer's bounds, or with there being none, and what to do; empty for nothing.

    Args:
        needed: Whether what gives a number has to have one.
    """
    if at_least is None and at_most is None:
        if needed and traits_of(scorer).gives == "number":
            hint = "Write at_least= or at_most=."
            return f"{label_of(scorer)} gives a number, and has no bound", hint
        return "", ""
    what, hint = wants_none(scorer)
    return (what, hint) if what else off_scale(scorer, at_least, at_most)


def wants_none(scorer: object) -> tuple[str, str]:
    """What is wrong with a bound on this scorer, and what to do; empty where it may have one."""
    if traits_of(scorer).gives != "verdict":
        return "", ""
    return (
        f"{label_of(scorer)} is true or false, and has a bound",
        "Leave at_least= and at_most= out.",
    )


def off_scale(scorer: object, at_least: float | None, at_most: float | None) -> tuple[str, str]:
    """What is wrong with bounds that are off a scorer's scale, and what to do; empty for nothing.

    No score can keep them; or they were meant for another scale, as 0.8 on one from 1 to 5. `at_least=0` and an
    `at_most` beyond the end only ask for the number.
    """
    scale = traits_of(scorer).scale
    if scale is None:
        return "", ""
    low, high = scale
    what = ""
    if at_least is not None and at_least > high:
        what = f"at_least is {at_least:g}: no score can keep it"
    elif at_most is not None and at_most < low:
        what = f"at_most is {at_most:g}: no score can keep it"
    elif at_least is not None and 0 < at_least < low:
        what = f"at_least is {at_least:g}: every score keeps it"
    if what:
        hint = f"Write a bound from {low:g} to {high:g}."
        return f"{label_of(scorer)} gives {low:g} to {high:g}, and {what}", hint
    return "", ""

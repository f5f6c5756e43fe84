"""Numbers that are read beside a bound: in so many digits that a miss doesn't read as the bound itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

from evenhand.core.wording.words import percent


def as_written(value: float) -> str:
    """A number that somebody wrote, such as a bound, in all of its digits.

    >>> as_written(0.9), as_written(1 / 3), as_written(0.00001)
    ('0.9', '0.333333333333', '1e-05')
    """
    return f"{value:.12g}"


def beside(
    value: float, *bounds: float | None, digits: int = 6, form: Literal["g", "f"] = "g"
) -> str:
    """A number that is read beside its bounds: in as many digits as tell on which side of each it is.

    >>> beside(0.8999999, 0.9), beside(0.9 + 1e-16, 0.9), beside(2 / 3, 0.9), beside(0.5)
    ('0.8999999', '0.9', '0.666667', '0.5')

    Args:
        bounds: Those that are written beside it, as `as_written` has them; None for none.
        digits: So many are enough where they tell it.
        form: Whether digits that count are meant, or those after the point.
    """
    return _told_apart(value, bounds, lambda count: f"{value:.{count}{form}}", digits)


def beside_least(value: float, least: float) -> str:
    """A number and the least that it should have been: `0.42, wanted at least 0.5`."""
    return f"{beside(value, least)}, wanted at least {as_written(least)}"


def percent_beside(share: float, *bounds: float | None, digits: int = 0) -> str:
    """A share that is read beside its bounds, as a percentage; see `beside`.

    >>> percent_beside(0.899, 0.9), percent_beside(1 / 3, 1 / 3), percent_beside(2 / 3, 0.9)
    ('89.9 %', '33.3333333333 %', '67 %')
    """
    ends = [None if bound is None else bound * 100 for bound in bounds]

    def text(after: int) -> str:
        return percent(share, after).removesuffix(" %")

    return f"{_told_apart(share * 100, ends, text, digits)} %"


def percent_as_written(share: float) -> str:
    """A share that somebody wrote, as a percentage in all of its digits.

    >>> percent_as_written(0.995), percent_as_written(0.07)
    ('99.5 %', '7 %')
    """
    return f"{as_written(share * 100)} %"


def _told_apart(
    value: float, bounds: Iterable[float | None], text: Callable[[int], str], digits: int
) -> str:
    """The first text that is above each bound where the value is, and below it where that is."""
    ends = [end for end in bounds if end is not None]
    # What floats leave of a sum is no difference, so the number is the bound.
    if same := next((end for end in ends if math.isclose(value, end, rel_tol=1e-12)), None):
        return text(digits) if float(text(digits)) == same else as_written(same)
    each = map(text, range(digits, digits + 18))
    return next(
        (t for t in each if all((float(t) - end) * (value - end) > 0 for end in ends)), text(digits)
    )

"""What a value from outside (JSON, YAML, a caller) is: a mapping, a list, texts, a number. Type checkers follow along.

`isinstance(value, dict)` leaves a type checker with a dict of unknown keys and values, and a cast beside it is believed
without proof. These functions test and narrow in one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeGuard

    from typing_extensions import TypeIs


_NO_MAPPINGS = frozenset({type(None), str, list, tuple, int, float, bool})


def is_object(value: object) -> TypeIs[dict[str, Any]]:
    """Whether a value is a dict, as an object of JSON is. Its keys aren't looked at: those of JSON are texts.

    >>> is_object({"a": 1}), is_object([1]), is_object(None)
    (True, False, False)
    """
    return isinstance(value, dict)


def is_array(value: object) -> TypeIs[list[Any]]:
    """Whether a value is a list, as an array of JSON is.

    >>> is_array([1]), is_array((1,)), is_array("ab")
    (True, False, False)
    """
    return isinstance(value, list)


def is_texts(value: object) -> TypeIs[list[str]]:
    """Whether a value is a list of texts, an empty one among them.

    >>> is_texts(["a"]), is_texts([]), is_texts(["a", 1]), is_texts("a")
    (True, True, False, False)
    """
    return is_array(value) and all(isinstance(item, str) for item in value)


def is_mapping(value: object) -> TypeIs[Mapping[str, Any]]:
    """Whether a value is a mapping of any class. Its keys aren't looked at.

    >>> is_mapping({"a": 1}), is_mapping("a")
    (True, False)
    """
    # What is nearly always there is known for a mapping or not without a look at the classes that are registered.
    return type(value) not in _NO_MAPPINGS and isinstance(value, (dict, Mapping))


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number. True and false are none, though Python counts them among the whole numbers.

    >>> is_number(1), is_number(0.5), is_number(True), is_number("1")
    (True, True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number. True and false are none, though Python counts them among the whole numbers.

    >>> is_whole(1), is_whole(1.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def as_mapping(value: object) -> Mapping[str, Any]:
    """A value that should be a mapping; an empty one in place of anything else.

    >>> as_mapping({"a": 1}), as_mapping("a"), as_mapping(None)
    ({'a': 1}, {}, {})
    """
    return value if is_mapping(value) else {}


def as_array(value: object) -> Sequence[Any]:
    """A value that should be a list; an empty one in place of anything else.

    >>> as_array([1]), as_array("ab"), as_array(None)
    ([1], [], [])
    """
    return value if is_array(value) else []


def as_text(value: object) -> str:
    """A value that should be a text; an empty one in place of anything else.

    >>> as_text("a"), as_text(1), as_text(None)
    ('a', '', '')
    """
    return value if isinstance(value, str) else ""


def is_sequence(value: object) -> TypeIs[Sequence[Any]]:
    """Whether a value is a sequence of any class, texts and bytes among them: ask about those first.

    >>> is_sequence((1, 2)), is_sequence("ab"), is_sequence({1})
    (True, True, False)
    """
    return isinstance(value, Sequence)


def finite(value: float) -> float | None:
    """A number as JSON has it; None for infinity and NaN."""
    return value if math.isfinite(value) else None


_MANY = 1 << 53


def number(value: object) -> int | None:
    """A number of tokens, or of anything else that is counted; None for what cannot be one."""
    if type(value) is not int:  # nearly all are
        value = int(value) if is_number(value) and 0 <= value < _MANY else -1
    return value if 0 <= value < _MANY else None


def with_whole_numbers(value: object) -> object:
    """A value with 1.0 as 1: JavaScript, by which promptfoo's files go, has one kind of number.

    A value in which nothing changes is returned as it is.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= 1 << 53 else value
    if is_mapping(value):
        fields = {key: with_whole_numbers(item) for key, item in value.items()}
        return value if all(fields[key] is item for key, item in value.items()) else fields
    if is_array(value):
        items = [with_whole_numbers(item) for item in value]
        return value if all(map(is_, items, value)) else items
    return value


def texts_in(value: object) -> Iterator[str]:
    """All texts in a value made of mappings, lists, tuples and texts, in their order; the keys of mappings are none.

    >>> [*texts_in({"a": "x", "b": [1, ("y",)]})]
    ['x', 'y']
    """
    if isinstance(value, str):
        yield value
    elif is_mapping(value):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)

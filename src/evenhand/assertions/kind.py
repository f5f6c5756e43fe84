"""What an assertion type is: how it is read, what it asks, and which scorer it comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.assertions.assertion import Assertion, Cell
from evenhand.core.expect import Scorer
from evenhand.core.message import Task

Negation = Literal["opposite", "kept", "own", "ignored"]
"""What `not-` does: turns verdict and score round; the verdict alone; is the scorer's own business; does nothing."""

Wrong = Sequence[tuple[str, str]]
"""What is wrong, and what to do about it."""


def nothing_wrong(assertion: Assertion) -> Wrong:
    """The check of a type that has nothing more to check."""
    del assertion
    return ()


def as_written(value: Any) -> Any:
    """A value that is taken as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """One assertion type.

    Attributes:
        name: As configs write it, without `not-`.
        group: The heading under which it is listed.
        about: What it says of the output, in a line.
        make: Its scorer, given the assertion and its value with tags filled in. `cell` is None where nothing in it
            depends on the case: then it is made once.
        takes: What its value is, in words; empty for nothing.
        optional: It needs no value.
        needs_threshold: What the threshold counts ("milliseconds"), where it cannot do without; else empty.
        of_each_cell: The scorer looks at more of the cell than the output, so it is made for each.
        negation: What `not-` does to it.
        asks: What it asks a model for; None where it asks none.
        embeds: It asks a model for embeddings besides.
        check: What else can be seen to be wrong before anything runs.
        tags: Whether its value is a template. Code fills its own tags in.
        files: Whether `value: file://x.py` is a function that computes the value; code takes the file itself.
        compares: It compares the outputs of all columns, once they are there.
    """

    name: str
    group: str
    about: str
    make: Callable[[Assertion, Cell | None, Any], Scorer]
    takes: str = ""
    optional: bool = False
    needs_threshold: str = ""
    of_each_cell: bool = False
    negation: Negation = "opposite"
    asks: Task | None = None
    embeds: bool = False
    check: Callable[[Assertion], Wrong] = nothing_wrong
    tags: bool = True
    files: bool = True
    compares: bool = False


def with_cell(make: Callable[[Assertion, Cell, Any], Scorer]) -> Callable[..., Scorer]:
    """A `make` that always has a cell: its kind says `of_each_cell`."""
    return make

"""What is known of a scorer before it is asked: its traits, its label, and the models that it names.

How models are known: the one who imports a file of the user's opens `reading`; a scorer that is given the id of a model
notes it with `name_model`. Scorers do not know which ids there are, and need not. Outside of `reading` nothing is
noted: an id is then looked up when the scorer is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.score import Scale

S = TypeVar("S")


class Traits(Record, frozen=True):
    """What is known of a scorer before it is asked: `traits: ClassVar[Traits] = Traits(gives="number")`.

    None of it is needed: without it, what a score comes to is seen when there is one.

    Attributes:
        gives: `number`, which needs a bound; `verdict`, which takes none; `either`, which is seen when it was asked.
        scale: The lowest and the highest score there can be; None where that is not known before.
        counted: It is from 0 to 1, and can take part in an overall number.
        of_contexts: It looks at the retrieved passages, not at the answer.
        may_ask_nobody: It has a judge, and it depends on its arguments and on the case whether the judge is asked.
        asks: The arguments that say what it asks, where the others are what the application gave; None for all. Two
            runs are compared by what is asked in both.
    """

    gives: Literal["number", "verdict", "either"] = "either"
    scale: Scale | None = None
    lower_is_better: bool = False
    counted: bool = True
    of_contexts: bool = False
    may_ask_nobody: bool = False
    asks: tuple[str, ...] | None = None


UNTOLD = Traits()
"""The traits of a scorer that has none."""


class TraitsOf(Generic[S]):
    """Traits that depend on the scorer's arguments: those of the class, and how an instance comes to its own."""

    def __init__(self, of_class: Traits, of_one: Callable[[S], Traits]) -> None:
        self._of_class = of_class
        self._of_one = of_one

    def __get__(self, scorer: S | None, kind: type | None = None) -> Traits:
        return self._of_class if scorer is None else self._of_one(scorer)


def traits_of(scorer: object) -> Traits:
    """The traits of a scorer, or of a class of scorers whose arguments are not known yet.

    Raises:
        UsageError: Its `traits` are no Traits.
    """
    traits = getattr(scorer, "traits", UNTOLD)
    if isinstance(traits, Traits):
        return traits
    if isinstance(scorer, type):  # a property, which only an instance answers
        return UNTOLD
    raise UsageError(
        f"{label_of(scorer)}: traits is {traits!r}, not Traits",
        hint='Write traits: ClassVar[Traits] = Traits(gives="number").',
    )


def label_of(scorer: object) -> str:
    """What people read for a scorer: its own `str`; without one, its class and what it was made of.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Length:
    ...     most: int
    >>> label_of(Length(60))
    'Length(most=60)'
    """
    kind = type(scorer)
    if isinstance(scorer, type):
        return scorer.__name__
    if kind.__str__ is not object.__str__:
        try:
            return str(scorer) or kind.__name__
        except Exception:  # noqa: BLE001 (a user's __str__ may raise; the scorer can still be asked)
            return kind.__name__
    if not is_dataclass(scorer):
        return kind.__name__
    settings = [
        f"{f.name}={_short(getattr(scorer, f.name, None))}" for f in fields(scorer) if f.repr
    ]
    return f"{kind.__name__}({', '.join(settings)})" if settings else kind.__name__


def _short(value: Any) -> str:
    """An argument in a label: one line, and not more of it than tells it from another."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (a user's __repr__ may raise)
        return "…"
    # Python's default text has an address in it, which changes from run to run.
    if text.startswith("<"):
        return type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:39]}…"


class NamedModel(Record, frozen=True):
    """A model's id, and the line of the file that names it; 0 where that is another file."""

    id: str
    line: int


class FileReading(Record, frozen=True):
    """A file that is being read, and the models that were named meanwhile."""

    path: Path
    named: list[NamedModel] = field(default_factory=list[NamedModel])


_now: ContextVar[FileReading | None] = ContextVar("reading", default=None)


@contextmanager
def reading(path: Path) -> Iterator[list[NamedModel]]:
    """Inside, models that are named are noted."""
    file = FileReading(path)
    token = _now.set(file)
    try:
        yield file.named
    finally:
        _now.reset(token)


def name_model(id: str) -> None:  # noqa: A002 (the word that users write)
    """Notes that a model is named."""
    file = _now.get()
    if file is None:
        return
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != str(file.path):
        frame = frame.f_back
    file.named.append(NamedModel(id, frame.f_lineno if frame else 0))

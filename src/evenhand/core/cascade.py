"""A cascade of judges: a cheap one decides where it is sure enough, a dearer one the rest, and people what is left."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from evenhand.core.message import Model
from evenhand.core.record import Record

JOINS = " > "
"""What stands between the judges of a cascade in its name, as answers name it."""

metric_asked: ContextVar[str] = ContextVar("evenhand_metric_asked", default="")
"""The metric, or else the name, of the expectation that is being settled."""


class CascadeLimits(Record, frozen=True):
    """How sure each judge of a cascade has to be for its verdict to stand, by labels; None where none may stand.

    Attributes:
        questions: Digests of the questions that they hold for.
    """

    first: float | None
    then: float | None
    questions: frozenset[str]


@runtime_checkable
class CascadingModel(Protocol):
    """The judges of a cascade, lent to a trial."""

    @property
    def cascade(self) -> str:
        """The id of the cascade."""
        ...

    @property
    def first(self) -> Model:
        """The judge that is asked first, a decision model."""
        ...

    @property
    def then(self) -> Model:
        """The judge that is asked where the first one isn't sure enough."""
        ...

    @property
    def risk(self) -> float:
        """The share of verdicts that stand which may be wrong."""
        ...

    def limits(self, metric: str) -> CascadeLimits | None:
        """How sure they have to be under a metric; None before labels have shown it."""
        ...

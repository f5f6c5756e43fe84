"""A cascade of judges: a cheap one decides where it is sure enough, a dearer one the rest, and people what is left."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from msgspec import field

from evenhand.core.application_code import ApplicationCode
from evenhand.core.message import Model
from evenhand.core.record import Record

JOINS = " > "
"""What stands between the judges of a cascade in its name, as answers name it."""

metric_asked: ContextVar[str] = ContextVar("evenhand_metric_asked", default="")
"""The metric, or else the name, of the expectation that is being settled."""


class CascadeLimits(Record, frozen=True, kw_only=True):
    """How sure each judge of a cascade has to be for its verdict to stand, by labels; None where none may stand.

    They hold for the questions, the systems, the code and the judges that the labels are of, and for no others.

    Attributes:
        questions: Digests of what was asked.
        systems: Digests of what was judged.
        judges: Both, as they answered.
        code: The application's code that the labels are of.
    """

    first: float | None
    then: float | None
    questions: frozenset[str]
    systems: frozenset[str]
    judges: tuple[str, str]
    code: ApplicationCode = field(default_factory=dict)


@runtime_checkable
class CascadingModel(Protocol):
    """The judges of a cascade, lent to a trial."""

    @property
    def cascade(self) -> str:
        """Which cascade it is: its judges and its risk, as JSON."""
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

    @property
    def people(self) -> float:
        """The share of outputs that people are to label."""
        ...

    @property
    def system(self) -> str:
        """A digest of what is judged."""
        ...

    def limits(self, metric: str, question: str) -> CascadeLimits | None:
        """How sure they have to be under a metric; None before labels have shown it for this question and system."""
        ...

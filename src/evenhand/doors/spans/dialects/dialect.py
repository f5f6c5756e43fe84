"""A dialect: which attributes of a span say what kind of step it is, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import field

from evenhand.core.json_shapes import is_number, is_whole
from evenhand.core.record import Record
from evenhand.core.step import StepKind
from evenhand.doors.spans.messages import Said, json_of, value_of
from evenhand.doors.spans.span import RawSpan
from evenhand.languages.documents.foreign import MOST_TOKENS, MOST_USD

Structure = Mapping[str, StepKind | None]


class Dialect(Record, frozen=True, kw_only=True):
    """One convention, in one version.

    Attributes:
        version: The version that the table was made from.
        signs: Attributes, or beginnings of them that end in a dot, one of which each of its spans has.
        kind: The attribute that says what a span is.
        kinds: Its values, in lower case, and the kind of step that each is; None for what is no step.
        beside: How names of spans end that say a kind, and are no step: they only prepare another.
        kind_otherwise: What a span is that does not say; None for no step.
        names: The attributes with a tool's or an agent's name, best first, for each kind; else the span's name.
        fields: Our field → the attributes that hold it, best first.
        request: The messages that a model was sent.
        answered: The message that it answered.
        about: Name in a trial's metadata → the attribute that holds it.
    """

    name: str
    version: str
    signs: Sequence[str]
    kind: str
    kinds: Structure
    fields: Mapping[str, Sequence[str]]
    names: Mapping[StepKind, Sequence[str]]
    request: Callable[[RawSpan], list[Said] | None]
    answered: Callable[[RawSpan], Said | None]
    kind_otherwise: Callable[[RawSpan], StepKind | None] = lambda _: None
    beside: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict[str, str])

    def knows(self, span: RawSpan) -> bool:
        """Whether the span is of this dialect."""
        attributes = span.attributes
        for sign in self.signs:
            if sign in attributes:
                return True
            if sign.endswith(".") and any(key.startswith(sign) for key in attributes):
                return True
        return False

    def kind_of(self, span: RawSpan) -> StepKind | None:
        """What kind of step the span is; None for none."""
        if self.beside and span.name.endswith(self.beside):
            return None
        word = span.attributes.get(self.kind)
        if isinstance(word, str) and word.lower() in self.kinds:
            return self.kinds[word.lower()]
        return self.kind_otherwise(span)

    def first(self, span: RawSpan, name: str) -> Any:
        """What is said of one of our fields; None for nothing."""
        attributes = span.attributes
        # An empty text counts where no other attribute says more.
        empty = None
        for key in self.fields.get(name, ()):
            value = attributes.get(key)
            if value is not None and value != "":
                return value
            empty = value if empty is None else empty
        return empty

    def every(self, span: RawSpan, name: str) -> list[Any]:
        """All that is said of one of our fields, best first."""
        values = [span.attributes.get(key) for key in self.fields.get(name, ())]
        return [value for value in values if value is not None and value != ""]

    def text(self, span: RawSpan, name: str) -> str:
        """What is said of one of our fields, as a text; empty for nothing."""
        value = self.first(span, name)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def name_of(self, span: RawSpan, kind: StepKind) -> str:
        """What the tool, the agent or the model is called."""
        for key in self.names.get(kind, ()):
            value = span.attributes.get(key)
            if isinstance(value, str) and value:
                return value
        return span.name


def count_of(value: object) -> int | None:
    """A count of tokens; None for what is none."""
    # No count has 16 digits, and int() raises for thousands of them.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if is_whole(value) and 0 <= value < MOST_TOKENS:
        return value
    return None


def cost_of(value: object) -> float | None:
    """An amount of dollars; None for what is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if is_number(value):
        try:
            cost = float(value)
        except OverflowError:
            return None
        return cost if 0 <= cost <= MOST_USD else None
    return None


def word_of(value: object) -> str:
    """The one word of a value that may be a list, or JSON, of words."""
    value = value_of(value)
    if isinstance(value, list):
        return str(value[0]) if value else ""
    return value if isinstance(value, str) else ""


def payload(value: object, mime: object = None) -> Any:
    """An argument or a result: JSON in a text is read."""
    return json_of(value) if mime == "application/json" else value_of(value)

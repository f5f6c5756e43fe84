"""What many tools' examples have in common: objects of inputs and outputs, most of them with one field."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.json_shapes import as_mapping, is_object
from evenhand.languages.documents.foreign import Part, shown

_LONGEST = 60


def alone(value: object) -> object:
    """The only value of an object with one key; the object otherwise; None for an empty one.

    >>> alone({"question": "2 + 2?"}), alone({"a": 1, "b": 2}), alone({})
    ('2 + 2?', {'a': 1, 'b': 2}, None)
    """
    if is_object(value):
        return next(iter(value.values())) if len(value) == 1 else value or None
    return value


def fields_of(value: object) -> Mapping[str, object]:
    """An object's fields; none for anything else."""
    return as_mapping(value)


def tell_unread(dataset: Part, *known: str) -> None:
    """Notes what an object says of a dataset beside its name: a dataset here is its cases."""
    unread = dataset.without("id", "name", *known)
    if unread:
        listed = ", ".join(shown(key) for key in unread)
        dataset.notes.left_out(dataset.where, f"what is said of the dataset itself: {listed}")


def line_of(value: object) -> str:
    """A line that tells an example from others: its first text, short; empty where it has none."""
    text = value
    if is_object(value):
        text = next((one for one in value.values() if isinstance(one, str)), None)
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

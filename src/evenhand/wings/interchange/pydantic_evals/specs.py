"""pydantic-evals' evaluators as its files name them: `Name`, `{Name: argument}` or `{Name: {key: value}}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import field

from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.record import Record
from evenhand.languages.documents.foreign import Part, shown

KEPT = "pydantic_evals"
"""Where a case's metadata keep what a dataset of ours has no place for: evaluators, and metadata that are no object."""


class EvaluatorSpec(Record, frozen=True):
    """An evaluator.

    Attributes:
        name: Its class.
        arguments: By name; the first argument, where it stands alone, is under an empty name.
        where: The file and the path inside it.
        written: As the file has it.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    where: str = ""
    written: object = None


def specs_in(part: Part, key: str) -> list[EvaluatorSpec]:
    """The evaluators under a key, in their order; what is none of the three forms is noted."""
    written = part.value.get(key)
    if written is None:
        return []
    if not is_array(written):
        part.notes.left_out(f"{part.where}.{key}", f"is {shown(written)}, not a list")
        return []
    return specs_of(written, f"{part.where}.{key}", part)


def specs_of(written: Sequence[object], where: str, part: Part) -> list[EvaluatorSpec]:
    """The evaluators of a list."""
    specs: list[EvaluatorSpec] = []
    for i, one in enumerate(written):
        place = f"{where}[{i}]"
        if isinstance(one, str):
            specs.append(EvaluatorSpec(one, {}, place, one))
        elif is_object(one) and len(one) == 1:
            ((name, value),) = one.items()
            named = is_object(value) and all(
                isinstance(key, str) for key in cast("dict[object, object]", value)
            )
            arguments = value if named else {"": value}
            specs.append(EvaluatorSpec(name, arguments, place, one))
        else:
            part.notes.left_out(place, f"is {shown(one)}, not an evaluator")
    return specs

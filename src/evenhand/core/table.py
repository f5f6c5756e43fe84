"""Tables that users write in YAML or TOML: each is declared once, as a record whose fields have keys.

    class Judging(Record, frozen=True):
        model: Annotated[str, TableKey("Who judges.", text())] = ""
        samples: Annotated[int, TableKey("How often it is asked.", number(REPEATS, COUNT))] = 1

How this works: the record is read from the table by its keys, and the words that a hint suggests and the JSON Schema
for editors are made from the same keys. A key says how its values are written; a field without a key, and a key whose
form is `own`, are what the caller fills in. Annotations are looked at when a table is first read: declaring one costs
nothing at start-up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from inspect import get_annotations
from typing import Any, TypeVar

from evenhand.core.json_schema import TABLE, TEXT, Part, described, either
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.ranges import Range
from evenhand.core.record import Record

Path_ = tuple[str | int, ...]
"""The way to a part of a file: keys, and indexes of lists."""
T = TypeVar("T", bound=Record)


class Form(Record, frozen=True, kw_only=True):
    """How the values of a key are written.

    Attributes:
        schema: The values that an editor takes.
        problem: What is wrong with a value under this name; empty for nothing. None where the caller reads the key.
        hint: What to do about it.
        value: What the field holds for what was written.
        table: The record of a table inside the table.
        alone: The field of that record that a text alone stands for, or a list.
        never_empty: A key without a value is a problem, and not one that isn't there.
    """

    schema: Part
    problem: Callable[[str, object], str] | None = None
    hint: str = ""
    value: Callable[[Any], object] | None = None
    table: type[Record] | None = None
    alone: str = ""
    never_empty: bool = False


class TableKey(Record, frozen=True):
    """A key of a table.

    Attributes:
        about: What it is for: a sentence for editors and the documentation.
        form: How its values are written.
        name: As users write it, where that is not the field's name.
    """

    about: str
    form: Form
    name: str = ""


def own(schema: Part) -> Form:
    """Values that the caller reads by rules of its own."""
    return Form(schema=schema)


def text(otherwise: str = "not a text", hint: str = "", longest: int | None = None) -> Form:
    """A text.

    Args:
        otherwise: What to say of another value.
        hint: What to do about it.
        longest: Characters of the value that are quoted; None for all.
    """
    problem = _unless(lambda value: isinstance(value, str), otherwise, longest)
    return Form(schema=TEXT, problem=problem, hint=hint)


def flag(hint: str = "Write true or false.") -> Form:
    """True or false."""
    problem = _unless(lambda value: isinstance(value, bool))
    return Form(schema={"type": "boolean"}, problem=problem, hint=hint)


def number(allowed: Range, schema: Part, hint: str = "") -> Form:
    """A number of a range. The schema may take more: an editor marks only what is surely wrong."""
    whole = int if allowed.whole else None
    return Form(schema=schema, problem=allowed.problem, hint=hint, value=whole)


def choice(words: Sequence[str], hint: str, longest: int | None = None) -> Form:
    """One of these words."""
    problem = _unless(lambda value: value in words, longest=longest)
    return Form(schema={"enum": list(words)}, problem=problem, hint=hint)


def listed(schema: Part, *words: str) -> Form:
    """A list, whose items the caller reads, or a word that stands for one."""
    problem = _unless(lambda value: is_array(value) or value in words, "not a list")
    return Form(schema=schema, problem=problem)


def nested(kind: type[Record], alone: str = "") -> Form:
    """A table inside the table, or a text that stands for one of its fields."""
    problem = _unless(is_mapping, "not names with values")
    return Form(schema={}, problem=problem, table=kind, alone=alone)


def _unless(
    accepts: Callable[[object], bool], otherwise: str = "", longest: int | None = None
) -> Callable[[str, object], str]:
    end = otherwise and f", {otherwise}"

    def problem(name: str, value: object) -> str:
        return "" if accepts(value) else f"{name} is {repr(value)[:longest]}{end}"

    return problem


@cache
def keys_of(kind: type[Record]) -> tuple[tuple[str, TableKey, str], ...]:
    """The keys of a table: the field that each fills, the key, and its name as users write it."""
    # Not `get_type_hints`: it looks into the types, too, and some are imported for type checkers alone.
    hints = get_annotations(kind, eval_str=True)
    return tuple(
        (field, key, key.name or field)
        for field in kind.__struct_fields__
        for key in getattr(hints[field], "__metadata__", ())  # none where it is not Annotated
        if isinstance(key, TableKey)
    )


def names_of(kind: type[Record]) -> tuple[str, ...]:
    """The names of a table's keys, in their order."""
    return tuple(name for _, _, name in keys_of(kind))


class TableReader:
    """Reads tables of one file.

    Args:
        problem: Told what is wrong: the way to the part, the problem, and what to do about it.
        unknown: Told the way to a key that is not known, and the names of those that are.
    """

    def __init__(
        self,
        problem: Callable[[Path_, str, str], None],
        unknown: Callable[[Path_, Collection[str]], None],
    ) -> None:
        self._problem = problem
        self._unknown = unknown

    def read(
        self,
        kind: type[T],
        table: Mapping[str, object],
        at: Path_ = (),
        before: str = "",
        **values: object,
    ) -> T:
        """The record that a table makes.

        Args:
            kind: The record.
            table: As it was written. A key without a value, or with a wrong one, leaves its field's default.
            at: The way to the table in its file.
            before: What stands before the names of keys in messages.
            values: Fields that the caller fills, and defaults of this table alone.
        """
        make: Callable[..., T] = kind
        known = names_of(kind)
        for name in table:
            if name not in known:
                self._unknown((*at, name), known)
        for field, key, name in keys_of(kind):
            value, form = table.get(name), key.form
            if form.problem is None or (value is None and not (form.never_empty and name in table)):
                continue
            if form.table is not None and isinstance(value, (str, list)) and form.alone:
                values[field] = self.read(form.table, {form.alone: value})
            elif what := form.problem(f"{before}{name}", value):
                self._problem((*at, name), what, form.hint)
            elif form.table is not None and is_mapping(value):
                values[field] = self.read(form.table, value, (*at, name))
            else:
                values[field] = form.value(value) if form.value else value
        return make(**values)


def schema_of(
    keys: type[Record] | Mapping[str, TableKey],
    parts: Mapping[str, Part] | None = None,
    *,
    required: Sequence[str] = (),
) -> Part:
    """The JSON Schema of a table: an object with its keys and no others.

    Args:
        keys: The table's record, or its keys by name, where it is read by rules of its own.
        parts: Schemas of keys that only the caller knows.
        required: Keys that must be there.

    Raises:
        KeyError: A schema is of a key that the table doesn't have.
    """
    parts = parts or {}
    properties: dict[str, Part] = {}
    named = keys if is_mapping(keys) else {name: key for _, key, name in keys_of(keys)}
    if stray := parts.keys() - named.keys():
        raise KeyError(f"not in the table: {', '.join(sorted(stray))}")
    for name, key in named.items():
        part = parts.get(name, key.form.schema)
        if key.form.table is not None:
            table = schema_of(key.form.table)
            part = either(_schema_of(key.form), table) if key.form.alone else table
        properties[name] = described(part, key.about)
    schema: Part = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def _schema_of(form: Form) -> Part:
    """What may stand alone for a table inside the table."""
    kind = form.table
    keys = () if kind is None else keys_of(kind)
    schema = next((key.form.schema for _, key, name in keys if name == form.alone), TEXT)
    # A table is read as the record itself, which says what may be in it.
    parts = schema.get("anyOf")
    return either(*(one for one in parts if one != TABLE)) if parts else schema

"""What a judge of your own must answer: a class, as a JSON Schema, and the judge's JSON, as an object of that class."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, dataclass_transform, get_args, get_origin

from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.json_schema import strict_object
from evenhand.core.json_shapes import is_number
from evenhand.scorers.structured import misfit

MYPY = False
"""mypy alone takes this for true."""

if MYPY:
    # mypy takes numbers in brackets for types that are wrong, whatever stands before them, unless it knows nothing of
    # that. So to mypy a field `Graded[1, 5]` is Any; pyright sees the class.
    from evenhand_unknown import Graded  # pyright: ignore[reportMissingImports, reportUnknownVariableType, reportAssignmentType]

_PLAIN: Mapping[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class Graded:
    """A score with the reasoning that comes before it.

    In a schema it has its bounds: `clarity: Graded[1, 5]`, or `Annotated[Graded, 1, 5]`, which type checkers know.
    """

    reasoning: str
    score: float

    def __class_getitem__(cls, bounds: tuple[float, float]) -> Any:
        return Annotated[cls, *bounds]


@dataclass_transform(frozen_default=True)
class Judgement:
    """What a judge must answer, field by field. A subclass is a dataclass without being told.

    Fields are `Graded[1, 5]`, text, bool, numbers (`Annotated[float, 0, 1]` for a range), `Literal["a", "b"]`, lists,
    and other such classes; `… | None` where there may be nothing to say.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclass(frozen=True)(cls)


def schema_of(cls: type) -> Mapping[str, Any]:
    """The JSON Schema of a class: a dataclass, or one that yields its own (`model_json_schema` or `json_schema`).

    Raises:
        UsageError: It is no such class, or a field has a type that JSON has no form for.
    """
    for name in ("model_json_schema", "json_schema"):
        own: Callable[[], Mapping[str, Any]] | None = getattr(cls, name, None)
        if callable(own):
            return own()
    if not dataclasses.is_dataclass(cls):
        raise UsageError(
            f"{cls.__name__} is not a schema for a judge",
            hint="Derive it from Judgement, make it a dataclass, or give it json_schema().",
        )
    if not dataclasses.fields(cls):
        raise UsageError(f"{cls.__name__} asks the judge for nothing: it has no fields")
    return _object(cls)


def read_judgement(cls: type, value: Mapping[str, Any]) -> Any:
    """An object of the class, of what a judge answered.

    Raises:
        JudgeError: It does not fit.
    """
    wrong = misfit(_schema_text(cls), value)
    if wrong:
        raise JudgeError(f"the judge's answer {wrong}")
    make: Callable[[Mapping[str, Any]], object]
    make = getattr(cls, "model_validate", None) or (
        (lambda fields: _built(cls, fields))
        if dataclasses.is_dataclass(cls)
        else (lambda fields: cls(**fields))
    )
    try:
        return make(value)
    except (ValueError, TypeError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise JudgeError(f"the judge's answer does not fit {cls.__name__}: {why}") from error


def grades_of(cls: type) -> dict[str, tuple[float, float]]:
    """The graded fields of a class, with their bounds; none for a class that is not a dataclass."""
    if not dataclasses.is_dataclass(cls):
        return {}
    bounds_by_field: dict[str, tuple[float, float]] = {}
    for name, hint in _hints(cls).items():
        if get_origin(hint) is Annotated and get_args(hint)[0] is Graded:
            bounds_by_field[name] = _bounds(cls, name, hint)
    return bounds_by_field


def comes_to_one(cls: type) -> bool:
    """Whether an answer comes to one number or verdict by itself: grades on one scale, or else verdicts.

    Of a class that is not a dataclass it is known when there is an answer.
    """
    if not dataclasses.is_dataclass(cls):
        return True
    scales = set(grades_of(cls).values())
    return len(scales) == 1 or (not scales and bool in _hints(cls).values())


@cache
def _schema_text(cls: type) -> str:
    return json.dumps(schema_of(cls), ensure_ascii=False)


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    """The fields of a dataclass with their types, bounds included."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{cls.__name__}: {error}",
            hint="Import the types of its fields where the class stands.",
        ) from None
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _object(cls: type) -> dict[str, Any]:
    properties = {name: _schema(cls, name, hint) for name, hint in _hints(cls).items()}
    optional = {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
    }
    # A dataclass without a docstring is given its signature as one, which tells a judge nothing.
    docstring = (cls.__doc__ or "").strip()
    described = (
        {}
        if not docstring or docstring.startswith(f"{cls.__name__}(")
        else {"description": docstring}
    )
    return {
        "type": "object",
        **described,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _schema(cls: type, name: str, hint: Any) -> dict[str, Any]:
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is Graded:
        raise UsageError(
            f"{cls.__name__}.{name} has no bounds",
            hint="Write Graded[1, 5], or the scale you want.",
        )
    if origin is Annotated:
        low, high = _bounds(cls, name, hint)
        whole = isinstance(low, int) and isinstance(high, int) and args[0] is not float
        number = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
        if args[0] is not Graded:
            return number
        return strict_object(reasoning={"type": "string", "minLength": 1}, score=number)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (list, Sequence, tuple) and args:
        return {"type": "array", "items": _schema(cls, name, args[0])}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(cls, name, arg) for arg in args]}
    if hint is types.NoneType:
        return {"type": "null"}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _object(hint)
    raise UsageError(
        f"{cls.__name__}.{name}: a judge cannot answer with {hint!r}",
        hint="Use Graded[1, 5], str, bool, int, float, Literal, a list of these, or a class like this one.",
    )


def _bounds(cls: type, name: str, hint: Any) -> tuple[float, float]:
    kind, *bounds = get_args(hint)
    numbers = [b for b in bounds if is_number(b)]
    if (
        kind not in (Graded, int, float)
        or len(bounds) != 2
        or len(numbers) != 2
        or not numbers[0] < numbers[1]
    ):
        listed = ", ".join(map(repr, bounds))
        raise UsageError(
            f"{cls.__name__}.{name}: [{listed}] are not two bounds, the lower one first",
            hint="Write Graded[1, 5].",
        )
    return numbers[0], numbers[1]


def _built(hint: Any, value: Any) -> Any:
    """The value as its type has it; it is known to fit the schema."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _built(args[0], value)
    if hint is Graded:
        return Graded(**value)
    if origin in (list, Sequence, tuple) and args:
        items = [_built(args[0], item) for item in value]
        return tuple(items) if origin is tuple else items
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        *others, last = (arg for arg in args if arg is not types.NoneType)
        for arg in others:
            try:
                return _built(arg, value)
            except (AttributeError, KeyError, TypeError, ValueError):  # the value is of another one
                continue
        return _built(last, value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = _hints(hint)
        return hint(**{name: _built(hints[name], item) for name, item in value.items()})
    return float(value) if hint is float else value

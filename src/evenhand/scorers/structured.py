"""Questions about JSON: the output is some, or has some in it, and it fits a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Protocol, cast

from evenhand.core.encoding import encode
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.scorers.constructor_checks import need_mapping
from evenhand.scorers.json_formats import FORMATS, inner_schemas, spelt_out
from evenhand.scorers.json_objects import objects_in
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import graded, quoted, text_of

_KEYWORDS = frozenset(
    """
    $id $schema $ref $defs $comment $anchor $vocabulary $dynamicRef $dynamicAnchor definitions title description default
    examples readOnly writeOnly deprecated type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
    maxLength minLength pattern format contentEncoding contentMediaType contentSchema items additionalItems prefixItems
    maxItems minItems uniqueItems contains maxContains minContains unevaluatedItems properties patternProperties
    additionalProperties propertyNames required maxProperties minProperties dependencies dependentRequired
    dependentSchemas unevaluatedProperties if then else allOf anyOf oneOf not nullable discriminator
    """.split()
)


class _Validator(Protocol):
    def iter_errors(self, instance: object) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class IsJson(Question):
    """The whole output is JSON, and fits the schema where one is given (draft 7 unless the schema says)."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    schema: str | Mapping[str, Any] = field(default="", hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _schema_text("IsJson", self.schema))

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        value = graded(output)
        if isinstance(value, str):
            try:
                value = json.loads(value, parse_constant=_refused)
            except ValueError as error:
                return check(False, f"{quoted(value)} is not JSON: {error}")
            except RecursionError:
                raise ScoreError("the output is JSON nested too deep to be read") from None
        wrong = misfit(str(self.schema), value)
        return check(
            not wrong, wrong or "it is JSON" + (" and fits the schema" if self.schema else "")
        )

    def __str__(self) -> str:
        return "is-json" + (" with schema" if self.schema else "")


@dataclass(frozen=True, slots=True)
class ContainsJson(Question):
    """The output has a JSON object in it, and one of them fits the schema where one is given.

    Objects are read with good will: single quotes, bare keys, comments and trailing commas are let pass, and an object
    that was cut off at the end of the output is closed. Lists are not looked for by themselves.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    schema: str | Mapping[str, Any] = field(default="", hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _schema_text("ContainsJson", self.schema))

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        wrong = "there is no JSON object in it"
        for value in objects_in(text_of(output)):
            wrong = misfit(str(self.schema), value)
            if not wrong:
                return check(
                    True,
                    "it has a JSON object in it" + (" that fits the schema" if self.schema else ""),
                )
        return check(False, wrong)

    def __str__(self) -> str:
        return "contains-json" + (" with schema" if self.schema else "")


def _schema_text(who: str, schema: str | Mapping[str, Any]) -> str:
    """A schema as JSON text, given as that or as a dict; raises UsageError where it is neither."""
    if isinstance(schema, str):
        return schema
    need_mapping(who, "its schema", schema, "Write the JSON Schema as a dict, or as JSON.")
    try:
        return encode(schema).decode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{who}: its schema is not JSON: {error}") from None


def misfit(schema: str, value: object) -> str:
    """Where a value does not fit a schema (JSON text; empty for none), in words; empty where it fits.

    Raises:
        ScoreError: The schema isn't valid.
    """
    if not schema:
        return ""
    for error in validator(schema).iter_errors(value):
        place = "/".join(str(part) for part in error.instance_path)
        return f"does not fit the schema{' at ' + place if place else ''}: {error.message}"
    return ""


@lru_cache(maxsize=256)
def validator(schema: str) -> _Validator:
    """The validator of a schema, given as JSON text.

    Raises:
        ScoreError: It is not a schema, or has a keyword that no draft knows.
    """
    import jsonschema_rs  # noqa: PLC0415 (only for those who use schemas)

    value = json.loads(schema)
    unknown = unknown_keyword(value)
    if unknown:
        raise ScoreError(
            f"the schema has '{unknown}', which is not a keyword of JSON Schema",
            hint="It would silently check nothing.",
        )
    try:
        make = (
            jsonschema_rs.validator_for
            if isinstance(value, dict) and "$schema" in value
            else jsonschema_rs.Draft7Validator
        )
        return cast(
            "_Validator", make(spelt_out(value), validate_formats=True, formats=dict(FORMATS))
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise ScoreError(f"the schema is not valid: {str(error).splitlines()[0]}") from None


def unknown_keyword(schema: object) -> str:
    """The first word of a schema that no draft of JSON Schema knows; empty for none."""
    if not is_mapping(schema):
        return ""
    for key in schema:
        if key not in _KEYWORDS and not key.startswith("x-"):
            return str(key)
    return next(filter(None, map(unknown_keyword, inner_schemas(schema))), "")


def _refused(name: str) -> object:
    raise ValueError(f"{name} is not JSON")

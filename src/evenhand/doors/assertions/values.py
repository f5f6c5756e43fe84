"""Values of assertions in the shapes that configs give them: lists with commas, schemas as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from evenhand.core.encoding import TooDeep
from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import is_number, is_object
from evenhand.languages.documents.tree import refuse_yaml_depth, safe_loader
from evenhand.languages.templates.printing import printed
from evenhand.scorers.text import quoted


def texts(value: object) -> Sequence[str]:
    """A list of texts, given as one or as text with commas.

    Raises:
        ScoreError: See `comma_list`.
    """
    if isinstance(value, (list, tuple)):
        # An item that is null is the word, as in JavaScript: as no text at all, it would be in every output.
        return ["null" if item is None else printed(item) for item in value]
    if not isinstance(value, str):
        raise ScoreError(
            f"the value is {_in_json(value)}, not a list or text with commas",
            hint=f"Write a list: value: [{printed(value)}]" if not is_object(value) else "",
        )
    return comma_list(value)


def one_text(value: object, *, lists: str = "") -> str:
    """A text, or a number as one.

    Raises:
        ScoreError: It is something else.
    """
    if isinstance(value, str):
        return value
    if is_number(value):
        return printed(value)
    listed = isinstance(value, (list, tuple)) and lists
    raise ScoreError(
        f"the value is {_in_json(value)}, not a text",
        hint=f"{lists} take lists." if listed else "Put it in quotes if that text is meant.",
    )


def _in_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(text)} characters)"


def comma_list(text: str) -> list[str]:
    r"""A list written with commas: fields trimmed, quoted where they hold commas; `""` or `\"` for a quote in quotes.

    Nothing between two commas, or after the last one, is no field: as a text to look for it would be in every output.
    Empty for text without a field.

    Raises:
        ScoreError: A quote is not closed, or something follows it before the next comma.
    """
    fields: list[str] = []
    i, n = 0, len(text)
    while True:
        while i < n and (text[i] == "," or text[i].isspace()):
            i += 1
        if i == n:
            return fields
        if text[i] == '"':
            field_text, i = _quoted_field(text, i + 1)
            while i < n and text[i].isspace():
                i += 1
            if i < n and text[i] != ",":
                raise ScoreError(f"expected a comma after the quoted text in {quoted(text)}")
        else:
            end = text.find(",", i)
            end = n if end < 0 else end
            field_text, i = text[i:end].strip(), end
        fields.append(field_text)


def _quoted_field(text: str, i: int) -> tuple[str, int]:
    parts: list[str] = []
    while i < len(text):
        if text[i : i + 2] in ('""', '\\"', "\\\\"):
            parts.append(text[i + 1])
            i += 2
        elif text[i] == '"':
            return "".join(parts), i + 1
        else:
            parts.append(text[i])
            i += 1
    raise ScoreError(f"a quote is not closed in {quoted(text)}")


def schema_text(value: object) -> str:
    """A schema, given as an object or as YAML or JSON text, as JSON text; empty for none.

    Raises:
        ScoreError: It is neither.
    """
    if value is None or value == "":
        return ""
    # These are schemas, too: one allows every value, the other none.
    if isinstance(value, str) and value.strip() in ("true", "false"):
        return value.strip()
    if isinstance(value, str):
        import yaml  # noqa: PLC0415 (only for schemas that are text)

        try:
            refuse_yaml_depth(value)
            value = cast("object", yaml.load(value, Loader=safe_loader()))  # noqa: S506 (it is a safe one)
        except TooDeep as error:
            raise ScoreError(f"the schema cannot be read: {error}") from None
        except yaml.YAMLError as error:
            raise ScoreError(
                f"the schema is neither JSON nor YAML: {str(error).splitlines()[0]}"
            ) from None
    if not isinstance(value, Mapping):
        raise ScoreError(
            f"the schema is not an object but {_in_json(value)}",
            hint="Leave the value out if any JSON will do." if isinstance(value, bool) else "",
        )
    # Validators are cached by this text; sorting the keys lets equal schemas share one.
    return json.dumps(value, sort_keys=True)


def bound(threshold: float | None, default: float) -> float:
    """A threshold, or what stands for one where none is written."""
    return default if threshold is None else threshold


def fraction(value: object, default: float) -> float:
    """A number that a config may give.

    Raises:
        ScoreError: It is something else.
    """
    if value is None:
        return default
    if not is_number(value):
        raise ScoreError(f"{value!r} is not a number")
    return float(value)

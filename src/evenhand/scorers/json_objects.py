"""Finds the JSON objects in a text that a model wrote: prose and fences around them, and not always quite JSON.

How this works: at each `{`, plain JSON is tried first. Where it is not, the piece up to the brace that closes it is
read as YAML 1.2, which lets single quotes, bare keys, trailing commas and comments pass. The text is a stranger's, so
there are bounds on its length, its depth and on how often we try: a reply of 100,000 braces costs a fraction of a
second, and nothing in it can crash the reader, which is C.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import Record

LONGEST = 100_000
"""An object that is not closed after so many characters is taken to end there."""
DEEPEST = 100
EFFORT = 500_000
"""Characters looked at in vain, before giving up on the rest of the text."""
_TRY = 500  # what an attempt costs beside its characters

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_PLAIN = re.compile(r'\{\s*["}]')
_OPENS = re.compile(r"""\{\s*(?:"[^"\n]*"|'[^'\n]*'|[A-Za-z_]\w*)\s*:""")
_COMMENT = re.compile(r"(^|[\s,{}\[\]])//", re.MULTILINE)
_BLOCK = re.compile(
    r"""("(?:[^"\\]|\\.)*(?:"|\\?\Z)|(?<=[\s,:{\[])'(?:[^'\n]|'')*'?)"""
    r"""|(?<=[\s,:{}\[\]"'])/\*(?:(?!/\*).)*?\*/""",  # one that is never closed is looked at up to the next only
    re.DOTALL,
)
"""A comment between slashes and stars; or a text in quotation marks, in which there is none."""


class UnreadableError(ValueError):
    """Something in the text begins as an object and cannot be read as one."""


class FoundObject(Record, frozen=True):
    """An object in a text, and where it begins and ends."""

    value: Mapping[str, object]
    start: int
    end: int


def objects_in(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in a text, outermost only, in order, read with good will.

    An object that is cut off at the end of the text is closed. One that says the same key twice, with different values,
    is none.
    """
    return (parsed.value for parsed in _objects_in(text, strict=False, closing=True))


def whole_objects(text: str, *, strict: bool = False) -> Iterator[FoundObject]:
    """The whole JSON objects in a text, each with its place; those that are cut off are left out.

    Args:
        strict: Do not guess: nothing inside of what cannot be read is taken for the whole.

    Raises:
        UnreadableError: With `strict`: what begins as an object cannot be read, is cut off, or says a key twice.
    """
    return _objects_in(text, strict=strict, closing=False)


def _objects_in(text: str, *, strict: bool, closing: bool) -> Iterator[FoundObject]:
    effort = EFFORT
    at = text.find("{")
    while at >= 0:
        parsed = _plain(text, at, strict)
        if parsed is None:
            end, depth = _end_of_object(text, at)
            effort -= end - at + _TRY
            if effort < 0:
                if strict:
                    raise UnreadableError("has too many braces")
                return
            if not depth or closing:
                value = _lenient(text[at:end] + "}" * depth, strict)
                if value is not None:
                    parsed = FoundObject(value, at, end)
            if parsed is None and strict and _OPENS.match(text, at):
                raise UnreadableError("is cut off" if depth else "cannot be read")
        if parsed is None:
            at = text.find("{", at + 1)
            continue
        yield parsed
        at = text.find("{", parsed.end)


def _plain(text: str, at: int, strict: bool) -> FoundObject | None:
    if _PLAIN.match(text, at) is None:
        return None
    try:
        value, end = (_strict_decoder if strict else _decoder).raw_decode(text, at)
    except UnreadableError:
        if strict:
            raise
        return None
    except (ValueError, RecursionError):
        return None
    return FoundObject(value, at, end)


def _end_of_object(text: str, start: int) -> tuple[int, int]:
    """The place after the brace that closes the one at `start`, and how many are still open there: 0 where one does.

    Braces in double quotes do not count.
    """
    depth = 0
    for match in _PART.finditer(text, start, start + LONGEST):
        part = match.group()
        if part == "{":
            depth += 1
        elif part == "}":
            depth -= 1
            if depth == 0:
                return match.end(), 0
    return min(len(text), start + LONGEST), depth


def _lenient(piece: str, strict: bool) -> Mapping[str, object] | None:
    # Deeper nesting could exhaust the C reader's stack, which ends the process without an exception.
    if _depth(piece) > DEEPEST:
        return None
    import yaml  # noqa: PLC0415 (only for what is not quite JSON)

    try:
        text = _BLOCK.sub(lambda part: part[1] or " ", piece)
        # YAML's comments begin with `#`.
        text = _COMMENT.sub(r"\1#", text)
        # Aliases of aliases make a short text fill the memory, so a text with any is not read.
        if "*" in text and any(
            isinstance(e, yaml.AliasEvent) for e in yaml.parse(text, Loader=_loader(strict))
        ):
            return None
        value: object = yaml.load(text, Loader=_loader(strict))  # noqa: S506 (a safe loader)
    except UnreadableError:
        if strict:
            raise
        return None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if is_mapping(value) else None


def _depth(piece: str) -> int:
    deepest = depth = 0
    for char in piece:
        if char in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "}]":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[Any, Any]], *, strict: bool = False) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        name = key if isinstance(key, str) else json.dumps(key)
        if name in fields and (strict or fields[name] != value):
            raise UnreadableError(f"says {name!r} twice")
        fields[name] = value
    return fields


# NaN stays text, which no score accepts. Not strict: models write bare line breaks inside of strings.
_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=str, strict=False)
_strict_decoder = json.JSONDecoder(
    object_pairs_hook=partial(_unique, strict=True), parse_constant=str, strict=False
)


@cache
def _loader(strict: bool) -> type[Any]:
    """A YAML loader that takes `yes`, `1:30`, `012` and dates for what they are in YAML 1.2: text, text, 12, text."""
    from evenhand.languages.documents.tree import safe_loader  # noqa: PLC0415 (see _lenient)

    core: type[Any] = safe_loader()

    class Loader(core):
        # Empty, as the inherited table has YAML 1.1's rules, by which `no` is false.
        yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 (PyYAML's own name and kind)

    def mapping(loader: Any, node: Any) -> dict[str, object]:
        pairs = [
            (loader.construct_object(k, deep=True), loader.construct_object(v, deep=True))
            for k, v in node.value
        ]
        return _unique(pairs, strict=strict)

    def whole(loader: Any, node: Any) -> int:
        text = loader.construct_scalar(node)
        # With base 0, Python refuses 012, which is 12 in YAML 1.2.
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)

    def real(loader: Any, node: Any) -> float:
        return float(loader.construct_scalar(node))

    tag = "tag:yaml.org,2002:"
    for name, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ):
        Loader.add_implicit_resolver(tag + name, re.compile(rf"(?:{pattern})\Z"), list(first))
    Loader.add_constructor(tag + "map", mapping)
    Loader.add_constructor(tag + "int", whole)
    Loader.add_constructor(tag + "float", real)
    return Loader

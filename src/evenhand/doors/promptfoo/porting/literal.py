"""Values and calls as Python writes them, broken into lines as a formatter would break them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import cast

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record

WIDTH = 100


class Bracketed(Record, frozen=True):
    """Items between brackets: on one line where that has room for them, each on a line of its own where not.

    Attributes:
        start: What stands before them, bracket included.
        items: They.
        call: They are arguments, which may all stand on the line after the bracket.
        text: They are pieces of one text, which is this where it has a line to itself; empty for anything else.
    """

    start: str
    items: Sequence[Node]
    end: str
    call: bool = False
    text: str = ""


Node = str | Bracketed


def literal(value: object) -> Node:
    """A value of JSON's kinds."""
    if isinstance(value, str):
        lines = value.splitlines(keepends=True)
        if len(lines) < 2:
            return _quoted(value)
        return Bracketed("(", [_quoted(line) for line in lines], ")", text=_quoted(value))
    if is_mapping(value):
        fields = cast("Mapping[object, object]", value)
        return Bracketed(
            "{", [led(f"{flat(literal(k))}: ", literal(v)) for k, v in fields.items()], "}"
        )
    if isinstance(value, tuple):
        items = [literal(item) for item in cast("tuple[object, ...]", value)]
        return Bracketed("(", items, ",)" if len(items) == 1 else ")")
    if is_array(value):
        return Bracketed("[", [literal(item) for item in value], "]")
    # Python has no literal for infinity and NaN.
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    return repr(value)


def call(name: str, /, *arguments: Node, **named: object) -> Bracketed:
    """A call. Named arguments are values."""
    more = [led(f"{key}=", literal(value)) for key, value in named.items()]
    return Bracketed(f"{name}(", [*arguments, *more], ")", call=True)


def led(before: str, node: Node) -> Node:
    """A node of code with this text before it: a key, or the name of an argument."""
    if isinstance(node, str):
        return before + node
    return replace(node, start=before + node.start, text=node.text and before + node.text)


def flat(node: Node) -> str:
    """All on one line."""
    if isinstance(node, str):
        return node
    if node.text:
        return node.text
    return f"{node.start}{', '.join(map(flat, node.items))}{node.end}"


def laid(node: Node, indent: int = 0, *, broken: bool = False) -> str:
    """The code, its first line to follow what stands there already.

    Args:
        indent: How far to the right the line begins that it stands in.
        broken: Each item on a line of its own, whatever room there is.
    """
    one = flat(node)
    # A text of several lines is broken at its line ends, even if it would fit.
    fits = indent + len(one) < WIDTH and not broken
    if isinstance(node, str) or not node.items or (fits and one.count("\\n") < 2):
        return one
    pad = " " * (indent + 4)
    joined = ", ".join(map(flat, node.items))
    if node.call and not broken and len(pad) + len(joined) <= WIDTH and joined.count("\\n") < 2:
        return f"{node.start}\n{pad}{joined}\n{' ' * indent}{node.end}"
    comma = "" if node.text else ","
    lines = "".join(f"{pad}{laid(item, indent + 4)}{comma}\n" for item in node.items)
    # Each item has its comma already, also that of a tuple of one.
    return f"{node.start}\n{lines}{' ' * indent}{node.end.lstrip(',')}"


def _quoted(text: str) -> str:
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in text else quoted

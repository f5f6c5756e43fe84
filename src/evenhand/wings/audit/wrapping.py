"""Answers in the form that a test's transform takes: `JSON.parse(output).answer` is given `{"answer": …}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PATHS = (
    re.compile(r"""JSON\.parse\(\s*output\s*\)((?:\??\.\w+|\[['"]\w+['"]\])+)"""),
    re.compile(
        r"""json\.loads\(\s*output\s*\)((?:\[['"]\w+['"]\]|\.get\(\s*['"]\w+['"][^)]*\))+)"""
    ),
)
_NAME = re.compile(r"""\.get\(\s*['"](\w+)['"][^)]*\)|\??\.(\w+)|\[['"](\w+)['"]\]""")


def paths_of(test: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths into an output's JSON that a config's code reads: `("answer",)` for `JSON.parse(output).answer`."""
    paths: dict[tuple[str, ...], None] = {}
    for text in _texts(test):
        for pattern in _PATHS:
            for match in pattern.finditer(text):
                names = ("".join(groups) for groups in _NAME.findall(match[1]))
                # What is read of a value, such as its length, is no key.
                path = tuple(
                    name for name in names if name not in ("length", "trim", "toLowerCase")
                )
                if path:
                    paths.setdefault(path)
    yield from paths


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def wrapped(text: str, path: tuple[str, ...]) -> str:
    """A text as the value at a path in a JSON object; the text itself for no path.

    >>> wrapped("30 days", ("answer", "text"))
    '{"answer": {"text": "30 days"}}'
    """
    if not path:
        return text
    value: object = text
    for name in reversed(path):
        value = {name: value}
    return json.dumps(value, ensure_ascii=False)

"""What a front door lends to providers whose settings hold templates and code."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.core.provider import Host

Fill = Callable[[str, Mapping[str, Any]], str]
"""Fills a template in with these variables."""

Code = Callable[[str, Mapping[str, object], Path, Host], Awaitable[object]]
"""Runs code that stands in a config: `code(text, arguments by name, folder, host)`. `file://` and a path is a file's
function; anything else is the code itself."""

_TAG = re.compile(r"\{\{\s*([\w.]+)\s*(?:\|\s*(dump|tojson)\s*)?\}\}")


@dataclass(frozen=True, slots=True)
class Lent:
    """How templates are filled in and code is run.

    Attributes:
        fill: For templates. By default only `{{ name }}`, `{{ name.part }}` and `{{ name | dump }}` are known.
        code: For code. By default only `file://<file.py>:<function>` is.
    """

    fill: Fill
    code: Code


def plainly_filled(template: str, variables: Mapping[str, Any]) -> str:
    """A template with its `{{ names }}` filled in; what is not there is empty."""
    if "{{" not in template:
        return template

    def value(match: re.Match[str]) -> str:
        found: object = variables
        for part in match[1].split("."):
            found = (
                cast("Mapping[str, object]", found).get(part)
                if isinstance(found, Mapping)
                else None
            )
        if match[2] or isinstance(found, (Mapping, list)):
            return json.dumps(found, ensure_ascii=False)
        return "" if found is None else str(found)

    return _TAG.sub(value, template)


async def python_file(
    text: str, arguments: Mapping[str, object], folder: Path, host: Host
) -> object:
    """The answer of a function in a Python file, `file://<file.py>[:<function>]`.

    Raises:
        CodeError: It is not that, or it failed.
    """
    path, colon, name = text.removeprefix("file://").rpartition(":")
    if not (colon and path.endswith(".py")):
        path, name = text.removeprefix("file://"), "transform"
    if not text.startswith("file://") or not path.endswith(".py"):
        raise CodeError(
            f"{text[:60]!r} is no Python file",
            hint="Write file://transform.py:<function>.",
        )
    file = folder / path
    function = await host.load(file, name)
    return await host.call(function, *arguments.values(), name=f"{file.name}:{name}")


PLAIN = Lent(plainly_filled, python_file)

"""Configs in JavaScript and TypeScript: what they export, read once by Node.

A config is an object, or a function or a promise of one. Functions in it stay where they are: each is read as a
reference to its place (`file://promptfooconfig.js:config().tests.0.assert.0.value`), as if it were in a file of its
own, and is called in the same Node process as all that needs one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.doors.promptfoo.generated_tests import called_now
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import Document
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.source import CONFIG, TYPESCRIPT

_LISTS = frozenset({"prompts", "providers", "targets"})
_CALLED = frozenset(
    """
    value transform postprocess transformVars contextTransform assertScoringFunction provider transformRequest
    transformResponse responseParser validateStatus
    """.split()
)
"""Keys under which a function is called, as a file would be that has one."""


def read_code(path: Path, findings: Findings) -> Document | None:
    """A config in JavaScript or TypeScript. None, and its problems, where Node is not there or cannot read it."""
    wrong = javascript.problems(javascript.function(path, CONFIG))
    for what, hint in wrong:
        findings.problem(Place(path), what, hint)
    if wrong:
        return None
    try:
        value = decode(encode(called_now(path, CONFIG, ()), ordered=False))
    except EvenhandError as error:
        newer = "TypeScript wants Node 22.18 or newer." if path.suffix in TYPESCRIPT else ""
        findings.problem(Place(path), error.message, error.hint or newer)
        return None
    refused = [where for where in _functions(value, f"file://{path.name}:{CONFIG}.", ()) if where]
    for where in refused:
        findings.problem(
            Place(path),
            f"{where} is a function, which is not called there",
            "Functions can be prompts, providers, transforms, values of assertions and assertScoringFunction.",
        )
    return Document(path, value, {})


def _functions(value: object, begins: str, path: tuple[str, ...]) -> Iterator[str]:
    """Where functions stand that nobody calls; an empty text for each that is called."""
    if isinstance(value, str):
        if value.startswith(begins):
            # Where a list of prompts or providers holds one, the reference stands a level below.
            place = path[:2] if path[0] in _LISTS and len(path) == 3 else path
            yield "" if _is_called(place) else ".".join(place)
    elif is_mapping(value):
        for key, item in value.items():
            yield from _functions(item, begins, (*path, key))
    elif is_array(value):
        for i, item in enumerate(value):
            yield from _functions(item, begins, (*path, str(i)))


def _is_called(path: tuple[str, ...]) -> bool:
    if path[0] in _LISTS and len(path) == 2:
        return True
    return path[-1] in _CALLED

"""What a run was asked to run, as it is typed: for lines that suggest the next command on the same files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.wording.words import near, safe

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.core.run import RunMeta

_TEXTS = {
    "filter": "--filter", "pattern": "--filter-pattern", "first": "--first", "sample": "--sample", "seed": "--seed",
    "prompts": "--filter-prompts", "models": "--filter-providers", "repeats": "--repeat",
}  # fmt: skip
_OVER = {
    "prompts": "-p", "providers": "-r", "tests": "-t", "model_outputs": "--model-outputs", "assertions": "-a",
    "prefix": "--prompt-prefix", "suffix": "--prompt-suffix", "grader": "--grader", "delay_ms": "--delay",
    "extensions": "-x", "env_files": "--env-file",
}  # fmt: skip
_REST = {
    "names": "-k", "tag": "--tag", "case": "--case", "definitions": "--definitions", "model": "--model",
    "strict_prompts": "--strict-prompts", "strict": "--strict", "offline": "--offline",
}  # fmt: skip
_FAILING: dict[tuple[str, ...], str] = {
    ("fail", "error"): "--filter-failing",
    ("fail",): "--filter-failing-only",
    ("error",): "--filter-errors-only",
}


def typed(request: Asked, *left_out: str) -> str:
    """The paths and options of a request, with a space before them; empty for the current folder as it is.

    Args:
        request: What is asked for; `run`, `gate` and `check` understand it alike.
        left_out: Options that the suggested command has no use for.
    """
    options = [pair for pair in _options(request) if pair[0] not in left_out]
    paths = [near(path) for path in request.paths if os.path.abspath(path) != os.getcwd()]  # noqa: PTH100, PTH109
    if len(paths) < len(request.paths) and len(request.paths) > 1:
        paths = [near(path) for path in request.paths]
    words = [*paths, *(word for pair in options for word in pair if word)]
    return "".join(f" {shlex.quote(safe(word))}" for word in words)


def typed_for(meta: RunMeta, *left_out: str) -> str:
    """The same of a run; of one that no command made, the file or folder that it is of."""
    from evenhand.cli.run_request import Asked
    from evenhand.core.errors import UsageError

    try:
        return typed(Asked.again(meta.settings.get("asked"), meta.version), *left_out)
    except UsageError:
        if not meta.source or Path(meta.source) == Path.cwd():
            return ""
        return f" {shlex.quote(safe(near(meta.source)))}"


def _options(request: Asked) -> Iterator[tuple[str, str]]:
    """Each option with its value; a switch has none."""
    chosen = request.selection
    yield from (("--filter-metadata", pair) for pair in chosen.metadata)
    if chosen.range is not None:
        start, end = ("" if place is None else str(place) for place in chosen.range)
        yield "--filter-range", f"{start}:{end}"
    if request.failing is not None:
        yield _FAILING[request.failing.outcomes], near(request.failing.path)
    yield from (("--var", f"{name}={value}") for name, value in request.over.variables.items())
    for source, names in ((chosen, _TEXTS), (request.over, _OVER), (request, _REST)):
        for name, option in names.items():
            value = getattr(source, name)
            for one in value if isinstance(value, tuple) else (value,):
                if one:
                    text = near(one) if isinstance(one, str) and os.path.isabs(one) else one  # noqa: PTH117
                    yield (
                        option,
                        ""
                        if one is True
                        else f"{text:g}"
                        if isinstance(text, float)
                        else str(text),
                    )

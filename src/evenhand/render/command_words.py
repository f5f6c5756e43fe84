"""What a run was asked to run, as it is typed: for lines that suggest the next command on the same files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import near, safe

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


def typed(request: Mapping[str, Any], *left_out: str) -> str:
    """The paths and options of a request, with a space before them; empty for the current folder as it is.

    Args:
        request: What is asked for, as a run's file has it; `run`, `gate` and `check` understand it alike.
        left_out: Options that the suggested command has no use for.
    """
    paths = [str(path) for path in request["paths"]]
    words = [near(path) for path in paths if len(paths) > 1 or Path(path) != Path.cwd()]
    words += [
        word
        for option, value in _options(request)
        if option not in left_out
        for word in (option, value)
        if word
    ]
    return "".join(f" {shlex.quote(safe(word))}" for word in words)


def typed_for(meta: RunMeta, *left_out: str) -> str:
    """What a run was asked for, as it is typed; of a run that no command made, the file or folder that it is of."""
    request = meta.settings.get("asked")
    if is_mapping(request) and is_sequence(request.get("paths")):
        return typed(request, *left_out)
    if not meta.source or Path(meta.source) == Path.cwd():
        return ""
    return f" {shlex.quote(safe(near(meta.source)))}"


def _options(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each option with its value; a switch has none."""
    chosen, over, failing = (request.get(key) or {} for key in ("selection", "over", "failing"))
    yield from (("--filter-metadata", pair) for pair in chosen.get("metadata", ()))
    if chosen.get("range"):
        yield "--filter-range", ":".join("" if end is None else str(end) for end in chosen["range"])
    # `regrade` takes the cases of a run whatever came of them, for which there is no option.
    if failing and (option := _FAILING.get(tuple(failing["outcomes"]))):
        yield option, near(failing["path"])
    yield from (("--var", f"{name}={value}") for name, value in over.get("variables", {}).items())
    for source, names in ((chosen, _TEXTS), (over, _OVER), (request, _REST)):
        for name, option in names.items():
            value = source.get(name)
            for one in value if isinstance(value, list | tuple) else (value,):
                if one:
                    yield option, _text(one)


def _text(value: object) -> str:
    """A value as it is typed; empty for a switch."""
    if isinstance(value, str):
        return near(value) if Path(value).is_absolute() else value
    return "" if value is True else f"{value:.15g}"

"""The reference of the Python API, made from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

MODULES = {
    "evenhand": "Eval sets, scoring, datasets, comparisons",
    "evenhand.scorers": "Scorers",
    "evenhand.testing": "Fake providers, and contracts",
    "evenhand.doors.isolation": "Isolation of trials",
    "evenhand.doors.recording": "Recorded replies and tools of an application",
}
"""Those whose names are all public (see docs/what-is-public.md)."""
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")
ENTRY = re.compile(r"^ {4}([\w.*, ]+): (.*)$")


def pages() -> dict[str, str]:
    """A page of each module, by its name on the site."""
    return {
        f"python-{name.replace('.', '-')}": _page(name, title) for name, title in MODULES.items()
    }


def _page(name: str, title: str) -> str:
    module = importlib.import_module(name)
    parts = [f"# {title}: `{name}`", _text(inspect.getdoc(module) or "")]
    for attribute in sorted(module.__all__, key=str.lower):
        if not attribute.startswith("__"):
            parts.extend(_entry(attribute, getattr(module, attribute), 2))
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(name: str, value: Any, level: int) -> Iterator[str]:
    """A name's heading, how it is called, what it is; of a class its own public methods, too."""
    yield f"{'#' * level} {name}"
    signature = _signature(name, value)
    if signature:
        yield f"```python\n{signature}\n```"
    if isinstance(value, type) or callable(value):
        yield _text(inspect.getdoc(value) or "")
    if isinstance(value, type):
        for method, function in vars(value).items():
            if method.startswith("_"):
                continue
            inner = function.fget if isinstance(function, property) else function
            inner = getattr(inner, "__func__", inner)
            if inspect.isfunction(inner) and inspect.getdoc(inner):
                yield from _entry(f"{name}.{method}", inner, level + 1)


def _signature(name: str, value: Any) -> str:
    """How it is called, each parameter on a line of its own where there are many."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    if isinstance(value, type) and not (is_dataclass(value) or "__init__" in vars(value)):
        return ""
    listed = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    text = _shown(signature.replace(parameters=listed))
    if len(text) <= 80:
        return f"{name}{text}"
    parameters: list[str] = []
    keyword_only = False
    for parameter in listed:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(p.kind is p.VAR_POSITIONAL for p in listed):
                parameters.append("*")
        parameters.append(_shown(parameter))
    returned = signature.return_annotation
    arrow = f" -> {returned}" if isinstance(returned, str) else ""
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parameters) + f"){arrow}"


def _shown(part: inspect.Signature | inspect.Parameter) -> str:
    """As it is written in the code: without the quotes of annotations, or what a dataclass makes its defaults with."""
    return str(part).replace("'", "").replace("<factory>", "...")


def _text(doc: str) -> str:
    """A docstring as Markdown: its sections as lists, its examples as code."""
    lines: list[str] = []
    section = ""
    in_example = False
    for line in doc.splitlines():
        heading = SECTION.match(line)
        entry = ENTRY.match(line) if section else None
        if line.lstrip().startswith(">>> ") and not in_example:
            in_example = True
            lines += ["", "```python"]
        elif in_example and not line.strip():
            in_example = False
            lines += ["```", ""]
            continue
        if in_example:
            lines.append(line)
        elif heading:
            section = heading.group(1)
            lines += ["", f"**{section}**", ""]
        elif entry:
            lines.append(f"- `{entry.group(1)}`: {entry.group(2)}")
        elif section and line.startswith("    "):
            lines.append(f"    {line.strip()}")
        else:
            section = section if not line.strip() else ""
            lines.append(line)
    return "\n".join([*lines, "```"] if in_example else lines).strip()

"""A config's prompts and models, as Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.secrets import HIDDEN, redacted
from evenhand.doors.promptfoo.models import with_id
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.porting.literal import Node, call, literal
from evenhand.doors.promptfoo.prompts import (
    AnyPrompt,
    FunctionPrompt,
    ProgramPrompt,
    TextPrompt,
    is_chat,
)
from evenhand.doors.promptfoo.variants import Combination
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import read_document
from evenhand.languages.javascript.references import CONFIG
from evenhand.languages.templates.rendering import has_tags

_TAG = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


def prompt_code(
    pair: Combination, name: str, names: set[str], *, plainly: bool, strict: bool
) -> Node | None:
    """A prompt; None where its code cannot be named.

    Args:
        names: The variables that every case has, all of them text or whole numbers.
        plainly: Whether it may be a `Prompt`, which has nothing but plain tags.
        strict: Whether functions are called as promptfoo calls them.
    """
    prompt = pair.prompt
    more: dict[str, object] = {"config": dict(prompt.config)} if prompt.config else {}
    if isinstance(prompt, TextPrompt):
        plain = plainly and not more and _is_plain(prompt.raw, names)
        return call("Prompt" if plain else "Template", literal(name), literal(prompt.raw), **more)
    reference = _reference(prompt, pair.base)
    if not reference:
        return None
    if name != reference:
        more = {"name": name, **more}
    if strict:
        more["strict"] = True
    return call("PromptFile", literal(reference), **more)


def _is_plain(raw: str, names: set[str]) -> bool:
    rest = _TAG.sub("", raw)
    if has_tags(rest) or is_chat(raw) or rest.lstrip()[:1] in ("[", "{", "-"):
        return False
    return bool(rest.strip()) and set(_TAG.findall(raw)) <= names


def _reference(prompt: AnyPrompt, base: Path) -> str:
    """What names a prompt that is code; empty where nothing does."""
    assert not isinstance(prompt, TextPrompt)  # noqa: S101 (the caller's branch)
    path = prompt.path
    near = path.relative_to(base) if path.is_relative_to(base) else path
    if isinstance(prompt, FunctionPrompt):
        if prompt.function.startswith(CONFIG):
            return ""
        return f"{near}:{prompt.function}".removesuffix(":")
    assert isinstance(prompt, ProgramPrompt)  # noqa: S101 (there is no third kind)
    # A script is named by its file, since what runs it is found anew.
    if prompt.command.endswith(shlex.quote(str(path))):
        return str(near)
    return f"exec:{prompt.command}"


def model_code(label: str, folder: Folder, *, always: bool) -> tuple[Node, str]:
    """A model, and what is not told of it.

    Args:
        always: Write a call also where its id says all.
    """
    fields = next(
        (f for f in _written(folder) if str(f.get("label") or f.get("id")) == label), None
    )
    left = ""
    if fields is None:  # as it is here, secrets of the environment are filled in
        subject = next(
            pair.subject for pair in folder.pairs if pair.subject.provider.label == label
        )
        fields = {"id": subject.provider.id, "label": label}
        left = f"settings of provider {label}: write them into its config" if subject.config else ""
    id_ = str(fields["id"])
    more = {k: v for k, v in fields.items() if k in ("config", "env", "delay") and v}
    for key in ("config", "env"):
        value = cast("Mapping[str, Any]", redacted(more.get(key) or {}))
        if HIDDEN in repr(value):
            left = f"secrets of provider {label}: set them in the environment"
            value = {k: v for k, v in value.items() if HIDDEN not in repr(v)}
        more[key] = dict(value)
    named: dict[str, object] = {"label": label} if label != id_ else {}
    named |= {k: v for k, v in more.items() if v}
    if not named and not always:
        return literal(id_), left
    return call("provider", literal(id_), **named), left


def _written(folder: Folder) -> Iterator[Mapping[str, Any]]:
    """The providers as the config writes them, each as an object."""
    providers = folder.record.get("targets") or folder.record.get("providers")
    base = folder.pairs[0].base if folder.pairs else Path()
    yield from _each(providers, base)


def _each(providers: object, base: Path) -> Iterator[Mapping[str, Any]]:
    for item in providers if is_array(providers) else [providers]:
        if isinstance(item, str) and item.startswith("file://"):
            path = base / item.removeprefix("file://")
            if path.suffix in (".yaml", ".yml", ".json"):
                document = read_document(path, Findings(), Place(path))
                yield from _each(document.value if document else None, base)
                continue
        if isinstance(item, str):
            yield {"id": item}
        elif is_mapping(item):
            yield with_id(item)

"""Several configs as one: what each says is put together, and later ones go over earlier ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.json_shapes import as_mapping, is_array, is_mapping
from evenhand.languages.documents.findings import Place
from evenhand.languages.documents.tree import Document, Path_

_LISTS = ("prompts", "providers", "targets", "tests", "scenarios", "extensions", "derivedMetrics")
_MODELS = ("providers", "targets")
_ONCE = frozenset({"prompts", "providers", "targets", "extensions"})
_MAPPINGS = (
    "tags",
    "env",
    "evaluateOptions",
    "commandLineOptions",
    "metadata",
    "nunjucksFilters",
    "assertionTemplates",
    "evenhand",
)


@dataclass(slots=True)
class Combined(Document):
    """Several files as one document, whose parts know which file they come from."""

    origins: dict[Path_, tuple[Document, Path_]] = field(
        default_factory=dict[Path_, tuple[Document, Path_]]
    )

    def at(self, *path: str | int) -> Place:
        """Where the part at this path is written, in whichever file."""
        # An item first: the items of one list may come from several files.
        for length in (2, 1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                document, there = origin
                return document.at(*there, *path[length:])
        return Place(self.file)


def combined(
    documents: Sequence[Document], values: Sequence[Mapping[str, Any]]
) -> tuple[Combined, dict[str, Any]]:
    """The configs as one.

    Args:
        values: What the documents come to, their references replaced.
    """
    base = documents[0].file.parent
    whole = Combined(documents[0].file, documents[0].value)
    merged: dict[str, Any] = {}
    descriptions: list[str] = []
    for document, value in zip(documents, values, strict=True):
        folder = document.file.parent
        moved = cast(
            "Mapping[str, Any]", value if folder == base else _moved(value, folder, base, ())
        )
        for key, item in moved.items():
            # Two words for one list, of which each file may use another: the first file's counts.
            name = next((word for word in _MODELS if key in _MODELS and word in merged), key)
            if name in _LISTS:
                _extend(merged, name, item, document, whole)
                continue
            whole.origins[name,] = (document, (name,))
            if name == "description":
                descriptions.append(str(item))
            elif name == "defaultTest" and is_mapping(item):
                merged[name] = _test(merged.get(name), item)
            elif name in _MAPPINGS and is_mapping(item):
                merged[name] = {**as_mapping(merged.get(name)), **item}
            elif name == "sharing":
                merged[name] = item and merged.get(name, True)
            else:
                merged[name] = item
    if descriptions:
        merged["description"] = ", ".join(descriptions)
    whole.value = {key: merged[key] for key in merged}
    return whole, merged


def _extend(
    merged: dict[str, Any], name: str, item: object, document: Document, whole: Combined
) -> None:
    if name == "prompts" and is_mapping(item):
        item = [{"raw": raw, "label": label} for raw, label in item.items()]
    listed = is_array(item)
    items = item if listed else [item]
    there = cast("list[object]", merged.setdefault(name, []))
    for i, one in enumerate(items):
        if one is None or (name in _ONCE and one in there):
            continue
        whole.origins[name, len(there)] = (document, (name, i) if listed else (name,))
        there.append(one)
    whole.origins.setdefault((name,), (document, (name,)))


def _test(before: object, item: Mapping[str, Any]) -> dict[str, Any]:
    earlier = as_mapping(before)
    both: dict[str, Any] = {**earlier, **item}
    for key in ("vars", "options", "metadata"):
        if isinstance(earlier.get(key), Mapping) and isinstance(item.get(key), Mapping):
            both[key] = {**earlier[key], **item[key]}
    if isinstance(earlier.get("assert"), list) and isinstance(item.get("assert"), list):
        both["assert"] = [*earlier["assert"], *item["assert"]]
    return both


def _moved(value: object, folder: Path, base: Path, path: Path_) -> object:
    """The value with the files that it names, which start from `folder`, named from `base`."""
    if isinstance(value, str):
        for scheme in ("file://", "python:"):
            if value.startswith(scheme) and "{{" not in value:
                return scheme + _from(value.removeprefix(scheme), folder, base)
        # Prompts and tests name files without saying so.
        if path[:1] in (("prompts",), ("tests",)) and len(path) <= 2 and "\n" not in value:
            name = value.rpartition(":")[0] if ".py:" in value else value
            if len(name) < 400 and any(folder.glob(name) if name and name[0] != "/" else ()):
                return _from(value, folder, base)
        return value
    if is_mapping(value):
        items = value
        if path == ("prompts",):  # a map from prompts to labels
            return {cast("str", _moved(key, folder, base, path)): v for key, v in items.items()}
        return {key: _moved(item, folder, base, (*path, key)) for key, item in items.items()}
    if is_array(value):
        items = value
        return [_moved(item, folder, base, (*path, i)) for i, item in enumerate(items)]
    return value


def _from(name: str, folder: Path, base: Path) -> str:
    return name if name[:1] == "/" else os.path.relpath(folder / name, base)

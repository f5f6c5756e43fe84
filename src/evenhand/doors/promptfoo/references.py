"""`$ref`: parts of a config that stand for other parts of it, or of another file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evenhand.core.json_shapes import is_array, is_mapping, is_object
from evenhand.core.names import did_you_mean
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import Document, Path_, read_document

MOST = 200_000
"""Values that the references of a config may stand for, all together."""


class References:
    """Replaces the references of one file."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self._document = document
        self._findings = findings
        self._others: dict[Path, Document | None] = {}
        self._under_way: list[tuple[Path, str]] = []
        self._size = 0
        self.lending: set[str] = set()
        """Keys at the top of the file that references stand for, or parts of them."""

    @property
    def files(self) -> set[Path]:
        """The files that references lead to."""
        return set(self._others)

    def replaced(self, value: object) -> object:
        """The value with each `{$ref: '#/a/b'}` replaced by what is there; keys beside `$ref` go over it.

        A reference may lead into another file (`other.yaml#/a/b`). What stands under `parameters` is the schema of a
        function, whose references are its own.
        """
        return self._replaced(value, self._document, ())

    def _replaced(self, value: object, home: Document, path: Path_) -> object:
        if self._under_way:
            self._size += 1
        if self._under_way and self._size > MOST:
            if self._size == MOST + 1:
                self._findings.problem(
                    Place(self._document.file), f"its $ref stand for more than {MOST:,} values"
                )
            return None
        if is_object(value):
            items = value
            target = items.get("$ref")
            if isinstance(target, str):
                return self._target(target, items, home, path)
            return {
                k: v if k == "parameters" else self._replaced(v, home, (*path, k))
                for k, v in items.items()
            }
        if is_array(value):
            rows = enumerate(value)
            return [self._replaced(v, home, (*path, i)) for i, v in rows]
        return value

    def _target(
        self, target: str, items: Mapping[str, object], home: Document, at: Path_
    ) -> object:
        here = home.at(*at, "$ref")
        name, _, path = target.partition("#")
        document: Document | None = home
        if name:
            file = home.file.parent / name.removeprefix("file://")
            if file not in self._others:
                self._others[file] = read_document(file, self._findings, here)
            document = self._others[file]
        if document is None:
            return None
        target_value = document.value
        if document is self._document:
            self.lending.add(path.strip("/").partition("/")[0])
        for part in filter(None, path.split("/")):
            # JSON Pointer writes `/` as `~1` and `~` as `~0`; the other order would turn `~01` into `/`.
            inside = _inside(target_value, part.replace("~1", "/").replace("~0", "~"))
            if inside is None:
                there = target_value if is_mapping(target_value) else {}
                # A schema's own references look the same, and lead to parts of the schema.
                self._findings.hint(
                    here,
                    f"$ref: '{target}' is left as it is: there is no '{part}'",
                    did_you_mean(part, there),
                )
                return dict(items)
            target_value = inside
        step = (document.file, path)
        if step in self._under_way:
            round_ = [*self._under_way[self._under_way.index(step) :], step]
            self._findings.problem(
                here,
                f"$ref: '{target}' leads back to itself: "
                + " → ".join(_reference(file, part, self._document.file) for file, part in round_),
                "Write out what is meant in one of them.",
            )
            return None
        self._under_way.append(step)
        inside_path = tuple(filter(None, path.split("/")))
        target_value = self._replaced(target_value, document, inside_path)
        self._under_way.pop()
        beside = {k: self._replaced(v, home, (*at, k)) for k, v in items.items() if k != "$ref"}
        if beside and is_mapping(target_value):
            return {**target_value, **beside}
        return target_value


def _reference(file: Path, path: str, home: Path) -> str:
    return f"{'' if file == home else file.name}#{path}"


def _inside(value: object, part: str) -> object:
    if is_mapping(value):
        return value.get(part)
    if is_array(value) and part.isdigit():
        items = value
        return items[int(part)] if int(part) < len(items) else None
    return None

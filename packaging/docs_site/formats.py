"""What the pages on formats and their JSON Schemas take from the records of documents.

`python packaging/docs_site/formats.py` writes the tables anew: each stands between `<!-- keys: module:Class -->` and
`<!-- end -->`, below its heading. The text and the example of a page are written by hand.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, UnsetType

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ROOT / "docs" / "formats"
_BLOCK = re.compile(
    r"^## (.+)\n((?:(?!^## |<!-- keys).*\n)*<!-- keys: (.+) -->\n\n\| key .+\n\| --- .+\n)(?s:.*?)<!-- end -->",
    re.MULTILINE,
)
_WORDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    dict: "object",
    Any: "any",
    object: "any",
}

Places = Mapping[type[Struct], Mapping[str, str]]
"""By class the pages that have its table, and the heading there."""


def record(place: str) -> type[Struct]:
    """The class that `module:Class` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def pages() -> list[Path]:
    """The pages on formats that have tables of records."""
    return [
        page for page in sorted(FORMATS.glob("*-1.md")) if _BLOCK.search(page.read_text("utf-8"))
    ]


def places() -> Places:
    """Where the table of each class stands."""
    tables: dict[type[Struct], dict[str, str]] = {}
    for page in pages():
        for heading, _, name in _BLOCK.findall(page.read_text("utf-8")):
            tables.setdefault(record(name), {})[page.name] = heading
    return tables


def keys(kind: type[Struct]) -> Iterator[tuple[str, Any, Meta]]:
    """The keys of a class: the name, the type without null and absence, and what is said of it."""
    config = kind.__struct_config__
    if config.tag is not None:
        yield str(config.tag_field), str, Meta(description=f"`{config.tag}`")
    for field in msgspec.structs.fields(kind):
        shape, meta = field.type, Meta()
        if typing.get_origin(shape) is Annotated:
            # A type with bounds of its own, `Annotated[int, Meta(ge=0)]`, and the key become one annotation.
            shape, *_, meta = typing.get_args(shape)
        if typing.get_origin(shape) in (typing.Union, types.UnionType):
            parts = [one for one in typing.get_args(shape) if one not in (type(None), UnsetType)]
            shape = typing.Union[tuple(parts)]  # noqa: UP007 (made of a list)
        yield field.encode_name, shape, meta


def words(shape: Any, page: str, where: Places) -> str:
    """A type as the tables have it."""
    origin, args = typing.get_origin(shape), typing.get_args(shape)
    if origin is Annotated:
        return words(args[0], page, where)
    if isinstance(shape, type) and issubclass(shape, Struct):
        if shape not in where:
            msg = (
                f"{page} needs a section for {shape.__name__}: a heading, `<!-- keys: {shape.__module__}:"
                f"{shape.__name__} -->`, the head of a table and `<!-- end -->`"
            )
            raise LookupError(msg)
        other = page if page in where[shape] else next(iter(where[shape]))
        heading = where[shape][other]
        anchor = heading.lower().replace(" ", "-")
        return f"[{heading}]({'' if other == page else other}#{anchor})"
    if origin in (list, tuple, Sequence):
        return f"list of {words(args[0], page, where)}"
    if origin is Literal:
        return words(type(args[0]), page, where)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(words(one, page, where) for one in args)
    return _WORDS[dict if origin is not None else shape]


def table(kind: type[Struct], page: str, where: Places) -> str:
    """The rows of the table of a class."""
    rows: list[str] = []
    for name, shape, meta in keys(kind):
        about = meta.extra or {}
        type_ = about.get("type") or words(shape, page, where)
        cells = (
            f"`{name}`",
            type_,
            about.get("unit"),
            about.get("null", "never"),
            meta.description,
        )
        rows.append("".join(f"| {cell} " if cell else "| " for cell in cells) + "|")
    return "\n".join(rows)


def with_tables(page: Path, where: Places) -> str:
    """A page with each of its tables made anew."""
    return _BLOCK.sub(
        lambda match: (
            f"## {match[1]}\n{match[2]}{table(record(match[3]), page.name, where)}\n\n<!-- end -->"
        ),
        page.read_text("utf-8"),
    )


def schema(page: Path) -> dict[str, Any]:
    """The JSON Schema of a page's document, or of each line of its file: of its classes that are in no other."""
    classes = [record(name) for _, _, name in _BLOCK.findall(page.read_text("utf-8"))]
    (refs, parts) = msgspec.json.schema_components(classes, ref_template="#/$defs/{name}")
    inside = str(list(parts.values()))
    tops = [ref for ref in refs if repr(ref["$ref"]) not in inside]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **(tops[0] if len(tops) == 1 else {"anyOf": tops}),
        "$defs": parts,
    }


def whole_pages() -> list[Path]:
    """The pages of which every table is made from a record."""
    texts = {page: page.read_text("utf-8") for page in pages()}
    return [
        page for page, text in texts.items() if text.count("\n| key |") == len(_BLOCK.findall(text))
    ]


def write_schemas(folder: Path) -> None:
    """Writes the schema of each format beside its page, where records say all of it."""
    for page in whole_pages():
        text = json.dumps(schema(page), indent=1, ensure_ascii=False)
        (folder / f"{page.stem}.schema.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    where = places()
    for page in pages():
        page.write_text(with_tables(page, where), "utf-8")

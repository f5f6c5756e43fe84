"""Documents: what is written as JSON for programs, `evenhand.gate/1` and its like.

How this works: each object of a format is one record. Its fields are the keys in the order in which they are
written, and `Key` says of each what its page says: the unit, when it is null, and what it means. The tables of
`docs/formats` and the JSON Schemas are made from the records by `packaging/docs_site/formats.py`. Annotations are
evaluated only there, and where a document is read back: writing one costs no more for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Meta, Struct

_S = TypeVar("_S", bound=Struct)


def Key(  # noqa: N802 (it stands in annotations, as a type does)
    means: str = "",
    unit: str = "",
    *,
    null: str = "never",
    type: str = "",  # noqa: A002 (the column's name)
) -> Meta:
    """The row of a key in the table of its page: it stands in the annotation of a field.

    `cost_usd: Annotated[float | None, Key("what was spent", "US dollars", null="a price is not known")]`

    Args:
        means: What it is, as the page's table has it.
        unit: Its unit; empty for none.
        null: When it is null, or left out.
        type: What it holds, in words; without it, what its annotation says.
    """
    return Meta(description=means or None, extra={"unit": unit, "null": null, "type": type})


def as_object(record: Struct, late: Callable[[Any], object] | None = None) -> dict[str, Any]:
    """A record of a document as a JSON-ready dict. Keys that are `UNSET` are left out.

    Args:
        late: Makes what stands for a value, as a `map` for a list, into it.
    """
    return msgspec.to_builtins(record, enc_hook=late)


def filled(kind: type[_S], source: object, /, **keys: Any) -> _S:
    """A record with the attributes of another value that have the names of its keys.

    Args:
        source: What has the attributes. They are taken as they are: 1 stays 1, and 1.0 stays 1.0.
        keys: What is not an attribute, or has another value.
    """
    names = (name for name in kind.__struct_fields__ if name not in keys)
    return kind(**{name: getattr(source, name) for name in names}, **keys)

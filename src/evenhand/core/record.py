"""Records: values with named fields, made by C code.

`class Case(Record, frozen=True)` is what `@dataclass(frozen=True, slots=True) class Case` would be, with the same
arguments, comparisons, hashes and text. A dataclass compiles its methods when its module is imported, which takes up to
a millisecond for each class, and its `__init__` is Python's.

The functions of `dataclasses` take records too: `replace`, `asdict`, `fields`, `is_dataclass`; where it counts,
`msgspec.structs.replace` is faster. What a record has no place for: fields that are left out of `__init__`, of
the text or of comparisons. Such a class remains a dataclass.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dataclasses import Field
    from typing import Any, ClassVar


class _DataclassFields:
    """A record's fields as `dataclasses` has them, made when somebody asks for them."""

    def __get__(self, record: object, kind: type[Record | MutableRecord]) -> dict[str, Field[Any]]:
        if kind in (
            Record,
            MutableRecord,
        ):  # `dataclass` asks, for a class that derives from a record
            msg = "a class that derives from a record is one: write `class Name(Base, frozen=True):` without @dataclass"
            raise TypeError(msg)
        return _dataclass_fields(kind)


@cache
def _dataclass_fields(kind: type[Record | MutableRecord]) -> dict[str, Field[Any]]:
    from dataclasses import field, make_dataclass  # noqa: PLC0415 (imported on use)

    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    hints = {
        k: v for c in reversed(kind.__mro__) for k, v in getattr(c, "__annotations__", {}).items()
    }
    required = len(names) - len(defaults)
    written: list[tuple[str, Any, Any]] = []
    for place, name in enumerate(names):
        default = defaults[place - required] if place >= required else msgspec.NODEFAULT
        factory = getattr(default, "factory", None)
        if default is msgspec.NODEFAULT:
            stated = field()
        elif type(default).__name__ == "Factory" and factory is not None:
            stated = field(default_factory=factory)
        else:
            stated = field(default=default)
        written.append((name, hints[name], stated))
    # Without a docstring it would be given its signature, which takes longer to work out than all else.
    own = {"__doc__": kind.__name__}
    twin = make_dataclass(kind.__name__, written, namespace=own, init=False, repr=False, eq=False)
    return twin.__dataclass_fields__


class MutableRecord(msgspec.Struct):
    """The base of records whose fields may be set."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _DataclassFields()


class Record(msgspec.Struct, frozen=True):
    """The base of all others: as a frozen dataclass, it can't be changed and can be hashed."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _DataclassFields()

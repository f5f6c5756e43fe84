"""Whether a record that somebody else made is as its class declares it: Python does not check what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, cast

import msgspec

from evenhand.core.malformed import shape_fault

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def misfit(record: object, **instead: object) -> str:
    """The first field that is not of the type that its class declares; empty where there is none.

    Args:
        record: A record or a dataclass, whose declared types are those of JSON and other records.
        instead: What to look at in place of a field's value, by name.
    """
    names = [one.name for one in fields(cast("DataclassInstance", record))]
    values = {name: getattr(record, name) for name in names} | instead
    # A float of NumPy's is one; msgspec takes no subclass.
    plain = {k: float(v) if isinstance(v, float) else v for k, v in values.items()}
    try:
        fit: object = msgspec.convert(plain, type(record))
    except msgspec.ValidationError as error:
        return shape_fault(error)
    unmade = (name for name in names if _is_unmade(plain[name], getattr(fit, name)))
    return next((f"`{name}` is not of a record's class" for name in unmade), "")


def _is_unmade(value: object, fit: object) -> bool:
    """Whether this is what a record could be made of, or a list of such, and not yet one."""
    if fit is value:
        return False
    if isinstance(fit, (list, tuple)):
        pairs = zip(cast("Sequence[object]", value), cast("Sequence[object]", fit), strict=True)
        return any(_is_unmade(*pair) for pair in pairs)
    return isinstance(fit, msgspec.Struct) and not isinstance(value, msgspec.Struct)

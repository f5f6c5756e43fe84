"""Packages that import what they offer only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import ModuleType


def lazily(
    package: str, homes: Mapping[str, str], above: str = "", modules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of such a package, which lists its public names and nothing of its making.

    Args:
        package: Its name.
        homes: Each name that is imported late, and the module below the package that has it.
        above: The package that the modules are below instead.
        modules: Public modules of it, which are imported when they are asked for.
    """

    def of_name(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        home = homes.get(name)
        if home is None:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg, name=name, obj=sys.modules[package])
        return getattr(import_module(f"{above or package}.{home}"), name)

    def listed() -> list[str]:
        there = vars(sys.modules[package])
        own = {n for n, v in there.items() if isinstance(v, ModuleType) or n.startswith("__")}
        return sorted({*homes, *own, *there["__all__"]})

    return of_name, listed

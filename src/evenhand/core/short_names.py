"""Public modules under short names: `evenhand.conversations` is `evenhand.doors.conversations`.

A public name outlives the folder that its code lies in. Both names mean one module, which is imported once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

HOMES = {
    "evenhand.conversations": "evenhand.doors.conversations",
    "evenhand.importers": "evenhand.doors.importers",
    "evenhand.isolation": "evenhand.doors.isolation",
    "evenhand.metrics": "evenhand.scorers.metrics",
    "evenhand.promptfoo": "evenhand.doors.promptfoo",
    "evenhand.pytest_plugin": "evenhand.doors.pytest_plugin",
    "evenhand.recording": "evenhand.doors.recording",
}


class _Same:
    """Gives the module that is there already, unchanged."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        module = import_module(self.home)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just put the short name's there


class ShortNames:
    """Finds public modules, and what lies below them, by their short names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if not fullname.startswith("evenhand."):
            return None
        for short, home in HOMES.items():
            if fullname == short or fullname.startswith(f"{short}."):
                loader = _Same(home + fullname.removeprefix(short))
                return ModuleSpec(fullname, loader, is_package=True)  # pyright: ignore[reportArgumentType] (it loads)
        return None


def install() -> None:
    """Makes the short names importable, once."""
    if not any(isinstance(finder, ShortNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, ShortNames())  # before the finder of what lies below

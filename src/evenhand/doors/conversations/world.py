"""The world that an agent acts in: a state that is copied for each trial, and tools that change it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast, overload

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.doors.conversations.database_world import DatabaseWorld
from evenhand.doors.conversations.dict_world import DictWorld


class World:
    """Worlds for trials: `World.copy(of="shop.db")` or `World.copy(of={"orders": {…}})`, in a fixture.

    A world has tools, which its decorator `tool` makes of functions, the `calls` that were made of them, and
    `changes()`, which says what is not as it was. See `DatabaseWorld` and `DictWorld`.
    """

    @overload
    @staticmethod
    def copy(of: str | PathLike[str]) -> DatabaseWorld: ...
    @overload
    @staticmethod
    def copy(of: Mapping[str, Any]) -> DictWorld: ...
    @staticmethod
    def copy(of: Any) -> Any:
        """A copy of a state: of a SQLite file, of what a script of SQL (`.sql`) makes, or of a dict.

        Raises:
            UsageError: It is neither, or the file cannot be read.
        """
        if is_mapping(of):
            return DictWorld(of)
        if isinstance(of, (str, PathLike)):
            return DatabaseWorld(Path(cast("str", of)))
        raise UsageError(
            f"World.copy: of is {of!r:.60}",
            hint="Name a SQLite file, or give a dict: World.copy(of={…}).",
        )

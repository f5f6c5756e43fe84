"""A world whose state is a dict, copied for each trial."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from evenhand.core.arguments import checked_class
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.doors.conversations.toolbox import Toolbox

_MISSING = object()


@checked_class
class DictWorld(Toolbox):
    """A world whose state is a dict.

    >>> world = DictWorld({"orders": {"1042": {"state": "late"}}})
    >>> world.state["orders"]["1042"]["state"] = "refunded"
    >>> world.changes()
    {'orders.1042.state': ('late', 'refunded')}

    Attributes:
        state: It, for tools to change.
    """

    def __init__(self, of: Mapping[str, Any]) -> None:
        super().__init__()
        # Two copies: tools change `state` at any depth, and neither the other copy nor the caller's dict may follow.
        self._before = copy.deepcopy(dict(of))
        self.state: dict[str, Any] = copy.deepcopy(dict(of))

    def changes(self) -> dict[str, tuple[Any, Any]]:
        """What is not as it was: path → (before, now), None where there was or is nothing. Empty for no change.

        Raises:
            UsageError: Two changes have one path, as of the keys `1` and `"1"`, or of `"a.b"` beside `b` in `a`.
        """
        changes: dict[str, tuple[Any, Any]] = {}
        for path, change in sorted(_changes("", self._before, self.state), key=itemgetter(0)):
            if path in changes:
                raise UsageError(
                    f"World.changes: two changes have the path {path}",
                    hint="Look at world.state, or give the keys other names.",
                )
            changes[path] = change
        return changes


def _changes(path: str, before: object, now: object) -> Iterator[tuple[str, tuple[Any, Any]]]:
    if is_mapping(before) and is_mapping(now):
        for key in [*before, *(key for key in now if key not in before)]:
            yield from _changes(f"{path}.{key}", before.get(key, _MISSING), now.get(key, _MISSING))
    elif is_array(before) and is_array(now):
        old_items, new_items = before, now
        for at in range(max(len(old_items), len(new_items))):
            old_item = old_items[at] if at < len(old_items) else _MISSING
            new_item = new_items[at] if at < len(new_items) else _MISSING
            yield from _changes(f"{path}[{at}]", old_item, new_item)
    elif before is _MISSING or now is _MISSING or _differ(before, now):
        yield (
            path.lstrip("."),
            (None if before is _MISSING else before, None if now is _MISSING else now),
        )


def _differ(before: object, now: object) -> bool:
    """Whether two values differ. To Python, `True` is 1; in a state, it is something else."""
    return isinstance(before, bool) is not isinstance(now, bool) or before != now

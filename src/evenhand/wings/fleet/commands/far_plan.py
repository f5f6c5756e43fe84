"""A run's plan, built again by a worker of its fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.plan import Plan


@contextlib.contextmanager
def far_plan(record: Mapping[str, Any]) -> Iterator[Plan]:
    """Inside, the plan can be run.

    Args:
        record: What was asked for (`asked`), by which version (`version`), and the folder of the driver's machine that
            was sent here, as the current one (`folder`); an empty one where the files are at their places.
    """
    from evenhand.cli.offline import offline_answers
    from evenhand.cli.run_request import Asked
    from evenhand.scorers.rag.definitions import OURS, using_definitions

    original = dict(record["asked"])
    folder = str(record["folder"])
    if folder:
        original = _moved(original, folder, str(Path.cwd()))
    request = Asked.again(original, str(record["version"]))
    offline = offline_answers(request.folder) if request.offline else contextlib.nullcontext()
    with offline, using_definitions(request.definitions or OURS):
        yield request.plan()


def _moved(value: Any, before: str, now: str) -> Any:
    """What was asked for, with the paths of one folder as those of another."""
    if isinstance(value, str):
        inside = value == before or value.startswith(f"{before}/")
        return now + value[len(before) :] if inside else value
    if isinstance(value, Mapping):
        return {name: _moved(one, before, now) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_moved(one, before, now) for one in value]
    return value

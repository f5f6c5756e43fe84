"""What to say of expectations and tasks that outlive their trial."""

from __future__ import annotations

import asyncio
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.expect import Expectation
from evenhand.core.traits import label_of
from evenhand.engine.outcome import first_line
from evenhand.engine.place import users_line


def too_late(expectation: Expectation) -> CodeError:
    """What to say of an expectation that comes when its trial is settled."""
    name = expectation.label or label_of(expectation.scorer)
    return CodeError(
        f"expected after the trial had ended: {name}",
        hint=f"Await, or join, what expects before the function returns. {users_line()}".strip(),
    )


def task_name(task: asyncio.Task[Any]) -> str:
    """The function that a task runs."""
    name = getattr(task.get_coro(), "__qualname__", task.get_name())
    return str(name).rpartition("<locals>.")[2]


def task_error(task: asyncio.Task[Any], error: BaseException) -> CodeError:
    """What to say of a task that raised, and that nobody awaited."""
    return CodeError(f"the task {task_name(task)} raised {first_line(error)}")

"""What `probe`, `canaries` and `calibrate --try` share: they ask a run's judges again, in a run of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenhand.cli.session import Session
from evenhand.cli.settling import SCRIPTED, safe_text, settle
from evenhand.cli.streams import tell

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Finished, Settings


class JudgeRequest(Protocol):
    """What judges are asked, as far as it says who answers."""

    @property
    def offline(self) -> bool:
        """Whether answers come from the folder's offline.jsonl."""
        ...

    @property
    def folder(self) -> Path:
        """Where offline.jsonl is."""
        ...

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics; empty for ours."""
        ...


@contextlib.contextmanager
def as_asked(request: JudgeRequest) -> Iterator[None]:
    """Inside, models and definitions are those of the request."""
    from evenhand.cli.offline import offline_answers
    from evenhand.engine.process import own_process
    from evenhand.scorers.rag.definitions import OURS, using_definitions

    replies = offline_answers(request.folder) if request.offline else contextlib.nullcontext()
    with own_process(), replies, using_definitions(request.definitions or OURS):
        yield


def judges_asked(
    request: JudgeRequest, plan: Plan, settings: Settings, file: Path | None, session: Session
) -> Finished:
    """Asks the judges.

    Args:
        file: The run to go on with; None for a new one.
    """
    settings = replace(settings, free=request.offline)
    return settle(plan, settings, file, session, source=SCRIPTED if request.offline else "")


def ended(finished: Finished, code: int, name: str) -> int:
    """The exit code; it says so where not all was asked.

    Args:
        code: Of what was found, if all was.
        name: What the run is called, e.g. `probe`.
    """
    from evenhand.cli.exits import code_for
    from evenhand.store.catalogue import called

    ending = finished.ending
    if ending.status == "finished":
        return code
    resume = f"evenhand resume {called(Path.cwd(), finished.path)}"
    tell(safe_text(f"the {name} stopped early: {ending.message}; {resume} continues it"))
    return code_for("undecided", ending.status, ending.signal)

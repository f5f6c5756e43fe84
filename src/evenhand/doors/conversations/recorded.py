"""Conversations of earlier runs, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping
from evenhand.doors.conversations.talk import Ended, Talk
from evenhand.doors.conversations.tool_table import run_path
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile


def recorded_talk(
    run: str | Path, case: str, *, repeat: int = 0, variant: int | None = None
) -> Talk:
    """The conversation of a case in an earlier run: see `Conversation.recorded`."""
    path = run_path(run)
    with RunFile.open(path) as file:
        for place, id_, index, number in file.places():
            if (id_, number) != (written_case(case), repeat) or variant not in (None, index):
                continue
            trial = file.trial(place)
            stored: object = trial.kept if trial is not None else None
            fields = as_mapping(stored)
            messages = fields.get("conversation")
            if isinstance(messages, list):
                ended = cast("Ended", str(fields.get("ended", "open")))
                return Talk.of(cast("list[list[str]]", messages), ended)
    raise UsageError(
        f"run {path.stem} has no conversation of case '{case}', repeat {repeat}",
        hint="`evenhand show` lists its cases.",
    )

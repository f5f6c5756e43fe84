"""Answers from a file in place of models, for `--offline`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.scripted import scripted_at
from evenhand.core.wording.words import near

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.library import Library
    from evenhand.testing import Script

MOST = 8
"""So many stretches of lines are named."""


@contextlib.contextmanager
def offline_answers(folder: Path) -> Iterator[Script]:
    """Inside, the vendors' addresses lead to a server of our own that answers from the folder's offline.jsonl.

    Yields:
        What it answers.

    Raises:
        UsageError: The folder has none.
    """
    from evenhand.providers.prices import away_from_home_unpaid
    from evenhand.testing import FakeProvider, Script

    script = folder / "offline.jsonl"
    if not script.is_file():
        below = next(
            (f for deep in ("*", "*/*") for f in folder.glob(f"{deep}/{script.name}")), None
        )
        if below is None:
            raise no_script(str(folder))
        raise UsageError(
            f"--offline: there is no offline.jsonl in {folder}",
            hint=f"There is one in {near(below.parent)}, which is not read from here: move or copy it.",
        )
    with (
        FakeProvider(Script.read(script)) as fake,
        away_from_home_unpaid(),
        scripted_at(fake.url),
        environment_kept(),
    ):
        os.environ.update(fake.env())
        yield fake.script


def no_script(places: str) -> UsageError:
    """That no file answers in the places where one would be read."""
    return UsageError(
        f"--offline: there is no offline.jsonl in {places}",
        hint='Write it, one rule a line: {"match": "refund", "reply": "Within 30 days."}',
    )


def prompts_script(library: Library, ids: Sequence[str]) -> Path:
    """The folder whose offline.jsonl answers these prompts: a single prompt's own, or that of the library.

    Raises:
        UsageError: Neither has one, or only single prompts of several have.
    """
    folders = [library.prompts / one for one in ids]
    own = [folder for folder in folders if (folder / "offline.jsonl").is_file()]
    if own and len(ids) == 1:
        return own[0]
    if (library.root / "offline.jsonl").is_file():
        return library.root
    if own:
        raise UsageError(
            f"--offline: there is no offline.jsonl in {near(library.root)} that answers {len(ids)} prompts",
            hint="Write it, or run one prompt with its own replies: evenhand run "
            f"{near(own[0])} --offline",
        )
    beside = f"{near(folders[0])}, or in " if len(ids) == 1 else ""
    raise no_script(f"{beside}{near(library.root)}")


def unused_rules(script: Script, *, always: bool) -> list[str]:
    """A line that names the rules of a script that answered nothing; none where all answered, or nothing was asked.

    Other commands may need them. So they are named only where one of them may be meant for a request that was refused.

    Args:
        always: Name them also if no request was refused.
    """
    from evenhand.analysis.summaries.column_names import in_ranges

    lines = script.unused_lines
    if not lines or not (script.refused or always):
        return []
    stretches = [name.replace("#", "") for name in in_ranges([f"#{line}" for line in lines])]
    listed = ", ".join(stretches[:MOST]) + (" …" if len(stretches) > MOST else "")
    rules = "the rule on line" if len(lines) == 1 else f"{len(lines):,} rules, on lines"
    return [f"{script.file}: no request matched {rules} {listed}"]


def script_digest(folder: Path) -> str:
    """A digest of what the folder's offline.jsonl would answer; empty where there is none."""
    script = folder / "offline.jsonl"
    return digest(script.read_bytes()) if script.is_file() else ""


@contextlib.contextmanager
def environment_kept() -> Iterator[None]:
    """Afterwards, the variables of the environment are what they were, whatever was made of them."""
    before = dict(os.environ)
    try:
        yield
    finally:
        # Not clear() and update(): in between, another thread would find nothing.
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def without_keys() -> Iterator[None]:
    """Inside, no model lacks a key: nothing is sent to any."""
    from evenhand.providers.leading import keys_not_needed

    with environment_kept():
        os.environ.update(keys_not_needed(os.environ))
        yield

"""Answers from a file in place of models, for `--offline`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.scripted import scripted_at
from evenhand.core.wording.words import near

if TYPE_CHECKING:
    from evenhand.testing import Script

MOST = 8
"""So many stretches of lines are named."""


@contextlib.contextmanager
def offline_answers(folder: Path) -> Iterator[Script]:
    """Inside, the vendors' addresses lead to a server of our own that answers from the folder's offline.jsonl.

    Yields:
        What it answers.
    """
    from evenhand.providers.prices import away_from_home_unpaid
    from evenhand.testing import FakeProvider, Script

    script = folder / "offline.jsonl"
    if not script.is_file():
        below = next(
            (f for deep in ("*", "*/*") for f in folder.glob(f"{deep}/{script.name}")), None
        )
        raise UsageError(
            f"--offline: there is no offline.jsonl in {folder}",
            hint='Write it, one rule a line: {"match": "refund", "reply": "Within 30 days."}'
            if below is None
            else f"There is one in {near(below.parent)}, which is not read from here: move or copy it.",
        )
    with (
        FakeProvider(Script.read(script)) as fake,
        away_from_home_unpaid(),
        scripted_at(fake.url),
        environment_kept(),
    ):
        os.environ.update(fake.env())
        yield fake.script


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

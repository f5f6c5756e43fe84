"""The lines that the bench of judges prints, and its random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

SEED = 20_240_229


class Line(NamedTuple):
    """A line of the table.

    Attributes:
        what: What was measured.
        measured: What came of it.
        goal: What should; empty where there is none.
        met: Whether it does; None where there is no goal.
    """

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None


def seeded(*names: object) -> Random:
    """Random numbers that don't depend on what was drawn before."""
    return Random(" ".join(map(str, (SEED, *names))))


def print_lines(title: str, lines: Sequence[Line]) -> None:
    """A part of the table."""
    width = max(len(line.what) for line in lines)
    print(f"\n{title}")
    for line in lines:
        verdict = "" if line.met is None else "met" if line.met else "MISSED"
        goal = f"  | {line.goal}" if line.goal else ""
        print(f"  {verdict:6}  {line.what:<{width}}  {line.measured}{goal}", flush=True)

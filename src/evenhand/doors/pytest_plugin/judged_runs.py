"""What judges said in a session, and whether people have checked it: the lines below pytest's summary."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evenhand.analysis.trust.corrected_bounds import is_unchecked
from evenhand.core.errors import EvenhandError
from evenhand.core.record import Record
from evenhand.core.wording.words import safe
from evenhand.render.calibration_text import judged_lines
from evenhand.store.runfile import RunFile

MOST = 10
"""Lines for one run; `evenhand show` has them all."""
WIDTH = 100


class JudgesStanding(Record, frozen=True):
    """How the judges of a session stand.

    Attributes:
        lines: Their numbers: corrected, or not checked against people.
        undecided: Whether calibration is required, and one of them has none that holds.
    """

    lines: tuple[str, ...] = ()
    undecided: bool = False


def standing_of(runs: Iterable[Path]) -> JudgesStanding:
    """How the judges stand in these runs: one run, or one of each worker."""
    lines: list[str] = []
    undecided = False
    for path in runs:
        # Anew for each run: one that cannot be opened must not inherit what the run before requires.
        required = False
        try:
            with RunFile.open(path) as run:
                names = [variant.prompt for variant in run.meta.variants]
                required = run.meta.settings.get("calibrated") == "required"
                undecided |= required and is_unchecked(run)
                lines += _shortened(judged_lines(run, names, WIDTH))
        except EvenhandError as error:
            undecided |= required
            lines += [f"! {safe(line)}" for line in str(error).splitlines()]
    return JudgesStanding(tuple(lines), undecided)


def _shortened(lines: list[str]) -> list[str]:
    if not lines:
        return []
    head, *rest = lines
    more = len(rest) - MOST
    first = rest[:MOST] if more > 0 else rest
    return [
        f"evenhand:{head.removeprefix(' ')}",
        *first,
        *([f"    … and {more:,} lines more: evenhand show"] if more > 0 else []),
    ]

"""Where in a run the trials are that findings are about: looked for once, and not once for each kind of finding."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.record import Record
from evenhand.core.score import TRIGGER_MEASURES
from evenhand.store.runfile import RunFile
from evenhand.store.settled import metric_sign, warning_sign

PREFERENCE = "consistent"
"""A key of the metadata of every preference, and of little else."""
TRIGGERING = "triggering"
"""The key of a case's metadata that says that it is a trigger test."""
TAGS = b'"tags":'
"""What stands in the JSON of a trial whose case has tags."""
UNSURE = "low confidence"
"""How the warning of a judgement begins that the judge is not sure of."""


class Marked(Record, frozen=True):
    """The places in the plan of trials that some findings are about, each in ascending order.

    Attributes:
        judged: Those with a judgement of low confidence or a preference, and maybe others.
        triggers: Those of trigger tests, and maybe others.
        tagged: Those of cases with tags.
    """

    judged: Sequence[int] = ()
    triggers: Sequence[int] = ()
    tagged: Sequence[int] = ()


def marked(run: RunFile) -> Marked:
    """Looks through a run's results.

    Raises:
        StoreError: The run file cannot be read.
    """
    unsure, preferred, measured, triggering, tagged = run.places_with(
        warning_sign(UNSURE),
        metric_sign(PREFERENCE),
        metric_sign(TRIGGER_MEASURES),
        metric_sign(TRIGGERING),
        TAGS,
    )
    return Marked(_either(unsure, preferred), _either(measured, triggering), tagged)


def _either(first: Sequence[int], second: Sequence[int]) -> Sequence[int]:
    return sorted({*first, *second}) if first and second else first or second

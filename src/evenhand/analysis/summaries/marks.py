"""Where in a run the trials are that findings are about: looked for once, and not once for each kind of finding."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.analysis.summaries.preferences import SIGN
from evenhand.analysis.summaries.skill_discovery import TRIGGERING
from evenhand.core.record import Record
from evenhand.scorers.agents.trigger_metrics import MEASURES
from evenhand.store.runfile import RunFile
from evenhand.store.settled import metric_sign, warning_sign

UNSURE = "low confidence"
"""How the warning of a judgement begins that the judge is not sure of."""


class Marked(Record, frozen=True):
    """The places in the plan of trials that some findings are about, each in ascending order.

    Attributes:
        judged: Those with a judgement of low confidence or a preference, and maybe others.
        triggers: Those of trigger tests, and maybe others.
    """

    judged: Sequence[int] = ()
    triggers: Sequence[int] = ()


def marked(run: RunFile) -> Marked:
    """Looks through a run's results.

    Raises:
        StoreError: The run file cannot be read.
    """
    unsure, preferred, measured, triggering = run.places_with(
        warning_sign(UNSURE), metric_sign(SIGN), metric_sign(MEASURES), metric_sign(TRIGGERING)
    )
    return Marked(_either(unsure, preferred), _either(measured, triggering))


def _either(first: Sequence[int], second: Sequence[int]) -> Sequence[int]:
    return sorted({*first, *second}) if first and second else first or second

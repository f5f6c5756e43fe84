"""A number of a trial that several scorers give isn't known where one of them is in error."""

from __future__ import annotations

from collections.abc import Mapping

from tests.runs import Make, result

from evenhand.core.expect import named_scores
from evenhand.core.run import TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import parts

TWO = (Variant(0, "a", "m"), Variant(1, "b", "m"))
FORM = Outcome("form", "pass", 1.0, named={"style": 1.0})
TONE = Outcome("tone", "pass", 1.0, named={"style": 0.5, "warmth": 0.2})
BROKEN = Outcome("tone", "error", None)


def trial(index: int, *outcomes: Outcome, variant: int = 0) -> TrialResult:
    """What a trial with these outcomes comes to."""
    broken = any(one.outcome == "error" for one in outcomes)
    return result(
        index,
        variant=variant,
        outcomes=outcomes,
        named_scores=named_scores(outcomes),
        ok=None if broken else True,
        error=TrialError("code", "tone raised", "") if broken else None,
    )


def numbers(run: RunFile) -> list[Mapping[str, float]]:
    """Those of each trial."""
    return [one.named_scores for one in run.trials()]


async def test_a_number_with_a_part_in_error_is_not_known_however_a_trial_is_read(make_run: Make):
    """The other scorer's part alone would be shown as the whole."""
    run = await make_run([trial(0, FORM, BROKEN), trial(1, FORM, TONE)])
    whole = {"style": 0.75, "warmth": 0.2}
    assert numbers(run) == [{}, whole]
    assert [one and one.named_scores for one in map(run.trial, (0, 1))] == [{}, whole]
    assert [one.named_scores for one in run.matching("error", 9)] == [{}]
    (block,) = (part.line for part in parts(run))
    assert b'"style":[null,0.75]' in block


async def test_a_number_that_only_others_give_stays(make_run: Make):
    """In the other column, `tone` gives no `style`, whatever it came to."""
    silent = Outcome("tone", "pass", 1.0, named={"warmth": 0.2})
    run = await make_run(
        [
            trial(0, FORM, BROKEN),
            trial(1, FORM, TONE),
            trial(2, FORM, BROKEN, variant=1),
            trial(3, FORM, silent, variant=1),
        ],
        TWO,
    )
    assert numbers(run)[0] == {}
    assert numbers(run)[2] == {"style": 1.0}

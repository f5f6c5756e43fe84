"""What people said of compared pairs counts again where the same outputs were compared, and nowhere else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.runs import Make
from tests.unit.analysis.trust.labels.test_ranking_labels import STRENGTHS, better, label
from tests.unit.analysis.trust.test_standings import NAME, VARIANTS, drawn

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.labels.carried_labels import carry_labels
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.store.labels.stored_draws import add_pair_labels, standing_pair_labels
from evenhand.store.runfile import RunFile


async def labelled(make: Make) -> RunFile:
    """A run with a ranking, and labels on a draw of its 180 pairs."""
    return label(await make(drawn(60, STRENGTHS), VARIANTS[:3]), 90, better([0, 1, 2]))


def edited(trial: TrialResult) -> TrialResult:
    """The trial with another output."""
    return replace(trial, output="another text")


async def test_labels_of_a_ranking_count_again_with_their_draw(make_run: Make):
    """With their authors and times, and so with their calibration."""
    old = await labelled(make_run)
    new = await make_run(drawn(60, STRENGTHS), VARIANTS[:3])
    carry_labels(old, new)
    with RunFile.open(new.path) as again:
        assert standing_pair_labels(again.pair_labels()) == standing_pair_labels(old.pair_labels())
        (before,), (now,) = (
            calibrate(old).document()["rankings"],
            calibrate(again).document()["rankings"],
        )
        assert before == now
        assert now["labels"] == 90


async def test_a_pair_with_another_output_has_no_label_and_its_run_no_draw(make_run: Make):
    """What stayed the same is no random part of the draw."""
    old = await labelled(make_run)
    changed = old.pair_labels()[0].pair[0]
    trials = [edited(one) if one.index == changed else one for one in drawn(60, STRENGTHS)]
    new = await make_run(trials, VARIANTS[:3])
    which = carry_labels(old, new)
    with RunFile.open(new.path) as again:
        concerned = [one for one in old.pair_labels() if changed in one.pair]
        assert which.different == len(concerned) > 0
        assert len(again.pair_labels()) == 90 - len(concerned)
        assert again.pair_draws() == []
    every = await make_run([edited(one) for one in drawn(60, STRENGTHS)], VARIANTS[:3])
    with pytest.raises(UsageError, match=r"90 labels of run .* none is carried over"):
        carry_labels(old, every)


async def test_labels_by_other_criteria_are_left_out(make_run: Make):
    """Another ranking asks something else of the same outputs."""
    old = await labelled(make_run)
    trials = [
        replace(one, outcomes=(replace(one.outcomes[0], name='ranking by "y"'),))
        for one in drawn(60, STRENGTHS)
    ]
    with pytest.raises(UsageError, match="none is carried over"):
        carry_labels(old, await make_run(trials, VARIANTS[:3]))


async def test_what_was_said_of_a_pair_in_the_later_run_stays(make_run: Make):
    """In whichever order it was shown there."""
    old = await labelled(make_run)
    new = await make_run(drawn(60, STRENGTHS), VARIANTS[:3])
    mine = old.pair_labels()[0]
    add_pair_labels(new.path, "ann", [(mine.pair[::-1], NAME, "tie")])
    new = RunFile.open(new.path)
    carry_labels(old, new)
    with RunFile.open(new.path) as again:
        said = standing_pair_labels(again.pair_labels())[mine.key]["ann"]
        assert (said.pair, said.answer) == (mine.pair[::-1], "tie")
        assert len(standing_pair_labels(again.pair_labels())) == 90

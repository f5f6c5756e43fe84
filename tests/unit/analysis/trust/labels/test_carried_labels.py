"""Labels of an earlier run count again where the same outputs were judged, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.labels.carried_labels import CarriedLabels, carry_labels
from evenhand.analysis.trust.labels.drawing import draw
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.store.labels.label import NewLabel, newest, standing
from evenhand.store.labels.stored_draws import add_metric_labels, set_rule, standing_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

Change = Callable[[TrialResult], TrialResult]
CLUSTERED = (Variant(0, "p", "m", cluster="doc"),)


def with_cluster(trial: TrialResult) -> TrialResult:
    """A trial whose case has a new key that says what it belongs to."""
    return replace(trial, vars={**trial.vars, "doc": f"d{trial.index // 4}"})


async def labelled(make: Make, n: int = 60, size: int = 40) -> RunFile:
    """A run with labels on a draw."""
    return label(await a_run(make, n), lambda i: i % 10 < 6, size=size)


async def later(make: Make, change: Change, n: int = 60, **more: object) -> RunFile:
    """A later run of so many cases."""
    return await a_run(make, n, change=change, **more)


def carry(old: RunFile, new: RunFile) -> tuple[CarriedLabels, RunFile]:
    """What was carried over, and the run with it."""
    which = carry_labels(old, new)
    return which, RunFile.open(new.path)


async def test_where_only_clusters_changed_all_labels_count_again_with_their_draw(make_run: Make):
    """With their authors and times, and so with their calibration."""
    old = await labelled(make_run)
    new = await later(make_run, with_cluster, variants=CLUSTERED)
    which, again = carry(old, new)
    with again:
        assert (len(which.labels), which.different, len(which.draws)) == (40, 0, 1)
        assert standing_labels(again.metric_labels()) == standing_labels(old.metric_labels())
        (before,), (now,) = calibrate(old).judges, calibrate(again).judges
        assert (before.verdicts, before.labelled_at) == (now.verdicts, now.labelled_at)
        assert now.verdict != "no verdict"


async def test_no_label_is_carried_to_another_output_question_or_criterion(make_run: Make):
    """Nor is the draw then: what stayed the same is no random part of it."""
    old = await labelled(make_run)
    changes: list[Change] = [
        lambda one: replace(one, output="other"),
        lambda one: replace(one, prompt="other"),
        lambda one: replace(one, vars={"q": "other"}),
        lambda one: replace(one, expected="other"),
        lambda one: replace(
            one, outcomes=(replace(one.outcomes[0], name="llm-rubric another prose"),)
        ),
    ]
    first = draw(old, 40, 1).places[0]
    for change in changes:
        new = await later(make_run, lambda one, c=change: c(one) if one.index == first else one)
        which, again = carry(old, new)
        with again:
            assert (len(which.labels), which.different) == (39, 1)
            assert first not in {index for index, _ in standing_labels(again.metric_labels())}
            assert again.draws() == []
    with pytest.raises(UsageError, match="none is carried over"):
        carry_labels(old, await later(make_run, changes[0]))


async def test_labels_without_their_draw_count_as_far_as_a_new_one_has_them(make_run: Make):
    """A run with more cases is no population that was drawn from."""
    old = await labelled(make_run)
    which, again = carry(old, await later(make_run, with_cluster, n=80))
    with again:
        assert (len(which.labels), which.draws) == (40, [])
        draw(again, 80, 1)
    with RunFile.open(again.path) as drawn:
        assert calibrate(drawn).judges[0].verdicts.labels == 40


async def test_a_case_with_another_id_is_found_by_its_question(make_run: Make):
    """The id of a row without one is made of what it says, a new key among it."""
    old = await labelled(make_run)
    new = await later(make_run, lambda one: with_cluster(replace(one, case=f"new {one.case}")))
    which, again = carry(old, new)
    with again:
        assert (len(which.labels), len(which.draws)) == (40, 1)
    # Two cases with one question can't be told apart.
    twins = await later(make_run, lambda one: replace(one, case=f"new {one.case}", prompt="same"))
    with pytest.raises(UsageError, match="none is carried over"):
        carry_labels(old, twins)


async def test_what_was_said_in_the_later_run_stays_and_another_rule_is_refused(make_run: Make):
    """Labels count for the rule by which they were given."""
    old = await labelled(make_run)
    set_rule(old.path, "prose", "Passes if it is short.")
    place = draw(old, 40, 1).places[0]
    append_labels(old.path, [NewLabel(place, "score", 4, "ann"), NewLabel(place, "star", True)])
    new = await later(make_run, with_cluster)
    add_metric_labels(new.path, "ann", [(place, "prose", "fail")])
    with RunFile.open(old.path) as before, RunFile.open(new.path) as after:
        _, again = carry(before, after)
    with again:
        assert standing_labels(again.metric_labels())[place, "prose"]["ann"].verdict == "fail"
        assert newest(standing(again.labels())[place]) == {"score": 4}
        assert again.rules() == {"prose": "Passes if it is short."}
    other = await later(make_run, with_cluster)
    set_rule(other.path, "prose", "Passes if it is kind.")
    with (
        RunFile.open(old.path) as before,
        RunFile.open(other.path) as after,
        pytest.raises(UsageError, match="by another rule: Passes if it is short"),
    ):
        carry_labels(before, after)

"""Juries beside people: what their votes are worth, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, read_calibration, write_calibration
from evenhand.analysis.trust.jury_weights import ballot_of, folds_of, votes_in
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import calibration_lines
from evenhand.render.judged_rates import standing


def good(i: int) -> bool:
    """People pass seven of ten."""
    return i % 10 < 7


def votes(i: int) -> dict[str, bool]:
    """`sharp` is nearly always right, the other two pass nearly everything."""
    return {"sharp": good(i) is not (i % 23 == 0), "kind": i % 11 != 0, "mild": i % 13 != 0}


def by_jury(cast: Callable[[int], dict[str, bool]] = votes, *, turned: bool = False):
    """Trials judged by three, the majority decides; `turned` as under `not-`."""

    def change(trial: TrialResult) -> TrialResult:
        ballot = cast(trial.index)
        passed = (sum(ballot.values()) * 2 > len(ballot)) is not turned
        rows = [{"judge": name, "score": float(v), "passed": v} for name, v in ballot.items()]
        outcome = replace(
            trial.outcomes[0],
            outcome="pass" if passed else "fail",
            metadata={"jury": rows},
        )
        return replace(trial, outcomes=(outcome,))

    return change


async def test_a_jury_with_one_sharp_judge_is_better_weighted(make_run: Make, tmp_path: Path):
    """100 of 200 outputs labelled: the sharp judge's vote is worth the most, and the file keeps the weights."""
    run = label(await a_run(make_run, 200, change=by_jury()), good, size=100)
    calibration = calibrate(run)
    (judge,) = calibration.judges
    jury = judge.jury
    assert jury is not None
    assert jury.labels == 100
    weights = {member.model: member.weight for member in jury.members}
    assert list(weights) == ["kind", "mild", "sharp"]
    assert weights["sharp"] > 1.5 * max(weights["kind"], weights["mild"])
    assert jury.weighted.value > jury.majority.value + 0.15
    assert (jury.word, jury.p < 0.01) == ("better", True)
    assert jury.difference.low > 0
    assert judge.verdicts.passed == judge.raw.value * 200, "its verdicts stay what they are"
    text = "\n".join(calibration_lines(calibration))
    assert "weighting the votes is better: +" in text
    assert "sharp: weight " in text
    path = tmp_path / "calibration.json"
    write_calibration(calibration, path)
    assert json.loads(path.read_text("utf-8"))["judges"][0]["jury"]["verdict"] == "better"
    (judge,) = read_calibration(path).judges
    assert (judge.metric, judge.model) == ("prose", "kind+mild+sharp")


async def test_shares_of_a_jury_take_the_repeats_of_a_case_together(make_run: Make):
    """Five repeats that are always alike: 100 labels of 40 cases tell less of how often each judge is right."""
    once = label(await a_run(make_run, 200, change=by_jury()), good, size=100)

    def repeat(trial: TrialResult) -> TrialResult:
        trial = replace(trial, index=trial.index // 5)
        judged = by_jury()(trial)
        return replace(judged, case=f"case {trial.index}")

    def change(trial: TrialResult) -> TrialResult:
        return replace(repeat(trial), index=trial.index, repeat=trial.index % 5)

    run = await a_run(make_run, 200, change=change, repeats=5)
    repeated = label(run, lambda i: good(i // 5), size=100)
    first, second = calibrate(once).judges[0].jury, calibrate(repeated).judges[0].jury
    assert first is not None
    assert second is not None
    for one, other in (
        (first.majority, second.majority),
        (first.weighted, second.weighted),
        (first.difference, second.difference),
        *((a.agrees, b.agrees) for a, b in zip(first.members, second.members, strict=True)),
    ):
        assert one is not None
        assert other is not None
        assert other.high - other.low > 1.2 * (one.high - one.low)


async def test_a_gain_by_weights_is_shown_by_clusters(make_run: Make):
    """100 labels of ten documents: weighting is as much better, and it is far less sure."""
    pairs = []
    for cluster in ("", "doc"):
        run = await a_run(
            make_run,
            200,
            change=lambda t: replace(by_jury()(t), vars={**t.vars, "doc": f"d{t.index // 20}"}),
            variants=(Variant(0, "p", "m", cluster=cluster),),
        )
        (judge,) = calibrate(label(run, good, size=100)).judges
        assert judge.jury is not None
        pairs.append(judge.jury)
    alone, together = pairs
    assert together.p > 1e3 * alone.p


@pytest.mark.parametrize("turned", [False, True])
async def test_later_runs_of_a_jury_are_corrected_by_its_weighted_votes(
    make_run: Make, tmp_path: Path, turned: bool
):
    """Where they were shown to be better: nearer to people's rate, and surer, than by its majority.

    Under `not-`, too.
    """
    source = {"source": str(tmp_path)}

    def cast(i: int) -> dict[str, bool]:
        return {name: vote is not turned for name, vote in votes(i).items()}

    change = by_jury(cast, turned=turned)
    run = label(await a_run(make_run, 200, change=change, **source), good, size=100)
    write_calibration(calibrate(run), place_of(run.meta))
    (own,) = judged_rates(run)
    (later,) = judged_rates(await a_run(make_run, 200, change=change, **source))
    assert (own.by_votes, later.by_votes) == (False, True)
    assert own.raw == later.raw, "its verdicts stay what they are"
    assert own.corrected is not None
    assert later.corrected is not None
    truth = sum(map(good, range(200))) / 200
    assert later.corrected.low < truth < later.corrected.high
    width = own.corrected.high - own.corrected.low
    assert later.corrected.high - later.corrected.low < 0.85 * width
    assert "corrected by weighted votes, 100 labels, today" in standing(later)
    kept = json.loads(place_of(run.meta).read_text("utf-8"))
    kept["judges"][0]["jury"]["verdict"] = "undecided"
    place_of(run.meta).write_text(json.dumps(kept), "utf-8")
    (plain,) = judged_rates(await a_run(make_run, 200, change=change, **source))
    assert not plain.by_votes
    assert plain.corrected == own.corrected


async def test_under_not_a_vote_for_the_criterion_counts_against_the_output(make_run: Make):
    """The votes of a jury below `not-` are turned round."""
    change = by_jury(lambda i: {name: not v for name, v in votes(i).items()}, turned=True)
    run = label(await a_run(make_run, 200, change=change), good, size=100)
    jury = calibrate(run).judges[0].jury
    assert jury is not None
    assert min(member.weight for member in jury.members) > -0.2
    assert jury.weighted.value > jury.majority.value + 0.15


async def test_a_judge_that_gave_no_verdict_is_not_wrong_for_that(make_run: Make):
    """It is right whenever it votes, which is on every other output."""

    def change(trial: TrialResult) -> TrialResult:
        ok = good(trial.index)
        shy = {"judge": "shy", "passed": ok if trial.index % 2 else None}
        rows = [{"judge": "a", "passed": ok}, {"judge": "b", "passed": True}, shy]
        outcome = replace(
            trial.outcomes[0], outcome="pass" if ok else "fail", metadata={"jury": rows}
        )
        return replace(trial, outcomes=(outcome,))

    run = label(await a_run(make_run, 200, change=change), good, size=100)
    jury = calibrate(run).judges[0].jury
    assert jury is not None
    agrees = {member.model: member.agrees for member in jury.members}
    assert agrees["shy"] is not None
    assert agrees["shy"].value == 1


async def test_where_all_judges_are_alike_no_gain_is_claimed(make_run: Make):
    """The weighted votes are the majority; the difference is 0."""
    alike = by_jury(lambda i: dict.fromkeys("abc", good(i) is not (i % 9 == 0)))
    jury = calibrate(label(await a_run(make_run, 200, change=alike), good, size=60)).judges[0].jury
    assert jury is not None
    assert (jury.difference.value, jury.p, jury.word) == (0, 1, "no detectable difference")


async def test_too_few_labels_and_single_judges_have_no_weights(make_run: Make):
    """29 labels of a jury, and 60 of one judge."""
    few = label(await a_run(make_run, 200, change=by_jury()), good, size=29)
    assert calibrate(few).judges[0].jury is None
    assert "weighted by labels" not in "\n".join(calibration_lines(calibrate(few)))
    alone = label(await a_run(make_run, 200), good, size=60)
    assert calibrate(alone).judges[0].jury is None


@pytest.mark.parametrize(
    ("row", "vote"),
    [
        ({"judge": "a", "passed": False, "score": 1.0}, False),
        ({"judge": "a", "passed": None, "score": 4}, True),
        ({"judge": "a", "passed": None, "score": 3}, False),
        ({"score": None, "passed": None, "error": "judge"}, None),
        ({"judge": "a", "passed": None, "score": "4"}, None),
    ],
)
def test_a_vote_is_a_verdict_or_a_score_within_the_bounds(row: dict[str, object], vote: object):
    """An error is no vote, and neither is what is no number."""
    outcome = Outcome("r", "pass", 1.0, metadata={"jury": [row]}, at_least=4)
    assert [one for _, one in votes_in(outcome)] == [vote]


def test_of_two_expectations_of_one_metric_a_member_must_pass_both():
    """As both decide the metric; a judge that votes twice has two votes."""
    rows = [{"judge": "a", "passed": True}, {"judge": "a", "passed": True}, {"judge": "b"}]
    first = Outcome("x", "pass", 1.0, metric="m", metadata={"jury": rows})
    second = replace(first, name="y", metadata={"jury": [{"judge": "a", "passed": False}]})
    assert ballot_of([first], "m") == {"a": 2}
    assert ballot_of([first, second], "m") == {"a": 0}
    assert ballot_of([second, first], "m") == {"a": 0}
    assert ballot_of([first], "another") == {}
    assert ballot_of([replace(first, metadata={"jury": "odd"})], "m") == {}


def test_outputs_of_one_case_are_in_one_fold():
    """Or a weight would have seen what it is tried on."""
    cases = [f"case {i // 3}" for i in range(90)]
    folds = dict(zip(cases, folds_of(cases), strict=True))
    assert folds_of(cases) == [folds[case] for case in cases]
    assert sorted(set(folds.values())) == list(range(10))


async def test_weights_of_judges_that_know_nothing_are_tried_on_cases_that_they_never_saw(
    make_run: Make,
):
    """Ten repeats of each of twenty cases are alike: who had seen one of them would know the others by heart."""
    random = Random(20_261_128)
    people = [random.random() < 0.5 for _ in range(20)]
    said = [{f"judge {j}": random.random() < 0.5 for j in range(9)} for _ in range(20)]

    def change(trial: TrialResult) -> TrialResult:
        case = trial.index // 10
        return replace(
            by_jury(lambda _: said[case])(trial), case=f"case {case}", repeat=trial.index % 10
        )

    run = await a_run(make_run, 200, change=change, repeats=10)
    jury = calibrate(label(run, lambda i: people[i // 10], size=200)).judges[0].jury
    assert jury is not None
    assert jury.weighted.value < 0.7

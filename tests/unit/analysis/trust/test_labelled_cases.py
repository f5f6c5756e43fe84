"""Labels know their cases: in the labelled run, in `calibration.json`, and in what is said where they can't help."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import judge_call, judged, label

from evenhand.analysis.comparison.judged_differences import JudgedRun, judged_differences
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.judgements.judged import Item
from evenhand.analysis.trust.judgements.raw_rates import raw_rate
from evenhand.analysis.trust.labelled_cases import (
    case_labels,
    effects_of,
    labels_from,
    rows_of,
    rows_of_scores,
    scores_from,
)
from evenhand.analysis.trust.labels.drawing import draw
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import calibration_lines, half_width, worth_line
from evenhand.render.comparing import compare
from evenhand.render.comparison import judged_line
from evenhand.render.judged_rates import standing
from evenhand.stats.bounded import mean_by_judge
from evenhand.stats.correction import Estimate, Verdicts, corrected_rate
from evenhand.stats.design_effect import CaseLabel, ScoreLabel
from evenhand.stats.paired_scores import weight_of_judge
from evenhand.store.groups import named_cluster
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_draw, add_metric_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

REPEATS = 5


async def a_run(
    make: Make,
    cases: int,
    repeats: int,
    folder: Path,
    change: Callable[[TrialResult], TrialResult] = lambda trial: trial,
) -> RunFile:
    """Repeats of a case are all alike: the judge passes seven cases of ten, and people will pass five."""
    trials = [
        change(
            replace(
                judged(i, ok=i // repeats % 10 < 7, case=f"case {i // repeats}"),
                repeat=i % repeats,
            )
        )
        for i in range(cases * repeats)
    ]
    return await make(
        trials,
        planned=len(trials),
        repeats=repeats,
        case_count=cases,
        calls=[judge_call()],
        source=str(folder),
    )


def people(repeats: int) -> Callable[[int], bool]:
    """What people say of a trial."""
    return lambda index: index // repeats % 10 < 5


def width(estimate: Estimate | None) -> float:
    """How wide its interval is."""
    assert estimate is not None
    return estimate.high - estimate.low


async def calibrated(make: Make, cases: int, repeats: int, size: int, folder: Path) -> RunFile:
    """A labelled run, with its calibration beside it."""
    run = label(await a_run(make, cases, repeats, folder), people(repeats), size=size)
    write_calibration(calibrate(run), place_of(run.meta))
    return run


def edit(run: RunFile, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes what the calibration keeps of the variant."""
    place = place_of(run.meta)
    document = json.loads(place.read_text("utf-8"))
    change(document["judges"][0]["variants"][0])
    place.write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize("passes", [7, 6, 5, 2, 0, 10])
async def test_labels_of_an_earlier_run_alone_are_no_rate_of_a_later_one(
    make_run: Make, tmp_path: Path, passes: int
):
    """The corrected rate falls with the judge's, and where that is another one for sure, nothing is corrected."""
    people = {0, 1, 2, 3, 4, 5, 7}.__contains__
    run = label(await a_run(make_run, 60, 1, tmp_path), lambda index: people(index % 10), size=40)
    write_calibration(calibrate(run), place_of(run.meta))
    (judge,) = calibrate(run).judges
    alone = 1 - (judge.verdicts.excused + judge.verdicts.both_fail) / 40

    def change(trial: TrialResult) -> TrialResult:
        return replace(judged(trial.index, ok=trial.index % 10 < passes, case=trial.case))

    (later,) = judged_rates(await a_run(make_run, 60, 1, tmp_path, change))
    if passes in (7, 6, 5):
        assert (later.status, later.changed) == ("fresh", ())
        expected = corrected_rate(
            judge.verdicts._replace(passed=6 * passes, items=60), same_items=False
        )
        assert later.corrected is not None
        assert expected is not None
        assert later.corrected.value == expected.value
    else:
        assert (later.status, later.changed) == ("stale", ("judge's pass rate",))
        assert later.corrected is None
        assert not later.trusted
    assert later.corrected is None or later.corrected.value != alone


async def test_labels_of_repeats_say_less_than_labels_of_cases(make_run: Make, tmp_path: Path):
    """In `calibrate`, in the run, in later runs, and in what more labels would bring."""
    run = await calibrated(make_run, 40, REPEATS, 100, tmp_path)
    (judge,), (own,) = calibrate(run).judges, judged_rates(run)
    (later,) = judged_rates(await a_run(make_run, 40, REPEATS, tmp_path))
    as_cases = corrected_rate(judge.verdicts)
    assert judge.corrected == own.corrected
    assert own.corrected is not None
    assert later.corrected is not None
    assert width(own.corrected) > 1.4 * width(as_cases)
    assert width(later.corrected) > 1.4 * width(corrected_rate(judge.verdicts, same_items=False))
    assert half_width(judge, 100) > 1.4 * half_width(replace(judge, effects=type(judge.effects)()), 100)  # fmt: skip
    once = label(await a_run(make_run, 200, 1, tmp_path), people(1), size=100)
    (single,) = calibrate(once).judges
    assert single.corrected == corrected_rate(single.verdicts)
    assert judge.tpr is not None
    assert judge.tnr is not None
    assert width(judge.tpr) > 1.2 * width(single.tpr)


async def test_differences_of_repeated_cases_are_as_unsure_as_their_rates(
    make_run: Make, tmp_path: Path
):
    """The interval of a difference is made of those of the two rates."""
    first, second = [
        JudgedRun(label(await a_run(make_run, 40, REPEATS, tmp_path), people(REPEATS), size=100))
        for _ in range(2)
    ]
    (one,) = judged_differences(first, second, [(0, 0)], [("a", "b")])
    rate = first.rates["prose", 0]
    assert one.corrected is not None
    assert width(one.corrected) == pytest.approx(2**0.5 * width(rate.corrected), rel=0.01)


async def test_labels_of_too_few_cases_correct_nothing_and_say_why(make_run: Make, tmp_path: Path):
    """Forty labels of eight cases: no verdict, no number, and where it would have been, the reason."""
    run = await calibrated(make_run, 8, REPEATS, 40, tmp_path)
    (judge,), (own,) = calibrate(run).judges, judged_rates(run)
    assert (judge.verdict, judge.corrected, own.corrected) == ("no verdict", None, None)
    why = "the 40 labels are of 8 cases or clusters, which are too few where several go together"
    assert judge.why.startswith(why)
    later = await a_run(make_run, 8, REPEATS, tmp_path)
    (of_file,) = judged_rates(later)
    assert own.why == of_file.why == judge.why
    assert f"labelled, and not corrected: {why}" in standing(of_file)
    (one,) = judged_differences(JudgedRun(run), JudgedRun(later), [(0, 0)], [("a", "b")])
    assert f"· labelled, and not corrected: {why}" in judged_line(one)
    enough = label(await a_run(make_run, 40, REPEATS, tmp_path / "x.yaml"), people(REPEATS))
    (one,) = judged_differences(JudgedRun(enough), JudgedRun(run), [(0, 0)], [("a", "b")])
    assert f"the second is labelled, and not corrected: {why}" in judged_line(one)
    text = "\n".join(calibration_lines(calibrate(run)))
    assert "no verdict: the 40 labels are of 8 cases" in text
    assert "  corrected  " not in text


@pytest.mark.parametrize(
    "labelled",
    [[], ["a pass pass"], ["a pass maybe 1"] * 60, ["a pass pass 0"] * 60, ["a pass pass 1"] * 60],
)
async def test_labels_that_do_not_add_up_are_refused(
    make_run: Make, tmp_path: Path, labelled: list[str]
):
    """Somebody edited the file: no number is made of half of the labels."""
    run = await calibrated(make_run, 100, 1, 60, tmp_path)
    edit(run, lambda variant: variant.update(labelled=labelled))
    later = await a_run(make_run, 100, 1, tmp_path)
    with pytest.raises(UsageError, match="the labels of 'prose' don't add up to its counts"):
        judged_rates(later)


async def a_scored_run(make: Make, cases: int, repeats: int, folder: Path) -> RunFile:
    """The same with scores, a point above people's for two thirds of the cases."""
    trials: list[TrialResult] = []
    for i in range(cases * repeats):
        case = i // repeats
        trial = judged(case, ok=True, case=f"case {case}")
        (outcome,) = trial.outcomes
        scored = replace(outcome, score=float(case % 4 + 1 + (case % 3 > 0)), scale=(1.0, 5.0))
        trials.append(replace(trial, index=i, outcomes=(scored,), repeat=i % repeats))
    return await make(
        trials, planned=len(trials), repeats=repeats, calls=[judge_call()], source=str(folder)
    )


def scored(run: RunFile, repeats: int, size: int) -> RunFile:
    """People's scores and verdicts."""
    places = draw(run, size, seed=1).places
    add_metric_labels(run.path, "ann", [(i, "prose", "pass" if i % 2 else "fail") for i in places])
    scores = [float(i // repeats % 4 + 1) for i in places]
    append_labels(
        run.path,
        [NewLabel(i, "score", s, "ann", blind=True) for i, s in zip(places, scores, strict=True)],
    )
    return RunFile.open(run.path)


async def test_means_take_the_trials_of_a_case_together_too(make_run: Make, tmp_path: Path):
    """In the labelled run and in later ones; not where the cases are too few."""
    run = scored(await a_scored_run(make_run, 40, REPEATS, tmp_path), REPEATS, 100)
    write_calibration(calibrate(run), place_of(run.meta))
    (judge,), (own,) = calibrate(run).judges, judged_rates(run)
    later = await a_scored_run(make_run, 40, REPEATS, tmp_path)
    (rate,) = judged_rates(later)
    assert judge.scores is not None
    assert judge.scores.paired is not None
    assert own.mean is not None
    assert rate.mean is not None
    labels = judge.scores.by_variant[0].labels
    each = [one._replace(case=str(n)) for n, one in enumerate(labels)]
    judged = [(str(n), judge.scores.raw.value) for n in range(40 * REPEATS)]
    as_cases = mean_by_judge(judged, each, weight_of_judge(judge.scores.paired), (1, 5))
    assert width(own.mean.corrected) > 1.4 * width(as_cases)
    assert width(rate.mean.corrected) > 1.4 * width(as_cases)
    now, more = judge.scores.half_width(100), judge.scores.half_width(140)
    assert now is not None
    assert more is not None
    assert now > 0.65 * width(as_cases)
    edit(run, lambda variant: variant["scores"].update(labelled=["a 1 1"]))
    with pytest.raises(UsageError, match="the labels of 'prose' don't add up"):
        judged_rates(later)
    few = scored(await a_scored_run(make_run, 8, REPEATS, tmp_path), REPEATS, 40)
    (judge,) = calibrate(few).judges
    assert judge.scores is not None
    assert judge.scores.corrected is None
    assert any(
        note.startswith("the mean is not corrected: the 40 labels are of 8 cases")
        for note in judge.warnings
    )


def test_labels_come_back_as_they_were_written():
    """A line each, with what people and the judge say, and for how many it stands."""
    labels = [CaseLabel("0a", True, False), CaseLabel("0b", False, False, 2.5)]
    assert rows_of(labels) == ["0a pass fail 1", "0b fail fail 2.5"]
    assert labels_from(rows_of(labels), (0, 1, 0, 1)) == labels
    scores = [ScoreLabel("0a", 3.5, 4.0), ScoreLabel("0b", 1.0, 2.0, 2.5)]
    assert rows_of_scores(scores) == ["0a 3.5 4 1", "0b 1 2 2.5"]
    assert scores_from(rows_of_scores(scores), 2) == scores


def test_labels_of_an_earlier_run_say_less_of_new_trials_of_the_same_cases():
    """Each case is there once; what people say of its earlier trial is not of this one."""
    earlier = [Item(index=i, case=f"c{i}", variant=0, passed=i % 10 < 7) for i in range(100)]
    labels = case_labels({item: item.index % 2 == 0 for item in earlier})
    later = [replace(item, passed=item.index % 2 == 0) for item in earlier]
    assert effects_of(later, labels, same_trials=True).rate == 1
    assert effects_of(later, labels, same_trials=False).rate > 1.1


def test_design_effects_go_by_what_counts_as_the_judges_verdict():
    """Its own verdicts differ from repeat to repeat; those of weighted votes, which count, are alike in each case."""
    items = [Item(index=i, case=f"c{i // 5}", variant=0, passed=i % 2 == 0) for i in range(200)]
    votes = {item: item.index // 5 % 2 == 0 for item in items}
    people = {item: item.index // 5 % 3 == 0 for item in items[:100]}
    own = effects_of(items, case_labels(people), same_trials=True)
    by_votes = effects_of(items, case_labels(people, judge=votes), same_trials=True, judge=votes)
    as_own = [replace(item, passed=votes[item]) for item in items]
    verdicts = {as_own[item.index]: passed for item, passed in people.items()}
    assert by_votes == effects_of(as_own, case_labels(verdicts), same_trials=True)
    assert by_votes.rate != own.rate


async def test_cases_of_a_cluster_say_less_than_as_many_that_stand_alone(make_run: Make):
    """Twenty documents of five questions, all alike: twenty verdicts, for the judge's rate and the corrected one."""
    meta = (await make_run([judged(0, ok=True)], calls=[judge_call()])).meta

    def rates(*, clustered: bool) -> tuple[Estimate, Estimate]:
        items = [
            Item(
                index=i,
                case=f"c{i}",
                variant=0,
                passed=i // 5 % 3 > 0,
                cluster=f"document={i // 5}" if clustered else "",
            )
            for i in range(100)
        ]
        people = {item: item.passed and item.index // 5 % 4 > 0 for item in items[::2]}
        labels = case_labels(people)
        effects = effects_of(items, labels, same_trials=True)
        cells = Counter((passed, item.passed) for item, passed in people.items())
        sides = (True, False)
        counts = Verdicts(*(cells[a, b] for a in sides for b in sides), 65, 100)
        corrected = corrected_rate(counts, effects=effects)
        assert corrected is not None
        return raw_rate(meta, items), corrected

    for alone, together in zip(rates(clustered=False), rates(clustered=True), strict=True):
        assert together.value == pytest.approx(alone.value, abs=0.02)
        assert together.high - together.low > 1.5 * (alone.high - alone.low)


async def test_more_labels_never_make_an_interval_wider(make_run: Make):
    """Of cases with several labels that a judge agrees with, forty more were told to give ±11 % instead of ±10 %."""
    trials = [
        replace(judged(3 * i + k, ok=(i * 7 + k) % 5 < 3, case=f"c{i}"), repeat=k)
        for i in range(40)
        for k in range(3)
    ]
    run = await make_run(trials, planned=120, calls=[judge_call()], repeats=3)
    places = range(0, 120, 2)
    add_draw(run.path, 1, ["prose"], 120, places)
    verdicts = [(p, "prose", "pass" if (p // 3 * 7 + p % 3) % 5 < 3 else "fail") for p in places]
    add_metric_labels(run.path, "ann", verdicts)  # type: ignore[arg-type]
    (judge,) = calibrate(RunFile.open(run.path)).judges
    assert half_width(judge, 100) > half_width(judge, 60), "what the formula says"
    assert "40 more would hardly change that" in worth_line(judge)


def test_a_cluster_has_one_name_in_every_run() -> None:
    """By the variable and its value; a case without one stands alone."""
    assert named_cluster("document", {}, {"document": "d1"}) == 'document="d1"'
    assert named_cluster("", {}, {"document": "d1"}) == named_cluster("author", {}, {}) == ""
    assert Item(index=0, case="c", variant=0, passed=True).unit == "c"


def of_documents(size: int, key: str = "doc") -> Callable[[TrialResult], TrialResult]:
    """Puts so many cases into each document, which their metadata name by this key."""
    return lambda trial: replace(trial, metadata={key: f"d{trial.index // size}"})


async def of_set(
    make: Make, folder: Path, cluster: str, size: int = 4, key: str = "doc"
) -> RunFile:
    """A run of two hundred cases of a set with this key."""
    change = of_documents(size, key)
    variants = (Variant(0, "p", "m", cluster=cluster),)
    trials = [change(judged(i, ok=i % 10 < 7)) for i in range(200)]
    return await make(trials, variants, planned=200, calls=[judge_call()], source=str(folder))


@pytest.mark.parametrize(
    ("before", "now", "status"),
    [
        (("", 4, "doc"), ("", 4, "doc"), "fresh"),
        (("doc", 4, "doc"), ("doc", 4, "doc"), "fresh"),
        # Another name of the same clusters changes nothing.
        (("doc", 4, "doc"), ("text", 4, "text"), "fresh"),
        (("", 4, "doc"), ("doc", 4, "doc"), "stale"),
        (("doc", 4, "doc"), ("", 4, "doc"), "stale"),
        # What the cases' metadata say is no part of the data, and yet says what goes together.
        (("doc", 4, "doc"), ("doc", 20, "doc"), "stale"),
        # Clusters of one case each are none.
        (("", 4, "doc"), ("doc", 1, "doc"), "fresh"),
    ],
)
async def test_a_calibration_goes_stale_when_other_cases_belong_together(
    make_run: Make,
    tmp_path: Path,
    before: tuple[str, int, str],
    now: tuple[str, int, str],
    status: str,
):
    """Its intervals were computed under other clusters."""
    run = label(await of_set(make_run, tmp_path, *before), lambda i: i % 10 < 5, size=100)
    write_calibration(calibrate(run), place_of(run.meta))
    (rate,) = judged_rates(await of_set(make_run, tmp_path, *now))
    assert rate.status == status
    assert rate.changed == (("clusters",) if status == "stale" else ())
    assert (rate.corrected is None) is (status == "stale")


async def test_a_judged_difference_goes_by_the_clusters_of_its_comparison(
    make_run: Make, tmp_path: Path
):
    """Named for the comparison alone, or by one of the two sets: no narrower than where both sets name them."""
    runs: dict[str, list[RunFile]] = {}
    for key in ("", "doc"):
        runs[key] = [
            label(await of_set(make_run, tmp_path / side, key), lambda i: i // 4 % 5 < 3, size=100)
            for side in "ab"
        ]

    def reach(first: RunFile, second: RunFile, cluster: str = "") -> float:
        (one,) = compare(first.path, second.path, cluster=cluster).judged
        return width(one.corrected)

    alone, together = reach(*runs[""]), reach(*runs["doc"])
    assert together > 1.2 * alone
    assert reach(*runs[""], "doc") == pytest.approx(together)
    assert reach(runs[""][0], runs["doc"][1]) == pytest.approx(together)

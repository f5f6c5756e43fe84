from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand.analysis.trust.canaries import (
    CanaryAnswers,
    CanaryCheck,
    CanaryReport,
    Drift,
    Flips,
    canary_check,
    canary_report,
)
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import drift_words
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import wilson
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.commands.canaries import canary_lines

VARIANTS = tuple(
    Variant(
        i, f"people {verdict} it", "j", axes={"metric": "right", "judge": "j", "verdict": verdict}
    )
    for i, verdict in enumerate(("pass", "fail"))
)


async def check_of(
    make: Make,
    right: str,
    *,
    digest: str = "d",
    model: str = "j",
    passed: int = 70,
    left_out: int = 0,
    by_case: Estimate | None = None,
    cases: Mapping[str, float] | None = None,
    **more: object,
) -> RunFile:
    """A check of canaries: for each a letter, + right, - wrong, ! error; every second one is a fail of people's."""
    row = {
        "metric": "right",
        "model": model,
        "left_out": left_out,
        "passed": passed,
        "judged": 100,
        **({} if by_case is None else {"pass_rate": by_case._asdict()}),
        **({} if cases is None else {"cases": dict(cases)}),
    }
    states = {"+": True, "-": False, "!": None}
    trials = [
        result(i, ok=states[sign], case=f"canary {i}", variant=i % 2)
        for i, sign in enumerate(right)
    ]
    variants = [
        Variant(v.index, v.prompt, model, axes={**v.axes, "judge": model}) for v in VARIANTS
    ]
    about = {"run": "01KRUN", "digest": digest, "judges": [row]}
    return await make(
        trials,
        variants,
        config={"canaries": about},
        settings={"canaries": {}},
        **more,  # type: ignore[arg-type]
    )


async def reported(make: Make, *checks: str, **more: object) -> CanaryReport:
    """The report on the last of some checks."""
    await make([result(0)])  # so that the ids of the others are in their order
    runs = [await check_of(make, right, **more) for right in checks]
    return canary_report(runs[-1], [run.path for run in runs])


async def test_a_check_counts_what_the_judge_is_right_and_wrong_on(make_run: Make):
    """Apart for those that people pass and those that they fail; errors are neither."""
    check = canary_check(await check_of(make_run, "+-+--!", left_out=2))
    one = check.answers["right", "j"]
    assert (one.passes, one.fails, one.errors) == ((2, 3), (0, 2), 1)
    assert (one.row().missed, one.row().excused, one.left_out) == (1, 2, 2)
    assert one.raw == 0.7
    assert one.rate is not None
    assert one.rate.value == 0.4


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("++++++++++", "++++++++++", False),
        ("++++++++++", "------++++", False),  # six to one side: p = .0625, and this check has .0335
        ("++++++++++", "-------+++", True),  # seven: p = .031
        (
            "-+-+-+-+-+-+",
            "+-+-+-+-+-+-",
            True,
        ),  # stricter, or more lenient: as many newly right as newly wrong
        ("++++--++----", "----++--++++", False),  # as many to each side: the judge is only noisy
        ("-------+++", "++++++++++", True),  # a judge that gets better has drifted, too
        ("++++++++++", "!!!!!!++++", False),  # errors are no answers
        ("++++++++++", "-------!!!", True),
    ],
)
async def test_a_drift_is_shown_by_pairs_and_not_by_rates(
    make_run: Make, before: str, after: str, shown: bool
):
    """Sign tests of the canaries with a verdict in both checks: of what people pass, and of what they fail."""
    report = await reported(make_run, before, after)
    drift = report.drift(("right", "j"))
    assert drift is not None
    assert drift.shown is shown
    assert report.drifted is shown


@pytest.mark.parametrize(
    ("after", "passed", "word"),
    [
        ("++++++++++", 70, "none"),
        ("++++++++++", 60, "none"),  # ten points of 100 cases: chance does that
        ("++++++++++", 40, "system"),
        ("----++++++", 90, "system"),  # four flips are no drift
        ("-------+++", 70, "judge"),
        ("-------+++", 95, "judge"),
        ("+++++!!!!!", 40, "not decided"),
    ],
)
async def test_a_system_changed_if_the_pass_rate_did_and_the_judge_is_not_shown_to_have(
    make_run: Make, after: str, passed: int, word: str
):
    """While the judge drifts, its pass rate says nothing of the system."""
    await make_run([result(0)])
    before = await check_of(make_run, "++++++++++")
    now = await check_of(make_run, after, passed=passed)
    report = canary_report(now, [before.path])
    drift = report.drift(("right", "j"))
    assert drift is not None
    assert drift.word == word
    text = "\n".join(canary_lines(report))
    assert ("the system changed" in text) is (word == "system")
    assert ("or the judge by less than 10 canaries can show" in text) is (word == "system")
    assert ("the judge drifted" in text) is (word == "judge")
    assert ("which may be the judge" in text) is (word == "judge" and passed == 95)


async def test_repeats_of_a_case_do_not_make_a_system_changed(make_run: Make):
    """70 of 100 outputs, then 50: of 100 cases that is a change, of 20 cases with five repeats it isn't."""
    await make_run([result(0)])
    words: list[str] = []
    for cases in (100, 20):
        rates = [Estimate(p, *wilson(p * cases, cases)) for p in (0.7, 0.5)]
        before, now = [
            await check_of(make_run, "++++++++++", passed=round(100 * rate.value), by_case=rate)
            for rate in rates
        ]
        drift = canary_report(now, [before.path]).drift(("right", "j"))
        assert drift is not None
        assert drift.now.raw == 0.5
        words.append(drift.word)
    assert words == ["system", "none"]


async def test_all_checks_are_compared_with_the_first_one(make_run: Make):
    """So that a judge that moves a little each time is found out."""
    report = await reported(make_run, "++++++++++", "---+++++++", "----------")
    assert report.drifted
    assert len(report.history(("right", "j"))) == 3


CHECK = CanaryCheck(
    run="01KRUN",
    check="01KCHECK",
    source="",
    at=0.0,
    digest="d",
    answers={},
    calls=0,
    cost_usd=None,
)
ANSWERS = CanaryAnswers(metric="right", model="j")


@pytest.mark.parametrize(
    ("canaries", "unsure", "right"), [(40, 16, 0.5), (40, 40, 0.8), (100, 100, 0.7)]
)
def test_fifty_checks_of_a_judge_that_never_changes_show_no_drift(
    canaries: int, unsure: int, right: float
):
    """At most 5 of 100 series, seed 11."""
    rng = random.Random(11)
    alarms = 0
    for _ in range(100):
        was = [rng.random() < right for _ in range(unsure)]
        of_passes = rng.randint(0, unsure)
        for check in range(1, 51):
            now = [rng.random() < right for _ in was]
            both = [*zip(was, now, strict=True)]
            sides = both[:of_passes], both[of_passes:]
            drift = Drift(
                since=CHECK,
                before=ANSWERS,
                now=ANSWERS,
                passes=Flips(
                    len(sides[0]), sides[0].count((True, False)), sides[0].count((False, True))
                ),
                fails=Flips(
                    canaries - len(sides[0]),
                    sides[1].count((True, False)),
                    sides[1].count((False, True)),
                ),
                checks=check,
            )
            if drift.shown:
                alarms += 1
                break
    assert alarms <= 5


def series(*checks: str, passed: Sequence[int] = ()) -> Drift:
    """The drift at the last of some checks of canaries that people pass; of 100 cases, so many pass in each run."""

    def check(number: int, right: str) -> CanaryCheck:
        answers = replace(
            ANSWERS,
            right={str(i): sign == "+" for i, sign in enumerate(right)},
            people={str(i): True for i in range(len(right))},
            shares={str(i): float(i < passed[number]) for i in range(100)} if passed else {},
        )
        return replace(CHECK, check=str(number), answers={("right", "j"): answers})

    *earlier, last = (check(number, right) for number, right in enumerate(checks))
    drift = CanaryReport(last, earlier).drift(("right", "j"))
    assert drift is not None
    return drift


def test_a_drift_that_was_shown_is_shown_as_long_as_the_answers_differ():
    """Seven flips show it at the first check. Later ones need not show it anew, at a smaller level each."""
    then, drifted = "++++++++++", "-------+++"
    again, back = series(then, drifted, drifted), series(then, drifted, then)
    assert (again.checks, again.shown_before, again.shown) == (2, True, True)
    assert (back.shown_before, back.shown) == (True, False)
    late = series(then, then, drifted)
    assert (late.checks, late.shown_before, late.shown) == (2, False, False)


def test_flips_that_chance_seldom_makes_leave_open_whether_the_system_changed():
    """Seven at the second check are too few to show a drift, and too many for a judge that is taken for the same."""
    then, drifted = "++++++++++", "-------+++"
    drift = series(then, then, drifted, passed=(70, 70, 40))
    assert (drift.word, drift.shown) == ("not decided", False)
    words = drift_words(drift, drift.now)
    assert words.startswith("not decided: the judge or the system changed since")
    assert words.endswith(f"a drift takes p below {drift.level:.2g}")
    assert not CanaryReport(
        replace(CHECK, check="2", answers={("right", "j"): drift.now}),
        [replace(CHECK, check=str(i), answers={("right", "j"): drift.before}) for i in range(2)],
    ).decided
    assert series(then, then, "----++++++", passed=(70, 70, 40)).word == "system"


async def test_other_canaries_unfinished_checks_and_later_ones_are_not_compared(make_run: Make):
    """Nor files that are no runs at all."""
    await make_run([result(0)])
    other = await check_of(make_run, "++++++++++", digest="e")
    open_ = await check_of(make_run, "++++++++++", status="interrupted")
    now = await check_of(make_run, "-------+++")
    later = await check_of(make_run, "++++++++++")
    nothing = now.path.with_name("nothing.db")
    nothing.write_text("no run")
    files = [one.path for one in (other, open_, now, later)]
    report = canary_report(now, [*files, nothing])
    assert report.earlier == []
    assert not report.drifted
    assert "the first check of these canaries" in "\n".join(canary_lines(report))


async def test_a_judge_that_calls_itself_otherwise_now_is_the_same_judge(make_run: Make):
    """A vendor's new version under the same name in the config is what canaries are for."""
    await make_run([result(0)])
    before = await check_of(make_run, "++++++++++", model="j-1")
    now = await check_of(make_run, "-------+++", model="j-2")
    report = canary_report(now, [before.path])
    assert report.drifted
    assert report.document()["judges"][0]["since"]["model"] == "j-1"


async def test_few_canaries_and_no_verdicts_decide_nothing(make_run: Make):
    """It is said how many would."""
    report = await reported(make_run, "+++++", "-----")
    assert not report.decided
    assert "5 canaries can't show a drift, 7 or more can" in "\n".join(canary_lines(report))
    report = await reported(make_run, "!!!")
    assert not report.decided
    assert "no verdict: the judge gave none" in "\n".join(canary_lines(report))


async def test_a_drift_and_a_chart_of_it_are_shown_in_words(make_run: Make):
    """With the pass rate of each run; foreign text steers no terminal."""
    report = await reported(make_run, "++++++++++", "-------+++", model="j\x1b[2J")
    text = "\n".join(canary_lines(report))
    assert "the judge drifted since" in text
    assert "7 newly wrong, 0 newly right (p = 0.031)" in text
    assert "━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 3/10    70 %" in text
    assert "\x1b" not in text
    report = await reported(make_run, "++++++++++", "+++++++++-")
    assert "its pass rate went from 70 % to 70 %" in "\n".join(canary_lines(report))


def passing(cases: range, passed: int) -> dict[str, float]:
    """Cases of which so many, the first, pass."""
    return {f"case {case}": float(place < passed) for place, case in enumerate(cases)}


@pytest.mark.parametrize(
    ("before", "after", "word", "told"),
    [
        (
            passing(range(60), 54),
            {**passing(range(30), 27), **passing(range(100, 170), 28)},
            "none",
            "on the 30 cases of both",
        ),
        (
            passing(range(60), 54),
            passing(range(100, 160), 10),
            "none",
            "other cases: the pass rates of the two runs are not comparable",
        ),
        (passing(range(60), 54), passing(range(57, 117), 10), "none", "not comparable"),
        (passing(range(60), 54), passing(range(60), 20), "system", "went from 90 % to 33 %"),
        (
            passing(range(60), 54),
            {**passing(range(60), 20), **passing(range(100, 140), 40)},
            "system",
            "its pass rate on the 60 cases of both went from 90 % to 33 %",
        ),
        (
            passing(range(60), 54),
            {**passing(range(60), 54), **passing(range(100, 140), 0)},
            "none",
            "on the 60 cases of both",
        ),
        (passing(range(60), 54), passing(range(25), 25), "none", "on the 25 cases of both"),
        (passing(range(60), 54), passing(range(54, 60), 3), "none", "on the 6 cases of both"),
        (None, passing(range(60), 20), "system", "whether the cases are the same was not recorded"),
        (passing(range(60), 54), None, "system", "whether the cases are the same was not recorded"),
    ],
)
async def test_the_system_changed_only_on_the_cases_that_both_runs_have(
    make_run: Make,
    before: Mapping[str, float] | None,
    after: Mapping[str, float] | None,
    word: str,
    told: str,
):
    """Other cases, or cases that were chosen by what came of them, say nothing of the system."""
    await make_run([result(0)])
    first = await check_of(make_run, "++++++++++", passed=90, cases=before)
    now = await check_of(make_run, "++++++++++", passed=33, cases=after)
    report = canary_report(now, [first.path])
    drift = report.drift(("right", "j"))
    assert drift is not None
    assert drift.word == word
    text = " ".join("\n".join(canary_lines(report)).split())
    assert told in text
    assert ("the system changed" in text) is (word == "system")

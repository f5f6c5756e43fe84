"""What a gate says of a run beside its baseline: variants, metrics, errors, and nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, baseline_of, result

from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_results import Gate
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.gate import document, lines
from evenhand.store.runfile import RunFile

ONE = (Variant(0, "plain", "m"),)
ASKED = [(CallStart(0, "k", 0, "subject", "m", b"{}", None), None)]


def trials(
    n: int, failing: int = 0, errors: int = 0, metric: str = "", **more: Any
) -> list[TrialResult]:
    """So many trials, of which the first are in error, and the next fail."""
    made: list[TrialResult] = []
    for i in range(n):
        ok = None if i < errors else i >= errors + failing
        one = result(i, ok=ok, case=f"c{i:03}", **more)
        if ok is not None:
            outcome = Outcome("x", "pass" if ok else "fail", float(ok), metric=metric)
            one = replace(one, outcomes=(outcome,))
        if metric and ok is not None:
            one = replace(one, named_scores={metric: float(ok)})
        made.append(one)
    return made


async def a_run(make: Make, made: list[TrialResult], **meta: Any) -> RunFile:
    """A run in which a model was asked."""
    variants = meta.pop("variants", ONE)
    return await make(made, variants, calls=ASKED, **meta)


async def against(make: Make, tmp_path: Path, made: list[TrialResult], **meta: Any) -> Baseline:
    """A baseline of these trials."""
    path = tmp_path / "b.evn"
    write_baseline(baseline_of(await a_run(make, made, **meta)), path)
    return read_baseline(path)


def verdicts(outcome: Gate) -> dict[str, str]:
    """Of each metric."""
    return {one.metric: one.verdict for one in outcome.results}


@pytest.mark.parametrize(
    ("failing", "errors", "expected"),
    [
        (0, 0, "not worse"),
        (4, 0, "undecided"),
        (40, 0, "worse"),
        (0, 100, "nothing"),
        (0, 9, "undecided"),
    ],
)
async def test_the_verdict_on_a_pass_rate(
    make_run: Make, tmp_path: Path, failing: int, errors: int, expected: str
):
    """Of 100 cases that all passed before."""
    baseline = await against(make_run, tmp_path, trials(100))
    outcome = gate(baseline, await a_run(make_run, trials(100, failing, errors)), 0.05)
    assert outcome.verdict == expected
    assert (outcome.never_passes == "errors could turn it") == (errors == 9)


async def test_a_case_that_became_worse_names_the_first_expectation_with_weight_that_it_failed(
    make_run: Make, tmp_path: Path
):
    """In the document, beside the pass rate: other metrics say by their name what was missed."""
    baseline = await against(make_run, tmp_path, trials(20))
    worse = trials(20, failing=12)
    worse[0] = replace(
        worse[0],
        outcomes=(
            Outcome("polite", "pass", 1.0),
            Outcome("short", "fail", 0.0, weight=0.0),
            Outcome('contains "voucher"', "fail", 0.0, metric="words"),
            Outcome("warm", "fail", 0.0),
        ),
        named_scores={"words": 0.0},
    )
    made = gate(baseline, await a_run(make_run, worse), 0.05)
    (row,) = (one for one in document(made)["results"] if one["metric"] == "passed")
    failed = {one["case"]: one["failed"] for one in row["changed"]}
    assert failed["c000"] == 'contains "voucher"'
    assert failed["c001"] == worse[1].outcomes[0].name
    assert len(failed) == 12


async def test_of_a_cases_repeats_a_failure_is_named_before_an_error(
    make_run: Make, tmp_path: Path
):
    """Each case has a pass, an error and a failure now: the failure is what people want to look at."""

    def repeated(second: bool | None, third: bool) -> list[TrialResult]:
        return [
            result(3 * case + repeat, ok=ok, case=f"c{case:03}", repeat=repeat)
            for case in range(30)
            for repeat, ok in enumerate((True, second, third))
        ]

    baseline = await against(make_run, tmp_path, repeated(True, True))
    made = gate(baseline, await a_run(make_run, repeated(None, False)), 0.05)
    (row,) = (one for one in document(made)["results"] if one["metric"] == "passed")
    assert [one["trial"] % 3 for one in row["changed"]] == [2] * 30
    assert {one["failed"] for one in row["changed"]} == {repeated(None, False)[2].outcomes[0].name}


async def test_all_trials_taken_is_not_worse_however_few_they_are(make_run: Make, tmp_path: Path):
    """One that was run makes it a matter of tests."""
    baseline = await against(make_run, tmp_path, trials(6, failing=2))
    taken = [replace(one, taken="RUN") for one in trials(6, failing=2)]
    whole = gate(baseline, await make_run(taken, ONE), 0.05)
    assert (whole.verdict, whole.asked, whole.taken) == ("not worse", 0, 6)
    part = gate(baseline, await make_run([replace(taken[0], taken=""), *taken[1:]], ONE), 0.05)
    assert (part.verdict, part.asked, part.taken) == ("undecided", 1, 5)


async def test_cases_that_are_not_measured_any_more_are_named(make_run: Make, tmp_path: Path):
    """The others may show nothing: an application that ends too early passes without a word. Errors are told apart."""
    before = trials(100, failing=20, metric="kind")
    before[99] = replace(before[99], outcome="not_applicable", score=None, named_scores={})
    baseline = await against(make_run, tmp_path, before)
    now = [
        replace(one, outcome="not_applicable", score=None, outcomes=(), named_scores={})
        if one.outcome != "pass"
        else one
        for one in before
    ]
    now[98] = result(98, ok=None, case="c098")
    outcome = gate(baseline, await a_run(make_run, now), 0.1)
    assert verdicts(outcome)["passed"] == "not worse"
    assert [note for note in outcome.notes if note.startswith("left out")] == [
        "left out of passed, kind: 20 cases measured in the baseline and not in the run: c000, c001, c002 and 17 more"
    ]


async def test_a_metric_that_is_not_measured_any_more_is_nothing(make_run: Make, tmp_path: Path):
    """One that the baseline lacks can't be asked for."""
    baseline = await against(make_run, tmp_path, trials(100, metric="kind"))
    gone = gate(baseline, await a_run(make_run, trials(100)), 0.05)
    assert verdicts(gone) == {"passed": "not worse", "kind": "nothing"}
    assert gone.verdict == "nothing"
    only = gate(baseline, await a_run(make_run, trials(100)), 0.05, metrics=["passed"])
    assert only.verdict == "not worse"
    with pytest.raises(UsageError, match="no metric 'kindness'"):
        gate(baseline, await a_run(make_run, trials(100)), 0.05, metrics=["kindness"])


async def test_worse_is_graver_than_nothing(make_run: Make, tmp_path: Path):
    """And both than the rest."""
    baseline = await against(make_run, tmp_path, trials(100, metric="kind"))
    outcome = gate(baseline, await a_run(make_run, trials(100, failing=60)), 0.05)
    assert verdicts(outcome) == {"passed": "worse", "kind": "nothing"}
    assert outcome.verdict == "worse"


async def test_a_run_that_did_not_finish_is_undecided_at_best(make_run: Make, tmp_path: Path):
    """What is missing may be anything."""
    baseline = await against(make_run, tmp_path, trials(100))
    half = await a_run(make_run, trials(60), planned=100, status="interrupted")
    outcome = gate(baseline, half, 0.2)
    assert verdicts(outcome) == {"passed": "not worse"}
    assert outcome.verdict == "undecided"
    assert "the run did not finish" in lines(outcome)[0]


async def test_other_variants_and_cases_are_noted(make_run: Make, tmp_path: Path):
    """Those of one side only."""
    two = (Variant(0, "plain", "m"), Variant(1, "kind", "m"))
    both = [replace(one, index=i) for i, one in enumerate([*trials(100), *trials(100, variant=1)])]
    baseline = await against(make_run, tmp_path, both, variants=two)
    other = (Variant(0, "plain", "m"), Variant(1, "terse", "n"), Variant(2, "rude", "n"))
    outcome = gate(baseline, await a_run(make_run, trials(90), variants=other), 0.05)
    notes = "\n".join(outcome.notes)
    assert "not in the run: variant kind · m" in notes
    assert "not in the baseline: variant terse · n" in notes
    assert "10 cases only in the baseline: c090, c091, c092 and 7 more" in notes


async def test_a_longer_name_is_no_other_variant(make_run: Make, tmp_path: Path):
    """With a second model beside it, the table names the first, too: nothing else is compared than before."""
    two = (Variant(0, "plain", "m"), Variant(1, "kind", "m"))
    both = [replace(one, index=i) for i, one in enumerate([*trials(20), *trials(20, variant=1)])]
    baseline = await against(make_run, tmp_path, both, variants=two)
    more = (*two, Variant(2, "plain", "n"), Variant(3, "kind", "n"))
    outcome = gate(baseline, await a_run(make_run, both, variants=more), 0.05)
    notes = "\n".join(outcome.notes)
    assert "not in the baseline: variant plain · n" in notes
    assert "is compared with" not in notes


async def test_foreign_text_cannot_steer_a_terminal(make_run: Make, tmp_path: Path):
    """Names of cases, metrics and variants are data."""
    bad = "\x1b[31mred"
    variants = (Variant(0, bad, "m"), Variant(1, "other", "m"))
    made = [replace(one, description=bad) for one in trials(100, metric=bad)]
    baseline = await against(make_run, tmp_path, made, variants=variants)
    worse = [replace(one, description=bad) for one in trials(100, failing=50, metric=bad)]
    outcome = gate(baseline, await a_run(make_run, worse, variants=variants), 0.05)
    assert outcome.verdict == "worse"
    assert "\x1b" not in "\n".join(lines(outcome))


async def test_a_margin_of_points_is_refused(make_run: Make, tmp_path: Path):
    """5 is meant as 0.05."""
    baseline = await against(make_run, tmp_path, trials(100))
    with pytest.raises(UsageError, match="is a rate between 0 and 1") as refused:
        gate(baseline, await a_run(make_run, trials(100)), 5)
    assert refused.value.hint == "5 points are 0.05."


async def test_cases_that_changed_alike_are_in_the_order_of_the_run(make_run: Make, tmp_path: Path):
    """A baseline is sorted by id, or by the hash of a case without one, which says nothing to anybody."""
    names = [f"c{12 - i}" for i in range(12)]
    before = [replace(one, case=name) for one, name in zip(trials(12), names, strict=True)]
    now = [replace(one, case=name) for one, name in zip(trials(12, 4), names, strict=True)]
    outcome = gate(await against(make_run, tmp_path, before), await a_run(make_run, now), 0.5)
    compared = outcome.results[0].compared
    assert compared is not None
    assert [change.case for change in compared.changed] == names[:4]


async def test_answers_from_the_cache_are_told(make_run: Make, tmp_path: Path):
    """Nothing was asked again: that nothing differs says nothing of how much answers vary."""
    cached = [replace(trial, calls=1, cached=1) for trial in trials(10)]
    baseline = await against(make_run, tmp_path, trials(10))
    found = gate(baseline, await a_run(make_run, cached), 0.3)
    note = "10 of 10 answers came from the cache: where the baseline has the same ones, nothing can differ"
    assert f"{note}; --all --no-cache asks for all of them again" in found.notes
    replayed = await a_run(make_run, cached, settings={"replay": {}})
    assert (
        note.replace("came from the cache", "were replayed") in gate(baseline, replayed, 0.3).notes
    )


async def test_answers_of_the_run_itself_that_it_read_again_are_not_the_caches(
    make_run: Make, tmp_path: Path
):
    """It was interrupted: what it asked before is as new as the rest."""
    trials_again = [replace(trial, calls=1, cached=1) for trial in trials(10)]
    answer = CallEnd(b"{}", "provider", model="m")
    calls = [(replace(ASKED[0][0], trial=i), answer) for i in range(10)]
    baseline = await against(make_run, tmp_path, trials(10))
    for cached, of_cache in ((calls[:7], 3), (calls, 0)):
        found = gate(baseline, await make_run(trials_again, ONE, calls=cached), 0.3)
        notes = [note for note in found.notes if "came from the cache" in note]
        assert [note.split(" answers")[0] for note in notes] == [f"{of_cache} of 10"] * bool(
            of_cache
        )


async def test_a_baseline_of_an_imported_run_says_who_recorded_it(make_run: Make, tmp_path: Path):
    """Making it again would not help: the tool keeps no record of what it expected."""
    imported = {"imported": {"id": "x", "from": "langsmith"}}
    baseline = await against(make_run, tmp_path, trials(40), settings=imported)
    now = await a_run(make_run, trials(40, input="q", content={"input": "d"}))
    notes = "\n".join(gate(baseline, now, 0.05).notes)
    assert "! recorded by langsmith and by Evenhand" in notes
    assert "langsmith keeps no record of its expectations" in notes
    assert "Make it again" not in notes
    own = await against(make_run, tmp_path, trials(40))
    notes = "\n".join(gate(own, now, 0.05).notes)
    assert "Make it again" in notes
    assert "recorded by" not in notes

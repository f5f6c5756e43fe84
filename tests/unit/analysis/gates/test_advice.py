"""What would decide an undecided gate at the least cost, in cases, repeats, calls and money."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.runs import Make, baseline_of, result

from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_results import Advice, Gate, GateResult
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.gate import document, lines, rounded

ONE = (Variant(0, "plain", "m"),)


def wavering(
    cases: int, repeats: int, seed: int, spread: float = 0.0, of: int = 1
) -> list[TrialResult]:
    """Trials of cases that pass half of the time, or so much more and less; so many say the same."""
    random = Random(seed)
    rates = [0.5 + spread * random.choice((-1, 1)) for _ in range(cases)]
    return [
        result(
            i * repeats + k, case=f"c{i:03}", repeat=k, ok=random.random() < rates[i],
            copy_key=f"copy {i // of}" if of > 1 else "",
        )
        for i in range(cases)
        for k in range(repeats)
    ]  # fmt: skip


async def gated(
    make: Make,
    path: Path,
    before: list[TrialResult],
    now: list[TrialResult],
    cost: float | None = 0.01,
    margin: float = 0.05,
) -> Gate:
    """The gate of a run, each trial of which asked a model once."""
    calls = [
        (
            CallStart(one.index, f"k{one.index}", 0, "subject", "m", b"{}", None),
            CallEnd(b"{}", "provider", 0.1, 1, 1, cost, "m"),
        )
        for one in now
    ]
    write_baseline(baseline_of(await make(before, ONE, calls=calls[:1])), path / "b.evn")
    return gate(read_baseline(path / "b.evn"), await make(now, ONE, calls=calls), margin)


def advice_of(outcome: Gate) -> tuple[GateResult, Advice]:
    """The only result's."""
    (one,) = outcome.results
    assert one.verdict == "undecided"
    assert one.advice is not None
    return one, one.advice


async def test_more_cases_are_advised_with_their_calls_and_money(make_run: Make, tmp_path: Path):
    """They are run for both, as often as those that are there: 2 + 2 calls for each."""
    outcome = await gated(make_run, tmp_path, wavering(60, 2, 1, 0.4), wavering(60, 2, 5, 0.4))
    one, advice = advice_of(outcome)
    assert advice.cases == one.more
    assert advice.calls == 4 * advice.cases
    assert advice.cost_usd == pytest.approx(0.01 * advice.calls)
    assert (advice.repeated, advice.clusters, advice.run_repeats) == (True, False, 0)
    assert {part.part for part in advice.parts} == {"cases", "repeats"}
    text = " ".join(" ".join(lines(outcome)).split())
    assert "more cases, repeated as before, would decide it four times in five: about " in text
    assert f"{advice.calls:,} calls, ${advice.cost_usd:.2f}" in text
    assert "sources of uncertainty: cases " in text
    row = document(outcome)["results"][0]
    assert (row["more_cases"], row["advice"]["cases"]) == (one.more, advice.cases)


async def test_the_calls_of_further_cases_are_those_of_all_variants(make_run: Make, tmp_path: Path):
    """Each case is asked of every variant, for the run and for its new baseline."""
    variants = (*ONE, Variant(1, "polite", "m"), Variant(2, "new", "m"))

    def both(seed: int, columns: int) -> list[TrialResult]:
        one = wavering(60, 2, seed, 0.4)
        return [
            replace(trial, index=trial.index * columns + k, variant=k)
            for trial in one
            for k in range(columns)
        ]

    before = await make_run(both(1, 2), variants[:2])
    write_baseline(baseline_of(before), tmp_path / "b.evn")
    now = both(5, 3)
    calls = [
        (
            CallStart(one.index, f"k{one.index}", 0, "subject", "m", b"{}", None),
            CallEnd(b"{}", "provider", 0.1, 1, 1, 0.01 * (1 + one.variant), "m"),
        )
        for one in now
    ]
    run = await make_run(now, variants, calls=calls)
    outcome = gate(read_baseline(tmp_path / "b.evn"), run, 0.05)
    assert len(outcome.results) == 2
    for one in outcome.results:
        assert one.advice is not None
        assert one.advice.calls == 3 * 4 * one.advice.cases
        assert one.advice.cost_usd == pytest.approx(0.06 * 4 * one.advice.cases)


async def test_repeats_of_the_run_are_advised_where_the_baseline_has_many(
    make_run: Make, tmp_path: Path
):
    """Ten repeats before, two now, and cases that are all alike."""
    outcome = await gated(make_run, tmp_path, wavering(60, 10, 2), wavering(60, 2, 7), margin=0.03)
    _, advice = advice_of(outcome)
    assert advice.run_repeats > 0 == advice.baseline_repeats
    assert advice.calls < 12 * (advice_of(outcome)[0].more or 0)
    assert f"{advice.run_repeats} more repeats of each case in the run" in " ".join(
        " ".join(lines(outcome)).split()
    )


async def test_without_repeats_it_is_said_that_their_part_is_not_known(
    make_run: Make, tmp_path: Path
):
    """And how to learn it; an unknown price is no price."""
    outcome = await gated(make_run, tmp_path, wavering(60, 1, 1), wavering(60, 1, 2), None)
    _, advice = advice_of(outcome)
    assert (advice.repeated, advice.cost_usd) == (False, None)
    assert [part.part for part in advice.parts] == ["cases and repeats"]
    text = " ".join(" ".join(lines(outcome)).split())
    assert "no case was repeated, so what repeats would save is not known: --repeat 2" in text
    assert "would decide it four times in five: about" in text
    assert "calls, including a new baseline)" in text


async def test_one_case_is_one(make_run: Make, tmp_path: Path):
    """Not “1 more cases”."""
    outcome = await gated(make_run, tmp_path, wavering(60, 1, 1), wavering(60, 1, 2))
    one, advice = advice_of(outcome)
    single = replace(outcome, results=(replace(one, advice=replace(advice, cases=1, calls=2)),))
    text = " ".join(" ".join(lines(single)).split())
    assert "about 1 more case would decide it four times in five: about 2 calls" in text


async def test_a_further_case_takes_the_calls_of_its_own_eval(make_run: Make, tmp_path: Path):
    """Of two evals over the same cases only the second asks: its cases aren't half as many calls."""
    two = (Variant(0, "", "", eval="names"), Variant(1, "", "", eval="guest"))
    trials = [result(i, variant=i % 2, case=f"c{i // 2:02}") for i in range(40)]
    calls = [
        (
            CallStart(i, f"k{i}", 0, "judge", "m", b"{}", None),
            CallEnd(b"{}", "provider", 0.1, 1, 1, 0.01, "m"),
        )
        for i in range(1, 40, 2)
    ]
    before = await make_run(trials, two, calls=calls)
    write_baseline(baseline_of(before), tmp_path / "b.evn")
    outcome = gate(read_baseline(tmp_path / "b.evn"), before, 0.05)
    advice = {one.variant: one.advice for one in outcome.results}
    assert [one and (one.cases, one.calls) for one in advice.values()] == [(32, 0), (32, 64)]


async def test_those_that_were_left_out_are_among_more_cases_than_these_alone(
    make_run: Make, tmp_path: Path
):
    """Of 100 that were left out, 40 more cases needn't be new; of 300 more, 200 are."""
    outcome = await gated(make_run, tmp_path, wavering(60, 1, 1), wavering(60, 1, 2))
    one, _ = advice_of(outcome)
    assert one.compared is not None
    of_sample = replace(one.compared, predicted=100)
    for cases, among in ((40, False), (300, True)):
        way = Advice(cases=cases, run_repeats=2, calls=0, cost_usd=None)
        result = replace(one, compared=of_sample, more=300, advice=way)
        text = " ".join(" ".join(lines(replace(outcome, results=(result,)))).split())
        assert f"about {cases} more cases" in text
        assert ("including those that were left out" in text) is among


async def test_a_new_baseline_is_named_where_its_calls_are_counted(make_run: Make, tmp_path: Path):
    """Not where the run alone asks: more repeats of it, or the cases that a sample left out."""
    outcome = await gated(make_run, tmp_path, wavering(60, 1, 1), wavering(60, 1, 2))
    one, _ = advice_of(outcome)
    ways = (
        (Advice(cases=46, calls=184, cost_usd=None), True),
        (Advice(cases=0, baseline_repeats=1, calls=60, cost_usd=0.5), True),
        (Advice(cases=0, run_repeats=1, calls=60, cost_usd=0.5), False),
        (Advice(cases=46, calls=92, cost_usd=None, of_sample=True), False),
    )
    for way, named in ways:
        of_way = replace(outcome, results=(replace(one, advice=way),))
        text = " ".join(" ".join(lines(of_way)).split())
        assert f"would decide it four times in five: about {way.calls} calls" in text
        assert ("including a new baseline)" in text) is named


async def test_cases_that_belong_together_are_advised_as_clusters(make_run: Make, tmp_path: Path):
    """Three copies of each of twenty cases."""
    outcome = await gated(
        make_run, tmp_path, wavering(60, 2, 1, 0.3, of=3), wavering(60, 2, 2, 0.3, of=3)
    )
    one, advice = advice_of(outcome)
    assert advice.clusters
    assert advice.cases == one.more
    assert f"about {rounded(advice.cases)} more clusters of cases" in " ".join(
        " ".join(lines(outcome)).split()
    )
    assert advice.calls == advice.cases * 3 * (2 + 2)


async def test_too_few_clusters_are_advised_as_clusters(make_run: Make, tmp_path: Path):
    """Four clusters of five cases: one more is the least that says anything, with the calls of its five cases."""
    outcome = await gated(make_run, tmp_path, wavering(20, 2, 1, of=5), wavering(20, 2, 2, of=5))
    _, advice = advice_of(outcome)
    assert (advice.cases, advice.clusters, advice.calls) == (1, True, 5 * (2 + 2))


async def test_few_cases_and_errors_get_no_parts(make_run: Make, tmp_path: Path):
    """Of three cases two more are the least that says anything; where errors decide, cases are no advice."""
    few = await gated(make_run, tmp_path, wavering(3, 2, 1), wavering(3, 2, 2))
    _, advice = advice_of(few)
    assert (advice.cases, advice.parts) == (2, ())
    broken = wavering(60, 2, 1, 0.4)
    broken[:40] = [replace(one, outcome="error", outcomes=(), score=None) for one in broken[:40]]
    outcome = await gated(make_run, tmp_path, wavering(60, 2, 1, 0.4), broken)
    assert all(one.advice is None for one in outcome.results)


async def test_a_judge_that_was_asked_again_has_a_share(make_run: Make, tmp_path: Path):
    """Repeats of a case have the same output here: all of their part is the judge's."""

    def judged(seed: int) -> list[TrialResult]:
        return [
            replace(
                one,
                outcomes=(
                    Outcome(
                        "kind", one.outcome, one.score, metric="kind",
                        metadata={"judge": "j", "prompt": "p/1", "instrument": "i"},
                    ),
                ),
                named_scores={"kind": one.score or 0.0},
            )
            for one in wavering(60, 2, seed, 0.3)
        ]  # fmt: skip

    outcome = await gated(make_run, tmp_path, judged(1), judged(5), margin=0.1)
    (kind,) = [one for one in outcome.results if one.metric == "kind"]
    assert kind.advice is not None
    shares = {part.part: part for part in kind.advice.parts}
    assert list(shares) == ["cases", "repeats", "judge"]
    # The run's judge stands for the baseline's.
    assert shares["judge"].share == pytest.approx(shares["repeats"].share, rel=0.25)
    assert "of which the judge" in " ".join(" ".join(lines(outcome)).split())

"""What runs beside the first say: of a judge that is asked again, and of other wordings; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.estimates.several_runs import pilot_of_runs
from evenhand.analysis.trust.power import Power
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.power_text import lines
from evenhand.store.runfile import RunFile

PLAIN = (Variant(0, "plain", "m", prompt_raw="Answer. {{q}}"),)
WARM = (Variant(0, "warm", "m", prompt_raw="Answer kindly. {{q}}"),)
Verdict = Callable[[int], bool | None]


def judged(verdict: Verdict, cases: int = 20, words: str = "i") -> list[TrialResult]:
    """Two trials of each case, with the verdict of a judge that decides them."""
    trials: list[TrialResult] = []
    for i in range(2 * cases):
        ok = verdict(i)
        metadata = {"judge": "judge-1", "prompt": "p/1", "instrument": words}
        outcome = Outcome(
            "kind", "pass" if ok else "fail", float(bool(ok)), metric="kind", metadata=metadata
        )
        one = result(i, ok=ok, case=f"c{i // 2:02}", repeat=i % 2)
        trials.append(one if ok is None else replace(one, outcomes=(outcome,)))
    return trials


async def again(
    make: Make, first: RunFile, trials: Sequence[TrialResult], origin: str = "provider"
) -> RunFile:
    """A run that judges the outputs of the first again."""
    replay = {"run": first.meta.id, "file": "r.db", "recorded_at": 1.0, "regrades": True}
    call = CallStart(0, "k", 0, "judge", "judge-1", b"{}", None)
    end = CallEnd(b"{}", origin, 0.1, 1, 1, 0.001, "judge-1")
    return await make(trials, PLAIN, settings={"replay": replay}, calls=[(call, end)])


def text(runs: Sequence[RunFile]) -> str:
    """What `evenhand info power` prints of them."""
    return "\n".join(lines(Power(pilot_of_runs(runs), 0.1, 0.05)))


async def test_a_judge_that_is_asked_again_has_a_part_of_its_own(make_run: Make):
    """It changes its mind about both outputs of two of twenty cases: in a tenth of pairs. It decides the trials."""
    first = await make_run(judged(lambda i: i % 4 > 0), PLAIN)
    second = await again(make_run, first, judged(lambda i: (i % 4 > 0) != (i < 4)))
    pilot = pilot_of_runs([first, second])
    (judge,) = pilot.again
    assert (judge.metric, judge.model, judge.outputs) == ("kind", "judge-1", 40)
    assert judge.variance == pytest.approx(0.05)
    assert 0 < judge.low < 0.05 < judge.high < 0.25
    parts = {part.part: part.share for part in pilot.parts}
    assert list(parts) == ["cases", "repeats", "judge"]
    assert pilot.spread is not None
    assert parts["judge"] == pytest.approx(0.05 / 2 / pilot.spread.measured)
    report = text([first, second])
    assert (
        "kind: judge-1, asked again about the same output, gives another verdict in 10 %" in report
    )
    assert "of which the judge" in report
    json.dumps(Power(pilot, 0.1, 0.05).document())


async def test_outputs_that_one_run_alone_has_say_nothing_of_a_second_answer(make_run: Make):
    """The second run judged the outputs of half of the cases."""
    first = await make_run(judged(lambda i: i % 4 > 0), PLAIN)
    second = await again(make_run, first, judged(lambda i: i % 4 > 0, cases=10))
    (judge,) = pilot_of_runs([first, second]).again
    assert (judge.outputs, judge.variance) == (20, 0)


async def test_answers_of_the_cache_are_no_second_answers(make_run: Make):
    """They are always the same: the judge would seem never to vary."""
    first = await make_run(judged(lambda i: i % 4 > 0), PLAIN)
    second = await again(make_run, first, judged(lambda i: i % 4 > 0), "cache")
    with pytest.raises(UsageError, match="from the cache"):
        pilot_of_runs([first, second])


async def test_other_outputs_say_nothing_of_how_the_judge_varies(make_run: Make):
    """Today's code made them of the same replies, so the judge was asked about something else."""
    first = await make_run(judged(lambda i: i % 4 > 0), PLAIN)
    trials = judged(lambda i: i % 4 > 0)
    trials[3] = replace(trials[3], output="another one")
    second = await again(make_run, first, trials)
    with pytest.raises(UsageError, match=r"other outputs than run .*: 1 of 40 outputs differ"):
        pilot_of_runs([first, second])


async def test_another_wording_has_a_part_that_cases_do_not_change(make_run: Make):
    """One prompt passes a quarter, the other three quarters: half of the square of their difference."""
    first = await make_run(judged(lambda i: i % 8 < 2), PLAIN)
    second = await make_run(judged(lambda i: i % 8 < 6), WARM)
    wording = pilot_of_runs([first, second]).wording
    assert wording is not None
    assert (wording.of, wording.wordings, wording.cases, wording.left_out) == ("prompt", 2, 20, 0)
    # Cases of c0, c4, … pass always, of c3, c7, … never; the others go the same way, all alike.
    left = 20 * 0.125 / 19 / 20
    assert wording.variance == pytest.approx(0.125 - left, rel=0.02)
    assert wording.high > 100 * wording.variance
    assert "another wording of the prompt moves the pass rate by about 3" in text([first, second])


async def test_another_wording_of_the_judge_is_told_from_one_of_the_prompt(make_run: Make):
    """Whether the outputs are the same or not; cases in error are left out of all, and counted."""
    first = await make_run(judged(lambda i: i % 8 < 2), PLAIN)
    second = await again(
        make_run, first, judged(lambda i: None if i < 4 else i % 8 < 6, words="other")
    )
    wording = pilot_of_runs([first, second]).wording
    assert wording is not None
    assert (wording.of, wording.cases, wording.left_out) == ("judge", 18, 2)
    assert "wording of the judge's prompt" in text([first, second])
    assert "2 cases left out" in text([first, second])


@pytest.mark.parametrize(
    ("variants", "cases", "words"),
    [
        (PLAIN, 20, "have the same wording"),
        ((replace(WARM[0], model="n"),), 20, "differ in more than wording: the models differ"),
        ((replace(WARM[0], eval="set: other"),), 20, "differ in more than wording"),
        ((), 20, "one of them has no variant"),
        (WARM, 4, "4 cases in common"),
    ],
)
async def test_runs_that_say_nothing_of_wording_are_refused(
    make_run: Make, variants: tuple[Variant, ...], cases: int, words: str
):
    """In one sentence, and never with a number."""
    plain: Any = (replace(PLAIN[0], eval="set: one"),) if variants and variants[0].eval else PLAIN
    first = await make_run(judged(lambda i: i % 3 > 0), plain)
    trials = judged(lambda i: i % 3 > 0, cases) if variants else []
    second = await make_run(trials, variants)
    with pytest.raises(UsageError, match=words):
        pilot_of_runs([first, second])


async def test_one_run_is_what_it_was(make_run: Make):
    """No judge was asked twice, and there is no other wording: what would show it is said."""
    first = await make_run(judged(lambda i: i % 3 > 0), PLAIN)
    pilot = pilot_of_runs([first])
    assert (pilot.wording, [p.part for p in pilot.parts][:2]) == (None, ["cases", "repeats"])


async def test_cases_that_are_alike_few_or_in_error_have_no_parts(make_run: Make):
    """It is said why; of errors alone nothing is."""
    alike = await make_run(judged(lambda i: True), PLAIN)
    assert (
        "all these cases had the same result, so the sources of uncertainty of the pass rate are unknown"
        in text([alike])
    )
    few = await make_run(judged(lambda i: i % 3 > 0, 4), PLAIN)
    assert "with fewer than 5 cases or clusters, the sources of uncertainty of" in text([few])
    with pytest.raises(UsageError, match=r"no trial of run .* passed or failed"):
        pilot_of_runs([await make_run(judged(lambda i: None), PLAIN)])

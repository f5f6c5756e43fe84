"""What a gate says of the judges that its verdicts rest on."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from tests.runs import Make
from tests.unit.analysis.gates.test_gate_verdict import against
from tests.unit.render.test_judge_trust import judge_call, judged, label

from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.render.gate import document, lines
from evenhand.store.runfile import RunFile

ONE = (Variant(0, "plain", "m"),)


def verdicts(cases: int) -> list[TrialResult]:
    """A judge's, of which every second is a yes."""
    return [judged(i, ok=i % 2 == 0, case=f"c{i:03}") for i in range(cases)]


async def both(make: Make, folder: Path, cases: int) -> tuple[Baseline, RunFile]:
    """A baseline, and a run of the same."""
    now = verdicts(cases)
    return await against(make, folder, now), await make(now, ONE, calls=[judge_call()])


async def test_a_judge_that_nobody_checked_is_named_where_its_verdicts_decide(
    make_run: Make, tmp_path: Path
):
    """In the text and in the document, which comments are made of; of a metric apart from it, nothing is said."""
    baseline, run = await both(make_run, tmp_path, 40)
    line = "! prose, judged by judge-1: not checked against people"
    for metrics in ((), ("prose",), ("passed",)):
        outcome = gate(baseline, run, 0.3, metrics=metrics)
        assert outcome.verdict == "not worse"
        assert line in lines(outcome)
        assert document(outcome)["notes"][0] == line
    assert "judged by" not in " ".join(lines(gate(baseline, run, 0.3, metrics=["cost"])))


async def test_a_judge_that_is_no_better_than_chance_is_not_to_be_used(
    make_run: Make, tmp_path: Path
):
    """People disagree with it half of the time; with one that they always agree with, nothing is said."""
    baseline, run = await both(make_run, tmp_path, 120)
    good = gate(baseline, label(run, lambda index: index % 2 == 0, size=80), 0.3)
    assert "judged by" not in " ".join(lines(good))
    baseline, run = await both(make_run, tmp_path, 120)
    chance = gate(baseline, label(run, lambda index: index % 4 < 2, size=80), 0.3)
    assert "! prose, judged by judge-1: do not use this judge: see `evenhand calibrate`" in lines(
        chance
    )


async def test_of_labels_of_other_cases_a_gate_says_what_reports_say(
    make_run: Make, tmp_path: Path
):
    """That there are other cases, and not that the data has changed."""
    source = str(tmp_path / "promptfooconfig.yaml")
    run = await make_run(verdicts(120), ONE, calls=[judge_call()], source=source)
    write_calibration(
        calibrate(label(run, lambda index: index % 2 == 0, size=80)), place_of(run.meta)
    )
    others = [judged(i, ok=i % 2 == 0, case=f"d{i:03}") for i in range(200)]
    baseline = await against(make_run, tmp_path, others)
    run = await make_run(others, ONE, calls=[judge_call()], source=source)
    assert "! prose, judged by judge-1: calibration is stale: other cases" in lines(
        gate(baseline, run, 0.3)
    )


async def test_a_judged_metric_that_is_compared_by_its_scores_says_so(
    make_run: Make, tmp_path: Path
):
    """It has pass rates by the judge, too, which are other numbers; a pass rate has a unit."""
    scores = [
        replace(
            one,
            outcomes=tuple(replace(o, score=0.6, scale=(0.0, 1.0)) for o in one.outcomes),
            named_scores={"prose": 0.6 + i % 2 / 10},
        )
        for i, one in enumerate(verdicts(40))
    ]
    baseline = await against(make_run, tmp_path, scores)
    result = gate(baseline, await make_run(scores, ONE, calls=[judge_call()]), 0.3)
    text = "\n".join(lines(result))
    assert "✓ prose, mean score: not worse · 0.0" in text
    assert "✓ passed: not worse · 0 points" in text
    assert [row["metric"] for row in document(result)["results"]] == ["passed", "prose"]

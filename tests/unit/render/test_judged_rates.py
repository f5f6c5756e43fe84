"""What a report says of many variants' judged rates: a line for each metric, with what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import judge_call, judged, label

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.core.variant import Variant
from evenhand.render.comparing import compare
from evenhand.render.judged_rates import judged_lines
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile

CASES = 10


async def a_run(make: Make, variants: int, worse: int = 0, **more: Any) -> RunFile:
    """Two judged metrics in so many variants: of each, the variant's number of outputs fail, and so many more."""
    trials = [
        replace(one, outcomes=(*one.outcomes, *other.outcomes), repeat=0)
        for case in range(CASES)
        for variant in range(variants)
        for one in [
            judged(
                case * variants + variant,
                ok=case >= variant + worse,
                variant=variant,
                case=f"c{case}",
            )
        ]
        for other in [judged(one.index, ok=True, metric="kind")]
    ]
    named = [Variant(i, f"prompt {i}", "m") for i in range(variants)]
    return await make(trials, named, planned=len(trials), calls=[judge_call()], **more)


@pytest.mark.parametrize(("variants", "lines"), [(3, 6), (4, 2), (9, 2)])
async def test_many_variants_share_a_line_with_the_lowest_and_the_highest(
    make_run: Make, variants: int, lines: int
):
    """Three have lines of their own, as there is room for them."""
    run = await a_run(make_run, variants)
    heading, *texts = judged_lines(run, [f"p{i}" for i in range(variants)], 300)
    assert heading == "  judged metrics: pass rates"
    assert len(texts) == lines
    if lines == 2:
        most = 100 - (variants - 1) * 10
        assert texts[0].startswith(f"    prose · {variants} variants, each in --json: {most} % [")
        assert f" (p{variants - 1}) to 100 % [72–100] (p0) by judge-1 · not checked" in texts[0]
        assert texts[1] == (
            f"    kind · {variants} variants, each in --json: 100 % [72–100] by judge-1"
            " · not checked against people"
        )


async def test_variants_that_share_a_number_are_counted(make_run: Make):
    """Behind the first of them."""
    run = await a_run(make_run, 6, worse=0)
    trials = [
        replace(one, outcomes=(replace(one.outcomes[0], outcome="pass", score=1.0),))
        if one.variant > 1
        else one
        for one in run.trials()
    ]
    same = await make_run(trials, run.meta.variants, planned=len(trials), calls=[judge_call()])
    line = judged_lines(same, [f"p{i}" for i in range(6)], 300)[1]
    assert "90 % [60–98] (p1) to 100 % [72–100] (p0 and 4 more) by judge-1" in line


async def test_a_variant_about_which_something_else_holds_has_a_line_of_its_own(make_run: Make):
    """A verdict that is missing is counted; another judge isn't mixed with this one."""
    run = await a_run(make_run, 5)
    trials = list(run.trials())
    other = {"judge": "judge-2", "prompt": "llm-rubric/1", "instrument": "i"}
    trials = [
        replace(one, outcomes=tuple(replace(each, metadata=other) for each in one.outcomes))
        if one.variant == 4
        else one
        for one in trials
    ]
    mixed = await make_run(trials, run.meta.variants, planned=len(trials), calls=[judge_call()])
    texts = judged_lines(mixed, [f"p{i}" for i in range(5)], 300)[1:]
    assert [text.split(" by ")[1].split(" ·")[0] for text in texts] == [
        *("judge-1", "judge-1"),
        *("judge-2", "judge-2"),
    ]
    assert "4 variants" in texts[0]
    assert texts[2].startswith("    prose · p4: 60 % [")


async def test_labels_of_many_variants_are_told_together(make_run: Make):
    """With the corrected rates first, where the judge may be used."""
    run = await a_run(make_run, 8)
    labelled = label(run, lambda index: index // 8 >= index % 8, size=80)
    text = judged_lines(labelled, [f"p{i}" for i in range(8)], 300)[1]
    assert text.startswith("    prose · 8 variants, each in --json: ")
    assert "corrected, 10 labels each · " in text or "10 labels each · " in text
    assert " by judge-1" in text


async def test_a_comparison_of_many_pairs_says_once_that_nobody_checked_them(make_run: Make):
    """With the smallest and the largest difference."""
    first, second = await a_run(make_run, 5), await a_run(make_run, 5, worse=1)
    text = str(compare(first, second))
    told = text[text.index("judged metrics") :].splitlines()[1:3]
    assert told == [
        "  prose · 5 pairs of variants: -10 points by the judge · not checked against people",
        "  kind · 5 pairs of variants: 0 points by the judge · not checked against people",
    ]


async def test_a_metric_that_nobody_labelled_is_neither_labelled_nor_stale(
    make_run: Make, tmp_path: Path
):
    """`calibration.json` has it beside the metrics that people labelled."""
    source = {"source": str(tmp_path / "promptfooconfig.yaml")}
    run = await a_run(make_run, 1, **source)
    items = list(drawn_items(run, [draw(run, 10, seed=1, metrics=["prose"])]))
    add_metric_labels(run.path, "ann", [(one.trial.index, "prose", "pass") for one in items])
    with RunFile.open(run.path) as labelled:
        write_calibration(calibrate(labelled), place_of(labelled.meta))
    later = await a_run(make_run, 1, **source)
    prose, kind = judged_lines(later, ["p0"], 300)[1:3]
    assert "corrected, 10 labels" in prose
    assert kind.endswith("100 % [72–100] by judge-1 · not checked against people")


async def test_a_mean_score_isnt_taken_for_the_pass_rate_of_the_same_metric(make_run: Make):
    """Scores between 0 and 1: both numbers have their names, and a difference of nothing is 0."""
    ends = [(0.3, 0.4), (0.9, 0.8), (0.9, 0.9), (0.9, 0.9)]
    sides = [
        [
            replace(trial, outcomes=(replace(trial.outcomes[0], score=pair[side]),))
            for i, pair in enumerate(ends)
            for trial in [judged(i, ok=pair[side] > 0.5, case=f"c{i}")]
        ]
        for side in (0, 1)
    ]
    before, after = [
        await make_run(trials, [Variant(0, "p", "m")], planned=4, calls=[judge_call()])
        for trials in sides
    ]
    assert judged_lines(before, ["p"], 300)[:2] == [
        "  judged metrics: pass rates",
        "    prose: 75 % [30–95] by judge-1 · not checked against people",
    ]
    comparison = compare(before, after, metric="prose")
    lines = str(comparison).splitlines()
    assert any(line.startswith("prose, mean score: 0.00 over 4 cases (paired)") for line in lines)
    assert "  0.75 → 0.75 · 1 better, 1 worse, 2 the same" in lines
    assert lines[lines.index("judged metrics: pass rates") + 1].startswith("  prose: 0 points")
    assert ">prose, mean score<" in comparison._repr_html_()

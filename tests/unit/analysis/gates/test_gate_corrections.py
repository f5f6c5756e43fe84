"""Corrections of gates that matter only with several metrics, clusters, or a look before the end."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make
from tests.unit.analysis.gates.test_early_stopping import decided, graded, nothing
from tests.unit.analysis.gates.test_gate_verdict import ONE, a_run, against, trials, verdicts

from evenhand.analysis.gates.case_order import CaseOrder
from evenhand.analysis.gates.early_stopping import GateDecider
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.render.gate import document, lines
from evenhand.testing.plan import example_of


def measured(
    bad: range, n: int = 20, metrics: int = 4, values: tuple[float, float] = (1.0, 0.0)
) -> list[TrialResult]:
    """Trials with so many metrics, each of which has the second value in these cases."""
    names = [f"m{i}" for i in range(metrics)]
    return [
        replace(
            one,
            outcomes=tuple(
                Outcome("x", "pass", values[i in bad], metric=name, scale=(0.0, 1.0))
                for name in names
            ),
            named_scores=dict.fromkeys(names, values[i in bad]),
        )
        for i, one in enumerate(trials(n))
    ]


async def test_one_of_four_metrics_has_to_be_clearer_to_block(
    make_run: Make, tmp_path: Path
) -> None:
    """8 of 20 cases worse, 1 better, margin 0.05: worse alone, undecided among four."""
    baseline = await against(make_run, tmp_path, measured(range(19, 20)))
    now = await a_run(make_run, measured(range(8)))
    alone = gate(baseline, now, 0.05, metrics=["m0"])
    assert verdicts(alone) == {"m0": "worse"}
    every = gate(baseline, now, 0.05, metrics=["m0", "m1", "m2", "m3"])
    assert set(verdicts(every).values()) == {"undecided"}


async def test_p_values_of_a_gate_are_corrected_for_its_metrics(
    make_run: Make, tmp_path: Path
) -> None:
    """Six of 40 cases worse: a drop is shown alone (p = 0.03), and is none among four."""
    baseline = await against(make_run, tmp_path, measured(range(0), 40))
    now = await a_run(make_run, measured(range(6), 40))
    alone = gate(baseline, now, 0.1, metrics=["m0"])
    assert verdicts(alone) == {"m0": "worse"}
    every = gate(baseline, now, 0.1, metrics=["m0", "m1", "m2", "m3"])
    assert set(verdicts(every).values()) == {"undecided"}
    assert every.results[0].compared is not None
    assert every.results[0].compared.p == pytest.approx(4 * 0.03125)


async def test_at_worst_is_the_end_on_the_side_of_worse(make_run: Make, tmp_path: Path) -> None:
    """More is better: minus the lower end of the one-sided interval at the gate's level; less is better: the upper."""
    baseline = await against(make_run, tmp_path, measured(range(1), 60, 1))
    now = await a_run(make_run, measured(range(1, 6), 60, 1))
    for lower in ((), ("m0",)):
        (found,) = gate(baseline, now, 0.3, metrics=["m0"], lower=lower).results
        assert found.compared is not None
        least, most = found.compared.data.interval(0.9)
        assert abs(least + most) > 0.05
        assert found.at_worst == pytest.approx(most if lower else -least)
        assert (found.compared.low, found.compared.high) == found.compared.data.interval(0.95)


@pytest.mark.parametrize("values", [(1.0, 0.0), (0.9, 0.7)])
async def test_what_a_result_may_be_worse_by_is_never_on_the_wrong_side_of_the_margin(
    make_run: Make, tmp_path: Path, values: tuple[float, float]
) -> None:
    """However close it is: in so many digits, in the report and in the document."""
    baseline = await against(make_run, tmp_path, measured(range(1), 60, 1, values))
    now = await a_run(make_run, measured(range(1, 6), 60, 1, values))
    (wide,) = gate(baseline, now, 0.3, metrics=["m0"]).results
    assert wide.at_worst is not None
    for factor in (0.9, 0.99, 0.999, 0.99999, 1.00001, 1.001, 1.01, 1.1):
        margin = wide.at_worst * factor
        result = gate(baseline, now, margin, metrics=["m0"])
        (row,) = document(result)["results"]
        (size,) = re.findall(r"(?:at most|it may be) ([\d.]+)(?: points?)? worse", row["because"])
        assert f" {size} " in " ".join(lines(result))
        least = float(size) / (100 if "point" in row["because"] else 1)
        assert (least < margin) == (row["verdict"] == "not worse") == (factor > 1)
        assert (least > margin) == (row["verdict"] == "undecided")


async def test_all_cases_after_a_look_are_tested_at_what_is_left(
    make_run: Make, tmp_path: Path
) -> None:
    """The limits of a gate that was looked at early are those of the level that its looks have left."""
    baseline = await against(make_run, tmp_path, trials(30, 2))
    now = await a_run(make_run, trials(30, 5))
    plan = example_of(nothing, [Case(f"c{i:03}") for i in range(30)], variants=ONE)
    decider = GateDecider(baseline, plan, 0.05)
    (found,) = gate(baseline, now, 0.05, metrics=["passed"], decider=decider).results
    assert found.compared is not None
    data = found.compared.data
    left = decider.level(run_whole=True)
    assert 0.015 < left < 0.04
    assert (found.compared.low, found.compared.high) == data.interval(1 - left)
    assert found.at_worst == pytest.approx(-data.interval(1 - 2 * left)[0])


async def test_copies_are_taken_in_once_and_clusters_not_at_all_while_a_gate_is_watched() -> None:
    """Of three cases that say the same, the first in the drawn order counts."""
    same = [Case(f"s{i}", input="same") for i in range(3)]
    others = [Case(f"o{i}", input=f"other {i}") for i in range(3)]
    order = CaseOrder(example_of(nothing, [*same, *others], variants=ONE), 0)
    assert len(order.copies) == 2
    assert order.copies < {"s0", "s1", "s2"}
    assert next(case for case in order.cases if case.startswith("s")) not in order.copies
    grouped = (replace(ONE[0], cluster="document"),)
    with pytest.raises(UsageError, match="cases of one document belong together"):
        CaseOrder(example_of(nothing, others, variants=grouped), 0)


async def test_copies_are_one_unit_of_a_watched_gate(make_run: Make, tmp_path: Path) -> None:
    """They are run one after the other, and count once together."""
    baseline = await against(make_run, tmp_path, trials(6))
    cases = [Case(f"c{i:03}", input="same" if i < 4 else str(i)) for i in range(6)]
    decider = GateDecider(baseline, example_of(nothing, cases, variants=ONE), 0.05)
    for one in trials(6):
        decider.add(one)
    assert decider.record()["cases"] == 6
    part = decider.drawn
    assert part.units == 3
    assert len({part.unit_of(case.id) for case in cases[:4]}) == 1


@pytest.mark.thorough
async def test_a_watched_gate_blocks_by_one_of_several_metrics_only_if_that_is_clearer(
    make_run: Make, tmp_path: Path
) -> None:
    """A metric alone is decided with fewer cases than one of twenty."""
    taken: list[int] = []
    for metrics in (1, 20):
        _, found = await decided(
            make_run,
            tmp_path,
            measured(range(0), 300, metrics),
            measured(range(60), 300, metrics),
            margin=0.15,
            metrics=[f"m{i}" for i in range(metrics)],
        )
        assert found.stopping is not None
        assert {one.verdict for one in found.results} == {"worse"}
        taken.append(found.stopping.cases)
    assert taken[0] < taken[1] < 300


async def test_less_is_better_is_turned_in_what_is_watched_and_in_its_limits(
    make_run: Make, tmp_path: Path
) -> None:
    """Grades that fall are better for a metric of which less is, and its limits are those of the fall."""
    _, found = await decided(
        make_run,
        tmp_path,
        graded(300, 8.0),
        graded(300, 2.0),
        margin=1.0,
        metrics=["grade"],
        lower=["grade"],
    )
    (one,) = found.results
    assert one.verdict in ("better", "not worse")
    assert one.compared is not None
    assert one.compared.low < 0
    assert one.compared.high < 5 < -one.compared.low


async def test_a_gate_takes_clusters_from_the_run_whatever_the_baseline_knows(
    make_run: Make, tmp_path: Path
) -> None:
    """Ten questions of one document got worse: one of 31 clusters, and no ten cases of 40."""
    grouped = (replace(ONE[0], cluster="document"),)
    baseline = await against(make_run, tmp_path, trials(40))
    made = [
        replace(one, metadata={"document": max(0, i - 9)}) for i, one in enumerate(trials(40, 10))
    ]
    (together,) = gate(
        baseline, await a_run(make_run, made, variants=grouped), 0.05, metrics=["passed"]
    ).results
    (apart,) = gate(baseline, await a_run(make_run, made), 0.05, metrics=["passed"]).results
    assert (together.verdict, apart.verdict) == ("undecided", "worse")
    assert together.compared is not None
    assert len(together.compared.data.clusters) == 31


async def test_a_run_that_says_of_no_cases_that_they_belong_together_goes_by_the_baseline(
    make_run: Make, tmp_path: Path
) -> None:
    """Otherwise who takes `cluster` out of the set would have a more certain gate, without a word."""
    documents = [{"document": max(0, i - 9)} for i in range(40)]
    before = [replace(one, metadata=m) for one, m in zip(trials(40), documents, strict=True)]
    now = [replace(one, metadata=m) for one, m in zip(trials(40, 10), documents, strict=True)]
    grouped = (replace(ONE[0], cluster="document"),)
    baseline = await against(make_run, tmp_path, before, variants=grouped)
    same = gate(baseline, await a_run(make_run, now, variants=grouped), 0.05, metrics=["passed"])
    without = gate(baseline, await a_run(make_run, now), 0.05, metrics=["passed"])
    assert same.results[0].verdict == without.results[0].verdict == "undecided"
    assert not any("belong together" in note for note in same.notes)
    (note,) = (note for note in without.notes if "belong together" in note)
    assert note.startswith("in the baseline, cases belong together by document: so they do here")
    other = (replace(ONE[0], cluster="author"),)
    changed = gate(baseline, await a_run(make_run, now, variants=other), 0.05, metrics=["passed"])
    assert "in the baseline, cases belong together by document, and by author now" in changed.notes


def decided_by_a_label(bad: range, n: int = 40) -> list[TrialResult]:
    """Trials that pass where their one expectation does, which has a name of its own."""
    return [
        replace(
            one,
            outcome="fail" if i in bad else "pass",
            score=float(i not in bad),
            outcomes=(
                Outcome(
                    "label",
                    "fail" if i in bad else "pass",
                    float(i not in bad),
                    metric="label",
                    scale=(0.0, 1.0),
                ),
            ),
            named_scores={"label": float(i not in bad)},
        )
        for i, one in enumerate(trials(n))
    ]


async def test_the_metric_that_decides_alone_is_one_result_with_the_pass_rate(
    make_run: Make, tmp_path: Path
) -> None:
    """Six of 40 cases worse: p = 0.03 as of one test, named in one line, and all numbers in JSON."""
    baseline = await against(make_run, tmp_path, decided_by_a_label(range(0)))
    now = await a_run(make_run, decided_by_a_label(range(6)))
    both = gate(baseline, now, 0.05)
    text = "\n".join(lines(both))
    assert "corrected for" not in text
    assert "label: the same as passed" in text
    assert [row["metric"] for row in document(both)["results"]] == ["passed", "label"]
    for one in both.results:
        assert one.compared is not None
        assert one.compared.p == pytest.approx(0.03125)
    named = "\n".join(lines(gate(baseline, now, 0.05, metrics=["passed", "label"])))
    assert "the same as" not in named
    assert "label: " in named

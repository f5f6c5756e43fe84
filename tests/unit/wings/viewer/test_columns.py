"""Cells in columns."""

from __future__ import annotations

import io
import json

import pytest
from tests.runs import Make, result

from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.rates import rate_cells
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.console import show
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import BLOCK, FIRST, parts
from evenhand.wings.viewer.history import measures

VARIANTS = (Variant(0, "a", "m"), Variant(1, "b", "m"))


def blocks(run: RunFile) -> list[dict]:
    """All blocks."""
    return [json.loads(part.line) for part in parts(run)]


async def test_blocks_are_whole_and_rows_named_once(make_run: Make) -> None:
    """A run of several blocks; a case's later trials name its row by number."""
    cases = (FIRST + BLOCK) // 2 + 10
    trials = [
        result(2 * case + v, variant=v, case=f"c{case}") for case in range(cases) for v in (0, 1)
    ]
    run = await make_run(trials, VARIANTS)
    found = blocks(run)
    assert [len(block["index"]) for block in found] == [FIRST, BLOCK, 20]
    assert [i for block in found for i in block["index"]] == list(range(2 * cases))
    assert [r for block in found for r in block["row"]] == [i // 2 for i in range(2 * cases)]
    assert sum(len(block["rows"]) for block in found) == cases


async def test_errors_metrics_and_what_is_missing_stay_apart(make_run: Make) -> None:
    """No score is null, not 0; a metric that a trial lacks is null; an error has its slug."""
    outcomes = (
        Outcome("a", "pass", 1.0),
        Outcome("b", "fail", 0.0),
        Outcome("c", "error", None, error="judge"),
        Outcome("d", "not_applicable", None),
    )
    run = await make_run(
        [
            result(0, ok=False, outcomes=outcomes, named_scores={"quality": 0.25}),
            result(1, ok=None),
            result(2, metadata={"tags": ["x"], "n": 3, "deep": {"a": 1}}),
        ]
    )
    (block,) = blocks(run)
    assert block["outcome"] == "fep"
    assert block["score"] == [0.0, None, 1.0]
    assert (block["met"][0], block["asked"][0], block["failing"][0]) == (1, 2, ["b", "c"])
    assert block["error"] == ["", "rate-limited", ""]
    assert block["metrics"] == {"quality": [0.25, None, None]}
    assert block["rows"][2]["tags"] == ["x"]
    assert block["rows"][2]["metadata"] == {"n": "3"}


async def test_cases_keep_their_numbers_where_others_were_left_out(make_run: Make) -> None:
    """As the terminal numbers them; also those whose ids are not ASCII."""
    run = await make_run([result(i, case=f"fäll {i}") for i in range(6)])
    (block,) = blocks(run.only([1, 4], "where …"))
    assert [(row["id"], row["number"]) for row in block["rows"]] == [("fäll 1", 2), ("fäll 4", 5)]


async def test_cost_is_what_the_calls_cost_whoever_paid(make_run: Make) -> None:
    """In filters, the page's cells, its history and the table; the line below the table has what was spent."""
    trials = [
        result(0, calls=1, cost_usd=0.02),
        result(1, calls=1, cost_usd=0.0, cached=1, unpaid_usd=0.02),
        result(2, calls=2, cost_usd=0.001, cached=1, unpaid_usd=0.002),
    ]
    run = await make_run(trials)
    (block,) = blocks(run)
    assert block["cost"] == [0.02, 0.02, 0.003]
    assert [t.index for t in narrow(run, "cost>0.01").trials()] == [0, 1]
    assert measures(run)[0].means["cost"].least == pytest.approx(0.043)
    out = io.StringIO()
    show(run, out, width=120)
    assert "$0.0430" in out.getvalue()
    assert next(rate_cells(run, ["only"]))[6] == "$0.0430"
    unknown = await make_run([trials[0], result(1, calls=1, cost_usd=0.0, cached=1)])
    assert next(rate_cells(unknown, ["only"]))[6] == "unknown"


async def test_the_same_output_has_the_same_number(make_run: Make) -> None:
    """Text and JSON."""
    outputs = ["a", "b", "a", {"k": 1}, {"k": 1}, {"k": 2}]
    run = await make_run([result(i, output=output) for i, output in enumerate(outputs)])
    (block,) = blocks(run)
    numbers = block["output"]
    assert numbers[0] == numbers[2] != numbers[1]
    assert numbers[3] == numbers[4] != numbers[5]

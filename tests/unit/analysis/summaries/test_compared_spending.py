"""The judge calls that compare all variants count in one of them, and whoever compares costs is told so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.render.comparing import compare
from evenhand.render.run_warnings import warnings
from evenhand.scorers import Ranking
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script
from evenhand.testing.script import Rule

JUDGED = {"reasoning": "Alike.", "winner": "tie", "confidence": 0.9}
RULES = [Rule(("helps",), JUDGED), Rule(("Say",), "Hello.")]


async def ranked(
    folder: Path,
    resume: Path | None = None,
    referees: Sequence[Ranking] = (Ranking(criteria="helps"),),
) -> Path:
    """A run of three styles and two cases; by default ranked by a judge."""
    evals = EvalSet(
        "styles",
        data=[{"id": "a"}, {"id": "b"}],
        model="openai:chat:gpt-5-mini",
        judge="openai:chat:gpt-5",
        over={"style": ["plain", "warm", "terse"]},
        compare=referees,
    )
    evals.path = folder / "x_evals.py"

    @evals.eval
    async def says(case: Any, style: str, model: Any) -> str:
        return (await model.generate(f"Say hello to {case.id}, {style}")).text

    with FakeProvider(Script(RULES)) as fake:
        plan = plan_of([evals], env=fake.env())
        finished = await door.settle(plan, Settings(home=folder, cache=False), resume=resume)
    return finished.path


async def test_the_run_says_in_which_variant_they_count(tmp_path: Path):
    """With how many they are, and what they cost; after a resumed run, too."""
    path = await ranked(tmp_path)
    for _ in range(2):
        with RunFile.open(path) as run:
            spent = run.compared_spending()
            totals, judged = run.by_variant(), run.judge_calls()
            (line,) = [text for text in warnings(run) if "compared the outputs" in text]
        assert list(spent) == [2]
        assert spent[2].calls == judged[2] == 12
        assert judged[:2] == [0, 0]
        # Apart from these calls, the variants cost the same.
        assert totals[2].cost_usd is not None
        assert spent[2].cost_usd is not None
        rest = totals[2].cost_usd - spent[2].cost_usd
        assert rest == pytest.approx(totals[1].cost_usd, rel=0.2)
        assert line.startswith("12 judge calls ($")
        assert "count in terse alone: don't compare the variants' costs" in line
        path = await ranked(tmp_path, resume=path)


async def test_a_comparison_of_costs_says_so_where_one_side_has_them(tmp_path: Path):
    """Not where neither has, nor where no cost is compared."""
    path = await ranked(tmp_path)
    note = "! the cost of terse includes the judge calls that compared the outputs of all variants"
    for second, metric, told in (
        ("terse", "cost", True),
        ("warm", "cost", False),
        ("terse", "passed", False),
    ):
        comparison = compare(f"{path}:plain", f"{path}:{second}", metric=metric)
        assert any(note in text for text in comparison.notes) is told


async def test_a_run_that_compares_without_a_judge_says_nothing(tmp_path: Path):
    """Nor does one that compares nothing."""
    with RunFile.open(await ranked(tmp_path, referees=())) as run:
        assert run.compared_spending() == {}
        assert not [text for text in warnings(run) if "compared the outputs" in text]

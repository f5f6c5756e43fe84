"""Looking through a run's results: once for all that is looked for, many results at a time."""

from __future__ import annotations

import pytest
from tests.runs import Make, result

from evenhand.core.run import AnswerDetails
from evenhand.core.score import Outcome
from evenhand.store import settled
from evenhand.store.runfile import RunFile
from evenhand.store.settled import metric_sign, warning_sign

SIGNS = (warning_sign("low confidence"), metric_sign("tags"))


def statements(run: RunFile, word: str) -> list[str]:
    """The statements with this word that are sent from now on."""
    sent: list[str] = []
    run._run.db.set_trace_callback(lambda sql: sent.append(sql) if word in sql else None)
    return sent


async def test_a_sign_is_found_in_each_result_that_has_it(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
):
    """Side by side, several times in one, at a block's end, in one larger than a block, and in none twice."""
    unsure = Outcome("is polite", "pass", 1.0, metadata={"warning": "low confidence, 0.4"})
    trials = [
        result(index, outcomes=(unsure,) * (index % 3), output="x" * (3_000 if index == 5 else 9))
        for index in range(12)
    ]
    trials[7] = result(7, metadata={"tags": ["a"]}, prompt='"tags":', outcomes=(unsure,))
    run = await make_run(trials)
    for size in (1, 700, 2_000, 1 << 18):
        monkeypatch.setattr(settled, "_BLOCK", size)
        places = run.places_with(*SIGNS)
        assert [list(each) for each in places] == [[1, 2, 4, 5, 7, 8, 10, 11], [7]], size


async def test_what_a_case_or_a_test_says_is_no_sign_of_what_a_trial_came_to(make_run: Make):
    """Neither are read: the variables of a large run are most of its file."""
    trial = result(0, vars={"tags": 1}, test={"warning": "low confidence"})
    run = await make_run([trial])
    sent = statements(run, "part")
    assert [list(each) for each in run.places_with(*SIGNS)] == [[], []]
    assert sent == []


async def test_what_answers_are_marked_with_is_read_once(make_run: Make):
    """Refused answers, and those with thoughts in them. Text that looks like it is none."""
    trials = [
        result(0, answer=AnswerDetails(refused=True)),
        result(1, answer=AnswerDetails(refused=True, left_out=True)),
        result(2, output='"refused":true', answer=AnswerDetails(left_out=True)),
        result(3, metadata={"refused": True, "left_out": True}),
        result(4),
    ]
    run = await make_run(trials)
    sent = statements(run, "instr")
    assert (run.refused(), run.without_thoughts()) == ([2], [2])
    assert len(sent) == 1


async def test_the_totals_of_the_only_column_are_those_of_the_run(make_run: Make):
    """They are counted once for both; calls without a record leave the run's cost open, and not the column's."""
    run = await make_run(
        [result(0, cost_usd=0.5), result(1, ok=False, cost_usd=0.25)], unrecorded={"a client": 1}
    )
    sent = statements(run, "count(*)")
    (column,) = run.by_variant()
    assert (column.trials, column.passed, column.cost_usd) == (2, 1, 0.75)
    assert run.totals().cost_usd is None
    assert len(sent) == 1

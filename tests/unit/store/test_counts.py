"""What the trials of several columns and repeats come to."""

from __future__ import annotations

from pathlib import Path

from tests.runs import Make, result
from tests.unit.store.test_journal import meta

from evenhand.core.run import CallEnd, CallStart
from evenhand.core.variant import Variant
from evenhand.stats.tallies import tally_of
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile

TWO = (Variant(0, "p", "m"), Variant(1, "p", "n"))


async def test_a_case_is_one_in_all_columns_together(make_run: Make):
    """Trials to which nothing applied are in no count."""
    trials = [
        result(0, case="a", variant=0, ok=True),
        result(1, case="a", variant=1, ok=False),
        result(2, case="b", variant=0, ok=None),
        result(3, case="b", variant=1, ok=True),
    ]
    run = await make_run(trials, TWO)
    assert sorted(run.over_columns()) == sorted([tally_of(1, 1, 0), tally_of(1, 0, 1)])


async def test_a_cost_that_is_not_known_of_one_trial_is_not_known_of_its_column(make_run: Make):
    """What the others cost is not the sum."""
    trials = [
        result(0, case="a", variant=0, cost_usd=0.5),
        result(1, case="a", variant=1, cost_usd=0.5),
        result(2, case="b", variant=0, cost_usd=None),
        result(3, case="b", variant=1, cost_usd=0.25),
    ]
    run = await make_run(trials, TWO)
    assert [totals.cost_usd for totals in run.by_variant()] == [None, 0.75]
    assert run.totals().cost_usd is None


async def test_the_calls_of_a_trial_that_was_settled_again_are_counted_once(make_run: Make):
    """A judge was asked twice about one trial, and once about another."""
    calls = [
        (
            CallStart(index, "k", nth, "judge", "p", b"{}", 0.0),
            CallEnd(b"{}", "provider", 0.1, 1, 1, 0.0, "judge"),
        )
        for index, nth in ((0, 0), (0, 1), (1, 0))
    ]
    trials = [result(0, case="a", variant=0, ok=None), result(1, case="a", variant=1)]
    run = await make_run(trials, TWO, calls=calls, status="interrupted")
    assert run.judge_calls() == [2, 1]
    journal = Journal.reopen(run.path)
    await journal.settle(result(0, case="a", variant=0))
    await journal.finish("finished")
    with RunFile.open(run.path) as again:
        assert again.totals().trials == 2
        assert again.judge_calls() == [2, 1]


def call(
    trial: int, *, nth: int = 0, error: str = "", attempts: int = 1
) -> tuple[CallStart, CallEnd]:
    """A call to a judge, answered for $0.25, or ended by this error."""
    start = CallStart(trial, "k", nth, "judge", "p", b"{}", 0.0)
    if error:
        return start, CallEnd(b"", "provider", attempts=attempts, error=error)
    return start, CallEnd(b"{}", "provider", 0.1, 10, 1, 0.25, "judge")


async def test_a_call_counts_where_it_was_answered_and_is_counted_apart_where_it_was_not(
    make_run: Make,
):
    """One was refused, one never sent; one was refused twice before it was answered, one only refused twice."""
    calls = [
        call(0),
        call(0, nth=1, error="bad-request"),
        call(1, error="budget", attempts=0),
        *(call(2, error="rate-limited") for _ in range(2)),
        call(2),
        *(call(3, error="rate-limited", attempts=5) for _ in range(2)),
    ]
    trials = [result(i, case=f"c{i}", variant=i % 2, ok=i == 2) for i in range(4)]
    run = await make_run(trials, TWO, calls=calls)
    assert run.judge_calls() == [2, 0]
    (used,) = run.usage()
    assert (used.calls, used.unanswered, used.requests) == (2, 2, 4)
    assert (used.tokens_in, used.cost_usd, used.answered) == (20, 0.5, ("judge",))
    (first,) = run.usage([0])
    assert (first.calls, first.unanswered) == (2, 1)
    (last,) = run.only([3], "where …").usage()
    assert (last.calls, last.unanswered) == (0, 1)


async def test_judges_that_answered_nothing_were_asked_all_the_same(make_run: Make):
    """No call counts, yet the run has a judge."""
    run = await make_run([result(0, ok=None)], calls=[call(0, error="bad-request")])
    assert run.judge_calls() == [0]
    assert run.asks_judges()
    assert not (await make_run([result(0)])).asks_judges()


async def test_what_a_growing_run_comes_to_is_counted_anew(tmp_path: Path):
    """By whoever reads it while it is written."""
    journal = Journal.create(tmp_path, meta(2))
    await journal.settle(result(0, case="a", calls=1, cost_usd=0.5))
    await journal.turn()
    with RunFile.open(journal.path) as run:
        assert run.by_variant()[0].trials == 1
        await journal.settle(result(1, case="b", calls=1, cached=1, cost_usd=0.0, unpaid_usd=0.25))
        await journal.turn()
        assert run.by_variant()[0].trials == 2
        assert run.full_costs() == [0.75, 0.0]
        assert run.only([1], "where …").full_costs() == [0.25, 0.0]
    await journal.finish("finished")

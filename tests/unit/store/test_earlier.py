"""What earlier sessions left: replies also for trials that have a verdict, and which results are stale."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialError, TrialResult
from evenhand.core.variant import Variant
from evenhand.store.earlier import Takes
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile


def new(tmp_path: Path) -> Journal:
    """A run of six trials."""
    columns = (Variant(0, "p", "m"),)
    return Journal.create(
        tmp_path / "runs", RunMeta("01RUN", "", "", "print", 6, 6, 1, columns, 1.0)
    )


async def asked(journal: Journal, trial: int, body: bytes, key: str = "key") -> None:
    """A call of this trial that was answered."""
    start = CallStart(trial, key, 0, "subject", "m", b"{}", 0.5, "0.0")
    await journal.end(await journal.begin(start), CallEnd(body, "provider", cost_usd=0.1))


def result(index: int, output: str = "") -> TrialResult:
    """A trial that passed."""
    return TrialResult(
        index=index,
        case=f"case-{index}",
        variant=0,
        repeat=0,
        outcome="pass",
        score=1.0,
        output=output,
    )


def failed(index: int) -> TrialResult:
    """A trial in error."""
    return TrialResult(
        index=index,
        case=f"case-{index}",
        variant=0,
        repeat=0,
        outcome="error",
        score=None,
        error=TrialError("code", "why"),
    )


async def test_replies_of_trials_with_a_verdict_are_found_as_they_may_be_settled_again(
    tmp_path: Path,
):
    """The last one, where there are several; and no reply of the session itself."""
    journal = new(tmp_path)
    await asked(journal, 0, b"first")
    await journal.settle(result(0))
    await journal.finish("interrupted")
    for body in (b"second", b"third"):
        again = Journal.reopen(journal.path)
        before = again.recorded(0, "key", 0)
        await asked(again, 0, body)
        assert again.recorded(0, "key", 0) == before
        await again.finish("interrupted")
    last = Journal.reopen(journal.path)
    found = last.recorded(0, "key", 0)
    assert found is not None
    assert found.body == b"third"
    assert last.recorded(0, "key", 1) is None
    await last.finish("interrupted")


async def test_what_trials_in_error_were_answered_is_forgotten_on_request_and_nothing_else(
    tmp_path: Path,
):
    """`retry --no-cache`: the trials that come after them keep their replies."""
    journal = new(tmp_path)
    for trial in (0, 1):
        await asked(journal, trial, b"said")
    await journal.settle(failed(0))
    await journal.settle(result(1))
    await journal.finish("finished")
    again = Journal.reopen(journal.path, anew=True)
    assert again.recorded(0, "key", 0) is None
    assert again.recorded(1, "key", 0) is not None
    await again.finish("finished")


async def test_a_reply_is_found_under_whichever_of_the_trials_that_are_compared(tmp_path: Path):
    """A comparison is asked in the name of one of them, not always of the same."""
    journal = new(tmp_path)
    await asked(journal, 2, b"the best", "compare")
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    found = again.compared(range(3), "compare", 0)
    assert found is not None
    assert found.body == b"the best"
    assert again.compared(range(3, 6), "compare", 0) is None
    await again.finish("interrupted")


async def test_a_result_is_stale_where_one_that_it_rests_on_was_replaced_and_it_was_not(
    tmp_path: Path,
):
    """Trial 1 comes after 0, and 2 after 1. The session ends when 0 has another result, and 1 has not."""
    journal = new(tmp_path)
    for trial in (failed(0), result(1), result(2), result(3)):
        await journal.settle(trial)
    await journal.finish("interrupted")

    second = Journal.reopen(journal.path)
    assert not second.stale(1, (0,))  # as yet
    await second.settle(result(0, "new"))
    second.close()

    third = Journal.reopen(journal.path)
    assert third.stale(1, (0,))
    assert not third.stale(3, (1,))
    third.again(1)
    third.follow(1, (0,))
    await third.settle(result(1, "new"))
    await third.finish("interrupted")

    fourth = Journal.reopen(journal.path)
    assert not fourth.stale(1, (0,))
    assert fourth.stale(2, (1,))
    await fourth.finish("interrupted")


async def test_a_first_result_after_one_that_was_replaced_is_not_stale_and_is_counted_once(
    tmp_path: Path,
):
    """It is stored under take 0 as well, by which cases are listed."""
    journal = new(tmp_path)
    await journal.settle(failed(0))
    await journal.finish("interrupted")
    second = Journal.reopen(journal.path)
    second.follow(1, (0,))
    await second.settle(result(0, "new"))
    await second.settle(result(1, "first"))
    await second.finish("interrupted")
    third = Journal.reopen(journal.path)
    assert not third.stale(1, (0,))
    await third.finish("finished")
    with RunFile.open(journal.path) as run:
        assert [trial.output for trial in run.trials()] == ["new", "first"]
        assert (run.totals().trials, run.totals().passed) == (2, 2)
        assert list(run.cases()) == ["case-0", "case-1"]


def test_takes_of_a_run_in_which_nothing_was_replaced_are_all_0():
    """Nothing is held for them."""
    takes = Takes()
    takes.found(0, 0, error=False)
    takes.follow(1, (0,), first=True)
    assert (takes.next(1), takes.stale(1, (0,)), takes.begins_above(1)) == (0, False, False)

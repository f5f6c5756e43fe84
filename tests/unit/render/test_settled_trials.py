"""The trials of a run as a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.render.comparing import Comparison
from evenhand.render.run import Run
from evenhand.store.journal import Journal

PLACES = [0, 1, 4, 5, 9]


async def unfinished(make_run: Make) -> Run:
    """Five of ten trials are settled."""
    oks = [True, False, None, True, None]
    trials = [result(place, ok=ok) for place, ok in zip(PLACES, oks, strict=True)]
    return Run.open((await make_run(trials, planned=10)).path)


async def test_trials_are_a_sequence(make_run: Make) -> None:
    """Whatever a list answers to, they answer the same: by their order, not by their place in the plan."""
    run = await unfinished(make_run)
    trials, listed = run.trials(), list(run.trials())
    assert isinstance(trials, Sequence)
    assert len(trials) == 5
    assert [trial.index for trial in trials] == PLACES
    assert [trial.index for trial in trials] == PLACES, "again"
    assert [trials[i] for i in range(-5, 5)] == [listed[i] for i in range(-5, 5)]
    cuts = [(1, 3, 1), (None, None, None), (-2, None, None), (None, None, -2), (3, 1, 1), (9, 99, 1)]  # fmt: skip
    for cut in (slice(*ends) for ends in cuts):
        assert trials[cut] == listed[cut]
    assert list(reversed(trials)) == listed[::-1]
    assert listed[2] in trials
    assert trials.index(listed[3]) == 3
    assert [trial.index for trial in run.trials(2, 2)] == [4, 5]
    assert len(run.trials(first=9)) == 1
    assert len(run.trials(limit=3)) == 3
    assert repr(trials) == "<Trials: 5 settled>"


async def test_trials_of_a_run_that_goes_on_stay_those_that_were_settled(tmp_path: Path) -> None:
    """Others are settled between them and behind them, and neither the order nor the number changes."""
    journal = Journal.create(
        tmp_path / "runs",
        RunMeta("01RUN", "", "", "f", 6, 6, 1, (Variant(0, "p", "m"),), 1.0),
    )
    for place in (1, 3):
        await journal.settle(result(place))
    await journal.turn()
    with Run.open(journal.path) as run:
        trials, from_two = run.trials(), run.trials(2)
        for place in (0, 2, 4):
            await journal.settle(result(place))
        await journal.turn()
        assert [trial.index for trial in trials] == [trials[0].index, trials[1].index] == [1, 3]
        assert [trial.index for trial in from_two] == [3]
        assert [trial.index for trial in run.trials()] == [0, 1, 2, 3, 4]
    await journal.finish("interrupted")


async def test_a_trial_and_its_expectations_have_passed_as_their_rows_do(make_run: Make) -> None:
    """True, False, and None for an error."""
    run = await unfinished(make_run)
    passed = [trial.passed for trial in run.trials()]
    assert passed == [row["passed"] for row in run.rows()] == [True, False, None, True, None]
    outcomes = [one.passed for trial in run.trials() for one in trial.outcomes]
    assert outcomes == [row["passed"] for row in run.outcome_rows()] == [True, False, True]
    assert run.passed is False


@pytest.mark.parametrize(
    ("oks", "passed"),
    [([True], True), ([True, False], False), ([True, None], None), ([], None)],
)
async def test_a_run_has_passed_as_its_verdict_says(
    oks: list[bool | None], passed: bool | None, make_run: Make
) -> None:
    """None where errors leave it open, and for no trials."""
    made = await make_run([result(i, ok=ok) for i, ok in enumerate(oks)])
    assert Run.open(made.path).passed is passed


@pytest.mark.parametrize("key", ["c1", 1.0, None, (0, 1)])
async def test_what_is_no_number_is_no_place(key: object, make_run: Make) -> None:
    """A case's id, say: what finds it is told."""
    with pytest.raises(TypeError, match=r"if trial\.case =="):
        (await unfinished(make_run)).trials()[key]  # type: ignore[call-overload] (a mistake)


@pytest.mark.parametrize("key", [5, -6, 99])
async def test_a_place_beyond_the_last_is_an_index_error(key: int, make_run: Make) -> None:
    """With how many there are."""
    with pytest.raises(IndexError, match="5 trials settled"):
        (await unfinished(make_run)).trials()[key]


async def test_a_run_has_no_truth_value(make_run: Make) -> None:
    """`assert run(evals)` would hold whatever became of it; so would one of a comparison."""
    run = await unfinished(make_run)
    with pytest.raises(TypeError, match=r"run\.passed"):
        assert run
    with pytest.raises(TypeError, match=r"comparison\.verdict"):
        assert Comparison(first="a", second="b", results=())


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("df", r"to_pandas\(\) and to_polars\(\)"),
        ("to_csv", r"to_pandas\(\) and to_polars\(\)"),
        ("to_panda", "did you mean 'to_pandas'"),
        ("columns", "did you mean 'column'"),
        ("_repr_latex_", "_repr_latex_"),
    ],
)
async def test_what_a_run_does_not_have_is_named_with_what_it_has(
    name: str, instead: str, make_run: Make
) -> None:
    """Frames, or a name that is nearly the one; what a notebook asks for is just not there."""
    run = await unfinished(make_run)
    with pytest.raises(AttributeError, match=instead):
        getattr(run, name)


@pytest.mark.parametrize("ask", [
    lambda run: run.trials(limit=-1),
    lambda run: run.trials(first="c1"),
    lambda run: run.trial("c1"),
    lambda run: run.steps("c1"),
    lambda run: run.steps(2),
])  # fmt: skip
async def test_a_number_of_a_trial_is_a_number(
    ask: Callable[[Run], object], make_run: Make
) -> None:
    """What is no number is a mistake, rather than a trial that isn't settled."""
    with pytest.raises(UsageError):
        ask(await unfinished(make_run))


async def test_a_run_is_opened_by_what_the_command_line_calls_it(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path, as a path or a text; its id; the latest."""
    run = await unfinished(make_run)
    monkeypatch.chdir(run.path.parent.parent.parent)
    for name in (run.path, str(run.path), run.meta.id, "latest"):
        with Run.open(name) as opened:
            assert opened.path == run.path
    with pytest.raises(UsageError, match="there is no run 'lateest'"):
        Run.open("lateest")


async def test_trials_of_a_closed_run_say_so(make_run: Make) -> None:
    """Asked for before it was closed, or after."""
    run = await unfinished(make_run)
    trials = run.trials()
    run.close()
    for read in (lambda: trials[0], lambda: list(trials), run.trials):
        with pytest.raises(StoreError, match="was closed before it was read"):
            read()

"""Runs that are merged have to be of one plan, with one bound, and at rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.merging import merge
from evenhand.store.runfile import RunFile


async def two(make: Make, **more: Any) -> list[Path]:
    """Two runs of a plan of four trials, each with half of them; the second one has more to say."""
    first = await make([result(0), result(1)], planned=4, status="interrupted")
    second = await make([result(2), result(3)], planned=4, status="interrupted", **more)
    return [first.path, second.path]


async def test_halves_of_a_plan_are_merged(make_run: Make, tmp_path: Path):
    """Nothing is lost, nothing appears twice, and the run is finished."""
    merged = merge(await two(make_run), tmp_path / "all.db")
    assert merged.missing == ()
    with RunFile.open(merged.path) as run:
        assert [trial.index for trial in run.trials()] == [0, 1, 2, 3]
        assert run.meta.status == "finished"


async def test_a_merged_run_is_not_called_like_one_of_its_parts(make_run: Make, tmp_path: Path):
    """Who names it by the id that `merge` printed would be shown a part for the whole."""
    files = await two(make_run)
    merged = merge(files, tmp_path / "all.db")
    assert merged.meta.id[:10] not in {file.stem[:10] for file in files}
    assert merged.meta.id > max(file.stem for file in files)
    assert merge(files[::-1], tmp_path / "all.db").meta.id == merged.meta.id


@pytest.mark.parametrize(
    "other",
    [
        {"pass_rate": 0.5},
        {"requirements": (Requirement(PASSED, Bound(at_least=0.5), (0,)),)},
    ],
)
async def test_runs_that_have_to_reach_something_else_are_not_merged(
    make_run: Make, tmp_path: Path, other: dict[str, Any]
):
    """The merged run would have one of the two bounds."""
    files = await two(make_run, **other)
    with pytest.raises(UsageError, match="has to reach something else"):
        merge(files, tmp_path / "all.db")
    assert not (tmp_path / "all.db").exists()


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"calibrated": "required"}, "--calibrated"),
        ({"replay": {"of": "01M8"}}, "--replay"),
        ({"asked": {"offline": True, "strict": False}}, "--offline"),
        ({"asked": {"offline": False, "strict": True}}, "--strict"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
async def test_runs_of_other_options_are_not_merged(
    make_run: Make, tmp_path: Path, settings: dict[str, Any], option: str, turned: bool
):
    """A verdict that one of them can't have, or replies of a script, would go unsaid, whichever is the older one."""
    plain = {"asked": {"offline": False, "strict": False, "version": 1}}
    both = [plain, plain | settings]
    first, second = both[::-1] if turned else both
    one = await make_run([result(0), result(1)], planned=4, status="interrupted", settings=first)
    two = await make_run([result(2), result(3)], planned=4, status="interrupted", settings=second)
    with pytest.raises(UsageError, match=f"was started with other options than run .*: {option}"):
        merge([one.path, two.path], tmp_path / "all.db")
    assert not (tmp_path / "all.db").exists()


async def test_shards_that_ran_other_code_are_not_merged(make_run: Make, tmp_path: Path):
    """Also where it lies outside of the project, and is no file of the plan's."""
    halves = [
        await make_run(
            [result(n), result(n + 1)], planned=4, code={"far.py": code, "log.txt": code}
        )
        for n, code in ((0, "1"), (2, "2"))
    ]
    with pytest.raises(UsageError, match=r"ran other code than run \w+: far\.py differs"):
        merge([half.path for half in halves], tmp_path / "all.db")


async def test_a_run_that_is_being_written_is_not_merged(make_run: Make, tmp_path: Path):
    """What it has not written yet would be missing."""
    files = await two(make_run)
    journal = Journal.reopen(files[1])
    try:
        with pytest.raises(StoreError, match="is being written"):
            merge(files, tmp_path / "all.db")
    finally:
        journal.close()


def tried(index: int, by: str, *, ok: bool | None = True, **other: Any) -> TrialResult:
    """A trial of the only case, whose output says which run it is of."""
    return result(index, case="c", ok=ok, output=by, **{"variant": index, **other})


async def taken(make: Make, to: Path, *runs: Sequence[TrialResult], planned: int = 2) -> list[str]:
    """What a merge of runs of one case, the oldest first, takes: the output of each trial, in the plan's order."""
    variants = [Variant(i, "p", f"m{i}") for i in range(2)]
    await make(
        []
    )  # from the second one on, the ids of runs are in the order in which they are made
    files = [
        (await make(trials, variants, planned=planned, status="interrupted")).path
        for trials in runs
    ]
    with RunFile.open(merge(files, to).path) as run:
        return [str(trial.output) for trial in run.trials()]


async def test_the_trials_of_a_case_come_from_the_run_with_the_most_verdicts_on_it(
    make_run: Make, tmp_path: Path
):
    """They may have been compared with each other. Where two runs have as many, they come from the older one."""
    whole = [tried(0, "younger"), tried(1, "younger")]
    half = [tried(0, "older")]
    in_error = [tried(0, "older"), tried(1, "older", ok=None)]
    older = [tried(0, "older"), tried(1, "older")]
    for number, (first, word) in enumerate(
        ((half, "younger"), (in_error, "younger"), (older, "older"))
    ):
        to = tmp_path / f"{number}.db"
        assert await taken(make_run, to, first, whole) == [word, word]


async def test_a_verdict_is_taken_rather_than_an_error_of_the_run_with_more_verdicts(
    make_run: Make, tmp_path: Path
):
    """An error is no result as long as somebody has one."""
    more = [tried(0, "older"), tried(1, "older", ok=None), tried(2, "older", variant=0, repeat=0)]
    other = [tried(1, "younger")]
    assert await taken(make_run, tmp_path / "all.db", more, other, planned=3) == [
        "older",
        "younger",
        "older",
    ]


async def test_verdicts_are_counted_repeat_by_repeat(make_run: Make, tmp_path: Path):
    """A run that has more of a case's other repeat says no more of this one."""
    older = [tried(0, "older"), tried(2, "older", variant=0, repeat=1)]
    younger = [
        tried(0, "younger"),
        tried(2, "younger", variant=0, repeat=1),
        tried(3, "younger", variant=1, repeat=1),
    ]
    assert await taken(make_run, tmp_path / "all.db", older, younger, planned=4) == [
        "older",
        "younger",
        "younger",
    ]


async def test_the_scale_of_a_merged_run_is_that_of_all_its_parts(make_run: Make, tmp_path: Path):
    """One half has scores from 1 to 5, the other from 0 to 3."""
    files = [
        (await make_run([result(i, scale=scale)], planned=2, status="interrupted")).path
        for i, scale in enumerate(((1.0, 5.0), (0.0, 3.0)))
    ]
    with RunFile.open(merge(files, tmp_path / "all.db").path) as run:
        assert run.scales()[0, ""] == (0.0, 5.0)


async def test_a_merged_run_ends_when_the_last_of_its_parts_did(make_run: Make, tmp_path: Path):
    """It was not over before."""
    files = await two(make_run)
    ends: list[float] = []
    for file in files:
        with RunFile.open(file) as run:
            ends.append(run.meta.finished_at or 0)
    assert merge(files, tmp_path / "all.db").meta.finished_at == max(ends) > min(ends)


async def test_a_verdict_that_was_replaced_by_an_error_is_none(make_run: Make, tmp_path: Path):
    """The other run has one that stands."""
    await make_run([])
    older = await make_run([tried(0, "older")], planned=1, status="interrupted")
    journal = Journal.reopen(older.path)
    journal.again(0)
    await journal.settle(tried(0, "", ok=None))
    await journal.finish("interrupted")
    younger = await make_run([tried(0, "younger")], planned=1, status="interrupted")
    with RunFile.open(merge([older.path, younger.path], tmp_path / "all.db").path) as run:
        assert [(trial.outcome, trial.output) for trial in run.trials()] == [("pass", "younger")]


async def test_each_trial_of_a_merged_run_has_the_case_and_the_test_that_it_had(
    make_run: Make, tmp_path: Path
):
    """What trials have in common is kept once in each file, and counted there."""
    more = {
        i: {"vars": {"q": f"question {i}"}, "description": f"about {i}", "expected": f"answer {i}"}
        for i in range(4)
    }
    halves = [
        await make_run([result(i, **more[i]) for i in places], planned=4, status="interrupted")
        for places in ((0, 1), (2, 3))
    ]
    with RunFile.open(merge([half.path for half in halves], tmp_path / "all.db").path) as run:
        for trial in run.trials():
            then = trial.vars, trial.description, trial.expected
            assert then == tuple(more[trial.index].values())


async def test_a_merged_run_knows_the_code_and_the_unrecorded_calls_of_all_its_parts(
    make_run: Make, tmp_path: Path
):
    """What one part had otherwise is the code of neither: no calibration and no comparison takes it for either."""
    first = await make_run(
        [result(0), result(1)],
        planned=4,
        code={"bot.py": "1", "judge own.py": "1"},
        unrecorded={"POST /chat": 2},
    )
    second = await make_run(
        [result(2), result(3)],
        planned=4,
        code={"bot.py": "1", "judge own.py": "2", "late.py": "3"},
        unrecorded={"POST /chat": 1, "GET /": 1},
    )
    merged = merge([first.path, second.path], tmp_path / "all.db")
    assert merged.meta.code == {"bot.py": "1", "judge own.py": "1>2", "late.py": "3"}
    assert merged.meta.unrecorded == {"POST /chat": 3, "GET /": 1}

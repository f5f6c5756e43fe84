"""The list of runs, and the head of one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.errors import StoreError
from evenhand.core.variant import Variant
from evenhand.stats.interval import wilson
from evenhand.stats.tallies import share_of
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer import listing, serving
from evenhand.wings.viewer.comparison import comparison
from evenhand.wings.viewer.head import head, notes
from evenhand.wings.viewer.listing import NoSuchRun, Runs
from evenhand.wings.viewer.shapes import RateShape


async def test_what_was_read_is_kept_until_the_file_changes(
    summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second list opens no file; a changed one is opened again. One that cannot be read is listed, and says why."""
    home = summaries_run.path.parent.parent
    (home / "runs" / "01BR0KEN00000000000000000A.db").write_bytes(b"nonsense" * 100)
    monkeypatch.setenv("EVENHAND_HOME", str(home))
    opened: list[Path] = []
    real = RunFile.open
    monkeypatch.setattr(listing.RunFile, "open", lambda path: (opened.append(path), real(path))[1])
    runs = Runs(home)
    first = runs.list()
    assert (
        "01BR0KEN00000000000000000A.db"
        in {run.id: run for run in first}["01BR0KEN00000000000000000A"].problem
    )
    assert len(opened) == 2
    assert runs.list() == first
    assert len(opened) == 2
    (home / "runs" / "01BR0KEN00000000000000000A.db").write_bytes(b"other nonsense" * 100)
    runs.list()
    assert len(opened) == 3


async def test_a_run_that_is_being_written_is_alive(make_run: Make, tmp_path: Path) -> None:
    """As its lock tells, without the file having changed."""
    run = await make_run([result(0)], planned=2, finish=False)
    runs = Runs(tmp_path, run.path)
    assert not runs.known(run.path).summary.alive
    journal = Journal.reopen(run.path)
    assert runs.known(run.path).summary.alive
    journal.close()


def test_an_unknown_run_is_said_to_be_none(tmp_path: Path) -> None:
    """By whatever name."""
    with pytest.raises(NoSuchRun, match=r"there is no run '\.\./x'"):
        Runs(tmp_path).path("../x")


async def test_of_a_large_run_the_head_comes_first_and_the_notes_after(
    summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers in the end."""
    monkeypatch.setattr(listing, "FEW", 10)
    monkeypatch.setattr("evenhand.wings.viewer.head.FEW", 10)
    known = Runs(summaries_run.path.parent).known(summaries_run.path)
    first, after, whole = head(summaries_run, known), notes(summaries_run), head(summaries_run)
    assert first.partial
    assert (first.rate, first.findings, first.columns[0].rate) == (None, (), None)
    assert first.totals == whole.totals
    assert not whole.partial
    assert (after.rate, after.columns, after.findings) == (
        whole.rate,
        whole.columns,
        whole.findings,
    )


@pytest.mark.parametrize("cases", [1, 2, 4, 5])
async def test_few_cases_leave_the_spread_of_a_mean_open(make_run: Make, cases: int) -> None:
    """Below five, as in `show`, where no scale is known; ends that are not known are null, not infinite."""
    run = await make_run([result(i, case=f"c{i}", latency_s=2.0 + i) for i in range(cases)])
    (column,) = head(run).columns
    assert column.latency is not None
    assert ((column.latency.low is None), (column.latency.high is None)) == (cases < 5, cases < 5)
    assert column.score is not None
    assert column.score.low == wilson(cases, cases)[0]
    assert column.scales == {"": (0, 1)}


async def test_the_start_of_an_id_is_enough_and_a_path_is_none(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the terminal prints leads to the run; what could be two, or is no id, leads nowhere."""
    run = await make_run([result(0)])
    folder = run.path.parent
    monkeypatch.setenv("EVENHAND_HOME", str(folder.parent))
    runs = Runs(folder)
    assert runs.path(run.path.stem[:10]) == run.path
    assert runs.path(run.path.stem[:10].lower()) == run.path
    for other in ("", ".", "../", f"runs/{run.path.stem}", f"{run.path.stem}.db", "01KA*"):
        with pytest.raises(NoSuchRun):
            runs.path(other)
    (folder / f"{run.path.stem[:10]}ZZ.db").write_bytes(run.path.read_bytes())
    assert len(runs.list()) == 2
    with pytest.raises(NoSuchRun, match="could be any of 2 runs"):
        runs.path(run.path.stem[:10])
    assert runs.path(run.path.stem) == run.path


async def test_a_copy_is_not_shown_in_silence(make_run: Make, tmp_path: Path) -> None:
    """The nearest of the files with one id is, or the one that was named; which are not is known."""
    run = await make_run([result(0)])
    copy = tmp_path / ".evenhand" / "runs" / run.path.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(run.path.read_bytes())
    runs = Runs(tmp_path)
    assert runs.path(run.path.stem) == copy
    assert runs.hidden() == {run.path: copy}
    named = Runs(tmp_path, run.path)
    assert named.path(run.path.stem) == run.path
    assert named.hidden() == {copy: run.path}
    copy.unlink()
    assert runs.hidden() == {}


async def test_errors_leave_the_rates_of_the_page_open(make_run: Make) -> None:
    """Over all columns and of each: the two ends, no value, and the interval round both; repeats are not cases."""
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    trials = [
        result(4 * i + 2 * r + v, variant=v, case=f"c{i}", repeat=r, ok=None if v and r else i < 4)
        for i in range(8)
        for r in range(2)
        for v in range(2)
    ]
    seen = head(await make_run(trials, variants, repeats=2))
    first, second = (column.rate for column in seen.columns)
    assert first is not None
    assert (first.value, first.least, first.most, first.n) == (0.5, 0.5, 0.5, 8)
    low, high = (
        share_of([0.5] * 4 + [0] * 4, None).low,
        share_of([1] * 4 + [0.5] * 4, None).high,
    )
    assert second == RateShape(value=None, least=0.25, most=0.75, low=low, high=high, n=8)
    assert seen.rate is not None
    assert (seen.rate.value, seen.rate.least, seen.rate.most, seen.rate.n) == (
        None,
        0.375,
        0.625,
        8,
    )


async def test_a_comparison_for_the_page_says_what_errors_leave_open(make_run: Make) -> None:
    """The two ends of each number, null where they differ; how many trials are in error; words as in `compare`."""
    before = await make_run([result(i, case=f"c{i}", ok=i < 4) for i in range(12)])
    after = await make_run([result(i, case=f"c{i}", ok=None if i > 5 else True) for i in range(12)])
    found = comparison(after, before).questions[0].results[0]
    assert (found.metric, found.verdict, found.trials_in_error) == ("passed", "undecided", 6)
    assert found.because == "6 trials in error could turn it"
    assert (found.second, found.second_least, found.second_most) == (None, 0.5, 1)
    assert (found.first, found.first_least, found.first_most) == (1 / 3, 1 / 3, 1 / 3)
    ends = (found.difference_least, found.difference_most)
    assert (found.difference, *ends) == (None, pytest.approx(1 / 6), pytest.approx(2 / 3))
    assert found.words is not None
    assert (found.words.second, found.words.difference) == ("50–100 %", "+17 to +67")


async def test_a_remotes_runs_are_read_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was pushed meanwhile is shown; while the remote can't be reached, the list stays, and that is said once."""
    monkeypatch.setattr(serving, "EVERY_S", 0.0)
    for name in "ab":
        (tmp_path / f"{name}.db").write_bytes(b"")
    answers = [StoreError("away"), StoreError("away"), [tmp_path / "a.db", tmp_path / "b.db"]]
    runs = Runs(tmp_path, only=[tmp_path / "a.db"])
    done = asyncio.Event()

    def read() -> list[Path]:
        answer = answers.pop(0) if answers else done.set()
        if isinstance(answer, StoreError):
            assert [one.id for one in runs.list()] == ["a"]
            raise answer
        return answer or [tmp_path / "b.db"]

    task = asyncio.create_task(serving.refresh(runs, read))
    while not done.is_set():
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    assert [one.id for one in runs.list()] == ["b"]
    assert capsys.readouterr().err.count("the list of runs stays as it is: away") == 1

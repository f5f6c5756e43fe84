"""An output of a megabyte or more is kept once, in the answer that has it, and is read as any other."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.store.earlier_files import make_earlier
from tests.unit.store.test_journal import end, meta, result, start

from evenhand.core.errors import StoreError
from evenhand.core.run import TrialResult
from evenhand.store.journal import Journal
from evenhand.store.long_outputs import LONG
from evenhand.store.merging import merge
from evenhand.store.runfile import RunFile

LINE = 'a "quoted" line, é, 🙂, </p> & \\ \x7f\t\n'
TEXT = LINE * (LONG // len(LINE) + 1)
OTHER = TEXT.replace("a ", "b ")


def answer(text: str, *, ascii_only: bool = False) -> bytes:
    """An answer as a vendor words it, with another long text before the one that counts."""
    message = {"thoughts": OTHER, "content": text}
    return json.dumps({"choices": [message]}, ensure_ascii=ascii_only).encode()


async def run_of(
    folder: Path, *trials: tuple[TrialResult, bytes], planned: int = 2, id_: str = "01RUN"
) -> Path:
    """A run of these trials, each with the answer that it had."""
    journal = Journal.create(folder, meta(planned, id_))
    for trial, body in trials:
        await journal.end(await journal.begin(start(trial.index)), end(body))
        await journal.settle(trial)
    await journal.finish("finished")
    return journal.path


def references(path: Path) -> int:
    """How many outputs lie in answers."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("select count(*) from long_output").fetchone()[0]


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_a_long_output_is_kept_once_and_read_as_it_was(tmp_path: Path, ascii_only: bool):
    """However the vendor escapes its text."""
    body = answer(TEXT, ascii_only=ascii_only)
    trials = [result(0, output=TEXT, prompt="say"), result(1, output="short")]
    path = await run_of(tmp_path, (trials[0], body), (trials[1], answer("short")))
    assert path.stat().st_size < len(body) + len(answer("short")) + 400_000
    with RunFile.open(path) as run:
        assert [*run.trials()] == trials
        assert run.trial(0) == trials[0]
        assert [json.loads(one)["output"] for one in run.results()] == [TEXT, "short"]
        assert run.only([0], "one", by_outcome=False).trial(0) == trials[0]
        words = sum(total for total, _, _ in run.word_sums()[0])
    assert words == len(TEXT.split())


@pytest.mark.parametrize(
    ("output", "body"),
    [
        (TEXT.upper(), answer(TEXT)),
        (TEXT[1:], answer(TEXT)),
        ([TEXT], answer(TEXT)),
        (TEXT, TEXT.encode()),
        (TEXT, b'"' + answer(TEXT)),
        (TEXT + "\ud800", json.dumps(TEXT + "\ud800").encode()),
    ],
    ids=["transformed", "a part of it", "in a list", "no JSON", "out of step", "half a character"],
)
async def test_an_output_that_no_answer_has_stays_in_its_result(
    tmp_path: Path, output: object, body: bytes
):
    """Only the very same text is left out."""
    trial = result(0, output=output)
    path = await run_of(tmp_path, (trial, body))
    with RunFile.open(path) as run:
        assert run.trial(0) == trial


async def test_of_two_takes_each_has_the_output_of_its_own_answer(tmp_path: Path):
    """The second one counts."""
    path = await run_of(tmp_path, (result(0, "error", output=TEXT), answer(TEXT)))
    journal = Journal.reopen(path)
    await journal.end(await journal.begin(start(0, nth=1)), end(json.dumps(OTHER).encode()))
    await journal.settle(result(0, output=OTHER))
    await journal.finish("finished")
    assert references(path) == 2
    with RunFile.open(path) as run:
        assert run.trial(0) == result(0, output=OTHER)


async def test_merged_runs_have_the_outputs_of_both(tmp_path: Path):
    """Calls have other ids in the merged one."""
    trials = [result(0, output=TEXT), result(1, output=OTHER)]
    one = await run_of(tmp_path / "one", (trials[0], answer(TEXT)), id_="01RUNA")
    two = await run_of(tmp_path / "two", (trials[1], json.dumps(OTHER).encode()), id_="01RUNB")
    merged = merge([one, two], tmp_path / "all.db").path
    assert references(merged) == 2
    with RunFile.open(merged) as run:
        assert [*run.trials()] == trials


async def test_without_the_answer_the_run_is_damaged_and_the_output_not_empty(tmp_path: Path):
    """An output that is gone is no output of null."""
    path = await run_of(tmp_path, (result(0, output=TEXT), answer(TEXT)))
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from body")
        db.commit()
    with RunFile.open(path) as run, pytest.raises(StoreError, match="damaged"):
        run.trial(0)


async def test_a_run_of_an_earlier_version_goes_on_with_a_long_output(tmp_path: Path):
    """Its file gets the table when it is written again."""
    path = await run_of(tmp_path, (result(0, output="short"), answer("short")))
    make_earlier(path, 4)
    journal = Journal.reopen(path)
    await journal.end(await journal.begin(start(1)), end(answer(TEXT)))
    await journal.settle(result(1, output=TEXT))
    await journal.finish("finished")
    assert references(path) == 1
    with RunFile.open(path) as run:
        assert [trial.output for trial in run.trials()] == ["short", TEXT]

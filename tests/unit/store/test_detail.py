"""How a result lies in a run file: nothing twice, nothing empty, and whole again when it is read."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from tests.runs import Make, result
from tests.unit.store.earlier_files import make_earlier

from evenhand.core.definition import Definition
from evenhand.core.errors import StoreError
from evenhand.core.run import AnswerDetails, Judged, RunMeta, TrialError, TrialResult
from evenhand.core.score import Outcome, Verdict
from evenhand.core.variant import Variant
from evenhand.store.detail import (
    REMEMBERED_PARTS,
    CasePart,
    Detail,
    OutcomeDetail,
    Parts,
    TestPart,
    numbers_of,
)
from evenhand.store.journal import Journal
from evenhand.store.labels.stored_labels import NewLabel, append_labels
from evenhand.store.runfile import RunFile, digest_of
from evenhand.store.writer import PART, TRIAL

FULL = TrialResult(
    index=0,
    case="a café",
    variant=0,
    repeat=2,
    outcome="error",
    score=0.25,
    output={"text": ["half \ud83d", None]},
    reason="why",
    error=TrialError("code", "message", "here"),
    outcomes=(
        Outcome("bare", "pass", None),
        Outcome(
            *("full", "fail", 0.5, "why", 2.0, "tone", {"n": 0.5}, {"k": [1]}, "judge", 0.1, 0.9),
            *("do this", (("key", 1),), (0.0, 5.0)),
        ),
    ),
    named_scores={"tone": 0.5},
    latency_s=1.5,
    cost_usd=0.25,
    tokens_in=7,
    tokens_out=8,
    calls=3,
    cached=1,
    prompt="the prompt",
    vars={"v": {"deep": [1, "two"]}},
    description="a line",
    metadata={"m": 1},
    log="printed",
    kept=["kept"],
    threshold=0.75,
    before=Verdict("pass", 1.0, "before", {"x": 1.0}, 0.5, (0.0, 1.0)),
    compared=Judged(1, 5, 6, 0.25),
    judged=Judged(2, 3, 4, None),
    answer=AnswerDetails(
        id="id", model="model", finish_reason="stop", metadata={"k": 1}, cost_usd=0.125
    ),
    test={"assert": [{"type": "equals", "value": "{{v}}"}]},
    input="the input",
    expected={"expected": True},
    scale=(0.0, 1.0),
    checks="c0ffee",
    copy_key="facade",
    unpaid_usd=0.25,
    taken="01K",
    content={"input": "c0ffee00"},
    definitions=(Definition("Contains", {"wanted": "c0ffee00"}, exact=True), Definition()),
)


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    """What a query says of a run file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def test_every_field_of_a_result_is_kept_in_exactly_one_place():
    """As a number of its row, in one of its parts, or in its detail; and so is each of an outcome."""
    numbers = {
        *("index", "variant", "repeat", "outcome", "score", "latency_s", "cost_usd", "tokens_in"),
        *("tokens_out", "calls", "cached"),
    }
    assert len(numbers_of(FULL)) == len(numbers)
    pieces = [
        *numbers,
        "steps",  # in rows of their own
        *(name for part in (CasePart, TestPart, Detail) for name in part.__struct_fields__),
    ]
    assert sorted(pieces) == sorted(field.name for field in fields(TrialResult))
    assert list(OutcomeDetail.__struct_fields__) == [field.name for field in fields(Outcome)]


async def test_a_result_with_something_in_every_field_is_read_back_equal(make_run: Make):
    """And one with nothing but what it must have."""
    default = {f.name: f.default for f in fields(TrialResult) if f.name != "steps"}
    assert all(getattr(FULL, name) != value for name, value in default.items())
    bare = TrialResult(index=1, case="b", variant=0, repeat=0, outcome="not_applicable", score=None)
    run = await make_run([FULL, bare])
    assert list(run.trials()) == [FULL, bare]
    (detail,) = rows(run.path, "select of_case, of_test, detail from detail where idx = 1")
    assert detail == (None, None, b'{"case":"b"}')


async def test_what_trials_of_a_case_share_is_kept_once(make_run: Make):
    """Its variables and its test, however many variants and repeats there are; other variables are another part."""
    shared = {"vars": {"v": "x" * 100}, "test": {"assert": []}, "description": "d"}
    trials = [result(i, **shared) for i in range(5)]
    run = await make_run([*trials, replace(trials[0], index=5, vars={"v": "other"})])
    assert [size for (size,) in rows(run.path, "select count(*) from part")] == [3]
    assert list(run.trials()) == [*trials, replace(trials[0], index=5, vars={"v": "other"})]


async def test_parts_that_were_forgotten_and_parts_of_a_later_session_are_kept_again(
    tmp_path: Path,
):
    """Under an id of their own: what is there is never written over."""
    parts = Parts(1)
    assert parts.add(b"") == (None, False)
    assert parts.add(b'{"a":1}') == (1, True)
    for i in range(REMEMBERED_PARTS - 1):
        parts.add(b"%d" % i)
    assert parts.add(b'{"a":1}') == (1, False)
    parts.add(b"one more")
    assert parts.add(b"0") == (REMEMBERED_PARTS + 2, True)
    meta = RunMeta("01RUN", "", "", "p", 2, 2, 1, (Variant(0, "p", "m"),), 1.0)
    journal = Journal.create(tmp_path, meta)
    await journal.settle(result(0, vars={"v": 1}))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    await again.settle(result(1, vars={"v": 2}))
    await again.finish("finished")
    with RunFile.open(journal.path) as run:
        assert [trial.vars for trial in run.trials()] == [{"v": 1}, {"v": 2}]


async def test_a_run_file_of_version_4_is_read_gone_on_with_and_keeps_its_digest(make_run: Make):
    """Its results stay as they are; a row elsewhere that is bound to the run stays bound to it."""
    trials = [replace(FULL, output="text"), replace(FULL, index=1, output="more")]
    run = await make_run(trials, planned=3, finish=False)
    make_earlier(run.path, 4)
    before = run.path.read_bytes()
    with RunFile.open(run.path) as read:
        assert list(read.trials()) == trials
        assert read.trial(1) == trials[1]
        digest = digest_of(read)
        with read.only([1], "one") as view:
            assert list(view.trials()) == trials[1:]
    assert run.path.read_bytes() == before
    append_labels(run.path, [NewLabel(0, "verdict", "pass", "ann")])
    with RunFile.open(run.path) as read:
        assert digest_of(read) == digest
        assert list(read.trials()) == trials
    journal = Journal.reopen(run.path)
    await journal.settle(replace(trials[0], index=0, outcome="pass"))
    await journal.settle(result(2))
    await journal.finish("finished")
    with RunFile.open(run.path) as read:
        assert [(t.index, t.outcome) for t in read.trials()] == [(0, "pass"), (1, "error"), (2, "pass")]  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    ["delete from part", "delete from detail where idx = 1", "update detail set detail = x'5b'"],
)
async def test_a_result_of_which_a_piece_is_missing_is_damage_and_never_a_result_without_it(
    make_run: Make, damage: str
):
    """Missing variables are not no variables."""
    run = await make_run([result(0, vars={"v": 1}), result(1)])
    with closing(sqlite3.connect(run.path)) as db:
        db.executescript(damage)
    with pytest.raises(StoreError, match="damaged"), RunFile.open(run.path) as read:
        list(read.trials())


async def test_a_result_is_never_written_before_its_parts(tmp_path: Path):
    """While a part waits in the spool, the results wait too: at the end both are written, or neither is."""
    meta = RunMeta("01RUN", "", "", "p", 3, 3, 1, (Variant(0, "p", "m"),), 1.0)
    journal = Journal.create(tmp_path, meta)
    writer = journal._writer
    store = writer.store

    def no_parts(items: list[tuple[int, tuple[object, ...], object]]) -> None:
        if any(kind == PART for kind, *_ in items):
            raise sqlite3.OperationalError("database or disk is full")
        store(items)  # type: ignore[arg-type]

    writer.store = no_parts  # type: ignore[method-assign, assignment]
    await journal.settle(result(0, vars={"v": 1}))
    while not writer.spool:
        await asyncio.sleep(0.001)
    with pytest.raises(StoreError, match="full"):
        await journal.settle(result(1, vars={"v": 1}))
    assert {kind for kind, _ in writer.spool} == {PART, TRIAL}
    with RunFile.open(journal.path) as run:
        assert list(run.trials()) == []
    with pytest.raises(StoreError, match="lost"):
        await journal.finish("stopped")
    with RunFile.open(journal.path) as run:
        assert list(run.trials()) == []


async def test_secrets_are_in_no_part(make_run: Make, monkeypatch: pytest.MonkeyPatch):
    """Nor in what is handed on of the result."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretverysecret")
    secret = {"v": "sk-verysecretverysecret"}
    run = await make_run([result(0, vars=secret, test={"assert": [secret]})])
    assert b"verysecret" not in b"".join(
        part for (part,) in rows(run.path, "select part from part")
    )  # type: ignore[misc]
    assert "verysecret" not in repr(run.trial(0))


async def test_a_plain_trial_takes_little_room(make_run: Make):
    """What is empty is not written, and no page is half empty."""
    trials = [
        result(i, output="o" * 300, vars={"v": f"{i}" * 50}, prompt=f"{i}" * 50)
        for i in range(1_000)
    ]
    run = await make_run(trials)
    text = sum(
        len(msgspec.json.encode((t.output, t.prompt, t.vars, t.outcomes[0].name))) for t in trials
    )
    assert run.path.stat().st_size < 2 * text


@pytest.mark.parametrize("version", [4, 0])
async def test_descriptions_are_read_once_for_each_case(make_run: Make, version: int):
    """In the plan's order, from a run file of today or of version 4; an empty one where a case has none."""
    trials = [
        replace(result(0, case="b"), description="größe"),
        replace(result(1, case="a"), description=""),
        replace(result(2, case="b", variant=1), description="größe"),
    ]
    run = await make_run(trials, (Variant(0, "p", "m"), Variant(1, "q", "m")))
    if version:
        make_earlier(run.path, version)
    with RunFile.open(run.path) as read:
        assert list(read.descriptions()) == [("b", "größe"), ("a", "")]
        with read.only([1], "one") as view:
            assert list(view.descriptions()) == [("a", "")]

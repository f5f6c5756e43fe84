"""`EvalSet(cassette=…)`, `run(…, cassette=…)`: recorded on the first run, replayed after, recorded again on demand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand import EvalSet, run
from evenhand.cli import main
from evenhand.core.errors import UsageError
from evenhand.scorers import Contains
from evenhand.store.cassette import read_cassette
from evenhand.testing import FakeProvider, Rule, Script

SETS = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

ROWS = [{"id": "a", "input": "one"}, {"id": "b", "input": "two"}]
shop = EvalSet("shop", data=ROWS, model="openai:chat:gpt-x", cassette="shop.cassette")
desk = EvalSet("desk", data=ROWS, model="openai:chat:gpt-x", cassette="desk.cassette")


@shop.eval
async def sells(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, Contains("answer"))


@desk.eval
async def helps(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(f"help {case.input}")).text, Contains("answer"))
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    """Never says the same twice."""
    number = iter(range(100))
    with FakeProvider(Script([Rule(reply=lambda _: f"answer {next(number)}")])) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def test_each_set_records_its_own_cassette_and_replays_it_afterwards(
    fake: FakeProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """By the command line: no key is needed then; a part of a set records nothing; --record asks afresh."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop_evals.py").write_text(SETS)

    def go(*words: str) -> tuple[list[str], str]:
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["run", "shop_evals.py", "--json", *words])
        printed = capsys.readouterr()
        return [trial["output"] for trial in json.loads(printed.out)["trials"]], printed.err

    first, told = go("-k", "shop", "--first", "1")
    assert "cassette shop.cassette was not recorded: only a part of it was run" in told
    first, told = go()
    assert "recorded: cassette shop.cassette, 2 calls" in told
    assert "recorded: cassette desk.cassette, 2 calls" in told
    asked = len(fake.requests)
    monkeypatch.delenv("OPENAI_API_KEY")
    assert go()[0] == first
    assert go("-k", "desk")[0] == first[2:]
    assert len(fake.requests) == asked
    (tmp_path / "desk.cassette").unlink()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    again, told = go("--no-cache")
    assert (again[:2], again[2:] == first[2:]) == (first[:2], False)  # only the desk asked
    assert len(fake.requests) == asked + 2
    new, _ = go("--record")
    assert not set(new) & set(again)
    assert go()[0] == new
    with pytest.raises(SystemExit):
        main(["show"])
    assert "replayed from cassette shop.cassette and 1 more" in capsys.readouterr().out


def test_run_takes_a_cassette_for_all_that_it_runs(fake: FakeProvider, tmp_path: Path):
    """From a script: the first run records, the second asks nobody; something else in its place is refused."""
    evals = EvalSet("own", data=[{"id": "a", "input": "one"}], model="openai:chat:gpt-x")

    @evals.eval
    async def says(case, model, expect):
        expect((await model.generate(case.input)).text, Contains("answer"))

    file = tmp_path / "own.cassette"
    outputs: list[object] = []
    for record in (False, False, True):
        done = run(evals, home=tmp_path, cassette=file, record=record, progress=False)
        outputs += [trial.output for trial in done.trials()]
        done.close()
    assert len(fake.requests) == 2
    assert outputs[0] == outputs[1] != outputs[2]
    assert read_cassette(file)[0].calls == 1
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is there, and is not a cassette"):
        run(evals, home=tmp_path, cassette=tmp_path / "notes.txt", record=True, progress=False)


def test_scripted_replies_are_not_taken_for_those_of_a_model(
    fake: FakeProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Recording them says what they are; a run of models says what to do, and theirs are never replaced by scripted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop_evals.py").write_text(SETS)
    (tmp_path / "offline.jsonl").write_text('{"reply": "a scripted answer"}\n')

    def go(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit, match=rf"^{code}$"):
            main([*words])
        printed = capsys.readouterr()
        return " ".join(f"{printed.out} {printed.err}".split())

    evals = ("run", "shop_evals.py", "-k", "shop", "--no-progress")
    scripted = go(*evals, "--offline")
    assert "recorded: cassette shop.cassette, 2 calls" in scripted
    assert "its replies are scripted (--offline): shop.cassette says nothing of what" in scripted
    missed = go(*evals, code=3)
    assert "shop.cassette holds scripted replies (--offline), and none of a model" in missed
    assert "Add --offline, or record it from a model." in missed
    assert "character 1" not in missed
    assert not fake.requests
    go(*evals, "--offline")
    told = go("runs", "cassette", "latest", "--to", "run.cassette")
    assert "its replies are scripted (--offline): it says nothing of what models answer" in told
    go(*evals, "--record")
    of_models = (tmp_path / "shop.cassette").read_bytes()
    first = min((tmp_path / ".evenhand/runs").iterdir()).stem
    for words in (
        (*evals, "--offline", "--record"),
        ("runs", "cassette", first, "--to", "shop.cassette"),
    ):
        refused = go(*words, code=2)
        assert "shop.cassette holds replies of models, and scripted ones would replace" in refused
    assert (tmp_path / "shop.cassette").read_bytes() == of_models
    missed = go(*evals, "--offline", code=3)
    assert "holds replies of models, and this run is answered from a script" in missed

"""The command line, in the process, against the fake provider: what it prints, what it writes, how it exits."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.testing import FakeProvider, Rule, Script


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A fake provider that the environment leads to."""
    script = Script(
        [Rule(("bad",), "I cannot say."), Rule(("crash",), fault="400")], "The answer is yes."
    )
    with FakeProvider(script) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def evenhand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fake: FakeProvider,
) -> Run:
    """Runs a command line in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


def config(folder: Path, *questions: str, **more: Any) -> None:
    """Writes a config that asks these questions."""
    tests = [
        {"vars": {"q": q}, "assert": [{"type": "contains", "value": "yes"}]} for q in questions
    ]
    value = {
        "description": "demo",
        "prompts": ["Q: {{q}}"],
        "providers": ["openai:chat:gpt-4o"],
        "tests": tests,
        **more,
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(value))


def test_a_run_that_passes_exits_0_and_says_where_it_is_kept(evenhand: Run, tmp_path: Path):
    """Results to stdout, progress to stderr."""
    config(tmp_path, "one", "two")
    ended = evenhand("run")
    assert ended.code == 0, ended.err
    assert "2 of 2 passed" in ended.out
    assert "1 prompt × 1 model × 2 cases = 2 trials" in ended.err
    assert "saved as" in ended.out
    assert len(list((tmp_path / ".evenhand" / "runs").glob("*.db"))) == 1
    assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("flags", "code"), [((), 1), (("--exit-zero",), 0), (("--promptfoo-exit-codes",), 100)]
)
def test_a_run_that_fails_exits_as_it_is_asked_to(
    evenhand: Run, tmp_path: Path, flags: tuple[str, ...], code: int
):
    """1, or 0, or promptfoo's 100."""
    config(tmp_path, "one", "bad")
    ended = evenhand("run", *flags)
    assert ended.code == code
    assert 'contains "yes"' in ended.out


def test_a_run_with_an_error_has_no_verdict_and_exits_3_whatever_is_asked(
    evenhand: Run, tmp_path: Path
):
    """Not even --exit-zero makes an error a result; and of a request that is refused, another one may help."""
    config(tmp_path, "one", "crash")
    ended = evenhand("run", "--exit-zero")
    assert ended.code == 3
    assert "undecided" in ended.out
    assert "--where status:error, then change what is sent" in ended.out


def test_json_is_one_document_of_the_promised_shape(evenhand: Run, tmp_path: Path):
    """The keys that programs go by."""
    config(tmp_path, "one", "bad", "crash")
    ended = evenhand("run", "--json", "--no-progress")
    assert ended.err == ""
    document = json.loads(ended.out)
    assert document["schema"] == "evenhand.run/1"
    assert set(document["run"]) >= {"id", "file", "status"}
    assert document["verdict"] == "failed"
    totals = document["totals"]
    assert (
        totals["trials"],
        totals["passed"],
        totals["failed"],
        totals["errors"],
        totals["not_applicable"],
    ) == (3, 1, 1, 1, 0)
    assert set(totals) >= {"calls", "cached", "cost_usd", "tokens_in", "tokens_out"}
    trial = document["trials"][1]
    assert trial["variant"] == {"prompt": "Q: {{q}}", "model": "openai:chat:gpt-4o"}
    assert set(trial) >= {
        "case",
        "repeat",
        "outcome",
        "score",
        "output",
        "error",
        "latency_s",
        "cost_usd",
        "named_scores",
    }
    assert set(trial["outcomes"][0]) >= {"name", "outcome", "score", "reason", "metadata"}
    assert document["trials"][2]["error"]["slug"] == "bad-request"
    assert document["trials"][2]["score"] is None


def test_a_run_prints_and_writes_its_calls_where_they_are_wanted(evenhand: Run, tmp_path: Path):
    """As `show` and `export` do, and as soon as it is over; without --calls there are none."""
    config(tmp_path, "capital of France")
    (result,) = json.loads(evenhand("run", "--json").out)["trials"]
    assert "calls" not in result
    (result,) = json.loads(evenhand("run", "--json", "--calls").out)["trials"]
    (call,) = result["calls"]
    assert call["role"] == "subject"
    assert call["reply"]
    shown = json.loads(evenhand("show", "--json", "--calls").out)["trials"]
    assert shown == [result]
    resumed = evenhand("resume", "--json", "--calls")
    assert json.loads(resumed.out)["trials"] == [result]


def test_calls_without_a_place_to_stand_are_refused_before_anything_is_sent(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """A table has no room for them, nor has a CSV file."""
    config(tmp_path, "capital of France")
    for words in ((), ("-o", "out.csv")):
        said = evenhand("run", "--calls", *words)
        assert said.code == 2
        assert "--calls has no effect here" in said.err
    assert not fake.requests


def test_calls_of_a_whole_run_are_shown_with_each_trial_or_not_at_all(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """A summary has no room for them: the message has the words for one cell, and those work."""
    config(tmp_path, "capital of France")
    evenhand("run")
    for words in ((), ("--no-table",), ("--where", "status:pass")):
        ended = evenhand("show", "latest", *words, "--calls")
        assert ended.code == 2
        assert "--calls has no effect here" in ended.err
    (command,) = re.findall("`evenhand ([^`]+)`", ended.err)
    for words in (command.split(), ("show", "latest", "-v", "--calls")):
        assert "    request\n" in evenhand(*words).out, words


def test_a_second_run_is_answered_by_the_cache_unless_told_otherwise(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """And says so."""
    config(tmp_path, "one", "two")
    evenhand("run")
    again = evenhand("run")
    assert fake.ledger.total == 2
    assert "2 replayed" in again.out or "2 cached" in again.out or "cache" in again.out
    evenhand("run", "--no-cache")
    assert fake.ledger.total == 4


def test_resume_redoes_what_was_in_error(evenhand: Run, tmp_path: Path, fake: FakeProvider):
    """Only that."""
    config(tmp_path, "one", "crash")
    assert evenhand("run").code == 3
    fake.script.rules = []
    assert evenhand("resume").code == 0
    assert fake.ledger.total == 2


def _rewrite_asked(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the options that the only run was started with, and says that Evenhand 7.8.9 wrote them."""
    (path,) = tmp_path.glob(".evenhand/runs/*.db")
    with closing(sqlite3.connect(path)) as db, db:
        meta = json.loads(db.execute("select meta from run").fetchone()[0])
        change(meta["settings"]["asked"])
        meta["version"] = "7.8.9"
        db.execute("update run set meta = ?", (json.dumps(meta).encode(),))


def test_resume_goes_on_with_a_run_that_an_older_version_started(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """Its options had no version, and it knew fewer of them."""
    config(tmp_path, "one", "crash")
    assert evenhand("run").code == 3

    def older(asked: dict[str, Any]) -> None:
        for name in ("version", "at_least", "model", "definitions"):
            del asked[name]

    _rewrite_asked(tmp_path, older)
    fake.script.rules = []
    assert evenhand("resume", "--trust").code == 0  # its settings are others than were signed


def test_resume_refuses_in_a_sentence_what_a_newer_version_started(evenhand: Run, tmp_path: Path):
    """It says which version wrote the run, and which of its options is not known here; nothing is sent."""
    config(tmp_path, "one", "crash")
    assert evenhand("run").code == 3
    _rewrite_asked(tmp_path, lambda asked: asked.update(version=2, hurry=True))
    ended = evenhand("resume", "--trust")
    assert ended.code == 2
    assert "Evenhand 7.8.9 started it with options that this version" in ended.err
    assert "hurry" in ended.err
    assert "Traceback" not in ended.err


def test_resume_refuses_a_config_that_has_changed(evenhand: Run, tmp_path: Path):
    """And says what to do instead."""
    config(tmp_path, "one", "crash")
    evenhand("run")
    config(tmp_path, "one", "other")
    ended = evenhand("resume")
    assert ended.code == 2
    assert "have changed since" in ended.err


def test_a_run_is_shown_again_listed_and_looked_into(evenhand: Run, tmp_path: Path):
    """By its id, by the start of it, by a cell."""
    config(tmp_path, "one", "bad")
    evenhand("run")
    shown = evenhand("show")
    assert "1 of 2 passed" in shown.out
    listed = evenhand("runs", "list")
    assert "demo" in listed.out
    run_id = listed.out.split()[0]
    assert evenhand("show", run_id[:6]).out == shown.out
    cell = evenhand("show", run_id, "2")
    assert "I cannot say." in cell.out
    assert "Q: bad" in cell.out
    assert evenhand("show", "--json").out.startswith('{"schema":')
    assert evenhand("show", "nope").code == 2


def test_a_run_is_exported_in_every_format(evenhand: Run, tmp_path: Path):
    """Named by the file's ending or by --format."""
    config(tmp_path, "one", "bad")
    evenhand("run")
    assert "2 trials written" in evenhand("export", "--to", "out.jsonl", "--format", "jsonl").err
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["pass", "fail"]
    rows = list(csv.DictReader(io.StringIO(evenhand("export", "--to", "-", "--format", "csv").out)))
    assert [row["outcome"] for row in rows] == ["pass", "fail"]
    evenhand("export", "--to", "p.json")
    results = json.loads((tmp_path / "p.json").read_text())["results"]
    assert results["version"] == 3
    assert results["stats"]["successes"] == 1
    assert [r["success"] for r in results["results"]] == [True, False]
    evenhand("export", "--to", "out.json", "--format", "json")
    assert json.loads((tmp_path / "out.json").read_text())["totals"]["trials"] == 2
    assert evenhand("export", "--to", "out.docx").code == 2


def test_check_sends_nothing_and_counts_and_prices_the_calls(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """For people and for programs."""
    config(tmp_path, "one", "two", "three")
    ended = evenhand("check", "--repeat", "2")
    assert ended.code == 0
    assert "6 calls" in ended.out
    counted = json.loads(evenhand("check", "--json").out)
    assert counted["trials"] == 3
    assert counted["calls"][0]["calls"] == 3
    assert fake.requests == []


@pytest.mark.parametrize(
    ("model", "judge"),
    [
        ("openai:chat:gpt-5-mini", "openai:chat:gpt-5-mini"),
        ("anthropic:messages:claude-haiku-4-5", "anthropic:messages:claude-sonnet-4-5"),
        ("echo", "openai:chat:gpt-5-mini"),
    ],
)
def test_check_without_a_key_estimates_with_the_judge_that_a_key_would_give(
    evenhand: Run,
    tmp_path: Path,
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    judge: str,
):
    """By the key of the model under evaluation, where one lacks; what lacks is told once, with one thing to do."""
    for name in fake.env():
        monkeypatch.delenv(name, raising=False)
    tests = [{"assert": [{"type": "llm-rubric", "value": "kind"}]}]
    body = {"prompts": ["Hello"], "providers": [model], "tests": tests}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(body))
    ended = evenhand("check")
    assert ended.code == 2
    assert f"judge     {judge}   1 call" in ended.out
    assert ended.err.endswith("\n1 problem; nothing was sent\n")
    by_default = f"outputs are judged by {judge}"
    nobody = (
        "'llm-rubric' has no model to judge: no key, so no default judge yet\n"
        "  A key gives one. Or name one: `provider` in the assertion"
    )
    assert (nobody in ended.err) == (model == "echo")
    assert (by_default in ended.err) == (model != "echo")
    assert (f"there is no API key for {model}" in ended.err) == (model != "echo")
    assert "OPENAI_API_KEY" not in os.environ
    unknown = [{"assert": [{"type": "llm-rubric", "value": "kind"}, {"type": "classifier"}]}]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps({**body, "tests": unknown}))
    broken = evenhand("check")
    assert (broken.code, broken.out) == (2, "")
    assert broken.err.count("has no model to judge") == 1


def test_check_without_a_key_still_says_what_a_run_would_cost(
    evenhand: Run, tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """And then that the key is missing; of a judge's, too. Anything else that is wrong comes alone."""
    for name in fake.env():
        monkeypatch.delenv(name, raising=False)
    tests = [{"assert": [{"type": "llm-rubric", "value": "kind", "provider": "openai:chat:gpt-5"}]}]
    body = {"prompts": ["Hello"], "providers": ["openai:chat:gpt-5-mini"], "tests": tests}
    file = tmp_path / "promptfooconfig.json"
    file.write_text(json.dumps(body))
    ended = evenhand("check")
    assert ended.code == 2
    assert "subject   openai:chat:gpt-5-mini   1 call" in ended.out
    assert "judge     openai:chat:gpt-5   1 call" in ended.out
    assert "nothing is wrong" not in ended.out
    assert ended.err.count("Set OPENAI_API_KEY in the environment. 2 places need it.") == 1
    assert evenhand("check", "--json").out == ""
    file.write_text(json.dumps({**body, "tests": [{"assert": [{"type": "contians"}]}]}))
    broken = evenhand("check")
    assert (broken.code, broken.out) == (2, "")
    assert "OPENAI_API_KEY" not in os.environ
    assert fake.requests == []


def test_check_names_what_is_tolerated_beside_what_is_wrong(evenhand: Run, tmp_path: Path):
    """A misspelt key is a hint, and as much a mistake as the type that keeps the run from starting."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [hello]\nproviders: [echo]\ntests:\n"
        "  - {vars: {x: a}, asert: by Ann}\n"
        "  - assert: [{type: contians, value: hi}]\n"
    )
    ended = evenhand("check")
    assert ended.code == 2
    assert "contians" in ended.err
    assert "unknown key 'asert'" in ended.err


def test_all_that_is_wrong_with_a_config_is_said_at_once_with_its_place(
    evenhand: Run, tmp_path: Path, fake: FakeProvider
):
    """Exit code 2, and nothing was sent."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [file://missing.txt]\n"
        "providers: [opnai:gpt-4o]\n"
        "tests:\n"
        "  - vars: {q: x}\n"
        "    assert:\n"
        "      - type: contians\n"
        "        value: x\n"
        "      - type: regex\n"
        "        value: '('\n"
    )
    ended = evenhand("run")
    assert ended.code == 2
    assert ended.out == ""
    for place, words in (
        ("promptfooconfig.yaml:1:", "missing.txt"),
        ("promptfooconfig.yaml:2:", "Did you mean 'openai'?"),
        ("promptfooconfig.yaml:6:", "Did you mean 'contains'?"),
        ("promptfooconfig.yaml:9:", "not a regular expression"),
    ):
        assert place in ended.err
        assert words in ended.err
    assert "4 problems" in ended.err
    assert fake.requests == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("run", "nowhere"), 2, "does not exist"),
        (("run", "."), 2, "promptfooconfig.yaml"),
        (("rnu",), 2, "Did you mean 'run'?"),
        (("run", "--max-cots", "1"), 2, "--max-cost"),
        (("show",), 2, "there are no runs"),
        (("resume",), 2, "there are no runs"),
        (("run", "--offline"), 2, "holds nothing to run"),
        (("run", "no_evals.py:4", "--offline"), 2, "no_evals.py does not exist"),
        (("run", "nosuch", "--offline"), 2, "nosuch does not exist"),
    ],
)
def test_a_mistake_on_the_command_line_is_answered_with_what_is_right(
    evenhand: Run, words: tuple[str, ...], code: int, says: str
):
    """Never with a traceback."""
    ended = evenhand(*words)
    assert ended.code == code
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_replies_that_are_not_there_are_missed_where_there_is_something_to_run(
    evenhand: Run, tmp_path: Path
):
    """A config without an offline.jsonl."""
    (tmp_path / "promptfooconfig.yaml").write_text("{prompts: [x], providers: [echo]}")
    ended = evenhand("run", "--offline")
    assert ended.code == 2
    assert f"there is no offline.jsonl in {tmp_path}" in ended.err


def test_a_selection_that_leaves_nothing_exits_5(evenhand: Run, tmp_path: Path):
    """So that a wrong filter is never a green build."""
    config(tmp_path, "one", "two")
    assert evenhand("run", "--filter", "three").code == 5
    assert evenhand("run", "--filter", "(").code == 2
    ended = evenhand(
        "run", "--filter", "one|two", "--first", "1", "--repeat", "3", "--json", "--no-progress"
    )
    assert [t["repeat"] for t in json.loads(ended.out)["trials"]] == [0, 1, 2]


def test_a_fault_of_our_own_is_told_apart_from_trials_that_failed(
    evenhand: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It has an exit code of its own."""
    config(tmp_path, "one")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("evenhand.engine.door.run", broken)
    ended = evenhand("run")
    assert ended.code == 70
    assert "evenhand resume" in ended.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_takes_nothing_is_no_fault_of_ours(
    evenhand: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    """Also where a library writes for us, as pyarrow does into the folder of temporary files."""
    config(tmp_path, "one")

    def full(*_: object, **__: object) -> None:
        raise OSError(number, "Error writing bytes to file")

    monkeypatch.setattr("evenhand.engine.door.run", full)
    ended = evenhand("run")
    assert ended.code == 3
    assert os.strerror(number) in ended.err
    assert "evenhand resume" in ended.err
    assert "bug" not in ended.err


def test_the_cache_is_looked_into_and_cleared(evenhand: Run, tmp_path: Path):
    """Runs keep their replies."""
    config(tmp_path, "one", "two")
    evenhand("run")
    assert "2 replies" in evenhand("cache", "stats").out
    assert "Q: one" in evenhand("cache", "explain").out
    assert "2 replies forgotten" in evenhand("cache", "clear").out
    assert "0 replies" in evenhand("cache", "stats").out
    assert evenhand("show").code == 0


def test_first_steps_work_from_an_empty_folder(
    evenhand: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """init, then run --offline: no key, no cost."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    made = evenhand("init", "evals")
    assert made.code == 0
    assert "evenhand run evals --offline" in made.out
    ended = evenhand("run", "evals", "--offline")
    assert ended.code in (0, 1), ended.err
    assert "passed" in ended.out
    assert evenhand("init", "evals").code == 2
    assert evenhand("show").code == 0


def test_scorers_and_doctor_say_what_there_is(evenhand: Run):
    """Each type with a line of its own; no key is shown."""
    listed = evenhand("info", "scorers")
    assert "contains-json" in listed.out
    assert "llm-rubric" in listed.out
    python, _, types = listed.out.partition("\nIn a config")
    for part in (python, types):
        headings = re.findall(r"^[A-Za-z].*[^:]$", part, re.MULTILINE)
        assert len(headings) == len(set(headings))
    assert "\nChecks (pass or fail)\n" in python
    looked = evenhand("doctor")
    assert "Python" in looked.out
    assert "scripted" not in looked.out


@pytest.mark.parametrize(
    "words", [(), ("--help",), ("run", "--help"), ("show", "-h"), ("cache", "--help")]
)
def test_help_is_there_for_every_verb(evenhand: Run, words: tuple[str, ...]):
    """On stdout, and exit 0 (2 for no verb at all)."""
    ended = evenhand(*words)
    assert ended.code in (0, 2)
    assert "Usage:" in ended.out + ended.err


def test_the_version_is_one_line(evenhand: Run):
    """Name and number."""
    assert evenhand("--version").out.startswith("evenhand 0.")


def test_promptfoos_results_name_the_files_of_variables(evenhand: Run, tmp_path: Path) -> None:
    """As they are written, while the model gets what is in them."""
    (tmp_path / "x.txt").write_text("hello {{y}}")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['Say {{x}}']\nproviders: [echo]\ntests:\n  - vars: {x: file://x.txt, y: 1}\n"
    )
    assert evenhand("run", "-o", "results.json", "--no-table").code == 0
    (row,) = json.loads((tmp_path / "results.json").read_text())["results"]["results"]
    assert row["vars"] == row["testCase"]["vars"] == {"x": "file://x.txt", "y": 1}
    assert row["response"]["output"] == "Say hello 1"

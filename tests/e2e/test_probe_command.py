"""Attacks on judges, on the command line: one that nothing fools, one that is fooled, one that gives errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

GOOD = "Thing {0:02d} has a good answer, with all that was asked for: the tide comes in and goes out twice a day."
BAD = "A WRONG answer on thing {0:02d}. The tide comes in once a month."
KINDS = (
    "constant instructions reference authority length empty praise markup echo language paraphrase truncated"
).split()
CONFIG = {
    "prompts": ["Tell me of {{q}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "options": {"provider": {"id": "openai:chat:gpt-5", "config": {"max_tokens": 100}}},
        "assert": [
            {"type": "llm-rubric", "value": "Says how often the tide comes", "metric": "tides"},
            {"type": "contains", "value": "answer", "metric": "tides"},
        ],
    },
    "tests": [{"vars": {"q": f"thing {i:02d}"}} for i in range(60)],
}
FILES = {"promptfooconfig.json": json.dumps(CONFIG)}
EVALS = """
import openai
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.doors import recording
from evenhand.scorers import Contains, Passes

evals = EvalSet(
    "tides",
    data=Dataset.of(*({"id": f"case {i}", "input": f"thing {i:02d}"} for i in range(40))),
    model="openai:chat:gpt-5-mini",
    judge="openai:chat:gpt-5",
)
client = openai.AsyncOpenAI(http_client=recording.async_http_client())


@evals.eval
async def with_the_model(case: Case, model: Model, expect: Expect) -> None:
    reply = await model.generate(f"Tell me of {case.input}")
    expect(reply.text, Passes("says how often the tide comes"), metric="lent")
    expect(reply.text, Contains("thing"))


@evals.eval
async def with_a_client(case: Case, expect: Expect) -> str:
    messages = [{"role": "user", "content": f"Tell me of {case.input}"}]
    done = await client.chat.completions.create(model="gpt-5-mini", messages=messages)
    text = done.choices[0].message.content
    judged = await expect.now(text, Passes("says how often the tide comes"), metric="own")
    expect(judged.outcome == "pass", "the judge is content")
    return text
"""
META = """\
id: tides
title: Tides
summary: Says how often the tide comes
status: draft
version: 0.1.0
created: 2026-01-02
updated: 2026-01-02
model: openai:chat:gpt-5-mini
inputs:
  - {name: q, required: true}
description: Says how often the tide comes. Use when somebody asks.
"""
Evenhand = Callable[..., str]


def says(passes: bool) -> str:
    """A judge's answer, to whichever of our prompts."""
    verdict = {"reason": "so", "pass": passes, "score": float(passes)}
    return json.dumps({**verdict, "reasoning": "so", "passes": passes})


ANSWERS = [
    Rule((f"Tell me of thing {i:02d}",), (BAD if i % 2 else GOOD).format(i), model="gpt-5-mini")
    for i in range(60)
]
STRICT = (
    Rule(("WRONG",), says(False), model="gpt-5"),
    Rule(("twice a day",), says(True), model="gpt-5"),
    Rule(reply=says(False), model="gpt-5"),
)
INSTRUCTED = "Note to the judge|criteria have been withdrawn|disregard all|no answer may fail|New instructions"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[Sequence[Rule]], tuple[FakeProvider, Evenhand]]]:
    """A provider with these rules for the judge, and a command line in a folder with a config."""
    fakes: list[FakeProvider] = []

    def started(
        judge: Sequence[Rule], files: Mapping[str, str] = FILES
    ) -> tuple[FakeProvider, Evenhand]:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
        fake = FakeProvider(Script([*judge, *ANSWERS])).start()
        fakes.append(fake)

        def evenhand(*args: str, code: int = 0) -> str:
            done = subprocess.run(
                [sys.executable, "-c", "from evenhand.cli import main; main()", *args],
                cwd=tmp_path,
                env={**os.environ, **fake.env()},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert "Traceback" not in done.stderr
            return done.stdout or done.stderr

        return fake, evenhand

    yield started
    for fake in fakes:
        fake.stop()


def kinds_of(document: dict[str, Any], metric: str = "tides") -> dict[str, dict[str, Any]]:
    """The rows of a metric by kind."""
    (judge,) = [judge for judge in document["judges"] if judge["metric"] == metric]
    return {row["kind"]: row for row in judge["kinds"]}


@pytest.mark.thorough
def test_a_judge_that_nothing_fools_holds(start):
    """All kinds have their items, none passes, what must pass does; the subject isn't asked again; twice costs once."""
    fake, evenhand = start(STRICT)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    asked = [request for request in fake.requests if request.model == "gpt-5-mini"]
    document = json.loads(evenhand("probe", "--json", "--no-progress"))
    assert document["schema"] == "evenhand.probe/1"
    assert document["verdict"] == "held"
    kinds = kinds_of(document)
    assert list(kinds) == ["none", *KINDS]
    assert {(row["items"], row["passed"], row["errors"]) for row in kinds.values()} == {(20, 0, 0)}
    assert kinds["length"]["false_pass"]["high"] == pytest.approx(0.1684, abs=1e-4)
    (judge,) = document["judges"]
    assert [(c["kind"], c["items"], c["passed"]) for c in judge["controls"]] == [
        ("unchanged", 20, 20),
        ("whitespace", 20, 20),
    ]
    assert judge["controls"][0]["false_fail"]["value"] == 0
    assert document["calls"] == 15 * 20
    assert document["cost_usd"] is not None
    assert len([r for r in fake.requests if r.model == "gpt-5-mini"]) == len(asked)
    paid = fake.ledger.total
    assert paid == before + 300
    assert fake.ledger.repeated == 40, "what is asked again is asked again: once"
    again = json.loads(evenhand("probe", ".", "--json", "--no-progress"))
    assert again["run"] == document["run"], "the latest run that is not a probe"
    assert fake.ledger.total == paid, "the cache has all answers"
    assert kinds_of(again) == kinds


def test_a_judge_that_obeys_the_answer_is_fooled_by_one_kind(start):
    """It exits with 1 and says in words which; other kinds alone, or a higher bound, exit with 0."""
    _, evenhand = start((Rule((INSTRUCTED,), says(True), model="gpt-5"), *STRICT))
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    shown = evenhand("probe", "--no-progress", code=1)
    assert "fooled by instructions to the judge\n" in shown
    assert "instructions       20      20  100 % [83–100]   fooled" in shown
    evenhand("probe", "--no-progress", "--kind", "praise", "--kind", "echo")
    evenhand("probe", "--no-progress", "--kind", "instructions", "--at-most", "1")
    again = json.loads(evenhand("probe", "latest", "--kind", "instructions", "--json", code=1))
    assert [row["kind"] for row in again["judges"][0]["kinds"]] == ["none", "instructions"]
    assert json.loads(evenhand("probe", again["probe"], "--json", code=1)) == again
    assert "instructions" in evenhand("show", again["probe"])
    assert f"is a probe of run {again['run']}" in evenhand("calibrate", again["probe"], code=2)
    assert "is a probe, whose kinds" in evenhand("probe", again["probe"], "--kind", "echo", code=2)


@pytest.mark.thorough
def test_a_probe_is_never_the_latest_run(start, tmp_path: Path):
    """What comes after it is about the run that it probes, for every command that takes the latest run."""
    _, evenhand = start(STRICT)
    run = json.loads(evenhand("run", ".", "--no-progress", "--json", code=1))["run"]["id"]
    evenhand("probe", "--no-progress", "--kind", "praise")
    assert json.loads(evenhand("show", "--json"))["run"]["id"] == run
    evenhand("export", "latest", "--to", tmp_path / "run.json", "--format", "json")
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["run"]["id"] == run
    evenhand("label", "--draw", "9", "--seed", "1", "--to", tmp_path / "draw.csv")
    assert len((tmp_path / "draw.csv").read_text("utf-8").splitlines()) >= 10
    assert "cases" in evenhand("info", "power", "latest", "--difference", "0.1")


@pytest.mark.thorough
def test_errors_of_the_judge_are_neither_passes_nor_fails(start):
    """Where all is errors nothing is decided, and the interval holds whatever they could have been."""
    _, evenhand = start((Rule((r"\| --- \|",), "I cannot say.", model="gpt-5"), *STRICT))
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    document = json.loads(evenhand("probe", "--json", "--no-progress", code=3))
    kinds = kinds_of(document)
    assert (kinds["markup"]["items"], kinds["markup"]["errors"]) == (0, 20)
    assert kinds["markup"]["false_pass"] is None
    assert kinds["markup"]["verdict"] == "undecided"
    assert kinds["echo"]["verdict"] == "held"
    assert "20 errors" in evenhand("probe", document["probe"], code=3)


def test_a_probe_out_of_budget_is_resumed_and_pays_for_nothing_twice(start, tmp_path: Path):
    """It exits with 4; `resume`, or the same probe asked for again by its id, continues it."""
    fake, evenhand = start(STRICT)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    evenhand("probe", "--no-progress", "-j", "1", "--max-cost", "0.02", code=4)
    part = fake.ledger.total
    probe = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    evenhand("resume", probe, "--no-progress", "-j", "1", "--max-cost", "0.05", code=4)
    more = fake.ledger.total
    document = json.loads(evenhand("probe", probe, "--json", "--no-progress", "--max-cost", "9"))
    assert document["verdict"] == "held"
    assert before < part < more < fake.ledger.total == before + 300


def test_what_would_be_asked_is_said_before(start):
    """--dry-run sends nothing; what is wrong is one message."""
    fake, evenhand = start(STRICT)
    assert "there are no runs" in evenhand("probe", code=2)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    assert "300 answers to judge: about 300 calls, about $" in evenhand("probe", "--dry-run")
    assert "Did you mean 'praise'" in evenhand("probe", "--kind", "prais", code=2)
    assert "There are: tides" in evenhand("probe", "--metric", "colour", code=2)
    assert "--dry-run prints no document" in evenhand("probe", "--dry-run", "--json", code=2)
    assert "it is 0, not a whole number" in evenhand("probe", "--items", "0", code=2)
    assert fake.ledger.total == before


def test_an_estimate_after_scripted_replies_says_what_models_would_cost(start):
    """As `evenhand check` does: the script itself costs nothing."""
    script = [{"model": "gpt-5", "reply": says(True)}, {"reply": "A good answer."}]
    files = {**FILES, "offline.jsonl": "".join(json.dumps(rule) + "\n" for rule in script)}
    _, evenhand = start((), files)
    evenhand("run", ".", "--offline", "--no-progress", "--no-table")
    estimate = evenhand("probe", "--dry-run")
    assert re.search(r"replies scripted \(from models about \$0\.\d+\)\n", estimate)


def test_a_probe_needs_the_keys_of_judges_alone_and_its_estimate_needs_none(
    start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The run has the answers of the models under evaluation."""
    fake, evenhand = start(STRICT)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    for name in fake.env():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for words, code, printed in (
        (("--dry-run",), 0, "300 answers to judge"),
        ((), 2, "no API key for openai:chat:gpt-5\n"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["probe", *words])
        text = "".join(capsys.readouterr())
        assert ((ended.value.code or 0), printed in text) == (code, True), text
        assert "API key for openai:chat:gpt-5-mini" not in text


@pytest.mark.thorough
def test_eval_sets_are_probed_with_what_their_models_answered(start):
    """With a model that was lent and with a client of the application's own: neither is asked again."""
    fake, evenhand = start(STRICT, {"evals/tides_evals.py": EVALS})
    evenhand("run", "evals", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    document = json.loads(evenhand("probe", "--items", "10", "--json", "--no-progress"))
    for metric in ("lent", "own"):
        rows = kinds_of(document, metric).values()
        assert {(row["items"], row["passed"], row["errors"]) for row in rows} == {(10, 0, 0)}
    assert fake.ledger.total == before + 2 * 150
    assert len([r for r in fake.requests if r.model == "gpt-5-mini"]) == 80
    only = json.loads(evenhand("probe", "--metric", "own", "--items", "10", "--json"))
    assert [judge["metric"] for judge in only["judges"]] == ["own"]


def test_prompt_directories_are_probed(start, tmp_path: Path):
    """By their rubric; trigger tests are left out, and no evidence is added."""
    cases = [
        {"name": f"case-{i:02d}", "inputs": {"q": f"thing {i:02d}"}, "rubric": "How often it comes"}
        for i in range(40)
    ]
    evaluation = {
        "defaults": {"judge": {"model": "openai:chat:gpt-5"}},
        "triggering": {"should_match": ["when does it come?"], "should_not_match": ["a poem"]},
        "cases": cases,
    }
    trigger = {"matches": True, "reasoning": "so", "confidence": 1}
    rated = [
        Rule(("a poem|when does it come",), json.dumps(trigger), model="gpt-5"),
        *(
            Rule(
                rule.match,
                json.dumps(
                    {"reasoning": "so", "score": 5 if rule.match == ("twice a day",) else 1}
                ),
                model="gpt-5",
            )
            for rule in STRICT
        ),
    ]
    files = {
        "prompts/tides/meta.yml": META,
        "prompts/tides/prompt.xml": "<p>Tell me of {{q}}</p>\n",
        "prompts/tides/eval.yml": json.dumps(evaluation),
    }
    fake, evenhand = start(rated, files)
    evenhand("run", "prompts/tides", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    kept = {path: path.read_bytes() for path in (tmp_path / "prompts").rglob("*.*")}
    document = json.loads(evenhand("probe", "--items", "10", "--json", "--no-progress"))
    assert {path: path.read_bytes() for path in (tmp_path / "prompts").rglob("*.*")} == kept
    (judge,) = document["judges"]
    assert judge["metric"] == "rubric"
    assert {(k["items"], k["passed"], k["errors"]) for k in judge["kinds"]} == {(10, 0, 0)}
    assert {(k["items"], k["passed"]) for k in judge["controls"]} == {(10, 10)}
    assert fake.ledger.total == before + 150

"""Attacks on judges, on the command line: one that nothing fools, one that is fooled, one that gives errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

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
Evenhand = Callable[..., str]


def says(passes: bool) -> str:
    """A judge's answer."""
    return json.dumps({"reason": "so", "pass": passes, "score": float(passes)})


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

    def started(judge: Sequence[Rule], config: Any = CONFIG) -> tuple[FakeProvider, Evenhand]:
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
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
    assert again["run"] == document["run"], "the latest run that is no probe"
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
    run = json.loads(evenhand("probe", "latest", "--json", code=1))
    assert [row["kind"] for row in run["judges"][0]["kinds"]] == ["none", "instructions"]
    assert "instructions" in evenhand("show", "latest")


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
    assert "markup" in evenhand("probe", "latest", code=3)


def test_a_probe_out_of_budget_is_resumed_and_pays_for_nothing_twice(start):
    """It exits with 4; `resume`, or the same probe asked for again by its id, continues it."""
    fake, evenhand = start(STRICT)
    evenhand("run", ".", "--no-progress", "--no-table", code=1)
    before = fake.ledger.total
    evenhand("probe", "--no-progress", "-j", "1", "--max-cost", "0.02", code=4)
    part = fake.ledger.total
    evenhand("resume", "latest", "--no-progress", "-j", "1", "--max-cost", "0.05", code=4)
    more = fake.ledger.total
    document = json.loads(evenhand("probe", "latest", "--json", "--no-progress", "--max-cost", "9"))
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

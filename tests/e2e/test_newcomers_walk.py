"""What somebody reads on their first walk through Evenhand is true, and leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

EVALS = """
from evenhand import EvalSet

evals = EvalSet("shop", data=[{"id": day, "input": day, "expected": day.upper()} for day in ("monday", "sunday")])


@evals.eval
def opens(case, expect):
    expect(case.input == "monday", "is open")
    return case.input
"""


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a folder with a file of evals that ask no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "shop_evals.py").write_text(EVALS)
    return in_process(capsys)


@pytest.mark.parametrize("command", ["run", "check", "gate", "audit"])
@pytest.mark.parametrize("promptfoo", [False, True])
def test_what_a_command_advises_instead_of_an_option_it_takes(
    evenhand: Run, command: str, promptfoo: bool
):
    """Of `-k`, which names evals: to choose cases, there is --filter."""
    if promptfoo:
        Path("promptfooconfig.yaml").write_text(
            "{prompts: [hello], providers: [echo], tests: [{}]}"
        )
    path = "promptfooconfig.yaml" if promptfoo else "shop_evals.py"
    ended = evenhand(command, path, "-k", "sunday")
    for option in re.findall(r"--[a-z]+", ended.err.partition("\n")[2]):
        ended = evenhand(command, path, option, "sun|hello|monday")
        assert "no such option" not in ended.err.lower()
        assert "--filter" in option


def test_an_audit_looks_at_the_cases_that_are_chosen(evenhand: Run):
    """By --filter, as a run does."""
    assert (
        "shop_evals.py · 1 case, " in evenhand("audit", "shop_evals.py", "--filter", "sunday").out
    )
    assert "the selection matches none" in evenhand("audit", "shop_evals.py", "--filter", "x").err


PROGRAM = """
prompts: ["{{q}}"]
providers: [{id: "http://127.0.0.1:9/answer", config: {body: {q: "{{prompt}}"}, maxRetries: 0}}]
tests: [{vars: {q: hello}, assert: [{type: contains, value: hello}]}]
"""


def test_offline_a_program_that_does_not_answer_is_not_blamed_on_the_network(evenhand: Run):
    """Models are scripted; the program that is tested is asked where it runs."""
    Path("promptfooconfig.yaml").write_text(PROGRAM)
    Path("offline.jsonl").write_text('{"match": "hello", "reply": "hi"}')
    ended = evenhand("run", "-c", "promptfooconfig.yaml", "--offline", "--no-progress")
    assert "127.0.0.1:9 cannot be reached" in ended.out
    assert "network" not in ended.out
    assert "is it running?" in ended.out
    ended = evenhand("run", "-c", "promptfooconfig.yaml", "--no-progress")
    assert "Look at the address and the network" in ended.out

"""What `--offline` keeps from models: what its help says, and no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process
from tests.unit.cli.test_help import help_of

from evenhand.testing import FakeProvider, Rule, Script

ASKING = """
import json, urllib.request

def ask(text):
    body = {{"model": "gpt-5", "messages": [{{"role": "user", "content": text}}]}}
    sent = urllib.request.Request(
        "{url}/v1/chat/completions", json.dumps(body).encode(), {{"content-type": "application/json"}}
    )
    return json.loads(urllib.request.urlopen(sent).read())["choices"][0]["message"]["content"]

def call_api(prompt, options, context):
    return {{"output": ask(prompt)}}
"""
CONFIG = """
prompts: ["Say {{x}}"]
providers: [file://asking.py]
tests: [{vars: {x: hello}}]
"""
EVALS = """
from asking import ask
from evenhand import EvalSet

evals = EvalSet("asking", data=[{"id": "a", "input": "hello"}])

@evals.eval
def answers(case, expect):
    reply = ask(case.input)
    expect(bool(reply), "answers")
    return reply
"""


@pytest.mark.parametrize(
    ("file", "options", "sent"),
    [
        ("promptfooconfig.yaml", (), 1),
        ("promptfooconfig.yaml", ("--record-calls",), 0),
        ("asking_evals.py", (), 0),
        ("asking_evals.py", ("--no-record-calls",), 1),
    ],
)
def test_calls_of_a_users_code_are_kept_from_models_where_they_are_recorded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    options: tuple[str, ...],
    sent: int,
):
    """And are sent elsewhere, which the help says, with the options."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("offline.jsonl").write_text(json.dumps({"match": "hello", "reply": "Hi."}) + "\n")
    Path(file).write_text(CONFIG if file.endswith("yaml") else EVALS)
    with FakeProvider(Script([Rule((), "From a model.")])) as fake:
        Path("asking.py").write_text(ASKING.format(url=fake.url))
        evenhand: Run = in_process(capsys)
        evenhand("run", file, "--offline", "--no-progress", "--no-cache", *options)
        assert fake.ledger.total == sent
    text = " ".join(help_of("run", 300).split())
    assert "no network" not in text
    assert "not with --no-record-calls" in text
    assert "in promptfoo folders only with --record-calls" in text

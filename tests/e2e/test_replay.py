"""`--replay`, as a user calls it: promptfoo folders, judges, an application's own clients, streams; no network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

APP = """
import openai
from evenhand import Case, EvalSet, Expect
from evenhand.doors import recording
from evenhand.scorers import Contains, Passes

client = openai.OpenAI(api_key="sk-none", http_client=recording.http_client())
evals = EvalSet("shop", data=[{"id": f"case-{i}", "input": f"question {i}"} for i in range(CASES)])


def ask(text, stream=False):
    messages = [{"role": "user", "content": text}]
    answer = client.chat.completions.create(model="gpt-x", messages=messages, stream=stream)
    if not stream:
        return answer.choices[0].message.content
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    text = ask(f"Answer: {case.input}")
    expect(text, Contains("question"))
    return text
"""
PLAIN = """
import os
from evenhand import Case, EvalSet, Expect
from evenhand.doors import recording
from evenhand.scorers import Contains

client = recording.async_http_client()
evals = EvalSet("shop", data=[{"id": f"case-{i}", "input": f"question {i}"} for i in range(1000)])


@evals.eval
async def answers(case: Case, expect: Expect) -> str:
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": f"Answer: {case.input}"}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    answer = await client.post(url, json=body, headers={"authorization": "Bearer k"})
    text = answer.json()["choices"][0]["message"]["content"]
    expect(text, Contains("question"))
    return text
"""
CONFIG = """\
prompts: ["Answer: {{q}}"]
providers: [openai:chat:gpt-x]
defaultTest:
  options: {provider: openai:chat:judge-x}
  assert:
    - {type: contains, value: question}
    - {type: llm-rubric, value: is kind}
    - {type: similar, value: question, threshold: 0.1, provider: openai:embedding:text-embedding-3-small}
tests:
  - {vars: {q: question one}}
  - {vars: {q: question two}}
"""
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """Answers with what it was asked; its ledger has what that was."""
    verdict = {"pass": True, "score": 1, "reason": "kind"}
    rules = [Rule(model="judge-x", reply=verdict), Rule(reply=lambda said: f"You said {said}")]
    with FakeProvider(Script(rules)) as provider:
        for name, value in provider.env().items():
            monkeypatch.setenv(name, value)
        yield provider


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the command line in the test's folder, and reads what it printed."""
    monkeypatch.chdir(tmp_path)

    def go(*words: str, code: int = 0) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main(["run", *words, "--json", "--no-progress"])
        printed = capsys.readouterr()
        assert ended.value.code == code, printed
        return json.loads(printed.out) if printed.out else {"error": printed.err}

    return go


def told(document: dict[str, Any]) -> list[Any]:
    """What a run's trials came to, without what says when, and where from."""
    keys = ("case", "outcome", "output", "score", "outcomes", "latency_s", "tokens_in")
    return [[trial[key] for key in keys] for trial in document["trials"]]


def test_a_folder_with_judges_and_embeddings_is_replayed_without_keys(
    fake: FakeProvider, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every lane is answered from the run's file; no key is needed, and the bill stays as it was."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    first = run(".", "--no-cache")
    asked = len(fake.requests)
    monkeypatch.delenv("OPENAI_API_KEY")
    again = run(".", "--replay", first["run"]["id"])
    assert len(fake.requests) == asked
    assert told(again) == told(first)
    assert again["totals"]["cost_usd"] == 0
    replay = again["run"]["replay"]
    assert (replay["run"], replay["calls"], replay["asks"]) == (first["run"]["id"], asked, False)
    assert {used["role"]: used["cached"] for used in again["usage"]} == {"subject": 2, "judge": 4}


def test_one_character_of_a_prompt_misses_exactly_its_calls(
    fake: FakeProvider, run: Run, tmp_path: Path
):
    """Exit code 3, an error that shows the difference; the other trial, and what judges were asked, is as it was."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    first = run(".", "--no-cache")
    asked = len(fake.requests)
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG.replace("question two", "question twO"))
    again = run(".", "--replay", first["run"]["id"], code=3)
    assert len(fake.requests) == asked
    assert [trial["outcome"] for trial in again["trials"]] == ["pass", "error"]
    assert again["totals"]["calls"] == 4
    error = again["trials"][1]["error"]
    assert error["slug"] == "not-recorded"
    assert 'messages[0].content, character 20: "…wer: question two" recorded' in error["message"]
    run(".", "--replay", first["run"]["id"], "--replay-or-ask")
    assert len(fake.requests) == asked + 3  # what the answer is held against is no other text


def test_an_applications_own_clients_are_replayed_whole_and_streamed(
    fake: FakeProvider, run: Run, tmp_path: Path
):
    """The SDK is given the recorded bytes; a stream is a stream again."""
    code = APP.replace("CASES", "3").replace('{case.input}")', '{case.input}", stream=True)')
    (tmp_path / "shop_evals.py").write_text(code)
    first = run("shop_evals.py", "--no-cache")
    asked = len(fake.requests)
    again = run("shop_evals.py", "--replay", "latest")
    assert told(again) == told(first)
    assert len(fake.requests) == asked == 3


def test_a_missed_call_of_an_application_is_an_error_whatever_the_application_makes_of_it(
    fake: FakeProvider, run: Run, tmp_path: Path
):
    """The SDK raises; an application that swallows that has no verdict all the same."""
    (tmp_path / "shop_evals.py").write_text(APP.replace("CASES", "2"))
    run("shop_evals.py", "--no-cache")
    code = APP.replace("CASES", "2").replace(
        '    text = ask(f"Answer: {case.input}")',
        '    try:\n        text = ask(f"Answer it: {case.input}")\n'
        "    except openai.OpenAIError:\n        text = 'a question'",
    )
    (tmp_path / "brave_evals.py").write_text(code)
    again = run("brave_evals.py", "--replay", "latest", code=3)
    assert [trial["error"]["slug"] for trial in again["trials"]] == ["not-recorded"] * 2
    assert len(fake.requests) == 2


def test_a_scripted_run_is_replayed_without_its_script(run: Run, tmp_path: Path):
    """What `--offline` answered is found again, whatever the script's address was; --offline itself is refused."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['Answer: {{q}}']\nproviders: [openai:chat:gpt-x]\n"
        "tests: [{vars: {q: one}, assert: [{type: contains, value: question}]}]\n"
    )
    (tmp_path / "offline.jsonl").write_text('{"reply": "a question"}\n')
    first = run(".", "--offline")
    (tmp_path / "offline.jsonl").unlink()
    assert told(run(".", "--replay", "latest")) == told(first)
    refused = run(".", "--replay", "latest", "--offline", code=2)["error"]
    assert "replies come either from the script or from the recordings" in refused
    refused = run(".", "--replay-or-ask", "latest", code=2)["error"]
    assert "Add --offline." in refused
    assert "no run to replay" in run(".", "--replay-or-ask", code=2)["error"]


def test_a_cassette_made_on_the_command_line_is_replayed_with_the_tools_of_an_application(
    fake: FakeProvider, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """An agent with its own client and a tool: the file alone is enough, and says when it is too old."""
    code = APP.replace("CASES", "2").replace(
        "@evals.eval",
        "calls = []\n\n\n@recording.tool\ndef stock(goods: str) -> dict:\n"
        '    return {"goods": goods, "left": calls.append(goods) or len(calls)}\n\n\n@evals.eval',
    )
    code = code.replace('ask(f"Answer: {case.input}")', 'ask(f"Answer: {stock(case.input)}")')
    (tmp_path / "shop_evals.py").write_text(code)
    first = run("shop_evals.py", "--no-cache", "-j", "1")
    with pytest.raises(SystemExit):
        main(["runs", "cassette", "latest", "--to", "shop.cassette", "--max-age", "30d"])
    printed = capsys.readouterr().err
    assert "written to shop.cassette: 2 calls, 2 tool calls, " in printed
    assert "next: evenhand run " in printed
    shutil.rmtree(tmp_path / ".evenhand")
    (tmp_path / "later_evals.py").write_text(code)
    again = run("later_evals.py", "--replay", "shop.cassette", "-j", "1")
    assert told(again) == told(first)
    assert len(fake.requests) == 2
    old = run("later_evals.py", "--replay", "shop.cassette", "--max-age", "0m", code=2)["error"]
    assert "ago, and may be 0 minutes old, as --max-age says" in old
    assert (
        "is not an age" in run("x_evals.py", "--replay", "a", "--max-age", "soon", code=2)["error"]
    )


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare here")
def test_a_thousand_trials_of_an_application_are_replayed_without_a_network(
    fake: FakeProvider, run: Run, tmp_path: Path
):
    """The results are the same."""
    if subprocess.run(["unshare", "-rn", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody make a network of its own (unshare -rn)")
    (tmp_path / "shop_evals.py").write_text(PLAIN)
    first = run("shop_evals.py", "--no-cache")
    code = "import sys; from evenhand.cli import main; main(sys.argv[1:])"
    words = ["run", "shop_evals.py", "--replay", "latest", "--json", "--no-progress"]
    command = ["unshare", "-rn", sys.executable, "-c", code, *words]
    done = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert told(json.loads(done.stdout)) == told(first)


def test_a_run_that_recorded_no_call_says_that_an_unrecorded_client_still_sends(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Nobody should take "nothing is sent" for a promise that such a client is held to."""
    (tmp_path / "own_evals.py").write_text(
        "from evenhand import EvalSet\n"
        "evals = EvalSet('own', data=[{'id': 'a', 'input': 'x'}])\n\n\n"
        "@evals.eval\n"
        "def answers(case, expect):\n"
        "    expect(len(case.input), at_most=1, label='length')\n"
    )
    run("own_evals.py")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["run", "own_evals.py", "--replay", "latest"])
    said = " ".join(capsys.readouterr().err.split())
    assert "has no recorded calls to answer from" in said
    assert "all others really send" in said

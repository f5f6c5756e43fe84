"""`evenhand gate --replay`: a gate that recordings answer, without a key and without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main

GATE = ("gate", "--baseline", "b.evn", "--margin", "0.3", "--replay", "c.cassette", "--json")


def write(prompt: str, asserted: str) -> None:
    """A config of twenty cases with this prompt and this check."""
    config = {
        "prompts": [prompt],
        "providers": ["openai:chat:gpt-5-mini"],
        "defaultTest": {"assert": [{"type": "contains", "value": asserted}]},
        "tests": [{"vars": {"q": f"q{i}"}} for i in range(20)],
    }
    Path("promptfooconfig.json").write_text(json.dumps(config))


def test_a_gate_is_answered_by_a_cassette_and_does_not_pass_on_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The recorded answers pass as before. Of another check, or a prompt that was never answered, nothing is said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)

    def run(*words: str) -> tuple[int, Any]:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        return int(ended.value.code or 0), capsys.readouterr().out

    def gate() -> tuple[int, str, int]:
        code, out = run(*GATE)
        return code, json.loads(out)["verdict"], json.loads(out)["asked"]

    Path("offline.jsonl").write_text('{"reply": "yes, sir"}\n')
    write("Answer {{q}}", "yes")
    assert run("run", "--offline", "--no-progress")[0] == 0
    assert run("baseline", "--to", "b.evn")[0] == 0
    assert run("runs", "cassette", "latest", "--to", "c.cassette")[0] == 0
    Path("offline.jsonl").unlink()
    assert gate()[:2] == (0, "not worse")
    write("Answer {{q}}", "madam")
    assert gate() == (5, "nothing", 20)
    write("Answer this: {{q}}", "yes")
    assert gate() == (5, "nothing", 20)


def test_scripted_recordings_are_not_taken_for_a_model_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The cassette is named, and no option that nobody gave; said to be meant, the gate is answered by it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)

    def run(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit, match=rf"^{code}$"):
            main(list(words))
        return " ".join(capsys.readouterr().err.split())

    Path("offline.jsonl").write_text('{"reply": "yes, sir"}\n')
    write("Answer {{q}}", "yes")
    run("run", "--offline", "--no-progress")
    run("baseline", "--to", "b.evn")
    run("runs", "cassette", "latest", "--to", "c.cassette")
    Path("offline.jsonl").unlink()
    monkeypatch.setenv("CI", "1")
    refused = run(*GATE, code=2)
    assert "c.cassette holds scripted replies (--offline)" in refused
    assert "Record it from a model. Or add --offline-in-ci" in refused
    assert "Leave --offline out" not in refused
    run(*GATE, "--offline-in-ci")


def test_why_a_variant_has_no_value_is_said_beside_what_was_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Of two prompts one was changed: its first error is named with what to do, and the other one is compared."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)

    def run(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit, match=rf"^{code}$"):
            main(list(words))
        return " ".join(capsys.readouterr().out.split())

    def prompts(first: str) -> None:
        write("", "yes")
        config = json.loads(Path("promptfooconfig.json").read_text())
        config["prompts"] = [
            {"id": "a", "label": "a", "raw": first},
            {"id": "b", "label": "b", "raw": "Say {{q}}"},
        ]
        Path("promptfooconfig.json").write_text(json.dumps(config))

    Path("offline.jsonl").write_text('{"reply": "yes, sir"}\n')
    prompts("Answer {{q}}")
    run("run", "--offline", "--no-progress")
    run("baseline", "--to", "b.evn")
    run("runs", "cassette", "latest", "--to", "c.cassette")
    prompts("Answer this: {{q}}")
    text = run(*GATE[:-1], code=5)
    assert "1 of 2 results could not be compared with the baseline" in text
    assert ": nothing could be compared" not in text
    assert "the first error, of case " in text
    assert "not-recorded: cassette c.cassette has no such request" in text
    assert "Record it again" in text
    (note,) = [n for n in json.loads(run(*GATE, code=5))["notes"] if "first error" in n]
    assert "c.cassette has no such request" in note

"""promptfoo's assertions on traces look at the steps that the run saw, where no trace was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.core.step import Step

PROVIDER = """
from evenhand.doors import recording


@recording.tool
def find_order(id: int) -> dict:
    return {"id": id}


@recording.tool
def refund(id: int) -> dict:
    raise ValueError("not allowed")


def call_api(prompt, options, context):
    find_order(7)
    try:
        refund(id=7)
    except ValueError:
        pass
    return {"output": "Done."}
"""
CONFIG = """
prompts: ["Refund order {{id}}"]
providers: [file://agent.py]
tests:
  - vars: {id: 7}
    assert:
      - {type: trajectory:tool-used, value: [find_order, refund]}
      - {type: not-trajectory:tool-used, value: delete}
      - {type: trajectory:tool-sequence, value: {mode: exact, steps: [find_order, refund]}}
      - {type: trajectory:tool-args-match, value: {name: refund, args: {id: 7}}}
      - {type: trajectory:step-count, value: {type: tool, max: 2}}
      - {type: trace-span-count, value: {pattern: "re*", min: 1, max: 1}}
      - {type: trace-error-spans, value: 1}
      - {type: trace-span-duration, value: {pattern: find_order, max: 60000}}
"""


def test_a_config_checks_what_a_python_provider_did_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Its recorded tools are the steps; the one that failed counts as a failed span."""
    (tmp_path / "agent.py").write_text(PROVIDER)
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["run", "promptfooconfig.yaml", "--no-progress", "--no-cache"])
    assert ended.value.code == 0, capsys.readouterr()
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["show", "latest", "1"])
    shown = capsys.readouterr().out
    assert "agent file://agent.py" in shown
    assert "tool refund" in shown
    assert "✗ ValueError: not allowed" in shown


async def test_a_single_call_of_a_model_is_no_trace(settled: Any):
    """It says no more than the output does: without a trace there is an error, as ever."""
    outcome = await settled("trace-span-count", {"pattern": "*"})
    assert outcome.outcome == "error"
    assert "needs a trace" in outcome.reason


def test_a_step_is_told_as_a_span():
    """With times in milliseconds, and its failure."""
    from evenhand.doors.assertions.spans import span_of

    span = span_of(Step("tool", "refund", {"id": 7}, None, "error", "gone", 0.5, 0.25))
    assert (span.start, span.end, span.failed) == (500.0, 750.0, True)
    assert span.attributes == {"tool.name": "refund", "tool.arguments": {"id": 7}}

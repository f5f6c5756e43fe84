"""The guide's example of one answer: it runs, and prints what the page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evenhand.testing import Scripted

PAGE = Path(__file__).resolve().parents[4] / "docs" / "rag.md"
CLAIMS = {
    "refusal": False,
    "sentences": [
        {"id": i, "statements": [{"statement": text, "claim": True, "topic": "on"}]}
        for i, text in enumerate(["The refund takes 30 days.", "It is free."], 1)
    ],
}
FOUND = {"passage": 1, "quote": "refunds within 30 days"}
VERDICTS = {
    "verdicts": [
        {"id": 1, "reasoning": "by its words", "verdict": "supported", "evidence": [FOUND]},
        {"id": 2, "reasoning": "by its words", "verdict": "not_found", "evidence": []},
    ]
}


def test_the_example_of_one_answer_prints_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """With a scripted judge in place of the vendor's; only what the calls cost may differ."""
    section = PAGE.read_text("utf-8").partition("## One answer")[2]
    code, shown = re.findall(r"^```(?:py|text)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[:2]
    before, judge, after = code.partition('"anthropic:claude-sonnet-4-5"')
    assert judge
    monkeypatch.chdir(tmp_path)
    scripted = Scripted((json.dumps(CLAIMS), json.dumps(VERDICTS)))
    exec(compile(f"{before}judge{after}", "rag.md", "exec"), {"judge": scripted})
    assert without_usage(capsys.readouterr().out) == without_usage(shown)


def without_usage(text: str) -> list[str]:
    """The lines, the last without its calls, tokens and cost."""
    return [line.partition(" · ")[0].rstrip() for line in text.splitlines()]

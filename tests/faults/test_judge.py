"""Judges that talk around, contradict themselves or answer in numbers that are none: a verdict or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

REPLIES = {
    "prose": (
        'I think so. {"reason": "fine", "pass": true, "score": 0.9} That is all.',
        "pass",
        0.9,
    ),
    "fenced": ('```json\n{"reason": "no", "pass": false, "score": 0.1}\n```', "fail", 0.1),
    "two objects": (
        '{"pass": true, "score": 1} or rather {"pass": false, "score": 0}',
        "error",
        None,
    ),
    "trailing comma": ('{"reason": "ok", "pass": true, "score": 1,}', "pass", 1.0),
    "NaN": ('{"reason": "?", "pass": true, "score": NaN}', "error", None),
    "8/10": ('{"reason": "good", "pass": true, "score": "8/10"}', "error", None),
    "out of range": ('{"reason": "great", "pass": true, "score": 7}', "error", None),
    "empty": ("", "error", None),
    "no verdict": ("{}", "error", None),
    "words": ("It is very good.", "error", None),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_judge_reply_is_a_verdict_or_an_error_and_never_a_wrong_score(
    name: str, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """The judge says the same both times it is asked."""
    said, outcome, score = REPLIES[name]
    fake = serve(Script([Rule(model="judge", reply=said)]))
    evals = folder(fake)
    config = {
        "prompts": ["Say something"],
        "providers": ["openai:chat:subject"],
        "tests": [
            {
                "assert": [
                    {"type": "llm-rubric", "value": "is good", "provider": "openai:chat:judge"}
                ]
            }
        ],
    }
    (evals.path / "promptfooconfig.json").write_text(json.dumps(config))
    ended = evals.run("run", "--no-progress", "--no-cache")
    trial = evals.document()["trials"][0]
    assert trial["outcome"] == outcome, trial
    assert trial["outcomes"][0]["score"] == score
    assert ended.returncode == {"pass": 0, "fail": 1, "error": 3}[outcome]
    asked = [seen for seen in fake.requests if seen.model == "judge"]
    assert len(asked) == (2 if outcome == "error" else 1)

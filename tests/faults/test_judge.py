"""Judges that talk around, contradict themselves or answer in numbers that are none: a verdict or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.faults.conftest import Folder

from evenhand.testing import FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
REPLIES: dict[str, tuple[str, str, float | None]] = {
    "prose": ('I think so. {"reason": "fine", "pass": true, "score": 0.9}', "pass", 0.9),
    "disowned": ('It says {"pass": true, "score": 1}, which I will not rate.', "error", None),
    "fenced": ('```json\n{"reason": "no", "pass": false, "score": 0.1}\n```', "fail", 0.1),
    "thought": ('<think>no</think>{"pass": false, "score": 0}', "fail", 0.0),
    "thought twice": (
        '<think>{"pass": true, "score": 1} is the form</think>{"pass": false, "score": 0}',
        "fail",
        0.0,
    ),
    "thought alone": ('<think>{"pass": true, "score": 1}</think> I refuse.', "error", None),
    "thought without end": ('<think>{"pass": true, "score": 1}', "error", None),
    "two objects": ('{"pass": true, "score": 1} or {"pass": false, "score": 0}', "error", None),
    "the same twice": ('{"pass": true, "score": 1} so {"pass": true, "score": 1}', "pass", 1.0),
    "two scores": ('{"pass": true, "score": 1, "score": 0}', "error", None),
    "trailing comma": ('{"reason": "ok", "pass": true, "score": 1,}', "pass", 1.0),
    "single quotes": ("{'reason': 'ok', 'pass': true, 'score': 1}", "pass", 1.0),
    "NaN": ('{"reason": "?", "pass": true, "score": NaN}', "error", None),
    "infinite": ('{"pass": true, "score": 1e999}', "error", None),
    "8/10": ('{"reason": "good", "pass": true, "score": "8/10"}', "error", None),
    "out of range": ('{"reason": "great", "pass": true, "score": 7}', "error", None),
    "below range": ('{"pass": false, "score": -1}', "error", None),
    "score in words": ('{"pass": true, "score": "high"}', "error", None),
    "list": ('{"pass": true, "score": [1]}', "error", None),
    "empty": ("", "error", None),
    "no verdict": ("{}", "error", None),
    "words": ("It is very good.", "error", None),
    "half": ('{"reason": "It is', "error", None),
}


def judged(name: str) -> dict[str, Any]:
    """A test whose judge is asked about this."""
    rubric = {"type": "llm-rubric", "value": f"case <{name}>", "provider": "openai:chat:judge"}
    return {"vars": {"n": name}, "assert": [rubric]}


def test_a_judge_reply_is_a_verdict_or_an_error_and_never_a_wrong_score(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """The judge says the same both times it is asked; whoever judged well is asked once."""
    rules = [Rule((f"case <{name}>",), reply, "judge") for name, (reply, _, _) in REPLIES.items()]
    fake = serve(Script(rules))
    evals = folder(fake)
    evals.write(0, tests=[judged(name) for name in REPLIES])
    ended = evals.run("run", *QUIET, "--json")
    trials = json.loads(ended.stdout)["trials"]
    found = {
        name: (trial["outcome"], trial["outcomes"][0]["score"])
        for name, trial in zip(REPLIES, trials, strict=True)
    }
    assert found == {name: (outcome, score) for name, (_, outcome, score) in REPLIES.items()}
    assert ended.returncode == 1
    errors = [outcome for _, outcome, _ in REPLIES.values()].count("error")
    asked = [seen for seen in fake.requests if seen.model == "judge"]
    assert len(asked) == len(REPLIES) + errors


def test_a_judge_that_cannot_be_asked_is_an_error_and_resume_asks_it_alone(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Neither passed nor failed: exit 3. What was judged without it is never paid for again."""
    rules = [
        Rule(("case <a>",), model="judge", fault="400", times=1),
        Rule((), {"pass": True, "score": 1}, "judge"),
    ]
    fake = serve(Script(rules))
    evals = folder(fake)
    evals.write(0, tests=[judged("a"), judged("b")])
    ended = evals.run("run", *QUIET, "-j", "1")
    assert ended.returncode == 3, ended.stdout
    totals = evals.document()["totals"]
    assert (totals["passed"], totals["failed"], totals["errors"]) == (1, 0, 1)
    before = len(fake.requests)
    assert evals.run("resume", *QUIET).returncode == 0
    assert [seen.model for seen in fake.requests[before:]] == ["judge"]
    assert (fake.ledger.total, fake.ledger.repeated) == (4, 0)

"""Judges that are asked about made answers, in a run of the audit's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.unit.wings.audit.audits import case, check, config, evals

from evenhand.engine.door import Settings, run
from evenhand.wings.audit.commands.audit_request import AuditRequest
from evenhand.wings.audit.report import AuditReport

STRICT = {"model": "gpt-5", "reply": {"reason": "No days.", "pass": False, "score": 0}}
FOOLED = {
    "match": ["within thirty days"],
    "model": "gpt-5",
    "reply": {"reason": "It says how long.", "pass": True, "score": 1},
}
EVALS = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Passes

evals = EvalSet(
    "shop",
    data=[{"id": "a", "input": "How long?", "expected": "You may return it within thirty days."}],
    model="openai:chat:gpt-5-mini",
    judge="openai:chat:gpt-5",
)


@evals.eval
async def answers(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(case.input)
    shout = reply.text.upper()
    expect(shout, Passes("Says how long"))
    return shout
"""


def judged(path: Path, folder: Path, rules: Sequence[object]) -> AuditReport:
    """The audit of a path, whose judges answer by rules."""
    (folder / "offline.jsonl").write_text("\n".join(map(json.dumps, rules)), "utf-8")
    request = AuditRequest.of((str(path),), None, (), offline=True)
    with request.ready(judges=True):
        finished = run(request.plan(), Settings(home=folder / "home", record=request.record()))
        return request.report(finished.path)


def test_a_judge_is_asked_about_each_made_answer_and_the_reference(tmp_path: Path):
    """One that passes what says how long, and nothing else, kills all that is wrong."""
    sentence = {"expected": "You may return it within thirty days."}
    rubric = check("llm-rubric", "Says how long", provider="openai:chat:gpt-5")
    folder = config(tmp_path, [case("How long?", rubric, vars=sentence)])
    report = judged(folder, folder, [FOOLED, STRICT])
    states = {one.subject.kind: one.state for one in report.audits[0].attempts}
    assert (states["reference"], states["refusal"], states["echo"]) == ("pass", "fail", "fail")
    assert "unasked" not in states.values()


def test_a_body_that_makes_something_of_an_answer_is_run_again_for_its_judge(tmp_path: Path):
    """The judge sees what the body makes of the made answer, not the answer itself."""
    loud = {**FOOLED, "match": ["WITHIN THIRTY DAYS"]}
    passed = {"reasoning": "It says how long.", "passes": True, "confidence": 1}
    failed = {"reasoning": "No days.", "passes": False, "confidence": 1}
    rules = [{**loud, "reply": passed}, {**STRICT, "reply": failed}]
    report = judged(evals(tmp_path, EVALS), tmp_path, rules)
    states = {one.subject.kind: one.state for one in report.audits[0].attempts}
    assert (states["reference"], states["refusal"]) == ("pass", "fail")

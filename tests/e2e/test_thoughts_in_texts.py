"""Thoughts in the text of an answer: every text scorer gives the verdict that it gives on the answer alone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.unit.core.test_thoughts import FORMS, THOUGHT

from evenhand import EvalSet, run, score
from evenhand import scorers as s
from evenhand.cli import main
from evenhand.doors import recording
from evenhand.providers.catalog import create
from evenhand.render.run import Run
from evenhand.testing import FakeProvider, Rule, Script

CUT = f"<think>{THOUGHT}"
NAMES = ["alone", *FORMS]
TEXTS = {"alone": "42", **FORMS}
JUDGE = "openai:chat:judge-x"


def scorers() -> list[tuple[Any, dict[str, float]]]:
    """Those that look at a text, right and wrong about 42, and a judge; each with its bound."""
    return [
        (s.Equals("42"), {}),
        (s.Equals("7"), {}),
        (s.Contains("42"), {}),
        (s.Contains("7"), {}),
        (s.ContainsAny(["six", "seven"]), {}),
        (s.ContainsAll(["42"]), {}),
        (s.StartsWith("42"), {}),
        (s.Matches(r"^42$"), {}),
        (s.Matches("7"), {}),
        (s.IsJson(), {}),
        (s.ContainsJson(), {}),
        (s.ExactMatch("42"), {"at_least": 1}),
        (s.TokenF1("42"), {"at_least": 1}),
        (s.TokenF1("six seven"), {"at_least": 0.1}),
        (s.EditDistance("42"), {"at_most": 0}),
        (s.BLEU("42"), {"at_least": 0.5}),
        (s.ROUGE("42"), {"at_least": 1}),
        (s.chrF("42"), {"at_least": 0.9}),
        (s.METEOR("42"), {"at_least": 0.1}),
        (s.Passes("is a number", judge=JUDGE), {}),
    ]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A subject for each form, and a judge that passes what holds no thought."""

    def judged(said: str) -> str:
        passes = "six times seven" not in said and "42" in said
        verdict = {"reasoning": "x", "passes": passes, "pass": passes, "verdict": passes}
        return json.dumps({**verdict, "score": 1, "reason": "x", "confidence": 0.9})

    rules = [Rule(model="judge-x", reply=judged)]
    rules += [Rule((f"form {re.escape(name)}!",), text) for name, text in TEXTS.items()]
    rules += [Rule(("form cut!",), CUT, finish_reason="length")]
    with FakeProvider(Script(rules)) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def settle(tmp_path: Path, fake: FakeProvider) -> Iterator[Callable[..., Run]]:
    """Runs sets in a folder of the test's own."""
    results: list[Run] = []

    def go(evals: EvalSet, **more: Any) -> Run:
        results.append(run(evals, home=tmp_path / "home", progress=False, **more))
        return results[-1]

    yield go
    for each in results:
        each.close()


def cases(*names: str) -> list[dict[str, str]]:
    """A case for each form."""
    return [{"id": name, "input": f"form {name}!"} for name in names]


def verdicts(result: Run) -> dict[str, list[str]]:
    """Each case's outcomes."""
    return {t.case: [o.outcome for o in t.outcomes] for t in result.trials()}


def check_alike(result: Run) -> None:
    """Every form has the verdicts of 42 alone, and the report says how many were scored without their thoughts."""
    outcomes = verdicts(result)
    assert outcomes["alone"].count("pass") >= 8
    assert outcomes["alone"].count("fail") >= 4
    assert "error" not in outcomes["alone"]
    assert {name: got for name, got in outcomes.items() if got != outcomes["alone"]} == {}
    assert result.without_thoughts() == [len(outcomes) - 1]
    assert (
        f"the answers of {len(outcomes) - 1} of {len(outcomes)} trials were scored without the thoughts"
        in str(result)
    )


def test_a_live_models_thoughts_are_not_scored(settle: Callable[..., Run]):
    """Nor are they in the reply that an eval is given, or shown to judges; the journal keeps all of the text."""
    evals = EvalSet("live", data=cases(*NAMES), model="openai:chat:m", judge=JUDGE)

    @evals.eval
    async def answers(case: Any, model: Any, expect: Any) -> str:
        reply = await model.generate(case.input)
        assert (reply.text, reply.output) == ("42", "42")
        for scorer, bound in scorers():
            expect(reply.text, scorer, **bound)
        return reply.text

    result = settle(evals)
    check_alike(result)
    bodies = [json.loads(c.end.body) for c in result.calls() if c.end and c.start.role == "subject"]
    whole = {body["choices"][0]["message"]["content"] for body in bodies}
    assert whole == set(TEXTS.values())


def test_a_recorded_applications_thoughts_are_not_scored(settle: Callable[..., Run]):
    """It gets them, byte for byte, and may return them; what is scored is the answer."""
    client = openai.AsyncOpenAI(http_client=recording.async_http_client())
    evals = EvalSet("application", data=cases(*NAMES), judge=JUDGE)

    @evals.eval
    async def answers(case: Any, expect: Any) -> str:
        asked: Any = [{"role": "user", "content": case.input}]
        reply = await client.chat.completions.create(model="m", messages=asked)
        text = reply.choices[0].message.content or ""
        assert text == TEXTS[case.id]
        for scorer, bound in scorers():
            expect(text, scorer, **bound)
        return text

    check_alike(settle(evals))


def test_texts_from_elsewhere_are_scored_without_thoughts(settle: Callable[..., Run]):
    """A function's, a file's: whatever an eval hands to a scorer."""
    evals = EvalSet("texts", data=cases(*NAMES), judge=JUDGE)

    @evals.eval
    async def answers(case: Any, expect: Any) -> str:
        for scorer, bound in scorers():
            expect(TEXTS[case.id], scorer, **bound)
        return TEXTS[case.id]

    result = settle(evals)
    check_alike(result)
    assert {t.case: t.output for t in result.trials()} == TEXTS


def test_one_score_is_of_the_answer_too(fake: FakeProvider):
    """Outside of a run."""
    for text in TEXTS.values():
        result = score(answer=text, metrics=[s.Equals("42"), s.Contains("7")])
        assert [measure.outcome for measure in result.measures] == ["pass", "fail"], text


def test_a_thought_that_was_cut_off_is_an_error_and_not_asked_again(
    settle: Callable[..., Run], fake: FakeProvider
):
    """From a live model, an application and a text: never a verdict."""
    client = openai.AsyncOpenAI(http_client=recording.async_http_client())
    evals = EvalSet("cut", data=cases("cut"), model="openai:chat:m")

    @evals.eval
    async def live(case: Any, model: Any, expect: Any) -> None:
        reply = await model.generate(case.input)
        expect("zzz" not in reply.text, "is fine")

    @evals.eval
    async def application(case: Any, expect: Any) -> None:
        asked: Any = [{"role": "user", "content": f"I ask: {case.input}"}]
        reply = await client.chat.completions.create(model="m", messages=asked)
        expect("zzz" not in (reply.choices[0].message.content or ""), "is fine")

    @evals.eval
    async def text(expect: Any) -> None:
        expect(CUT, s.Contains("zzz"))

    result = settle(evals)
    assert [t.outcome for t in result.trials()] == ["error"] * 3
    assert all("thought" in t.error.message for t in result.trials() if t.error)
    assert len(fake.requests) == 2


@pytest.mark.parametrize("where", ["the set", "the model"])
def test_thoughts_are_a_part_of_the_answer_where_that_is_said(
    where: str, settle: Callable[..., Run]
):
    """With the one setting."""
    config = {"showThinking": True} if where == "the model" else {}
    model = create("openai:chat:m", config=config, env=os.environ, base=Path())
    evals = EvalSet("whole", data=cases("think"), model=model, show_thinking=where == "the set")

    @evals.eval
    async def answers(case: Any, model: Any, expect: Any) -> str:
        reply = await model.generate(case.input)
        expect(reply.text, s.Contains("seven"))
        return reply.text

    result = settle(evals)
    (trial,) = result.trials()
    assert (trial.outcome, trial.output) == ("pass", FORMS["think"])
    assert result.without_thoughts() == [0]


def test_a_structured_answer_is_what_stands_after_the_thoughts(
    settle: Callable[..., Run], fake: FakeProvider
):
    """Its JSON is read without them."""
    fake.script = Script([Rule((), f'<think>{{"a": 7}}? {THOUGHT}</think>\n{{"a": 42}}')])
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    model = create("openai:chat:m", config={"response_format": form}, env=os.environ, base=Path())
    evals = EvalSet("structured", model=model)

    @evals.eval
    async def answers(model: Any, expect: Any) -> None:
        reply = await model.generate("a?")
        expect(reply.output == {"a": 42}, "is read")
        expect(reply.text, s.IsJson())

    (trial,) = settle(evals).trials()
    assert trial.outcome == "pass", trial


@pytest.mark.parametrize("shows", [None, True, False])
def test_promptfoo_folders_look_at_thoughts_unless_told_otherwise(
    shows: bool | None,
    tmp_path: Path,
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """As promptfoo does; `showThinking: false` scores the answer alone, from whatever provider."""
    setting = {} if shows is None else {"showThinking": shows}
    (tmp_path / "p.py").write_text(
        f"def call_api(*_):\n    return {{'output': {FORMS['think']!r}}}\n"
    )
    config = {
        "prompts": ["form think!"],
        "providers": [
            {"id": "openai:chat:m", "config": setting},
            {"id": "python:p.py", "config": setting},
        ],
        "tests": [{"assert": [{"type": "equals", "value": "42"}]}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["run", "--no-progress", "--json", "--no-cache"])
    document = json.loads(capsys.readouterr().out)
    outcome = "pass" if shows is False else "fail"
    assert [trial["outcome"] for trial in document["trials"]] == [outcome] * 2


def test_an_imported_outputs_thoughts_are_not_scored(
    tmp_path: Path,
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Graded anew, with what an eval set expects; what was imported stays whole."""

    def told(*command: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main([*command])
        return capsys.readouterr().out

    results = [
        {
            "vars": {"form": name},
            "prompt": {"raw": name, "label": "p"},
            "provider": {"id": "openai:chat:m"},
            "response": {"output": text},
            "testCase": {"vars": {"form": name}, "metadata": {"id": name}},
            "promptIdx": 0,
            "testIdx": number,
            "success": True,
            "score": 1,
            "gradingResult": {"pass": True, "score": 1, "reason": "", "componentResults": []},
        }
        for number, (name, text) in enumerate(TEXTS.items())
    ]
    prompts = [{"raw": "p", "label": "p", "provider": "openai:chat:m", "metrics": {}}]
    imported = {"version": 3, "prompts": prompts, "results": results}
    (tmp_path / "out.json").write_text(json.dumps({"evalId": "e", "results": imported}))
    monkeypatch.chdir(tmp_path)
    told("import", "out.json")
    trials = json.loads(told("show", "latest", "--json"))["trials"]
    assert [trial["output"] for trial in trials] == list(TEXTS.values())
    ids = [trial["case"] for trial in trials]
    (tmp_path / "form_evals.py").write_text(
        "from evenhand import EvalSet\nfrom evenhand.scorers import Equals, Contains\n"
        f"data = [{{'id': n, 'input': n}} for n in {ids!r}]\n"
        "evals = EvalSet('forms', data=data, model='openai:chat:m')\n\n\n"
        "@evals.eval\nasync def answers(case, model, expect):\n"
        "    reply = await model.generate(case.input)\n"
        "    expect(reply.text == '42', 'is 42')\n"
        "    expect(reply.output, Equals('42'))\n"
        "    expect(reply.text, Contains('six'))\n"
    )
    told("regrade", "latest", "--with", "form_evals.py", "--no-progress")
    trials = json.loads(told("show", "latest", "--json"))["trials"]
    outcomes = {t["case"]: [o["outcome"] for o in t["outcomes"]] for t in trials}
    assert outcomes == {key: ["pass", "pass", "fail"] for key in ids}
    assert not fake.requests

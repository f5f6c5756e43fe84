"""`evenhand regrade`: judges are asked about outputs that are there, and nobody else is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

CONFIG = """\
prompts: ["Answer: {{q}}", "Kindly answer: {{q}}"]
providers: [openai:chat:gpt-x]
defaultTest:
  options: {provider: openai:chat:judge-x}
  assert: [{type: contains, value: Answer}]
tests:
  - {vars: {q: one}}
  - {vars: {q: two}}
"""
SET = """
import openai
from evenhand import Case, EvalSet, Expect
from evenhand.doors import recording
from evenhand.scorers import Contains, Passes

client = openai.OpenAI(http_client=recording.http_client())
shop = EvalSet("shop", data=[{"id": f"c{i}"} for i in range(3)], judge="openai:chat:judge-x")


@recording.tool
def stock(goods: str) -> dict:
    stock.calls = getattr(stock, "calls", 0) + 1
    return {"left": stock.calls}


@shop.eval
def answers(case: Case, expect: Expect) -> str:
    said = []
    for text in ("PROMPT", "and then"):
        ask = [{"role": "user", "content": f"{text} {case.id} {stock(case.id)}"}]
        answer = client.chat.completions.create(model="gpt-x", messages=ask)
        said.append(answer.choices[0].message.content)
    EXPECT
    return " ".join(said)
"""
Call = Callable[..., dict[str, Any]]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A subject that never says the same twice, and a judge that passes all."""
    number = iter(range(100_000))
    verdict = {"pass": True, "score": 1, "reason": "kind", "reasoning": "kind", "passes": True}
    rules = [
        Rule(model="judge-x", reply={**verdict, "confidence": 0.9, "verdict": "pass"}),
        Rule(reply=lambda said: f"{next(number)} {said}"),
    ]
    with FakeProvider(Script(rules)) as provider:
        for name, value in provider.env().items():
            monkeypatch.setenv(name, value)
        yield provider


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Calls the command line in the test's folder, and reads what it printed."""
    monkeypatch.chdir(tmp_path)

    def go(*words: str, code: int = 0) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--json", *([] if words[0] == "import" else ["--no-progress"])])
        printed = capsys.readouterr()
        assert ended.value.code == code, printed
        return json.loads(printed.out) if printed.out else {"error": printed.err}

    return go


def models(fake: FakeProvider) -> list[str]:
    """Whom the ledger says was asked."""
    return [request.model for request in fake.requests]


def outputs(document: dict[str, Any]) -> list[Any]:
    """What its trials came to."""
    return [trial["output"] for trial in document["trials"]]


def test_todays_judges_grade_yesterdays_outputs_although_the_prompts_have_changed(
    fake: FakeProvider, call: Call, tmp_path: Path
):
    """A run of its own, compared with the old one; only the judge is asked, a new case is left out."""
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(CONFIG)
    first = call("run", ".", "--no-cache", code=1)
    asked = len(fake.requests)
    rubric = "[{type: contains, value: Kindly}, {type: llm-rubric, value: is kind}]"
    text = CONFIG.replace("[{type: contains, value: Answer}]", rubric)
    file.write_text(
        text.replace("Kindly answer", "Very kindly answer") + "  - {vars: {q: three}}\n"
    )
    graded = call("regrade", first["run"]["id"], "--with", ".", code=1)
    assert graded["schema"] == "evenhand.regrade/1"
    assert outputs(graded["run"]) == outputs(first)
    assert models(fake)[asked:] == ["judge-x"] * 4
    assert graded["run"]["run"]["id"] != first["run"]["id"]
    assert graded["run"]["run"]["replay"]["regrades"] is True
    passed = [trial["outcome"] for trial in graded["run"]["trials"]]
    assert passed == ["fail", "pass", "fail", "pass"]
    (result, *_) = graded["comparison"]["results"]
    assert (result["metric"], result["n"]) == ("passed", 2)


def test_an_application_with_its_own_client_and_tools_is_graded_again(
    fake: FakeProvider, call: Call, tmp_path: Path
):
    """By the order of its calls, as its prompts have changed; its tools don't run."""
    first_code = SET.replace("PROMPT", "first").replace(
        "EXPECT", "expect(said[0], Contains('first'))"
    )
    (tmp_path / "a_evals.py").write_text(first_code)
    first = call("run", "a_evals.py", "--no-cache", "-j", "1")
    asked = len(fake.requests)
    new = SET.replace("PROMPT", "FIRST").replace("EXPECT", "expect(said[1], Passes('is kind'))")
    (tmp_path / "b_evals.py").write_text(new)
    graded = call("regrade", "latest", "--with", "b_evals.py")
    assert outputs(graded["run"]) == outputs(first)
    assert set(models(fake)[asked:]) == {"judge-x"}
    assert len(models(fake)) == asked + 3
    refused = call("regrade", "nothing", "--with", "b_evals.py", code=2)["error"]
    assert "there is no run 'nothing'" in refused


GRADED = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains, Passes

shop = EvalSet("shop", data=[{"id": "one", "input": "one"}], model="MODEL", judge="openai:chat:judge-x")


@shop.eval
async def answers(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(f"TEXT {case.input}")
    expect(reply.text, SCORER)
    return reply.text
"""
PROMPTFOO = """
prompts: ["TEXT {{q}}"]
providers: [PROVIDER]
defaultTest: {options: {provider: openai:chat:judge-x}}
tests: [{vars: {q: one}, assert: [ASSERT]}]
"""
OTHERS = (
    "openai:chat:gpt-x", "openai:responses:gpt-x", "anthropic:messages:claude-x", "google:gemini-x",
    "mistral:mistral-x", "groq:llama-x", "deepseek:deepseek-chat", "vertex:gemini-x", "azure:chat:x",
)  # fmt: skip


def without_keys(monkeypatch: pytest.MonkeyPatch, fake: FakeProvider) -> None:
    """The environment of somebody who only grades: no key, and the vendors at their own addresses."""
    for name in fake.env():
        monkeypatch.delenv(name)


def test_nobody_but_a_judge_needs_a_key(
    fake: FakeProvider, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever model the evals name, by whichever front door, and although it isn't the recorded one."""
    file, config = tmp_path / "a_evals.py", tmp_path / "promptfooconfig.yaml"
    contains = GRADED.replace("SCORER", "Contains('one')").replace("TEXT", "Say")
    file.write_text(contains.replace("MODEL", "openai:chat:gpt-x"))
    by_set = call("run", "a_evals.py", "--no-cache")["run"]["id"]
    yaml = PROMPTFOO.replace("TEXT", "Say").replace("ASSERT", "{type: contains, value: one}")
    config.write_text(yaml.replace("PROVIDER", "openai:chat:gpt-x"))
    by_config = call("run", "promptfooconfig.yaml", "--no-cache")["run"]["id"]
    without_keys(monkeypatch, fake)
    asked = len(fake.requests)
    for model in OTHERS:
        file.write_text(contains.replace("MODEL", model).replace("Say", "Tell me"))
        graded = call("regrade", by_set, "--with", "a_evals.py")
        assert graded["run"]["totals"]["passed"] == 1, model
    own = "{id: openai:chat:gpt-x, config: {apiKeyEnvar: MY_OWN_KEY}}"
    for provider in ("openai:chat:gpt-x", "groq:llama-x", "deepseek:deepseek-chat", own):
        config.write_text(yaml.replace("PROVIDER", provider).replace("Say", "Tell me"))
        graded = call("regrade", by_config, "--with", "promptfooconfig.yaml")
        assert graded["run"]["totals"]["passed"] == 1, provider
    assert len(fake.requests) == asked


def test_a_judge_without_a_key_is_named_before_anything_is_sent(
    fake: FakeProvider, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also where the models under evaluation are of the same vendor."""
    file, config = tmp_path / "a_evals.py", tmp_path / "promptfooconfig.yaml"
    code = GRADED.replace("MODEL", "openai:chat:gpt-x").replace("TEXT", "Say")
    yaml = PROMPTFOO.replace("PROVIDER", "openai:chat:gpt-x").replace("TEXT", "Say")
    file.write_text(code.replace("SCORER", "Contains('one')"))
    config.write_text(yaml.replace("ASSERT", "{type: contains, value: one}"))
    runs = {path.name: call("run", path.name, "--no-cache")["run"]["id"] for path in (file, config)}
    without_keys(monkeypatch, fake)
    file.write_text(code.replace("SCORER", "Passes('is kind')"))
    config.write_text(yaml.replace("ASSERT", "{type: llm-rubric, value: is kind}"))
    for path, run in runs.items():
        refused = call("regrade", run, "--with", path, code=2)["error"]
        assert "there is no API key for openai:chat:judge-x" in refused
        assert "OPENAI_API_KEY" in refused


PLAIN = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Contains

shop = EvalSet("shop", data=[{"id": f"c{i}", "input": f"text {i}"} for i in range(4)])


def reply(text: str) -> str:
    return REPLY


@shop.eval
def answers(case: Case, expect: Expect):
    output = reply(case.input)
    expect(output, Contains("WANTED"))
    RETURN


@shop.eval
def asks(case: Case, expect: Expect):
    expect(case.input, Contains("text"))
    return case.input
"""


def plain(reply: str, wanted: str, returns: str = "return output") -> str:
    """Evals of an application that is plain code: no call of a model can be recorded."""
    return PLAIN.replace("REPLY", reply).replace("WANTED", wanted).replace("RETURN", returns)


def fresh(folder: Path, *words: str) -> str:
    """What a command prints in a process of its own, which imports the code as it is now."""
    command = [sys.executable, "-m", "evenhand", *words]
    command += [] if words[0] in ("export", "show") else ["--no-progress"]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode in (0, 1, 3), ended.stderr
    return ended.stdout


def regraded(folder: Path, first: str, now: str) -> tuple[dict[str, Any], str]:
    """What comes of the outputs of plain code once it was edited: the comparison in JSON, and as text."""
    file = folder / "a_evals.py"
    file.write_text(first)
    run = json.loads(fresh(folder, "run", "a_evals.py", "--json"))["run"]["id"]
    file.write_text(now)
    command = ("regrade", run, "--with", "a_evals.py")
    return json.loads(fresh(folder, *command, "--json"))["comparison"], fresh(folder, *command)


def test_outputs_that_changed_code_makes_are_told_and_are_no_difference_of_the_judging(
    tmp_path: Path,
):
    """Named, counted and left out; those of another eval stay."""
    comparison, text = regraded(
        tmp_path,
        plain("'Hello ' + text", "Hello"),
        plain("('Hi ' if text[-1] in '13' else 'Hello ') + text", "text 1"),
    )
    assert comparison["outputs"] == {
        "same": 6, "others": 2, "unknown": 0, "cases": ["c1", "c3"],
        "code": ["eval shop: answers"],
    }  # fmt: skip
    passed = {o["columns"][0]: o for o in comparison["results"] if o["metric"] == "passed"}
    assert passed["answers"]["left_out"]["unlike"] == {"with another output": ["c1", "c3"]}
    assert [one["case"] for one in passed["answers"]["changed"]] == ["c0", "c2"]
    assert (passed["asks"]["n"], passed["asks"]["left_out"]["unlike"]) == (4, {})
    assert "2 of 8 outputs differ\n" in text
    assert "c1, c3. The application's code changed: eval shop: answers" in text
    assert "the same outputs" not in text


def test_a_regraded_run_that_is_regraded_still_has_the_same_outputs(tmp_path: Path):
    """However often: nothing is concluded from a difference, and the title says why."""
    file = tmp_path / "a_evals.py"
    file.write_text(plain("text", "text 1"))
    fresh(tmp_path, "run", "a_evals.py")
    first = json.loads(fresh(tmp_path, "show", "--json"))["run"]["id"]
    for place in range(3):
        text = fresh(tmp_path, "regrade", "latest", "--with", "a_evals.py")
        assert ", the same outputs\n" in text
        assert "the outputs are the same ones" in text
        assert "p = " not in text
        replay = json.loads(fresh(tmp_path, "show", "--json"))["run"]["replay"]
        assert replay["first"] == (first if place else ""), "whose outputs a regraded run has"


def test_stored_outputs_without_calls_are_regraded_as_often_as_one_likes(
    fake: FakeProvider, call: Call, tmp_path: Path
):
    """The judge's calls of the first regrading are no calls of the model under evaluation."""
    rubric = "[{type: llm-rubric, value: is kind}]"
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(CONFIG.replace("[{type: contains, value: Answer}]", rubric))
    first = call("run", ".")
    fresh(tmp_path, "export", first["run"]["id"], "--to", "results.json")
    for part in (tmp_path / ".evenhand" / "runs").iterdir():
        part.unlink()
    call("import", "results.json")
    for _ in range(2):
        before = len(fake.requests)
        graded = call("regrade", "latest", "--with", ".", "--no-cache")
        assert outputs(graded["run"]) == outputs(first)
        assert models(fake)[before:] == ["judge-x"] * 4


def test_a_run_of_other_cases_is_named_and_no_option_that_nobody_gave(
    fake: FakeProvider, call: Call, tmp_path: Path
):
    """Of a promptfoo file and of an eval set."""
    for folder, word in (("a", "one"), ("b", "zz")):
        (tmp_path / folder).mkdir()
        text = CONFIG.replace("{q: one}", f"{{q: {word}}}").replace("  - {vars: {q: two}}\n", "")
        (tmp_path / folder / "promptfooconfig.yaml").write_text(text)
    (tmp_path / "c_evals.py").write_text(plain("text", "text"))
    call("run", "a", code=1)
    for path in ("b", "c_evals.py"):
        said = call("regrade", "latest", "--with", path, code=5)["error"]
        assert f"has none of the cases of {path}" in said
        assert "--filter-failing" not in said
        assert "election" not in said


@pytest.mark.parametrize(
    ("returns", "title"),
    [("return output", "the same outputs"), ("pass", "some outputs not recorded")],
)
def test_outputs_are_the_same_ones_only_where_both_runs_have_them(
    tmp_path: Path, returns: str, title: str
):
    """An eval that returns nothing has no output that could be looked at."""
    now = plain("text", "text 1", returns)
    comparison, text = regraded(tmp_path, plain("text", "text", returns), now)
    assert f", {title}\n" in text
    assert ("the outputs are the same ones" in text) is (returns == "return output")
    assert (comparison["outputs"]["unknown"] == 0) is (returns == "return output")


def test_an_error_of_changed_code_is_an_error_and_no_other_output(tmp_path: Path):
    """It stays in the comparison, as an error."""
    now = plain("text.upper() if text[-1] != '3' else text / 2", "TEXT")
    comparison, _ = regraded(tmp_path, plain("text", "text"), now)
    assert (comparison["outputs"]["same"], comparison["outputs"]["others"]) == (4, 3)
    assert comparison["outputs"]["cases"] == ["c0", "c1", "c2"]
    (answers,) = (o for o in comparison["results"] if o["columns"][0] == "answers")
    assert (answers["n"], answers["trials_in_error"]) == (1, 1)


@pytest.mark.thorough
def test_thousands_of_stored_outputs_are_graded_again_with_calls_of_judges_only(
    fake: FakeProvider, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By the ledger; no key of the model under evaluation's vendor is needed."""
    rows = "\n".join(json.dumps({"vars": {"q": f"number {i}"}}) for i in range(2_000))
    (tmp_path / "tests.jsonl").write_text(rows)
    config = {
        "prompts": ["Answer {{q}}"],
        "providers": ["mistral:chat-x"],
        "tests": "tests.jsonl",
        "defaultTest": {"assert": [{"type": "contains", "value": "number"}]},
    }
    file = tmp_path / "promptfooconfig.json"
    file.write_text(json.dumps(config))
    first = call("run", ".", "--no-cache")
    asked = len(fake.requests)
    monkeypatch.delenv("MISTRAL_API_KEY")
    rubric = {"type": "llm-rubric", "value": "is kind", "provider": "openai:chat:judge-x"}
    config["defaultTest"] = {"assert": [rubric]}
    file.write_text(json.dumps(config))
    graded = call("regrade", first["run"]["id"], "--with", ".")
    assert outputs(graded["run"]) == outputs(first)
    assert models(fake)[asked:] == ["judge-x"] * 2_000
    usage = {used["role"]: (used["calls"], used["cached"]) for used in graded["run"]["usage"]}
    assert usage == {"subject": (2_000, 2_000), "judge": (2_000, 0)}


@pytest.mark.parametrize("turns", [1, 2])
def test_a_conversation_that_takes_another_course_is_an_error_and_not_made_up(
    monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path, turns: int
):
    """A judge of turns lets pass what was said again before: the user's next turn would come too early.

    So would the agent's answer, which was one to the turn as it was put right.
    """
    strict = [True]

    def judges(said: str) -> dict[str, Any]:
        refused = strict[0] and "My lamp came late" in said.rpartition("<message")[2]
        return {"reasoning": "so", "sound": not refused, "confidence": 0.9}

    def plays(said: str) -> str:
        if "cannot be sent" in said:
            return "I want my money back for the lamp."
        return "Can you hurry with that?" if "We look into it" in said else "My lamp came late."

    rules = [
        Rule(model="judge-x", reply=judges),
        Rule(model="sim-x", reply=plays),
        Rule(reply="We look into it."),
    ]
    (tmp_path / "talk_evals.py").write_text(
        """
from evenhand import Conversation, EvalSet, SimulatedUser, TurnJudge

evals = EvalSet(
    "talk", data=[{"id": "a"}], model="openai:chat:gpt-x", judge="openai:chat:judge-x"
)


@evals.eval
async def talks(model, expect):
    goal = "You want your money back for a lamp that came late."
    user = SimulatedUser(goal, model="openai:chat:sim-x", turn_judge=TurnJudge())
    talk = await Conversation(model, user, max_turns=TURNS).run()
    expect("look" in talk.answer, "answers")
""".replace("TURNS", str(turns))
    )
    with FakeProvider(Script(rules)) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        first = call("run", "talk_evals.py", "--no-cache")
        assert first["trials"][0]["output"].startswith("User: I want my money back for the lamp.")
        strict[0] = False
        again = call("regrade", "latest", "--with", "talk_evals.py", "--no-cache", code=3)
    assert again["run"]["totals"]["errors"] == 1


EDITED = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Contains

row = {
    "id": "a", "input": "one", "expected": "one", "context": ["page 1"], "topic": "parcels"
}
evals = EvalSet("desk", data=[row, row | {"id": "b"}], model="openai:chat:gpt-x")


@evals.eval
async def answers(case: Case, model, expect: Expect):
    question = f"Say {case.input} of {case.vars['topic']}, from {case.context}"
    text = (await model.generate(question)).text
    expect(text, Contains(case.expected))
    return text
"""


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (('"input": "one"', '"input": "three"'), "another input"),
        (('"page 1"', '"page 22"'), "another context"),
        (('"parcels"', '"late letters"'), "other variables"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_an_answer_to_another_question_is_not_graded(
    tmp_path: Path, edit: tuple[str, str], words: str
):
    """Nor shown to a judge beside the question of today."""
    file = tmp_path / "desk_evals.py"
    file.write_text(EDITED)
    first = json.loads(fresh(tmp_path, "run", "desk_evals.py", "--no-cache", "--json"))
    file.write_text(EDITED.replace(*edit))
    graded = json.loads(fresh(tmp_path, "regrade", "latest", "--with", "desk_evals.py", "--json"))
    assert (first["totals"]["passed"], graded["run"]["totals"]["errors"]) == (2, 2)
    assert f"this case has {words} in run" in json.dumps(graded["run"]["trials"][0]["error"])


@pytest.mark.parametrize(
    "edit", [('"expected": "one"', '"expected": "Say"'), ("Say {", "Kindly say {")]
)
@pytest.mark.usefixtures("fake")
def test_a_corrected_reference_and_another_prompt_leave_the_answer_one_to_its_question(
    tmp_path: Path, edit: tuple[str, str]
):
    """What is expected is what regrading is for, and prompts may change."""
    file = tmp_path / "desk_evals.py"
    file.write_text(EDITED)
    first = json.loads(fresh(tmp_path, "run", "desk_evals.py", "--no-cache", "--json"))
    file.write_text(EDITED.replace(*edit))
    graded = json.loads(fresh(tmp_path, "regrade", "latest", "--with", "desk_evals.py", "--json"))
    assert graded["run"]["totals"]["passed"] == 2
    assert outputs(graded["run"]) == outputs(first)


SCRIPTED = """
from evenhand import Conversation, EvalSet, ScriptedUser

evals = EvalSet("talk", data=[{"id": "a"}], model="openai:chat:gpt-x")


@evals.eval
async def talks(model, expect):
    lines = ["My lamp came late.", "Can I have my money back?"]
    talk = await Conversation(model, ScriptedUser(lines), system="Be kind.").run()
    expect("look" in talk.answer, "answers")
    return talk
"""


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ('"My lamp came late."', '"My lamp is great."', False),
        ('"Can I have my money back?"', '"Thank you."', False),
        ("Be kind.", "Be brief.", True),
        ('"look" in', '"We" in', True),
    ],
)
def test_an_edited_script_gets_no_answers_to_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    tmp_path: Path,
    before: str,
    after: str,
    goes_on: bool,
):
    """Nobody has ever answered what the user says now. Another prompt of the agent makes no difference."""
    (tmp_path / "talk_evals.py").write_text(SCRIPTED)
    (tmp_path / "new_evals.py").write_text(SCRIPTED.replace(before, after))
    with FakeProvider(Script([Rule(reply="We look into it.")])) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        call("run", "talk_evals.py", "--no-cache")
        again = call("regrade", "latest", "--with", "new_evals.py", code=0 if goes_on else 3)
    (trial,) = again["run"]["trials"]
    assert (trial["outcome"] == "pass") is goes_on
    assert ("takes another course" in str(trial["error"])) is not goes_on


SIMULATED = """
from evenhand import Conversation, EvalSet, SimulatedUser

evals = EvalSet("talk", data=[{"id": "a"}], model="openai:chat:gpt-x", judge="openai:chat:judge-x")


@evals.eval
async def talks(model, expect):
    user = SimulatedUser(
        "You want your money back for a lamp.",
        facts={"order number": "1042"},
        never_says=["that you are a machine"],
        persona="You are in a hurry.",
        language="en",
        model="openai:chat:sim-x",
    )
    talk = await Conversation(
        model, user, max_turns=2, system="Be kind.", start=[("assistant", "Good day!")]
    ).run()
    expect("look" in talk.answer, "answers")
    return talk
"""


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ("for a lamp", "for a chair", False),
        ('"1042"', '"1043"', True),
        ('"order number"', '"number"', False),
        ("a machine", "a person", False),
        ("in a hurry", "at ease", False),
        ('language="en"', 'language="de"', False),
        ("sim-x", "sim-y", True),
        ("Good day!", "Good evening!", False),
        ('[("assistant", "Good day!")]', "[]", False),
        ("Be kind.", "Be brief.", True),
        ("max_turns=2", "max_turns=1", True),
        ('"look" in', '"We" in', True),
    ],
)
def test_whatever_a_simulated_user_goes_by_is_that_of_the_answers_that_are_graded(
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    tmp_path: Path,
    before: str,
    after: str,
    goes_on: bool,
):
    """Another user says something else. Who plays it, facts' values, and what the agent is told may change."""
    (tmp_path / "talk_evals.py").write_text(SIMULATED)
    (tmp_path / "new_evals.py").write_text(SIMULATED.replace(before, after))

    def plays(said: str) -> str:
        return "Can you hurry?" if "We look into it" in said else "My lamp came late."

    rules = [Rule(model=name, reply=plays) for name in ("sim-x", "sim-y")]
    with FakeProvider(Script([*rules, Rule(reply="We look into it.")])) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        call("run", "talk_evals.py", "--no-cache")
        again = call("regrade", "latest", "--with", "new_evals.py", code=0 if goes_on else 3)
    (trial,) = again["run"]["trials"]
    assert (trial["outcome"] == "pass") is goes_on
    assert ("takes another course" in str(trial["error"])) is not goes_on


TWICE = """
from evenhand import Conversation, EvalSet

evals = EvalSet("talk", data=[{"id": "a"}], model="openai:chat:gpt-x")


@evals.eval
async def talks(model, expect):
    greeting = [("assistant", "Good day!")]
    first = await Conversation(model, ["My lamp came late."], system="Be kind.", start=greeting).run()
    greeting = [("assistant", "You again!")]
    talk = await Conversation(model, ["I have waited."], system="Be kind.", start=greeting).run()
    expect("look" in talk.answer, "answers")
    return talk
"""


@pytest.mark.parametrize(
    ("edit", "goes_on"),
    [
        (("Be kind.", "Be brief."), True),
        (("Good day!", "Good evening!"), False),
        (("You again!", "Who is this?"), False),
    ],
)
def test_each_conversation_of_a_trial_begins_as_it_did_when_it_was_recorded(
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    tmp_path: Path,
    edit: tuple[str, str],
    goes_on: bool,
):
    """What was said before is a part of what the agent answered."""
    (tmp_path / "talk_evals.py").write_text(TWICE)
    (tmp_path / "new_evals.py").write_text(TWICE.replace(*edit))
    with FakeProvider(Script([Rule(reply="We look into it.")])) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        call("run", "talk_evals.py", "--no-cache")
        again = call("regrade", "latest", "--with", "new_evals.py", code=0 if goes_on else 3)
    (trial,) = again["run"]["trials"]
    assert (trial["outcome"] == "pass") is goes_on

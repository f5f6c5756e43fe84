"""`defaultTest.options.rubricPrompt`: one key sets the words in which all judges are asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

ASSERTIONS: dict[str, dict[str, Any]] = {
    "rubric": {"type": "llm-rubric", "value": "polite"},
    "ideal": {"type": "factuality", "value": "Paris"},
    "criteria": {"type": "model-graded-closedqa", "value": "short"},
    "messages": {"type": "conversation-relevance"},
    "goal": {"type": "trajectory:goal-success", "value": "found"},
    "groundTruth": {"type": "context-recall", "value": "Paris."},
    "query": {"type": "context-relevance"},
    "answer": {"type": "answer-relevance"},
    "outputs": {"type": "select-best", "value": "the best"},
}
"""Each type that takes one prompt, by a name that its prompt may use."""
WORDS = "MINE " + " ".join(f"{name}=[{{{{{name}}}}}]" for name in ASSERTIONS)
FORMS = ("text", "chat", "object", "file", "chat in a file")
VARIABLES = {"query": "Where?", "context": "It is Paris."}
JSON = '{"reason": "r", "pass": true, "score": 1, "category": "C", "verdict": "yes"}'


def replied(conversation: str) -> str:
    """A reply that every reader takes."""
    own = re.search(r"MINE.*", conversation, re.DOTALL)
    if own is None:
        return "It is Paris."
    asked = [name for name in ASSERTIONS if f"{name}=[]" not in own[0]]
    if "groundTruth" in asked:
        return "1. It is Paris. [Attributed]"
    if "criteria" in asked and "outputs" not in asked:
        return "It is.\nY"
    if "outputs" in asked:
        return "0"
    if "rubric" in asked or "ideal" in asked or "messages" in asked or "goal" in asked:
        return JSON
    return "It is Paris."


@pytest.fixture
def judge() -> Iterator[tuple[FakeProvider, list[str]]]:
    """A vendor that answers as each type wants it, and what it was asked."""
    asked: list[str] = []

    def reply(conversation: str) -> str:
        asked.append(conversation)
        return replied(conversation)

    with FakeProvider(Script([Rule(reply=reply)])) as served:
        yield served, asked


def written(folder: Path, form: str) -> object:
    """The prompt in one of the forms that promptfoo takes."""
    chat = [{"role": "system", "content": "Judge."}, {"role": "user", "content": WORDS}]
    if form == "text":
        return WORDS
    if form == "chat":
        return chat
    if form == "object":
        return {"task": WORDS}
    text = WORDS if form == "file" else json.dumps(chat)
    (folder / "judge.json").write_text(text)
    return "file://judge.json"


def ran(
    folder: Path, at: FakeProvider, prompt: object, *tests: dict[str, Any]
) -> list[TrialResult]:
    """The trials of a config whose judges are asked with this prompt; two columns, so that there is a best."""
    config = {
        "prompts": ["It is Paris.", "It is Paris. Yes."],
        "providers": ["echo"],
        "defaultTest": {
            "vars": VARIABLES,
            "options": {
                "rubricPrompt": prompt,
                "provider": {"text": "openai:chat:judge", "embedding": "openai:embedding:m"},
            },
        },
        "tests": list(tests),
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    plan = load(folder, Chosen(env=at.env()))
    assert not plan.broken
    finished = door.run(plan, Settings(home=folder / "home", cache=False))
    with RunFile.open(finished.path) as run:
        return list(run.trials())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ASSERTIONS)
def test_one_key_sets_the_prompt_of_every_type_that_a_model_grades(
    tmp_path: Path, judge: tuple[FakeProvider, list[str]], name: str, form: str
) -> None:
    """In every form in which promptfoo takes it: text, chat, object, file."""
    at, asked = judge
    spans = {"trace": {"spans": [{"name": "search", "startTime": 1, "endTime": 2}]}}
    test = {"assert": [ASSERTIONS[name]], "metadata": spans}
    trials = ran(tmp_path, at, written(tmp_path, form), test)
    assert {trial.outcome for trial in trials} <= {"pass", "fail"}, [t.reason for t in trials]
    assert asked
    assert all("MINE" in text for text in asked), asked
    assert all(f"{name}=[]" not in text and "{{" not in text for text in asked), asked
    if form.startswith("chat"):
        assert all(text.startswith("Judge.\n") for text in asked)


def test_g_eval_and_context_faithfulness_take_two_prompts(tmp_path: Path) -> None:
    """An object and a list, whose parts may be files or chats; one text for all leaves them ours."""
    (tmp_path / "steps.txt").write_text('MINE {{criteria}}: {"steps": ["read"]}')
    (tmp_path / "first.txt").write_text("MINE statements of {{answer}}")
    both = {
        "steps": "file://steps.txt",
        "evaluate": [{"role": "user", "content": "MINE score {{output}} {{steps}} {{maxScore}}"}],
    }
    replies: list[tuple[str, str]] = [
        ("MINE brief", '{"steps": ["read"]}'),
        ("MINE score", '{"reason": "r", "score": 8}'),
        ("MINE statements", "It is Paris."),
        ("MINE verdicts", "Final verdict for each statement in order: Yes."),
    ]
    with FakeProvider(Script([Rule((match,), reply) for match, reply in replies])) as at:
        tests = [
            {"assert": [{"type": "g-eval", "value": "brief", "rubricPrompt": both}]},
            {
                "assert": [
                    {
                        "type": "context-faithfulness",
                        "rubricPrompt": ["file://first.txt", "MINE verdicts {{statements}}"],
                    }
                ]
            },
        ]
        trials = ran(tmp_path, at, WORDS, *tests)
    assert [trial.outcome for trial in trials] == ["pass"] * 4, [t.reason for t in trials]


def test_a_variable_called_input_is_the_input_of_a_prompt_of_ones_own(
    tmp_path: Path, judge: tuple[FakeProvider, list[str]]
) -> None:
    """As in promptfoo; without it that is the prompt. What is judged is never a variable of the test."""
    at, asked = judge
    words = (
        "MINE in={{input}} out={{output}}{{completion}} ideal=[{{ideal}}] criteria=[{{criteria}}]"
    )
    words += " rubric=[{{rubric}}] groundTruth=[] outputs=[] messages=[] goal=[]"
    variables = {"input": "the question", "output": "no", "completion": "no"}
    kinds = ("llm-rubric", "factuality", "model-graded-closedqa")
    for kind in kinds:
        asked.clear()
        test = {"vars": variables, "assert": [{"type": kind, "value": "x"}]}
        ran(tmp_path, at, words, test)
        assert all("in=the question" in text for text in asked)
        assert all("It is Paris." in text.partition("out=")[2] for text in asked), asked
    asked.clear()
    ran(tmp_path, at, words, {"assert": [{"type": "factuality", "value": "x"}]})
    assert any("in=It is Paris. out" in text for text in asked)


@pytest.mark.parametrize(
    ("prompt", "reply", "passed"),
    [
        (WORDS, "It says less, so (a) is right, not (D).", True),
        (WORDS, "D) It disagrees.", False),
        (None, "The submitted answer is a subset of the ideal one: (A).", True),
        (None, "(D) It disagrees.", False),
    ],
)
def test_a_category_of_facts_is_read_where_promptfoo_reads_it(
    tmp_path: Path, prompt: str | None, reply: str, passed: bool
) -> None:
    """In the user's own words the first letter with a bracket; in ours one that is said to be the answer."""
    with FakeProvider(Script([Rule(reply=reply)])) as at:
        test = {"assert": [{"type": "factuality", "value": "x"}]}
        trials = ran(tmp_path, at, prompt, test)
    assert {trial.outcome for trial in trials} == {"pass" if passed else "fail"}


def test_code_is_not_taken_for_the_words_of_a_judge(
    tmp_path: Path, fake_env: Callable[[], dict[str, str]]
) -> None:
    """A JavaScript file would be sent to the judge as it stands; it is a problem instead."""
    (tmp_path / "judge.js").write_text("module.exports = () => 'x'")
    config = {
        "prompts": ["x"],
        "providers": ["echo"],
        "tests": [
            {"assert": [{"type": "contains", "value": "x"}]},
            {"assert": [{"type": "llm-rubric", "value": "x", "rubricPrompt": "file://judge.js"}]},
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    plan = load(tmp_path, Chosen(env=fake_env()))
    assert any("judge.js is code" in str(problem) for problem in plan.broken)


@pytest.fixture
def fake_env() -> Callable[[], dict[str, str]]:
    """An environment with keys, in which nobody is asked."""
    return lambda: {"OPENAI_API_KEY": "k"}

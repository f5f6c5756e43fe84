"""Datasets of pydantic-evals, written out as eval sets: their verdicts are those of the package."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import (
    Contains,
    Equals,
    EqualsExpected,
    HasMatchingSpan,
    IsInstance,
    LLMJudge,
    MaxDuration,
)
from tests.e2e.test_import_openai_evals import evenhand

from evenhand.store.runfile import RunFile

ANSWERS = {"France?": "Paris", "Spain?": "madrid", "Number?": 7}
TASK = f"""
ANSWERS = {ANSWERS!r}


def answer(inputs):
    return ANSWERS[inputs]
"""
Quiz = Dataset[Any, Any, Any]


def quiz(*more: Any) -> Quiz:
    """Three cases with six kinds of evaluators that ask nobody."""
    return Quiz(
        name="Capitals",
        cases=[
            Case(name="fr", inputs="France?", expected_output="Paris", evaluators=(Equals(value="Paris"),)),
            Case(name="es", inputs="Spain?", expected_output="Madrid",
                 evaluators=(Contains(value="Mad", case_sensitive=False),)),
            Case(name="n", inputs="Number?", evaluators=(Equals(value=7),)),
        ],
        evaluators=[EqualsExpected(), IsInstance(type_name="str"), MaxDuration(seconds=60), *more],
    )  # fmt: skip


def test_the_eval_set_comes_to_the_verdicts_of_the_package(tmp_path: Path):
    """Each assertion of each case, by its name."""
    theirs = asyncio.run(quiz().evaluate(lambda inputs: ANSWERS[inputs], progress=False))
    by_case = {
        one.name: {name: result.value for name, result in one.assertions.items()}
        for one in theirs.cases
    }
    quiz().to_file(tmp_path / "capitals.yaml")
    made = evenhand(tmp_path, "init", "--from", "pydantic-evals", "capitals.yaml", "mine")
    assert made.returncode == 0, made.stderr
    assert "not translated" not in made.stdout
    assert "call your application in mine/pydantic_task.py" in made.stdout
    (tmp_path / "mine" / "pydantic_task.py").write_text(TASK, "utf-8")
    checked = evenhand(tmp_path / "mine", "check", "evals/capitals_evals.py")
    assert checked.returncode == 0, checked.stderr
    evenhand(tmp_path / "mine", "run", "evals/capitals_evals.py")
    (file,) = (tmp_path / "mine" / ".evenhand" / "runs").glob("*.db")
    with RunFile.open(file) as run:
        ours = {
            trial.case: {one.metric: one.outcome == "pass" for one in trial.outcomes}
            for trial in run.trials()
        }
    assert ours == by_case


def test_what_has_no_equal_is_named_with_its_path_and_judges_keep_their_rubric(tmp_path: Path):
    """The others are written, and nothing is overwritten."""
    judge = LLMJudge(rubric='it is "short"\n{x}', model="openai:gpt-5", include_input=True)
    quiz(HasMatchingSpan(query={"name_equals": "x"}), judge).to_file(tmp_path / "capitals.json")
    made = evenhand(tmp_path, "init", "--from", "pydantic-evals", "capitals.json", ".")
    assert made.returncode == 0, made.stderr
    assert (
        "capitals.json $.evaluators[3]: evaluator 'HasMatchingSpan' has no equal here"
        in made.stdout
    )
    text = (tmp_path / "evals" / "capitals_evals.py").read_text("utf-8")
    compile(text, "file", "exec")
    assert 'judge=provider("openai:gpt-5")' in text
    assert 'context=f"Input: {case.input}"' in text
    again = evenhand(tmp_path, "init", "--from", "pydantic-evals", "capitals.json", ".")
    assert again.returncode == 2
    assert "nothing was written" in again.stderr
    refused = evenhand(tmp_path, "init", "--from", "pydantic-evals")
    assert "there is no file to read" in refused.stderr

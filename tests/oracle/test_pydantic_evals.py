"""Datasets and reports of the pydantic-evals package: read here, written again, and read by it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import (
    Contains,
    EqualsExpected,
    Evaluator,
    EvaluatorContext,
    IsInstance,
    LLMJudge,
    MaxDuration,
)
from pydantic_evals.reporting import EvaluationReportAdapter

from evenhand.doors.eval_sets.dataset import Dataset as Ours
from evenhand.doors.eval_sets.writing import write_document
from evenhand.doors.importers.registry import read_runs
from evenhand.wings.interchange.pydantic_evals.reading import document_of


@dataclass
class Length(Evaluator[Any, Any, Any]):
    """The length of the output, and whether it is one word."""

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, Any]:
        if ctx.output == "boom":
            raise ValueError("cannot measure this")
        return {"length": len(ctx.output), "one_word": " " not in ctx.output, "size": "small"}


Quiz = Dataset[Any, Any, Any]


def dataset() -> Quiz:
    """Cases with everything that a case can have, and some with nothing."""
    return Quiz(
        name="capitals",
        cases=[
            Case(
                name="fr", inputs="Capital of France?", expected_output="Paris", metadata={"level": 1},
                evaluators=(Contains(value="Paris", case_sensitive=False),),
            ),
            Case(name="es", inputs={"q": "Spain?", "n": [1, 2.5]}, expected_output={"city": "Madrid"}),
            Case(inputs=["a", None, True], metadata="plain text"),
            Case(name="it", inputs=7, expected_output=0, metadata={}),
        ],
        evaluators=[
            EqualsExpected(), IsInstance(type_name="str"), MaxDuration(seconds=2.0),
            LLMJudge(rubric="it is short", model="openai:gpt-5", include_input=True),
        ],
    )  # fmt: skip


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_dataset_that_is_read_and_written_again_is_equal(tmp_path: Path, suffix: str):
    """Through a file of ours in between: name, cases, metadata, evaluators of cases and of all."""
    theirs = dataset()
    file = tmp_path / f"capitals.{suffix}"
    theirs.to_file(file)
    read = read_runs([file], "pydantic-evals")
    (found,) = read.datasets
    assert found.name == "capitals"
    assert [case.id for case in found.cases][:2] == ["fr", "es"]
    assert [case.expected for case in found.cases] == ["Paris", {"city": "Madrid"}, None, 0]
    for between in ("jsonl", "csv", "yaml"):
        Ours(found.cases, found.name).write(tmp_path / f"ours.{between}")
        cases = list(Ours.read(tmp_path / f"ours.{between}"))
        again = tmp_path / f"again.{suffix}"
        write_document(document_of(cases, ""), again)
        back = Quiz.from_file(again)
        original = Quiz.from_file(file)
        assert back.name == original.name
        assert back.evaluators == original.evaluators
        assert len(back.cases) == len(original.cases)
        for one, other in zip(back.cases, original.cases, strict=True):
            assert one == other, between


def test_a_report_is_a_run(tmp_path: Path):
    """Assertions are verdicts, scores are measured, labels are kept, and what raised is an error."""

    async def answer(asked: Any) -> Any:
        if asked == 7:
            raise RuntimeError("no seven")
        return {"Capital of France?": "Paris", "x": "boom"}.get(str(asked), "New York")

    cases = [
        Case(
            name="fr", inputs="Capital of France?", expected_output="Paris", metadata={"level": 1}
        ),
        Case(name="us", inputs="USA?", expected_output="Washington"),
        Case(name="x", inputs="x", expected_output="boom"),
        Case(name="seven", inputs=7),
    ]
    quiz = Quiz(name="quiz", cases=cases, evaluators=[EqualsExpected(), Length()])
    report = asyncio.run(quiz.evaluate(answer, progress=False, name="v1"))
    file = tmp_path / "report.json"
    file.write_bytes(EvaluationReportAdapter.dump_json(report))
    (run,) = read_runs([file], "pydantic-evals").runs
    assert run.meta.title == "quiz"
    trials = {one.case: one for one in run.trials()}
    by_name = {one.name: one for one in trials["fr"].outcomes}
    assert by_name["EqualsExpected"].outcome == "pass"
    assert by_name["length"].named == {"length": 5.0}
    assert by_name["size"].outcome == "not_applicable"
    assert {name: one.outcome for name, one in trials.items()} == {
        "fr": "pass", "us": "fail", "x": "error", "seven": "error",
    }  # fmt: skip
    assert trials["seven"].error is not None
    assert "no seven" in trials["seven"].error.message
    for case in report.cases:
        assert trials[case.name].latency_s == case.task_duration
        assert trials[case.name].output == case.output


def test_evaluators_that_run_nothing_are_named(tmp_path: Path):
    """With the place of the first, and what to do."""
    file = tmp_path / "capitals.json"
    dataset().to_file(file)
    notes = read_runs([file], "pydantic-evals").notes
    (note,) = [one for one in notes if one.kind == "changed"]
    assert note.where == "capitals.json $.evaluators[0]"
    assert "EqualsExpected, IsInstance, MaxDuration, LLMJudge, Contains" in note.text


def test_a_field_that_no_dataset_has_is_named(tmp_path: Path):
    """Of the dataset and of a case."""
    case = {"name": "a", "inputs": 1, "unheard_of": 2}
    (tmp_path / "x.json").write_text(json.dumps({"cases": [case], "strange": 1}), "utf-8")
    notes = read_runs([tmp_path / "x.json"], "pydantic-evals").notes
    assert [one.where for one in notes if one.kind == "left_out"] == [
        "x.json $.strange",
        "x.json $.cases[0].unheard_of",
    ]

"""Columns that are nearly a case's fields are told once, and in the error of the field that is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.e2e.commands import Run, in_process

from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.near_columns import near_fields, unused

NEAR = {
    "Input": "input",
    "INPUT": "input",
    "inputs": "input",
    " input ": "input",
    "imput": "input",
    "question": "input",
    "user_input": "input",
    "query": "input",
    "expect": "expected",
    "Expected": "expected",
    "expeted": "expected",
    "answer": "expected",
    "ground_truth": "expected",
    "Ground Truth": "expected",
    "ground-truths": "expected",
    "reference": "expected",
    "expected_output": "expected",
    "target": "expected",
    "contexts": "context",
    "retrieved_contexts": "context",
    "ID": "id",
    "case_id": "id",
    "tag": "tags",
    "Tags": "tags",
    "Description": "description",
    "meta_data": "metadata",
    "city": "",
    "idea": "",
    "put": "",
    "answers_count": "",
    "context_length": "",
}

EVALS = """
from evenhand import Dataset, EvalSet
from evenhand.scorers import Contains

evals = EvalSet("shop", data={data})


@evals.eval
def answers(case, expect):
    expect("30 days", Contains({text}))
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs command lines in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


@pytest.mark.parametrize(("name", "field"), NEAR.items())
def test_a_name_that_is_nearly_a_fields_is_known(name: str, field: str):
    """Of people and of other tools; a name of one's own is none."""
    other = "input" if field != "input" else "note"
    assert near_fields(Dataset.of({name: "x", other: "y"})) == ({name: field} if field else {})


def test_a_field_that_cases_have_is_not_meant_by_another_column():
    """Nor is one that an eval names."""
    assert near_fields(Dataset.of({"question": "x", "input": "y", "expected": "z"})) == {}
    assert unused({"question": "input"}, ["case.vars['question']"]) == {}
    assert unused({"question": "input"}, ["Answer: {{ question }}"]) == {}
    assert unused({"question": "input"}, ["prompt.render(**case.vars)"]) == {}
    assert unused({"Input": "input"}, ["prompt.render(**case.vars)"]) == {"Input": "input"}
    assert unused({"question": "input"}, ["case.vars['q'] # question"]) == {"question": "input"}


FORMS = ("csv", "tsv", "jsonl", "json", "yaml", "parquet", "frame", "list")


def data_in(form: str, folder: Path, row: dict[str, str]) -> str:
    """The data of a set in one of the forms, as code."""
    path = folder / f"cases.{form}"
    if form in ("csv", "tsv"):
        delimiter = "," if form == "csv" else "\t"
        path.write_text(f"{delimiter.join(row)}\n{delimiter.join(row.values())}\n")
    elif form in ("jsonl", "json"):
        path.write_text(json.dumps(row if form == "jsonl" else [row]) + "\n")
    elif form == "yaml":
        path.write_text("- " + "\n  ".join(f"{k}: {v}" for k, v in row.items()) + "\n")
    elif form == "parquet":
        pd.DataFrame([row]).to_parquet(path)
    elif form == "frame":
        return f"__import__('pandas').DataFrame([{row!r}])".replace(
            "'Input'", "'In' 'put'"
        ).replace("'Expected'", "'Exp' 'ected'")
    else:
        return f"[dict(Input={row['Input']!r}, Expected={row['Expected']!r})]"
    return f'Dataset.read("{path.name}")'


@pytest.mark.parametrize("form", FORMS)
def test_nearly_right_columns_are_told_once_and_in_the_error(
    form: str, run: Run, tmp_path: Path
) -> None:
    """From each kind of data."""
    row = {"Input": "hi", "Expected": "30 days"}
    code = EVALS.format(data=data_in(form, tmp_path, row), text="case.expected")
    (tmp_path / "shop_evals.py").write_text(code)
    checked = run("check", "shop_evals.py")
    said = "the columns Input, Expected are variables of the cases"
    assert (checked.out + checked.err).count(said) == 1
    ended = run("run", "shop_evals.py", "--json", "--no-write")
    (trial,) = json.loads(ended.out)["trials"]
    assert "has no `expected`; its variables are: Input, Expected" in json.dumps(trial["error"])
    assert "case.vars['Expected']" in json.dumps(trial["error"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("case.question", "Write case.vars['question']: it is a variable."),
        ('case["question"]', "its variables are: question"),
        ('case["input"]', "Write case.input."),
        ("case.quesion", "Did you mean case.vars['question']? A case has id, input, expected,"),
        ("case.quesion", "has the variables: question."),
        ("case.expectd", "Did you mean 'expected'? A case has id, input, expected,"),
        ("case.answer_key", "A case has id, input, expected, context,"),
        ('case.vars["q"]', "case.vars of 'a' has: question."),
    ],
)
def test_a_part_that_a_case_has_not_is_told_with_those_that_it_has(
    text: str, says: str, run: Run, tmp_path: Path
) -> None:
    """However it is looked for."""
    code = EVALS.format(data='[{"id": "a", "question": "q"}]', text=text)
    (tmp_path / "shop_evals.py").write_text(code)
    ended = run("run", "shop_evals.py", "--json", "--no-write")
    (trial,) = json.loads(ended.out)["trials"]
    assert says in trial["error"]["where"]

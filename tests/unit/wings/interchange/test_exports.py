"""Exports of other tools as runs and datasets: what must hold of each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.interchange.exports import ANSWERS, EXPORTS, QUESTIONS, right, saved

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.importers.chosen_verdicts import with_verdicts
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.importers.registry import read_runs

WITHOUT_ERRORS = ("lm-eval",)
"""Tools whose files have no place for a failed call."""


@pytest.fixture(params=EXPORTS)
def tool(request: pytest.FixtureRequest) -> str:
    """Each tool in turn."""
    return request.param


VERDICTS = {"ragas": "exact_match", "langsmith": "correct", "braintrust": "Exact"}
"""The score that says what was right, of tools whose files have numbers alone."""


def imported(tool: str, folder: Path) -> Recordings:
    """The export of a tool, read, with what was right as verdicts."""
    read = read_runs(EXPORTS[tool](folder), tool)
    return with_verdicts(read, [VERDICTS[tool]] if tool in VERDICTS else [])


def by_question(trials: list[TrialResult]) -> dict[str, TrialResult]:
    """A run's trials by the letters of the questions, which they are in the order of."""
    return dict(zip(QUESTIONS, trials, strict=True))


def test_two_runs_come_out_with_what_was_answered_and_decided(tool: str, tmp_path: Path):
    """Oldest first; what failed for the tool failed, and what broke is an error without a score."""
    read = imported(tool, tmp_path)
    assert len(read.runs) == 2
    for run, recorded in enumerate(read.runs):
        for case, trial in by_question(list(recorded.trials())).items():
            broken = run == 1 and case == "c"
            expected = "error" if broken else "pass" if right(run, case) else "fail"
            if broken and tool in (*WITHOUT_ERRORS, "ragas"):
                expected = "fail"
            assert trial.outcome == expected, (tool, run, case)
            assert trial.repeat == 0, (tool, run, case)
            is_open = trial.outcome == "error" or any(o.outcome == "error" for o in trial.outcomes)
            assert (trial.score is None) is is_open
            assert (trial.output or "") == ANSWERS[run][case]
            assert trial.expected == QUESTIONS[case][1]


def test_cases_pair_across_runs_and_with_the_dataset(tool: str, tmp_path: Path):
    """The case of a trial is the id of the row, in both runs and in the dataset."""
    read = imported(tool, tmp_path)
    first, second = ({one.case for one in run.trials()} for run in read.runs)
    assert first == second
    assert len(first) == 3
    for dataset in read.datasets:
        assert {case.id for case in dataset.cases} == first
        assert [case.expected for case in dataset.cases] == [e for _, e in QUESTIONS.values()]
    assert len(read.datasets) == (0 if tool == "lm-eval" else 1)


def test_a_dataset_is_written_and_read_again_as_it_is(tool: str, tmp_path: Path):
    """Nothing in its cases that a file could not hold."""
    for dataset in imported(tool, tmp_path).datasets:
        data = Dataset(dataset.cases, dataset.name)
        data.write(tmp_path / "again.jsonl")
        assert list(Dataset.read(tmp_path / "again.jsonl")) == list(data)


def test_the_same_files_are_the_same_runs(tool: str, tmp_path: Path):
    """So that they are not imported twice."""
    paths = EXPORTS[tool](tmp_path)
    once, twice = (read_runs(paths, tool) for _ in range(2))
    assert [one.meta.id for one in once.runs] == [one.meta.id for one in twice.runs]
    assert len({one.meta.id for one in once.runs}) == 2


def texts(value: Any) -> set[str]:
    """All texts and numbers inside a value."""
    if isinstance(value, Mapping):
        return {text for key, one in value.items() for text in (str(key), *texts(one))}
    if isinstance(value, (list, tuple)):
        return {text for one in value for text in texts(one)}
    return {str(value)} if value is not None else set()


def test_what_nobody_knows_is_kept_or_named(tool: str, tmp_path: Path):
    """A field that a newer version may add to any object: it is in a run or a dataset, or a note names its place."""
    for path in EXPORTS[tool](tmp_path):
        if path.suffix == ".csv":
            continue
        for place, found in enumerate(_marked(path)):
            folder = tmp_path / f"{path.stem}{place}"
            paths = [
                saved(folder / one.relative_to(tmp_path), *found) if one == path else one
                for one in EXPORTS[tool](tmp_path)
            ]
            read = read_runs(paths, tool)
            kept = texts([_all(run) for run in read.runs]) | texts(
                [[case.vars, case.metadata] for one in read.datasets for case in one.cases]
            )
            left = [note for note in read.notes if note.kind == "left_out"]
            named = any("unheard_of" in f"{one.where} {one.text}" for one in left)
            named = named or any(one.where.endswith(".observations") for one in left)
            assert "unheard" in kept or named, (tool, path.name, place)


def _all(run: Any) -> list[Any]:
    trials = list(run.trials())
    more = [[one.metadata, one.vars, [o.metadata for o in one.outcomes]] for one in trials]
    return [dict(run.meta.config), *more]


def _marked(path: Path) -> list[list[Any]]:
    """The values of a file, one time for each: with a field in the first object that nobody knows."""
    values = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    first = values[0]
    while isinstance(first, list):
        first = first[0]
    lists = [one for one in first.values() if isinstance(one, list) and one]
    inner = next((one[0] for one in lists if isinstance(one[0], dict)), None)
    made: list[list[Any]] = []
    for marked in (first, inner):
        if marked is not None:
            marked["unheard_of"] = "unheard"
            made.append(json.loads(json.dumps(values)))
            del marked["unheard_of"]
    return made


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("[1, 2]", "holds no"),
        ("{}", "holds no"),
        ('{"a": ', "is not JSON"),
        ('"text"', "holds no"),
    ],
)
def test_a_file_of_something_else_is_refused_with_where_to_get_one(
    tool: str, tmp_path: Path, text: str, says: str
):
    """One message, whatever is in it."""
    file = tmp_path / "x.json"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=says) as refused:
        read_runs([file], tool)
    assert says != "holds no" or refused.value.hint


@pytest.mark.thorough(after=16)
@pytest.mark.parametrize("wrong", [None, 3, "text", [], {}, True, [None], {"a": []}])
def test_values_of_the_wrong_kind_never_raise_anything_else(tool: str, tmp_path: Path, wrong: Any):
    """Each field of each object in turn: the run comes out, or one message."""
    for path in EXPORTS[tool](tmp_path):
        if path.suffix == ".csv":
            continue
        values = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for spoilt in _spoilt(values[0], wrong):
            saved(path, spoilt, *values[1:])
            try:
                read = read_runs([path], tool)
                for run in read.runs:
                    list(run.trials())
            except UsageError:
                pass


def _spoilt(value: Any, wrong: Any) -> list[Any]:
    """Copies of a value, in each of which one field of an object, at most three levels deep, is something else."""
    made: list[Any] = []

    def walk(inner: Any, depth: int) -> None:
        if isinstance(inner, list) and inner:
            walk(inner[0], depth)
        elif isinstance(inner, dict) and depth:
            for key in list(inner):
                was = inner[key]
                inner[key] = wrong
                made.append(json.loads(json.dumps(value)))
                inner[key] = was
                walk(was, depth - 1)

    walk(value, 4)
    return made


def test_a_metric_of_ragas_without_a_value_in_any_row_is_named(tmp_path: Path):
    """Null in JSONL, an empty cell in a table; also where nothing else was measured."""
    row = {"user_input": "q", "response": "a", "context_recall": None}
    results = saved(tmp_path / "results.jsonl", {**row, "faithfulness": 0.5})
    nothing = saved(tmp_path / "nothing.jsonl", row)
    table = tmp_path / "table.csv"
    table.write_text("question,ground_truth,faithfulness,context_recall\nq,,0.5,\n", "utf-8")
    for path in (results, nothing, table):
        notes = [one for one in read_runs([path], "ragas").notes if one.kind == "left_out"]
        assert [one.text for one in notes] == ["'context_recall': no row has a value"], path.name


def test_a_task_of_the_harness_without_samples_is_named(tmp_path: Path):
    """With its place in the results; groups of tasks have no samples of their own."""
    _, results, *_ = paths = EXPORTS["lm-eval"](tmp_path)
    document = json.loads(results.read_text("utf-8"))
    document["results"] |= {"arc": {"acc,none": 0.5}, "all": {"acc,none": 0.5}}
    document["group_subtasks"] = {"all": ["arc", "quiz"], "arc": [], "quiz": []}
    results.write_text(json.dumps(document), "utf-8")
    (note,) = (one for one in read_runs(paths, "lm-eval").notes if "named after" in one.text)
    assert "'arc'" in note.text
    assert note.where == f"{results.name} $.results.arc"

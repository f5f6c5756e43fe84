"""What a score is, a verdict or a number, is said by its format or by the user, never by the values that it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import in_process
from tests.unit.wings.interchange.exports import EXPORTS
from tests.unit.wings.interchange.inspect_logs.conftest import a_sample, deflated, members

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.doors.importers.chosen_verdicts import with_verdicts
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.importers.registry import read_runs

KEYS = ("value", "score", "exact_match", "Exact", "correct", "faithfulness", "Accuracy", "acc")


def numbers_in(value: Any) -> Iterator[tuple[Any, str]]:
    """Each place in an export where a score of 0 or 1 stands: the object, and its key."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in KEYS and type(one) in (int, float) and one in (0, 1):
                yield value, key
            yield from numbers_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from numbers_in(one)


def deciding(read: Recordings) -> list[tuple[list[str], int]]:
    """Of each run, the metrics that decide, and how many trials have a verdict."""
    kinds: list[tuple[list[str], int]] = []
    for run in read.runs:
        trials = list(run.trials())
        names = {
            one.name
            for trial in trials
            for one in trial.outcomes
            if one.outcome in ("pass", "fail")
        }
        kinds.append((sorted(names), sum(t.outcome in ("pass", "fail") for t in trials)))
    return kinds


@pytest.mark.parametrize(
    "tool", [t for t in EXPORTS if t not in ("langfuse", "deepeval", "phoenix")]
)
def test_one_value_more_or_less_changes_no_metric_into_a_verdict(tool: str, tmp_path: Path):
    """Each 0 or 1 of an export in turn is made a half: the same metrics decide the same number of trials."""
    (tmp_path / "as_is").mkdir()
    before = deciding(read_runs(EXPORTS[tool](tmp_path / "as_is"), tool))
    tried = 0
    for file in range(len(EXPORTS[tool](tmp_path / "as_is"))):
        for place in range(50):
            folder = tmp_path / f"{file}-{place}"
            folder.mkdir()
            paths = EXPORTS[tool](folder)
            if not half_in(paths[file], place):
                break
            assert deciding(read_runs(paths, tool)) == before
            tried += 1
    assert tried >= 3


def half_in(path: Path, place: int) -> bool:
    """Writes 0.5 over the score in this place of a file; False where there is none."""
    text = path.read_text("utf-8")
    if path.suffix == ".csv":
        lines = text.split("\n")
        cells = [
            (i, j)
            for i, line in enumerate(lines[1:], 1)
            for j, cell in enumerate(line.split(","))
            if cell in ("0.0", "1.0", "0", "1")
        ]
        if place >= len(cells):
            return False
        i, j = cells[place]
        row = lines[i].split(",")
        row[j] = "0.5"
        lines[i] = ",".join(row)
        path.write_text("\n".join(lines), "utf-8")
        return True
    whole = path.suffix == ".json"
    values = [json.loads(text)] if whole else [json.loads(line) for line in text.splitlines()]
    places = list(numbers_in(values))
    if place >= len(places):
        return False
    where, key = places[place]
    where[key] = 0.5
    path.write_text("\n".join(map(json.dumps, values)), "utf-8")
    return True


def ragas(path: Path, *values: str) -> Path:
    """A file of Ragas' with two metrics."""
    rows = "".join(f"q{i},a,r,{value}\n" for i, value in enumerate(values))
    path.write_text(f"user_input,response,reference,faithfulness,correct\n{rows}")
    return path


def trials_of(read: Recordings) -> list[TrialResult]:
    """All trials."""
    return [trial for run in read.runs for trial in run.trials()]


def test_numbers_are_verdicts_where_the_user_says_so(tmp_path: Path):
    """Those of the named score alone; the run is another one than without."""
    read = read_runs([ragas(tmp_path / "a.csv", "1.0,1", "0.5,0", "1.0,1")], "ragas")
    assert [trial.outcome for trial in trials_of(read)] == ["not_applicable"] * 3
    chosen = with_verdicts(read, ["correct"])
    assert [trial.outcome for trial in trials_of(chosen)] == ["pass", "fail", "pass"]
    assert [t.named_scores["faithfulness"] for t in trials_of(chosen)] == [1.0, 0.5, 1.0]
    assert chosen.runs[0].meta.id != read.runs[0].meta.id
    said = [note.text for note in chosen.notes if "decides nothing" in note.text]
    assert said == [
        "'faithfulness' is a number without a bound: it is measured, and decides nothing"
    ]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("faithfulness", "faithfulness is 0.5 in case"),
        ("corect", "Did you mean 'correct'?"),
        ("nothing", "There are: faithfulness, correct."),
    ],
)
def test_a_verdict_that_cannot_be_one_is_refused_with_its_case(
    name: str, says: str, tmp_path: Path
):
    """Before anything is kept."""
    read = read_runs([ragas(tmp_path / "a.csv", "1.0,1", "0.5,0")], "ragas")
    with pytest.raises(UsageError, match="--verdict") as caught:
        with_verdicts(read, [name])
    assert says in str(caught.value)


def test_numbers_of_inspect_may_be_named_as_verdicts(tmp_path: Path):
    """Of any importer."""
    samples = [a_sample(i, scores={"s": {"value": v}}) for i, v in enumerate((1, 0))]
    path = deflated(tmp_path / "a.eval", members(*samples))
    chosen = with_verdicts(read_runs([path], "inspect"), ["s"])
    assert [trial.outcome for trial in trials_of(chosen)] == ["pass", "fail"]


def test_the_command_names_verdicts_and_compares_like_with_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Without the option nothing passed or failed, and `compare` compares the metrics."""
    monkeypatch.chdir(tmp_path)
    run = in_process(capsys)
    ragas(tmp_path / "before.csv", "1.0,1", "0.0,0", "1.0,1")
    ragas(tmp_path / "after.csv", "1.0,1", "0.5,0", "1.0,0")
    assert run("import", "ragas", "before.csv", "after.csv").code == 0
    compared = run("compare", "--json", *newest(run))
    by_name = {one["metric"]: one for one in json.loads(compared.out)["results"]}
    assert by_name["passed"]["n"] == 0
    assert by_name["faithfulness"]["n"] == 3
    ended = run("import", "ragas", "before.csv", "--verdict", "correct", "--json")
    (kept,) = json.loads(ended.out)["runs"]
    assert (kept["passed"], kept["failed"]) == (2, 1)


def newest(run: Callable[..., Any]) -> list[str]:
    """The ids of the two newest runs, the older one first."""
    listed = run("runs", "list", "--json").out.splitlines()
    return [json.loads(line)["id"] for line in listed][1::-1]

"""Exports that are valid and unusual: fields that are missing or null, ids that are there twice, values of other types.

Each is read as far as it can be, with the right verdicts, and a note for everything that is not as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.interchange.exports import EXPORTS, JSON, saved
from tests.unit.wings.interchange.inspect_logs.conftest import (
    a_header,
    a_sample,
    deflated,
    members,
)
from tests.unit.wings.interchange.openai_evals.conftest import a_run, an_eval, an_item

from evenhand.core.encoding import encode
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.importers.registry import read_runs

HUGE = 10**400


def changed(tool: str, folder: Path, stem: str, change: Callable[[list[Any]], None]) -> Recordings:
    """The export of a tool, with one of its files changed."""
    paths = EXPORTS[tool](folder)
    path = next(one for one in paths if one.stem.startswith(stem))
    text = path.read_text("utf-8")
    values = [json.loads(line) for line in text.splitlines()]
    change(values)
    saved(path, *values)
    return read_runs(paths, tool)


def outcomes(read: Recordings, run: int = 0) -> list[str]:
    """The outcomes of a run's trials; everything about them can be kept."""
    trials = list(read.runs[run].trials())
    encode([[one.metadata, one.vars, [o.metadata for o in one.outcomes]] for one in trials])
    return [one.outcome for one in trials]


def notes(read: Recordings) -> str:
    """All notes, a line each."""
    return "\n".join(f"{one.where}: {one.text}" for one in read.notes)


def test_a_verdict_of_deepevals_that_is_no_truth_value_is_an_error(tmp_path: Path):
    """It was decided, and nobody can say how."""

    def change(values: list[JSON]) -> None:
        first, second, third = values[0]["testRunData"]["testCases"]
        first["metricsData"][0].update(score="0.1", success="false")
        second.update(metricsData=None, success=True, tokenCost=HUGE, actualOutput="cut \ud83d")
        third.update(metricsData=[], success=None, name="Grüße 🎈")
        values[0]["testRunData"]["hyperparameters"] = None

    read = changed("deepeval", tmp_path, "before", change)
    assert outcomes(read, -1) == ["error", "pass", "not_applicable"]
    for part in (
        "metricsData[0].score: is '0.1'",
        "metricsData[0].success: is 'false'",
        "tokenCost",
    ):
        assert part in notes(read), part


def test_truth_values_of_a_ragas_table_are_verdicts_and_what_is_infinite_is_kept(tmp_path: Path):
    """As pandas writes them."""
    path = tmp_path / "r.csv"
    path.write_text(
        "user_input,response,ok,f\na,x,True,0.5\nb,y,False,nan\nc,z,True,inf\n", "utf-8"
    )
    read = read_runs([path], "ragas")
    assert outcomes(read) == ["pass", "fail", "pass"]
    assert "'f' is inf, no number" in notes(read)


def test_a_ragas_column_of_numbers_and_texts_is_named(tmp_path: Path):
    """It was probably a metric, and is kept as a variable."""
    rows = [{"user_input": str(i), "ok": True, "f": one} for i, one in enumerate(["0.5", "n/a", 1])]
    read = read_runs([saved(tmp_path / "r.jsonl", *rows)], "ragas")
    assert outcomes(read) == ["pass"] * 3
    assert "'f' has numbers and other values" in notes(read)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_python_writes_and_json_has_not_is_read_and_is_no_score(tmp_path: Path, word: str):
    """The harness and Ragas' tables have it where a metric came to nothing."""
    rows = [{"user_input": "a", "f": 7.5}, {"user_input": "b", "f": 0.5}]
    path = saved(tmp_path / "r.jsonl", *rows)
    path.write_text(path.read_text("utf-8").replace("7.5", word), "utf-8")
    first = next(iter(read_runs([path], "ragas").runs[0].trials()))
    assert first.score is None
    assert first.outcome == ("error" if word == "NaN" else "not_applicable")
    files = EXPORTS["lm-eval"](tmp_path)
    files[0].write_text(
        files[0].read_text("utf-8").replace('"exact_match": 0.0', f'"exact_match": {word}', 1),
        "utf-8",
    )
    read = read_runs(files, "lm-eval")
    assert outcomes(read) == ["fail", "pass", "pass"]
    assert f"is '{word}', no number" in notes(read) or word == "NaN"


def test_rows_of_langfuse_without_ids_are_read_or_named(tmp_path: Path):
    """Two items without an id are two cases; a row of a run without an item belongs to no case."""

    def change(values: list[JSON]) -> None:
        values[0]["data"][0].pop("id")
        values[0]["data"][1]["id"] = None

    def unlink(values: list[JSON]) -> None:
        values[0]["datasetRunItems"][0]["datasetItemId"] = None

    assert len(changed("langfuse", tmp_path / "a", "items", change).datasets[0].cases) == 3
    read = changed("langfuse", tmp_path / "b", "before", unlink)
    assert outcomes(read) == ["pass", "pass"]
    assert "before.json $.datasetRunItems[0]: a row of a run that names no item" in notes(read)


def test_an_item_of_langfuse_that_is_there_twice_and_differs_is_named(tmp_path: Path):
    """The last one counts."""
    read = changed(
        "langfuse", tmp_path, "items",
        lambda values: values[0]["data"].append({**values[0]["data"][0], "input": "another"}),
    )  # fmt: skip
    assert "item 'item-a' is there again, and differs" in notes(read)
    assert read.datasets[0].cases[0].input == "another"


def test_scores_of_langfuse_that_are_texts_are_kept_and_decide_nothing(tmp_path: Path):
    """So are they null, and a trace without scores has no verdict."""

    def change(values: list[JSON]) -> None:
        values[0]["scores"][0]["value"] = "1"
        values[0]["scores"][2]["stringValue"] = None
        values[1].update(scores=None, latency="fast", totalCost=True, observations=None)

    read = changed("langfuse", tmp_path, "traces", change)
    assert outcomes(read) == ["not_applicable", "not_applicable", "pass"]
    for part in ("'correct' is '1', no number", "latency: is 'fast'", "totalCost: is true"):
        assert part in notes(read), part


@pytest.mark.parametrize("type_", ["CORRECTION", "CATEGORICAL", "TEXT"])
@pytest.mark.parametrize("text", [{"stringValue": "Lyon"}, {"stringValue": None}, {}])
def test_the_number_of_a_score_of_langfuse_that_is_a_text_decides_nothing(
    tmp_path: Path, type_: str, text: JSON
):
    """A correction has 0 there, whatever it says, and so has a category without a mapping."""

    def change(values: list[JSON]) -> None:
        base = {"id": "x", "traceId": "t0b", "name": "fix", "dataType": type_, "value": 0}
        values[1]["scores"].append(base | text)

    assert outcomes(changed("langfuse", tmp_path, "traces", change)) == ["fail", "pass", "pass"]


def test_what_took_less_than_no_time_or_cost_less_than_nothing_is_named(tmp_path: Path):
    """It is not known then."""

    def langfuse(values: list[JSON]) -> None:
        values[0].update(latency=-3, totalCost=-0.5)

    def phoenix(values: list[list[JSON]]) -> None:
        values[0][0]["latency_ms"] = -1

    def langsmith(values: list[list[JSON]]) -> None:
        values[0][1].update(end_time="2026-10-01T10:00:00+02:00", total_cost=-1)

    def braintrust(values: list[JSON]) -> None:
        values[0]["events"][0]["metrics"] = {"start": 2, "end": 1, "prompt_tokens": -3}

    for tool, stem, change, said in (
        ("langfuse", "traces", langfuse, ("latency: is -3.0, not", "totalCost: is -0.5, not")),
        ("phoenix", "RXhw0", phoenix, ("latency_ms: is -1.0, not a number from 0 up",)),
        ("langsmith", "runs", langsmith, ("end_time: is before", "total_cost: is -1.0, not")),
        ("braintrust", "before", braintrust, ("metrics.end: is before the start",)),
    ):
        read = changed(tool, tmp_path / tool, stem, change)
        first = next(iter(read.runs[0].trials()))
        assert (first.latency_s, first.cost_usd) == (None, None), tool
        for part in said:
            assert part in notes(read), part


def test_a_column_of_a_table_that_is_there_again_is_read_too(tmp_path: Path):
    """Under the name that pandas gives it."""
    path = tmp_path / "r.csv"
    path.write_text("user_input,ok,ok,ok.1,ok\na,1,0,1,1\nb,1,1,1,1\n", "utf-8")
    read = read_runs([path], "ragas")
    first = next(iter(read.runs[0].trials()))
    assert first.named_scores == {"ok": 1, "ok.2": 0, "ok.1": 1, "ok.3": 1}


def test_runs_of_langsmith_without_an_experiment_are_read_as_one(tmp_path: Path):
    """And that is said."""
    read = changed(
        "langsmith", tmp_path, "runs",
        lambda values: [one.pop("session_id", None) for one in values[0]] and None,
    )  # fmt: skip
    assert len(outcomes(read)) == 6
    assert "runs that name no experiment are read as one" in notes(read)


def test_a_run_of_langsmith_counts_once_and_whatever_its_error_is_it_is_one(tmp_path: Path):
    """Pages overlap; an error may be an object; a price may be no price."""

    def change(values: list[list[JSON]]) -> None:
        runs = values[0]
        runs[1]["error"] = {"code": 429}
        runs[2]["total_cost"], runs[3]["total_cost"] = "NaN", "-1"
        runs.append(dict(runs[2]))

    read = changed("langsmith", tmp_path, "runs", change)
    assert outcomes(read) == ["error", "not_applicable", "not_applicable"]
    for part in ("runs that are there again", "total_cost: is 'NaN'", "total_cost: is '-1'"):
        assert part in notes(read), part


def test_feedback_of_langsmith_may_be_a_truth_value_and_a_text_decides_nothing(tmp_path: Path):
    """A value beside a score of null counts, if it is a number."""

    def change(values: list[JSON]) -> None:
        values[0]["score"], values[1]["score"] = True, "0.5"
        values[2].update(score=None, value={"x": 1})

    read = changed("langsmith", tmp_path, "feedback", change)
    assert outcomes(read) == ["pass", "not_applicable", "not_applicable"]
    assert "'correct' is '0.5', no number" in notes(read)


def test_an_event_of_braintrust_counts_once_and_whatever_its_error_is_it_is_one(tmp_path: Path):
    """Huge numbers and objects as scores are kept, and decide nothing."""

    def change(values: list[JSON]) -> None:
        events = values[0]["events"]
        events[2]["scores"] = {"Exact": "1", "Big": HUGE, "Nested": {"score": 1}, "Yes": True}
        events[4].update(scores=None, error={"message": "x"}, created=None)
        events.append(dict(events[0]))

    read = changed("braintrust", tmp_path, "before", change)
    assert outcomes(read) == ["not_applicable", "pass", "error"]
    for part in (
        "events that are there again",
        "'Big' is a number of more than 38",
        "'Nested' is an",
    ):
        assert part in notes(read), part


def test_an_experiment_of_braintrust_without_a_time_says_so(tmp_path: Path):
    """Nor with its roots marked, nor with where its rows are from."""

    def change(values: list[JSON]) -> None:
        values[0].pop("experiment")
        for one in values[0]["events"]:
            for key in ("created", "is_root", "origin", "metrics"):
                one.pop(key, None)

    read = changed("braintrust", tmp_path, "before", change)
    assert outcomes(read) == ["not_applicable"] * 3
    assert "says no time: the run is dated 1970" in notes(read)


def test_annotations_of_phoenix_may_be_missing_texts_or_errors(tmp_path: Path):
    """And an example may have no id."""

    def change(values: list[list[JSON]]) -> None:
        first, second, third = values[0]
        first["annotations"][0].update(score="1", label=None)
        first.update(latency_ms="x", example_id=None)
        second.update(annotations=None, repetition_number=None)
        third["annotations"][0]["error"] = {"why": "boom"}
        third.update(repetition_number=2, reference_output=None)

    read = changed("phoenix", tmp_path, "RXhw0", change)
    assert outcomes(read) == ["not_applicable", "not_applicable", "error"]
    for part in ("'correct' is '1', no number", "latency_ms: is 'x'"):
        assert part in notes(read), part


def test_documents_of_the_harness_may_lack_an_id_and_metrics_be_texts(tmp_path: Path):
    """A verdict of the harness's that is null is an error."""

    def change(values: list[JSON]) -> None:
        values[0]["exact_match"] = "0"
        values[2]["doc_id"] = values[3]["doc_id"] = None
        values[4]["exact_match"], values[5]["exact_match"] = None, {"a": 1}

    read = changed("lm-eval", tmp_path, "samples", change)
    assert outcomes(read) == ["fail", "pass", "error"]
    assert "'exact_match,strict' is '0', no number" in notes(read)


def test_a_case_of_pydantic_evals_may_have_no_name_and_nulls_for_everything(tmp_path: Path):
    """What failed is an error, and a name that is there again is a repeat."""
    base: JSON = {"name": "c", "inputs": {"q": "é"}, "output": "x", "task_duration": 0.1}
    cases = [
        {**base, "assertions": {"ok": {"value": True}}, "scores": {"s": {"value": "0.5"}}},
        {**base, "assertions": {"ok": {"value": False}}, "scores": {"u": 0.7}},
        {**base, "name": None, "scores": None, "labels": None, "assertions": None, "metrics": None},
        {**base, "name": "d", "evaluator_failures": [{"name": None, "error_message": None}]},
    ]
    failed = [{"name": "e", "inputs": None, "error_message": {"why": "boom"}}]
    report = {"name": "exp", "trace_id": None, "cases": cases, "failures": failed}
    read = read_runs([saved(tmp_path / "r.json", report)], "pydantic-evals")
    assert outcomes(read) == ["pass", "fail", "not_applicable", "error", "error"]
    for part in ("'s' is '0.5', no number", "scores.u: is 0.7, not an object"):
        assert part in notes(read), part


def test_a_log_of_inspects_may_have_epochs_nulls_and_scores_of_any_type(tmp_path: Path):
    """What is no score decides nothing; an error is one whatever was scored."""
    samples = [
        a_sample("a", 1, scores={"inc": {"value": "C"}, "f": {"value": "0.5"}}),
        a_sample("a", 2, scores={"inc": {"value": "I"}, "f": {"value": float("nan")}}),
        a_sample("a", 3, scores=None, metadata=None, store=None),
        a_sample("b", 1, scores={"inc": {"value": True}}, target=["4", "four"], total_time=None),
        a_sample("b", 2, error={"message": "boom", "traceback": "t"}),
        a_sample("ü", 1, model_usage=None, output={"choices": []}),
    ]
    read = read_runs([deflated(tmp_path / "a.eval", members(*samples))], "inspect")
    assert sorted(outcomes(read)) == ["error", "fail", "not_applicable", "pass", "pass", "pass"]
    assert "scores.f.value: is '0.5', which is not a score" in notes(read)


def test_a_log_of_inspects_from_before_there_were_several_scores_has_one(tmp_path: Path):
    """Its samples have `score` in place of `scores`."""
    samples = [a_sample(id_, score={"value": value}) for id_, value in (("a", "C"), ("b", "I"))]
    for one in samples:
        del one["scores"]
    read = read_runs([saved(tmp_path / "a.json", a_header() | {"samples": samples})], "inspect")
    assert outcomes(read) == ["pass", "fail"]


def test_a_log_of_inspects_in_json_may_have_ids_twice_and_huge_numbers(tmp_path: Path):
    """The first one counts."""
    scores = {"inc": {"value": HUGE}}
    samples = [a_sample(1, 1, scores=scores), a_sample("1", 1), a_sample(None, 1), a_sample(2)]
    path = saved(tmp_path / "a.json", a_header() | {"samples": samples})
    read = read_runs([path], "inspect")
    assert outcomes(read) == ["not_applicable", "pass"]
    for part in ("is in the log twice", "has no id", "a number of more than 38 digits"):
        assert part in notes(read), part


def test_output_items_of_openai_may_have_verdicts_of_other_types(tmp_path: Path):
    """Neither a text nor null is a verdict; what appears twice is read once."""
    first, *others = (json.loads(json.dumps(an_item())) for _ in range(4))
    for number, one in enumerate(others, 2):
        one.update(id=f"o{number}", datasource_item_id=number)
    others[0]["results"][0].update(passed="true", score="0.5")
    others[1]["results"] = None
    others[2]["results"][0].update(passed=None, score=HUGE)
    path = saved(tmp_path / "x.jsonl", an_eval(), a_run(total=4), first, *others, first)
    read = read_runs([path], "openai-evals")
    assert outcomes(read) == ["pass", "error", "pass", "error"]
    for part in ("passed: is 'true'", "is in the files twice", "a number of more than 38 digits"):
        assert part in notes(read), part


@pytest.mark.parametrize(
    ("tool", "value", "says"),
    [
        ("deepeval", {"testRunData": {"testCases": []}}, "the test run has no test cases"),
        ("pydantic-evals", {"name": "e", "cases": [], "failures": []}, "report 'e' has no cases"),
    ],
)
def test_an_export_with_nothing_in_it_says_so(tmp_path: Path, tool: str, value: JSON, says: str):
    """An empty list is no run."""
    read = read_runs([saved(tmp_path / "e.json", value)], tool)
    assert not read.runs
    assert says in notes(read)


def test_a_sum_of_langfuses_over_nothing_is_not_known(tmp_path: Path):
    """It writes 0 for the cost of calls without a price, and for the time of a trace without observations."""

    def change(values: list[JSON]) -> None:
        values[0].update(totalCost=0, latency=0)

    first, second, *_ = changed("langfuse", tmp_path, "traces", change).runs[0].trials()
    assert (first.cost_usd, first.latency_s) == (None, None)
    assert (second.cost_usd, second.latency_s) == (0.001, 1.5)


def test_deepeval_says_who_judged(tmp_path: Path):
    """Of a metric that a model computes. Another judge is found by that where two runs are compared."""
    first, *_ = changed("deepeval", tmp_path, "before", lambda _: None).runs[0].trials()
    assert [one.metadata.get("judge") for one in first.outcomes] == ["gpt-5", None]

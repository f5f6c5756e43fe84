"""Runs of OpenAI's Evals: what each of their parts becomes, and that nothing is lost without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.interchange.openai_evals.conftest import (
    EQUAL,
    a_result,
    a_run,
    a_sample,
    an_eval,
    an_item,
    saved,
)

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.doors.importers.registry import Recordings, read_runs


def read(folder: Path, *values: Any) -> Recordings:
    """What an export of these objects comes to."""
    return read_runs([saved(folder / "export.jsonl", *values)], "openai-evals")


def trials(recordings: Recordings) -> list[TrialResult]:
    """The trials of the only run."""
    (run,) = recordings.runs
    return list(run.trials())


def texts(recordings: Recordings, kind: str) -> list[str]:
    """The notes of a kind, with their places."""
    return [f"{one.where}: {one.text}" for one in recordings.notes if one.kind == kind]


def test_an_output_item_becomes_a_trial_with_an_outcome_for_each_grader(tmp_path: Path):
    """Verdict, score, bound, answer, prompt, variables, expected, usage and model are those of the file."""
    close = {
        "type": "text_similarity",
        "name": "close",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.right }}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.8,
    }
    results = [a_result(), a_result(name="close", type="text_similarity", score=0.5, passed=False)]
    recordings = read(tmp_path, an_eval(EQUAL, close), a_run(), an_item(results=results))
    (one,) = trials(recordings)
    assert (one.outcome, one.score, one.output, one.expected) == ("fail", 0.5, "4", "4")
    assert [(o.name, o.outcome, o.score, o.at_least) for o in one.outcomes] == [
        ("equal", "pass", 1.0, None),
        ("close", "fail", 0.5, 0.8),
    ]
    assert one.vars == {"sum": "2 + 0", "right": "4"}
    assert json.loads(one.prompt) == [{"role": "user", "content": "2 + 2"}]
    assert (one.tokens_in, one.tokens_out, one.cost_usd, one.latency_s) == (7, 5, None, None)
    assert one.answer.model == "gpt-4o-mini-2024-07-18"
    assert one.answer.finish_reason == "stop"
    kept = one.metadata["openai"]
    assert kept["output_item"] == "outputitem_0"
    assert kept["sample"] == {
        "max_completion_tokens": 100, "seed": 42, "temperature": 0.0, "top_p": 1.0,
    }  # fmt: skip
    assert kept["usage"] == {"cached_tokens": 2}
    meta = recordings.runs[0].meta
    assert (meta.title, meta.variants[0].model, meta.created_at) == (
        "Sums",
        "openai:chat:gpt-4o-mini",
        1_790_000_100,
    )
    assert meta.config["run"]["data_source"]["sampling_params"] == {"temperature": 0.0}
    assert meta.config["eval"]["metadata"] == {"team": "maths"}


def test_an_error_is_an_error_and_never_a_score(tmp_path: Path):
    """Of the model, of a grader, and one that is only said of the item."""
    failed = a_sample(error={"code": "rate_limit", "message": "slow down"}, output=[])
    items = [
        an_item(0, status="error", results=[], sample=failed),
        an_item(1, status="error", results=[]),
        an_item(2, results=[a_result()]) | {"results": [{"name": "equal", "passed": None}]},
    ]
    first, second, third = trials(read(tmp_path, an_eval(), a_run(total=3), *items))
    assert [(t.outcome, t.score) for t in (first, second, third)] == [("error", None)] * 3
    assert first.reason == "rate_limit: slow down"
    assert second.reason == "OpenAI recorded an error, and no reason"
    assert "no verdict" in third.reason
    assert third.outcomes[0].score is None


def test_a_row_that_is_there_again_is_a_repeat_and_pairs_across_runs(tmp_path: Path):
    """A case is known by what its row says."""
    again = an_item(3, datasource_item={"right": "4", "sum": "2 + 0"})
    run = a_run("evalrun_2", created_at=1_790_000_900)
    other = an_item(9, run_id="evalrun_2", datasource_item={"item": {"sum": "2 + 0", "right": "4"}})
    recordings = read(tmp_path, an_eval(), run, a_run(total=2), an_item(0), again, other)
    earlier, later = recordings.runs
    cases = [(t.case, t.repeat) for t in earlier.trials()]
    assert [repeat for _, repeat in cases] == [0, 1]
    assert {case for case, _ in cases} == {t.case for t in later.trials()}
    assert later.meta.created_at > earlier.meta.created_at


def test_a_models_grades_keep_the_model_its_reply_and_its_tokens(tmp_path: Path):
    """They are counted apart from the subject's, and make the metric a judged one."""
    label = {
        "type": "label_model", "name": "kind", "model": "gpt-4.1", "labels": ["yes", "no"],
        "passing_labels": ["yes"], "input": [{"role": "user", "content": "{{ item.sum }}"}],
    }  # fmt: skip
    sample = a_sample('{"result": "yes"}', model="gpt-4.1-2025")
    result = a_result(name="kind-0f0a5e1e-8a43-4f3e-9d52-6e0a3c1f7b11", sample=sample)
    (one,) = trials(read(tmp_path, an_eval(label), a_run(), an_item(results=[result])))
    (outcome,) = one.outcomes
    assert (outcome.name, outcome.metadata["judge"]) == ("kind", "gpt-4.1-2025")
    assert outcome.reason == '{"result": "yes"}'
    assert outcome.metadata["asked"] == "2 + 2"
    assert one.judged is not None
    assert (one.judged.calls, one.judged.tokens_in, one.judged.tokens_out) == (1, 7, 5)
    assert (one.tokens_in, one.tokens_out) == (14, 10)


def test_a_score_below_its_threshold_is_the_reason_of_a_failure(tmp_path: Path):
    """For graders that give no reasons; one that passed, or failed by a verdict alone, has none."""
    close = {
        "type": "text_similarity", "name": "close", "evaluation_metric": "rouge_l",
        "input": "{{ sample.output_text }}", "reference": "{{ item.right }}", "pass_threshold": 0.5,
    }  # fmt: skip
    results = [
        [a_result(name="close", passed=score >= 0.5, score=score), a_result(passed=False)]
        for score in (0.25, 0.75)
    ]
    items = [an_item(number, results=each) for number, each in enumerate(results)]
    whole = trials(read(tmp_path, an_eval(close, EQUAL), a_run(total=2), *items))
    reasons = [[outcome.reason for outcome in one.outcomes] for one in whole]
    assert reasons == [["0.25, wanted at least 0.5", ""], ["", ""]]


@pytest.mark.parametrize("form", ["lines", "array", "pages", "wrapped", "files", "nested"])
def test_whatever_form_the_objects_were_saved_in_they_are_found(tmp_path: Path, form: str):
    """Lines, an array, pages of lists, a dict of one's own, a file each, items in their run."""
    objects = [an_eval(), a_run(total=2), an_item(0), an_item(1)]
    page = {"object": "list", "data": objects[2:], "has_more": False, "first_id": "a"}
    run = a_run(total=2) | {"output_items": page}
    paths = [tmp_path / f"{i}.json" for i in range(4)]
    match form:
        case "files":
            for path, one in zip(paths, objects, strict=True):
                path.write_text(json.dumps(one, indent=1), "utf-8")
        case "lines":
            paths = [saved(tmp_path / "a.jsonl", *objects)]
        case _:
            whole = {
                "array": objects,
                "pages": [*objects[:2], page],
                "wrapped": {"eval": objects[0], "runs": [objects[1]], "items": objects[2:]},
                "nested": [objects[0], run],
            }
            paths = [paths[0]]
            paths[0].write_text("\ufeff" + json.dumps(whole[form], indent=2), "utf-8")
    recordings = read_runs(paths, "openai-evals")
    assert [t.outcome for t in trials(recordings)] == ["pass", "pass"]
    assert texts(recordings, "left_out") == []
    assert texts(recordings, "changed") == []


def test_outputs_that_were_in_the_data_are_shown_as_outputs(tmp_path: Path):
    """Of an eval that asked no model: what its graders grade is a field of the row."""
    criterion = EQUAL | {"input": "{{ item.answer }}"}
    source = {
        "type": "jsonl",
        "source": {"type": "file_content", "content": [{"item": {"answer": "5", "right": "4"}}]},
    }
    item = an_item(datasource_item={"answer": "5", "right": "4"}) | {"sample": None}
    run = a_run(data_source=source, model="")
    recordings = read(tmp_path, an_eval(criterion), run, item)
    (one,) = trials(recordings)
    assert (one.output, one.expected, one.tokens_in) == ("5", "4", None)
    meta = recordings.runs[0].meta
    assert meta.variants[0].model == "recorded outputs"
    assert meta.config["run"]["data_source"]["source"] == {"type": "file_content"}


def test_tool_calls_and_several_messages_are_kept_whole(tmp_path: Path):
    """An output that is more than a text stays what it was."""
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    (one,) = trials(read(tmp_path, an_eval(), a_run(), an_item(sample=a_sample(output=messages))))
    assert one.output == [{"role": "assistant", "tool_calls": [call]}]


def test_what_is_missing_or_contradicts_itself_is_said_with_its_place(tmp_path: Path):
    """Pages that were not fetched, runs without items, doubles, other objects, unlike verdicts."""
    page = {"object": "list", "data": [an_item(0)], "has_more": True}
    unlike = an_item(1, results=[a_result(passed=False)], status="pass")
    recordings = read(
        tmp_path,
        an_eval(),
        a_run(total=100, status="canceled"),
        a_run("evalrun_empty"),
        page,
        an_item(0),
        unlike,
        unlike | {"status": "weird"},
        {"object": "batch", "id": "b"},
        {"item": {"sum": "1 + 3", "right": "4"}},
        {"object": "eval.run", "eval_id": "eval_1"},
        an_item(5) | {"run_id": "evalrun_gone"},
    )
    left, changed = texts(recordings, "left_out"), texts(recordings, "changed")
    for start in (
        "export.jsonl:4 $: is a page of a longer list (has_more)",
        "export.jsonl:8 $: 'object' is 'batch'",
        "export.jsonl:10 $: this eval.run has no id",
        "export.jsonl:2 $: the run has 100 output items, and the files 2",
        "export.jsonl:3 $: run 'evalrun_empty' has no output items",
        "export.jsonl:9 $: the rows of 'export' are not results",
    ):
        assert [one for one in left if one.startswith(start)], start
    for start in (
        "export.jsonl:5 $: is in the files twice",
        "export.jsonl:7 $: differs from what export.jsonl:6 $ says",
        "export.jsonl:7 $.status: is 'weird'",
        "export.jsonl:2 $.status: is 'canceled'",
        "export.jsonl:11 $: the run itself is not in the files",
    ):
        assert [one for one in changed if one.startswith(start)], start
    assert len(recordings.runs) == 2


@pytest.mark.parametrize("passed", [[False], [True, False]])
def test_a_status_that_its_results_contradict_counts_and_is_noted(
    passed: list[bool], tmp_path: Path
):
    """What OpenAI counted is what is imported; one failed result among passed ones contradicts a pass."""
    item = an_item(results=[a_result(passed=one) for one in passed], status="pass")
    recordings = read(tmp_path, an_eval(), a_run(), item)
    assert trials(recordings)[0].outcome == "pass"
    (note,) = texts(recordings, "changed")
    assert "unlike what its results come to: the status counts" in note


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("results", "none"),
        ("results", [3]),
        ("results", [{"name": 3, "passed": "yes", "score": "high"}]),
        ("results", [{"name": "equal", "passed": True, "score": 10**400}]),
        ("sample", [1]),
        ("sample", {"usage": {"prompt_tokens": 10**30, "completion_tokens": -1}, "output": 5}),
        ("datasource_item", "row"),
        ("datasource_item_id", "x"),
        ("status", 7),
        ("created_at", 10**40),
    ],
)
def test_a_part_of_the_wrong_kind_is_noted_with_its_path_and_the_rest_is_read(
    tmp_path: Path, part: str, value: object
):
    """No wrong part ends the import, and none becomes a number."""
    recordings = read(tmp_path, an_eval(), a_run(created_at=1), an_item() | {part: value})
    (one,) = trials(recordings)
    assert one.score is None or one.score in (0.0, 1.0)
    assert one.tokens_in in (None, 7)
    if part not in ("datasource_item_id", "created_at"):
        assert any(f"$.{part}" in text for text in texts(recordings, "left_out")), part


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("{", "is not JSON"),
        ('{"object": "eval"\n"a": 1}', "is not JSON"),
        ('{"object": "eval", "id": "e"}\n{"b', ":2 is not JSON"),
        ("[NaN]", "holds no evals"),
        ("[1e999]", "too large"),
        ("[" * 100 + "]" * 100, "levels deep"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[]", "holds no evals"),
        ('"text"', "holds no evals"),
        ('{"object": "batch"}', "holds no evals"),
        ('{"prompts": [], "providers": []}', "is a promptfoo config"),
        ('{"evalId": "e", "results": {"version": 3}}', "results in promptfoo's format"),
    ],
)
def test_a_file_that_holds_nothing_to_import_is_refused_with_one_message(
    tmp_path: Path, text: str, says: str
):
    """Never with a traceback."""
    path = tmp_path / "export.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as refused:
        read_runs([path], "openai-evals")
    assert says in refused.value.message
    assert str(path) in refused.value.message


def test_an_eval_whose_runs_were_not_saved_says_so(tmp_path: Path):
    """There is nothing to import, and the notes say why."""
    recordings = read(tmp_path, an_eval(), a_run())
    assert recordings.runs == []
    assert "has no output items in the files" in texts(recordings, "left_out")[0]

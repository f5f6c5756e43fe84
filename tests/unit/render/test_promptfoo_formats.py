"""Promptfoo's results in YAML, XML and CSV, what is left out of them, and what each row says."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.runs import Make, result

from evenhand.core.run import AnswerDetails, Judged
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.export import export
from evenhand.store.runfile import RunFile

STRANGE = "\x00\x07 é 😀 \u2028 \ufffe \ud800 <b>&]]> 'q' \"p\" {{x}} - # : \\ \n\ttab\r\n"


def written(run: RunFile, to: Path, format_: str) -> str:
    """What a format says."""
    export(run, to, format_)
    return to.read_text("utf-8")


async def test_yaml_is_the_json_document(make_run: Make, tmp_path: Path) -> None:
    """Whatever text is in it; only when it was exported differs."""
    strange = STRANGE.replace("\ud800", "").replace("\ufffe", "")
    trials = [
        result(0, output=strange, vars={strange: [1, {}, [], None, True, strange]}, prompt=strange),
        result(1, output={"a": {"b": [[1, 2], {"c": 1.5}]}}, metadata={"": ""}),
    ]
    run = await make_run(trials, config={"description": strange})
    read = yaml.safe_load(written(run, tmp_path / "a", "promptfoo-yaml"))
    wanted = json.loads(written(run, tmp_path / "b", "promptfoo"))
    for document in (read, wanted):
        del document["metadata"]["exportedAt"]
    assert read == wanted


async def test_a_lone_surrogate_leaves_the_yaml_readable(make_run: Make, tmp_path: Path) -> None:
    """It is an escape, and all else is as it was."""
    run = await make_run([result(0, output=STRANGE)])
    text = written(run, tmp_path / "a", "promptfoo-yaml")
    assert "\\ud800" in text
    assert "\ud800" not in text


async def test_xml_is_well_formed_whatever_is_in_it(make_run: Make, tmp_path: Path) -> None:
    """Keys that are no names are attributes; text is text."""
    trial = result(0, output=STRANGE, vars={"no name <": 1, "ok": STRANGE}, metadata={"1": None})
    run = await make_run([trial, result(1)])
    root = ET.fromstring(written(run, tmp_path / "a.xml", "promptfoo-xml"))
    rows = root.findall("results/results")
    assert len(rows) == 2
    assert rows[0].find("vars/entry").get("name") == "no name <"  # type: ignore[union-attr]
    assert "<b>&]]>" in (rows[0].findtext("response/output") or "")
    assert root.findtext("results/version") == "3"


async def test_csv_has_a_row_for_each_test(make_run: Make, tmp_path: Path) -> None:
    """Columns of a prompt and model follow each other, JSON has no spaces, what was not run is empty; halves go up."""
    variants = (Variant(0, "p", "A", "p {{x}}"), Variant(1, "p", "B", "p {{x}}"))
    trials = [
        result(
            0,
            case="a",
            score=0.625,
            named_scores={"tone": 1.0},
            vars={"x": {"k": [1, 2]}},
            output=[{"o": "é", "n": None}, 1],
        ),
        result(1, case="a", variant=1, ok=False, reason="no"),
        result(2, case="b", variant=1, ok=None, output=None, description="told"),
    ]
    run = await make_run(trials, variants)
    export(run, tmp_path / "a.csv", "promptfoo-csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        head, first, second = csv.reader(file)
    inside = ["Status", "Score", "Named Scores", "Metric: tone", "Grader Reason", "Comment"]
    assert head == ["Description", "x", "[A] p", *inside, "[B] p", *inside]
    assert first[1:3] == ['{"k":[1,2]}', '[{"o":"é","n":null},1]']
    assert first[3:7] == ["PASS", "0.63", '{"tone":1}', "1.00"]
    assert (first[10], first[14]) == ("FAIL", "no")
    assert second[0] == "told"
    assert second[2:9] == [""] * 7
    assert (second[10], second[14]) == ("ERROR", "asked too often")


async def test_judges_are_counted_apart(make_run: Make, tmp_path: Path) -> None:
    """The subject's tokens, calls and cost are the row's; those of judges stand under assertions."""
    trial = result(
        0, calls=3, tokens_in=30, tokens_out=9, cost_usd=0.5, judged=Judged(2, 20, 4, 0.4),
        answer=AnswerDetails(cost_usd=0.1, finish_reason="stop", metadata={"m": 1}),
    )  # fmt: skip
    document = json.loads(written(await make_run([trial]), tmp_path / "a", "promptfoo"))
    row = document["results"]["results"][0]
    used = row["tokenUsage"]
    assert (used["prompt"], used["completion"], used["numRequests"]) == (10, 5, 1)
    assert (used["assertions"]["total"], used["assertions"]["numRequests"]) == (24, 2)
    assert row["cost"] == 0.1
    assert row["gradingResult"]["tokensUsed"]["prompt"] == 20
    assert row["response"]["finishReason"] == "stop"
    assert row["response"]["metadata"] == row["metadata"] == {"m": 1}
    assert document["results"]["prompts"][0]["metrics"]["cost"] == 0.1
    assert document["results"]["stats"]["tokenUsage"]["assertions"]["total"] == 24


async def test_a_row_has_the_variables_that_transform_vars_made(
    make_run: Make, tmp_path: Path
) -> None:
    """Beside those that are written, of which files are named and not read; without it, as written."""
    written_vars = {"a": "1", "f": "file://long.txt", "t": "{{a}}"}
    made = {"a": "2", "f": "what the file says", "t": "1", "new": [3]}
    options = {"transformVars": "({...vars, a: '2', new: [3]})"}
    for more, vars_ in (
        ({"options": options}, {"a": "2", "f": "file://long.txt", "t": "1", "new": [3]}),
        ({}, written_vars),
    ):
        trial = result(0, vars=made, test={"vars": written_vars, **more})
        document = json.loads(written(await make_run([trial]), tmp_path / "a", "promptfoo"))
        row = document["results"]["results"][0]
        assert row["vars"] == row["testCase"]["vars"] == vars_


async def test_what_a_filter_said_stands_beside_the_output(make_run: Make, tmp_path: Path) -> None:
    """Where promptfoo's scripts look for it."""
    guardrails = {"flagged": True, "reason": "bad"}
    trial = result(0, answer=AnswerDetails(metadata={"guardrails": guardrails}))
    document = json.loads(written(await make_run([trial]), tmp_path / "a", "promptfoo"))
    assert document["results"]["results"][0]["response"]["guardrails"] == guardrails


async def test_assertions_stand_as_they_were_written(make_run: Make, tmp_path: Path) -> None:
    """Those that compare columns come last among the outcomes, wherever they were written."""
    asserts = [
        {"type": "select-best", "value": "the kindest"},
        {"type": "contains", "value": "{{x}}", "weight": 2},
        {"type": "assert-set", "assert": [{"type": "equals", "value": "a"}]},
    ]
    parts = [{"name": "equals", "pass": True, "score": 1.0, "reason": ""}]
    outcomes = (
        Outcome('contains "sea"', "pass", 1.0, weight=2.0),
        Outcome("assert-set of 1", "pass", 1.0, metadata={"components": parts}),
        Outcome("select-best", "pass", 1.0),
    )
    trial = result(0, outcomes=outcomes, test={"assert": asserts})
    document = json.loads(written(await make_run([trial]), tmp_path / "a", "promptfoo"))
    row = document["results"]["results"][0]
    assert row["testCase"]["assert"] == asserts
    found = [part.get("assertion") for part in row["gradingResult"]["componentResults"]]
    assert found == [asserts[1], None, asserts[2]["assert"][0], asserts[0]]


async def test_what_a_grader_says_of_parts_stands_under_its_own_assertion(
    make_run: Make, tmp_path: Path
) -> None:
    """Each part carries the assertion that it is a part of."""
    asserts = [{"type": "python", "value": "file://g.py"}]
    parts = [{"pass": True, "score": 1.0, "reason": "one"}]
    outcomes = (Outcome("python g.py", "pass", 1.0, metadata={"components": parts}),)
    trial = result(0, outcomes=outcomes, test={"assert": asserts})
    document = json.loads(written(await make_run([trial]), tmp_path / "a", "promptfoo"))
    found = document["results"]["results"][0]["gradingResult"]["componentResults"]
    assert [part["assertion"] for part in found] == [asserts[0], asserts[0]]


async def test_the_parts_of_a_verdict_count_for_its_metric(make_run: Make, tmp_path: Path) -> None:
    """Of a grader, its parts and itself; of a set, its assertions, also those that weigh nothing."""
    asked = Outcome(
        "python", "pass", 1.0, metric="m", metadata={"components": [{"pass": True}] * 2}
    )
    several = Outcome(
        "assert-set of 1",
        "pass",
        0.0,
        named_weights={"info": 0.0},
        metadata={"components": [{"pass": True, "metric": "info"}]},
    )
    run = await make_run([result(0, outcomes=(asked, several), named_scores={"m": 1.0})])
    document = json.loads(written(run, tmp_path / "a", "promptfoo"))
    metrics = document["results"]["prompts"][0]["metrics"]
    assert metrics["namedScores"] == {"m": 1.0, "info": 0.0}
    assert metrics["namedScoresCount"] == {"m": 3, "info": 1}


@pytest.mark.parametrize(
    ("name", "path", "stripped"),
    [
        ("PROMPT_TEXT", ("prompt", "raw"), "[prompt stripped]"),
        ("RESPONSE_OUTPUT", ("response", "output"), "[output stripped]"),
        ("TEST_VARS", ("vars",), {}),
        ("GRADING_RESULT", ("gradingResult",), None),
        ("METADATA", ("metadata",), {}),
    ],
)
async def test_what_the_environment_strips_is_not_there(
    make_run: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    path: tuple[str, ...],
    stripped: Any,
) -> None:
    """PROMPTFOO_STRIP_…=true; `false` strips nothing."""
    run = await make_run([result(0, prompt="p", vars={"x": 1}, metadata={"m": 1})])

    def found() -> Any:
        value = json.loads(written(run, tmp_path / "a", "promptfoo-jsonl"))
        for key in path:
            value = value[key]
        return value

    monkeypatch.setenv(f"PROMPTFOO_STRIP_{name}", "false")
    assert found() != stripped
    monkeypatch.setenv(f"PROMPTFOO_STRIP_{name}", "true")
    assert found() == stripped


async def test_a_csv_has_the_variables_in_the_order_of_the_tests(
    make_run: Make, tmp_path: Path
) -> None:
    """Not in that of the alphabet: scripts read columns by their place."""
    trials = [result(0, vars={"z": 1, "a": 2}), result(1, case="other", vars={"b": 3, "a": 4})]
    head = written(await make_run(trials), tmp_path / "a.csv", "promptfoo-csv").splitlines()[0]
    assert head.startswith("z,a,b,[")


async def test_a_runs_own_description_is_that_of_its_config(make_run: Make, tmp_path: Path) -> None:
    """`--description` goes over what the config says."""
    run = await make_run([result(0)], config={"description": "as written", "tags": {"a": "b"}})
    config = json.loads(written(run, tmp_path / "a", "promptfoo"))["config"]
    assert config == {"description": run.meta.title, "tags": {"a": "b"}}
    assert run.meta.title != "as written"


async def test_a_metric_and_a_number_of_one_name_count_once(make_run: Make, tmp_path: Path) -> None:
    """In the sums of a column, too."""
    outcomes = (Outcome("javascript", "pass", 0.4, metric="m", named={"m": 0.3, "n": 1.0}),)
    run = await make_run([result(0, outcomes=outcomes, named_scores={"m": 0.4, "n": 1.0})])
    metrics = json.loads(written(run, tmp_path / "a", "promptfoo"))["results"]["prompts"][0]
    assert metrics["metrics"]["namedScores"] == {"m": 0.4, "n": 1.0}


async def test_derived_metrics_stand_beside_the_others(make_run: Make, tmp_path: Path) -> None:
    """Worked out from each column's sums, weights and all."""
    outcomes = (Outcome("contains", "pass", 1.0, weight=2.0, metric="m"),)
    config = {"derivedMetrics": [{"name": "d", "value": "m / __count"}]}
    trials = [result(i, outcomes=outcomes, named_scores={"m": 1.0}) for i in range(4)]
    run = await make_run(trials, config=config)
    document = json.loads(written(run, tmp_path / "a", "promptfoo"))
    metrics = document["results"]["prompts"][0]["metrics"]
    assert metrics["namedScores"] == {"m": 8.0, "d": 2.0}
    assert (metrics["namedScoresCount"], metrics["namedScoreWeights"]) == ({"m": 4}, {"m": 8.0})


async def test_a_run_of_eval_sets_is_written_in_our_own_formats(
    make_run: Make, tmp_path: Path
) -> None:
    """Endings that only promptfoo's results have say no format for it."""
    run = await make_run([result(0)], (Variant(0, "p", "m", eval="set · answers"),))
    export(run, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["schema"].startswith("evenhand.run/")
    export(run, tmp_path / "a.xml")
    assert (tmp_path / "a.xml").read_text().count("<testcase") == 1

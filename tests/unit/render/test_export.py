from __future__ import annotations

import csv
import io
import json
import os
import stat
import threading
from pathlib import Path

import pytest
import yaml
from tests.runs import Make, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import TrialError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render import export as module
from evenhand.render.export import export
from evenhand.store.runfile import RunFile


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "promptfoo", "JSON", "yaml", "txt"])
async def test_the_ending_says_the_format(
    summaries_run: RunFile, tmp_path: Path, suffix: str
) -> None:
    """Every format holds all trials, and nothing but the file is left in the folder."""
    to = tmp_path / "out" / f"results.{suffix}"
    to.parent.mkdir()
    assert export(summaries_run, to) == 24
    assert list(to.parent.iterdir()) == [to]
    text = to.read_text(encoding="utf-8")
    rows = {
        "json": lambda: json.loads(text)["results"]["results"],
        "jsonl": lambda: [json.loads(line) for line in text.splitlines()],
        "csv": lambda: [
            cell
            for row in csv.reader(io.StringIO(text))
            for cell in row
            if cell in ("PASS", "FAIL")
        ],
        "promptfoo": lambda: json.loads(text)["results"]["results"],
        "yaml": lambda: yaml.safe_load(text)["results"]["results"],
        "txt": lambda: yaml.safe_load(text)["results"]["results"],
    }[suffix.lower()]()
    assert len(rows) == 24


async def test_jsonl_has_the_documents_trials(summaries_run: RunFile, tmp_path: Path) -> None:
    """One trial a line, the same keys."""
    export(summaries_run, tmp_path / "a.json", "json")
    export(summaries_run, tmp_path / "a.jsonl", "jsonl")
    trials = json.loads((tmp_path / "a.json").read_text())["trials"]
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == trials


async def test_a_format_by_name_goes_before_the_ending(
    summaries_run: RunFile, tmp_path: Path
) -> None:
    """`--format jsonl --to x.txt` is JSON lines."""
    export(summaries_run, tmp_path / "x.txt", "jsonl")
    assert len((tmp_path / "x.txt").read_text().splitlines()) == 24


async def test_a_dash_is_stdout(summaries_run: RunFile, capsys: pytest.CaptureFixture[str]) -> None:
    """Results go to stdout, and only they."""
    assert export(summaries_run, Path("-"), "json") == 24
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 24


@pytest.mark.parametrize(
    ("name", "format_", "words"),
    [
        ("x.xlsx", None, "the ending '.xlsx' names no format"),
        ("x", None, "the name has no ending"),
        ("-", None, "does not say in which format"),
        ("x.json", "yaml", "--format 'yaml' is not known"),
        ("", None, "is a folder"),
        ("nowhere/x.json", None, "there is no folder"),
    ],
)
async def test_what_cannot_be_written_is_refused_in_words(
    summaries_run: RunFile, tmp_path: Path, name: str, format_: str | None, words: str
) -> None:
    """Each mistake has its message and says what to do."""
    with pytest.raises(UsageError, match=words) as caught:
        export(summaries_run, Path("-") if name == "-" else tmp_path / name, format_)
    assert caught.value.hint


async def test_a_file_is_whole_or_as_it_was(
    summaries_run: RunFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails half-way leaves the old file and no other."""
    to = tmp_path / "out" / "a.json"
    to.parent.mkdir()
    to.write_text("old")

    def failing(run: RunFile, out: io.TextIOBase) -> int:
        out.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(module._WRITERS, "promptfoo", failing)
    with pytest.raises(StoreError, match="No space left"):
        export(summaries_run, to)
    assert to.read_text() == "old"
    assert list(to.parent.iterdir()) == [to]
    monkeypatch.setitem(module._WRITERS, "promptfoo", lambda run, out: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        export(summaries_run, to)
    assert list(to.parent.iterdir()) == [to]


async def test_a_new_file_is_as_readable_as_any_other(
    summaries_run: RunFile, tmp_path: Path
) -> None:
    """The mode is the usual one; that of a file that was there is kept; a link stays a link."""
    before = os.umask(0o022)
    try:
        export(summaries_run, tmp_path / "a.json")
        (tmp_path / "b.json").touch(mode=0o600)
        (tmp_path / "link.json").symlink_to("b.json")
        export(summaries_run, tmp_path / "link.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "b.json").stat().st_mode) == 0o600
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "b.json").stat().st_size > 100


async def test_a_pipe_is_written_not_replaced(summaries_run: RunFile, tmp_path: Path) -> None:
    """A named pipe, like /dev/null, is still one afterwards."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    export(summaries_run, pipe)
    reader.join(10)
    assert len(read[0].splitlines()) == 24
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("format_", ["csv", "promptfoo-csv"])
@pytest.mark.parametrize("evil", ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", "\rx", "\n=1", "＝1"])
async def test_no_cell_is_a_formula(
    make_run: Make, tmp_path: Path, evil: str, format_: str
) -> None:
    """Text from anybody is text to a spreadsheet, in every column."""
    trial = result(
        0, case=evil, description=evil, output=evil, reason=evil, vars={evil: evil}, ok=None,
        error=TrialError(evil, evil),
    )  # fmt: skip
    export(await make_run([trial], (Variant(0, evil, evil),)), tmp_path / "a.csv", format_)
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    for cell in [*rows[0], *rows[1]]:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
    assert "'" + evil in rows[1]


async def test_csv_has_a_row_for_each_trial_and_a_column_for_each_variable(
    make_run: Make, tmp_path: Path
) -> None:
    """Variables and named scores that only some trials have leave the others' cells empty; numbers stay numbers."""
    run = await make_run(
        [
            result(0, vars={"a": "x\ny"}, output=-5, named_scores={"tone": 0.5}),
            result(1, vars={"b": [1, "é"]}, output={"k": "\ud800"}, cost_usd=0.25),
            result(2, ok=None),
        ]
    )
    export(run, tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["case", "description", "prompt", "model"]
    assert [row["var:a"] for row in rows] == ["x\ny", "", ""]
    assert rows[1]["var:b"] == '[1, "é"]'
    assert rows[0]["output"] == "-5"
    assert rows[0]["score:tone"] == "0.5"
    assert rows[1]["cost_usd"] == "0.25"
    assert rows[1]["output"] == '{"k": "\\ud800"}'
    assert rows[2]["score"] == ""
    assert rows[2]["error"] == "rate-limited: asked too often"


async def test_promptfoos_results_have_what_its_readers_look_for(
    make_run: Make, tmp_path: Path
) -> None:
    """Version 3: rows, columns with their metrics, stats, config; cases and columns numbered from 0."""
    outcomes = (
        Outcome('contains "sea"', "pass", 1.0, "", metric="content"),
        Outcome("llm-rubric is short", "fail", 0.25, "long", 2.0, named={"words": 300.0}),
        Outcome('equals "x"', "fail", 0.0, "not x", 0.0),
    )
    trials = [
        result(
            0, ok=False, case="a", outcomes=outcomes, score=0.5, reason="long", vars={"t": "tides"}, prompt="Say tides",
            description="d", named_scores={"content": 1.0}, latency_s=0.25, cost_usd=0.5, tokens_in=10, tokens_out=5,
            calls=2, cached=2, metadata={"m": 1},
        ),
        result(1, case="a", variant=1),
        result(2, ok=None, case="b", output=None),
        result(3, ok=None, case="b", variant=1,
               outcomes=(Outcome("llm-rubric x", "error", None, "no verdict", error="judge"),)),
    ]  # fmt: skip
    variants = (
        Variant(0, "p", "Claude", "Say {{t}}", "anthropic:messages:x"),
        Variant(1, "p", "GPT", "Say {{t}}", "openai:chat:y"),
    )
    export(
        await make_run(trials, variants, config={"description": "D"}),
        tmp_path / "r.json",
        "promptfoo",
    )
    read = json.loads((tmp_path / "r.json").read_text())
    results = read["results"]
    assert results["version"] == 3
    assert read["config"] == {"description": "Science"}  # the run's own goes over it
    columns = [each["metrics"] for each in results["prompts"]]
    assert [column["totalLatencyMs"] for column in columns] == [250, 0]
    assert read["evalId"].startswith("eval-")
    assert {k: results["stats"][k] for k in ("successes", "failures", "errors")} == {
        "successes": 1,
        "failures": 2,
        "errors": 1,
    }
    rows = results["results"]
    assert [(row["testIdx"], row["promptIdx"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [row["failureReason"] for row in rows] == [1, 0, 2, 1]
    assert [row["success"] for row in rows] == [False, True, False, False]
    first = rows[0]
    assert first["prompt"] == {"raw": "Say tides", "label": "p", "config": {}}
    assert first["provider"] == {"id": "anthropic:messages:x", "label": "Claude"}
    assert first["vars"] == {"t": "tides"} == first["testCase"]["vars"]
    assert first["testCase"]["description"] == "d"
    assert first["response"]["output"] == "The sea rises twice a day."
    assert first["response"]["cached"] is True
    spent = first["tokenUsage"]
    assert {k: v for k, v in spent.items() if not isinstance(v, dict)} == {
        "prompt": 10,
        "completion": 5,
        "total": 15,
        "cached": 15,
        "numRequests": 2,
    }
    assert (first["latencyMs"], first["cost"]) == (250, 0.5)
    assert first["error"] == "long"
    assert first["score"] == 0.5
    assert first["namedScores"] == {"content": 1.0}
    assert first["metadata"] == {"m": 1}
    grading = first["gradingResult"]
    assert (grading["pass"], grading["score"], grading["reason"]) == (False, 0.5, "long")
    parts = grading["componentResults"]
    assert [part["pass"] for part in parts] == [True, False, True]
    assert parts[0]["assertion"] == {"type": "contains", "value": "sea", "metric": "content"}
    assert parts[1]["assertion"] == {"type": "llm-rubric", "value": "is short", "weight": 2.0}
    assert parts[1]["namedScores"] == {"words": 300.0}
    assert "error" not in rows[1]
    assert "cost" not in rows[1]
    assert rows[2]["gradingResult"] is None
    assert rows[2]["response"]["error"] == "asked too often" == rows[2]["error"]
    assert rows[3]["gradingResult"]["componentResults"][0]["metadata"] == {"graderError": True}
    metrics = results["prompts"][0]["metrics"]
    assert results["prompts"][0]["provider"] == "Claude"
    assert results["prompts"][0]["raw"] == "Say {{t}}"
    assert (metrics["testPassCount"], metrics["testFailCount"], metrics["testErrorCount"]) == (
        0,
        1,
        1,
    )
    assert (metrics["assertPassCount"], metrics["assertFailCount"]) == (2, 1)
    assert metrics["namedScores"] == {"content": 1.0}
    assert metrics["cost"] == 0.5


async def test_an_empty_run_is_exported_too(make_run: Make, tmp_path: Path) -> None:
    """Every format of no trials is a file that can be read."""
    run = await make_run([], planned=2)
    for format_ in set(module.formats()) - {"html"}:  # which the viewer writes
        assert export(run, tmp_path / format_, format_) == 0
    for suffix in ("jsonl", "promptfoo"):
        assert export(run, tmp_path / f"a.{suffix}") == 0
    assert json.loads((tmp_path / "a.promptfoo").read_text())["results"]["results"] == []
    assert (tmp_path / "a.jsonl").read_text() == ""

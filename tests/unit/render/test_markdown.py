"""Runs as Markdown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.export import export
from evenhand.render.markdown import write_markdown
from evenhand.store.merging import keep_run
from evenhand.store.runfile import RunFile


def written(run: RunFile) -> str:
    """The run as Markdown."""
    out = io.StringIO()
    write_markdown(run, out)
    return out.getvalue()


async def test_it_says_what_the_terminal_says(summaries_run: RunFile, tmp_path: Path):
    """Verdict, table with intervals, failures, comparison."""
    assert export(summaries_run, tmp_path / "r.md") == 24
    text = (tmp_path / "r.md").read_text("utf-8")
    assert text.startswith(
        "## ✗ `Science`\n\n**failed** · 15 of 24 passed · 48 calls · 7,200 → 2,400 tokens · $0.0288 spent\n"
    )
    assert "| `better` | 7/8 | 88 % | 53–98 |" in text
    assert "it keeps 'backpropagation'" in text
    assert "best beats basic" in text
    assert "subject: 24 calls, 3,600 → 1,200 tokens, $0.0144 spent · judge: 24 calls" in text


async def test_trials_that_did_not_pass_stand_in_full(make_run: Make):
    """Every expectation of theirs with its reason, folded away; the first twenty of each kind."""
    outcomes = (
        Outcome("words", "pass", 40.0, at_most=60),
        Outcome("is polite", "fail", 0.0, "it swears"),
        Outcome("is short", "fail", 0.0, "it is long"),
    )
    trials = [result(i, ok=i > 21, outcomes=outcomes) for i in range(24)]
    text = written(await make_run([*trials, result(24, ok=None)]))
    assert "<summary>the first 21 of 23 trials that did not pass</summary>" in text
    _, _, full = text.partition("<details>")
    assert full.count("✓ words  40  (at most 60)") == 20
    assert full.count("it is long") == 20
    assert "rate-limited: asked too often" in full
    assert "</details>" in full


async def test_errors_and_missing_trials_are_counted(make_run: Make):
    """A run without a verdict does not look like one."""
    text = written(await make_run([result(0), result(1, ok=None)], planned=3, finish=False))
    assert "## ? `Science`" in text
    assert "1 error · 1 not run" in text
    assert "not finished" in text


async def test_a_run_whose_time_is_not_known_is_not_called_unfinished(
    make_run: Make, tmp_path: Path
):
    """Other tools do not say when an imported run ended."""
    run = await make_run([result(0)])
    untimed = replace(run.meta, status="finished", finished_at=None)
    with RunFile.open(await keep_run(tmp_path / "kept", untimed, run.trials())) as imported:
        assert imported.meta.took_s is None
        assert "not finished" not in written(imported)


@pytest.mark.parametrize(
    "evil",
    ["# a", "`b`", "```\n# c", "<script>", "@everyone #1", "a|b", "[x](http://y)", "\x1b[2J"],
)
async def test_what_a_model_wrote_is_never_markup(make_run: Make, evil: str):
    """Foreign text stands in code spans that it cannot end, and in blocks that it cannot leave."""
    outcome = Outcome(evil, "fail", 0.0, evil)
    trial = result(0, ok=False, case=evil, description=evil, outcomes=(outcome,), reason=evil)
    text = written(await make_run([trial], (Variant(0, evil, "m"),), title=evil))
    lines = text.splitlines()
    assert lines[0].startswith("## ✗ `")
    (row,) = (line for line in lines if line.startswith("| `"))
    assert row.replace("\\|", "").count("|") == 9
    ticks = [line for line in lines if line.startswith("```")]
    assert len(ticks) == 4  # what failed, and the trials in full
    assert ticks[::2] == [f"{tick}text" for tick in ticks[1::2]]
    places = [i for i, line in enumerate(lines) if line.startswith("```")]
    for start, end in zip(places[::2], places[1::2], strict=True):
        assert not any(lines[end] in line for line in lines[start + 1 : end])
    assert "\x1b" not in text


async def test_no_trials_leave_the_heading(make_run: Make):
    """There is no table of nothing."""
    text = written(await make_run([], planned=2))
    assert "2 not run" in text
    assert "|" not in text

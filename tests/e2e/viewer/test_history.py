"""A measure over the runs of one config, and what is taken from the page elsewhere."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.e2e.viewer.conftest import serving

from evenhand.analysis.summaries.rates import rates
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.words import rounded
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.history import measures

EXPORTED = {"csv": "CSV, a row a trial", "json": "JSON", "html": "This page as one file"}


def test_a_measure_is_drawn_over_the_runs_of_one_config(
    home: Path, runs: list[str], served: Any, watch: Any
):
    """A line for each column, a point for each run; the numbers are those of the runs, and a point leads to its run."""
    seen = watch(served.link)
    seen.turn(runs[1], view="history")
    page = seen.page
    points = page.locator(".history-svg a:not(.history-change)")
    points.nth(5).wait_for()
    assert points.count() == 6
    page.locator(".history summary").click()
    left_open = 0
    for at, run in enumerate(runs):
        with RunFile.open(home / "runs" / f"{run}.db") as file:
            shares = [each.share for each in rates(file)]
        left_open += sum(share is not None and share.least < share.most for share in shares)
        cells = page.locator(".history tbody tr").nth(at).locator("td").all_inner_texts()[1:-1]
        for cell, share in zip(cells, shares, strict=True):
            assert share is not None
            assert cell.startswith(rounded(share.least * 100))
    assert left_open > 0
    assert page.locator(".history-svg .history-open").count() == left_open
    assert page.locator(".history-svg .history-point").count() == 6 - left_open
    page.get_by_label("Measure").select_option(label="clarity")
    page.wait_for_function("() => location.hash.includes('plot=%7Eclarity')")
    with RunFile.open(home / "runs" / f"{runs[1]}.db") as file:
        values: dict[str, list[float]] = {}
        for trial in file.trials():
            if trial.variant == 0 and "clarity" in trial.named_scores:
                values.setdefault(trial.case, []).append(trial.named_scores["clarity"])
        (clarity, *_) = [column.means["~clarity"] for column in measures(file)]
    wanted = fmean(map(fmean, values.values()))
    shown = page.locator(".history tbody tr").nth(1).locator("td").nth(1).inner_text()
    value, _, reach = shown.partition(" ")
    # An error may have had any rating: the mean is a range, and drawn as one.
    between = [float(end) for end in value.split("–")]
    assert between == pytest.approx([clarity.least, clarity.most], rel=0.005)
    assert between[0] < wanted < between[1]
    assert page.locator(".history-svg .history-open").count() > 0
    ends = [float(end) for end in reach.strip("[]").split("–")]
    assert ends == pytest.approx([clarity.low, clarity.high], rel=0.005)
    assert ends[0] < wanted < ends[1]
    assert page.locator(".history-svg .history-reach").count() == 6
    points.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("(run) => location.hash.startsWith(`#/run/${run}`)", arg=runs[0])


async def _written(home: Path, number: int, prompt: str, status: Any, **settings: Any) -> str:
    """A run of ten trials in a home; its id."""
    variants = (Variant(0, "plain", "gpt", prompt, "openai:gpt"),)
    meta = RunMeta(
        f"01KAEXAMPLE00000000000{number:04}",
        title="desk",
        source="/evals/a.yaml",
        fingerprint="f",
        planned=10,
        case_count=10,
        repeats=1,
        variants=variants,
        created_at=1_790_000_000 + 1000 * number,
        settings=settings,
    )
    journal = Journal.create(home / "runs", meta)
    for i in range(10 if status == "finished" else 4):
        ok = "pass" if i else "fail"
        await journal.settle(
            TrialResult(
                index=i, case=f"c{i}", variant=0, repeat=0, outcome=ok, score=float(ok == "pass")
            )
        )
    await journal.finish(status, "")
    return meta.id


def test_a_change_of_the_prompt_is_marked_between_its_runs(tmp_path: Path, watch: Any):
    """A click leads to what it says otherwise. What did not finish is counted and not drawn, a probe not even that."""

    async def written() -> str:
        first = await _written(tmp_path, 1, "Say {{x}}", "finished")
        await _written(tmp_path, 2, "Say {{x}}", "interrupted")
        await _written(tmp_path, 3, "Say it: {{x}}", "finished")
        await _written(tmp_path, 4, "Say it: {{x}}", "finished")
        await _written(tmp_path, 5, "Say it: {{x}}", "finished", probe={})
        return first

    with ThreadPoolExecutor(1) as elsewhere:  # this thread's loop is the browser's
        first = elsewhere.submit(asyncio.run, written()).result()
    with serving(tmp_path) as viewer:
        seen = watch(viewer.link)
        seen.turn(first, view="history")
        page = seen.page
        mark = page.locator(".history-change")
        mark.wait_for()
        assert mark.count() == 1
        assert "prompt: plain edited" in (mark.get_attribute("aria-label") or "")
        assert mark.locator("text").text_content() == "prompt"
        assert page.locator(".history-svg a:not(.history-change)").count() == 3
        page.get_by_text("1 run that did not finish is not drawn.").wait_for()
        page.locator(".history summary").click()
        rows = page.locator(".history tbody tr")
        last = [rows.nth(i).locator("td").last.inner_text() for i in range(rows.count())]
        assert last == ["", "What changed prompt: plain edited", ""]
        mark.locator("text").click()
        since = page.get_by_role("region", name="What changed since")
        since.get_by_text("prompt: plain edited").wait_for()
        assert "it:" in since.locator("ins").last.inner_text()


def test_a_report_has_no_history(report: Path, runs: list[str], watch: Any):
    """One file holds one run: it offers none, and says so to whoever has the address."""
    seen = watch(report.as_uri())
    assert seen.page.get_by_role("link", name="History").count() == 0
    seen.turn(runs[0], view="history")
    seen.page.get_by_role("heading", name="A report has no history").wait_for()


@pytest.mark.thorough
def test_what_is_exported_is_what_the_command_writes(
    home: Path, runs: list[str], served: Any, watch: Any, command: Any, tmp_path: Path
):
    """With a filter, the trials that it chooses; the file is called after the run."""
    seen = watch(served.link, accept_downloads=True)
    seen.expected.append("download")
    seen.turn(runs[1], q="status:fail")
    page = seen.page
    menu = page.locator("summary", has_text="Export")
    for kind, name in EXPORTED.items():
        button = page.get_by_role("button", name=name, exact=True)
        if not button.is_visible():
            menu.click()
        with page.expect_download() as waiting:
            button.click()
        download = waiting.value
        assert download.suggested_filename.startswith(
            (f"shop-assistant-where-status-fail-{runs[1][:10]}", f"shop-assistant-{runs[1][:10]}")
        )
        download.save_as(tmp_path / "got")
        got = (tmp_path / "got").read_text("utf-8")
        wanted = tmp_path / f"wanted.{kind}"
        words = ("export", runs[1], "--to", wanted, "--format", kind, "--where", "status:fail")
        command(*words, EVENHAND_HOME=str(home))
        if kind == "json":
            assert json.loads(got) == json.loads(wanted.read_text("utf-8"))
        else:
            assert got == wanted.read_text("utf-8")


@pytest.mark.thorough
def test_what_is_exported_is_what_the_menu_says(
    home: Path, served: Any, runs: list[str], watch: Any, tmp_path: Path
):
    """Filter, display mode and hidden columns choose the trials; their number stands above the formats."""
    seen = watch(served.link, accept_downloads=True)
    seen.expected.append("download")
    seen.turn(runs[1], q="tag:billing OR tag:returns", show="failures", hide="0")
    page = seen.page
    page.locator("summary", has_text="Export").click()
    page.get_by_text("Chosen by the filter, “Failures”, the columns shown.").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="JSON lines", exact=True).click()
    waiting.value.save_as(tmp_path / "got.jsonl")
    got = [json.loads(line) for line in (tmp_path / "got.jsonl").read_text("utf-8").splitlines()]
    with RunFile.open(home / "runs" / f"{runs[1]}.db") as file:
        wanted = [
            trial.index
            for trial in file.trials()
            if trial.outcome == "fail"
            and trial.variant != 0
            and {"billing", "returns"} & {*trial.metadata["tags"]}
        ]
    assert [row["index"] for row in got if "index" in row] == wanted
    assert page.get_by_text(f"{len(wanted)} of 240 trials").count() == 1
    seen.show(runs[1], q="stauts:fail")
    page.locator("summary", has_text="Export").click()
    page.get_by_text("Mend the filter first").wait_for()
    assert page.get_by_role("button", name="JSON", exact=True).is_disabled()


@pytest.mark.thorough
def test_the_shown_cases_are_copied_as_a_table(either: str, runs: list[str], watch: Any):
    """Tab-separated: the cases that the filter leaves, each column's outcomes and score."""
    seen = watch(either)
    seen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.turn(runs[0], q="case:returns")
    page = seen.page
    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="Copy as a table").click()
    page.get_by_text("Copied").wait_for()
    text = page.evaluate("() => navigator.clipboard.readText()")
    head, *rows = csv.reader(io.StringIO(text), delimiter="\t")
    assert head[:4] == ["case", "description", "tags", "short: outcome"]
    assert len(rows) == int(page.get_by_role("grid").get_attribute("aria-rowcount")) - 1
    assert all(len(row) == len(head) for row in rows)
    assert set(rows[0][3].split()) <= {"pass", "fail", "error", "not_applicable"}


def test_no_format_and_no_filter_that_is_wrong_is_exported(
    served: Any, runs: list[str], watch: Any
):
    """The server says what is wrong, and gives no file."""
    seen = watch(served.link)
    seen.expected += ["400", "404"]
    for query in ("format=exe", "format=csv&where=stauts:fail", "format=csv&baseline=nothing"):
        status = seen.page.evaluate(
            "async (path) => (await fetch(path)).status", f"/api/runs/{runs[1]}/export?{query}"
        )
        assert status in (400, 404)

"""The matrix's columns: what their heads say, what they are sorted by, which there are, and how wide they are."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evenhand import Case, EvalSet, Expect, run
from evenhand.analysis.summaries.rates import rates, scores
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.history import measures

FIRST_CASE = "() => document.querySelector('.matrix-body .case-number')?.textContent"
ELEMENTS = "() => document.querySelectorAll('*').length"


def _case_means(path: Path, metric: str, column: int) -> dict[str, float]:
    with RunFile.open(path) as run:
        values: dict[str, list[float]] = {}
        for trial in run.trials():
            if trial.variant == column and metric in trial.named_scores:
                values.setdefault(trial.case, []).append(trial.named_scores[metric])
    return {case: fmean(each) for case, each in values.items()}


def test_heads_show_the_mean_of_each_metric(home: Path, runs: list[str], served: Any, watch: Any):
    """Every case counts once, and the number is Python's, in two decimals; a range where errors leave it open."""
    seen = watch(served.link)
    seen.turn(runs[1])
    path = home / "runs" / f"{runs[1]}.db"
    for column in range(3):
        known = fmean(_case_means(path, "clarity", column).values())
        with RunFile.open(path) as run:
            mean = measures(run)[column].means["~clarity"]
        head = seen.page.get_by_role("columnheader").nth(column + 1)
        button = head.get_by_role("button", name="clarity")
        button.wait_for()
        said = [float(end) for end in button.inner_text().split()[-1].split("–")]
        assert [said[0], said[-1]] == pytest.approx([mean.least, mean.most], abs=0.0051)
        assert said[0] - 0.0051 <= known <= said[-1] + 0.0051


def test_a_click_on_a_metric_sorts_by_it_and_stands_in_the_address(
    home: Path, runs: list[str], served: Any, watch: Any
):
    """Lowest first, highest first, the plan's order; cases without the number come last either way."""
    seen = watch(served.link)
    seen.turn(runs[1])
    page = seen.page
    means = _case_means(home / "runs" / f"{runs[1]}.db", "words", 1)
    head = page.get_by_role("columnheader").nth(2)
    button = head.get_by_role("button", name="words")
    with RunFile.open(home / "runs" / f"{runs[1]}.db") as run:
        numbers = {case: n for n, case in enumerate(run.cases(), 1)}
    ranked = sorted(means, key=lambda case: (means[case], numbers[case]))
    button.click()
    page.wait_for_function("() => location.hash.includes('sort=metric.1.words')")
    page.wait_for_function(f"(n) => ({FIRST_CASE})() === n", arg=str(numbers[ranked[0]]))
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    page.wait_for_function("() => location.hash.includes('sort=-metric.1.words')")
    highest = min(numbers[case] for case in means if means[case] == means[ranked[-1]])
    page.wait_for_function(f"(n) => ({FIRST_CASE})() === n", arg=str(highest))
    page.reload()
    page.wait_for_function(f"(n) => ({FIRST_CASE})() === n", arg=str(highest))
    page.get_by_label("Order").select_option(label="clarity: lowest first")
    page.wait_for_function("() => location.hash.includes('metric.all.clarity')")


@pytest.mark.thorough
def test_variables_and_metadata_can_be_columns(served: Any, runs: list[str], watch: Any):
    """Chosen in the menu, kept in the address, and no longer told in the cell of the case."""
    seen = watch(served.link)
    seen.turn(runs[1])
    page = seen.page
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="thing").click()
    page.get_by_role("checkbox", name="document").click()
    page.wait_for_function(
        "() => location.hash.includes('extra=var.thing&extra=metadata.document')"
    )
    page.keyboard.press("Escape")
    page.reload()
    seen.settled()
    heads = [text.split("\n")[0] for text in page.get_by_role("columnheader").all_inner_texts()]
    assert heads[1:3] == ["thing", "document"]
    row = page.locator(".matrix-body [role=row]").first
    row.get_by_text("shoes", exact=True).wait_for()
    assert row.locator(".matrix-extra").all_inner_texts()[1].startswith("rules-")
    assert "thing:" not in row.locator(".matrix-case").inner_text()


@pytest.mark.thorough
def test_widths_are_dragged_or_set_by_keys_and_stay_in_this_browser(
    served: Any, runs: list[str], watch: Any
):
    """A drag makes a column wider, arrow keys too, a double click gives it back its own width; blind, none tells."""
    seen = watch(served.link)
    seen.turn(runs[1])
    page = seen.page
    edge = page.get_by_role("separator", name="short")
    head = page.get_by_role("columnheader").nth(1)
    before = head.bounding_box()["width"]
    at = edge.bounding_box()
    page.mouse.move(at["x"] + 4, at["y"] + 10)
    page.mouse.down()
    page.mouse.move(at["x"] + 124, at["y"] + 10, steps=4)
    page.mouse.up()
    dragged = head.bounding_box()["width"]
    assert dragged == pytest.approx(before + 120, abs=6)
    edge.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "(width) => document.querySelectorAll('[role=columnheader]')[1].offsetWidth < width - 10",
        arg=dragged,
    )
    page.reload()
    seen.settled()
    assert head.bounding_box()["width"] == pytest.approx(dragged - 16, abs=2)
    seen.turn(runs[1], blind=1)
    widths = {
        round(page.get_by_role("columnheader").nth(i).bounding_box()["width"]) for i in (1, 2, 3)
    }
    assert len(widths) == 1
    seen.turn(runs[1])
    edge.dblclick()
    page.wait_for_function(
        "(width) => document.querySelectorAll('[role=columnheader]')[1].offsetWidth < width + 20",
        arg=before,
    )


@pytest.mark.thorough
def test_sixty_columns_are_drawn_sparingly_and_all_of_them_are_reached(
    bench: Any, serve: Any, watch: Any, tmp_path: Path
):
    """Fewer than 2,500 elements, wherever one scrolls; the keys bring the last column into sight."""
    path = bench("viewer_run").write_run(tmp_path / "home", 40, 60)
    with serve(tmp_path / "home") as viewer:
        seen = watch(viewer.link)
        seen.turn(path.stem)
        page = seen.page
        page.get_by_role("gridcell").first.wait_for()
        assert page.evaluate(ELEMENTS) < 2_500
        page.get_by_role("grid").focus()
        page.keyboard.press("ArrowDown")
        for _ in range(60):
            page.keyboard.press("ArrowRight")
        last = page.get_by_role("columnheader").filter(has_text="prompt 59")
        last.wait_for()
        box = last.bounding_box()
        assert box["x"] + box["width"] <= 1281
        assert page.evaluate(ELEMENTS) < 2_500
        active = page.get_by_role("grid").get_attribute("aria-activedescendant")
        assert page.locator(f"[id='{active}']").is_visible()
        seen.turn(path.stem, pin=7, best=1)
        pinned = page.get_by_role("columnheader").filter(has_text="prompt 7").first
        pinned.wait_for()
        page.get_by_role("grid").evaluate("(at) => { at.scrollLeft = 5000; }")
        page.get_by_role("button", name="vs pinned").nth(3).click()
        page.wait_for_function("() => location.hash.includes('sort=versus.')")
        assert 0 < pinned.bounding_box()["x"] < 500
        rates = page.locator("[role=columnheader]:not(.pinned) .head-rate b").all_inner_texts()
        numbers = [int(rate.split(" ")[0].split("–")[0]) for rate in rates]
        assert numbers == sorted(numbers, reverse=True)
        seen.close()


@pytest.mark.thorough
def test_rows_are_as_high_as_what_is_in_them_and_heads_fold_while_one_scrolls(
    served: Any, runs: list[str], watch: Any
):
    """A row of short answers is lower than one of long answers; scrolled, more of them are in sight."""
    seen = watch(served.link)
    seen.turn(runs[1])
    page = seen.page
    page.get_by_role("gridcell").first.wait_for()
    page.wait_for_function("() => document.querySelector('.awaited') === null")
    heights = page.evaluate(
        "() => [...document.querySelectorAll('.matrix-window > *')].map((row) => row.offsetHeight)"
    )
    assert len(set(heights)) > 1
    assert max(heights) <= 136
    head = page.locator(".matrix-head")
    before = head.bounding_box()["height"]
    page.get_by_role("grid").evaluate("(at) => { at.scrollTop = 600; }")
    page.wait_for_function(
        "(before) => document.querySelector('.matrix-head').offsetHeight < before / 2", arg=before
    )
    page.get_by_role("grid").evaluate("(at) => { at.scrollTop = 0; }")
    page.wait_for_function(
        "(before) => document.querySelector('.matrix-head').offsetHeight > before - 2", arg=before
    )


@pytest.mark.parametrize("where", ["server", pytest.param("file", marks=pytest.mark.thorough)])
def test_intervals_go_by_clusters_and_repeats_as_on_the_command_line(
    where: str, tmp_path: Path, serve: Any, watch: Any, command: Any
):
    """A large document, small ones, repeats that differ and errors: each document counts once, filtered or not."""
    rows = [
        {"id": f"d{d}q{q}", "metadata": {"document": f"é{d}"}}
        for d in range(8)
        for q in range(15 if d == 0 else 3)
    ]
    evals = EvalSet("documents", data=rows, over={"v": ["a", "b"]}, cluster="document")
    tries: dict[tuple[str, str], int] = {}

    @evals.eval
    def answers(case: Case, v: str, expect: Expect) -> None:
        tries[case.id, v] = again = tries.get((case.id, v), 0) + 1
        document, question = map(int, case.id[1:].split("q"))
        if (document, question, again) == (3, 1, 2):
            raise ValueError("broken")
        expect((document + question * again) % 3 > (v == "a"), "is right", metric="right")

    made = run(evals, repeats=2, concurrency=1, progress=False, home=tmp_path)
    own, means = rates(made.file), scores(made.file)
    assert [(rate.cases, rate.clusters) for rate in own] == [(36, 8), (36, 8)]
    file = tmp_path / "report.html"
    command("export", made.file.meta.id, "--to", file, EVENHAND_HOME=str(tmp_path))
    with serve(tmp_path) as served:
        seen = watch(served.link if where == "server" else file.as_uri())
        for query in ("", "case:q"):
            seen.turn(made.file.meta.id, q=query)
            for rate, mean in zip(own, means, strict=True):
                head = seen.page.get_by_role("columnheader").nth(rate.variant + 1)
                assert head.locator(".head-rate b").inner_text().replace("\xa0", " ") == str(rate)
                assert f"{rate.reach} %" in head.locator(".head-n").inner_text()
                assert mean is not None
                assert mean.low is not None
                ends = head.locator(".head-ends").first.inner_text()
                assert ends.strip("[] ").split("–")[0] == f"{mean.low:.2f}"
        seen.close()

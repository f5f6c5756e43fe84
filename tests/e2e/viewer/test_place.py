"""Whoever scrolled down the matrix is there again when they come back to it."""

from __future__ import annotations

from typing import Any

import pytest

FIRST_SEEN = """() => {
  const head = document.querySelector(".matrix-head")?.getBoundingClientRect();
  if (head === undefined) return "";
  const row = [...document.querySelectorAll(".matrix-body [role=row]")]
    .find((each) => each.getBoundingClientRect().bottom > head.bottom + 2);
  return row?.querySelector(".case-number")?.textContent ?? "";
}"""
SCROLL = "(at, top) => { at.scrollTop = top; }"


def _scroll(page: Any, top: int) -> str:
    page.get_by_role("grid").evaluate(SCROLL, top)
    page.wait_for_function(f"() => Number(({FIRST_SEEN})()) > 5")
    return str(page.evaluate(FIRST_SEEN))


@pytest.mark.thorough
def test_the_place_in_the_matrix_survives_charts_back_and_reload(
    served: Any, runs: list[str], watch: Any
):
    """Charts and the tab of the matrix, charts and Back, another run and Back, a reload: the same row is the first."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1])
    first = _scroll(page, 2_500)
    page.get_by_role("link", name="Charts").click()
    page.locator(".charts svg").first.wait_for()
    page.get_by_role("link", name="Matrix").click()
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)
    page.get_by_role("link", name="Charts").click()
    page.locator(".charts svg").first.wait_for()
    page.go_back()
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)
    page.reload()
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)
    seen.turn(runs[0])
    page.go_back()
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)


def test_another_filter_starts_at_the_top_and_the_earlier_one_is_where_it_was(
    served: Any, runs: list[str], watch: Any
):
    """What has not been looked at yet begins at its beginning; Back leads to where one was."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1])
    first = _scroll(page, 2_500)
    seen.turn(runs[1], q="-status:error")
    page.wait_for_function(f"() => Number(({FIRST_SEEN})()) < 4")
    page.go_back()
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)


def test_other_row_heights_keep_the_row(served: Any, runs: list[str], watch: Any):
    """Small, medium and large rows: the row at the upper edge stays there."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1])
    first = _scroll(page, 1_370)
    seen.turn(runs[1], size="l")
    page.wait_for_function(f"(first) => ({FIRST_SEEN})() === first", arg=first)


def test_names_that_differ_at_their_end_differ_in_the_heads(
    bench: Any, serve: Any, watch: Any, tmp_path: Any
):
    """Long names of columns are cut so that they are told apart, and whole in the title."""
    path = bench("viewer_run").write_run(
        tmp_path / "home",
        3,
        3,
        name="a prompt with a rather long name that goes on and on, number ",
    )
    with serve(tmp_path / "home") as viewer:
        seen = watch(viewer.link)
        seen.turn(path.stem)
        heads = seen.page.locator(".head-name").all_inner_texts()
        assert len(set(heads)) == 3
        clipped = "(all) => all.filter((at) => at.scrollHeight > at.clientHeight + 1).length"
        assert seen.page.locator(".head-name").evaluate_all(clipped) == 0

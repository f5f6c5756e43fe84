"""On paper: every row and every column of the matrix, and nothing of the tools."""

from __future__ import annotations

import io
from typing import Any

import pytest

pypdf = pytest.importorskip("pypdf")

PRINT = "window.printed = 0; window.print = () => { window.printed++; };"


def _text(page: Any) -> tuple[int, str]:
    pdf = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    text = " ".join(each.extract_text() for each in pdf.pages)
    return len(pdf.pages), " ".join(text.split())


@pytest.mark.thorough
def test_all_rows_and_columns_are_printed_with_their_outputs(
    either: str, runs: list[str], watch: Any
):
    """Ctrl-P waits for the outputs; forty cases take several pages, and the last column stands on them."""
    seen = watch(either)
    page = seen.page
    seen.turn(runs[0])
    page.get_by_role("gridcell").first.wait_for()  # only then does it listen to keys
    page.evaluate(PRINT)
    page.keyboard.press("Control+p")
    page.wait_for_function("() => window.printed > 0")
    pages, text = _text(page)
    assert 3 <= pages <= 20
    for number in (1, 20, 33, 40):
        assert f"{number} " in text
    for case in ("returns: shoes", "returns: a kettle", "accents"):
        assert case in text
    for column in ("short", "friendly", "strict"):
        assert column in text
    assert "By rule" in text
    assert "Filter:" not in text
    assert "Copy link" not in text
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("() => document.querySelectorAll('.matrix-body [role=row]').length < 30")


@pytest.mark.thorough
def test_the_browsers_own_menu_prints_every_row(served: Any, runs: list[str], watch: Any):
    """Printing that the page is told of at the last moment has all rows, too."""
    seen = watch(served.link)
    seen.turn(runs[1])
    seen.page.get_by_role("gridcell").first.wait_for()
    _, text = _text(seen.page)
    assert "returns: shoes" in text
    assert "accents" in text


def test_an_open_cell_is_printed_alone(served: Any, runs: list[str], watch: Any):
    """Its output and what was expected, not the matrix behind it; dark pages print black on white."""
    seen = watch(served.link, color_scheme="dark")
    seen.turn(runs[1], cell=52)
    seen.page.get_by_role("dialog").get_by_role("heading", name="Output").wait_for()
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    _, text = _text(seen.page)
    assert "Thank you for asking!" in text
    assert "returns: shoes" not in text


def test_a_heading_is_printed_with_what_follows_it(served: Any, runs: list[str], watch: Any):
    """Not alone at the foot of a page, with its table on the next."""
    seen = watch(served.link)
    seen.turn(runs[1], view="summary")
    seen.page.get_by_role("heading", name="Pass rates by tag").wait_for()
    pdf = pypdf.PdfReader(io.BytesIO(seen.page.pdf(prefer_css_page_size=True)))
    texts = [" ".join(each.extract_text().split()) for each in pdf.pages]
    (text,) = [each for each in texts if "Pass rates by tag" in each]
    assert "account" in text.partition("Pass rates by tag")[2]

"""Reviewing a random draw on the page, key by key: verdicts and notes are kept, blind to the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.reviews.reviewed import keep_review, reviews_of
from evenhand.store.runfile import RunFile

HOSTILE = "<img src=x onerror=document.title='owned'>"
CONFIG = {
    "prompts": ["{{q}}"],
    "providers": ["echo"],
    "tests": [
        {"vars": {"q": f"answer {i} {HOSTILE}"}, "assert": [{"type": "not-contains", "value": "7"}]}
        for i in range(12)
    ],
}


@pytest.fixture
def finished(tmp_path: Path, serve: Any, command: Any) -> Iterator[tuple[str, Path]]:
    """The link to a run that nobody has reviewed, and its file."""
    folder, home = tmp_path / "evals", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (folder / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    command("run", folder, "--no-progress", "--exit-zero", EVENHAND_HOME=str(home))
    (path,) = (home / "runs").glob("*.db")
    with serve(home) as viewer:
        yield viewer.link, path


def kept(path: Path) -> dict[int, tuple[str, str]]:
    """By output, the verdict and the note of the person at the page."""
    with RunFile.open(path) as run:
        return {
            review.note.index: (one.verdict, one.note)
            for review in reviews_of(run)
            for one in review.reviews
            if one.author != "bo"
        }


def test_a_draw_is_made_and_reviewed_key_by_key(finished: tuple[str, Path], watch: Any):
    """A fail is kept before its note is finished; undo takes both back; disagreements come at the end."""
    link, path = finished
    seen = watch(link)
    seen.turn(path.stem)
    page = seen.page
    page.keyboard.type("gw")
    page.get_by_label("Outputs to draw").fill("3")
    page.get_by_role("button", name="Draw").click()
    page.get_by_text("0 of 3 reviewed").wait_for()
    with RunFile.open(path) as run:
        (draw,) = run.draws()
    first, second, third = draw.places
    text = page.locator(".run-page").inner_text()
    assert f"answer {first}" in text
    assert "Failed" not in text
    keep_review(path, first, "bo", "pass", "words of Bo")
    page.keyboard.press("p")
    page.get_by_text("1 of 3 reviewed").wait_for()
    page.keyboard.press("u")
    page.get_by_text("0 of 3 reviewed").wait_for()
    page.keyboard.press("f")
    page.locator("#review-note:focus").wait_for()
    page.wait_for_function("document.querySelector('.label-fail').ariaPressed === 'true'")
    page.reload()  # in the middle of the note
    page.get_by_text("1 of 3 reviewed").wait_for()
    assert kept(path) == {first: ("fail", "")}
    page.keyboard.press("f")
    page.locator("#review-note:focus").wait_for()
    page.keyboard.type(f"pays postage {HOSTILE}")
    page.keyboard.press("Enter")
    page.get_by_text("2 of 3 reviewed").wait_for()
    assert "words of Bo" not in page.locator(".run-page").inner_text()
    page.keyboard.press("p")
    page.get_by_text("All 3 outputs reviewed").wait_for()
    page.get_by_label("Disagreements").wait_for()
    assert kept(path) == {
        first: ("fail", ""),
        second: ("fail", f"pays postage {HOSTILE}"),
        third: ("pass", ""),
    }
    listed = page.get_by_label("Disagreements").inner_text()
    assert "bo pass" in listed
    assert page.title() != "owned"

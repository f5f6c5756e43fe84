"""What people say of answers: given in the browser, kept in the run's file, and not led by what they must not see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile

DOM = "() => document.documentElement.outerHTML"


def test_a_label_outlives_the_viewer_and_travels_with_the_run(
    own_home: Path, runs: list[str], serve: Any, watch: Any, command: Any, tmp_path: Path
):
    """Given by clicks; in the file, in the JSON, in a viewer that was started anew, and in the one-file report."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(runs[1], cell=3)
        drawer = page.get_by_role("dialog")
        mine = drawer.get_by_role("group", name="Your label")
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            mine.get_by_role("button", name="fail").click()
        name = mine.get_by_label("Your name")
        name.fill("Ada ⟨ada⟩")
        name.press("Tab")
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            mine.get_by_role("button", name="4", exact=True).click()
        note = mine.get_by_label("Note")
        note.fill("too curt: <b>say why</b>")
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            note.press("Enter")
        seen.close()
    path = own_home / "runs" / f"{runs[1]}.db"
    with RunFile.open(path) as found:
        labels = [(label.index, label.field, label.value, label.blind) for label in found.labels()]
        assert [label.author for label in found.labels()][1:] == ["Ada ⟨ada⟩"] * 2
    assert labels == [
        (3, "verdict", "fail", False),
        (3, "score", 4, False),
        (3, "note", "too curt: <b>say why</b>", False),
    ]
    command("export", runs[1], "--to", tmp_path / "r.json", EVENHAND_HOME=str(own_home))
    assert "too curt: <b>say why</b>" in json.dumps(
        json.loads((tmp_path / "r.json").read_text("utf-8"))
    )
    command("export", runs[1], "--to", tmp_path / "r.html", EVENHAND_HOME=str(own_home))
    with serve(own_home) as viewer:
        for link in (viewer.link, (tmp_path / "r.html").as_uri()):
            seen = watch(link)
            seen.turn(runs[1], cell=3)
            drawer = seen.page.get_by_role("dialog")
            drawer.get_by_text("too curt: <b>say why</b>").or_(
                drawer.get_by_label("Note")
            ).first.wait_for()
            drawer.get_by_role("tab", name="Labels").click()
            drawer.get_by_text("Ada ⟨ada⟩").first.wait_for()
            assert "too curt: <b>say why</b>" in drawer.evaluate("(at) => at.textContent")
            seen.turn(runs[1], q="has:note")
            assert seen.page.get_by_role("gridcell").count() == 3


def test_blind_mode_hides_what_would_lead_and_not_only_from_the_eye(
    served: Any, runs: list[str], watch: Any
):
    """No name of a variant or model, no verdict, score, metric or reason is anywhere in the document."""
    seen = watch(served.link)
    seen.turn(runs[1], blind=1, cell=4)
    page = seen.page
    page.get_by_role("dialog").get_by_role("tab").first.wait_for()
    hidden = (
        "friendly",
        "strict",
        "shop-model",
        "judge-model",
        "Answer in one sentence",
        "is polite",
        "curt",
    )
    for tab in range(page.get_by_role("tab").count()):
        page.get_by_role("tab").nth(tab).click()
        page.wait_for_timeout(80)
        text = page.evaluate(DOM)
        assert [word for word in hidden if word in text] == []
        assert page.locator("[role=grid] [class*=mark-]").count() == 0
    for view in ("charts", "about", "comparison"):
        seen.turn(runs[1], blind=1, view=view, base=runs[0])
        page.get_by_role("heading", name="Hidden while you label blind").wait_for()
        text = page.evaluate(DOM)
        assert [word for word in hidden if word in text] == [], view
        assert page.locator("svg").count() == 0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "state",
    [
        {"q": "status:fail"},
        {"q": "clarity<3"},
        {"q": "score@1<0.5"},
        {"q": "variant:strict"},
        {"q": "has:error"},
        {"show": "failures"},
        {"sort": "score"},
        {"sort": "-latency.1"},
    ],
)
def test_blind_no_filter_and_no_order_tells_verdicts_either(
    served: Any, runs: list[str], watch: Any, state: dict[str, str]
):
    """All cases in the plan's order, and the filter says that this is hidden; what tells nothing chooses as ever."""
    seen = watch(served.link)
    seen.turn(runs[1], blind=1, **state)
    page = seen.page
    page.get_by_text("40 cases").wait_for()
    assert page.get_by_role("rowheader").first.inner_text().startswith("1")
    assert page.get_by_text("hidden while you label blind").count() == ("q" in state)
    seen.turn(runs[1], blind=1, q="curt")  # stands in a judge's reasons alone
    page.get_by_text("0 of 40 cases").or_(page.get_by_text("No case matches")).first.wait_for()
    seen.turn(runs[1], blind=1, q="score@strictly<1")
    page.get_by_text("hidden while you label blind").wait_for()
    assert "friendly" not in page.evaluate(DOM)
    page.get_by_label("Filter", exact=True).fill("c")
    page.get_by_role("option").first.wait_for()
    offers = page.locator("#filter-offers [role=option] code").all_inner_texts()
    assert offers == ["case:", "metadata.difficulty:", "metadata.document:"]
    page.keyboard.press("Escape")
    seen.turn(runs[1], blind=1, q="tag:billing -has:note")
    page.get_by_text("8 of 40 cases").wait_for()
    assert page.get_by_text("hidden while you label blind").count() == 0


def test_a_blind_label_says_so_and_shows_what_it_was_about(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Once it is given the verdict may be seen; the event says that it was given blind."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        seen.turn(runs[1], blind=1, cell=4)
        page = seen.page
        page.get_by_role("dialog").get_by_role("tab").first.wait_for()
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            page.keyboard.press("p")
        page.get_by_role("dialog").get_by_text("shop-model").first.wait_for()
    with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as found:
        assert [(label.field, label.value, label.blind) for label in found.labels()] == [
            ("verdict", "pass", True)
        ]


def test_keys_that_are_pressed_faster_than_labels_are_kept_are_all_counted(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Each is meant of what the one before it left: the second `p` takes the first back, `u` takes back what stands."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(runs[1], cell=4)
        page.get_by_role("tab").first.wait_for()
        page.evaluate(
            "(keys) => { for (const key of keys) dispatchEvent(new KeyboardEvent('keydown', { key })); }",
            "ppf3u",
        )
        page.get_by_role("button", name="fail", pressed=True).wait_for()
        page.get_by_role("button", name="Undo").wait_for()
        page.wait_for_timeout(300)
        seen.close()
    with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as found:
        assert [(label.field, label.value) for label in found.labels()] == [
            ("verdict", "pass"),
            ("verdict", None),
            ("verdict", "fail"),
            ("score", 3),
            ("score", None),
        ]


@pytest.mark.thorough
def test_a_cell_is_labelled_where_the_keyboard_is_in_the_matrix(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Without opening it; only a note opens it, and the next cell that is opened is not written into."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        page, press = seen.page, seen.page.keyboard.press
        seen.turn(runs[1])
        page.get_by_role("gridcell").first.wait_for()
        press("f")  # there is no cursor yet
        press("j")
        for key in ("p", "3", "u"):
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                press(key)
        page.locator(".active .said").get_by_text("pass").wait_for()
        assert page.get_by_role("dialog").count() == 0
        press("n")
        page.wait_for_function("() => document.activeElement.matches('textarea')")
        page.keyboard.type("see page 2")
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            press("Enter")
        press("Escape")
        press("j")
        press("Enter")
        page.get_by_role("tab").first.wait_for()
        assert page.evaluate("() => document.activeElement.matches('textarea')") is False
        seen.close()
    with RunFile.open(own_home / "runs" / f"{runs[1]}.db") as found:
        assert [(label.field, label.value) for label in found.labels()] == [
            ("verdict", "pass"),
            ("score", 3),
            ("score", None),
            ("note", "see page 2"),
        ]


def test_a_window_shows_what_another_one_labelled(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Once it has the focus again: what it undoes or toggles is the newest label, and not one that it remembers."""
    pressed = ".labelbar .label-fail[aria-pressed=true]"
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        seen.turn(runs[1], cell=3)
        seen.page.locator(".labelbar").wait_for()
        other = seen.context.new_page()
        other.goto(seen.page.url)
        other.locator(".labelbar").wait_for()
        other.keyboard.press("f")
        other.locator(pressed).wait_for()
        assert seen.page.locator(pressed).count() == 0
        seen.page.evaluate("() => dispatchEvent(new Event('focus'))")
        seen.page.locator(pressed).wait_for()
        seen.close()

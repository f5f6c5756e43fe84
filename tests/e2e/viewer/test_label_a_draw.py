"""Labelling a random draw on the page, key by key, with the judge's verdict hidden."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.labels.failure_codes import failure_codes
from evenhand.store.labels.stored_draws import add_metric_labels, standing_labels
from evenhand.store.runfile import RunFile

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "judge"


@pytest.fixture
def judged(tmp_path: Path, serve: Any, command: Any) -> Iterator[tuple[str, Path]]:
    """The link to a judged run that nobody has labelled, and its file."""
    folder, home = tmp_path / "judge", tmp_path / "home"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand", "calibration.json"))
    home.mkdir()
    command("run", folder, "--offline", "--no-progress", EVENHAND_HOME=str(home))
    (path,) = (home / "runs").glob("*.db")
    with serve(home) as viewer:
        yield viewer.link, path


def test_a_draw_is_made_ruled_and_labelled_key_by_key(judged: tuple[str, Path], watch: Any):
    """Nothing tells the judge's verdict; rule, verdicts and code are kept; the end says what they are worth."""
    link, path = judged
    seen = watch(link)
    seen.turn(path.stem)
    seen.page.keyboard.type("gl")
    page = seen.page
    page.get_by_label("Outputs to draw").fill("4")
    page.get_by_role("button", name="Draw").click()
    page.get_by_label("What makes an output pass").fill("Promises only what the policy allows.")
    page.get_by_role("button", name="Keep the rule").click()
    page.get_by_text("Passes if: Promises only what the policy allows.").wait_for()
    page.get_by_text(
        "Promises only what the shop allows, returns within 30 days of delivery"
    ).wait_for()
    assert "0 of 4 labelled" in page.locator(".labelling").inner_text()
    page.keyboard.press("2")
    page.locator(".label-scores [aria-pressed=true]").wait_for()
    with RunFile.open(path) as run:
        (draw,) = run.draws()
        first = run.trial(draw.places[0])
    assert first is not None
    text = page.locator(".run-page").inner_text()
    assert str(first.output) in text
    for hidden in ("Failed", "90 %", "by gpt-5", "keeps to the policy", "not checked"):
        assert hidden not in text
    page.keyboard.press("c")
    page.keyboard.type("promises too much")
    page.keyboard.press("Enter")
    for key, done in (("f", "1 of 4"), ("p", "2 of 4"), ("u", "1 of 4"), ("p", "2 of 4")):
        page.keyboard.press(key)
        page.get_by_text(f"{done} labelled").wait_for()
    page.keyboard.press("s")
    page.keyboard.press("p")
    page.get_by_text("3 of 4 labelled").wait_for()
    page.keyboard.press("p")
    page.get_by_role("heading", name="All 4 outputs labelled").wait_for()
    page.get_by_text("4 labels give").wait_for()
    page.get_by_text("promises too much: 25 % [").wait_for()
    page.get_by_label("Outputs to draw").fill("2")
    page.get_by_label("How").select_option("active")
    page.get_by_role("button", name="Draw").click()
    page.get_by_text("4 of 6 labelled").wait_for()
    with RunFile.open(path) as run:
        labels = standing_labels(run.metric_labels())
        (code,) = failure_codes(run)
        (judge,) = calibrate(run).judges
        assert run.rules() == {"policy": "Promises only what the policy allows."}
    verdicts = {place: each["me"].verdict for (place, _), each in labels.items()}
    assert [verdicts[place] for place in draw.places] == ["fail", "pass", "pass", "pass"]
    assert (code.name, code.trials) == ("promises too much", (draw.places[0],))
    assert judge.verdicts.labels == 4


def test_the_page_for_labelling_is_accessible_and_is_not_in_reports(
    judged: tuple[str, Path], watch: Any, page: Path, command: Any, tmp_path: Path
):
    """Axe finds nothing; a report in one file, and a run without a judge, have no such tab."""
    link, path = judged
    command("label", path, "--draw", 3, "--seed", 1, "--to", tmp_path / "d.csv")
    seen = watch(link)
    seen.turn(path.stem, view="label")
    seen.page.locator(".labelling .labelbar").wait_for()
    seen.page.evaluate((page / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8"))
    problems = seen.page.evaluate(
        """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
        .filter((each) => each.impact !== "minor")
        .map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`)"""
    )
    assert problems == []
    report = tmp_path / "report.html"
    command("export", path, "--to", report)
    one = watch(report.as_uri())
    assert one.page.get_by_role("link", name="Label").count() == 0


def test_what_people_said_of_a_judged_metric_is_found_and_stands_in_its_cell(
    judged: tuple[str, Path], watch: Any
):
    """By the filter, in the tab Labels, and beside the output; of two people, each."""
    link, path = judged
    add_metric_labels(path, "ann", [(3, "policy", "fail"), (5, "policy", "pass")])
    add_metric_labels(path, "bob", [(3, "policy", "pass")])
    seen = watch(link)
    for query, shown in (("label@policy:fail", 1), ("has:label", 2), ("label@tone:fail", 0)):
        seen.turn(path.stem, q=query)
        seen.page.get_by_text(
            f"{shown} of 100 trials" if shown else "No case matches"
        ).first.wait_for(state="attached")
    seen.turn(path.stem, cell=3)
    drawer = seen.page.locator(".drawer")
    drawer.get_by_role("tab", name="Labels").click()
    drawer.get_by_text("verdict of policy: fail").wait_for()
    drawer.get_by_text("verdict of policy: pass").wait_for()


def test_a_label_that_could_not_be_kept_does_not_count_and_its_output_comes_again(
    judged: tuple[str, Path], watch: Any
):
    """Offline, nothing is called labelled; once the viewer answers again, what the page counts is in the file."""
    link, path = judged
    seen = watch(link)
    seen.expected = ["ERR_INTERNET_DISCONNECTED"]
    page = seen.page
    seen.turn(path.stem, view="label")
    page.get_by_label("Outputs to draw").fill("3")
    page.get_by_role("button", name="Draw").click()
    page.get_by_role("button", name="Label without one").click()
    page.keyboard.press("p")
    page.get_by_text("1 of 3 labelled").wait_for()
    seen.context.set_offline(True)
    for key in "pf":
        with page.expect_event("requestfailed"):
            page.keyboard.press(key)
        page.get_by_role("alert").get_by_text("was not kept").wait_for()
    page.get_by_text("1 of 3 labelled").wait_for()
    seen.context.set_offline(False)
    for done in ("2 of 3 labelled", "All 3 outputs labelled"):
        page.keyboard.press("f")
        page.get_by_text(done).wait_for()
    with RunFile.open(path) as run:
        labels = standing_labels(run.metric_labels())
    assert sorted(each["me"].verdict or "" for each in labels.values()) == ["fail", "fail", "pass"]


def test_a_label_counts_once_the_viewer_has_kept_it(judged: tuple[str, Path], watch: Any):
    """While the viewer's answer is awaited, the page goes on, but counts no label and doesn't call all of them done."""
    link, path = judged
    seen = watch(link)
    page = seen.page
    seen.turn(path.stem, view="label")
    page.get_by_label("Outputs to draw").fill("2")
    page.get_by_role("button", name="Draw").click()
    page.get_by_role("button", name="Label without one").click()
    page.get_by_text("0 of 2 labelled").wait_for()
    awaited: list[Any] = []

    def hold(route: Any) -> None:
        awaited.append(route)

    page.route("**/verdicts", hold, times=1)
    with page.expect_request("**/verdicts"):
        page.keyboard.press("p")
    page.get_by_text("0 of 2 labelled").wait_for()
    page.keyboard.press("f")
    page.get_by_text("Keeping the last labels").wait_for()
    (first,) = awaited
    first.continue_()
    page.get_by_text("All 2 outputs labelled").wait_for()
    with RunFile.open(path) as run:
        labels = standing_labels(run.metric_labels())
    assert sorted(each["me"].verdict or "" for each in labels.values()) == ["fail", "pass"]

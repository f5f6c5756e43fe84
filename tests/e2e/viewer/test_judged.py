"""Judged pass rates on the page: what people would have found, beside what the judge found."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.calibration import calibrate
from evenhand.render.judged_rates import standing
from evenhand.store.runfile import RunFile

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "judge"


@pytest.fixture(scope="module")
def judged_home(tmp_path_factory: pytest.TempPathFactory, command: Any) -> Path:
    """The example of a judge that is too kind, run, labelled, calibrated and run again: two runs."""
    folder = tmp_path_factory.mktemp("judged") / "judge"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand", "calibration.json"))
    home = folder.parent / "home"
    home.mkdir()

    def evenhand(*words: object) -> None:
        command(*words, EVENHAND_HOME=str(home))

    evenhand("run", folder, "--offline", "--no-progress")
    evenhand("label", "latest", "--draw", 60, "--seed", 1, "--to", folder / "draw.csv")
    evenhand("label", "latest", "--from", folder / "labels.csv", "--by", "ann")
    evenhand("calibrate", "latest")
    evenhand("run", folder, "--offline", "--no-progress")
    return home


@pytest.fixture(scope="module", params=["server", pytest.param("file", marks=pytest.mark.thorough)])
def page_of(
    request: pytest.FixtureRequest, judged_home: Path, serve: Any, command: Any
) -> Iterator[tuple[str, Path]]:
    """The link to the later run, on a server and as one file; and the run."""
    latest = max((judged_home / "runs").glob("*.db"))
    if request.param == "server":
        with serve(judged_home) as viewer:
            yield viewer.link, latest
        return
    report = judged_home / "report.html"
    command("export", latest.stem, "--to", report, EVENHAND_HOME=str(judged_home))
    yield report.as_uri(), latest


def test_a_judged_rate_stands_on_the_page_corrected_and_raw(page_of: tuple[str, Path], watch: Any):
    """Among the totals, in words in its menu, and in the summary; not where people label blind."""
    link, latest = page_of
    with RunFile.open(latest) as run:
        (rate,) = judged_rates(run)
    words = standing(rate)
    corrected, raw = (
        words.partition(" corrected")[0],
        words.partition("raw ")[2].partition(" by")[0],
    )
    seen = watch(link)
    seen.turn(latest.stem)
    notice = seen.page.locator(".totals summary", has_text="corrected")
    assert notice.inner_text().strip() == f"policy {corrected} corrected"
    notice.click()
    assert words in seen.page.locator(".totals .menu-panel").first.inner_text()
    seen.turn(latest.stem, view="summary")
    line = seen.page.locator("section[aria-labelledby=judged] .requirement")
    text = " ".join(line.inner_text().split())
    assert corrected in text
    assert f"raw {raw}" in text
    seen.turn(latest.stem, blind=1)
    assert seen.page.locator(".totals summary", has_text="corrected").count() == 0


def test_where_judge_and_people_differ_is_listed_with_both_reasons_and_reached_by_a_key(
    judged_home: Path, watch: Any, serve: Any
):
    """Counted as `calibrate` counts it; a link leads to such trials alone, and x to the next of them."""
    earlier = min((judged_home / "runs").glob("*.db"))
    with RunFile.open(earlier) as run:
        (judge,) = calibrate(run).judges
    counts = judge.verdicts
    lenient, strict = counts.excused, counts.missed
    with serve(judged_home) as viewer:
        seen = watch(viewer.link)
        seen.turn(earlier.stem, view="summary")
        section = seen.page.get_by_role("region", name="Judge and people", exact=True)
        section.get_by_text(f"agree on {60 - lenient - strict} of 60").wait_for()
        rows = section.locator("tbody tr")
        assert rows.count() == lenient + strict
        assert "ann" in rows.first.inner_text()
        section.get_by_role("link", name=f"judge passed, people failed: {lenient}").click()
        seen.page.get_by_text(f"{lenient} of 100 trials").first.wait_for(state="attached")
        seen.turn(earlier.stem)
        seen.page.locator("[role=grid]").focus()
        places: list[str | None] = []
        for _ in range(lenient + strict):
            seen.page.keyboard.press("x")
            seen.page.locator("[aria-activedescendant]").wait_for()
            places.append(seen.page.locator("[role=grid]").get_attribute("aria-activedescendant"))
        assert len(set(places)) == lenient + strict
        assert seen.page.locator(".said", has_text="≠").count() > 0


@pytest.fixture(scope="module")
def doubtful_home(tmp_path_factory: pytest.TempPathFactory, command: Any) -> Path:
    """The example with ten labels alone, calibrated, and a gate's run of it."""
    folder = tmp_path_factory.mktemp("doubtful") / "judge"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand", "calibration.json"))
    home = folder.parent / "home"
    home.mkdir()

    def evenhand(*words: object) -> None:
        command(*words, EVENHAND_HOME=str(home))

    evenhand("run", folder, "--offline", "--no-progress")
    drawn, labels = folder / "draw.csv", folder / "labels.csv"
    evenhand("label", "latest", "--draw", 10, "--seed", 1, "--to", drawn)
    with labels.open(newline="") as file:
        verdicts = {row["case"]: row["verdict"] for row in csv.DictReader(file)}
    with drawn.open(newline="") as file:
        rows = [row | {"verdict": verdicts[row["case"]]} for row in csv.DictReader(file)]
    with drawn.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    evenhand("label", "latest", "--from", drawn, "--by", "ann")
    evenhand("calibrate", "latest")
    evenhand("baseline", "latest", "--to", folder / "b.evn")
    evenhand("gate", folder, "--offline", "--baseline", folder / "b.evn", "--margin", 0.1)
    return home


def test_the_header_says_why_a_judge_is_not_trusted(doubtful_home: Path, watch: Any, serve: Any):
    """Ten labels are too few, which is not that nobody labelled; what is typed is shown as code."""
    labelled = min((doubtful_home / "runs").glob("*.db"))
    with serve(doubtful_home) as viewer:
        seen = watch(viewer.link)
        seen.turn(labelled.stem)
        notice = seen.page.locator(".totals summary", has_text="judge")
        assert notice.inner_text().strip() == "judge: too few labels"
        notice.click()
        words = seen.page.locator(".totals .menu-panel").first
        assert "10 labels" in words.inner_text()
        assert words.locator("code").inner_text() == "evenhand calibrate"
        assert "`" not in words.inner_text()
        seen.close()


def test_a_gates_run_is_marked_in_the_list_and_on_its_page(
    doubtful_home: Path, watch: Any, serve: Any
):
    """As `evenhand runs list` marks it. Trials failed, and its verdict is the gate's all the same."""
    gated = max((doubtful_home / "runs").glob("*.db"))
    with serve(doubtful_home) as viewer:
        seen = watch(viewer.link)
        rows = seen.page.locator(".run-list tbody tr")
        names = rows.locator(".run-name").all_inner_texts()
        assert [name.startswith("gate · ") for name in names] == [True, False]
        badges = rows.locator(".badge").all_inner_texts()
        assert [badge.strip("✓✗ \n") for badge in badges] == ["Not worse", "Failed"]
        seen.turn(gated.stem)
        assert seen.page.locator("h1").inner_text().startswith("gate · ")
        seen.close()

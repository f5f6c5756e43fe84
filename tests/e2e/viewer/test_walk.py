"""The way of somebody who has just run three prompts: which failed, why, and which of them is best."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from evenhand import Case, Dataset, EvalSet, Expect, Model, run
from evenhand.core.errors import Overloaded
from evenhand.scorers import Equals
from evenhand.testing import Scripted

EXAMPLE = Path(__file__).parents[3] / "examples" / "summaries"

INTERRUPTED = """\
prompts: ["the question"]
providers: [file://model.py]
tests: [{assert: [{type: python, value: file://grade.py}]}]
"""
GRADE = """\
from pathlib import Path

def get_assert(output, context):
    return Path(__file__).with_name("ready").read_text() == ""
"""
COUNT = "() => { window.clicks = 0; addEventListener('click', () => { window.clicks++; }, true); }"


def test_from_a_run_to_the_best_prompt_in_five_clicks(
    tmp_path: Path, command: Any, serve: Any, watch: Any
):
    """Open the run; find the failing cell; read why, and what was asked; compare the prompts on charts."""
    home = tmp_path / "home"
    folder = shutil.copytree(
        EXAMPLE, tmp_path / "summaries", ignore=shutil.ignore_patterns(".evenhand")
    )
    command("run", folder, "--offline", EVENHAND_HOME=str(home))
    with serve(home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        page.evaluate(COUNT)

        page.get_by_role("link", name="Science articles").click()
        grid = page.get_by_role("grid")
        heads = grid.get_by_role("columnheader")
        assert [heads.nth(n).locator(".head-name").inner_text().rpartition(":")[2] for n in (1, 2, 3)] == [
            "basic",
            "better",
            "best",
        ]  # fmt: skip
        assert [heads.nth(n).locator("b").first.inner_text() for n in (1, 2, 3)] == [
            "0 %",
            "88 %",
            "100 %",
        ]
        assert "53–98 %" in heads.nth(2).inner_text()

        failing = grid.get_by_role("gridcell", name="better, case 3, fail")
        failing.click()
        drawer = page.get_by_role("dialog")
        reason = drawer.get_by_text("the summary keeps 'backpropagation' unexplained")
        reason.filter(visible=True).first.wait_for()
        assert "3.67" in drawer.inner_text()
        drawer.get_by_role("tab", name="Prompt").click()
        assert "for a class of ten-year-olds" in drawer.inner_text()

        page.get_by_role("navigation").get_by_role("link", name="Charts").click()
        charts = page.locator(".charts")
        charts.wait_for()
        text = charts.inner_text()
        for name in ("basic", "better", "best"):
            assert name in text
        assert "88 %" in text
        assert "53–98" in text
        assert "8 cases" in text
        assert page.evaluate("() => window.clicks") <= 5


def test_a_cell_tells_retries_and_where_answers_came_from(
    tmp_path: Path, command: Any, serve: Any, watch: Any
):
    """Asked twice for an answer, answered by the cache in the next run, out of the journal in one that went on."""
    home = tmp_path / "home"
    model = Scripted([Overloaded("busy"), "yes"], cost_usd=0.25)
    evals = EvalSet("answers", data=Dataset([Case("a")]), model=model)

    @evals.eval
    async def answers(model: Model, expect: Expect) -> None:
        """Asked one thing."""
        expect((await model.generate("the question")).text, Equals("yes"))

    for _ in range(2):
        run(evals, home=home, progress=False).close()
    folder = tmp_path / "later"
    folder.mkdir()
    (folder / "promptfooconfig.yaml").write_text(INTERRUPTED, "utf-8")
    (folder / "model.py").write_text(
        "def call_api(prompt, options, context):\n    return {'output': 'yes'}\n", "utf-8"
    )
    (folder / "grade.py").write_text(GRADE, "utf-8")
    command("run", folder, "--no-cache", EVENHAND_HOME=str(home))
    (folder / "ready").touch()
    command("resume", EVENHAND_HOME=str(home))
    told: list[str] = []
    with serve(home) as viewer:
        seen = watch(viewer.link)
        for path in sorted((home / "runs").glob("*.db")):
            seen.turn(path.stem, cell=0, tab="calls")
            told.append(seen.page.locator(".calls summary").first.inner_text())
        seen.close()
    assert [
        words in one for one, words in zip(told, ("2 attempts", "cache", "journal"), strict=True)
    ] == [True] * 3
    assert "provider" in told[0]


ON_SCREEN = """() => {
    const panel = document.querySelector("details.menu[open] > .menu-panel")
    const box = panel && panel.getBoundingClientRect()
    return box && box.left >= 0 && box.right <= innerWidth
}"""


def test_menus_stay_on_the_screen(served: Any, runs: list[str], watch: Any):
    """Wherever the button is, and however narrow the screen."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1])
    for width in (1280, 900, 390):
        page.set_viewport_size({"width": width, "height": 800})
        for menu in page.locator("details.menu > summary").all():
            if menu.is_visible():
                menu.click()
                # A browser says that a menu is open a moment later; then it is put in its place.
                page.wait_for_function(ON_SCREEN)
                page.keyboard.press("Escape")


def test_where_there_is_no_run_the_page_says_how_to_make_one(
    tmp_path: Path, serve: Any, watch: Any, command: Any
):
    """What it says works, word for word, and the run is there when one looks again."""
    home = tmp_path / ".evenhand"
    (home / "runs").mkdir(parents=True)
    with serve(home) as viewer:
        seen = watch(viewer.link)
        recipe = seen.page.locator("pre").inner_text().splitlines()
        assert recipe[0].startswith("evenhand init ")
        assert recipe[1] == "cd demo"
        command("init", tmp_path / recipe[0].split()[-1])
        words = recipe[2].split()
        command(*words[1:], tmp_path / "demo", EVENHAND_HOME=str(home))
        seen.page.reload()
        seen.page.get_by_role("link").nth(1).wait_for()
        assert seen.page.get_by_text("1 run").count() == 1
        seen.close()


def test_each_expectation_shows_what_its_own_judge_was_asked_and_answered(
    either: str, runs: list[str], watch: Any
):
    """Two judges of one answer: under each is the one call that was made for it, and under others none."""
    seen = watch(either)
    seen.turn(runs[0], cell=0, tab="expectations")
    cards = seen.page.locator(".expectations > details")
    for card in cards.all():
        if card.get_attribute("open") is None:
            card.locator("summary").first.click()
    for name, key, others in (("is polite", "passes", "score"), ("clarity", "score", "passes")):
        call = cards.filter(has_text=name).locator("details", has_text="judge-model")
        assert call.count() == 1
        call.locator("summary").first.click()
        call.get_by_text("Request as sent").wait_for()
        text = call.inner_text()
        assert (text.count(key) >= 2, text.count(others)) == (True, 0)
    assert cards.filter(has_text="sources").locator("details", has_text="judge-model").count() == 0

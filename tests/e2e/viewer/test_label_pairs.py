"""Comparing drawn pairs on the page, with the terminal's keys, in the order of the draw and with the judge hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.trust.calibration import calibrate
from evenhand.store.labels.stored_draws import standing_pair_labels
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

SET = """
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Passes, Ranking

STYLES = {"plain": "Answer in one sentence.", "warm": "Be warm."}
evals = EvalSet(
    "replies",
    data=Dataset.of(*({"id": f"c{n}", "input": f"question {n}"} for n in range(12))),
    model="openai:chat:gpt-5-mini",
    judge="openai:chat:gpt-5",
    over={"style": list(STYLES)},
    compare=[Ranking(criteria="helps the customer")],
)


@evals.eval
async def replies(case: Case, style: str, model: Model, expect: Expect) -> str:
    reply = (await model.generate(f"{STYLES[style]} {case.input}")).text
    # EXPECT
    return reply
"""
RANKING = 'ranking by "helps the customer"'


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """Its judge prefers warm replies, and says so in words that nobody may see."""
    replies = [
        Rule((rf"{style}.* question {n}$",), f"{name} reply {n}", model="gpt-5-mini")
        for n in range(12)
        for style, name in (("sentence", "plain"), ("warm", "friendly"))
    ]
    rules = [
        Rule((r"<first [^>]*>\s*friendly",), _prefers("first"), model="gpt-5"),
        Rule((r"<second [^>]*>\s*friendly",), _prefers("second"), model="gpt-5"),
        Rule(
            reply=json.dumps({"reasoning": "so", "passes": True, "confidence": 0.9}), model="gpt-5"
        ),
        *replies,
    ]
    with FakeProvider(Script(rules)) as fake:
        yield fake


def _prefers(which: str) -> str:
    return json.dumps({"reasoning": "Its tone decides.", "winner": which, "confidence": 0.9})


def judged(home: Path, command: Any, fake: FakeProvider, text: str) -> Path:
    """The file of a run of this eval set."""
    home.mkdir(exist_ok=True)
    evals = home / "replies_evals.py"
    evals.write_text(text, "utf-8")
    command("run", evals, "--no-progress", EVENHAND_HOME=str(home), **fake.env())
    (path,) = (home / "runs").glob("*.db")
    return path


@pytest.mark.thorough
def test_a_draw_of_pairs_is_made_ruled_and_compared_key_by_key(
    provider: FakeProvider, tmp_path: Path, serve: Any, watch: Any, command: Any
):
    """1, 2, ← and → and t say which is better, s skips, u takes back; each answer is about the order on the page."""
    home = tmp_path / "home"
    path = judged(home, command, provider, SET)
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.turn(path.stem)
        page = seen.page
        page.keyboard.type("gl")
        page.get_by_label("Pairs to draw").fill("5")
        page.get_by_role("button", name="Draw").click()
        page.get_by_label("What makes an output better by").fill("It helps more.")
        page.get_by_role("button", name="Keep the rule").click()
        page.get_by_text("Better: It helps more.").wait_for()
        with RunFile.open(path) as run:
            (draw,) = run.pair_draws()
            texts = {trial.index: str(trial.output) for trial in run.trials()}
        first, second = draw.pairs[0]
        shown = page.locator(".labelling-pair").inner_text()
        assert 0 <= shown.index(texts[first]) < shown.index(texts[second])
        text = page.locator(".run-page").inner_text()
        for hidden in ("gpt-5", "tone decides", "warm", "plain ·", "beats", "not checked"):
            assert hidden not in text.replace(texts[first], "").replace(texts[second], "")
        for key, done in (("1", 1), ("ArrowRight", 2), ("u", 1), ("ArrowLeft", 2), ("t", 3)):
            page.keyboard.press(key)
            page.get_by_text(f"{done} of 5 compared").wait_for()
        page.keyboard.press("s")
        page.keyboard.press("2")
        page.get_by_text("4 of 5 compared").wait_for()
        page.get_by_role("group", name="Which is better").get_by_role(
            "button", name="Second"
        ).click()
        page.get_by_role("heading", name="All 5 pairs compared").wait_for()
        page.get_by_text(f"{RANKING}: 5 labels in all; 25 more are needed").wait_for()
        page.get_by_label("Pairs to draw").fill("2")
        page.get_by_role("button", name="Draw").click()
        page.get_by_text("5 of 7 compared").wait_for()
        seen.close()
    with RunFile.open(path) as run:
        labels = standing_pair_labels(run.pair_labels())
        (ranking,) = calibrate(run).rankings
        assert run.rules() == {RANKING: "It helps more."}
    said = {label["me"].pair: label["me"].answer for label in labels.values()}
    assert [said[pair] for pair in draw.pairs] == ["first", "first", "tie", "second", "second"]
    assert len(ranking.labels.pairs) == 5


@pytest.mark.thorough
def test_a_ranking_is_a_result_and_nothing_that_could_not_fail_says_pass(
    provider: FakeProvider, tmp_path: Path, serve: Any, watch: Any, command: Any
):
    """Each place stands in head, summary and column with the interval that `show` prints, in page and report."""
    home = tmp_path / "home"
    path = judged(home, command, provider, SET)
    printed = command("show", path.stem, EVENHAND_HOME=str(home))
    places = re.findall(r"^ +(\d)  (\w+) +(\d+ % \[[\d–]+\])$", printed, re.MULTILINE)
    assert [name for _, name, _ in places] == ["warm", "plain"]
    report = tmp_path / "report.html"
    command("export", path.stem, "--to", report, EVENHAND_HOME=str(home))
    with serve(home) as viewer:
        for link in (viewer.link, report.as_uri()):
            seen = watch(link)
            seen.turn(path.stem)
            page = seen.page
            heads = page.get_by_role("columnheader").all_inner_texts()
            for place, name, chance in places:
                head = next(text for text in heads if name in text)
                assert f"place {place} of 2: preferred {chance}" in head
            assert f"1. warm {places[0][2]}" in page.locator(".totals").inner_text()
            text = page.locator(".run-page").inner_text()
            assert not re.search(r"\bpass\b|Passed|100 % \[", text)
            seen.turn(path.stem, view="summary")
            ranking = page.get_by_role("region", name="Ranking").locator("ol").inner_text()
            assert all(name in ranking and chance in ranking for _, name, chance in places)
            seen.turn(path.stem, cell=0)
            drawer = page.get_by_role("dialog")
            drawer.get_by_role("region", name="Expectations").wait_for()
            assert drawer.locator(".drawer-came .mark, summary .mark").count() == 0
            seen.close()


LONG = "# {name} {n}\n\n- in **time**\n\n" + "It goes on.\n\n" * 80
STANDS = """() => [...document.querySelectorAll(".labelling-head, .labelling .labelbar")]
  .map((at) => at.getBoundingClientRect()).every(({ top, bottom }) => top >= 0 && bottom <= innerHeight)"""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1440])
def test_what_is_asked_and_the_answers_stay_in_view_and_outputs_are_read_as_in_a_cell(
    tmp_path: Path, serve: Any, watch: Any, command: Any, width: int
):
    """However long an output is; Markdown is remembered; nobody is asked for a rule twice."""
    verdict = json.dumps({"reasoning": "so", "passes": True, "confidence": 0.9})
    rules = [
        Rule((r"<first ",), _prefers("first"), model="gpt-5"),
        Rule(reply=verdict, model="gpt-5"),
        Rule(reply=LONG, model="gpt-5-mini"),
    ]
    home = tmp_path / "home"
    with FakeProvider(Script(rules)) as fake:
        text = SET.replace("# EXPECT", 'expect(reply, Passes("is kind"), metric="tone")')
        path = judged(home, command, fake, text)
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": width, "height": 844})
        page = seen.page
        for way, asked in (("outputs", 'passes "is kind"'), (RANKING, RANKING)):
            seen.show(path.stem, view="label")
            page.get_by_label("What to label").select_option(label=way)
            page.get_by_role("button", name="Draw").click()
            page.get_by_role("button", name="Label without one").click()
            assert asked in page.locator(".labelling-head").inner_text()
            for place in (0, 300, 100_000):
                page.locator(".page-scroll").evaluate("(at, to) => { at.scrollTop = to; }", place)
                assert page.evaluate(STANDS), place
            page.get_by_role("button", name="Markdown").first.click()
            boxes = page.locator(".labelling .md")
            assert boxes.count() == (1 if way == "outputs" else 2)
            assert boxes.first.locator("strong").inner_text() == "time"
            seen.show(path.stem, view="label", md=1)
            page.get_by_label("What to label").select_option(label=way)
            page.locator(".labelling .md").first.wait_for()
            assert page.get_by_role("button", name="Label without one").count() == 0
            page.keyboard.press("p" if way == "outputs" else "1")
            page.get_by_text(re.compile("^1 of ")).wait_for()
            page.evaluate("() => localStorage.clear()")
            seen.show(path.stem, view="label")
            page.get_by_label("What to label").select_option(label=way)
            page.get_by_text(re.compile("^1 of ")).wait_for()
            assert page.get_by_role("button", name="Label without one").count() == 0
        seen.close()


@pytest.mark.thorough
def test_where_a_run_has_outputs_and_pairs_to_label_one_chooses(
    provider: FakeProvider,
    tmp_path: Path,
    serve: Any,
    watch: Any,
    command: Any,
    page: Path,
):
    """Outputs come first; the page for pairs is accessible."""
    home = tmp_path / "home"
    both = SET.replace("# EXPECT", 'expect(reply, Passes("is kind"))')
    path = judged(home, command, provider, both)
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.turn(path.stem, view="label")
        seen.page.get_by_label("Outputs to draw").wait_for()
        seen.page.get_by_label("What to label").select_option(RANKING)
        seen.page.get_by_label("Pairs to draw").fill("3")
        seen.page.get_by_role("button", name="Draw").click()
        seen.page.get_by_role("button", name="Label without one").click()
        seen.page.get_by_text("0 of 3 compared").wait_for()
        seen.page.evaluate((page / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8"))
        problems = seen.page.evaluate(
            """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
            .filter((each) => each.impact !== "minor")
            .map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`)"""
        )
        assert problems == []
        seen.close()

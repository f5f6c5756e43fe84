"""A cell is asked again from its drawer: edited, estimated, run, and shown beside the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.viewer.test_accessibility import LOOK

AXE = Path(__file__).parents[3] / "page" / "node_modules" / "axe-core" / "axe.min.js"
EVIL = "</textarea><img src=x onerror=alert('evil')><script>alert(1)</script>\u202e\x1b[31m"
CONFIG = """\
description: Shop
prompts: ["Answer {{question}}"]
providers: [{id: openai:chat:gpt-4o-mini, config: {max_tokens: 50}}]
tests:
  - vars:
      question: "Where is it?"
      "</label><img src=x onerror=alert(2)>": {list: [1, 2]}
    assert: [{type: contains, value: window}]
"""
REPLIES = """\
{"match": ["kindly"], "reply": "By the window <img src=x onerror=alert(3)>."}
{"match": "", "reply": "By the door."}
"""


@pytest.fixture
def shop_run(tmp_path: Path, command: Any) -> Path:
    """A home with the run of a config whose replies are scripted."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
    (folder / "offline.jsonl").write_text(REPLIES, "utf-8")
    home = folder / ".evenhand"
    command("run", folder, "--offline", EVENHAND_HOME=str(home))
    return home


def test_a_cell_is_edited_estimated_run_and_held_against_the_old_one(
    shop_run: Path, serve: Any, watch: Any
):
    """With hostile texts in every field; and nothing that a screen reader or a phone could not use."""
    (file,) = (shop_run / "runs").glob("*.db")
    with serve(shop_run, "--allow-runs") as viewer:
        seen = watch(viewer.link, bypass_csp=True)
        page = seen.page
        seen.turn(file.stem, cell=0, tab="ask")
        prompt = page.get_by_role("textbox", name="Prompt")
        prompt.fill(f"Answer kindly {{{{question}}}} {EVIL}")
        page.get_by_role("textbox", name="question").fill(f"{EVIL} {{{{env.HOME}}}}")
        other = page.get_by_role("textbox", name="onerror")
        other.fill("{")
        page.get_by_role("button", name="Estimate").click()
        page.get_by_role("alert").wait_for()  # it is not JSON
        other.fill('{"list": []}')
        # A model that nobody may type is refused, in words.
        page.get_by_role("combobox", name="Model").select_option("Another…")
        page.get_by_role("textbox", name="Its id").fill(f"exec:{EVIL}")
        seen.expected = ["400"]
        page.get_by_role("button", name="Estimate").click()
        page.get_by_text("only models of vendors").wait_for()
        page.get_by_role("combobox", name="Model").select_option("openai:chat:gpt-4o-mini")
        page.get_by_role("button", name="Estimate").click()
        page.get_by_text("1 call, about").wait_for()
        page.get_by_role("button", name="Run", exact=True).click()
        sides = page.get_by_role("dialog").locator(".beside-side")
        sides.nth(1).wait_for()
        assert "By the door." in sides.nth(0).inner_text()
        assert "By the window <img" in sides.nth(1).inner_text()
        assert [side.get_by_text("contains").count() for side in sides.all()] == [1, 1]
        page.get_by_text("finished").wait_for()
        # What was typed is still there after a look at another tab.
        page.get_by_role("tab", name="Prompt").click()
        page.get_by_role("tab", name="Ask again").click()
        assert EVIL in prompt.input_value()
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(LOOK) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.get_by_role("link", name="Open the run").click()
        page.get_by_role("heading", name="Shop · asked again from").wait_for()
        assert len(list((shop_run / "runs").glob("*.db"))) == 2
        assert page.locator("img, .pwned").count() == 0
        seen.close()


def test_without_the_option_there_is_nothing_to_ask_with(shop_run: Path, serve: Any, watch: Any):
    """No tab, also where its address is typed."""
    (file,) = (shop_run / "runs").glob("*.db")
    with serve(shop_run) as viewer:
        seen = watch(viewer.link)
        seen.turn(file.stem, cell=0, tab="ask")
        seen.page.get_by_role("tab", name="Output").wait_for()
        assert seen.page.get_by_role("tab", name="Ask again").count() == 0
        assert seen.page.get_by_role("button", name="Estimate").count() == 0
        seen.close()

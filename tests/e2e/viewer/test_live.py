"""A run is looked at while it goes on: rows come without a reload, and what people say of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.store.runfile import RunFile

CONFIG = """\
description: a slow run
prompts: ["Say {{word}}"]
providers: [{id: "file://slow.py", label: slow}]
tests:
"""
SLOW = """\
import time
from pathlib import Path


def call_api(prompt, options, context):
    word = context["vars"]["word"]
    gate = Path(__file__).with_name("go")
    while word not in ("word-0", "word-1", "word-2") and not gate.exists():
        time.sleep(0.05)
    return {"output": f"{word} it is"}
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A folder whose run answers three questions at once, and the others when there is a file called `go`."""
    folder = tmp_path / "slow"
    folder.mkdir()
    tests = "".join(
        f"  - vars: {{word: word-{n}}}\n    assert: [{{type: contains, value: it is}}]\n"
        for n in range(12)
    )
    (folder / "promptfooconfig.yaml").write_text(CONFIG + tests, "utf-8")
    (folder / "slow.py").write_text(SLOW, "utf-8")
    return folder


@pytest.mark.thorough
def test_a_run_that_is_deleted_while_it_is_looked_at_is_told_in_words(
    own_home: Path, runs: list[str], serve: Any, watch: Any
):
    """Above the matrix, where outputs are missing; in the drawer; and for whoever opens it anew. No file is named."""
    with serve(own_home) as viewer:
        seen = watch(viewer.link)
        seen.expected = ["404"]
        page = seen.page
        seen.turn(runs[1])
        for path in (own_home / "runs").glob(f"{runs[1]}.db*"):
            path.unlink()
        page.get_by_role("grid").evaluate("(at) => { at.scrollTop = at.scrollHeight; }")
        page.get_by_role("alert").get_by_text("It may have been deleted.").wait_for()
        page.get_by_role("gridcell").first.click()
        page.get_by_role("dialog").get_by_text("It may have been deleted.").wait_for()
        assert str(own_home) not in page.locator("#app").inner_text()
        page.reload()
        page.get_by_role("alert").get_by_text("It may have been deleted.").wait_for()
        seen.close()


def test_while_a_run_is_read_nothing_is_called_empty_and_no_part_is_told_as_the_whole(
    served: Any, runs: list[str], watch: Any
):
    """Until its cells are here there is no rate of a column, and counts say that they are of what was read so far."""
    seen = watch(served.link)
    page = seen.page
    page.evaluate("""() => {
      const fetched = window.fetch;
      window.fetch = async (path, how) => {
        const answer = await fetched(path, how);
        if (!String(path).endsWith("/blocks")) return answer;
        const lines = (await answer.text()).split("\\n");
        const line = JSON.parse(lines[0]);
        const rest = new Promise((resolve) => { window.finish = resolve; });
        const body = new ReadableStream({ async start(out) {
          out.enqueue(new TextEncoder().encode(lines[0] + "\\n"));
          await rest;
          out.enqueue(new TextEncoder().encode(lines.slice(1).join("\\n")));
          out.close();
        } });
        return new Response(body);
      };
    }""")
    page.evaluate("(there) => { location.hash = there; }", f"#/run/{runs[1]}")
    page.get_by_text("so far").first.wait_for()
    text = page.locator(".matrix-view").inner_text()
    assert "nothing to filter" not in text
    heads = text.partition("Case\n")[2].partition("\n1\n")[
        0
    ]  # above them, other runs may be offered, with rates
    assert "reading…" in heads
    assert " %" not in heads
    page.evaluate("() => window.finish()")
    seen.settled()
    assert "40 cases" in page.locator(".shown-of").inner_text()
    assert "so far" not in page.locator(".matrix-view").inner_text()


def test_rows_come_in_and_labels_stay(slow: Path, serve: Any, watch: Any, tmp_path: Path):
    """Three rows, then twelve, on the same page; a label given in between is in the file at the end."""
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    command = [sys.executable, "-c", "from evenhand.cli import main; main()"]
    with serve(home) as viewer:
        running = subprocess.Popen(
            [*command, "run", str(slow)],
            env={"PATH": os.environ["PATH"], "EVENHAND_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            seen = watch(viewer.link)
            page = seen.page
            page.get_by_role("link", name="a slow run").click(timeout=20_000)
            page.get_by_text("word-2 it is").first.wait_for()
            assert page.get_by_text("word-7 it is").count() == 0
            totals = page.locator(".totals").inner_text()
            assert "3 of 12 trials: 3 passed" in totals
            assert "· 3 cases" in totals
            assert page.locator(".shown-of").inner_text() == "3 cases"
            page.evaluate("() => { window.same = true; }")
            page.get_by_text("word-1 it is").first.click()
            page.get_by_role("dialog").get_by_role("tab").first.wait_for()
            with page.expect_response(lambda answer: answer.request.method == "POST"):
                page.keyboard.press("f")
            page.keyboard.press("Escape")
            (slow / "go").touch()
            page.get_by_text("word-7 it is").first.wait_for(timeout=15_000)
            running.wait(20)
            (run,) = (home / "runs").glob("*.db")
            grid = page.get_by_role("grid")
            grid.and_(page.locator("[aria-rowcount='13']")).wait_for(timeout=15_000)
            grid.press("End")
            page.get_by_text("word-11 it is").first.wait_for()
            assert page.evaluate("() => window.same") is True
        finally:
            running.kill()
            running.wait()
        with RunFile.open(run) as found:
            assert [(label.field, label.value) for label in found.labels()] == [("verdict", "fail")]
            assert found.totals().passed == 12


@pytest.mark.thorough
def test_requirements_are_read_again_as_the_run_goes_on(
    slow: Path, serve: Any, watch: Any, tmp_path: Path
):
    """Undecided while most trials have not run, met at the end, on the same page."""
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    command = [sys.executable, "-c", "from evenhand.cli import main; main()"]
    with serve(home) as viewer:
        running = subprocess.Popen(
            [*command, "run", str(slow), "--at-least", "0.5"],
            env={"PATH": os.environ["PATH"], "EVENHAND_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            seen = watch(viewer.link)
            page = seen.page
            page.get_by_role("link", name="a slow run").click(timeout=20_000)
            page.get_by_text("word-2 it is").first.wait_for()
            page.get_by_role("link", name="Summary").click()
            page.locator(".requirement-open").wait_for()
            page.evaluate("() => { window.same = true; }")
            (slow / "go").touch()
            page.locator(".requirement-kept").wait_for(timeout=20_000)
            assert page.evaluate("() => window.same") is True
        finally:
            running.kill()
            running.wait()
        seen.close()


@pytest.mark.thorough
def test_a_killed_run_that_somebody_else_resumes_is_followed_again(
    slow: Path, serve: Any, watch: Any, tmp_path: Path, command: Any
):
    """Without a touch, the page says that the run can be resumed, and then what it has come to."""
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    words = [sys.executable, "-c", "from evenhand.cli import main; main()"]
    with serve(home) as viewer:
        running = subprocess.Popen(
            [*words, "run", str(slow)],
            env={"PATH": os.environ["PATH"], "EVENHAND_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        seen = watch(viewer.link)
        page = seen.page
        try:
            page.get_by_role("link", name="a slow run").click(timeout=20_000)
            page.get_by_text("word-2 it is").first.wait_for()
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        page.get_by_text("evenhand resume").wait_for(timeout=20_000)
        (slow / "go").touch()
        (run,) = (home / "runs").glob("*.db")
        command("resume", run.stem, EVENHAND_HOME=str(home))
        page.get_by_text("12 trials: 12 passed").wait_for(timeout=20_000)
        seen.close()

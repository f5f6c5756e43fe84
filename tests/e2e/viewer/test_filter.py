"""The filter on the page: what it chooses is what the command line chooses, over a server and in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES = (
    "() => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') ?? 1) - 1"
)

QUERIES = (
    "status:fail tag:spoken OR status:error",
    "/thirty|30 days/ OR tag:world",
    r"-/by rule \d+ of the house/ -status:pass",
    "/^returns: (shoes|a lamp)$/",
    "metadata.difficulty>1 status:fail OR metadata.difficulty<1",
)


def test_page_file_and_command_choose_the_same(
    either: str, home: Path, runs: list[str], watch: Any, command: Any
):
    """Alternatives, regular expressions and numbers in metadata leave the rows that `--where` has trials of."""
    seen = watch(either)
    before = 0
    for query in QUERIES:
        words = ("show", runs[0], "--json", "--where", query)
        told = json.loads(command(*words, EVENHAND_HOME=str(home)))
        cases = len({trial["case"] for trial in told["trials"]})
        assert cases != before, "the rows of the query before could be taken for these"
        seen.turn(runs[0], q=query)
        seen.page.wait_for_function(f"(wanted) => ({CASES})() === wanted", arg=cases)
        before = cases


def test_one_click_leads_to_the_cases_whose_verdicts_differ(
    either: str, home: Path, runs: list[str], watch: Any, command: Any
):
    """Between the two columns that are shown, and between any two of the comparison; as many as it says."""
    query = "passed@1!=passed@3"
    told = json.loads(command("show", runs[0], "--json", "--where", query, EVENHAND_HOME=str(home)))
    cases = {trial["case"] for trial in told["trials"]}
    assert cases
    seen = watch(either)
    seen.turn(runs[0], hide="1")
    which = seen.page.get_by_label("Which cases")
    which.select_option(label="Different verdicts")
    seen.page.wait_for_function(f"(wanted) => ({CASES})() === wanted", arg=len(cases))
    seen.turn(runs[0], show="verdicts")
    assert which.input_value() == "all"
    seen.turn(runs[0], view="comparison", plot="passed.0.2")
    differ = seen.page.get_by_role("button", name="differ", exact=False).first
    assert differ.locator("b").inner_text() == str(len(cases))
    differ.click()
    seen.page.wait_for_function(f"(wanted) => ({CASES})() === wanted", arg=len(cases))


def test_a_tag_that_does_not_exist_is_said_with_the_one_that_was_meant(
    either: str, runs: list[str], watch: Any
):
    """Beside the filter, as long as it is so."""
    seen = watch(either)
    seen.turn(runs[0], q="tag:spokn OR status:error")
    note = seen.page.locator(".filter-notes")
    note.wait_for()
    assert "no case has the tag 'spokn'. Did you mean 'spoken'?" in " ".join(
        note.inner_text().split()
    )


def test_a_problem_names_what_cannot_be_seen(either: str, runs: list[str], watch: Any):
    """A filter that was pasted with a zero-width space, or with text turned round, can be told from the right one."""
    seen = watch(either)
    seen.turn(runs[0], q="sta\u200btus:fail \u202ecost<x")
    problems = seen.page.locator(".filter-problems")
    problems.wait_for()
    text = problems.inner_text()
    assert "sta⟨ZWSP⟩tus" in text
    assert "⟨RLO⟩cost" in text
    assert "\u200b" not in text
    assert "\u202e" not in text


def test_the_command_says_on_stderr_what_the_run_does_not_have(home: Path, runs: list[str]):
    """The names that were asked for, their place, and no other word on stdout."""
    import subprocess

    from tests.e2e.viewer.conftest import COMMAND, clean

    done = subprocess.run(
        [*COMMAND, "show", runs[0], "--json", "--where", "tag:spokn"],
        env=clean(EVENHAND_HOME=str(home)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "--where:5: no case has the tag 'spokn'\n  Did you mean 'spoken'?" in done.stderr
    assert json.loads(done.stdout)["trials"] == []


def test_no_regular_expression_hangs_the_page(either: str, runs: list[str], watch: Any):
    """What takes other engines longer than the universe is answered, and the page goes on."""
    seen = watch(either)
    for query in ("/(a*)*b$x/", "/(.*)*(.*)*(.*)*zzz/", "/(x+x+)+y/"):
        seen.turn(runs[0], q=query)
        seen.page.get_by_text("No case matches").wait_for()
        seen.turn(runs[0], q="status:fail")
        seen.page.get_by_role("gridcell").first.wait_for()


def test_a_facet_narrows_every_alternative(served: Any, runs: list[str], watch: Any):
    """A part that is chosen on the left holds for both sides of OR, and is let go of in both."""
    seen = watch(served.link, viewport={"width": 1440, "height": 900})
    seen.turn(runs[0], q="status:fail OR status:error")
    page = seen.page
    page.get_by_role("checkbox", name="spoken").click()
    query = "() => new URLSearchParams(location.hash.split('?')[1]).get('q')"
    page.wait_for_function(
        f"() => ({query})() === 'status:fail tag:spoken OR status:error tag:spoken'"
    )
    page.get_by_role("checkbox", name="spoken").click()
    page.wait_for_function(f"() => ({query})() === 'status:fail OR status:error'")

"""What a run had to reach, and what its tags and labels came to: the same numbers as on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, EvalSet, Expect, at_least, at_most, run
from evenhand.analysis.summaries.slices import slices_by_tag
from evenhand.analysis.trust.requirements import held
from evenhand.core.wording.words import share_words
from evenhand.render.requirements import bound_words, interval_words, value_words, why
from evenhand.scorers import Label
from evenhand.store.runfile import RunFile

KINDS = ("billing", "shipping", "returns", "other")
STATES = {"kept": "met", "missed": "not met", "open": "undecided"}
AXE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .filter((each) => each.impact !== "minor")
    .map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`)"""


SOME_OF = {5: "<b>angry</b> mail", 4: "late", 7: "long"}
"""Every so manieth case has such a tag."""


def triage() -> EvalSet:
    """Two columns, tags, labels of which one is called other, and requirements of every state."""
    evals = EvalSet(
        "triage",
        data=[
            {
                "id": f"t{i}",
                "expected": KINDS[i % 4],
                "tags": ["card", *(tag for n, tag in SOME_OF.items() if i % n == 0)],
            }
            if i % 3
            else {"id": f"t{i}", "expected": KINDS[i % 4], "tags": []}
            for i in range(60)
        ],
        over={"style": ["short", "careful"]},
        pass_rate=0.8,
        require={"label": at_least(0.9), "words": at_most(2.5)},
    )

    @evals.eval
    def sorts(case: Case, style: str, expect: Expect) -> str:
        n = int(case.id[1:])
        if style == "short" and n == 7:
            msg = "no answer"
            raise RuntimeError(msg)
        wrong = n % (4 if style == "short" else 13) == 3
        answer = KINDS[(n + 1) % 4] if wrong else str(case.expected)
        answer = "I am not sure" if n == 22 else answer
        expect(answer, Label(str(case.expected), among=KINDS))
        expect(len(answer.split()), at_most=9, label="words", metric="words")
        return answer

    return evals


@pytest.fixture(scope="module")
def triaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's file."""
    home = tmp_path_factory.mktemp("triage") / "home"
    with run(triage(), home=home, cache=False, progress=False) as found:
        return found.path


@pytest.fixture(scope="module", params=["server", pytest.param("file", marks=pytest.mark.thorough)])
def page_of(
    request: pytest.FixtureRequest, triaged: Path, serve: Any, command: Any
) -> Iterator[str]:
    """The link to it, on a server and as one file."""
    home = triaged.parent.parent
    if request.param == "server":
        with serve(home) as viewer:
            yield viewer.link
        return
    report = home / "report.html"
    command("export", triaged.stem, "--to", report, EVENHAND_HOME=str(home))
    yield report.as_uri()


def test_requirements_stand_on_the_page_as_the_command_line_has_them(
    page_of: str, triaged: Path, watch: Any
):
    """Verdict, value, interval, bound, and why nobody can be sure; a line for each metric and column."""
    seen = watch(page_of)
    seen.turn(triaged.stem, view="summary")
    lines = seen.page.locator(".requirement")
    lines.first.wait_for()
    texts = [" ".join(text.split()) for text in lines.all_inner_texts()]
    with RunFile.open(triaged) as file:
        wanted = held(file)
    assert {one.state for one in wanted} == {"kept", "missed", "open"}
    assert len(texts) == len(wanted) == 6
    for one, text in zip(wanted, texts, strict=True):
        assert STATES[one.state] in text
        assert (one.requirement.metric or "pass rate") in text
        assert one.variant is not None
        assert ("short", "careful")[one.variant] in text
        assert f"{value_words(one)} [{interval_words(one)}]".removesuffix(" []") in text
        assert f"wanted {bound_words(one.requirement)}" in text
        assert why(one) in text
    assert "2 not met, 1 undecided, 3 met" in seen.page.locator(".summary").inner_text()


def test_tags_have_their_rates_and_lead_to_their_cases(page_of: str, triaged: Path, watch: Any):
    """Passed, rate and interval of each tag in each column; a click shows its cases in the matrix."""
    seen = watch(page_of)
    seen.turn(triaged.stem, view="summary")
    page = seen.page
    rows = page.locator(".tag-table tbody tr")
    rows.first.wait_for()
    texts = [" ".join(text.split()) for text in rows.all_inner_texts()]
    with RunFile.open(triaged) as file:
        own = [(tag, one) for tag, columns in slices_by_tag(file).items() for one in columns]
    assert {tag for tag, _ in own} == {"card", *SOME_OF.values()}
    for (_, one), text in zip(own, texts, strict=True):
        each, pooled = one.rate, one.pooled
        assert pooled is not None
        rate, ends = share_words(*pooled).rstrip("]").split(" [")
        assert text.endswith(f"{each.passed}/{each.trials} {each} {each.reach} {rate} {ends}")
    page.get_by_role("link", name="<b>angry</b> mail").click()
    page.get_by_role("gridcell").first.wait_for()
    seen.settled()
    shown = int(page.get_by_role("grid").get_attribute("aria-rowcount")) - 1
    assert shown == sum(1 for i in range(60) if i % 5 == 0 and i % 3)


def test_a_confusion_matrix_tells_what_was_answered_for_each_label(
    page_of: str, triaged: Path, watch: Any
):
    """A table for each column, with recall and precision; what is no label stands apart from the label other."""
    seen = watch(page_of)
    seen.turn(triaged.stem, view="summary")
    careful = seen.page.get_by_role("region", name="Labels of careful")
    careful.wait_for()
    head, *rows = [
        [cell.strip() for cell in row.locator("th, td").all_inner_texts()]
        for row in careful.locator("tr").all()
    ]
    assert head[1:] == [
        "billing",
        "other",
        "returns",
        "shipping",
        "(no label)",
        "Recall",
        "Precision",
    ]
    assert rows[0] == ["billing", "14", "0", "0", "1", "0", "93 % [70–99]", "88 % [64–97]"]
    assert rows[2] == ["returns", "0", "1", "13", "0", "1", "87 % [62–96]", "93 % [69–99]"]
    told = seen.page.locator(".summary").inner_text()
    assert "1 trial in error may have been answered with any label" in told


def test_the_summary_says_that_a_filter_does_not_change_it(page_of: str, triaged: Path, watch: Any):
    """Its numbers are of the whole run, and the page says so where something else is filtered."""
    seen = watch(page_of)
    seen.turn(triaged.stem, view="summary", q="tag:card")
    seen.page.get_by_text("These numbers cover the whole run").wait_for()
    seen.turn(triaged.stem, view="summary")
    seen.page.locator(".requirement").first.wait_for()
    assert seen.page.get_by_text("These numbers cover the whole run").count() == 0


def test_a_run_without_requirements_says_what_it_passes_at(
    served: Any, runs: list[str], watch: Any
):
    """The pass rate that the whole run has to reach, and how to require more."""
    seen = watch(served.link)
    seen.page.keyboard.press("g")
    seen.turn(runs[1], view="matrix")
    seen.page.keyboard.press("g")
    seen.page.keyboard.press("s")
    seen.page.get_by_text("the run passes if 100 % of its trials pass").wait_for()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_everybody_can_read_the_summary(
    page: Path, triaged: Path, serve: Any, watch: Any, scheme: str, width: int
):
    """No violation is found, and the page is never wider than the screen: wide tables scroll by themselves."""
    with serve(triaged.parent.parent) as viewer:
        seen = watch(
            viewer.link,
            color_scheme=scheme,
            viewport={"width": width, "height": 800},
            bypass_csp=True,
            reduced_motion="reduce",
        )
        seen.turn(triaged.stem, view="summary")
        seen.page.locator(".confusion").first.wait_for()
        seen.page.evaluate((page / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8"))
        assert seen.page.evaluate(AXE) == []
        box = seen.page.locator(".page-scroll")
        assert box.evaluate("(at) => at.scrollWidth - at.clientWidth") <= 0
        seen.close()

"""Everybody can use the page: axe-core finds nothing serious in any view, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOOK = """async () => {
  const found = await axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
  });
  return found.violations
    .filter((each) => each.impact === "serious" || each.impact === "critical")
    .flatMap((each) => each.nodes.slice(0, 5).map((node) =>
      `${each.id} (${each.impact}): ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 300)}`));
}"""

VIEWS: dict[str, dict[str, object]] = {
    "runs": {"run": ""},
    "matrix": {},
    "matrix, large rows and Markdown": {"size": "l", "md": 1},
    "matrix, filtered wrongly": {"q": "statsu:fail"},
    "drawer": {"cell": 0},
    "charts": {"view": "charts"},
    "summary": {"view": "summary", "q": "tag:billing"},
    "comparison": {"view": "comparison", "base": "0"},
    "history": {"view": "history"},
    "about": {"view": "about"},
    "cases over runs": {"view": "cases"},
    "prompts over runs": {"view": "prompts"},
    "texts found": {"run": "", "tab": "texts", "q": "refund"},
    "cell beside another column": {"cell": 12, "tab": "output.variant-1"},
    "cell in the whole window": {"cell": 232, "wide": 1, "tab": "output.variant-1-2"},
    "matrix with columns of its own, sorted by a metric": {
        "extra": "var.thing",
        "sort": "metric.1.clarity",
    },
}


@pytest.fixture(scope="session")
def axe(page: Path) -> str:
    """The script that looks."""
    return (page / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.mark.thorough
@pytest.mark.timeout(600)  # the first one may have to install what looks
def test_nothing_serious_is_found(served: Any, runs: list[str], watch: Any, axe: str):
    """No violation of WCAG's A and AA that is serious or critical: contrast, names, roles, focus, order."""
    seen = watch(served.link, bypass_csp=True, reduced_motion="reduce")
    seen.page.evaluate(axe)
    found: dict[tuple[str, str], list[str]] = {}
    for view, shown in VIEWS.items():
        state = {"run": runs[1], **shown}
        if "base" in state:
            state["base"] = runs[0]
        seen.turn(**state)
        if "cell" in state:
            seen.page.get_by_role("dialog").first.wait_for()
        for scheme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            seen.page.locator(f"html[data-theme={scheme}]").wait_for()
            seen.page.wait_for_timeout(200)
            found[view, scheme] = seen.page.evaluate(LOOK)
    assert {place: problems for place, problems in found.items() if problems} == {}


def test_a_run_that_is_not_there_has_a_heading_and_a_main_part(
    served: Any, runs: list[str], watch: Any
):
    """Whoever hears the page instead of seeing it can go to what it says."""
    seen = watch(served.link)
    seen.expected = ["404"]
    seen.turn("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    main = seen.page.get_by_role("main")
    main.get_by_role("alert").wait_for()
    assert main.get_by_role("heading", level=1).count() == 1

"""What is shown is in the address: it can be loaded again, sent to somebody, and gone back from."""

from __future__ import annotations

from typing import Any

import pytest

STATES: dict[str, dict[str, object]] = {
    "filtered": {"q": 'status:fail tag:billing -"refund" score<0.9'},
    "failures": {"show": "failures"},
    "different": {"show": "different", "size": "s"},
    "unlabelled": {"show": "unlabelled"},
    "sorted": {"sort": "-score.1"},
    "columns": {"hide": "0,2", "size": "l", "md": 1},
    "cell": {"cell": 7},
    "cell's tab": {"cell": 7, "tab": "calls"},
    "cell in a filter": {"q": "status:fail", "cell": 24},
    "blind": {"blind": 1, "cell": 3},
    "charts": {"view": "charts", "q": "tag:billing"},
    "charts of a metric": {"view": "charts", "plot": "~clarity.0.2"},
    "baseline": {"base": "0", "q": "changed:regressed", "sort": "change"},
    "comparison": {"view": "comparison", "base": "0"},
    "summary": {"view": "summary"},
    "about": {"view": "about"},
}
RELOADED = {"filtered", "columns", "cell's tab", "charts of a metric", "baseline"}
"""What a browser might keep for itself: loaded once more where it was left, nothing of that wins over the address."""
CONTENT = """() => {
  const places = "[role=rowheader], [role=gridcell], [role=dialog], .page-scroll, [role=status], [aria-current]";
  return [...document.querySelectorAll(places)].filter((at) => {
    const { top, bottom } = at.getBoundingClientRect();  // a row above or below what is seen may be drawn, or not
    return bottom > 0 && top < innerHeight;
  }).map((at) => at.textContent).join("|");
}"""


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_state_is_the_same_after_a_reload_and_for_whoever_is_sent_it(
    served: Any, runs: list[str], watch: Any
):
    """Opened in another browser by its address, and reloaded: the same address, and the same things shown."""
    seen, other = watch(served.link), watch(served.link)
    for name, state in STATES.items():
        seen.turn(runs[1], **(state | {"base": runs[0]} if "base" in state else state))
        address, content = settled_content(seen)
        assert len(content) > 50, name
        other.page.goto("about:blank")
        other.page.goto(other.root + address)
        assert settled_content(other) == (address, content), name
        if name in RELOADED:
            seen.page.reload()
            assert settled_content(seen) == (address, content), name


def settled_content(seen: Any) -> tuple[str, str]:
    """Address and content, once two looks in a row see the same."""
    before = ""
    for _ in range(40):
        seen.settled()
        now = str(seen.page.evaluate(CONTENT))
        if now == before and now:
            return seen.hash, now
        before = now
        seen.page.wait_for_timeout(80)
    raise AssertionError(f"the page does not come to rest: {before[:300]}")


@pytest.mark.thorough
def test_states_differ(served: Any, runs: list[str], watch: Any):
    """The modes do not all show the same."""
    seen = watch(served.link)
    shown: set[str] = set()
    for show in ("all", "failures", "errors", "different", "flaky"):
        seen.turn(runs[1], show=show)
        shown.add(settled_content(seen)[1])
    assert len(shown) == 5


@pytest.mark.thorough
def test_back_and_forward_go_through_what_was_looked_at(served: Any, runs: list[str], watch: Any):
    """List, run, cell, charts; three times back, and forward again."""
    seen = watch(served.link)
    page = seen.page
    page.get_by_role("link", name="shop assistant").first.click()
    page.get_by_role("grid").wait_for()
    page.get_by_role("gridcell").first.click()
    page.get_by_role("dialog").wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Charts").click()
    page.locator(".charts").wait_for()
    page.go_back()
    page.get_by_role("dialog").wait_for()
    page.get_by_role("grid").wait_for()
    page.go_back()
    page.get_by_role("dialog").wait_for(state="hidden")
    page.go_back()
    page.get_by_role("heading", name="Runs").wait_for()
    page.go_forward()
    page.get_by_role("grid").wait_for()
    page.go_forward()
    page.get_by_role("dialog").wait_for()


def test_back_undoes_what_was_chosen_one_by_one(served: Any, runs: list[str], watch: Any):
    """A display mode, a part of a facet, a baseline; what was typed into the filter is one step with where it led."""
    seen = watch(served.link)
    page = seen.page
    seen.turn(runs[1])
    page.get_by_label("Which cases").select_option("flaky")
    flaky = seen.hash
    page.get_by_role("checkbox", name="failed").click()
    page.locator(".shown-of").get_by_text("of 40 cases").wait_for()
    page.get_by_label("Baseline").select_option(runs[0])
    page.wait_for_function("(run) => location.hash.includes(run)", arg=f"base={runs[0]}")
    page.go_back()
    page.go_back()
    page.wait_for_function("(there) => location.hash === there", arg=flaky)
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('?')")
    page.get_by_text("40 cases", exact=True).wait_for()
    page.get_by_text("View", exact=True).click()
    page.get_by_role("radio", name="Large").click()
    page.wait_for_function("() => location.hash.includes('size=l')")
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('?')")
    page.get_by_label("Filter", exact=True).fill("score<0.5")
    page.wait_for_function("() => location.hash.includes('score')")
    page.go_back()
    page.get_by_role("heading", name="Runs").wait_for()


WILD = (
    "#/run/nothing",
    "#/run/%00",
    "#/run/..%2f..%2fetc?cell=1",
    "#/run/{run}?cell=999999999",
    "#/run/{run}?cell=-1&view=none&show=none&size=xxl&sort=none.9&hide=99,x&tab=none&col=77&base=nothing",
    "#/run/{run}?q=%00%ff((((&plot=~~.9.9",
    "#/run/{run}?view=comparison&base={run}",
    "#/run/{run}?view=charts&plot=__proto__.0.1&q=__proto__:constructor",
    "#nowhere",
)


@pytest.mark.thorough
def test_no_address_breaks_the_page(served: Any, runs: list[str], watch: Any):
    """What an address asks for and is not there: said in words, or passed over, and the page goes on working."""
    seen = watch(served.link)
    seen.expected = ["404", "400", "409", "status of"]
    for wild in WILD:
        seen.page.evaluate("(there) => { location.hash = there; }", wild.format(run=runs[0]))
        seen.settled()
        seen.page.wait_for_timeout(150)
        assert seen.page.locator("#app").inner_text().strip() != "", wild
        assert not seen.wrong, wild
        seen.turn(runs[0])
        seen.page.get_by_role("gridcell").first.wait_for()


def test_a_copied_link_says_whom_it_is_for(served: Any, runs: list[str], watch: Any, browser: Any):
    """On the page that copies it; and a browser that never entered is told how to see it, wherever it leads."""
    seen = watch(served.link)
    seen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.turn(runs[1], cell=7)
    seen.page.get_by_role("dialog").get_by_role("button", name="Copy link").click()
    seen.page.get_by_text("in this browser only, while “evenhand view” runs").wait_for()
    copied = seen.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.endswith(seen.hash)
    stranger = browser.new_context()
    page = stranger.new_page()
    for address in (copied, copied.partition("#")[0] + "elsewhere"):
        assert page.goto(address).status == 401
        text = page.inner_text("body")
        assert "this browser has not opened the link" in text
        assert "Open its link, then this address again." in text
        assert served.token not in text
        page.goto("about:blank")
    stranger.close()

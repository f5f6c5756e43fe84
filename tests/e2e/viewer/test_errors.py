"""Errors on the page: never a score, never an empty result, and never told as no change."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from evenhand import Case, Dataset, EvalSet, Expect, Model, Prompt, run
from evenhand.core.errors import ProviderError
from evenhand.core.score import Score
from evenhand.testing import Scripted

NOW = ("ppp", "pfe", "eee", "pnn", "ffn", "pff")
"""What came of the repeats of each case: passed, failed, in error, not applicable."""
BEFORE = ("ppf", "ppp", "ppp", "pnn", "ffn", "fff")
CHANGES = ("improved +0.33", "regressed", "no verdict now", "±0", "±0", "improved +0.33")


class YesOrNo:
    """1 for a yes, 0 for a no, nothing for anything else."""

    def score(self, output: object, trial: object) -> Score:
        del trial
        known = {"yes": 1.0, "no": 0.0}.get(str(output).split()[0])
        return Score(known, passed=None if known is None else known > 0)

    def __str__(self) -> str:
        return "yes or no"


def made(home: Path, outcomes: tuple[str, ...], columns: int = 1) -> str:
    """A run whose cases come to these outcomes, in each of its columns; its id."""
    asked: Counter[tuple[str, str]] = Counter()
    lock = threading.Lock()

    def answer(model: str) -> Any:
        def said(prompt: Any) -> str:
            with lock:
                place = asked[model, prompt.text]
                asked[model, prompt.text] += 1
            letter = outcomes[int(prompt.text.rsplit(" ", 1)[1])][place]
            if letter == "e":
                raise ProviderError("the line is busy")
            words = {"p": "yes", "f": "no", "n": "perhaps"}[letter]
            return f"{words} {letter * 40} {len(asked)} 靴はどうやって返品しますか？" * 60

        return said

    evals = EvalSet(
        "outcomes",
        data=Dataset(Case(f"case {i}", {"n": str(i)}) for i in range(len(outcomes))),
        over={
            "prompt": [Prompt("plain", "asked {{n}}")],
            "model": [
                Scripted(answer(f"m{i}"), id=f"m{i}", label=f"m{i}", latency_s=0.01)
                for i in range(columns)
            ],
        },
        repeats=len(outcomes[0]),
    )

    @evals.eval
    async def answers(case: Case, prompt: Prompt, model: Model, expect: Expect) -> None:
        """Says yes."""
        expect((await model.generate(prompt.render(n=case.vars["n"]))).text, YesOrNo())

    with run(evals, home=home, cache=False, progress=False) as done:
        return str(done.meta.id)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A home, an earlier run and a later one with errors; four columns each."""
    home = tmp_path_factory.mktemp("errors") / "home"
    return home, made(home, BEFORE, 4), made(home, NOW, 4)


@pytest.fixture
def seen(held: tuple[Path, str, str], serve: Any, watch: Any) -> Any:
    """The page on them, 1440 pixels wide."""
    with serve(held[0]) as viewer:
        opened = watch(viewer.link, viewport={"width": 1440, "height": 900})
        yield opened
        opened.close()


def test_a_cell_that_lost_its_verdict_says_so(seen: Any, held: tuple[Path, str, str]):
    """In the matrix, in the list of changes and in the drawer: no number, and no ±0."""
    _, before, after = held
    seen.turn(after, base=before)
    page = seen.page
    cells = page.get_by_role("grid").locator(".change")
    assert cells.all_inner_texts() == [words for words in CHANGES for _ in range(4)]
    seen.turn(after, base=before, view="comparison")
    rows = page.locator(".changes tbody tr")
    listed = rows.locator("td:last-child").all_inner_texts()
    assert sorted(set(listed)) == sorted(set(CHANGES) - {"±0"})
    assert listed == sorted(listed, key=["regressed", "no verdict now", "improved +0.33"].index)
    assert (
        "4 regressed, 8 improved, 4 without a verdict now"
        in page.locator(".comparison").inner_text()
    )
    rows.filter(has_text="no verdict now").first.get_by_role("button").click()
    seen.settled()
    assert "no verdict now baseline: ✓ pass 1" in page.locator(".drawer-came").inner_text()


def test_a_rate_with_errors_is_the_range_that_the_command_line_prints(
    seen: Any, held: tuple[Path, str, str], command: Any
):
    """Every case counts once, however many of its repeats count, and a case wholly in error too."""
    home, _, after = held
    told = json.loads(command("show", after, "--json", EVENHAND_HOME=str(home)))["rates"]
    shares = [(1, 1), (1 / 3, 2 / 3), (0, 1), (1, 1), (0, 0), (1 / 3, 1 / 3)]
    least, most = (sum(ends) / len(shares) for ends in zip(*shares, strict=True))
    assert f"{least * 100:.0f}–{most * 100:.0f} %" == "44–67 %"
    for column in told:
        assert (column["rate_least"], column["rate_most"]) == pytest.approx((least, most))
    seen.turn(after)
    heads = seen.page.locator(".head-rate")
    for head in heads.all():
        text = head.inner_text()
        assert "44–67 %" in text
        assert text.endswith("6/15")
        low, high = (f"{told[0][end] * 100:.0f}" for end in ("low", "high"))
        assert f"{low}–{high} %" in text
    assert heads.count() == 4
    seen.turn(after, view="charts")
    values = seen.page.locator(".chart-rates .chart-value")
    values.first.wait_for()
    assert values.all_text_contents() == ["44–67 %"] * 4
    assert "n counts" not in seen.page.locator(".chart-rates .chart-said").inner_text()
    seen.turn(after, view="charts", plot="passed.0.1")
    seen.page.locator(".chart-histogram .chart-note", has_text="44–67 %").first.wait_for()


def test_nothing_that_a_cell_or_a_head_says_is_cut(seen: Any, held: tuple[Path, str, str]):
    """1440 pixels wide, four columns, a baseline: every number is there to its last digit."""
    _, before, after = held
    seen.turn(after, base=before)
    cut = seen.page.evaluate(
        """() => [...document.querySelectorAll(".cell-line *, .matrix-column *")].filter((part) => {
            const room = part.closest(".matrix-cell, .matrix-column").getBoundingClientRect();
            const box = part.getBoundingClientRect();
            return box.right > Math.min(room.right, innerWidth) + 1 || part.scrollWidth > part.clientWidth + 1
              && getComputedStyle(part).overflowX !== "visible";
        }).map((part) => part.textContent)"""
    )
    assert cut == []
    for text in seen.page.locator(".cell-score, .cell-line .change").all_inner_texts():
        assert not re.search(r"\.\d{3}", text), text


def test_a_long_text_is_found(seen: Any, held: tuple[Path, str, str]):
    """One that is longer than an address may be; and what cannot be searched for is no empty result."""
    _, _, after = held
    page = seen.page
    field = page.locator("#filter")

    def ask(text: str) -> None:
        field.fill(text)
        field.press("Enter")

    seen.turn(after)
    ask('"靴はどうやって返品しますか？"')
    page.locator(".shown-of b", has_text="5").wait_for()
    whole = page.evaluate(
        """async (run) => (await (await fetch(`/api/runs/${run}/cells/0`)).json()).output""", after
    )
    assert len(quote(whole)) > 8_190
    ask(f'"{whole}"')
    page.locator(".shown-of b", has_text="1").wait_for()
    seen.expected.append("400 (Bad Request)")
    ask("x" * 10_001)
    alert = page.get_by_role("alert").filter(has_text="The search failed")
    alert.wait_for()
    assert "10,001 characters" in alert.inner_text()
    assert page.get_by_text("No case matches").count() == 0
    seen.turn(after, view="charts", q="x" * 10_001)
    page.get_by_role("alert").filter(has_text="The search failed").wait_for()
    assert page.get_by_text("chooses no case").count() == 0


def test_a_search_that_failed_can_be_made_again(seen: Any, held: tuple[Path, str, str]):
    """Told as failed in place of rows; then with its answer."""
    _, _, after = held
    page = seen.page
    page.route("**/search", lambda route: route.abort())
    seen.expected.append("ERR_FAILED")
    seen.turn(after, q='"yes"')
    page.get_by_text("The search failed").wait_for()
    assert page.get_by_role("row").count() == 0
    page.unroute("**/search")
    page.get_by_role("button", name="Search again").click()
    page.locator(".shown-of b", has_text="4").wait_for()


def test_an_empty_text_chooses_what_the_command_line_does(
    seen: Any, held: tuple[Path, str, str], command: Any
):
    """It stands in everything, so it chooses all; and with a minus before it nothing."""
    home, _, after = held
    for query, cases in (('""', 6), ('-""', 0)):
        told = command("show", after, "--where", query, "--json", EVENHAND_HOME=str(home))
        assert (json.loads(told)["totals"]["trials"] == 0) == (cases == 0)
        seen.turn(after, q=query)
        assert seen.page.locator(".matrix-body .matrix-row").count() == cases


@pytest.mark.thorough
@pytest.mark.parametrize("view", ["matrix", "charts"])
def test_a_link_with_a_baseline_waits_for_it(seen: Any, held: tuple[Path, str, str], view: str):
    """No error, no rows that the filter has not chosen, no numbers of them: until the baseline is read."""
    _, before, after = held
    page = seen.page
    waiting: list[Any] = []

    def hold(route: Any) -> None:
        waiting.append(route)

    page.route("**/comparison?*", hold)
    for query, cases in (
        ("changed:regressed", 1),
        ("-changed:undecided,unchanged", 3),
        ("change>0", 2),
    ):
        page.goto(f"{seen.root}#/run/{after}?base={before}&q={query}&view={view}")
        page.reload()
        page.get_by_text("Reading the baseline…").first.wait_for()
        assert page.get_by_role("alert").count() == 0
        assert page.locator(".matrix-body .matrix-row, .chart, .head-rate").count() == 0
        assert page.get_by_text(re.compile("No case matches|chooses no case")).count() == 0
        while not waiting:
            page.wait_for_timeout(20)
        for route in waiting:
            route.continue_()
        waiting.clear()
        seen.settled()
        if view == "matrix":
            page.locator(".shown-of b", has_text=str(cases)).wait_for()
            assert page.locator(".matrix-body .matrix-row").count() == cases
        else:
            page.locator(".chart-rates").wait_for()
        assert page.get_by_role("alert").count() == 0


def test_what_could_not_be_read_is_told(seen: Any, held: tuple[Path, str, str]):
    """Labels and the list of runs: the page says what it lacks, and shows the rest."""
    _, _, after = held
    page = seen.page
    seen.expected.append("ERR_FAILED")
    page.route("**/labels", lambda route: route.abort())
    page.route("**/api/runs", lambda route: route.abort())
    seen.turn(after)
    alerts = page.get_by_role("alert")
    alerts.filter(has_text="the labels could not be read").wait_for()
    alerts.filter(has_text="the list of runs could not be read").wait_for()
    assert page.locator(".matrix-body .matrix-row").count() == 6
    seen.turn(after, view="comparison")
    alerts.filter(has_text="the list of runs could not be read").wait_for()
    assert page.get_by_text("no other run").count() == 0

"""A run of which a filter leaves some trials: what reads it sees no others."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand import Case, EvalSet, Expect
from evenhand import run as run_evals
from evenhand.analysis.filters.where import cell_rows, narrow
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.render.console import show
from evenhand.render.document import document
from evenhand.render.export import export, formats
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.comparison import comparison
from evenhand.wings.viewer.head import head


def places_of(run: RunFile) -> list[int]:
    """The places of the trials that it has."""
    return [trial.index for trial in run.trials()]


async def test_every_count_is_of_the_chosen_trials(summaries_run: RunFile) -> None:
    """Totals, rates, columns, trials and the run's own numbers leave the others out."""
    chosen = narrow(summaries_run, "status:fail  variant:basic")
    places = [0, 3, 6, 9, 12, 15, 18, 21]
    assert places_of(chosen) == places
    assert list(chosen.outcomes()) == [
        row for row in summaries_run.outcomes() if row.index in places
    ]
    totals = chosen.totals()
    assert (totals.trials, totals.failed, totals.calls) == (8, 8, 16)
    assert [each.trials for each in chosen.by_variant()] == [8, 0, 0]
    assert (chosen.meta.planned, chosen.meta.case_count) == (8, 8)
    assert chosen.meta.title == "Science · where status:fail variant:basic"
    assert chosen.trial(1) is None


async def test_a_view_leaves_its_run_whole(summaries_run: RunFile) -> None:
    """Its counts, title and trials are what they were, before and after the view is read; so are another view's."""
    meta, totals = summaries_run.meta, summaries_run.totals()
    tallies = list(summaries_run.tallies())
    failing = narrow(summaries_run, "status:fail")
    basic = narrow(summaries_run, "variant:basic")
    assert failing.totals().passed == 0
    assert {outcome.variant for outcome in basic.outcomes()} == {0}
    assert (summaries_run.narrowed, summaries_run.by_outcome) == (False, False)
    assert (summaries_run.meta, summaries_run.totals()) == (meta, totals)
    assert list(summaries_run.tallies()) == tallies
    assert len(places_of(summaries_run)) == totals.trials


async def test_a_view_of_a_view_has_what_both_choose(summaries_run: RunFile) -> None:
    """It stays one that was chosen by outcome, and its title says both filters."""
    failing = narrow(summaries_run, "status:fail")
    both = narrow(failing, "variant:basic case:case6")
    assert places_of(both) == [18]
    assert both.by_outcome
    assert both.meta.title == "Science · where status:fail · where variant:basic case:case6"
    assert places_of(failing.only([0, 19, 500], "more")) == sorted(
        {0, 19} & set(places_of(failing))
    )


async def test_a_view_is_closed_with_its_run(make_run: Make) -> None:
    """Nothing is left open behind a run that its user let go of."""
    made = await make_run([result(0), result(1)])
    with RunFile.open(made.path) as run:
        view = run.only([1], "one")
        deeper = view.only([1], "the same")
        assert deeper.totals().trials == 1
    for closed in (view, deeper):
        with pytest.raises(StoreError, match="was closed before it was read"):
            closed.totals()


async def test_what_a_view_says_of_itself_cannot_be_changed(make_run: Make) -> None:
    """A view is a value: whoever was handed one can rely on what it counts."""
    view = (await make_run([result(0)])).only([0], "one")
    for name in ("meta", "narrowed", "by_outcome", "path"):
        with pytest.raises(AttributeError):
            setattr(view, name, None)


async def test_metrics_are_known_by_what_trials_have(make_run: Make) -> None:
    """A metric is a name that some trial has a score under, and any other is a mistake."""
    trials = [result(0, named_scores={"tone": 0.2}), result(1, named_scores={"tone": 0.9})]
    run = await make_run(trials)
    assert places_of(narrow(run, "tone<0.5")) == [0]
    with pytest.raises(
        UsageError, match="there is no field or metric 'tome'\n  Did you mean 'tone'"
    ):
        narrow(await make_run(trials), "tome<0.5")


async def test_all_mistakes_are_told_at_once(summaries_run: RunFile) -> None:
    """Each with its place, in the order in which they stand."""
    with pytest.raises(UsageError) as told:
        narrow(summaries_run, "status:bad score<x")
    assert [line[:11] for line in str(told.value).splitlines()[::2]] == [
        "--where:8: ",
        "--where:18:",
    ]


async def test_a_baseline_says_what_changed(make_run: Make) -> None:
    """Trials are held against those of the same case, column and repeat in the earlier run."""
    before = await make_run([result(0, ok=True), result(1, ok=False), result(2, ok=True)])
    trials = [result(0, ok=False), result(1, ok=True), result(2, ok=None), result(3, ok=True)]
    for query, places in (
        ("changed:regressed", [0]),
        ("changed:improved", [1]),
        ("changed:undecided", [2]),
        ("changed:new", [3]),
        ("change<0", [0]),
    ):
        assert places_of(narrow(await make_run(trials), query, before)) == places


async def test_a_loosened_check_improves_no_case(tmp_path: Path) -> None:
    """Another test says nothing of a change: neither way, in words, on the command line and for the page."""
    files = []
    for bound in (0.9, 0.3):
        evals = EvalSet("e", data=[{"id": "a"}, {"id": "b"}])

        @evals.eval
        def q(case: Case, expect: Expect, bound: float = bound) -> None:
            expect(0.5, "q", at_least=bound if case.id == "a" else 0.2)

        files.append(run_evals(evals, progress=False, home=tmp_path / str(bound)).file)
    before, now = files
    places = {
        kind: places_of(narrow(now, f"changed:{kind}", before))
        for kind in ("improved", "regressed", "undecided", "unchanged")
    }
    assert places == {"improved": [], "regressed": [], "undecided": [0], "unchanged": [1]}
    assert comparison(now, before).unlike == {0: ["a"]}
    with pytest.raises(UsageError, match="--baseline RUN"):
        narrow(now, "changed:regressed")


async def test_cases_keep_their_numbers_and_columns_are_not_compared(
    summaries_run: RunFile,
) -> None:
    """What is listed can be asked for by the name that it had; a choice says nothing of columns."""
    chosen = narrow(summaries_run, "case:case6 score>0")
    rows = list(cell_rows(chosen, Grid(chosen), 100, Ink(False)))
    assert rows[0].startswith("  ✗ fail             3.67  basic · 7 bees ")
    assert [row.split(" · ")[1].split()[0] for row in rows] == ["7"] * 3, "the cases' own numbers"
    assert max(map(len, rows)) <= 100
    out = io.StringIO()
    show(chosen, out)
    assert "1 of" not in out.getvalue()
    assert "detectable" not in out.getvalue()
    assert "2 of 3 passed" in out.getvalue()


async def test_repeats_of_a_case_are_told_apart(make_run: Make) -> None:
    """By their number, once, however long the case's name is."""
    for name in ("c", "c" * 90):
        trials = [replace(result(i, case="c", repeat=i), description=name) for i in range(2)]
        run = await make_run(trials, repeats=2)
        rows = list(cell_rows(run, Grid(run), 100, Ink(False)))
        assert [re.findall(r"repeat \d", row) for row in rows] == [["repeat 1"], ["repeat 2"]]


async def test_nothing_chosen_is_said(summaries_run: RunFile) -> None:
    """An empty choice is no mistake, and is not shown as silence."""
    chosen = narrow(summaries_run, "status:error")
    assert places_of(chosen) == []
    rows = cell_rows(chosen, Grid(chosen), 100, Ink(False))
    assert list(rows) == ["  no trial is chosen"]


async def test_long_lists_end_with_how_many_are_left(summaries_run: RunFile) -> None:
    """The last line says how many there are more."""
    chosen = narrow(summaries_run, "score>0")
    rows = list(cell_rows(chosen, Grid(chosen), 100, Ink(False), most=3))
    assert rows[3:] == ["  … and 21 more trials; -v prints all of them whole"]


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("format_", sorted(set(formats()) - {"html"}))
async def test_every_export_is_of_the_chosen_trials(
    summaries_run: RunFile, tmp_path: Path, format_: str
) -> None:
    """Whatever the format, what was not chosen is not written."""
    one_column = format_ == "inspect"  # its logs are of one model
    chosen = narrow(summaries_run, f"case:case6 score>0{' variant:best' * one_column}")
    target = tmp_path / "out"
    assert export(chosen, target, format_) == (1 if one_column else 3)
    if one_column:
        return  # a compressed archive; its own tests read it
    text = target.read_text("utf-8")
    assert "bees" in text
    assert "vaccines" not in text


async def test_the_file_stays_as_it_is(summaries_run: RunFile) -> None:
    """Another reader sees the whole run, and this one cannot be told from its bytes."""
    before = summaries_run.path.read_bytes()
    narrow(summaries_run, "status:fail")
    with RunFile.open(summaries_run.path) as other:
        assert other.totals().trials == 24
    assert summaries_run.path.read_bytes() == before


async def test_calls_and_cost_are_those_of_the_chosen_trials(
    summaries_run: RunFile, tmp_path: Path
) -> None:
    """On the terminal, in JSON, in Markdown, in JUnit and on the page the same numbers; none of the whole run's."""
    chosen = narrow(summaries_run, "variant:basic")
    out = io.StringIO()
    show(chosen, out, width=140)
    summary = "0 of 8 passed (0 %, 0–32) · 16 calls · 2,400 → 800 tokens · $0.0096 spent"
    line = summary.replace(" (0 %, 0–32)", "")
    assert (
        f"  failed · {line}\n  subject: 8 calls, 1,200 → 400 tokens, $0.0048 spent"
        in out.getvalue()
    )
    found = document(chosen)
    assert found["totals"]["cost_usd"] == pytest.approx(0.0096)
    assert [(used["role"], used["calls"]) for used in found["usage"]] == [
        ("subject", 8),
        ("judge", 8),
    ]
    assert sum(used["cost_usd"] for used in found["usage"]) == pytest.approx(0.0096)
    export(chosen, tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text()
    assert f"**failed** · {line}\n" in text
    assert text.endswith(f"run `{chosen.meta.id[:10]}`\n")
    export(chosen, tmp_path / "a.junit.xml")
    suite = (tmp_path / "a.junit.xml").read_text().splitlines()[1]
    assert suite.endswith('tests="8" failures="8" errors="0" skipped="0">')
    page = head(chosen)
    assert page.totals.cost_usd == pytest.approx(0.0096)
    assert [used.calls for used in page.usage] == [8, 8]


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("status:fail", True),
        ("score<1", True),
        ("sea", True),
        ("case:c1 -status:pass", True),
        ("repeat>score", True),
        ("case:c", False),
        ("prompt:say", False),
        ("model:echo -tag:x metadata.a:b", False),
        ("repeat<=2", False),
        ("", False),
    ],
)
async def test_nothing_is_concluded_from_trials_that_were_chosen_by_their_outcome(
    make_run: Make, query: str, told: bool
) -> None:
    """No pass@k and no wavering cases, for people and for programs, and it is said why; of chosen cases there are."""
    trials = [
        result(3 * i + k, ok=k < i, case=f"c{i}", repeat=k, metadata={"a": "b"})
        for i in range(3)
        for k in range(3)
    ]
    run = narrow(await make_run(trials, repeats=3), query)
    assert run.by_outcome is told
    out = io.StringIO()
    show(run, out, width=200)
    text, found = out.getvalue(), document(run)
    assert ("pass^" in text) is not told
    assert (
        "  ! trials were chosen by outcome: rates say nothing about the others; "
        "pass@k and flaky cases are left out\n" in text
    ) is told
    assert bool(found["rates"][0]["tries"]) is not told
    assert bool(found["rates"][0]["flaky"]) is not told
    assert bool(found["warnings"]) is told
    assert bool(head(run).findings) is not told
    assert bool(head(run).warnings) is told


async def test_hidden_columns_are_left_out_with_and_without_a_filter(
    make_run: Make,
) -> None:
    """Their trials are in no count, and the title says so; a filter still looks at all columns."""
    for query, places, title in (
        ("", [1, 3], "Science · without one"),
        ("is:different status:pass", [1], "Science · where is:different status:pass, without one"),
    ):
        run = await make_run(
            [
                result(0, case="a", variant=0, output="x"),
                result(1, case="a", variant=1, output="y"),
                result(2, case="b", variant=0, output="z"),
                result(3, case="b", variant=1, output="z"),
            ],
            (Variant(0, "one", "echo"), Variant(1, "two", "echo")),
        )
        chosen = narrow(run, query, hidden={0})
        assert places_of(chosen) == places
        assert chosen.meta.title == title

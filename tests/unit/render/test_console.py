from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import ID, SUMMARIES, Make, result, summaries

from evenhand.analysis.filters.where import narrow
from evenhand.core.errors import Problem
from evenhand.core.plan import CallEstimate, RunOptions
from evenhand.core.run import CallEnd, CallRecord, CallStart, TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.words import columns
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine.door import Settings, settle
from evenhand.render.console import list_lines, show
from evenhand.render.estimates import estimate_lines, estimate_row
from evenhand.render.heading import doubt_lines, heading_of, problem_lines
from evenhand.store.run_lookup import ListedRun, find
from evenhand.store.runfile import RunFile

SHORT = ID[:10]
TWO = (Variant(0, "first", "m"), Variant(1, "second", "m"))
START = CallStart(0, "k", 0, "subject", "openai:chat:x", b"{}", 0.25)
END = CallEnd(b"{}", "provider", 0.4, 150, 50, 0.0006, "x")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the runs are found."""
    monkeypatch.chdir(tmp_path)


def shown(run: RunFile, **how) -> str:
    """What is printed of a run."""
    out = io.StringIO()
    show(run, out, **{"width": 160, **how})
    return out.getvalue()


async def test_a_run_reads_like_a_page(
    summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heading, table, failures, what the data can say, the verdict, and what to type next: all of it, to the letter."""
    monkeypatch.chdir(summaries_run.path.parent.parent.parent)
    text = shown(summaries_run, width=120)
    rest, _, last = text.rpartition("  failed · ")
    assert rest == (  # as wide as it is printed
        "Science · 3 prompts × 1 model × 8 cases = 24 trials\n"
        "\n"
        "  prompt    passed                               score   words   latency      cost   "
        "judge calls   cases 1–8\n"
        "  basic        0/8    0 %  [0–32]     3.67 [2.84–4.09]     300    500 ms   $0.0096      "
        "       8   ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗\n"
        "  better       7/8   88 %  [53–98]    4.66 [3.50–4.83]     200    500 ms   $0.0096      "
        "       8   ✓ ✓ ✗ ✓ ✓ ✓ ✓ ✓\n"
        "  best         8/8  100 %  [68–100]   4.80 [3.61–4.86]     100    500 ms   $0.0096      "
        "       8   ✓ ✓ ✓ ✓ ✓ ✓ ✓ ✓\n"
        "\n"
        "  ✗ better · 3 neural networks   python grader.py: average 3.67, wanted at least 4.5: it "
        "keeps 'backpropagation'\n"
        "  ✗ basic · all 8   score 3.67, e.g. python grader.py: average 3.67, wanted at least 4.5: "
        "it keeps 'backpropagation'\n"
        "\n"
        "  best beats basic: +100 points [+17, +100] over 8 cases (paired, corrected for "
        "3 comparisons)\n"
        "  best and better: no detectable difference (8 cases can only show differences of 90 points or more, "
        "corrected for 3\n  comparisons)\n"
        "\n"
    )
    assert last.startswith("15 of 24 passed · 48 calls · 7,200 → 2,400 tokens · $0.0288 spent · ")
    each = "24 calls, 3,600 → 1,200 tokens, $0.0144 spent"
    assert last.splitlines()[1] == f"  subject: {each} · judge: {each}"
    assert last.endswith(
        f"  saved as {SHORT} in .evenhand/runs · next: evenhand view, or evenhand show {SHORT} better:3\n"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
async def test_no_line_is_wider_than_the_terminal(summaries_run: RunFile, width: int) -> None:
    """From 60 columns on nothing wraps, but for the folder's own name."""
    wide = [
        line for line in shown(summaries_run, width=width).splitlines() if columns(line) > width
    ]
    assert not [line for line in wide if "saved as" not in line]


async def test_the_summary_alone_has_no_table(summaries_run: RunFile) -> None:
    """Without the table there are a few lines, however many trials."""
    text = shown(summaries_run, table=False, width=120)
    assert len(text.splitlines()) <= 5
    assert f"next: evenhand view, or evenhand show {SHORT}\n" in text
    assert "15 of 24 passed" in text


async def test_the_heading_can_be_left_out(summaries_run: RunFile) -> None:
    """Where a progress line has just said what runs, it is not said again."""
    assert "Science" not in shown(summaries_run, with_heading=False)


async def test_the_heading_counts_columns_that_differ_from_eval_to_eval(make_run: Make) -> None:
    """Each eval's, where all have as many; else all there are, and no product."""
    trials = [result(i, variant=i, case="c") for i in range(4)]
    evals = ("one", "one", "two", "two"), ("one", "two", "two", "two")
    even, uneven = (
        [Variant(i, f"v{i}", "m", eval=name) for i, name in enumerate(names)] for names in evals
    )
    assert "2 evals × 2 variants × 1 case = 4 trials" in shown(await make_run(trials, even))
    assert "2 evals, 4 variants, 1 case: 4 trials" in shown(await make_run(trials, uneven))


def test_the_summary_loads_nothing_heavy() -> None:
    """Neither rich nor NumPy nor SciPy nor an event loop is imported to show a run."""
    code = (
        "import sys, evenhand.render.console, evenhand.render.console_table, evenhand.analysis.comparison.variants, "
        "evenhand.render.failures; "
        "print([m for m in ('rich', 'numpy', 'scipy', 'aiohttp', 'asyncio', 'yaml', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_colours_come_only_when_asked_for(summaries_run: RunFile) -> None:
    """Escapes are ours alone, and there are none without `color`."""
    assert "\x1b" not in shown(summaries_run)
    assert "\x1b[31m✗\x1b[0m" in shown(summaries_run, color=True)


async def test_errors_are_grouped_apart_with_what_to_do(make_run: Make) -> None:
    """An error is no failure: it has its own mark, its own count, and leaves the rate open."""
    trials = [
        result(0),
        result(1, ok=False),
        result(2, ok=None),
        result(3, ok=None),
        result(4, ok=None, error=TrialError("code", "ValueError: \x1b[2Jboom", "")),
    ]
    text = shown(await make_run(trials, settings={"asked": {}}))
    assert "1/5  20–80 %  [4–96]" in text
    assert "  ! 2 trials, first case 3   rate-limited: asked too often\n      Lower -j.\n" in text
    assert "  ! case 5   code: ValueError: \\x1b[2Jboom\n" in text
    assert "failed · 1 of 5 passed (20–80 %, 4–96) · 3 errors" in text
    assert f"next: evenhand resume {SHORT}" in text


async def test_a_run_that_code_made_is_not_told_to_be_resumed(make_run: Make) -> None:
    """The command line does not know what it was made from, and could not."""
    text = shown(await make_run([result(0), result(1, ok=None)]))
    assert "resume" not in text
    assert "next: evenhand view" in text


async def test_many_failures_are_counted_not_listed(make_run: Make) -> None:
    """Ten at most are told, the rest is a number."""
    trials = [
        result(i, ok=i % 2 == 0, outcomes=(Outcome(f"contains {i}", "fail", 0.0),))
        for i in range(200)
    ]
    text = shown(await make_run(trials))
    assert text.count("✗ case") == 10
    assert re.search(
        r"… and 90 more failures for other reasons: evenhand show \w+ --where status:fail\n", text
    )
    assert "100 of 200 passed (50 %, 43–57)" in text


async def test_failures_for_the_same_reason_are_told_once(make_run: Make) -> None:
    """With the numbers of their cases, six at most."""
    text = shown(await make_run([result(i, ok=i % 2 == 0) for i in range(16)]))
    assert (
        "  ✗ cases 2, 4, 6, 8, 10, 12 and 2 more   contains \"sea\": 'sea' is not in it\n" in text
    )
    assert "more failure" not in text


async def test_groups_count_all_their_failures_or_say_which_are_grouped(make_run: Make) -> None:
    """Reasons that take turns are counted to the end; of very many failures, the first ones are grouped."""

    def mixed(n: int) -> list[TrialResult]:
        why = ["fish", "nuts", ""]
        failed = [(Outcome("lists", "fail", 0.0, f"misses {why[i % 3]}"),) for i in range(n)]
        return [result(i, ok=i % 3 == 2, outcomes=failed[i]) for i in range(n)]

    text = shown(await make_run(mixed(300)))
    assert "✗ cases 1, 4, 7, 10, 13, 16 and 94 more   lists: misses fish\n" in text
    assert "✗ cases 2, 5, 8, 11, 14, 17 and 94 more   lists: misses nuts\n" in text
    assert "more failure" not in text
    text = shown(await make_run(mixed(1800)))
    assert "and 494 more   lists: misses fish\n" in text
    assert "… and 200 more failures (the first 1,000 are grouped)" in text


async def test_failures_of_cases_with_names_are_told_by_name(make_run: Make) -> None:
    """Each with the number that `show` takes, as many as there is room for; what a terminal would obey is text."""
    trials = [
        replace(result(i, ok=i == 0), description=name)
        for i, name in enumerate(["ok", "refund late", "re\x1b[2Jfund", "Row #4", "", "x" * 60])
    ]
    text = shown(await make_run(trials))
    assert "✗ cases 2 “refund late”, 3 “re" in text
    assert "fund”, 4, 5, 6 “" + "x" * 27 + "…”   contains" in text
    assert "\x1b" not in text


async def test_columns_share_the_room_for_failures(make_run: Make) -> None:
    """Of several columns each tells four reasons, ten together."""
    variants = [Variant(i, f"p{i}", "m") for i in range(4)]
    trials = [
        result(
            i,
            variant=i % 4,
            case=f"c{i // 4}",
            ok=i < 4,
            outcomes=(Outcome(f"contains {i}", "fail", 0.0, "x" * 150),),
        )
        for i in range(40)
    ]
    text = shown(await make_run(trials, variants), width=60)
    assert [text.count(f"✗ p{i} · ") for i in range(4)] == [4, 4, 2, 0]
    assert "… and 26 more failures" in text


async def test_many_kinds_of_errors_are_cut(make_run: Make) -> None:
    """Five groups, the largest first; the rest is a number."""
    trials = [
        result(i, ok=None, error=TrialError("code", f"kind {min(i, 8)}", "")) for i in range(12)
    ]
    text = shown(await make_run(trials))
    assert sum(line.startswith("  ! ") for line in text.splitlines()) == 5
    assert "! 4 trials, first case 9   code: kind 8" in text
    assert "… and 4 more errors" in text
    assert "0 of 12 passed (0–100 %, 0–100) · 12 errors" in text


async def test_a_failed_trial_tells_its_first_failed_expectation(make_run: Make) -> None:
    """Those with weight come first; how many more failed is said."""
    outcomes = (
        Outcome("contains a", "fail", 0.0, "no a", weight=0),
        Outcome("contains b", "fail", 0.0, "no b"),
        Outcome("contains c", "fail", 0.0, "no c"),
    )
    trials = [result(0), result(1, ok=False, outcomes=outcomes), result(2, ok=False, outcomes=())]
    text = shown(await make_run(trials))
    assert "✗ case 2   contains b: no b (and 1 more)" in text
    assert "✗ case 3   no reason given" in text


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("reason", ["the answer names no day " * 12, "x" * 300, "y" * 90])
async def test_a_reason_that_is_cut_still_says_how_many_more_failed(
    make_run: Make, width: int, reason: str
) -> None:
    """However long it is, and however narrow the terminal."""
    outcomes = [Outcome(f"contains {name}", "fail", 0.0, reason) for name in "abc"]
    text = shown(await make_run([result(0, ok=False, outcomes=tuple(outcomes))]), width=width)
    assert " (and 2 more)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width


async def test_what_did_not_apply_takes_no_part(make_run: Make) -> None:
    """It is neither passed nor failed, and it is counted."""
    trials = [result(0), result(1)]
    trials[1] = replace(result(1), outcome="not_applicable", score=None)
    text = shown(await make_run(trials))
    assert "1/1  100 %" in text
    assert "passed · 1 of 1 passed (100 %, 21–100) · 1 not applicable" in text
    assert f"next: evenhand view, or evenhand export {SHORT} --to report.html" in text


async def test_repeats_count_as_one_case(make_run: Make) -> None:
    """Eight repeats of one case say no more of other cases than one does, and those that waver are named."""
    trials = [
        replace(
            result(2 * case + 2 * variant * 4 + repeat, variant=variant, case=f"c{case}", ok=ok),
            repeat=repeat,
        )
        for variant in range(2)
        for case in range(4)
        for repeat in range(2)
        for ok in [variant == 0 or repeat == 0]
    ]
    text = shown(await make_run(sorted(trials, key=lambda t: t.index), TWO, repeats=2))
    assert "1 prompt" not in text
    assert "2 prompts × 1 model × 4 cases × 2 repeats = 16 trials" in text
    assert "8/8  100 %  [51–100]" in text
    assert "first and second: undecided (4 cases: too few to say anything, as 5 are needed)" in text
    assert "4 of 4 cases passed in some repeats and failed in others" in text
    assert "± ± ± ±" in text
    assert "✗ second · cases 1, 2, 3, 4   contains" in text


async def test_few_cases_can_show_nothing(make_run: Make) -> None:
    """Three cases cannot tell two prompts apart, and it says so."""
    trials = [result(i, ok=i % 2 == 0, variant=i % 2, case=f"c{i // 2}") for i in range(6)]
    text = shown(await make_run(trials, TWO))
    assert "first and second: undecided (3 cases: too few to say anything, as 5 are needed)" in text


async def test_columns_without_common_cases_are_not_compared(make_run: Make) -> None:
    """Pairs are made by case id; without any there is nothing to say."""
    trials = [result(i, ok=i < 4, variant=i // 4, case=f"c{i}") for i in range(8)]
    text = shown(await make_run(trials, TWO))
    assert "difference" not in text


async def test_many_columns_are_not_compared(make_run: Make) -> None:
    """More than six would be more sentences than anybody reads."""
    variants = [Variant(i, f"p{i}", "m") for i in range(7)]
    trials = [result(i, variant=i, case="c") for i in range(7)]
    text = shown(await make_run(trials, variants))
    assert "detectable" not in text


async def test_an_unfinished_run_says_why_and_how_to_go_on(make_run: Make) -> None:
    """Stopped by a wrong key: the message, how many never ran, and `resume`."""
    text = shown(
        await make_run(
            [result(0)],
            planned=10,
            status="stopped",
            message="the key is wrong\n  Set \x1b[1mKEY",
            settings={"asked": {}},
        ),
    )
    assert "undecided · 1 of 1 passed (100 %, 21–100) · 9 not run" in text
    assert "  the key is wrong\n" in text
    assert "\\x1b[1mKEY" in text
    assert f"next: evenhand resume {SHORT}" in text


async def test_a_killed_run_reports_what_is_in_doubt(make_run: Make) -> None:
    """Calls in flight at a kill may have been paid for: how many, and how much at most."""
    run = await make_run(
        [result(0, calls=1)],
        planned=2,
        calls=[(START, END), (replace(START, nth=1), None)],
        finish=False,
    )
    text = shown(run)
    assert "1 call in doubt ($0.2500 at most)" in text
    assert "cut off" in text


async def test_failed_attempts_and_replays_are_told(make_run: Make) -> None:
    """Money that may have been spent for nothing, and calls that cost nothing, are both said."""
    calls = [
        (START, replace(END, wasted=2, attempts=3)),
        (replace(START, nth=1), replace(END, origin="cache")),
    ]
    text = shown(await make_run([result(0, calls=2, cached=1)], calls=calls))
    assert (
        "2 calls, 1 replayed · $0.0006 spent · 2 failed attempts may have been charged too" in text
    )


async def test_an_unknown_price_is_not_nothing(make_run: Make) -> None:
    """`unknown` in the table, `cost unknown` in the summary."""
    run = await make_run([result(0, calls=1)], calls=[(START, replace(END, cost_usd=None))])
    text = shown(run)
    assert "cost unknown" in text
    assert "unknown" in text


async def test_scripted_replies_have_no_price_that_could_be_unknown(make_run: Make) -> None:
    """The summary says that they are scripted, and the table has no column for the cost."""
    run = await make_run(
        [result(0, calls=1)],
        calls=[(START, replace(END, cost_usd=None))],
        settings={"asked": {"offline": True}},
    )
    text = shown(run)
    assert " · replies scripted" in text
    assert "not known" not in text
    assert "unknown" not in text
    assert "cost" not in text


async def test_a_run_without_results_is_shown_too(make_run: Make) -> None:
    """Nothing settled yet: a summary, no table."""
    text = shown(await make_run([], planned=3))
    assert "undecided · 0 of 0 passed · 3 not run" in text
    assert "prompt " not in text


async def test_calls_of_trials_that_were_broken_off_are_counted(make_run: Make) -> None:
    """They are paid for and kept: without them, calls of one role were more than all calls."""
    calls = [
        (START, END),
        (replace(START, trial=1), END),
        (replace(START, trial=1, role="judge"), END),
    ]
    text = shown(await make_run([result(0, calls=1)], planned=3, calls=calls))
    assert "1 call · " in text
    assert "2 calls of unfinished trials" in text
    assert "unfinished" not in shown(await make_run([result(0, calls=1)], calls=calls))


async def test_tests_that_choose_their_prompts_make_no_false_equation(make_run: Make) -> None:
    """2 × 1 × 2 is not 3."""
    trials = [result(0, case="a"), result(1, case="a", variant=1), result(2, case="b")]
    text = shown(await make_run(trials, TWO))
    assert "2 prompts, 1 model, 2 cases: 3 trials" in text
    assert "✓  \n" not in text


async def test_foreign_text_does_not_steer_the_terminal(make_run: Make) -> None:
    """Escapes in titles, labels, case names, reasons and messages are shown, not obeyed."""
    evil = "\x1b]0;pwned\x07\u202e"
    outcome = Outcome(f"contains {evil}", "fail", 0.0, evil)
    trials = [
        result(0, case="a", description=evil, ok=False, outcomes=(outcome,)),
        result(1, case="b"),
        result(2, case="c", ok=None, error=TrialError("code", evil, evil)),
    ]
    run = await make_run(
        trials, (Variant(0, evil, evil),), title=evil, status="stopped", message=evil
    )
    assert all(c.isprintable() or c == "\n" for c in shown(run))


async def test_long_labels_leave_room_for_the_numbers(make_run: Make) -> None:
    """A prompt of a page as a label is cut, and both columns can still be told apart in the failures."""
    variants = [
        Variant(i, "You are a helpful assistant. " * 20 + str(i), f"m{i}") for i in range(2)
    ]
    trials = [result(i, variant=i % 2, case=f"c{i // 2}", ok=i % 3 > 0) for i in range(12)]
    text = shown(await make_run(trials, variants), width=80)
    lines = [line for line in text.splitlines() if "saved as" not in line]
    assert max(map(columns, lines)) <= 80
    assert "4/6" in text


async def test_cases_in_other_scripts_keep_the_table_straight(make_run: Make) -> None:
    """Wide characters take two columns each."""
    variants = (Variant(0, "水水", "m"), Variant(1, "ab", "m"))
    trials = [result(i, variant=i % 2, case=f"ü{i // 2}") for i in range(4)]
    lines = shown(await make_run(trials, variants)).splitlines()
    at = [columns(line[: line.index("2/2")]) for line in lines if "2/2" in line]
    assert len(at) == 2
    assert at[0] == at[1]


def test_hints_are_a_short_list() -> None:
    """Eight hints, then how many more there are."""
    problems = [Problem("a.yaml", i, 1, f"what {i}\x1b[1m", "do this") for i in range(10)]
    lines = problem_lines(problems)
    assert lines[0] == "hint: a.yaml:0:1: what 0\\x1b[1m\n  do this" or lines[0].startswith(
        "hint: a.yaml"
    )
    assert len(lines) == 9
    assert "and 2 more" in lines[-1]
    assert problem_lines([]) == []


def test_calls_in_doubt_have_a_bound_or_say_that_they_have_none() -> None:
    """A bound is only given when every price is known."""
    known = CallRecord(START, None)
    unknown = CallRecord(replace(START, cost_bound_usd=None), None)
    assert "2 calls in flight" in doubt_lines([known, known], [])[0]
    assert doubt_lines([known, known], [])[0].endswith("at most $0.5000")
    assert "how much is unknown" in doubt_lines([known, unknown], [])[0]
    assert doubt_lines([], ["grader.py:get_assert\x07"]) == [
        "the process of an earlier session died while running grader.py:get_assert\\x07"
    ]


async def test_runs_are_listed_with_those_that_cannot_be_read(
    summaries_run: RunFile, tmp_path: Path
) -> None:
    """Newest first; a damaged file is a line, not the end of the list."""
    broken = tmp_path / "01KZ0000000000000000000000.db"
    broken.write_bytes(b"nonsense")
    lines = list_lines(
        [
            ListedRun(summaries_run.path, summaries_run.meta),
            ListedRun(broken, None, problem="not a run file"),
            ListedRun(broken, summaries_run.meta),
        ]
    )
    assert lines[0].endswith("not a run file")
    assert "15/24 passed" in lines[2]
    assert "cannot be read" in lines[1] or "nonsense" in lines[1]
    assert list_lines([]) == ["there are no runs yet: `evenhand run` makes one"]


@pytest.mark.thorough
async def test_ten_thousand_trials_are_summed_up_from_totals(make_run: Make) -> None:
    """The summary makes no call for each trial, and has no list of thousands of failures."""
    trials = [result(i, ok=i % 5 > 0, prompt="x" * 500, output="y " * 200) for i in range(10_000)]
    run = await make_run(trials)
    shown(run, table=False)  # imports what it needs
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        text = shown(run, table=False)
    finally:
        sys.setprofile(None)
    assert "8,000 of 10,000 passed" in text
    assert calls < 10_000
    assert len(shown(run).splitlines()) < 25


async def test_a_plan_and_its_price_are_told_before_anything_is_sent() -> None:
    """`check`: what would be asked of whom, how often, and at what cost at most; for programs too."""

    class Planned:
        title, source, fingerprint = "Science", "/x/promptfooconfig.yaml", "f"
        size, case_count, repeats = 4, 2, 1
        variants = TWO
        hints = (Problem("a.yaml", 1, 2, "what", "do"),)
        options = RunOptions()
        providers = ()

    estimates = [
        CallEstimate("openai:chat:x", "subject", 4, 1200, 0.5),
        CallEstimate("python:f.py", "judge", 1, 0, None),
    ]
    lines = estimate_lines(Planned(), estimates)
    assert lines[0] == "Science · 2 prompts × 1 model × 2 cases = 4 trials"
    assert (
        lines[2] == "  subject   openai:chat:x   4 calls · about 1,200 tokens in · at most $0.5000"
    )
    assert (
        lines[3] == "  judge     python:f.py   1 call · tokens unknown beforehand · price unknown"
    )
    assert lines[-1].startswith("no problems, 1 hint, and nothing was sent · next: evenhand run")
    row = estimate_row(Planned(), estimates)
    assert row["trials"] == 4
    assert row["calls"][1] == {
        "provider": "python:f.py", "role": "judge", "calls": 1, "tokens_in": None, "cost_bound_usd": None,
        "cost_expected_usd": None, "batch_cost_usd": None,
    }  # fmt: skip
    assert row["hints"] == [
        {"file": "a.yaml", "line": 1, "column": 2, "what": "what", "hint": "do"}
    ]


def test_the_summaries_are_what_the_tests_think() -> None:
    """Fifteen of twenty-four pass."""
    assert sum(t.outcome == "pass" for t in summaries()) == 15
    assert len(SUMMARIES) == 3


async def test_a_column_of_errors_alone_may_have_any_rate(make_run: Make) -> None:
    """From none to all; whether the other column is better is left open."""
    trials = [
        result(i, variant=i % 2, case=f"c{i // 2}", ok=None if i % 2 else True) for i in range(20)
    ]
    text = shown(await make_run(trials, TWO))
    assert "0/10  0–100 %  [0–100]" in text
    assert "first and second: undecided (no case has a value in both: 10 trials in error)" in text
    assert "beats" not in text


async def test_a_column_to_which_nothing_applies_has_no_rate(make_run: Make) -> None:
    """A dash, and no comparison."""
    trials = [
        replace(
            result(i, variant=i % 2, case=f"c{i // 2}"), outcome=("pass", "not_applicable")[i % 2]
        )
        for i in range(12)
    ]
    text = shown(await make_run(trials, TWO))
    assert "  second         –" in text
    assert "detectable" not in text
    assert "beats" not in text


async def test_the_narrowest_terminal_still_gets_names_and_rates(make_run: Make) -> None:
    """At forty columns the names stand above, in full, and the numbers beside the rate are left out."""
    variants = [Variant(i, f"a prompt with a rather long name, number {i}", "m") for i in range(2)]
    trials = [result(i, variant=i % 2, case=f"c{i // 2}") for i in range(8)]
    text = shown(await make_run(trials, variants), width=40)
    lines = [line for line in text.splitlines() if "4/4" in line]
    assert [line.split()[0] for line in lines] == ["#1", "#2"]
    assert all("[51–100]" in line for line in lines)
    assert "#1 a prompt with a rather long name, number 0 #2 a" in " ".join(text.split())
    assert "latency" not in text


@pytest.mark.parametrize(
    ("slug", "message", "following"),
    [
        (
            "bad-request",
            "api.openai.com answered 400: no such option",
            "evenhand show {} --where status:error, then change what is sent, and run again",
        ),
        (
            "judge",
            "asked twice: no verdict; `evenhand resume --errors --no-cache` asks again",
            "evenhand resume --errors {} --no-cache",
        ),
        ("bad-request", "agent.sh ended with code 1", "evenhand resume {}"),
        ("overloaded", "api.openai.com answered 500: later", "evenhand resume {}"),
        ("rate-limited", "api.openai.com answered 429: later", "evenhand resume {}"),
        ("config", "a_evals.py:5: expect takes no `at_lest`", "correct it, then evenhand run"),
        ("code", "it opened a debugger, and there is no terminal", "correct it, then evenhand run"),
        ("score", "contains: the output is None", "correct it, then evenhand run"),
        (
            "code",
            "answers raised KeyError: 'a'",
            "correct it, then evenhand run; or, as it is, evenhand resume {}",
        ),
    ],
)
async def test_resume_is_not_suggested_where_it_would_end_the_same(
    make_run: Make, slug: str, message: str, following: str
) -> None:
    """What a vendor refuses, it refuses again; a kept reply is read again; corrected files are another run's."""
    error = TrialError(slug, message, "")
    run = await make_run(
        [result(0), result(1, ok=None, error=error)], settings={"asked": {}}, planned=2
    )
    assert f"next: {following.format(SHORT)}\n" in f"{shown(run)}\n"
    for another in (TrialError("timed-out", "no answer", ""), None):
        other = result(2, ok=None, error=another)
        mixed = await make_run(
            [result(0), result(1, ok=None, error=error), other], settings={"asked": {}}, planned=3
        )
        assert "next: evenhand resume " in shown(mixed)


async def test_what_is_next_for_chosen_errors_is_not_to_choose_them_again(make_run: Make) -> None:
    """They are what has just been shown."""
    refused = TrialError("bad-request", "api.openai.com answered 400: no such option", "")
    replayed = {"asked": {}, "replay": {"asks": False}}
    for settings in ({"asked": {}}, replayed):
        trials = [result(0), result(1, case="b", ok=None, error=refused)]
        run = await make_run(trials, settings=settings, planned=2)
        assert "--where status:error" in shown(run)
        chosen = shown(narrow(run, "status:error"))
        assert "next: " in chosen
        assert "--where" not in chosen


async def test_what_is_to_be_typed_next_finds_the_run(make_run: Make, tmp_path: Path) -> None:
    """Of two runs of the same millisecond, as imports of one timestamp are, as much of the id as tells them apart."""
    first, second = [await make_run([result(0, ok=False)]) for _ in range(2)]
    twin = first.path.with_name(f"{SHORT}ZZ".ljust(26, "0") + ".db")
    twin.write_bytes(first.path.read_bytes())
    (said,) = re.findall(r"evenhand show (\S+) \S+$", shown(first), re.MULTILINE)
    assert said == ID[:11]
    assert find(tmp_path, said) == first.path
    away = tmp_path / "kept elsewhere" / second.path.name
    away.parent.mkdir(parents=True)
    away.write_bytes(second.path.read_bytes())
    with RunFile.open(away) as run:
        text = shown(run)
        assert f"saved as {away.stem[:10]} in" in text
        assert f"evenhand show '{away.relative_to(tmp_path)}' " in text


async def test_an_imported_run_is_called_by_more_than_its_moment(make_run: Make) -> None:
    """Which the next one that is imported may share: what was printed before finds the first one still."""
    run = await make_run([result(0)], settings={"imported": {"id": "eval-x"}})
    assert f"saved as {ID[:14]} in" in shown(run)
    assert f"evenhand export {ID[:14]} --to" in shown(run)


async def test_the_list_aligns_what_passed_and_shows_errors_and_gates(make_run: Make) -> None:
    """A run that came to nothing but errors doesn't look like one that finished well."""
    many = await make_run([result(i) for i in range(12)])
    gate = await make_run([result(0)], settings={"gate": {}})
    broken = await make_run([result(i, ok=None) for i in range(2)])
    lines = list_lines([ListedRun(run.path, run.meta) for run in (many, gate, broken)])
    assert [line.index(" passed") for line in lines] == [lines[0].index(" passed")] * 3
    assert [line.index("finished") for line in lines] == [lines[0].index("finished")] * 3
    (errors,) = [line for line in lines if "2 errors" in line]
    assert " 0/2 passed  2 errors  finished" in errors
    assert ["gate · " in line for line in lines].count(True) == 1


async def test_the_list_has_titles_in_full_within_the_width(make_run: Make) -> None:
    """Those of a folder often begin alike."""
    titles = [
        f"Support answers questions about returns and refunds in {s}" for s in ("shops", "offices")
    ]
    listed = [await make_run([result(0)], title=title) for title in titles]
    lines = list_lines([ListedRun(run.path, run.meta) for run in listed], 80)
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert [title in text for title in titles] == [True, True]


async def test_the_list_tells_copies_and_runs_of_one_moment_apart(
    make_run: Make, tmp_path: Path
) -> None:
    """By what each can be asked for with."""
    run = await make_run([result(0)])
    (tmp_path / "b").mkdir()
    files = [
        run.path,
        run.path.with_name(f"{SHORT}ZZ".ljust(26, "0") + ".db"),
        tmp_path / "b" / run.path.name,
    ]
    for file in files[1:]:
        file.write_bytes(run.path.read_bytes())
    lines = list_lines([ListedRun(path, run.meta) for path in files])
    assert [line.split()[0] for line in lines] == [
        f"{SHORT}Z",
        str(files[0].relative_to(tmp_path)),
        f"b/{run.path.name}",
    ]


def test_a_session_of_pytest_is_counted_in_tests():
    """A test may have cases and repeats of its own: they are trials, and it has no model."""
    tests = [Variant(i, f"test_{i}", "") for i in range(3)]
    assert heading_of("pytest", tests, 8, 1, 8) == "pytest · 3 tests: 8 trials"
    assert heading_of("pytest", tests[:1], 1, 1, 1) == "pytest · 1 test = 1 trial"
    asked = [Variant(0, "p", "echo")]
    assert (
        heading_of("pytest", asked, 2, 1, 2) == "pytest · 1 prompt × 1 model × 2 cases = 2 trials"
    )


@pytest.mark.parametrize(
    ("config", "least"),
    [
        (
            "evaluateOptions: {delay: 30}\nproviders: [echo, file://p.py]",
            "30 ms before each of 4 calls: 120 ms",
        ),
        (
            "commandLineOptions: {delay: 30}\nproviders: [file://p.py]",
            "30 ms before each of 4 calls: 120 ms",
        ),
        (
            "evaluateOptions: {maxConcurrency: 2}\nproviders: [{id: echo, delay: 60}]",
            "60 ms before each of 4 calls of echo, 2 at a time: 120 ms",
        ),
    ],
)
async def test_the_shortest_time_of_a_run_with_a_delay_is_what_check_says(
    tmp_path: Path, config: str, least: str
) -> None:
    """Of the config, the command line's options in it, and a provider; a run takes no less."""
    path = tmp_path / "promptfooconfig.yaml"
    (tmp_path / "p.py").write_text(
        "def call_api(prompt, options, context):\n    return {'output': 'a'}\n"
    )
    path.write_text(f"{config}\nprompts: ['{{{{x}}}}']\ntests: [{{vars: {{x: [a, b, c, d]}}}}]\n")
    plan = load(path, Chosen(env={}))
    lines = estimate_lines(plan, plan.estimate())
    assert f"  waits     {least} at least, without answers from the cache" in lines
    begun = time.monotonic()
    await settle(plan, Settings(home=tmp_path / "home", cache=False))
    assert time.monotonic() - begun >= 0.12


async def test_a_table_of_thousands_of_variants_takes_linear_time(make_run: Make) -> None:
    """The width of a column was measured again for each of its rows: twenty seconds for these."""
    variants = [Variant(i, f"prompt {i}", "m") for i in range(2_000)]
    run = await make_run([result(0)], variants)
    began = time.process_time()
    show(run, io.StringIO(), width=100)
    assert time.process_time() - began < 6

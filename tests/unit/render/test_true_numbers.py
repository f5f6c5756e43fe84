"""What reports say of awkward numbers is true: no share outside its interval, no miss that reads as met."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from tests.runs import Make, result

from evenhand import compare
from evenhand.analysis.summaries.rates import hundredths, mean_cell, rates, scores
from evenhand.analysis.trust.trust_rules import age
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import AnswerDetails, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.bounds import beside, percent_beside
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import in_points, interval, p_value, points, rounded, share_within
from evenhand.render.calibration_text import difference_words
from evenhand.render.console import show
from evenhand.render.document import document_head
from evenhand.render.export import export
from evenhand.render.markdown import write_markdown
from evenhand.render.notebook import html
from evenhand.render.outcome import outcome_lines
from evenhand.render.requirements import requirement_lines
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import mean_of_sums, wilson
from evenhand.store.runfile import RunFile


def trials(passed: int, failed: int) -> list[TrialResult]:
    """So many that passed, and then so many that failed."""
    return [result(i, ok=i < passed) for i in range(passed + failed)]


def scored(values: Sequence[float], scale: tuple[float, float] | None = None) -> list[TrialResult]:
    """A trial for each score."""
    return [
        result(
            i, score=value, scale=scale, outcomes=(Outcome("q", "pass", value, "", scale=scale),)
        )
        for i, value in enumerate(values)
    ]


def printed(run: RunFile) -> str:
    """The report of a run."""
    out = io.StringIO()
    show(run, out, width=160)
    return out.getvalue()


def least_of(bound: float) -> tuple[Requirement, ...]:
    """That so large a share passes."""
    return (Requirement(PASSED, Bound(at_least=bound), (0,)),)


async def test_the_document_says_which_share_of_trials_had_to_pass(make_run: Make):
    """That of the requirements, where they have one; 1 only where nothing else is required."""
    required = {0.5: least_of(0.5), None: (Requirement("q", Bound(at_least=0.9), (0,)),), 1.0: ()}
    for share, requirements in required.items():
        run = await make_run(trials(2, 1), requirements=requirements)
        assert document_head(run)["configuration"]["pass_rate"] == share


class TestAShareLiesInItsInterval:
    @pytest.mark.parametrize("n", [20, 200, 997, 1_000, 4_000, 100_000])
    def test_whatever_the_counts(self, n: int):
        for passed in {0, 1, 2, n // 3, n // 2, n - 2, n - 1, n}:
            low, high = wilson(passed, n)
            share = share_within(passed / n, passed / n, low, high)
            ends = [float(end) for end in interval(low, high).split("–")]
            assert ends[0] <= float(share.removesuffix(" %")) <= ends[1], (passed, n)

    async def test_in_the_table_and_in_the_summary(self, make_run: Make):
        text = printed(await make_run(trials(999, 1)))
        assert "99.9 %  [99.4–100.0]" in text
        assert "999 of 1,000 passed (99.9 %, 99.4–100.0)" in text

    async def test_that_all_passed_is_said_of_all_alone(self, make_run: Make):
        every, nearly = (
            rates(await make_run(trials(1_000, 0))),
            rates(await make_run(trials(999, 1))),
        )
        assert [str(every[0]), str(nearly[0])] == ["100 %", "99.9 %"]


class TestANumberBesideItsBound:
    @pytest.mark.parametrize(
        ("passed", "bound", "words"),
        [
            (899, 0.9, "✗ passed 89.9 % [88–92], wanted at least 90 %"),
            (656, 0.66, "✗ passed 65.6 % [63–68], wanted at least 66 %"),
            (900, 0.9, "✓ passed 90 % [88–92], wanted at least 90 %"),
            (999, 0.9995, "✗ passed 99.9 % [99.4–100.0], wanted at least 99.95 %"),
        ],
    )
    async def test_a_pass_rate_reads_as_missed_only_if_it_is(
        self, make_run: Make, passed: int, bound: float, words: str
    ):
        run = await make_run(trials(passed, 1_000 - passed), requirements=least_of(bound))
        assert requirement_lines(run, ["a"])[0].startswith(words)

    async def test_a_bound_that_is_kept_is_written_as_the_rate_is(self, make_run: Make):
        run = await make_run(trials(1, 2), requirements=least_of(1 / 3))
        (line,) = requirement_lines(run, ["a"])
        share, wanted = re.findall(r"([\d.]+) %", line)
        assert line.startswith("✓")
        assert share == wanted

    async def test_a_mean_reads_as_missed_if_it_is(self, make_run: Make):
        required = (Requirement("q", Bound(at_least=0.9), (0,)),)
        run = await make_run(scored([0.89996] * 6, (0, 1)), requirements=required)
        assert "✗ q 0.89996 " in requirement_lines(run, ["a"])[0]

    async def test_the_ends_of_a_narrow_interval_are_two_numbers(self, make_run: Make):
        required = (Requirement("q", Bound(at_least=100), (0,)),)
        values = [1_000 + i / 10 for i in range(8)]
        run = await make_run(scored(values), requirements=required)
        low, high = re.findall(r"\[([\d.]+)–([\d.]+)\]", requirement_lines(run, ["a"])[0])[0]
        assert float(low) < float(high)

    def test_an_expectation_that_failed_doesnt_read_as_met(self):
        missed = Outcome("q", "fail", 0.89996, "", at_least=0.9)
        assert "q  0.89996  (at least 0.9)" in outcome_lines(missed, 100, Ink(False))[0]

    @pytest.mark.parametrize(
        ("value", "bound"), [(0.9 - 1e-9, 0.9), (0.1 + 1e-9, 0.1), (99.9999999, 100), (1e-7, 0)]
    )
    def test_numbers_that_differ_are_written_as_such(self, value: float, bound: float):
        assert (float(beside(value, bound)) < bound) == (value < bound)
        assert float(beside(value, bound)) != bound
        share = float(percent_beside(value, bound).removesuffix(" %")) / 100
        assert (share < bound) == (value < bound)


class TestDifferences:
    async def test_what_isnt_nothing_isnt_written_as_nothing(self, make_run: Make):
        runs = [await make_run(trials(2_000 - failed, failed)) for failed in (0, 1)]
        first, second, *_ = str(compare(runs[0].path, runs[1].path)).splitlines()
        assert first.startswith("passed: -0.1 points [-0.3, +0.1] over 2,000 cases")
        assert second.startswith("  100 % → 99.95 % ")

    def test_points_of_any_size(self):
        for share in (1e-7, -1e-5, 1e-4, -0.004, 0.01, 1):
            for digits in (0, 1):
                assert float(points(share, digits)) * share > 0
        assert points(0.0) == "0"

    async def test_a_p_value_is_1_only_if_it_is(self, make_run: Make):
        values = [i / 100_000 for i in range(1, 9)]
        more = [1.1 * value for value in values]
        runs = [await make_run(scored(each, (0, 1))) for each in (values, more)]
        assert ", p > 0.999: no" in str(compare(runs[0].path, runs[1].path, metric="score"))

    async def test_what_says_nothing_has_no_interval_in_a_notebook(self, make_run: Make):
        values = [10.0 * i for i in range(1, 7)]
        runs = [await make_run(scored(each)) for each in (values, [1.1 * v for v in values])]
        shown = compare(runs[0].path, runs[1].path, metric="score")._repr_html_()
        assert "∞" not in shown
        assert "<td>+3.50</td><td>–</td>" in shown

    @pytest.mark.parametrize(
        ("text", "words"),
        [("1", "1 point"), ("-1", "-1 point"), ("0", "0 points"), ("1.0", "1.0 points")],
    )
    def test_one_point_is_singular(self, text: str, words: str):
        assert in_points(text) == words


class TestScores:
    async def test_a_mean_is_whole_only_if_it_is(self, make_run: Make):
        nearly = printed(await make_run(trials(9_999, 1)))
        assert "0.9999 [0.99943–0.99998]" in nearly
        assert "1.00 [0.99962–1.00]" in printed(await make_run(trials(10_000, 0)))

    async def test_tiny_ones_are_not_nothing(self, make_run: Make):
        run = await make_run(scored([1.0003, 1.0003]))
        assert "1.0003 ±?" in printed(run)
        (mean,) = scores(await make_run(scored([2e-4, 2e-4], (0, 5))))
        assert mean_cell(mean).startswith("0.0002 ")

    @pytest.mark.parametrize("form", ["console", "markdown", "notebook"])
    async def test_an_unknown_interval_is_explained_only_where_there_is_one(
        self, make_run: Make, form: str
    ):
        def text(run: RunFile) -> str:
            if form == "notebook":
                return html(run)
            out = io.StringIO()
            if form == "markdown":
                write_markdown(run, out)
            else:
                show(run, out, width=60)
            return out.getvalue()

        unknown = " ".join(text(await make_run(scored([104.0, 107.0]))).split())
        assert "±?: how far off the mean may be is not known" in unknown
        assert "±?" not in text(await make_run(scored([4.0, 5.0], (0, 5))))

    def test_what_floats_leave_is_nothing(self):
        assert [hundredths(x) for x in (-1e-17, 0.1 + 0.2 - 0.3, 1 - 1e-15)] == ["0.00"] * 2 + [
            "1.00"
        ]

    def test_a_score_of_any_size_can_be_rounded(self):
        assert rounded(1e307, 2).startswith("1000000") or rounded(1e307, 2).startswith("9999999")

    def test_the_spread_of_large_scores_is_finite(self):
        mean, low, high = mean_of_sums((10.0**p, 1) for p in range(196, 203)) or (0, 0, 0)
        assert low < mean < high < float("inf")

    async def test_one_huge_score_leaves_the_reports_readable(self, make_run: Make, tmp_path):
        run = await make_run(scored([1e200, 2e200, 3.0, 4.0, 5.0, 6.0]))
        assert "5e+199 ±" in printed(run)
        for suffix in (".md", ".json", ".csv", ".xml", ".html"):
            export(run, tmp_path / f"run{suffix}")
        assert ",1e+200," in (tmp_path / "run.csv").read_text("utf-8")


class TestWhatIsLeftOut:
    @pytest.mark.parametrize(
        ("again", "words"),
        [("A", "more failures, 3 of them for other reasons"), ("N", "for other reasons")],
    )
    async def test_reasons_are_other_ones_only_if_none_was_told(
        self, make_run: Make, again: str, words: str
    ):
        """Of two columns that fail for the same reason, the second has no room for it."""
        whys = ["ABCDE", "FGHIJ", "KLM", again]
        cells = [
            result(
                4 * case + variant,
                case=f"c{case}",
                variant=variant,
                ok=case >= len(column),
                outcomes=(Outcome(column[case], "fail", 0.0, ""),) if case < len(column) else (),
            )
            for case in range(6)
            for variant, column in enumerate(whys)
        ]
        variants = [Variant(i, f"p{i}", "echo") for i in range(4)]
        assert f"… and 4 {words}" in printed(await make_run(cells, variants)).replace(
            "4 more failures for", "4 for"
        )

    async def test_failures_that_a_later_column_tells_for_all_are_not_counted_as_left_out(
        self, make_run: Make
    ):
        """Three columns share a reason. The first has no room for it, and the second tells it for the three."""
        whys = ["ABCDZ", "ZEFG", "Z"]
        cells = [
            result(
                3 * case + variant,
                case=f"c{case}",
                variant=variant,
                ok=case >= len(column),
                outcomes=(Outcome(column[case], "fail", 0.0, ""),) if case < len(column) else (),
            )
            for case in range(6)
            for variant, column in enumerate(whys)
        ]
        text = printed(await make_run(cells, [Variant(i, f"p{i}", "echo") for i in range(3)]))
        assert len([line for line in text.splitlines() if line.endswith("   Z")]) == 1
        assert "more failure" not in text


class TestWords:
    @pytest.mark.parametrize(
        ("p", "words"), [(0.0, "p < 0.001"), (4e-7, "p < 0.001"), (1.0, "p = 1")]
    )
    def test_no_p_value_is_written_as_nothing(self, p: float, words: str):
        assert p_value(p) == words
        difference = difference_words(Estimate(0.004, -0.0003, 0.01))
        assert difference == "+0.4 points [-0.03, +1]"

    @pytest.mark.parametrize(
        ("before", "words"), [(0, "today"), (1, "1 day old"), (30, "30 days old")]
    )
    def test_an_age_is_in_days_of_the_calendar(self, before: int, words: str):
        """What was labelled late yesterday isn't of today."""
        midnight = datetime.now(UTC).astimezone().replace(hour=0, minute=0, second=30) - timedelta(
            days=before
        )
        assert age(midnight.timestamp()) == words
        assert age(midnight.timestamp() - 60) == (
            "1 day old" if before == 0 else f"{before + 1} days old"
        )

    async def test_refused_answers_are_told_of_trials(self, make_run: Make):
        """Of those in error some have no answer that could be counted."""
        run = await make_run([result(0, answer=AnswerDetails(refused=True)), result(1, ok=None)])
        assert "! the answer of 1 of 2 trials was refused" in printed(run)


@pytest.mark.parametrize("kind", ["console", "markdown", "notebook"])
async def test_every_report_says_how_many_of_the_calls_were_replayed(make_run: Make, kind: str):
    """And what tokens came back, where none are known to have been sent."""
    each = [result(i, calls=2, cached=int(i == 0), tokens_out=3) for i in range(10)]
    run, out = await make_run(each), io.StringIO()
    if kind == "notebook":
        out.write(html(run))
    else:
        (show if kind == "console" else write_markdown)(run, out)
    assert "· 20 calls, 1 replayed · 0 → 30 tokens ·" in " ".join(out.getvalue().split())

"""Two runs, or columns, on the cases of both."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make, result

import evenhand
from evenhand.analysis.comparison.comparison_sides import Column
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.comparing import compare
from evenhand.render.comparison import _fewest, html
from evenhand.render.run import Run
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.comparison import _row

ONE = (Variant(0, "plain", "m"),)
Outcomes = Sequence[bool | None]
Pair = Callable[..., object]


def passes(outcomes: Outcomes, **other) -> list[TrialResult]:
    """A trial for each case `c0`, `c1`, …: passed, failed, or (None) in error."""
    return [result(i, ok=ok, case=f"c{i}", **other) for i, ok in enumerate(outcomes)]


def scored(scores: Sequence[float | None], **outcome) -> list[TrialResult]:
    """A trial for each case, with a metric `faithfulness`; None where its scorer is in error."""
    return [
        result(
            i,
            case=f"c{i}",
            named_scores={} if score is None else {"faithfulness": score},
            outcomes=(
                Outcome(
                    "is faithful",
                    "error" if score is None else "pass",
                    score,
                    metric="faithfulness",
                    **outcome,
                ),
            ),
        )
        for i, score in enumerate(scores)
    ]


@pytest.fixture
def runs(make_run: Make):
    """Makes two runs of these trials."""

    async def make(first, second, variants=ONE, **meta) -> tuple[RunFile, RunFile]:
        a = await make_run(first, variants, **meta)
        return a, await make_run(second, variants, **meta | {"title": "Later"})

    return make


async def test_it_reads_like_a_sentence(runs: Pair):
    """The metric, the difference, its interval, over what, how sure, and the verdict; then what changed."""
    a, b = await runs(
        scored([0.5, 0.6, 0.4, 0.5, 0.7, 0.5, 0.6, 0.5] * 4),
        scored([0.7, 0.9, 0.7, 0.7, 0.8, 0.6, 0.9, 0.5] * 4),
    )
    found = compare(a, b, metric="faithfulness")
    assert str(found).splitlines() == [
        "faithfulness: +0.19 [+0.08, +0.27] over 32 cases (paired), p = 0.005: better",
        "  0.5375 → 0.725 · 28 better, 0 worse, 4 the same",
        "  ✓ c4   0.7 → 0.8",
        "  ✓ c5   0.5 → 0.6",
        "  ✓ c12  0.7 → 0.8",
        "  ✓ c13  0.5 → 0.6",
        "  ✓ c20  0.7 → 0.8",
        "    … and 23 more",
    ]
    assert found.verdict == "better"
    assert found.results[0].n == 32
    assert evenhand.compare is compare


async def test_cases_pair_by_id_and_those_without_a_pair_are_named(runs: Pair):
    """In whatever order; what one run alone has is left out and told."""
    first = passes([True] * 8)
    second = [
        result(i, ok=t.outcome == "pass", case=t.case, description=f"case {t.case}")
        for i, t in enumerate(reversed(passes([False] * 7 + [True, True])))
    ]
    (found,) = compare(*await runs(first, second), metric="passed").results
    assert (found.n, found.first, found.second) == (8, 1, 1 / 8)
    assert found.verdict == "worse"
    assert found.only_second == ("case c8",)
    assert [c.case for c in found.changed] == [
        f"c{i}" for i in reversed(range(7))
    ]  # as in the second


async def test_a_pass_rate_has_mcnemars_test_and_tangos_interval(runs: Pair):
    """12 to 2 of 50: the published interval; the exact p-value."""
    first = passes([False] * 12 + [True] * 38)
    second = passes([True] * 12 + [False] * 2 + [True] * 36)
    (found,) = compare(*await runs(first, second), metric="passed").results
    assert (found.low, found.high) == pytest.approx((0.0611124, 0.3447087), abs=1e-7)
    assert found.p == pytest.approx(0.012939453125)
    assert found.verdict == "better"
    assert found.changed[0].difference == -1  # the worst first
    assert found.alike == 36


async def test_repeats_count_as_one_case(runs: Pair):
    """Eight cases asked five times are eight cases, each with its own rate; ten times as sure they are not."""

    def asked(rates: Sequence[int]) -> list[TrialResult]:
        return [
            result(5 * i + r, ok=r < n, case=f"c{i}", repeat=r)
            for i, n in enumerate(rates)
            for r in range(5)
        ]

    a, b = await runs(asked([1, 2, 3, 2, 0, 1, 2, 5]), asked([3, 4, 5, 3, 2, 1, 5, 5]), repeats=5)
    (found,) = compare(a, b, metric="passed").results
    assert found.n == 8
    assert found.difference == pytest.approx(12 / 40)
    assert found.p == 2 / 64  # six cases rose, two did not move
    assert found.verdict == "better"


async def test_clusters_are_taken_whole(runs: Pair):
    """Twelve questions about three documents are three clusters, and three can show nothing."""
    first, second = (
        [
            replace(trial, metadata={"document": f"d{i // 4}"})
            for i, trial in enumerate(passes([ok] * 12))
        ]
        for ok in (False, True)
    )
    a, b = await runs(first, second)
    assert compare(a, b).verdict == "better"
    found = compare(a, b, cluster="document")
    assert found.verdict == "undecided"
    assert "over 12 cases in 3 clusters" in str(found)
    with pytest.raises(UsageError, match="called 'documnet'\n  Did you mean 'document'"):
        compare(a, b, cluster="documnet")


async def test_an_error_may_have_been_either_outcome(runs: Pair):
    """A case in error counts with both; where errors could turn it, nothing is decided."""
    first = passes([False] * 10 + [True] * 10)
    (found,) = compare(*await runs(first, passes([True] * 19 + [None])), metric="passed").results
    assert (found.n, found.trials_in_error, found.verdict) == (20, 1, "better")
    assert found.difference is None
    assert found.difference_range == (9 / 20, 10 / 20)
    assert found.unsettled == ("c19",)
    (found,) = compare(*await runs(first, passes([True] * 13 + [None] * 7))).results
    assert (found.n, found.difference_range, found.verdict) == (20, (3 / 20, 10 / 20), "undecided")
    assert found.open
    least, most = found.data.least, found.data.most
    assert (found.low, found.high) == (least.interval()[0], most.interval()[1])
    assert found.p == max(least.p(), most.p())


async def test_errors_among_repeats_may_have_been_either_outcome(runs: Pair):
    """Equally good, and the second raises in half of its failures: neither better nor worse."""

    def asked(rates: Sequence[int], broken: Sequence[int] = (0,) * 20) -> list[TrialResult]:
        return [
            result(
                10 * i + r,
                ok=True if r < n else None if r < n + e else False,
                case=f"c{i}",
                repeat=r,
            )
            for i, (n, e) in enumerate(zip(rates, broken, strict=True))
            for r in range(10)
        ]

    a, b = await runs(asked([5] * 20), asked([5] * 20, [3, 2] * 10), repeats=10)
    (found,) = compare(a, b, metric="passed").results
    assert (found.verdict, found.trials_in_error, found.open) == ("undecided", 50, True)
    assert (found.first, found.second) == (0.5, None)
    assert found.second_range == pytest.approx((0.5, 0.75))
    assert found.low <= 0 <= found.high
    assert found.p == 1
    said = str(compare(a, b, metric="passed")).splitlines()
    assert said[0].startswith("passed: 0 to +25 points [")
    assert said[0].endswith("p = 1: undecided (50 trials in error could turn it)")
    assert said[1] == "  50 % → 50–75 % · 0 better, 0 worse, 0 the same, 20 open"
    assert said[2].startswith("  50 trials in error may have come out either way, which leaves")


async def test_a_rise_that_errors_cannot_take_back_is_better(runs: Pair):
    """Had all of them failed it would be one still; the numbers are ranges."""
    first = passes([False] * 18 + [True] * 2)
    found = compare(*await runs(first, passes([True] * 18 + [None] * 2)), metric="passed")
    assert found.verdict == "better"
    assert "passed: +80 to +90 points [+40, +97] over 20 cases" in str(found)
    (row,) = json.loads(json.dumps(found.document(), allow_nan=False))["results"]
    ends = ("difference", "difference_least", "difference_most", "second", "second_least")
    assert [row[key] for key in ends] == [None, pytest.approx(0.8), pytest.approx(0.9), None, 0.9]
    assert (row["first"], row["trials_in_error"], row["open"]) == (0.1, 2, False)
    assert row["unsettled"] == ["c18", "c19"]


async def test_one_error_does_not_take_back_that_it_is_no_worse(runs: Pair):
    """Better had it passed, non-inferior had it failed: non-inferior."""
    first = passes([False] * 6 + [True] * 94)
    second = passes([True] * 6 + [None] + [True] * 93)
    found = compare(*await runs(first, second), metric="passed", margin=0.05)
    assert found.verdict == "non-inferior"
    assert compare(*await runs(first, second), metric="passed").verdict == "undecided"


async def test_where_less_is_better_errors_are_turned_too(runs: Pair):
    """Of a share that should be low, errors that were high could hide that nothing improved."""
    first, second = scored([1.0] * 12), scored([0.0] * 8 + [None] * 4)
    found = compare(*await runs(first, second), metric="faithfulness", lower="faithfulness")
    assert found.verdict == "better"
    second = scored([0.0] * 4 + [None] * 8)
    found = compare(*await runs(first, second), metric="faithfulness", lower="faithfulness")
    assert (found.verdict, found.results[0].open) == ("undecided", True)


async def test_errors_of_a_metric_could_hide_that_it_is_worse(runs: Pair):
    """No difference among those that have a score; had the others the lowest score seen, it would be worse."""
    first = scored([0.9, 0.8] * 10 + [0.1])
    second = scored([0.9, 0.8] * 5 + [None] * 10 + [0.1])
    found = compare(*await runs(first, second), metric="faithfulness")
    assert found.verdict == "undecided"
    assert "undecided (10 trials in error could turn it)" in str(found)
    assert "leaves 10 cases open: c10, c11, c12, c13, c14 and 5 more" in str(found)


async def test_on_a_known_scale_an_error_may_have_had_any_score_of_it(runs: Pair):
    """From 0 to 1, though none of the others scored below 0.5; on a scale that nobody knows, any number."""
    both = scored([0.5] * 9 + [0.9]), scored([0.5] * 9 + [None])
    (found,) = compare(*await runs(*both), metric="faithfulness").results
    assert found.second_range == pytest.approx((0.45, 0.55))
    both = scored([1.5] * 9 + [1.9]), scored([1.5] * 9 + [None])
    (found,) = compare(*await runs(*both), metric="faithfulness").results
    assert found.second_range == (-math.inf, math.inf)


async def test_repeats_in_error_leave_their_case_in(runs: Pair):
    """It counts with all of them, and that is told."""
    first = [result(2 * i + r, case=f"c{i}", repeat=r) for i in range(8) for r in range(2)]
    second = [
        result(2 * i + r, case=f"c{i}", repeat=r, ok=None if i == r == 0 else True)
        for i in range(8)
        for r in range(2)
    ]
    found = compare(*await runs(first, second, repeats=2))
    assert found.results[0].n == 8
    assert found.results[0].second_range == (15 / 16, 1)
    assert "1 trial in error may have come out either way" in str(found)


async def test_what_did_not_apply_is_apart_from_errors(runs: Pair):
    """A case without a context has no faithfulness: left out, and not in doubt."""
    first = scored([0.5] * 8)
    second = scored([0.5] * 7 + [None])
    outcome = Outcome("is faithful", "not_applicable", None, metric="faithfulness")
    second[7] = replace(second[7], outcomes=(outcome,))
    (found,) = compare(*await runs(first, second), metric="faithfulness").results
    assert (found.errors, found.other, found.open) == ((), ("c7",), False)
    assert found.verdict == "no detectable difference"


async def test_without_a_metric_everything_that_both_have_is_compared(runs: Pair):
    """Passed first, then the metrics; p-values are corrected for their number."""

    def failing(trials: list[TrialResult], case: int) -> list[TrialResult]:
        return [replace(t, outcome="fail") if i == case else t for i, t in enumerate(trials)]

    first = failing(scored([0.5] * 8), 0)
    second = [
        replace(trial, named_scores={**trial.named_scores, "brevity": 3.0})
        for trial in failing(scored([1.0] * 8), 1)
    ]
    found = compare(*await runs(first, second))
    assert [result.metric for result in found.results] == ["passed", "faithfulness"]
    assert found.results[1].p == 2 * found.results[1].p_alone < 0.2
    assert found.notes == ("measured only in the second: brevity",)
    assert "corrected for 2 comparisons (Holm)" in str(found)


async def test_metrics_in_which_nothing_changed_share_a_line_after_those_that_changed(runs: Pair):
    """Without any change, the first metric says what the cases could have shown, and the document has all."""

    def trials(low: int) -> list[TrialResult]:
        values = [{f"m{k}": (i + k) % 5 / 10 + (k == low) / 2 for k in range(7)} for i in range(20)]
        return [
            result(
                i,
                case=f"c{i}",
                named_scores=each,
                outcomes=tuple(
                    Outcome("x", "pass", value, metric=name, scale=(0, 1))
                    for name, value in each.items()
                ),
            )
            for i, each in enumerate(values)
        ]

    line = "unchanged in 20 cases, no detectable difference: "
    text = str(compare(*await runs(trials(3), trials(7)))).splitlines()
    assert text[0].startswith("m3: -0.50")
    assert f"{line}passed, m0, m1, m2, m4 and 2 more" in text
    assert not [each for each in text if each.startswith(("passed", "m0"))]
    alike = compare(*await runs(trials(3), trials(3)))
    text = str(alike).splitlines()
    assert text[0].startswith("passed: 0 points")
    assert f"{line}m0, m1, m2, m3, m4 and 2 more" in text
    assert len(alike.document()["results"]) == 8


async def test_a_metric_of_many_is_what_it_is_alone(runs: Pair):
    """Asked for among others and then picked, or alone: the same cases, errors included, and the same words."""
    broken = [result(i, case=f"c{i}", ok=None) for i in (10, 11)]
    first = scored([0.5] * 10) + broken
    second = scored([0.5 + i / 50 for i in range(12)])
    every = compare(*await runs(first, second))
    for metric in ("passed", "faithfulness"):
        alone = compare(*await runs(first, second), metric=metric)
        assert every.of(metric).results == alone.results
        assert (alone.results[0].n, alone.results[0].trials_in_error) == (12, 2)
    assert every.of("faithfulness").results[0].p < every.results[1].p


async def test_nothing_has_no_sign(runs: Pair):
    """A mean difference that is rounded to 0 is 0.00, and not -0.00."""
    first = scored([0.5, 0.6, 0.4, 0.5, 0.7, 0.5])
    second = scored([0.6, 0.5, 0.5, 0.4, 0.8, 0.399])
    found = compare(*await runs(first, second), metric="faithfulness")
    assert found.results[0].difference == pytest.approx(-0.001 / 6)
    assert "faithfulness: 0.00 [-0.40, +0.40]" in str(found)


async def test_less_may_be_better(runs: Pair):
    """Latency, cost, what has only an upper bound, and what is said to be."""
    first = [result(i, case=f"c{i}", latency_s=2.0 + i / 20) for i in range(20)]
    second = [result(i, case=f"c{i}", latency_s=1.0) for i in range(20)]
    found = compare(*await runs(first, second), metric="latency")
    assert (found.results[0].lower, found.verdict) == (True, "undecided")
    assert found.results[0].difference == pytest.approx(-1.475)
    assert "lower in 20 of 20 cases, p < 0.001" in str(found)
    bounded = scored([0.1] * 40, at_most=0.5), scored([0.4] * 40, at_most=0.5)
    assert compare(*await runs(*bounded), metric="faithfulness").verdict == "worse"
    free = await runs(scored([0.1] * 40), scored([0.4] * 40))
    assert compare(*free, metric="faithfulness").verdict == "better"
    assert compare(*free, metric="faithfulness", lower="faithfulness").verdict == "worse"
    known = {"metrics": [{"name": "faithfulness", "best": "low", "counted": True}]}
    told = await runs(scored([0.1] * 40), scored([0.4] * 40), config=known)
    assert compare(*told, metric="faithfulness").verdict == "worse"


@pytest.mark.parametrize("rates", [True, False])
async def test_what_a_run_may_be_worse_by_is_never_on_the_wrong_side_of_the_margin(
    runs: Pair, rates: bool
):
    """However close it is to it; and the margin is written as it was chosen."""
    both = [i not in lost for lost in (range(3), range(2, 6)) for i in range(80)]
    sides = (both[:80], both[80:])
    if rates:
        pair = await runs(*map(passes, sides))
    else:
        pair = await runs(
            *(scored([0.9 - 0.3 * (not ok) for ok in side], scale=(0, 1)) for side in sides)
        )
    metric = "passed" if rates else "faithfulness"
    (found,) = compare(*pair, metric=metric, margin=0.9).results
    at_worst = -found.data.interval(0.9)[0]
    for factor in (0.9, 0.999, 0.99999, 1.00001, 1.001, 1.1):
        margin = at_worst * factor
        compared = compare(*pair, metric=metric, margin=margin)
        pattern = r"([\d.]+)(?: points?)? worse, one-sided.*the margin is ([\d.]+)"
        ((least, written),) = re.findall(pattern, " ".join(str(compared).split()))
        assert float(written) == pytest.approx(margin * (100 if rates else 1), rel=1e-9)
        assert compared.verdict == ("non-inferior" if factor > 1 else "undecided")
        assert (float(least) < float(written)) == (factor > 1)
        assert float(least) != float(written)


async def test_a_margin_says_what_is_accepted(runs: Pair):
    """Non-inferior, worse, undecided; each says why."""
    first = passes([True] * 100)
    same = compare(*await runs(first, first), metric="passed", margin=0.05)
    assert same.verdict == "non-inferior"
    assert "non-inferior (at most 3 points worse, one-sided; the margin is 5 points)" in str(same)
    few = compare(*await runs(first[:20], first[:20]), metric="passed", margin=0.05)
    assert few.verdict == "undecided"
    assert "points worse, one-sided, or not; the margin is 5 points" in str(few)
    lost = compare(*await runs(first, passes([False] * 30 + [True] * 70)), margin=0.05)
    assert lost.verdict == "worse"
    with pytest.raises(UsageError, match=r"5 points are 0\.05"):
        compare(*await runs(first, first), margin=5)
    for wrong in (-0.1, float("nan")):
        with pytest.raises(UsageError, match="the margin is"):
            compare(*await runs(first, first), margin=wrong)


@pytest.mark.parametrize("n", [1, 4])
async def test_fewer_than_five_cases_say_nothing(runs: Pair, n: int):
    """In words, whatever they scored, with a margin or without."""
    pair = await runs(passes([False] * n), passes([True] * n))
    for margin in (None, 0.5):
        found = compare(*pair, metric="passed", margin=margin)
        assert found.verdict == "undecided"
        assert "too few to say anything, as 5 are needed" in str(found)


async def test_fewer_than_five_clusters_say_nothing(runs: Pair):
    """However many cases they have; their interval would reach beyond any scale."""
    both = [scored([0.1, 0.2, 0.1, 0.2, 0.3, 0.2]), scored([0.5, 0.4, 0.6, 0.5, 0.6, 0.4])]
    both = [
        [replace(trial, metadata={"document": trial.index // 3}) for trial in trials]
        for trials in both
    ]
    pair = await runs(*both)
    for margin in (None, 0.1):
        found = compare(*pair, metric="faithfulness", cluster="document", margin=margin)
        assert found.verdict == "undecided"
        assert "faithfulness: +0.32 over 6 cases in 2 clusters (paired): undecided" in " ".join(
            str(found).split()
        )
        assert "(2 clusters: too few to say anything, as 5 are needed)" in str(found)


@pytest.mark.parametrize("n", [1, 2, 4])
async def test_of_so_few_cases_no_p_value_is_shown(runs: Pair, n: int):
    """One score alone came to 0.556: on a scale, that is the chance of half of what was not seen."""
    pair = await runs(scored([0.1] * n), scored([0.9] * n))
    found = compare(*pair, metric=["faithfulness", "passed"])
    assert {one.verdict for one in found.results} == {"undecided"}
    assert "p = " not in str(found)
    assert "∞" not in str(found)
    assert "too few to say anything, as 5 are needed" in str(found)
    assert "p-values" not in str(found)
    assert [one.p_alone for one in found.results if not one.data.rates] == [1.0]
    assert "∞" not in html(found)
    in_page = [_row(one, found).words for one in found.results]
    assert {words.p for words in in_page if words is not None} == {""}


async def test_too_few_cases_are_said_once_with_where_to_ask(runs: Pair):
    """Not in each metric's line."""
    pair = await runs(passes([False] * 2), passes([True] * 2))
    text = str(compare(*pair, metric=["passed", "score"]))
    assert text.count("too few to say anything") == 1
    assert text.count(": undecided\n") == 2
    assert text.endswith(
        "2 cases: too few to say anything, as 5 are needed; `evenhand info power` says how many cases show a difference"
    )
    assert "evenhand info power" not in str(
        compare(*await runs(passes([False] * 9), passes([True] * 9)))
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (["3 cases"], "3 cases"),
        (["3 cases", "2 clusters"], "3 cases and 2 clusters"),
        (["3 cases", "2 cases", "1 case"], "1 case to 3 cases"),
    ],
)
def test_several_numbers_of_cases_that_are_too_few_are_a_range(counts: list[str], words: str):
    """Three metrics of a prompt directory have one each."""
    assert _fewest(counts) == words


async def test_a_cluster_may_be_a_variable(runs: Pair):
    """As the groups of a split may be; a long one as well."""
    both = [
        [replace(t, vars={"document": ["a long text"] * (t.index // 3)}) for t in trials]
        for trials in (passes([False] * 6), passes([True] * 6))
    ]
    found = compare(*await runs(*both), metric="passed", cluster="document")
    assert "over 6 cases in 2 clusters" in str(found)


async def test_a_cluster_that_is_nowhere_is_told_with_what_there_is(runs: Pair):
    """Variables and metadata; where cases have neither, what to do."""
    trials = passes([True] * 3)
    some = [replace(t, vars={"text": "a"}, metadata={"page": 1}) for t in trials]
    with pytest.raises(UsageError, match=r"called 'zebra'\n  There are: page, text\."):
        compare(*await runs(some, some), cluster="zebra")
    none = [replace(t, vars={}, metadata={}) for t in trials]
    with pytest.raises(UsageError, match="give each row of the dataset a column"):
        compare(*await runs(none, none), cluster="zebra")


async def test_five_cases_can_show_no_difference(runs: Pair):
    """Even if all of them go one way, one time in sixteen they would by chance."""
    found = compare(*await runs(passes([False] * 5), passes([True] * 5)))
    assert "undecided (5 cases can show no difference, however large)" in str(found)


async def test_runs_without_a_common_case_are_refused_in_words(runs: Pair):
    """Ids of both are shown, and what to do."""
    a, b = await runs(passes([True] * 3), [result(0, case="other")])
    with pytest.raises(UsageError, match=r"no case in common.*'c0', 'c1', 'c2'.*'other'") as raised:
        compare(a, b)
    assert "paired by id" in raised.value.hint


async def test_a_side_in_error_leaves_everything_open(runs: Pair):
    """The ids are there, and no outcome: undecided, not 0."""
    found = compare(*await runs(passes([None] * 8), passes([True] * 8)))
    assert found.verdict == "undecided"
    assert "passed: 0 to +100 points over 8 cases (paired): undecided" in str(found)
    assert "(no case has a value in both: 8 trials in error)" in str(found)
    json.dumps(found.document(), allow_nan=False)


async def test_a_metric_that_no_trial_has_leaves_nothing_to_compare(runs: Pair):
    """Nobody knows what its values could be: the cases are left out, and named."""
    found = compare(*await runs(scored([None] * 6), scored([None] * 6)), metric="faithfulness")
    assert found.verdict == "undecided"
    assert "nothing to compare: undecided" in str(found)
    assert "left out: 6 cases whose trials are all in error: c0" in str(found)
    assert found.results[0].difference is None
    json.dumps(found.document(), allow_nan=False)


async def test_columns_of_one_run_are_compared_by_name(summaries_run: RunFile):
    """By the name in the table or its number; a name that is not there is told, and so is a run beside itself."""
    with Run.open(summaries_run.path) as run:
        found = compare(run.column("basic"), run.column("best"), metric="passed")
        assert str(found).startswith(
            "passed: +100 points [+35, +100] over 8 cases (paired), p = 0.008"
        )
        path = f"{run.path}:2"
        assert compare(run.column("3"), path, metric="passed").results[0].columns == (
            "best",
            "better",
        )
        with pytest.raises(UsageError, match="no variant 'bets'"):
            run.column("bets")
        with pytest.raises(UsageError, match="compared with itself"):
            compare(run, run)
        with pytest.raises(UsageError, match="no metric 'speed'") as raised:
            compare(run.column("basic"), run.column("best"), metric=["speed", "sore"])
        assert "Did you mean 'score'?" in str(raised.value)


async def test_columns_of_whole_runs_are_paired_by_what_they_are(make_run: Make):
    """The same prompts under another model belong together; what has no counterpart is told."""
    old = [Variant(0, "plain", "small"), Variant(1, "strict", "small")]
    new = [
        Variant(0, "strict", "large"),
        Variant(1, "terse", "large"),
        Variant(2, "plain", "large"),
    ]

    def trials(variants: Sequence[Variant]) -> list[TrialResult]:
        return [
            result(i * len(variants) + v.index, variant=v.index, case=f"c{i}")
            for i in range(6)
            for v in variants
        ]

    found = compare(await make_run(trials(old), old), await make_run(trials(new), new))
    assert [r.columns for r in found.results] == [("plain", "plain"), ("strict", "strict")]
    assert any("without a counterpart" in note and "terse" in note for note in found.notes)


async def test_rounding_is_no_change(runs: Pair):
    """Two ways to compute the same score differ in its last digits; a real difference counts, however small."""
    noisy = [0.1 + 0.2, 8 / 9 + 1e-16, 3e-17, 0.5, 2 / 7]
    exact = [0.3, 8 / 9, 0.0, 0.5 + 1e-6, 2 / 7 - 5e-17]
    assert noisy[0] != exact[0]
    (found,) = compare(*await runs(scored(noisy), scored(exact)), metric="faithfulness").results
    assert [change.case for change in found.changed] == ["c3"]
    assert found.alike == 4
    assert found.difference == pytest.approx(2e-7)
    backwards = compare(*await runs(scored(exact[:3]), scored(noisy[:3])), metric="faithfulness")
    assert "0 better, 0 worse, 3 the same" in str(backwards)


async def test_runs_without_variants_in_common_are_refused_with_what_each_has(make_run: Make):
    """So that one of each can be named."""
    old = [Variant(0, "plain", "small"), Variant(1, "strict", "small")]
    new = [Variant(0, "terse", "large")]
    a = await make_run([result(i, variant=i, case="c") for i in range(2)], old)
    b = await make_run([result(0, case="c")], new)
    with pytest.raises(UsageError, match=r"no variant of .* matches one of") as raised:
        compare(a, b)
    assert "has 'plain', 'strict'; " in str(raised.value.hint)
    assert "has 'terse'." in str(raised.value.hint)
    of_eval = [
        Variant(0, "plain", "small", eval="polite"),
        Variant(1, "strict", "small", eval="polite"),
    ]
    c = await make_run([result(i, variant=i, case="c") for i in range(2)], of_eval)
    with pytest.raises(UsageError, match=r"no variant of .* matches one of") as raised:
        compare(a, c)
    assert "polite" in str(raised.value.hint)


async def test_another_version_of_a_judges_prompt_leaves_it_undecided(runs: Pair):
    """A metric judged by another version of a prompt is not the same metric."""
    first = scored([0.5] * 8, metadata={"judge": "small", "prompt": "faithfulness/1"})
    second = scored([0.9] * 8, metadata={"judge": "small", "prompt": "faithfulness/2"})
    found = str(compare(*await runs(first, second), metric="faithfulness"))
    assert "undecided (judged by small with the prompt faithfulness/2 instead of" in found
    assert "not judged alike" not in found


async def test_a_run_that_did_not_finish_is_told(make_run: Make):
    """Its missing cases are left out, and it says why."""
    a = await make_run(passes([True] * 8), ONE)
    b = await make_run(passes([True] * 6), ONE, planned=8)
    found = compare(a, b)
    assert found.results[0].only_first == ("c6", "c7")
    assert "did not finish: 6 of 8 trials" in str(found)


async def test_it_is_shown_in_notebooks_and_given_as_rows(runs: Pair):
    """Texts are escaped; rows have the same keys; the document says all of it."""
    name = "<script>alert(1)</script>\x1b[2J"
    first = passes([True] * 8, description=name)
    found = compare(*await runs(first, passes([False] * 8)), metric="passed")
    html = found._repr_html_()
    assert "<script>" not in html
    assert "\x1b" not in html + str(found)
    assert '<b style="color:#cf222e">worse</b>' in html
    rows = found.rows()
    assert len(rows) == 8
    assert {row["difference"] for row in rows} == {-1}
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    (row,) = document["results"]
    assert (document["schema"], row["verdict"], row["n"]) == ("evenhand.compare/1", "worse", 8)
    assert len(row["changed"]) == 8


async def test_a_file_is_as_good_as_a_run(runs: Pair, monkeypatch: pytest.MonkeyPatch):
    """Paths, and ids as on the command line."""
    a, b = await runs(passes([False] * 8), passes([True] * 8))
    assert compare(Path(a.path), str(b.path)).verdict == "better"
    assert compare(Column(a, 0), Column(b, 0)).verdict == "better"
    monkeypatch.setenv("EVENHAND_HOME", str(a.path.parents[1]))
    assert compare("latest", b).first == a.meta.id[:10]


async def test_what_many_cases_know_is_told_to_tenths(runs: Pair):
    """2,000 cases, 22 for the second and 10 for the first: not +1 points of 50 % to 50 %."""
    first = passes([True] * 10 + [False] * 22 + [True] * 968 + [False] * 1000)
    second = passes([False] * 10 + [True] * 22 + [True] * 968 + [False] * 1000)
    lines = str(compare(*await runs(first, second), metric="passed")).splitlines()
    assert lines[0].startswith(
        "passed: +0.6 points [0, +1.2] over 2,000 cases (paired), p = 0.050: no detectable"
    )
    assert lines[1].startswith("  48.9 % → 49.5 % · 22 better, 10 worse, 1,968 the same")


async def test_answers_from_the_cache_are_told_as_they_cannot_differ(runs: Pair):
    """A second run that asks nobody again shows nothing of how much answers vary."""
    first = passes([True] * 10, calls=1)
    note = (
        "took 7 of 10 answers from the cache: where the first has the same ones, nothing can differ"
    )
    cached = [
        replace(trial, calls=1, cached=int(i < 7)) for i, trial in enumerate(passes([True] * 10))
    ]
    assert note in str(compare(*await runs(first, cached)))
    assert "from the cache" not in str(compare(*await runs(cached, first)))


async def test_answers_of_a_run_itself_that_it_read_again_are_not_the_caches(make_run: Make):
    """It was interrupted, and asked nobody twice: each answer is a new one all the same."""
    trials = [replace(one, calls=1, cached=int(i < 7)) for i, one in enumerate(passes([True] * 10))]
    calls = [
        (
            CallStart(i, f"k{i}", 0, "subject", "gpt", b"{}", None),
            CallEnd(b"{}", "provider", model="gpt"),
        )
        for i in range(10)
    ]
    first, second = await make_run(trials), await make_run(trials, calls=calls)
    assert "from the cache" not in str(compare(first, second))

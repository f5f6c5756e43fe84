"""What a run has to reach, held against what it came to."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make, baseline_of, result

from evenhand import EvalSet, Expect, Model, Run, Score, at_least, at_most, compare, run
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.trust.requirements import held, requirement_rows
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.errors import UsageError
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.console import show
from evenhand.render.document import document
from evenhand.render.requirements import requirement_lines
from evenhand.scorers import FunctionScorer
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.wings.viewer.history import measures

pytestmark = pytest.mark.usefixtures("home_of_its_own")


def labelled(right: int, wrong: int, broken: int = 0, **how: object) -> Run:
    """A run of a set whose cases are right, wrong or in error, in these numbers."""
    kinds = ["right"] * right + ["wrong"] * wrong + ["broken"] * broken
    evals = EvalSet(
        "labels", data=[{"id": f"c{i}", "input": kind} for i, kind in enumerate(kinds)], **how
    )

    @evals.eval
    def labels(case, expect) -> str:
        if case.input == "broken":
            msg = "no answer"
            raise RuntimeError(msg)
        expect(case.input == "right", "is right", metric="accuracy")
        expect(len(case.input), at_most=100, label="characters")
        return case.input

    return run(evals)


@pytest.mark.parametrize(
    ("trials", "word"),
    [
        ((18, 2, 0), "passed"),
        ((17, 3, 0), "failed"),
        ((18, 1, 1), "passed"),
        ((17, 2, 1), "undecided"),
        ((16, 3, 1), "failed"),
        ((0, 0, 3), "undecided"),
    ],
)
def test_a_pass_rate_decides_and_errors_count_both_ways(
    trials: tuple[int, int, int], word: str
) -> None:
    """Nine in ten have to pass: a trial in error may have, and may not have."""
    with labelled(*trials, pass_rate=0.9) as found:
        assert found.verdict == word
        assert document(found.file)["verdict"] == word


@pytest.mark.parametrize(
    ("trials", "word"), [((18, 2, 0), "passed"), ((17, 3, 0), "failed"), ((17, 2, 1), "undecided")]
)
def test_a_metric_is_held_to_its_mean_over_the_run(trials: tuple[int, int, int], word: str) -> None:
    """`require` goes by the mean of a metric; what an error hides may have been anything on its scale."""
    with labelled(*trials, require={"accuracy": at_least(0.9)}) as found:
        assert found.verdict == word


def accurate(index: int, ok: bool | None, variant: int = 0) -> TrialResult:
    """A trial that measures accuracy, or is in error."""
    trial = result(index, ok=ok, variant=variant)
    if ok is None:
        return trial
    word = "pass" if ok else "fail"
    outcome = Outcome("right", word, float(ok), metric="accuracy", scale=(0.0, 1.0))
    return replace(trial, outcomes=(outcome,))


@pytest.mark.parametrize("metric", [PASSED, "accuracy"])
@pytest.mark.parametrize(
    ("right", "wrong", "broken", "state", "ends", "word"),
    [
        (18, 0, 0, "kept", (0.9, 1.0), "passed"),
        (17, 0, 1, "open", (0.85, 1.0), "undecided"),
        (14, 3, 0, "missed", (0.7, 0.85), "failed"),
        (18, 2, 0, "kept", (0.9, 0.9), "passed"),
    ],
)
async def test_trials_that_were_never_run_may_have_come_to_anything(
    make_run: Make,
    metric: str,
    right: int,
    wrong: int,
    broken: int,
    state: str,
    ends: tuple[float, float],
    word: str,
):
    """Nine of ten are wanted of 20 that were planned, of which not all are there."""
    kinds = [True] * right + [False] * wrong + [None] * broken
    made = [accurate(i, ok) for i, ok in enumerate(kinds)]
    required = (Requirement(metric, Bound(at_least=0.9), (0,)),)
    run = await make_run(made, planned=20, requirements=required, status="interrupted")
    (one,) = held(run)
    assert (one.state, one.least, one.most) == (state, *map(pytest.approx, ends))
    assert one.errors == 20 - right - wrong
    assert verdict_of(run) == word
    (row,) = requirement_rows(run)
    assert row.value == (one.least if ends[0] == ends[1] else None)


async def test_a_column_that_ended_in_errors_alone_leaves_a_requirement_open(make_run: Make):
    """One that came to an end and does not measure the metric is none that it is required of."""
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    required = (Requirement("accuracy", Bound(at_least=0.9), (0, 1)),)
    good = [accurate(i, True) for i in range(5)]
    lost = replace(
        accurate(5, None, 1), outcomes=(Outcome("right", "error", None, metric="accuracy"),)
    )
    na = Outcome("right", "not_applicable", None, metric="accuracy")
    other = [replace(result(6 + i, variant=1), outcomes=(na,)) for i in range(4)]
    for others, states in (
        ([accurate(5 + i, None, 1) for i in range(5)], ["kept", "open"]),
        ([result(5 + i, variant=1) for i in range(5)], ["kept"]),
        # It applied to one case alone, and that one is in error; or may have done so.
        ([lost, *(result(6 + i, variant=1) for i in range(4))], ["kept", "open"]),
        ([result(5, ok=None, variant=1), *other], ["kept", "open"]),
        # It applied to no case, for certain, and was never put to the test.
        (other, ["kept", "open"]),
    ):
        run = await make_run([*good, *others], variants, requirements=required)
        assert [one.state for one in held(run)] == states
        assert verdict_of(run) == ("passed" if states == ["kept"] else "undecided")


@pytest.mark.parametrize(
    ("name", "elsewhere", "states"),
    [
        ("", "without", ["kept", "kept"]),
        ("", "with", ["open", "kept"]),
        ("", "in error", ["open", "open"]),
        ("set: evals", "without", ["open", "kept"]),
    ],
)
async def test_an_error_leaves_open_what_its_case_measures_elsewhere_as_a_configs_tests_list_it(
    make_run: Make, name: str, elsewhere: str, states: list[str]
):
    """A case without the metric in another column has none here, either; an eval may decide that as it runs."""
    variants = (Variant(0, "a", "m", eval=name), Variant(1, "b", "m", eval=name))
    required = (Requirement("accuracy", Bound(at_least=0.9), (0, 1)),)
    good = [accurate(i, True, i % 2) for i in range(10)]
    lost = result(10, ok=None, case="odd")
    there = {
        "without": result(11, variant=1, case="odd"),
        "with": replace(accurate(11, True, 1), case="odd"),
        "in error": result(11, ok=None, variant=1, case="odd"),
    }
    run = await make_run([*good, lost, there[elsewhere]], variants, requirements=required)
    assert [one.state for one in held(run)] == states


@pytest.mark.parametrize("metric", [PASSED, "accuracy", "score", "cost", "latency"])
async def test_a_requirement_that_never_applied_to_a_column_is_open_and_named(
    make_run: Make, metric: str
):
    """A pipeline that retrieves nothing has no number that could miss a bound, nor has a model without a price."""
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    required = (Requirement(metric, Bound(at_least=0.9), (0, 1)),)
    good = [replace(accurate(i, True), cost_usd=1.0, latency_s=1.0, calls=1) for i in range(5)]
    na = Outcome("right", "not_applicable", None, metric="accuracy")
    empty = replace(
        result(0, variant=1), outcome="not_applicable", score=None, outcomes=(na,), calls=1
    )
    empty = replace(empty, cost_usd=None, latency_s=None)
    others = [replace(empty, index=5 + i, case=f"e{i}") for i in range(4)]
    for run_file, first in (
        (await make_run([*good, *others], variants, requirements=required), ["kept"]),
        (await make_run(others, variants, requirements=required), []),
    ):
        results = held(run_file)
        assert [one.state for one in results] == [*first, "open"]
        assert verdict_of(run_file) == "undecided"
        if results[-1].variant is not None:
            lines = requirement_lines(run_file, ["a", "b"])
            (line,) = [one for one in lines if one.startswith("! ")]
            assert line.startswith("! b: ")
            assert line.endswith("applies to none of its trials")
            row = requirement_rows(run_file)[-1]
            assert (row.variant, row.cases, row.errors) == (variants[1].names, 0, 0)
    # An eval that expects nothing of the kind is none that it is required of.
    silent = [replace(one, outcomes=(), calls=0) for one in others]
    run = await make_run([*good, *silent], variants, requirements=required)
    assert [one.state for one in held(run)] == ["kept"]
    assert verdict_of(run) == "passed"
    # No share at all would miss this one.
    none = (Requirement(PASSED, Bound(at_least=0), (0, 1)),)
    assert verdict_of(await make_run([*good, *others], variants, requirements=none)) == "passed"


@pytest.mark.parametrize("metric", [PASSED, "right"])
@pytest.mark.parametrize(
    ("cluster", "repeats", "done", "planned", "true_ends"),
    [
        # The second case has one repeat of two: it comes to 0 or to half.
        ("", 2, [("a", 0, "a", 1), ("a", 1, "a", 1), ("b", 0, "b", 0)], 4, (0.5, 0.75)),
        # Nine more cases of the second document: it comes to 0 to nine in ten.
        ("doc", 1, [("a", 0, "x", 1), ("b", 0, "y", 0)], 11, (0.5, 0.95)),
    ],
)
async def test_a_trial_that_was_never_run_may_belong_to_any_case_and_cluster(
    make_run: Make, metric: str, cluster: str, repeats: int, done, planned, true_ends
) -> None:
    """The range holds what the whole run can still come to, so no bound within that is called missed or kept."""
    trials = [
        result(
            i,
            ok=bool(ok),
            case=case,
            repeat=repeat,
            metadata={"doc": doc},
            outcomes=(Outcome("right", "pass" if ok else "fail", float(ok), scale=(0, 1)),),
        )
        for i, (case, repeat, doc, ok) in enumerate(done)
    ]
    low, high = true_ends
    for bound in (low + 0.01, high - 0.01):
        required = (Requirement(metric, Bound(at_least=bound), (0,)),)
        run = await make_run(
            trials,
            [Variant(0, "p", "m", cluster=cluster)],
            planned=planned,
            repeats=repeats,
            requirements=required,
            status="interrupted",
        )
        (one,) = held(run)
        assert one.state == "open"
        assert one.least is not None
        assert one.most is not None
        assert one.least <= low
        assert one.most >= high
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.least
        assert one.high >= one.most


def test_a_requirement_weighs_the_expectations_of_a_metric() -> None:
    """As the trial's own number does: three quarters of it are the first expectation."""
    evals = EvalSet("w", data=[{"id": "a"}, {"id": "b"}], require={"q": at_least(0.7)})

    @evals.eval
    def weighed(expect) -> None:
        expect(True, "first", metric="q", weight=3)
        expect(False, "second", metric="q")

    with run(evals) as found:
        (one,) = held(found.file)
        assert (one.state, one.least, one.most) == ("kept", 0.75, 0.75)
        assert {row["score:q"] for row in found.rows()} == {0.75}


def test_a_metric_without_a_scale_is_open_where_a_trial_is_in_error() -> None:
    """Of characters nobody knows how many an error would have come to."""
    with labelled(3, 0, 1, require={"characters": at_most(50)}) as found:
        (one,) = held(found.file)
        assert (found.verdict, one.state, one.least, one.most) == ("undecided", "open", None, None)
    with labelled(3, 0, 0, require={"characters": at_most(50)}) as found:
        assert found.verdict == "passed"


def test_a_number_that_may_be_larger_than_1_has_no_scale_though_each_case_has_a_1() -> None:
    """One word each, of three at most: the mean's interval must not end at 1."""
    evals = EvalSet(
        "words", data=[{"id": f"c{i}"} for i in range(9)], require={"words": at_most(3)}
    )

    @evals.eval
    def words(expect: Expect) -> str:
        expect(1, at_most=50, label="words", metric="words")
        return "one"

    with run(evals) as found:
        (one,) = held(found.file)
        assert (one.state, one.least, one.low, one.high) == ("kept", 1.0, None, None)


def test_every_column_has_to_keep_what_is_required() -> None:
    """A good prompt does not make up for a bad one."""
    evals = EvalSet(
        "two",
        data=[{"id": f"c{i}"} for i in range(10)],
        over={"prompt": ["good", "bad"]},
        pass_rate=0.5,
    )

    @evals.eval
    def answers(case, prompt, expect) -> None:
        expect(prompt == "good" or case.id < "c4", "is right")

    with run(evals) as found:
        assert [one.state for one in held(found.file)] == ["kept", "missed"]
        assert found.verdict == "failed"


def test_sets_keep_their_own_requirements() -> None:
    """A set that says nothing still has to pass whole beside one that says a rate."""
    lax = EvalSet("lax", data=[{"id": "a"}, {"id": "b"}], pass_rate=0.5)
    strict = EvalSet("strict", data=[{"id": "a"}, {"id": "b"}])

    @lax.eval
    def half(case, expect) -> None:
        expect(case.id == "a", "is a")

    @strict.eval
    def whole(case, expect) -> None:
        expect(case.id == "a", "is a")

    with run(lax) as found:
        assert found.verdict == "passed"
    with run(lax, strict) as found:
        assert [one.state for one in held(found.file)] == ["kept", "missed"]
        assert found.verdict == "failed"


def test_a_metric_that_nobody_measures_is_said_with_those_there_are() -> None:
    """A misspelt name never passes."""
    with labelled(3, 0, require={"acuracy": at_least(0.9)}) as found:
        assert found.verdict == "undecided"
        (line, _) = requirement_lines(found.file, ["labels"])
        assert line.startswith("! acuracy, wanted at least 0.9: no trial has this metric")
        assert "accuracy, characters" in line


def test_the_report_says_what_the_interval_says_of_the_bound() -> None:
    """9 of 10 keep 90 %, and cannot show it; 100 of 100 can."""
    with labelled(9, 1, pass_rate=0.9) as found:
        out = io.StringIO()
        show(found.file, out, width=200)
        assert (
            "✓ passed 90 % [60–98], wanted at least 90 %; the interval includes the bound: "
            "10 cases can't decide it" in out.getvalue()
        )
    with labelled(100, 0, pass_rate=0.9) as found:
        (one,) = held(found.file)
        assert one.sure
        (row,) = document(found.file)["requirements"]
        assert (row["metric"], row["state"], row["value"], row["sure"]) == (
            "passed",
            "kept",
            1,
            True,
        )


def test_require_alone_says_that_failing_trials_do_not_count() -> None:
    """Whoever reads the verdict is told what it rests on."""
    with labelled(9, 1, require={"characters": at_most(50)}) as found:
        assert verdict_of(found.file) == "passed"
        assert "no pass_rate is required" in requirement_lines(found.file, ["labels"])[-1]


def test_no_share_has_to_pass_where_the_pass_rate_is_0() -> None:
    """0 is a rate of its own, and not 'nothing said'."""
    with labelled(0, 3, pass_rate=0) as found:
        assert found.verdict == "passed"
        assert "wanted at least 0 %" in requirement_lines(found.file, ["labels"])[0]


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"pass_rate": 90}, "pass_rate is 90, not a number from 0 to 1"),
        ({"require": {"accuracy": 0.9}}, "write at_least(…) or at_most(…)"),
        ({"require": {"passed": at_least(0.9)}}, "write pass_rate=…"),
    ],
)
def test_what_cannot_be_required_is_refused(how: dict[str, object], what: str) -> None:
    """A percentage, a bare number and the pass rate under another name, before anything runs."""
    with pytest.raises(UsageError, match=r".*") as raised:
        EvalSet("x", **how)
    assert what in str(raised.value)


def further(named_by_all: bool = True) -> Run:
    """Eleven cases whose scorer gives a further number; on the first five, which fail, it raises."""
    evals = EvalSet(
        "further",
        data=[{"id": f"c{i}", "input": str(i)} for i in (*range(10), -1)],
        require={"clarity": at_least(0.5)},
    )

    def clear(output: str) -> Score:
        if output == "-1":
            return Score(None)  # says nothing of what it gives where it applies
        if output < "5":
            msg = "no answer"
            raise RuntimeError(msg)
        return Score(1.0, True, named={"clarity": 0.6})

    @evals.eval
    def reads(case, expect) -> str:
        expect(case.input >= "5", "is late")
        if named_by_all or case.input >= "5":
            expect(case.input, clear)
        else:
            expect(case.input, FunctionScorer(broken))
        return case.input

    return run(evals)


def broken(output: str) -> bool:
    """A scorer that gives no number in any trial."""
    raise RuntimeError(output)


@pytest.mark.parametrize("named_by_all", [True, False])
def test_a_further_number_of_a_scorer_in_error_is_in_error_too(named_by_all: bool) -> None:
    """`Score(…, named=…)` of a scorer that raised may have been anything, also where its trial fails for another."""
    with further(named_by_all) as it:
        (only,) = held(it.file)
        errors = 5 if named_by_all else 6
        assert (only.state, only.errors, it.verdict) == ("open", errors, "undecided")
        ends = 5 * 0.6 / (5 + errors), (5 * 0.6 + errors) / (5 + errors)
        assert (only.least, only.most) == tuple(map(pytest.approx, ends))
        with further(named_by_all) as again:
            one = compare(it.file, again.file, metric="clarity").results[0]
        # On the scale from 0 to 1 five cases may have come to anything.
        assert one.trials_in_error == 2 * errors
        mean = measures(it.file)[0].means["~clarity"]
        assert mean.low is not None
        assert mean.low < 0.3


@pytest.mark.parametrize("fails", [True, False])
def test_a_number_that_two_scorers_give_is_in_error_with_one_of_them(fails: bool) -> None:
    """What is left would be the mean of other questions; a scorer in error that never gives it doesn't matter."""
    evals = EvalSet(
        "two parts",
        data=[{"id": f"c{i}", "input": str(i)} for i in range(10)],
        require={"clarity": at_least(0.5)},
    )

    def words(output: str) -> Score:
        return Score(1.0, True, named={"clarity": 0.9})

    def order(output: str) -> Score:
        if output < "5":
            msg = "no answer"
            raise RuntimeError(msg)
        return Score(1.0, True, named={"clarity": 0.1})

    def spelling(output: str) -> Score:
        if output == "7":
            msg = "no dictionary"
            raise RuntimeError(msg)
        return Score(1.0, True)

    @evals.eval
    def reads(case, expect) -> str:
        expect(not fails or case.input >= "5", "is late")
        for scorer in (words, order, spelling):
            expect(case.input, scorer)
        return case.input

    with run(evals) as it, run(evals) as again:
        (only,) = held(it.file)
        assert (only.state, only.errors, it.verdict) == ("open", 5, "undecided")
        assert (only.least, only.most) == (pytest.approx(0.25), pytest.approx(0.75))
        one = compare(it.file, again.file, metric="clarity").results[0]
        every = next(r for r in compare(it.file, again.file).results if r.metric == "clarity")
        assert one.trials_in_error == every.trials_in_error == 10
        mean = measures(it.file)[0].means["~clarity"]
        assert mean.low is not None
        assert mean.low < 0.3


@pytest.mark.parametrize("metric", ["latency", "cost"])
async def test_seconds_and_dollars_have_no_highest_value(make_run: Make, metric: str) -> None:
    """A cost of a cent isn't a share: its interval doesn't reach towards 1, and an error isn't at most one dollar."""
    trials = [
        replace(result(i), latency_s=0.01 + i / 1000, cost_usd=0.01 + i / 1000) for i in range(10)
    ]
    bound = Requirement(metric, Bound(at_most=0.02), (0,))
    (only,) = held(await make_run(trials, requirements=(bound,)))
    assert (only.state, only.sure) == ("kept", True)
    assert only.high == pytest.approx(0.0145 + 2.262 * 0.0030277 / 10**0.5, rel=1e-3)
    trials[3] = replace(result(3, ok=None), latency_s=None, cost_usd=None)
    wide = Requirement(metric, Bound(at_most=1.0), (0,))
    (only,) = held(await make_run(trials, requirements=(wide,)))
    assert only.state == "open"


@pytest.mark.parametrize("metric", ["latency", "cost"])
async def test_no_interval_of_seconds_or_dollars_reaches_below_0(
    make_run: Make, metric: str
) -> None:
    """One answer of ten took, and cost, three hundred times as much."""
    values = [3.0 if i == 3 else 0.01 for i in range(10)]
    trials = [replace(result(i), latency_s=v, cost_usd=v) for i, v in enumerate(values)]
    bound = Requirement(metric, Bound(at_most=5.0), (0,))
    (only,) = held(await make_run(trials, requirements=(bound,)))
    assert (only.low, only.sure) == (0, True)


def test_an_answer_from_the_cache_costs_what_it_cost_when_it_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of $0.003 a trial, a second run, which pays nothing, is no cheaper; what was spent stays $0."""
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    model = {"id": "openai:chat:gpt-5-mini", "config": {"cost": 0.001}}
    bound = {"cost": at_most(0.001)}
    evals = EvalSet("priced", data=[{"id": c} for c in "abcde"], model=model, require=bound)

    @evals.eval
    async def says(case, model: Model, expect: Expect) -> None:
        expect((await model.generate(case.id)).text == "hello world", "is said")

    with FakeProvider(Script([Rule((".",), "hello world")])) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        first, again = run(evals, home=tmp_path), run(evals, home=tmp_path)
    with first, again:
        assert (again.totals().cached, again.totals().cost_usd) == (5, 0)
        for one in (first, again):
            (only,) = held(one.file)
            assert (only.state, only.least) == ("missed", pytest.approx(0.003))
        (cost,) = compare(first.file, again.file, metric="cost").results
        assert (cost.alike, cost.changed) == (5, [])
        write_baseline(baseline_of(again.file), tmp_path / "b.evn")
    costs = [trial.cost_usd or 0 for trial in read_baseline(tmp_path / "b.evn").trials]
    assert costs == [pytest.approx(0.003)] * 5


def test_what_was_saved_is_unknown_in_runs_that_did_not_keep_it() -> None:
    """Of an earlier version's cached trial, and of one taken from a baseline without prices."""
    paid = replace(result(0), cost_usd=0.002)
    assert paid.full_cost_usd == 0.002
    assert replace(paid, cached=1).full_cost_usd is None
    assert replace(paid, taken="01M8").full_cost_usd is None
    assert replace(paid, cached=1, unpaid_usd=0.001).full_cost_usd == pytest.approx(0.003)
    assert replace(paid, cost_usd=None, cached=1, unpaid_usd=0.001).full_cost_usd is None


async def test_where_nothing_is_measured_all_that_may_have_been_is_counted(make_run: Make) -> None:
    """Two trials in error, and three that were never run."""
    trials = [replace(accurate(i, None), latency_s=None) for i in range(2)]
    required = (Requirement("accuracy", Bound(at_least=0.5), (0,)),)
    run = await make_run(trials, planned=5, requirements=required, status="interrupted")
    (only,) = held(run)
    assert (only.variant, only.state, only.errors) == (None, "open", 5)


async def test_a_score_is_open_where_one_of_several_expectations_is_in_error(
    make_run: Make,
) -> None:
    """The trial failed by another, and so has no score: not one that the mean may leave out."""
    outcomes = (Outcome("a", "fail", 0.0), Outcome("b", "error", None))
    lost = replace(result(0, ok=False), score=None, outcomes=outcomes)
    trials = [lost, *(replace(result(i), score=1.0, scale=(0, 1)) for i in range(1, 5))]
    required = (Requirement("score", Bound(at_least=0.9), (0,)),)
    (only,) = held(await make_run(trials, requirements=required))
    assert (only.state, only.errors, only.least) == ("open", 1, pytest.approx(0.8))


async def test_a_decided_column_has_its_own_state(make_run: Make) -> None:
    """Of two columns one keeps what is required, and the other misses it."""
    variants = (Variant(0, "a", "m"), Variant(1, "b", "m"))
    trials = [
        replace(result(5 * v + i, ok=not v, variant=v), case=f"c{i}")
        for v in (0, 1)
        for i in range(5)
    ]
    columns = [{"variant": 0, "state": "kept"}, {"variant": 1, "state": "missed"}]
    run = await make_run(
        trials,
        variants,
        requirements=(Requirement(PASSED, Bound(at_least=0.5), (0, 1)),),
        status="decided",
        decided={"verdict": "failed", "columns": columns},
    )
    assert [(one.variant, one.state) for one in held(run)] == [(0, "kept"), (1, "missed")]


async def test_a_requirement_of_one_case_is_open_by_its_own_trials_alone(make_run: Make) -> None:
    """A test of pytest's that expects nothing is none of which a share has to pass, whatever its neighbour expects."""
    na = Outcome("right", "not_applicable", None)
    empty = replace(result(0), outcome="not_applicable", score=None, outcomes=(na,))
    silent = replace(empty, index=1, case="silent", outcomes=())
    required = tuple(
        Requirement(PASSED, Bound(at_least=0.5), (0,), case) for case in (empty.case, "silent")
    )
    (only,) = held(await make_run([empty, silent], requirements=required))
    assert (only.requirement.case, only.state, only.unapplied) == (empty.case, "open", True)

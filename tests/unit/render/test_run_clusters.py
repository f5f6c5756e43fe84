"""What belongs together is a property of the set, and every number of a run goes by it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.runs import baseline_of

from evenhand import Case, EvalSet, Expect, Run, compare, run
from evenhand.analysis.comparison.comparison_sides import Column
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.analysis.history.history import history_run
from evenhand.analysis.summaries.classification import classified
from evenhand.analysis.summaries.clusters import cluster_hint
from evenhand.analysis.summaries.rates import latencies, rates, repeats, scores
from evenhand.analysis.trust.calibration import calibrate
from evenhand.core.errors import ConfigError, UsageError
from evenhand.render.console import show
from evenhand.scorers import Label, Passes
from evenhand.stats.interval import wilson
from evenhand.stats.tallies import Share
from evenhand.testing import Scripted
from evenhand.wings.viewer.history import measures
from evenhand.wings.viewer.listing import over_all

pytestmark = pytest.mark.usefixtures("home_of_its_own")

DOCUMENTS, QUESTIONS = 6, 5


def alike(cluster: str = "document", *, flip: bool = False) -> Run:
    """Six documents of five questions each, and one document of ten: b passes all, a half of the documents."""
    rows = [
        {"id": f"d{d}q{q}", "input": f"{d} {q}", "metadata": {"document": d}}
        for d in range(DOCUMENTS)
        for q in range(QUESTIONS * (1 + (d == 0)))
    ]
    evals = EvalSet("documents", data=rows, over={"v": ["a", "b"]}, cluster=cluster)

    @evals.eval
    def answers(case: Case, v: str, expect: Expect) -> None:
        good = case.metadata["document"] % 2 == 1
        expect((v == "b") != flip or good, "is right", metric="right")

    return run(evals, progress=False)


def text_of(found: Run) -> str:
    """The run as the terminal has it."""
    out = io.StringIO()
    show(found.file, out, width=200)
    return out.getvalue()


def test_each_document_counts_once_in_rates_intervals_and_sentences() -> None:
    """Three of six documents pass: a half, not 15 of 35; and a comparison has six units, too few for a difference."""
    with alike() as found, alike("") as apart:
        first, second = rates(found.file)
        assert (first.passed, first.trials, first.cases, first.clusters) == (15, 35, 35, 6)
        assert first.share is not None
        assert first.share.value == pytest.approx(0.5)
        (loose, _) = rates(apart.file)
        assert loose.share is not None
        assert first.share.high - first.share.low > 1.5 * (loose.share.high - loose.share.low)
        assert second.share is not None
        assert second.share.low < 0.65
        score = scores(found.file)[0]
        assert score is not None
        assert (score.value, score.cases) == (pytest.approx(0.5), 6)
        assert latencies(found.file)[0] is None
        text = text_of(found)
        assert "35 cases in 6 clusters by document: each cluster counts once" in text
        assert " beats " not in text
        assert "b beats a" in text_of(apart)
        assert history_run(found.file).columns[0].share == first.share
        assert measures(found.file)[0].low == first.share.low
        whole = over_all(found.file)
        assert whole is not None
        assert whole.low < over_all(apart.file).low


def test_pass_in_k_tries_goes_by_documents() -> None:
    """Three of six documents pass in each try: a half, not 15 of 35, and as unsure as of six units."""
    rows = [
        {"id": f"d{d}q{q}", "metadata": {"document": d}}
        for d in range(DOCUMENTS)
        for q in range(QUESTIONS * (1 + (d == 0)))
    ]
    evals = EvalSet("documents", data=rows, repeats=2, cluster="document")

    @evals.eval
    def answers(case: Case, expect: Expect) -> None:
        expect(case.metadata["document"] % 2 == 1, "is right")

    with run(evals, progress=False) as found:
        (result,) = repeats(found.file)
    once, twice = result.tries
    assert (twice.k, twice.cases, twice.clusters) == (2, 35, 6)
    for share in (once.once, once.always, twice.once, twice.always):
        assert share == pytest.approx((0.5, 0.5, *wilson(3, 6)))


def test_a_comparison_goes_by_the_set_and_an_option_goes_over_it() -> None:
    """Without the set's cluster, 35 cases show a difference; with it six documents don't."""
    with alike() as found, alike("") as apart:
        sides = Column(found.file, 0), Column(found.file, 1)
        grouped = compare(*sides, metric="passed")
        assert (grouped.cluster, len(grouped.results[0].data.clusters)) == ("document", 6)
        assert grouped.results[0].first == pytest.approx(0.5)
        assert grouped.verdict != "better"
        loose = Column(apart.file, 0), Column(apart.file, 1)
        assert compare(*loose, metric="passed").verdict == "better"
        assert compare(*loose, metric="passed", cluster="document").verdict != "better"


def test_a_gate_goes_by_the_runs_clusters_and_else_by_the_baselines(tmp_path: Path) -> None:
    """15 of 35 questions got worse, of three documents: too few to block, as three of six decide nothing."""
    clusters = {"document": ("document", "document"), "run's": ("", "document")}
    clusters |= {"baseline's": ("document", ""), "none": ("", "")}
    for name, (then, now) in clusters.items():
        with alike(then) as before:
            write_baseline(baseline_of(before.file), tmp_path / "baseline.evn")
        baseline = read_baseline(tmp_path / "baseline.evn")
        with alike(now, flip=True) as later:
            found = gate(baseline, later.file, 0.05, metrics=["passed"])
        assert found.results[0].compared is not None
        units = len(found.results[0].compared.data.clusters)
        words = [result.verdict for result in found.results]
        assert units == (35 if name == "none" else 6), name
        assert ("worse" in words) is (name == "none"), name


def test_copies_under_several_ids_make_no_verdict_and_are_named() -> None:
    """The same question eight times, and four others: b is better on one case of five."""
    rows = [{"id": f"c{i}", "input": "same" if i < 8 else f"other {i}"} for i in range(12)]
    evals = EvalSet("copies", data=rows, over={"v": ["a", "b"]})

    @evals.eval
    def answers(case: Case, v: str, expect: Expect) -> None:
        expect(v == "b" or case.input != "same", "is right")

    with run(evals, progress=False) as found:
        assert "7 cases say the same as another one" in text_of(found)
        assert " beats " not in text_of(found)
        compared = compare(Column(found.file, 0), Column(found.file, 1), metric="passed")
        assert compared.verdict == "undecided"
        assert len(compared.results[0].data.clusters) == 5
        assert any("say the same" in note for note in compared.notes)


def test_cases_that_differ_in_anything_are_no_copies() -> None:
    """Another context, answer, tag or metadata; and cases without input and variables differ in their ids alone."""
    rows = [
        {"id": "1", "input": "q", "context": ["a"]},
        {"id": "2", "input": "q", "context": ["b"]},
        {"id": "3", "input": "q", "expected": "x"},
        {"id": "4", "input": "q", "metadata": {"m": 1}},
        {"id": "5", "input": "q", "tags": ["t"]},
        {"id": "6"},
        {"id": "7"},
    ]
    evals = EvalSet("others", data=rows, over={"v": ["a", "b"]})

    @evals.eval
    def answers(v: str, expect: Expect) -> None:
        expect(v != "", "is right")

    with run(evals, progress=False) as found:
        assert found.file.groups(copies=True) == [{}, {}]
        assert "say the same" not in text_of(found)


def test_a_variable_that_explains_much_is_named_as_long_as_nobody_says_what_belongs_together() -> (
    None
):
    """Questions of a document come out alike: a hint says how much wider intervals would be. Of noise, nothing."""
    with alike("") as found:
        assert "with the same document have similar results" in cluster_hint(found.file)
        assert "as the set's cluster" in text_of(found).replace("\n  ", " ")
    with alike() as said:
        assert cluster_hint(said.file) == ""


def test_a_set_that_names_what_no_case_has_says_so() -> None:
    """With the nearest name; and a cluster that is no text is a mistake in the set."""
    evals = EvalSet("q", data=[{"input": "a", "metadata": {"document": 1}}], cluster="documnet")

    @evals.eval
    def answers(expect: Expect) -> None:
        expect(True, "is right")

    with pytest.raises(
        ConfigError, match=r"no case has a variable or metadata called 'documnet'\n.*document"
    ):
        run(evals, progress=False)
    with pytest.raises(UsageError, match="cluster is 3"):
        EvalSet("q", cluster=3)  # pyright: ignore[reportArgumentType] (what a user may write)


def test_precision_and_recall_of_labels_go_by_clusters() -> None:
    """Of ten documents of eight questions each, seven are told right: the interval is that of ten units."""
    rows = [
        {"id": f"é{d}-{q}", "input": f"{d} {q}", "expected": "bill", "document": d}
        for d in range(10)
        for q in range(8)
    ]
    rows += [{"id": "s", "input": "s", "expected": "ship", "document": "s"}]
    shares: list[Share] = []
    for cluster in ("document", ""):
        evals = EvalSet("triage", data=rows, cluster=cluster)

        @evals.eval
        def labels(case: Case, expect: Expect) -> None:
            right = case.expected if str(case.vars["document"]) < "7" else "ship"
            expect(right, Label(case.expected))

        with run(evals, progress=False) as triage:
            (one,) = classified(triage.file)
            recall, precision = one.recall["bill"].share, one.precision["ship"].share
            assert recall is not None
            assert precision is not None
            assert recall.least == pytest.approx(0.7)
            assert precision.least == pytest.approx(1 / 25)
            shares += [recall, precision]
    assert (shares[0].low, shares[0].high) == pytest.approx(wilson(7, 10))
    assert (shares[2].low, shares[2].high) == pytest.approx(wilson(56, 80))
    assert shares[1].high > shares[3].high + 0.1, "a precision's decisions, too"


@pytest.mark.parametrize("cluster", ["document", ""])
def test_a_report_and_a_calibration_say_that_judges_rates_count_each_case_by_itself(
    cluster: str,
) -> None:
    """The line below the table promises that each document counts once, and a corrected rate doesn't keep it."""
    rows = [{"id": f"q{q}", "metadata": {"document": q // 3}} for q in range(15)]
    answer = '{"reasoning": "r", "passes": true, "confidence": 0.9}'
    evals = EvalSet("judged", data=rows, judge=Scripted((answer,)), cluster=cluster)

    @evals.eval
    def is_kind(case: Case, expect: Expect) -> None:
        expect(case.id, Passes("is kind"))

    note = (
        "judges' rates and corrections count each case once, and not each document; their intervals allow for cases"
        " of one document that go together"
    )
    with run(evals, progress=False) as found:
        assert (note in text_of(found)) is bool(cluster)
        (judge,) = calibrate(found.file).judges
        assert (note in judge.warnings) is bool(cluster)

"""`score_batch`: a pipeline over a dataset, measured, summed up, and gone on with."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand import Dataset, compare, score_batch, score_batch_async
from evenhand.core.errors import StoreError, UsageError
from evenhand.doors.eval_sets.answer_material import NAMES
from evenhand.render.findings import cluster_lines
from evenhand.stats.interval import wilson
from evenhand.testing import Scripted

DATA = Dataset.of(
    {"id": "a", "question": "one", "expected": "1", "tags": ["even", "easy"], "relevant": ["x"]},
    {"id": "b", "question": "two", "expected": "2", "tags": ["odd"], "relevant": {"y": 2, "z": 1}},
    {"id": "c", "question": "three", "expected": "3", "relevant": []},
)
ANSWERS = {"one": "1", "two": "nothing", "three": "3"}
METRICS = ["token_f1", "nDCG@2", "edit_distance"]


def pipeline(question: str) -> dict[str, Any]:
    """Finds and answers."""
    return {"answer": ANSWERS[question], "retrieved": ["x", "y"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where runs are kept."""
    return tmp_path / "home"


def test_every_case_is_measured_and_summed_up(home: Path):
    """n, mean, spread, interval, extremes; what did not apply is in no mean."""
    with score_batch(DATA, pipeline, metrics=METRICS, home=home) as report:
        f1, ndcg, edits, overall = report.summary()
        assert [f1.metric, ndcg.metric, edits.metric, overall.metric] == [*METRICS, "overall"]
        assert (f1.n, f1.mean, f1.least, f1.most) == (3, pytest.approx(2 / 3), 0, 1)
        assert f1.sd == pytest.approx(0.5773502692)
        assert (f1.low, f1.high) == pytest.approx(wilson(2, 3))
        assert (ndcg.n, ndcg.not_applicable) == (2, 1)
        assert (edits.low, edits.high) == (None, None)
        assert [trial.score for trial in report.trials()] == [1, pytest.approx(0.239, abs=0.01), 1]
        assert report.verdict == "passed"


@pytest.mark.parametrize(
    "application",
    [
        lambda case: ANSWERS[case.vars["question"]],
        lambda case, k=5: ANSWERS[case.vars["question"]][:k],
        lambda question, case: ANSWERS[question] if case.vars["question"] == question else "",
        lambda case, question: ANSWERS[question] if case.vars["question"] == question else "",
        lambda q, /, case: ANSWERS[q] if case.vars["question"] == q else "",
        lambda *, case, text: ANSWERS[text] if case.vars["question"] == text else "",
        lambda *given, case: ANSWERS[given[0]] if case.vars["question"] == given[0] else "",
        lambda case, question=None: ANSWERS[question],
    ],
)
def test_an_application_is_given_the_case_beside_the_question_wherever_it_takes_it(
    home: Path, application: Callable[..., str]
):
    """A parameter named `case` has the case; another one that has to be given, or `question`, the question."""
    with score_batch(DATA, application, metrics=["token_f1"], home=home) as report:
        assert [trial.score for trial in report.trials()] == [1, 0, 1]


def test_every_metric_has_a_column_where_every_case_is_in_error_and_errors_beyond_three_are_counted(
    home: Path,
):
    """A frame of a run that came to nothing has the same columns as one that did."""

    def broken(question: str) -> str:
        raise RuntimeError(question)

    data = [{"question": str(n), "expected": "1"} for n in range(5)]
    with score_batch(data, broken, metrics=["token_f1", "edit_distance"], home=home) as report:
        frame = report.to_pandas()
        assert frame["token_f1"].isna().all()
        assert frame["edit_distance"].isna().all()
        assert "\n    and 2 more\n" in str(report)


def test_a_distance_has_an_interval_from_five_cases_on(home: Path):
    """Of fewer it would reach far below 0; what lies between 0 and 1 is cut there."""
    rows = [{"id": str(n), "answer": "a" * n, "expected": "aaa"} for n in range(1, 6)]
    with score_batch(rows, metrics=["edit_distance"], home=home) as report:
        found, _ = report.summary()
        assert (found.low, found.high) == (
            pytest.approx(0.161, abs=1e-3),
            pytest.approx(2.239, abs=1e-3),
        )
    with score_batch(rows[:4], metrics=["edit_distance"], home=home) as report:
        assert report.summary()[0].high is None


def test_the_worst_come_first_and_low_may_be_good(home: Path):
    """By the overall number, or by any metric; many edits are worse than few."""
    with score_batch(DATA, pipeline, metrics=METRICS, home=home) as report:
        assert [case.case for case in report.worst(2)] == ["b", "a"]
        assert report.worst(1, "edit_distance")[0].scores["edit_distance"] == 7
        assert [c.case for c in report.failures(below=0.5)] == ["b"]
        assert [c.case for c in report.failures(1, "edit_distance")] == ["b"]
        with pytest.raises(UsageError, match="There are: token_f1"):
            report.worst(1, "f1")


def test_bounds_make_cases_fail_and_the_run_too(home: Path):
    """For a gate: one for all, or by metric."""
    with score_batch(
        DATA, pipeline, metrics=METRICS, at_least=0.5, at_most={"edit_distance": 5}, home=home
    ) as report:
        assert report.verdict == "failed"
        assert [case.case for case in report.failures()] == ["b"]
        assert [one.failed for one in report.summary()] == [1, 1, 1, 1]


def test_slices_by_tag_count_a_case_under_each_of_its_tags(home: Path):
    """And those without one apart."""
    with score_batch(DATA, pipeline, metrics=METRICS, home=home) as report:
        slices = {tag: found[0].n for tag, found in report.by_tag().items()}
        assert slices == {"": 1, "easy": 1, "even": 1, "odd": 1}
        frame = pd.DataFrame(report.summary_rows())
        assert set(frame["tag"].dropna()) == {"", "easy", "even", "odd"}
        assert len(pd.DataFrame(report.rows())) == 3


def test_without_tags_no_metric_is_listed_twice(home: Path):
    """All cases are without a tag: that says nothing that all cases don't say."""
    rows = [{"id": str(i), "answer": "a", "expected": "a"} for i in range(2)]
    with score_batch(rows, metrics=["token_f1"], home=home) as report:
        assert report.by_tag() == {}
        assert [row["metric"] for row in report.summary_rows()] == ["token_f1", "overall"]
        assert report.to_pandas("summary")["metric"].tolist() == ["token_f1", "overall"]


def test_a_metric_without_a_number_says_why(home: Path):
    """Printed and in a notebook: the column of answers is called otherwise, say."""
    rows = [{"id": str(i), "completion": "a", "expected": "a"} for i in range(2)]
    with score_batch(rows, metrics=["token_f1"], home=home) as report:
        why = "token_f1: there is no answer (2 cases)"
        assert why in str(report)
        assert why in report._repr_html_()


def test_weights_count_in_the_overall_number(home: Path):
    """Over what applied: for the last case only one of the two."""
    weights = {"token_f1": 1, "nDCG@2": 3}
    with score_batch(DATA, pipeline, metrics=METRICS, weights=weights, home=home) as report:
        scores = [trial.score for trial in report.trials()]
    assert scores == [1, pytest.approx(0.75 * 0.4784, abs=0.001), 1]


async def answers(question: str) -> str:
    """An application that is async."""
    return ANSWERS[question]


class Object:
    """An application with a method, whose replies are objects."""

    def query(self, question: str) -> Any:
        reply = type("Reply", (), {})()
        reply.text, reply.contexts = ANSWERS[question], ["page"]
        return reply


@pytest.mark.parametrize(
    "application",
    [
        answers,
        Object(),
        lambda question: (ANSWERS[question], ["page"]),
        lambda case: ANSWERS[case.vars["question"]],
        lambda question: {"response": ANSWERS[question]},
    ],
    ids=["async", "object", "pair", "case", "dict"],
)
def test_applications_are_asked_as_they_are(application: Any, home: Path):
    """A function, an object; of the question or of the case."""
    with score_batch(DATA, application, metrics=["exact_match"], home=home) as report:
        assert [trial.score for trial in report.trials()] == [1, 0, 1]


def test_stored_answers_are_measured_without_a_pipeline(home: Path):
    """Under the names that people give their columns, from a frame too."""
    frame = pd.DataFrame(
        {
            "user_input": ["q"],
            "response": ["Paris"],
            "reference": ["paris"],
            "retrieved_ids": [["x"]],
        }
    )
    with score_batch(frame, metrics=["exact_match", "P@1"], home=home) as report:
        first, second, _ = report.summary()
        assert first.mean == 1
        assert second.not_applicable == 1


@pytest.mark.parametrize(
    ("question", "expected"),
    [("question", "ground_truth"), ("user_input", "reference"), ("input", "expected")],
)
@pytest.mark.parametrize("asks", [True, False])
def test_rows_have_input_and_expected_whatever_the_columns_are_called(
    question: str, expected: str, asks: bool, home: Path
) -> None:
    """Under the names by which the metrics find them, with stored answers and with a pipeline."""
    cases = [{question: "How long?", expected: "30 days", "answer": "30 days"}]

    def application(text: str) -> str:
        return "30 days"

    pipeline = application if asks else None
    with score_batch(cases, pipeline, metrics=["token_f1"], home=home) as report:
        (row,) = report.rows()
    assert (row["input"], row["expected"]) == ("How long?", "30 days")
    assert row["score:token_f1"] == 1


def test_an_application_that_raises_is_an_error_of_its_case_alone(home: Path):
    """It is in no mean, and the others are measured; nothing returned is an error, too."""

    def fragile(question: str) -> str | None:
        if question == "two":
            raise ValueError("no such page")
        return None if question == "three" else "1"

    with score_batch(DATA, fragile, metrics=["token_f1"], home=home) as report:
        (f1, _) = report.summary()
        assert (f1.n, f1.mean, f1.errors) == (1, 1, 2)
        assert report.verdict == "undecided"
        assert "no such page" in report.errors()["b"]
        assert "returned nothing" in report.errors()["c"]
        assert "no such page" in str(report)


def test_resume_asks_only_for_what_is_missing(home: Path):
    """What was settled is left alone, and the run is the same run."""
    asked: list[str] = []

    def fragile(question: str) -> str:
        asked.append(question)
        if question == "two" and asked.count("two") == 1:
            raise ValueError("busy")
        return ANSWERS[question]

    with score_batch(DATA, fragile, metrics=["token_f1"], concurrency=1, home=home) as first:
        assert first.totals().errors == 1
    with score_batch(
        DATA, fragile, metrics=["token_f1"], concurrency=1, home=home, resume=True
    ) as second:
        assert second.meta.id == first.meta.id
        assert second.totals().errors == 0
    assert asked == ["one", "two", "three", "two"]
    with score_batch(DATA, fragile, metrics=["token_f1"], home=home, resume=True) as third:
        assert third.meta.id != first.meta.id


def test_judged_metrics_want_a_judge_before_anything_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    """Told at once, with what to do."""
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    asked: list[str] = []
    with pytest.raises(UsageError, match="no judge is named"):
        score_batch(DATA, asked.append, metrics=["faithfulness"], home=home)
    assert not asked
    assert not home.exists()


def test_a_judge_that_fails_costs_no_neighbour(home: Path):
    """An error of one metric is not a number, and the other metric has its own."""
    judge = Scripted(("no verdict at all",))
    rows = [
        {"id": "a", "question": "q", "answer": "Paris", "expected": "Paris", "context": ["Paris."]}
    ]
    with score_batch(rows, metrics=["faithfulness", "token_f1"], judge=judge, home=home) as report:
        faithful, f1, overall = report.summary()
        assert (faithful.n, faithful.errors) == (0, 1)
        assert f1.mean == 1
        assert overall.errors == 1


def broken() -> Iterator[Any]:
    """What nobody can run, and what is said."""
    yield {"metrics": ["token_f2"]}, "Did you mean 'token_f1'"
    yield {"metrics": []}, "there are none"
    yield {"metrics": ["P"]}, "wants a cut"
    yield {"at_least": {"f1": 1}}, "'f1', which is not measured"
    yield {"at_least": {"token_f1": "high"}}, "not a number"
    yield {"at_least": float("nan")}, "not a number"
    yield {"weights": {"x": 1}}, "'x' is not measured"
    yield {"weights": {"token_f1": -1}}, "not a number from 0"
    yield {"pipeline": 3}, "not a function"
    yield {"data": []}, "no cases"
    yield {"data": "faq.csv"}, "is a text"
    yield {"definitions": "rags"}, "Did you mean 'ragas'"


@pytest.mark.parametrize(("given", "said"), [*broken()])
def test_what_cannot_work_is_told_before_anything_runs(given: Any, said: str, home: Path):
    """And nothing is kept of it."""
    everything = {"data": DATA, "pipeline": pipeline, "metrics": ["token_f1"], "home": home}
    with pytest.raises(UsageError, match=said):
        score_batch(**{**everything, **given})
    assert not home.exists()


def test_a_report_is_written_for_people_and_for_programs(home: Path, tmp_path: Path):
    """Markdown, CSV, JSON; what an answer says is not Markdown."""
    rows = [{"id": "a|b", "question": "q", "answer": "x", "expected": "# y\n|"}]
    with score_batch(rows, metrics=["token_f1"], home=home) as report:
        text = report.write(tmp_path / "r.md").read_text()
        assert "| `token_f1` | 1 | 0.000 |" in text
        assert "`a\\|b`" in text
        table = [*csv.DictReader(report.write(tmp_path / "r.csv").read_text().splitlines())]
        assert table[0]["score:token_f1"] == "0.0"
        whole = json.loads(report.write(tmp_path / "r.json").read_text())
        assert whole["metrics"] == report.summary_rows()
        assert whole["metrics"][0]["metric"] == "token_f1"
        with pytest.raises(UsageError):
            report.write(tmp_path / "none" / "r.md")


async def test_an_application_that_shares_a_loop_is_awaited(home: Path):
    """On the running loop, and from inside of one without waiting for it to end."""
    with await score_batch_async(DATA, answers, metrics=["exact_match"], home=home) as report:
        assert report.summary()[0].mean == pytest.approx(2 / 3)
    with score_batch(DATA, answers, metrics=["exact_match"], home=home) as report:
        assert report.summary()[0].mean == pytest.approx(2 / 3)


async def test_definitions_hold_inside_a_running_loop_too(home: Path):
    """There the run has a thread of its own."""
    rows = [{"id": "a", "question": "q", "answer": "Hello!", "context": ["x"]}]
    reply = (
        '{"refusal": false, "sentences": [{"id": 1, "statements": '
        '[{"statement": "Hello!", "claim": false, "topic": "on"}]}]}'
    )
    with score_batch(
        rows,
        metrics=["faithfulness"],
        judge=Scripted((reply,)),
        definitions="deepeval",
        home=home,
    ) as report:
        assert report.summary()[0].mean == 1
    with score_batch(rows, metrics=["faithfulness"], judge=Scripted((reply,)), home=home) as report:
        assert report.summary()[0].not_applicable == 1


def test_runs_are_kept_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where nobody says otherwise."""
    monkeypatch.delenv("EVENHAND_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    with score_batch(DATA, pipeline, metrics=METRICS) as report:
        assert report.path.is_relative_to(tmp_path / ".evenhand")


def test_a_report_that_is_read_after_its_block_says_so_and_calls_nothing_damaged(home: Path):
    """The file is whole: only the report was closed."""
    with score_batch(DATA, pipeline, metrics=["token_f1"], home=home) as report:
        pass
    with pytest.raises(StoreError, match="was closed before it was read") as caught:
        _ = report.verdict
    assert "with" in caught.value.hint
    assert "damaged" not in str(caught.value)


def stored(answer: str, own: str | None, *, passage: str = "p") -> list[dict[str, Any]]:
    """Ten rows that a system answered: rightly in every second case, or with this answer."""
    return [
        {
            "question": f"question {n}",
            "ground_truth": f"right {n}",
            "relevant": ["a"],
            answer: own or f"right {n}",
            "retrieved_contexts": [f"{passage} {n}"],
            "retrieved_ids": [passage],
        }
        for n in range(10)
    ]


def in_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """The row with what a system returned in its metadata."""
    own = {"question", "ground_truth", "relevant"}
    return {
        **{key: value for key, value in row.items() if key in own},
        "metadata": {key: value for key, value in row.items() if key not in own},
    }


@pytest.mark.parametrize(
    ("answer", "inside", "named"),
    [
        *((answer, False, True) for answer in NAMES["answer"]),
        ("answer", True, True),
        ("response", False, False),
    ],
)
def test_runs_of_stored_answers_compare_over_all_cases(
    answer: str, inside: bool, named: bool, home: Path
) -> None:
    """With ids and without, whatever the column is called; what was retrieved differs too."""
    runs: list[Any] = []
    for table in (stored(answer, "wrong"), stored(answer, None, passage="a")):
        data = [in_metadata(row) if inside else row for row in table]
        if named:
            data = [{"id": str(n), **row} for n, row in enumerate(data)]
        runs.append(score_batch(data, metrics=["token_f1", "nDCG@3"], home=home))
    comparison = compare(*runs)
    rows = {row["metric"]: row for row in comparison.summary_rows()}
    assert [rows[name]["n"] for name in ("token_f1", "nDCG@3")] == [10, 10]
    assert rows["nDCG@3"]["verdict"] == "better"
    assert "other variables" not in str(comparison)
    trial = next(iter(runs[0].trials()))
    assert {"retrieved_ids", "retrieved_contexts"} <= {*trial.vars, *trial.metadata}, "as it was"


def test_a_stored_answer_to_another_question_is_told(home: Path) -> None:
    """And left out, as is one that is held against something else."""
    first, second = stored("answer", "wrong"), stored("answer", None)
    second[0]["question"] = "another"
    second[1]["ground_truth"] = "another"
    runs = [
        score_batch(
            [{"id": str(n), **row} for n, row in enumerate(rows)], metrics=["token_f1"], home=home
        )
        for rows in (first, second)
    ]
    text = str(compare(*runs))
    assert "left out: 1 case with another input and other variables: 0" in text
    assert "left out: 1 case with another expected value and other variables: 1" in text


def test_stored_answers_to_one_question_of_several_texts_are_no_copies(home: Path) -> None:
    """Where the passages are what is asked about. Several answers to the same case are."""
    rows = [
        {"id": str(n), "question": "sum up", "context": [f"text {n // 2}"], "answer": str(n)}
        for n in range(8)
    ]
    report = score_batch(rows, metrics=[len], home=home)
    assert len({trial.copy_key for trial in report.trials()}) == 4


def test_what_belongs_together_counts_once_in_means_and_intervals(home: Path):
    """Half of six documents are answered, and one of these has most of the questions."""
    rows = [
        {"id": f"{d}-{q}", "answer": "a" if d % 2 else "b", "expected": "a", "document": d}
        for d in range(6)
        for q in range(20 if d == 1 else 2)
    ]
    with score_batch(rows, metrics=["exact_match"], cluster="document", home=home) as report:
        one, overall = report.summary()
        assert (one.n, one.mean, overall.mean) == (30, pytest.approx(0.5), pytest.approx(0.5))
        assert (one.low, one.high) == (overall.low, overall.high) == pytest.approx(wilson(3, 6))
        assert "30 cases in 6 clusters by document" in " ".join(cluster_lines(report.file))
    with pytest.raises(UsageError, match="no case has a variable or metadata called 'documents'"):
        score_batch(rows, metrics=["exact_match"], cluster="documents", home=home)


def test_a_bound_is_missed_from_either_side_and_by_no_case_that_has_no_verdict(home: Path):
    """Above the most that is allowed nothing is below a bound."""
    with score_batch(
        DATA, pipeline, metrics=["edit_distance"], at_most={"edit_distance": 0}, home=home
    ) as report:
        assert "  1 of 3 cases missed a bound" in str(report)
        assert "1 of 3 cases missed a bound" in report.markdown()
    rows = [{"id": "a", "question": "one"}, {"id": "b", "question": "one", "expected": "1"}]
    with score_batch(rows, pipeline, metrics=["token_f1"], home=home) as report:
        assert "0 of 1 case missed a bound" in str(report)


def test_what_does_not_apply_for_several_reasons_is_counted_by_the_first(home: Path):
    """Two cases have no relevant passages, and one no retrieved ones either."""
    rows = [
        {"id": "a", "question": "x", "retrieved": ["p"]},
        {"id": "b", "question": "y", "retrieved": ["p"]},
        {"id": "c", "question": "z"},
    ]
    with score_batch(rows, lambda case: "answer", metrics=["nDCG@2"], home=home) as report:
        reasons = [outcome.reason for trial in report.trials() for outcome in trial.outcomes]
        assert len(set(reasons)) == 2
        assert "(2 cases, and 1 for other reasons)" in str(report)

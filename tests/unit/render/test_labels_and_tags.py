"""Slices by tag, confusion matrices, and precision and recall of labels."""

from __future__ import annotations

import io
from dataclasses import replace
from random import Random

import pytest
from tests.runs import Make, result

from evenhand import EvalSet, Run, at_least, run
from evenhand.analysis.comparison.variants import sentences
from evenhand.analysis.summaries.classification import classified
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.slices import slices_by_tag
from evenhand.core.errors import UsageError
from evenhand.core.variant import Variant
from evenhand.render.console import show
from evenhand.render.document import document
from evenhand.render.tag_tables import classification_lines, slice_lines
from evenhand.scorers import Label
from evenhand.stats.interval import wilson

pytestmark = pytest.mark.usefixtures("home_of_its_own")

ANSWERS = [  # expected, answered (None: an error), tags
    *[("billing", "Billing.", ["paid"])] * 8,
    *[("billing", "shipping", ["paid", "hard"])] * 2,
    *[("shipping", " shipping ", ["free"])] * 5,
    ("shipping", "no idea, sorry", ["free", "hard"]),
    ("shipping", None, ["free"]),
]


@pytest.fixture
def run_of_labels() -> Run:
    """17 cases: 13 right, 3 wrong, one in error."""
    rows = [
        {"id": f"c{i}", "expected": expected, "tags": tags, "answer": answer}
        for i, (expected, answer, tags) in enumerate(ANSWERS)
    ]
    evals = EvalSet("triage", data=rows, require={"label": at_least(0.7)})

    @evals.eval
    def labels(case, expect) -> str:
        if case.vars["answer"] is None:
            msg = "no answer"
            raise RuntimeError(msg)
        expect(case.vars["answer"], Label(case.expected))
        return case.vars["answer"]

    return run(evals)


def test_a_confusion_matrix_counts_what_was_taken_for_what(run_of_labels: Run) -> None:
    """An answer that is no label stands apart; case, spaces and a full stop do not count."""
    (one,) = classified(run_of_labels.file)
    assert dict(one.matrix) == {
        ("billing", "billing"): 8,
        ("billing", "shipping"): 2,
        ("shipping", "shipping"): 5,
        ("shipping", None): 1,
    }
    assert one.labels == ["billing", "shipping"]


def test_an_answer_that_is_no_label_is_not_taken_for_the_label_other() -> None:
    """Where `other` is one of the labels, only the answer `other` is right."""
    answers = [("other", "other"), ("other", "banana"), ("billing", "banana"), ("billing", "other")]
    evals = EvalSet(
        "triage",
        data=[
            {"id": f"c{i}", "expected": expected, "answer": answer}
            for i, (expected, answer) in enumerate(answers)
        ],
    )

    @evals.eval
    def labels(case, expect) -> None:
        expect(case.vars["answer"], Label(case.expected, among=["billing", "other"]))

    with run(evals) as found:
        (one,) = classified(found.file)
        (told,) = document(found.file)["classification"]
        out = io.StringIO()
        show(found.file, out, width=100)
    assert dict(one.matrix) == {
        ("other", "other"): 1,
        ("other", None): 1,
        ("billing", None): 1,
        ("billing", "other"): 1,
    }
    assert (one.recall["other"].hits, one.recall["other"].n) == (1, 2)
    assert (one.precision["other"].hits, one.precision["other"].n) == (1, 2)
    assert {"expected": "other", "answered": None, "trials": 1} in told["matrix"]
    assert "billing   other   (no label)" in out.getvalue()


def test_precision_and_recall_are_ranges_where_trials_are_in_error(run_of_labels: Run) -> None:
    """The error's right label is shipping: it may have been answered right, wrong, or as billing."""
    (one,) = classified(run_of_labels.file)
    recall, precision = one.recall["shipping"].share, one.precision["shipping"].share
    assert recall is not None
    assert precision is not None
    assert (recall.least, recall.most) == pytest.approx((5 / 7, 6 / 7))
    assert (precision.least, precision.most) == pytest.approx((5 / 7, 6 / 8))
    billing, found = one.recall["billing"].share, one.precision["billing"].share
    assert billing is not None
    assert found is not None
    assert (billing.least, billing.most) == (0.8, 0.8)
    assert (billing.low, billing.high) == pytest.approx(wilson(8, 10))
    assert (found.least, found.most) == pytest.approx((8 / 9, 1))


def test_slices_by_tag_have_rates_with_intervals(run_of_labels: Run) -> None:
    """A case counts in each of its tags; errors count both ways."""
    found = slices_by_tag(run_of_labels.file)
    assert list(found) == ["free", "hard", "paid"]
    free, hard, paid = (one.rate for (one,) in found.values())
    assert (free.passed, free.trials, free.errors, str(free)) == (5, 7, 1, "71–86 %")
    assert (hard.passed, hard.trials) == (0, 3)
    assert (paid.passed, paid.trials, paid.reach) == (8, 10, "49–94")


def test_the_report_and_the_document_have_labels_and_tags(run_of_labels: Run) -> None:
    """On the terminal and for programs."""
    out = io.StringIO()
    show(run_of_labels.file, out, width=100)
    text = out.getvalue()
    assert "by tag" in text
    assert "paid" in text
    assert "8/10" in text
    assert "labels expected (down) and answered (across); 1 trial in error" in text
    assert "billing    8         2          0" in text
    told = document(run_of_labels.file)
    assert [row["tag"] for row in told["slices"]] == ["free", "hard", "paid"]
    (labels,) = told["classification"]
    assert {"expected": "billing", "answered": "shipping", "trials": 2} in labels["matrix"]
    assert labels["labels"][0]["recall"]["rate"] == 0.8
    assert (told["verdict"], told["requirements"][0]["metric"]) == ("passed", "label")


LABELS = ["account deletion", "billing", "refund request", "shipping delay", "something else"]
LABELS += ["technical problem", "gift card", "opening hours", "invoice address", "wrong colour"]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("number", [2, 6, 10])
def test_a_confusion_matrix_has_all_that_was_answered_instead_at_any_width(
    width: int, number: int
) -> None:
    """As a column for each answer where there is room; no line is cut, or longer than the terminal."""
    labels = LABELS[:number]
    answers = [labels[i // 3 % number] if i % 7 else "banana" for i in range(10 * number)]
    rows = [
        {"id": f"c{i}", "expected": labels[i % number], "answer": answer}
        for i, answer in enumerate(answers)
    ]
    evals = EvalSet("routing", data=rows)

    @evals.eval
    def route(case, expect) -> None:
        expect(case.vars["answer"], Label(case.expected))

    file = run(evals).file
    (one,) = classified(file)
    lines = classification_lines(file, ["route"], width)
    text = " ".join(" ".join(lines).split())
    assert "…" not in text
    assert max(map(len, lines)) <= width
    if "instead" in text:
        assert number > 2 or width == 40
        mistakes = [(a or "(no label)", n) for (e, a), n in one.matrix.items() if e != a]
        assert all(f"{answer} {n}" in text for answer, n in mistakes)
        return
    for place, label in enumerate(one.labels, 1):
        counts = " ".join(str(one.matrix[label, answer]) for answer in one.answers)
        assert f"{label} {counts}" in text
        numbered = text.startswith("labels expected (down) and answered (across) 1 2")
        assert (f"{place} {label} {counts}" in text) == numbered


def test_a_tag_of_all_cases_is_no_slice() -> None:
    """It would say what the table says."""
    evals = EvalSet("one", data=[{"id": str(i), "tags": ["all"]} for i in range(3)])

    @evals.eval
    def holds(case, expect) -> None:
        expect(True, "holds", case=case.id)

    with run(evals) as found:
        assert slices_by_tag(found.file) == {}
        assert document(found.file)["classification"] == []


def test_a_label_has_to_be_among_those_there_are() -> None:
    """An answer among none of them is wrong, and no label."""
    with pytest.raises(UsageError, match="'biling' is not among the labels"):
        Label("biling", among=["billing", "shipping"])
    assert Label("billing", among=["Billing"]).score("BILLING").passed
    assert not Label("billing", among=["Billing"]).score("billing, I think").passed
    assert Label("billing", among=["Billing"]).score("refund").metadata["answered_label"] == ""


def test_the_precision_of_repeats_is_that_of_the_matrix_beside_it() -> None:
    """Three repeats of four cases: six answers are "no", four of them rightly."""
    answers = {"a": ["no", "no", "no"], "b": ["no", "yes", "yes"], "c": ["no", "yes", "yes"],
               "d": ["yes", "yes", "no"]}  # fmt: skip
    asked = dict.fromkeys(answers, 0)
    rows = [{"id": i, "expected": "no" if i in "ad" else "yes"} for i in answers]
    evals = EvalSet("repeated", data=rows)

    @evals.eval
    def labels(case, expect) -> str:
        answer = answers[case.id][asked[case.id]]
        asked[case.id] += 1
        expect(answer, Label(case.expected))
        return answer

    (one,) = classified(run(evals, repeats=3).file)
    share = one.precision["no"].share
    assert share is not None
    assert (one.matrix["no", "no"], one.matrix["yes", "no"]) == (4, 2)
    assert share.value == pytest.approx(4 / 6)
    assert share.low < 0.3
    assert share.high > 0.85


def tagged(good: int, share: float, seed: int = 3) -> Run:
    """Forty tags of ten cases each, of which this share passes; of the first tag so many."""
    random = Random(seed)
    passed = {
        f"t{tag}c{i}": i < good if tag == 0 else random.random() < share
        for tag in range(40)
        for i in range(10)
    }
    data = [{"id": id_, "input": id_, "tags": [id_.split("c")[0]]} for id_ in passed]
    evals = EvalSet("tagged", data=data)

    @evals.eval
    def answers(case, expect) -> None:
        expect(passed[case.id], "is right")

    return run(evals)


def test_it_is_said_how_many_tags_there_are_and_what_their_extremes_are_worth() -> None:
    """Of forty equal tags none stands out, in a few words; one without a pass does."""
    for good, sentence in (
        (7, "40 tags: none differs by more than chance"),
        (
            0,
            "1 stands out from the other cases (corrected for their number: Benjamini–Hochberg): t0",
        ),
    ):
        with tagged(good, 0.7) as found:
            lines = " ".join(slice_lines(found.file, [""], 90))
            assert sentence in " ".join(lines.split())
            rows = {row["tag"]: row["q"] for row in document(found.file)["slices"]}
            assert (rows["t0"] < 0.05) == (good == 0)
            assert min(q for tag, q in rows.items() if tag != "t0") > 0.05


def test_of_many_equal_labels_none_is_said_to_stand_out_and_one_that_is_never_found_is() -> None:
    """Forty labels of ten cases; seed 3. Of errors nothing is said."""
    for never, sentence in (
        (False, "recall of 40 labels: none differs by more than chance"),
        (True, "1 stands out"),
    ):
        random = Random(3)
        right = {
            f"l{i % 40}c{i}": random.random() < 0.7 and not (never and i % 40 == 0)
            for i in range(400)
        }
        data = [{"id": id_, "input": id_, "expected": id_.split("c")[0]} for id_ in right]
        evals = EvalSet("triage", data=data)

        @evals.eval
        def labels(case, expect, right=right) -> None:
            expect(case.expected if right[case.id] else "no", Label(case.expected))

        with run(evals) as found:
            lines = " ".join(" ".join(classification_lines(found.file, [""], 90)).split())
            assert sentence in lines
            assert ("Hochberg): l0 at 0 %" in lines) == never


@pytest.mark.parametrize("best", [0.7, 1.0])
def test_it_is_said_what_the_first_place_among_many_variants_is_worth(best: float) -> None:
    """Of twelve equal ones, one is ahead by chance; one that always passes beats the others. Seed 4."""
    random = Random(4)
    passed = {
        (v, i): random.random() < (best if v == 5 else 0.6) for v in range(12) for i in range(60)
    }
    data = [{"id": f"c{i}", "input": i} for i in range(60)]
    evals = EvalSet("many", data=data, over={"v": list(range(12))})

    @evals.eval
    def answers(case, expect, v) -> None:
        expect(passed[v, case.input], "is right")

    with run(evals) as found:
        (line,) = sentences(Grid(found.file))
    assert "passes most of 12 variants" in line
    assert "paired, corrected for 66 comparisons" in line
    assert ("beats 11 of 11 others" in line) == (best == 1.0)
    assert ("not shown to beat any" in line) == (best == 0.7)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("right", "sentence"),
    [
        (
            (),
            "none of 60 variants is shown to beat another (paired, corrected for 1,770 comparisons)",
        ),
        (range(60), "none of 60 variants is shown to beat another"),
        ((3, 5), "5 and 1 other pass most of 60 variants, and 5 beats 58 of 59 others"),
        ((3, 5, 7), "7 and 2 others pass most of 60 variants, and 7 beats 57 of 59 others"),
    ],
)
def test_of_many_variants_that_pass_alike_none_is_said_to_pass_most(right, sentence: str) -> None:
    """One of them is last in the list: that says nothing of it."""
    data = [{"id": f"c{i}", "input": i} for i in range(40)]
    evals = EvalSet("many", data=data, over={"v": list(range(60))})

    @evals.eval
    def answers(case, expect, v) -> None:
        expect(v in right, "is right")

    with run(evals) as found:
        (line,) = sentences(Grid(found.file))
    assert sentence in line


async def test_the_number_that_p_values_are_corrected_for_is_the_number_of_rates(make_run: Make):
    """Two evals, each with tags of its own: three rates, and not three tags times two variants."""
    variants = [Variant(i, "p", "echo", eval=f"set: {name}") for i, name in enumerate("xy")]
    cells = [(0, "a", True)] * 5 + [(1, "b", False)] * 5 + [(1, "c", True)] * 4
    trials = [
        result(i, variant=variant, ok=ok, metadata={"tags": [tag]})
        for i, (variant, tag, ok) in enumerate(cells)
    ]
    text = "\n".join(slice_lines(await make_run(trials, variants), ["x", "y"], 200))
    assert "  3 tags, 3 rates: 2 stand out" in text
    both = [replace(t, index=2 * t.index + v, variant=v) for t in trials for v in (0, 1)]
    text = "\n".join(slice_lines(await make_run(both, variants), ["x", "y"], 200))
    assert "  3 tags × 2 variants: " in text


def test_labels_are_corrected_for_all_variants_and_said_to_be() -> None:
    """Three labels in two columns are six comparisons."""
    rows = [{"id": f"{a}{i}", "expected": a} for a in "abc" for i in range(4)]
    evals = EvalSet("labels", data=rows, over={"k": [1, 2]})

    @evals.eval
    def answers(case, expect, k) -> str:
        expect(case.expected, Label(case.expected))
        return case.expected

    text = "\n".join(classification_lines(run(evals).file, ["1", "2"], 200))
    assert text.count("recall of 3 labels, 6 with those of other variants: none differs") == 2

"""Whatever a case says, a file gives it back; whatever a ranking is, its numbers keep their laws."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.scorers.metrics.ranking import parse
from evenhand.scorers.metrics.text import exact_match, rouge, token_f1

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["", "null", "[1]", "a,b", 'q"', "x\ny", "007", "{}", "=1"]
)
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
NAME = st.text("abcXYZ_", min_size=1, max_size=3)
ROW = st.fixed_dictionaries(
    {"id": st.text("abc123", min_size=1, max_size=4)},
    optional={
        "input": VALUE,
        "expected": VALUE,
        "context": st.lists(TEXT, max_size=3),
        "description": TEXT,
        "tags": st.lists(TEXT, max_size=2),
        "metadata": st.dictionaries(NAME, VALUE, max_size=2),
        "vars": st.dictionaries(NAME | st.sampled_from(["id", "input"]), VALUE, max_size=3),
    },
)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "yaml", "parquet"])
@given(rows=st.lists(ROW, min_size=1, max_size=4, unique_by=lambda row: row["id"]))
def test_every_case_survives_its_file(ending: str, rows: list[dict[str, Any]]):
    """In each format, each case is equal to what was written."""
    before = Dataset(rows)
    with tempfile.TemporaryDirectory() as folder:
        after = Dataset.read(before.write(Path(folder) / f"cases.{ending}"))
    assert list(after) == list(before)


RANKING = st.lists(st.integers(0, 12), max_size=12)
GRADES = st.dictionaries(st.integers(0, 12), st.integers(0, 3), min_size=1, max_size=8)
NAMES = ["P@5", "R@3", "hit@2", "RR", "AP", "AP@4", "nDCG", "nDCG@5", "nDCG_exp@5"]


@pytest.mark.parametrize("name", NAMES)
@given(ranking=RANKING, grades=GRADES)
def test_a_number_about_a_ranking_is_from_0_to_1(
    name: str, ranking: list[int], grades: dict[int, int]
):
    """Doubles and all; and None exactly where nothing is relevant."""
    value = parse(name)(ranking, grades)
    assert (value is None) == (not any(grades.values()))
    assert value is None or 0 <= value <= 1 + 1e-12


@pytest.mark.parametrize("name", NAMES)
@given(
    ranking=st.lists(st.integers(0, 12), unique=True, max_size=12), grades=GRADES, data=st.data()
)
def test_moving_the_relevant_up_never_lowers_a_number(
    name: str, ranking: list[int], grades: dict[int, int], data: Any
):
    """Two neighbours in the wrong order are put right; and the best order is 1 for nDCG."""
    assume(any(grades.values()) and len(ranking) > 1)
    metric = parse(name)
    at = data.draw(st.integers(0, len(ranking) - 2))
    better = [*ranking]
    if grades.get(better[at], 0) < grades.get(better[at + 1], 0):
        better[at], better[at + 1] = better[at + 1], better[at]
    before, after = metric(ranking, grades), metric(better, grades)
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12
    if name.startswith("nDCG"):
        best = sorted(grades, key=lambda item: -grades[item])
        assert metric(best, grades) == pytest.approx(1)


@given(ranking=st.lists(st.sampled_from("abcdef"), unique=True), renamed=st.permutations("abcdef"))
def test_names_of_documents_do_not_matter(ranking: list[str], renamed: list[str]):
    """Called otherwise, in the same order, they have the same numbers."""
    new = dict(zip("abcdef", renamed, strict=True))
    grades = {"a": 2, "b": 1, "c": 1}
    for name in NAMES:
        other = parse(name)([new[x] for x in ranking], {new[x]: g for x, g in grades.items()})
        assert other == pytest.approx(parse(name)(ranking, grades))


@given(one=st.text(), other=st.text())
def test_wording_is_from_0_to_1_and_the_same_both_ways(one: str, other: str):
    """F-measures do not mind which is the reference; a text is as near to itself as can be."""
    for measure in (token_f1, lambda a, b: rouge(a, b, "L"), lambda a, b: rouge(a, b, "1")):
        value, back = measure(one, [other]), measure(other, [one])
        assert value is None or 0 <= value <= 1
        if value is not None and back is not None:
            assert value == pytest.approx(back)
        assert measure(one, [one]) in {None, 1}
    assert exact_match(one, [one]) in {None, 1}

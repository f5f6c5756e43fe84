"""Numbers about rankings, by hand."""

from __future__ import annotations

import pytest

from evenhand.scorers.metrics.ranking import (
    average_precision,
    hit_at,
    ndcg,
    parse,
    precision_at,
    ranked,
    recall_at,
    reciprocal_rank,
)

NAMES = ["P@5", "R@10", "hit@3", "RR", "RR@10", "AP", "AP@5", "nDCG", "nDCG@10", "nDCG_exp@10"]


def test_the_numbers_of_a_small_ranking():
    """Three retrieved, two of them relevant, one relevant missed."""
    found, relevant = ["a", "x", "b"], {"a", "b", "c"}
    assert precision_at(found, relevant, 1) == 1
    assert precision_at(found, relevant, 3) == 2 / 3
    assert recall_at(found, relevant, 3) == 2 / 3
    assert hit_at(found, relevant, 1) == 1
    assert reciprocal_rank(["x", "a"], relevant) == 0.5
    assert average_precision(found, relevant) == pytest.approx((1 + 2 / 3) / 3)
    assert ndcg(["a", "b", "c"], {"a", "c"}) == pytest.approx(0.9197207891)
    assert ndcg(["a", "b"], ["a", "b"]) == 1


def test_precision_is_of_k_also_where_fewer_were_retrieved():
    """A short list does not look good for being short."""
    assert precision_at(["a"], ["a"], 5) == 0.2


def test_an_id_that_comes_again_is_counted_once_at_its_first_rank():
    """No number is above 1, and what stands below moves up."""
    assert ndcg(["a", "a"], ["a"]) == 1
    assert recall_at(["a", "a"], ["a"], 2) == 1
    assert precision_at(["a", "a", "b"], ["a", "b"], 2) == 1
    assert average_precision(["x", "x", "a"], ["a"]) == 0.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relevant", [[], set(), {}, {"a": 0}, {"a": -1}])
def test_nothing_relevant_is_no_number(name, relevant):
    """There is nothing to find: neither 0 nor 1."""
    assert parse(name)(["a", "b"], relevant) is None


@pytest.mark.parametrize("name", NAMES)
def test_nothing_retrieved_is_nothing_found(name):
    """What is relevant was missed: 0."""
    assert parse(name)([], ["a"]) == 0


def test_grades_count_as_they_are_or_exponentially():
    """With grades 3 and 1 in the wrong order, exponential gains take it harder."""
    grades = {"a": 3, "b": 1}
    log3 = 1.584962500721156
    assert ndcg(["b", "a"], grades) == pytest.approx((1 + 3 / log3) / (3 + 1 / log3))
    assert ndcg(["b", "a"], grades, exponential=True) == pytest.approx(
        (1 + 7 / log3) / (7 + 1 / log3)
    )
    assert ndcg(["z", "y"], grades) == 0


def test_the_best_order_is_cut_as_the_ranking_is():
    """With more relevant than k, the first k being the best is perfect."""
    assert ndcg(["a", "b"], {"a": 3, "b": 2, "c": 1}, 2) == 1


def test_a_ranking_may_be_longer_than_any_before():
    """The discounts are worked out as far as they are needed."""
    assert 0 < (ndcg([*map(str, range(3000))], {"2999"}) or 0) < 0.1


def test_of_equal_scores_the_id_that_sorts_last_comes_first():
    """As in trec_eval, so that the numbers are the same."""
    assert ranked({"d1": 0.5, "d2": 0.5, "d3": 0.9}) == ["d3", "d2", "d1"]
    assert reciprocal_rank({"d1": 0.5, "d2": 0.5}, ["d1"]) == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_names_parse_back(name):
    """What a report says can be typed."""
    assert str(parse(name)) == name
    assert str(parse(name.lower())) == name


def test_the_means_names_are_the_numbers_of_each_case():
    """MRR and MAP are means of RR and AP."""
    assert [str(parse(name)) for name in ("MRR@10", "MAP", "precision@5", "recall@5")] == [
        "RR@10",
        "AP",
        "P@5",
        "R@5",
    ]


@pytest.mark.parametrize("name", ["P", "hit", "nDCG@0", "nDCG@x", "F1@3", "", "nDCG@10@5"])
def test_a_name_that_means_nothing_is_refused(name):
    """No cut where there must be one, a cut of 0, a word that nobody knows."""
    with pytest.raises(ValueError, match=r"cut|not the name"):
        parse(name)


@pytest.mark.parametrize("k", [0, -1])
def test_a_cut_below_one_is_refused_by_the_functions_too(k):
    """A cut of 0 or less is an error, not a division by zero and not the end of the ranking."""
    with pytest.raises(ValueError, match="less than 1"):
        precision_at(["a", "b"], {"a"}, k)
    with pytest.raises(ValueError, match="less than 1"):
        ndcg(["a", "b"], {"a"}, k)


def test_a_grade_whose_gain_is_nothing_leaves_nothing_to_find():
    """2^grade - 1 of a grade next to 0 is 0: there is no best order to divide by."""
    assert ndcg(["a"], {"a": 1e-20}, exponential=True) is None


def test_an_infinite_grade_is_refused():
    """An infinite gain over an infinite best would be NaN."""
    with pytest.raises(ValueError, match="infinite"):
        ndcg(["a"], {"a": float("inf")})

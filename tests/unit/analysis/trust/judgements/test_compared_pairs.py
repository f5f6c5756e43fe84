"""What is missing of a ranking: answers that a judge did not give, and those about trials in error."""

from __future__ import annotations

import pytest
from tests.runs import result

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs


def test_a_pair_that_is_missing_stands_for_as_many_answers_as_a_pair_has():
    """Answers that the judge did not give are among them."""
    pairs = ComparedPairs(name="r")
    orders = [
        {"first": 0, "said": "first", "judge": "j"},
        {"first": 1, "error": "judge", "reason": "no idea"},
    ]
    pairs.add(result(0, variant=0, case="a"), 1, orders)
    trials = [
        result(0, variant=0, case="a"),
        result(1, variant=1, case="a"),
        result(2, variant=0, case="b"),
        result(3, variant=1, case="b", ok=None),
        result(4, variant=2, case="b", ok=None),
    ]
    pairs.add_absent(trials, ["e", "e", "another eval"])
    missing = [(one.unit, one.first, one.second, one.weight) for one in pairs.missing]
    assert missing == [("a", 1, 0, 1.0), ("b", 0, 1, 1.0), ("b", 1, 0, 1.0)]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_each_pair_of_a_trial_in_error_is_missing(gone: int):
    """Of three variants that are compared elsewhere, two pairs are missing with one of them."""
    pairs = ComparedPairs(name="r")
    for one, two in ((0, 1), (0, 2), (1, 2)):
        pairs.add(result(one, variant=one, case="a"), two, [{"first": one, "said": "tie"}])
    pairs.add_absent(
        [result(i, variant=i, case="b", ok=None if i == gone else True) for i in range(3)],
        ["e"] * 3,
    )
    missing = {frozenset((one.first, one.second)) for one in pairs.missing}
    assert missing == {frozenset((gone, other)) for other in range(3) if other != gone}

"""Whether a judge can stand in for a person."""

from __future__ import annotations

import random

import pytest

from evenhand.stats.agreement import FEWEST, alternative_annotator


def noisy(rng: random.Random, truth: dict[int, bool], wrong: float) -> dict[int, bool]:
    """Verdicts that are wrong on such a share of the items."""
    return {item: passed is not (rng.random() < wrong) for item, passed in truth.items()}


def test_a_judge_as_good_as_people_can_stand_in_and_a_coin_cannot():
    """Three people who err on a tenth, 100 items, 40 sets of labels; the seed is 5."""
    rng = random.Random(5)
    good = coin = 0
    for _ in range(40):
        truth = {i: rng.random() < 0.6 for i in range(100)}
        people = {name: noisy(rng, truth, 0.1) for name in ("ann", "bo", "cy")}
        one = alternative_annotator(noisy(rng, truth, 0.1), people)
        other = alternative_annotator(noisy(rng, truth, 0.5), people)
        assert one is not None
        assert other is not None
        good, coin = good + one.passed, coin + other.passed
        assert one.advantage > other.advantage
    assert good >= 38
    assert coin == 0


def test_the_test_is_that_of_the_paper_on_a_case_worked_by_hand():
    """Two people and a judge on 40 items: the judge is alone against them on ten, so it loses a quarter to both."""
    labels = dict.fromkeys(range(40), True)
    judge = {i: i >= 10 for i in range(40)}
    found = alternative_annotator(judge, {"ann": labels, "bo": labels})
    # The mean difference is .25, above the margin of .2: nobody is replaced. 30 of 40 are won or drawn.
    assert found == (2, 0, 0.75)
    assert not found.passed
    assert alternative_annotator(judge, {"ann": labels, "bo": labels}, margin=0.5) == (2, 2, 0.75)


def test_a_judge_that_is_as_much_worse_as_may_be_seldom_stands_in_also_with_repeats():
    """40 cases, five repeats that are alike, 100 labels: in at most 7 % of 200 draws. By items, in 15 % or more."""
    rng = random.Random(5)
    passed = before = 0
    for _ in range(200):
        truth = {case: rng.random() < 0.6 for case in range(40)}
        verdicts = {name: noisy(rng, truth, 0.1) for name in ("ann", "bo")}
        judged = noisy(
            rng, truth, 0.35
        )  # people agree with each other on 82 %, it with them on 62 %
        cases = {i: str(i // 5) for i in rng.sample(range(200), 100)}
        people = {name: {i: own[i // 5] for i in cases} for name, own in verdicts.items()}
        judge = {i: judged[i // 5] for i in cases}
        one = alternative_annotator(judge, people, cases=cases)
        other = alternative_annotator(judge, people)
        assert one is not None
        assert other is not None
        assert one.advantage == other.advantage
        passed, before = passed + one.passed, before + other.passed
    assert passed <= 14
    assert before >= 30


def test_outputs_of_too_few_cases_are_no_test():
    """Forty outputs of eight cases, on which all agree: that says nothing of others."""
    labels = dict.fromkeys(range(40), True)
    people = {"ann": labels, "bo": labels}
    assert alternative_annotator(labels, people, cases={i: str(i // 5) for i in labels}) is None
    assert alternative_annotator(labels, people, cases={i: str(i // 4) for i in labels}) == (
        2,
        2,
        1,
    )


@pytest.mark.parametrize("people", [{}, {"ann": dict.fromkeys(range(99), True)}])
def test_one_person_is_no_test(people: dict[str, dict[int, bool]]):
    """There is nobody to hold the person against."""
    assert alternative_annotator(dict.fromkeys(range(99), True), people) is None


def test_people_who_share_too_few_items_are_left_out():
    """One item fewer than it takes is no test; what the judge did not judge does not count."""
    few = dict.fromkeys(range(FEWEST - 1), True)
    judge = dict.fromkeys(range(99), True)
    assert alternative_annotator(judge, {"ann": few, "bo": judge}) is None
    enough = dict.fromkeys(range(FEWEST), True)
    assert alternative_annotator(judge, {"ann": enough, "bo": judge}) == (2, 2, 1.0)
    assert alternative_annotator(few, {"ann": enough, "bo": judge}) is None


def test_two_people_who_are_replaced_alike_are_both_replaced_or_neither():
    """Each has p = 0.022: above what one alone of two needs, and below what two of two need."""
    people = {i: i % 2 == 0 for i in range(40)}
    judge = {i: verdict is not (i % 10 == 0) for i, verdict in people.items()}
    found = alternative_annotator(judge, {"ann": people, "bo": people})
    assert found is not None
    assert (found.people, found.replaced) == (2, 2)


def test_of_several_people_each_must_be_shown_to_be_replaced_more_surely():
    """Each has p = 0.046: one alone would be replaced, and two are not."""
    people = {i: i % 2 == 0 for i in range(50)}
    judge = {i: verdict is not (i < 6) for i, verdict in people.items()}
    found = alternative_annotator(judge, {"ann": people, "bo": people})
    assert found is not None
    assert (found.people, found.replaced) == (2, 0)


def test_few_cases_show_less_than_many():
    """Twelve cases of four items: G/(G − 1) takes p from 0.031 to 0.036, where two of two need 0.033."""
    people = {i: i % 2 == 0 for i in range(48)}
    judge = {i: verdict is not (i in range(0, 24, 4)) for i, verdict in people.items()}
    cases = {i: f"case {i // 4}" for i in people}
    found = alternative_annotator(judge, {"ann": people, "bo": people}, cases=cases)
    assert found is not None
    assert (found.people, found.replaced) == (2, 0)

"""Bounds on seconds and money; the list of all questions."""

from __future__ import annotations

import pytest

import evenhand.scorers as public
from evenhand.core.errors import ScoreError
from evenhand.core.message import Reply
from evenhand.core.scripted import scripted_at
from evenhand.core.step import Step
from evenhand.core.traits import traits_of
from evenhand.doors.assertions.bounds import AtMost
from evenhand.scorers.agents.step_measures import StepCost
from evenhand.scorers.catalog import scorers
from evenhand.scorers.limits import Cost, FirstToken, Latency


def test_the_recorded_time_counts_also_for_a_cached_reply(trial):
    """A reply from the cache took as long as the call that made it."""
    trial.reply = Reply("x", latency_s=0.5, origin="cache")
    assert Latency(500).score("x", trial).passed
    assert not Latency(499).score("x", trial).passed
    assert Latency(499).score("x", trial).reason == "took 500 ms, at most 499 ms are allowed"


def test_cost_is_compared_in_dollars(trial):
    """A cost of nothing passes; one above the bound fails."""
    trial.reply = Reply("x", cost_usd=0.0)
    assert Cost(0).score("x", trial).passed
    trial.reply = Reply("x", cost_usd=0.002)
    assert not Cost(0.001).score("x", trial).passed


@pytest.mark.parametrize(
    ("scorer", "reply"), [(Latency(1), None), (Cost(1), None), (Cost(1), Reply("x"))]
)
def test_what_is_not_known_is_an_error_and_never_nothing(trial, scorer, reply):
    """No price and no time are not a cost of 0."""
    trial.reply = reply
    with pytest.raises(ScoreError, match="not known"):
        scorer.score("x", trial)


def test_a_time_that_was_not_measured_is_an_error(trial):
    """As of an answer that came in a batch: neither fast nor slow, and no pass."""
    trial.reply = Reply("x")
    for scorer in (Latency(1), FirstToken()):
        with pytest.raises(ScoreError, match="was not measured, as in a batch"):
            scorer.score("x", trial)


def test_a_scripted_reply_has_no_price_to_bound(trial):
    """Neither cheap nor dear, and nothing that another run of the script would change."""
    trial.reply = Reply("x")
    trial.steps = [Step("model", "gpt")]
    with scripted_at("http://127.0.0.1:1"):
        for scorer in (Cost(1), AtMost(StepCost(), 1)):
            score = scorer.score("x", trial)
            assert (score.value, score.passed) == (None, None)
            assert score.reason == "scripted replies (--offline) have no price"
    with pytest.raises(ScoreError, match="nobody says what gpt cost"):
        StepCost().score("x", trial)


def test_seconds_to_the_first_token_are_those_of_the_call_that_was_paid(trial):
    """They can be bounded and compared; less is better."""
    trial.reply = Reply("x", latency_s=0.5, first_byte_s=0.2, origin="cache")
    score = FirstToken().score("x", trial)
    assert (score.value, score.passed, score.reason) == (0.2, None, "began after 200 ms")
    assert AtMost(FirstToken(), 0.2).score("x", trial).passed
    assert not AtMost(FirstToken(), 0.19).score("x", trial).passed
    assert FirstToken.traits.lower_is_better


def test_labels_carry_the_unit():
    """A bound without a unit is half a bound."""
    assert [str(Latency(500)), str(Cost(0.01))] == ["latency ≤ 500 ms", "cost ≤ $0.01"]


def test_the_catalog_lists_each_question_once_with_a_line_about_it():
    """What `evenhand info scorers` prints is complete and says something."""
    names = [entry.name for entry in scorers()]
    assert len(set(names)) == len(names)
    assert all(entry.description and entry.kind for entry in scorers())


def test_the_catalog_lists_every_public_scorer_and_what_it_needs():
    """A new one is not forgotten; what measures says that it needs a bound, who judges that it needs a judge."""
    kinds = {name: getattr(public, name) for name in public.__all__}
    there = {n: k for n, k in kinds.items() if isinstance(k, type) and hasattr(k, "score")}
    there.pop("Graded")  # its score is a field
    assert {entry.name for entry in scorers()} == there.keys()
    for entry in scorers():
        kind = there[entry.name]
        judges = hasattr(kind, "judged_by") or entry.name == "Jury"
        assert ("judge" in entry.needs) == judges, entry.name
        if traits_of(kind).gives == "number":
            assert "a bound" in entry.needs
        assert bool(entry.negated) == (traits_of(kind).gives != "number")

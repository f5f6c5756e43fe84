"""Typed questions share a request, and an answer is believed only as far as it adds up."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from evenhand.core.decision import (
    TWICE,
    DecisionQuestion,
    place_of,
    read_decision,
    request_of,
    words_only,
)
from evenhand.core.errors import JudgeError

POLITE = DecisionQuestion(
    kind="yes_no", words=f"Is {place_of('output')} polite?", about={"output": "Dear you"}
)
DATED = DecisionQuestion(
    kind="yes_no", words=f"Has {place_of('output')} a date?", about={"output": "Dear you"}
)
TONE = DecisionQuestion(
    kind="choice",
    words=f"Which tone has {place_of('output')}?",
    about={"output": "Dear you"},
    options=(("warm", ""), ("cold", ""), ("rude", "insults somebody")),
)
CLEAR = replace(TONE, kind="level", words=f"How clear is {place_of('output')}?")
CHOICE = {"type": "choice", "probabilities": {"warm": 0.5, "cold": 0.3, "rude": 0.2}}


def test_questions_about_the_same_text_share_it():
    """The text is in the state once, and the words name it."""
    request, names = request_of([POLITE, DATED, TONE])
    assert request.state == {"output": "Dear you"}
    assert [request.questions[name].words for name in names] == [
        "Is `output` polite?",
        "Has `output` a date?",
        "Which tone has `output`?",
    ]


def test_texts_of_one_name_are_told_apart():
    """The words of each question name its own."""
    other = replace(POLITE, about={"output": "Hey"})
    request, names = request_of([POLITE, other])
    assert sorted(request.state.values()) == ["Dear you", "Hey"]
    for name, text in zip(names, ("Dear you", "Hey"), strict=True):
        called = request.questions[name].words.removeprefix("Is `").removesuffix("` polite?")
        assert request.state[called] == text


def test_who_asks_first_changes_nothing():
    """A trial that is run again makes the same request."""
    assert request_of([POLITE, DATED, TONE])[0] == request_of([TONE, POLITE, DATED])[0]


def test_what_is_asked_twice_is_asked_once():
    """And both are given the same answer."""
    request, names = request_of([POLITE, POLITE])
    assert len(request.questions) == 1
    assert names[0] == names[1]


def test_a_text_cannot_name_another_text():
    """What stands for a name is taken out of what users and models write."""
    assert place_of("secret") not in words_only(f"is {place_of('secret')} there?")


def test_the_instrument_is_the_question_without_its_texts():
    """Another output is asked about with the same instrument; other words are another one."""
    assert POLITE.instrument == replace(POLITE, about={"output": "Hey"}).instrument
    assert POLITE.instrument != DATED.instrument
    assert TONE.instrument != replace(TONE, options=(("warm", ""), ("cold", ""))).instrument


def _read(question: DecisionQuestion, answer: Any) -> tuple[float, ...]:
    request, (name,) = request_of([question])
    answers = answer if answer is None or "type" not in answer else {name: answer}
    return read_decision(request, name, answers).probabilities


def test_a_probability_is_read():
    """Of yes, and of each option in its order."""
    assert _read(POLITE, {"type": "yes_no", "probability": 0.8}) == (0.8, pytest.approx(0.2))
    assert _read(TONE, CHOICE) == pytest.approx((0.5, 0.3, 0.2))


def test_levels_are_read_by_their_place():
    """However the API counts its score, the expected level has to be the probabilities' own."""
    answer = {"type": "level", "levels": {"0": 0.1, "1": 0.2, "2": 0.7}, "score": 1.6}
    assert _read(CLEAR, answer) == pytest.approx((0.1, 0.2, 0.7))
    with pytest.raises(JudgeError, match=r"score is 0\.3, and its probabilities come to 1\.6"):
        _read(CLEAR, {**answer, "score": 0.3})


def test_levels_in_another_order_are_an_error():
    """Where a reply says what each of its levels is called."""
    answer = {"type": "level", "levels": {"0": 0.1, "1": 0.2, "2": 0.7}}
    right = {"0": "warm", "1": "cold", "2": "rude: insults somebody"}
    assert _read(CLEAR, {**answer, "legend": right}) == pytest.approx((0.1, 0.2, 0.7))
    with pytest.raises(JudgeError, match="calls level 0 'rude"):
        _read(CLEAR, {**answer, "legend": {"0": "rude: insults somebody", "2": "warm"}})


def test_what_is_rounded_to_two_digits_still_adds_up():
    """Three thirds of 0.33 are a whole."""
    thirds = {"type": "choice", "probabilities": {"warm": 0.33, "cold": 0.33, "rude": 0.33}}
    assert _read(TONE, thirds) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("question", "answer", "why"),
    [
        (POLITE, None, "holds no answers"),
        (POLITE, {}, "gave no answer"),
        (POLITE, {"type": "refusal"}, "refused"),
        (POLITE, CHOICE, "of another kind: 'choice', not 'yes_no'"),
        (POLITE, {"type": "yes_no", "probability": math.nan}, "probability is nan"),
        (POLITE, {"type": "yes_no", "probability": 1.01}, r"probability is 1\.01"),
        (POLITE, {"type": "yes_no", "probability": -0.1}, r"probability is -0\.1"),
        (POLITE, {"type": "yes_no", "probability": True}, "probability is True"),
        (POLITE, {"type": "yes_no", "probability": "0.9"}, "probability is '0.9'"),
        (POLITE, {"type": "yes_no"}, "probability is None"),
        (POLITE, TWICE, "answered this question twice"),
        (POLITE, {"q1": {"type": "yes_no", "probability": 0.9}}, "was not asked: 'q1'"),
        (TONE, {"type": "choice", "probabilities": {"warm": 1.0}}, "not those of the options"),
        (TONE, {"type": "choice", "probabilities": [0.2, 0.8]}, "not those of the options"),
        (TONE, {**CHOICE, "probabilities": {"warm": 0.5, "cold": 0.5, "rude": 0.5}}, "come to 1.5"),
        (TONE, {**CHOICE, "choice": "rude"}, "chose 'rude', which its probabilities do not bear"),
        (TONE, {**CHOICE, "choice": "kind"}, "chose 'kind'"),
    ],
)
def test_what_does_not_add_up_is_an_error(question: DecisionQuestion, answer: Any, why: str):
    """It is never a score."""
    with pytest.raises(JudgeError, match=why):
        _read(question, answer)

"""The fake decision model: a rule for each question, in every dialect."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from evenhand.testing import FakeProvider, Rule, Script

POLITE = {"type": "noul", "instructions": "Is `output` polite?"}
SYSTEM_ONE: dict[str, Any] = {
    "model": "kev",
    "state": {"output": "Dear you", "context": "a shop"},
    "questions": {
        "polite": POLITE,
        "tone": {
            "type": "choice",
            "instructions": "Which tone has `output`?",
            "criteria": {"warm": None, "cold": None},
        },
        "clear": {
            "type": "score",
            "instructions": "How clear is `output`?",
            "criteria": ["1: muddled", "2: clear"],
        },
    },
}
OPENAI = {
    "model": "gpt-6-luna",
    "input": '{"output": "Dear you"}',
    "questions": [{"name": "polite", "type": "predicate", "instructions": "Is `output` polite?"}],
}
SGLANG = {
    "input": {"output": "Dear you"},
    "questions": [{"id": "polite", "type": "yes_no", "question": "Is `output` polite?"}],
}
GOOGLE = {**OPENAI, "questions": {"polite": POLITE}}


def ask(fake: FakeProvider, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    data = json.dumps(body).encode()
    with urlopen(Request(f"{fake.url}{path}", data, method="POST")) as answer:
        return json.loads(answer.read())


def answers(rules: list[Rule], body: dict[str, Any] = SYSTEM_ONE) -> dict[str, Any]:
    """System One's answers by these rules."""
    with FakeProvider(Script(rules)) as fake:
        return ask(fake, "/v1/systemone", body)["answers"]


def test_each_question_finds_its_own_rule():
    """By its words, and by the texts that it names and no others."""
    rules = [
        Rule(last="a shop", reply=0.1),
        Rule(system="polite", last="^Dear you$", reply=0.9),
        Rule(system="tone", reply="cold"),
        Rule(system="clear", reply={"score": 2}),
    ]
    by_name = answers(rules)
    assert by_name["polite"]["noul"] == 0.9
    assert by_name["tone"]["choice"] == "cold"
    assert by_name["tone"]["probabilities"]["cold"] == 0.95
    assert by_name["clear"]["probabilities"] == {"0": pytest.approx(0.05), "1": 0.95}


@pytest.mark.parametrize(
    ("reply", "yes"),
    [(0.3, 0.3), ("yes", 0.95), ("no", 0.05), (True, 0.95), ({"passes": False}, 0.05)],
)
def test_a_yes_or_no_may_be_written_in_several_ways(reply: object, yes: float):
    """As a probability, as a word, or as a judge that writes would."""
    assert answers([Rule(system="polite", reply=reply)])["polite"]["noul"] == yes


def test_other_texts_draw_the_same_probability_each_time():
    """A script without a rule for it still answers."""
    first, second = answers([]), answers([])
    assert first == second
    assert 0 <= first["polite"]["noul"] <= 1


def test_one_question_can_be_refused_and_another_left_out():
    """Beside ones that are answered."""
    rules = [Rule(system="polite", reply="refusal"), Rule(system="tone", reply="missing")]
    by_name = answers(rules)
    assert by_name["polite"] == {"type": "refusal"}
    assert set(by_name) == {"polite", "clear"}


@pytest.mark.parametrize(
    ("path", "body", "yes"),
    [
        ("/v1/decisions", OPENAI, lambda a: a[0]["probability"]),
        ("/v1beta/decisions", GOOGLE, lambda a: a["polite"]["noul"]),
        ("/v1/decisions", SGLANG, lambda a: a["polite"]["probabilities"]["yes"]),
        ("/v1/systemone", SYSTEM_ONE, lambda a: a["polite"]["noul"]),
    ],
)
def test_every_dialect_is_answered_in_its_form(path: str, body: dict[str, Any], yes: Any):
    """With tokens under the names that it has for them; and its charge is in the ledger."""
    with FakeProvider(Script([Rule(system="polite", reply=0.8)])) as fake:
        answer = ask(fake, path, body)
        assert yes(answer["answers"]) == 0.8
        assert fake.ledger.total == 1
    counts = answer["usage"].values()
    assert max(counts) > 0


def test_a_script_on_disk_that_lacks_a_question_refuses_the_request():
    """As it does for other models: nothing is made up."""
    with FakeProvider(Script([Rule(system="polite", reply=0.8)], default=None)) as fake:
        with pytest.raises(HTTPError) as error:
            ask(fake, "/v1/systemone", SYSTEM_ONE)
        with error.value as refusal:
            assert refusal.code == 400

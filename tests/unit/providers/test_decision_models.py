"""Decision models: what is sent has the form of the vendors' own types, and no hostile reply becomes a score."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.decision import Decision, DecisionQuestion, place_of, read_decision, request_of
from evenhand.core.errors import BadReply, JudgeError, UsageError
from evenhand.core.message import Prompt, Reply
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.catalog import create
from evenhand.providers.chat import ChatProvider
from evenhand.testing import decisions

OUTPUT = place_of("output")
POLITE = DecisionQuestion(kind="yes_no", words=f"Is {OUTPUT} polite?", about={"output": "Hi"})
TONE = DecisionQuestion(
    kind="choice",
    words=f"Which tone has {OUTPUT}?",
    about={"output": "Hi"},
    options=(("warm", ""), ("cold", "says little")),
)
CLEAR = DecisionQuestion(
    kind="level",
    words=f"How clear is {OUTPUT}?",
    about={"output": "Hi"},
    options=(("1", "muddled"), ("2", "clear"), ("3", "")),
)
ASKED, (POLITE_NAME, TONE_NAME, CLEAR_NAME) = request_of([POLITE, TONE, CLEAR])
PROMPT = Prompt((), ASKED.text, task="decide", decisions=ASKED)
IDS = {
    "openai": "openai:decisions:gpt-6-luna",
    "google": "google:decisions:gemini-decision-1",
    "system one": "systemone:kev@http://localhost:8080",
    "sglang": "decisions:http://localhost:30000",
}


def _provider(id_: str, **config: Any) -> ChatProvider:
    provider = create(id_, config=config, env={}, base=Path())
    assert isinstance(provider, ChatProvider)
    return provider


def _body(provider: ChatProvider) -> dict[str, Any]:
    return json.loads(provider.request(PROMPT).payload)


def test_openai_is_asked_in_the_form_of_its_types():
    """`types/decision_create_params.py` of openai 3.57: input, model, and a list of questions with names."""
    provider = _provider(IDS["openai"])
    body = _body(provider)
    assert provider.url == "https://api.openai.com/v1/decisions"
    assert json.loads(body.pop("input")) == {"output": "Hi"}
    questions = {question.pop("name"): question for question in body.pop("questions")}
    assert body == {"model": "gpt-6-luna"}
    assert questions == {
        POLITE_NAME: {"type": "predicate", "instructions": "Is `output` polite?"},
        TONE_NAME: {
            "type": "choice",
            "instructions": "Which tone has `output`?",
            "choices": [{"value": "warm"}, {"value": "cold", "description": "says little"}],
        },
        CLEAR_NAME: {
            "type": "score",
            "instructions": "How clear is `output`?",
            "levels": [
                {"label": "1", "description": "muddled"},
                {"label": "2", "description": "clear"},
                {"label": "3"},
            ],
        },
    }


def test_google_is_asked_in_the_form_of_its_types():
    """`_gaos/types/decisions` of google-genai 3.6: questions by name, and no description is an empty text."""
    provider = _provider(IDS["google"])
    body = _body(provider)
    assert provider.url == "https://generativelanguage.googleapis.com/v1beta/decisions"
    assert body["model"] == "gemini-decision-1"
    assert json.loads(body["input"]) == {"output": "Hi"}
    assert body["questions"] == {
        POLITE_NAME: {"type": "noul", "instructions": "Is `output` polite?"},
        TONE_NAME: {
            "type": "choice",
            "instructions": "Which tone has `output`?",
            "criteria": {"warm": "", "cold": "says little"},
        },
        CLEAR_NAME: {
            "type": "score",
            "instructions": "How clear is `output`?",
            "criteria": ["1: muddled", "2: clear", "3"],
        },
    }


def test_system_one_is_asked_for_a_state():
    """The state is an object of texts, and no description is null."""
    body = _body(_provider(IDS["system one"]))
    assert body["model"] == "kev"
    assert body["state"] == {"output": "Hi"}
    assert body["questions"][TONE_NAME]["criteria"] == {"warm": None, "cold": "says little"}
    assert body["questions"][POLITE_NAME]["type"] == "noul"


def test_sglang_is_asked_in_its_own_form():
    """A list of questions with an id each."""
    body = _body(_provider(IDS["sglang"]))
    assert body["input"] == {"output": "Hi"}
    by_id = {question["id"]: question for question in body["questions"]}
    assert by_id[POLITE_NAME] == {
        "id": POLITE_NAME,
        "type": "yes_no",
        "question": "Is `output` polite?",
    }
    assert by_id[TONE_NAME]["options"] == [
        {"name": "warm"},
        {"name": "cold", "description": "says little"},
    ]
    assert by_id[CLEAR_NAME]["levels"] == ["1: muddled", "2: clear", "3"]


@pytest.mark.parametrize(
    ("id_", "url"),
    [
        ("systemone:http://localhost:8080", "http://localhost:8080/v1/systemone"),
        ("systemone:http://localhost:8080/v1", "http://localhost:8080/v1/systemone"),
        ("systemone:http://localhost:8080/v1/systemone", "http://localhost:8080/v1/systemone"),
        ("systemone:jev@https://api.typesafe.ai", "https://api.typesafe.ai/v1/systemone"),
        ("decisions:http://localhost:30000/", "http://localhost:30000/v1/decisions"),
        ("openai:decisions:x@http://localhost:1/v1", "http://localhost:1/v1/decisions"),
    ],
)
def test_an_address_may_leave_its_path_out(id_: str, url: str):
    """What is missing is added."""
    assert _provider(id_).url == url


def test_an_id_without_an_address_says_what_to_write():
    """There is no server that everybody means."""
    with pytest.raises(UsageError, match="names no address"):
        _provider("systemone:kev")


def test_only_its_vendor_is_sent_the_vendors_key():
    """A server of somebody else's is sent its own, or none."""
    env = {"TYPESAFE_API_KEY": "ts-secret"}
    own = create("systemone:jev@https://api.typesafe.ai", env=env, base=Path())
    other = create("systemone:jev@https://example.test", env=env, base=Path())
    assert isinstance(own, ChatProvider)
    assert isinstance(other, ChatProvider)
    assert (own.key, other.key) == ("ts-secret", "")
    assert create("systemone:jev@https://api.typesafe.ai", env={}, base=Path()).needs_key  # type: ignore[attr-defined]


def test_what_is_written_costs_nothing():
    """The worst price is that of what is read."""
    request = _provider(IDS["openai"]).request(PROMPT)
    assert request.tokens_out == 0
    assert request.cost_bound_usd == pytest.approx(len(request.identity) * 0.1 / 1e6, rel=0.5)
    assert request.deterministic


REPLIES: Mapping[str, tuple[dict[str, Any], dict[str, int]]] = {
    "openai": (
        {
            "model": "gpt-6-luna-2026-10-06",
            "answers": [
                {"type": "predicate", "name": POLITE_NAME, "probability": 0.9},
                {
                    "type": "choice",
                    "name": TONE_NAME,
                    "choice": "cold",
                    "confidence": 0.7,
                    "probabilities": [
                        {"value": "warm", "probability": 0.3},
                        {"value": "cold", "probability": 0.7},
                    ],
                },
                {
                    "type": "score",
                    "name": CLEAR_NAME,
                    "score": 2.1,  # the levels' values count from 1 here
                    "confidence": 0.5,
                    "probabilities": [
                        {"label": "1", "value": 1, "probability": 0.2},
                        {"label": "2", "value": 2, "probability": 0.5},
                        {"label": "3", "value": 3, "probability": 0.3},
                    ],
                },
            ],
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 100,
            },
        },
        {"tokens_in": 100, "tokens_out": 0, "tokens_cached": 10},
    ),
    "google": (
        {
            "answers": {
                POLITE_NAME: {"type": "noul", "noul": 0.9, "confidence": 0.9},
                TONE_NAME: {
                    "type": "choice",
                    "choice": "cold",
                    "confidence": 0.7,
                    "probabilities": {"warm": 0.3, "cold": 0.7},
                },
                CLEAR_NAME: {
                    "type": "score",
                    "score": 1.1,
                    "confidence": 0.5,
                    "legend": {"0": "1: muddled", "1": "2: clear", "2": "3"},
                    "probabilities": {"0": 0.2, "1": 0.5, "2": 0.3},
                },
            },
            "usage": {"total_input_tokens": 100, "total_tokens": 100},
        },
        {"tokens_in": 100, "tokens_out": 0},
    ),
    "system one": (
        {
            "model": "kev-4b",
            "answers": {
                POLITE_NAME: {"type": "noul", "noul": 0.9},
                TONE_NAME: {
                    "type": "choice",
                    "choice": "cold",
                    "probabilities": {"warm": 0.3, "cold": 0.7},
                },
                CLEAR_NAME: {"type": "score", "score": 1.1, "probabilities": [0.2, 0.5, 0.3]},
            },
            "usage": {"input_tokens": 100, "output_tokens": 0},
        },
        {"tokens_in": 100, "tokens_out": 0},
    ),
    "sglang": (
        {
            "object": "decisions",
            "model": "default",
            "prompt_format_version": 1,
            "answers": {
                POLITE_NAME: {
                    "type": "yes_no",
                    "probabilities": {"yes": 0.9, "no": 0.1},
                    "label_mass": 1.0,
                },
                TONE_NAME: {
                    "type": "choice",
                    "choice": "cold",
                    "probabilities": {"warm": 0.3, "cold": 0.7},
                },
                CLEAR_NAME: {
                    "type": "score",
                    "score": 1.1,
                    "probabilities": {"0": 0.2, "1": 0.5, "2": 0.3},
                },
            },
            "usage": {"prompt_tokens": 100, "completion_tokens": 0},
        },
        {"tokens_in": 100, "tokens_out": 0},
    ),
}


@pytest.mark.parametrize("vendor", IDS)
def test_answers_are_read_in_the_form_of_each_vendor(vendor: str):
    """They come to the same decisions."""
    value, usage = REPLIES[vendor]
    reply = _provider(IDS[vendor]).reply(json.dumps(value).encode())
    counted = {name: getattr(reply.usage, name) for name in usage}
    assert counted == usage
    assert reply.model == value.get("model", "")
    assert _read(reply, POLITE_NAME).probability == 0.9
    assert _read(reply, TONE_NAME).probabilities == pytest.approx((0.3, 0.7))
    assert _read(reply, CLEAR_NAME).probabilities == pytest.approx((0.2, 0.5, 0.3))


def _read(reply: Reply, name: str) -> Decision:
    return read_decision(ASKED, name, reply.output)


def test_an_input_that_google_blocks_is_refused():
    """There are no answers then."""
    body = b'{"prompt_feedback": {"block_reason": "safety"}}'
    reply = _provider(IDS["google"]).reply(body)
    assert reply.refused
    with pytest.raises(JudgeError):
        _read(reply, POLITE_NAME)


@pytest.mark.parametrize(
    ("vendor", "body"),
    [
        ("openai", """{"answers": [{"name": "NAME", "type": "predicate", "probability": 0.9},
            {"name": "NAME", "type": "predicate", "probability": 0.1}]}"""),
        ("google", """{"answers": {"NAME": {"type": "noul", "noul": 0.9},
            "NAME": {"type": "noul", "noul": 0.1}}}"""),
    ],
)  # fmt: skip
def test_two_answers_to_one_question_are_none(vendor: str, body: str):
    """Nobody knows which of them is meant."""
    reply = _provider(IDS[vendor]).reply(body.replace("NAME", POLITE_NAME).encode())
    with pytest.raises(JudgeError, match="twice"):
        _read(reply, POLITE_NAME)


@pytest.mark.parametrize("vendor", IDS)
def test_answers_beside_an_error_are_not_finished(vendor: str):
    """Whatever the vendor had worked out by then."""
    value = {**REPLIES[vendor][0], "error": {"code": "overloaded", "message": "stopped early"}}
    with pytest.raises(NoAnswer, match="stopped early"):
        _provider(IDS[vendor]).reply(json.dumps(value).encode())


@pytest.mark.parametrize("vendor", IDS)
@pytest.mark.parametrize("number", ["1e309", "-1e309", "NaN"])
def test_a_number_that_is_none_takes_no_other_answer_with_it(vendor: str, number: str):
    """JSON has no largest number; Python's floats have."""
    body = json.dumps(REPLIES[vendor][0]).replace("0.9", number)
    assert number in body
    reply = _provider(IDS[vendor]).reply(body.encode())
    with pytest.raises(JudgeError, match=r"not a number from 0 to 1"):
        _read(reply, POLITE_NAME)
    assert _read(reply, TONE_NAME).probabilities == pytest.approx((0.3, 0.7))


Spoil = Callable[[random.Random, dict[str, Any]], object]
"""What becomes of an answer, in System One's form; None for left out."""
_NUMBERS = (math.nan, math.inf, -math.inf, 1.0001, 2, 100, -0.01, 1e308, True, None, "0.9", [], {})


def _with_numbers(change: Callable[[random.Random, float], object]) -> Spoil:
    def spoil(rng: random.Random, answer: dict[str, Any]) -> object:
        for key in ("noul", "probability"):
            if key in answer:
                answer[key] = change(rng, answer[key])
        given = answer.get("probabilities")
        if isinstance(given, dict) and given:
            victim = "yes" if "yes" in given else rng.choice(list(given))
            given[victim] = change(rng, given[victim])
        return answer

    return spoil


def _unsummed(rng: random.Random, answer: dict[str, Any]) -> object:
    given = answer.get("probabilities")
    if not isinstance(given, dict):
        return {"type": answer["type"]}  # nothing of it adds up
    factor = rng.choice([0.0, 0.3, 0.7, 1.4, 2.0])
    answer["probabilities"] = {key: number * factor for key, number in given.items()}
    return answer


def _other_kind(rng: random.Random, answer: dict[str, Any]) -> object:
    others = {"predicate", "noul", "yes_no", "choice", "score", "essay", None} - {answer["type"]}
    if answer["type"] in ("predicate", "noul", "yes_no"):
        others -= {"predicate", "noul", "yes_no"}
    answer["type"] = rng.choice(sorted(others, key=str))
    return answer


def _without_options(rng: random.Random, answer: dict[str, Any]) -> object:
    given = answer.get("probabilities")
    if not isinstance(given, dict) or "yes" in given:
        return rng.choice([{}, {"type": answer["type"]}, "yes", 0.9, [0.9]])
    kept = dict(list(given.items())[1:])
    answer["probabilities"] = rng.choice([kept, {}, None, {**given, "another": 0.0}])
    return answer


SPOILS: Mapping[str, Spoil] = {
    "refusal": lambda rng, answer: {"type": "refusal"},
    "left out": lambda rng, answer: None,
    "no number": _with_numbers(lambda rng, number: rng.choice(_NUMBERS)),
    "unsummed": _unsummed,
    "another kind": _other_kind,
    "other options": _without_options,
    "null": lambda rng, answer: rng.choice(["yes", 0.9, True, [], ["yes"], 1]),
}
WHOLES: Mapping[str, Callable[[random.Random, bytes], bytes]] = {
    "half": lambda rng, body: body[: rng.randrange(len(body) - 1)],
    "page": lambda rng, body: b"<html>Sign in</html>",
    "other question": lambda rng, body: body.replace(POLITE_NAME.encode(), b"q0000000000"),
    "list": lambda rng, body: b"[" + body + b"]",
    "no answers": lambda rng, body: b'{"model": "m", "answers": null}',
}


@pytest.mark.parametrize("vendor", IDS)
def test_no_hostile_reply_becomes_a_score(vendor: str):
    """125 of each dialect, 500 in all: refusals, missing answers, no numbers, sums, kinds, options, other questions."""
    seed = 43
    print(f"seed {seed}")  # noqa: T201 (to run it again)
    rng = random.Random(seed)
    provider = _provider(IDS[vendor])
    body = _body(provider)
    names = [question.name for question in decisions.questions_in(body)]
    scores: list[str] = []
    hostile = 0
    for _ in range(125):
        replies = [rng.choice([rng.random(), "yes", f"free text {rng.random()}"]) for _ in names]
        good = decisions.answered(body, replies)
        name = rng.choice(names)
        if rng.random() < 0.2:
            what = rng.choice(sorted(WHOLES))
            name = POLITE_NAME
            data = WHOLES[what](rng, json.dumps(good).encode())
        else:
            what = rng.choice(sorted(SPOILS))
            data = json.dumps(_spoiled(rng, good, name, SPOILS[what])).encode()
        hostile += 1
        try:
            decision = _read(provider.reply(data), name)
        except (JudgeError, BadReply):
            continue
        scores.append(f"{what}: {decision} from {data!r:.400}")
    assert hostile == 125
    assert scores == []


def _spoiled(rng: random.Random, good: dict[str, Any], name: str, spoil: Spoil) -> dict[str, Any]:
    """A reply, one of whose answers is spoiled."""
    reply = copy.deepcopy(good)
    answers = reply["answers"]
    if isinstance(answers, dict):
        spoiled = spoil(rng, answers.pop(name))
        if spoiled is not None:
            answers[name] = spoiled
        return reply
    place = next(i for i, answer in enumerate(answers) if answer["name"] == name)
    answer = answers.pop(place)
    rows = answer.get("probabilities")
    key = "label" if answer["type"] == "score" else "value"
    if rows is not None:
        answer["probabilities"] = {row[key]: row["probability"] for row in rows}
    spoiled = spoil(rng, answer)
    if isinstance(spoiled, dict) and isinstance(spoiled.get("probabilities"), dict):
        spoiled["probabilities"] = [
            {key: option, "probability": number, "value" if key == "label" else "x": place}
            for place, (option, number) in enumerate(spoiled["probabilities"].items())
        ]
    if isinstance(spoiled, dict):
        spoiled["name"] = name
    if spoiled is not None:
        answers.insert(place, spoiled)
    return reply

"""Verdicts by id, from judges that cannot count."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.core.message import Prompt
from evenhand.core.score import Outcome
from evenhand.scorers import Faithfulness
from evenhand.testing import Scripted

CLAIMS = ["One is so", "Two is so", "Three is so"]
ANSWER = ". ".join(CLAIMS) + "."
PAGES = ["One is so. Three is so.", "Nothing else."]
GOOD = [
    {
        "id": 1,
        "reasoning": "r",
        "verdict": "supported",
        "evidence": [{"passage": 1, "quote": "One is so"}],
    },
    {"id": 2, "reasoning": "r", "verdict": "not_found", "evidence": []},
    {
        "id": 3,
        "reasoning": "r",
        "verdict": "supported",
        "evidence": [{"passage": 1, "quote": "Three is so"}],
    },
]
Run = Callable[..., Any]


def numbered(*ids: Any) -> list[Any]:
    """The good verdicts, with these ids."""
    return [{**verdict, "id": i} for verdict, i in zip(GOOD, ids, strict=False)]


async def judged(
    settled: Run, rule: Callable[[Prompt], str], *replies: Any
) -> tuple[Outcome, list[Prompt]]:
    """The faithfulness of the answer by a judge that gives these verdicts in turn, and keeps to the rules besides."""
    left = list(replies)

    def reply(prompt: Prompt) -> str:
        if prompt.schema is not None and "sentences" in prompt.schema["properties"]:
            return rule(prompt)
        said = left.pop(0)
        return said if isinstance(said, str) else json.dumps(said)

    judge = Scripted(reply)
    (outcome,) = await settled((ANSWER, Faithfulness(PAGES)), by=judge)
    assert not left
    return outcome, judge.asked[1:]


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize(
    "said",
    [
        {"verdicts": GOOD},
        {"verdicts": GOOD[::-1]},
        {"verdicts": [GOOD]},
        {"verdicts": [[GOOD[0]], [[GOOD[1], GOOD[2]]]]},
        {"verdicts": [*GOOD, {**GOOD[1], "id": 4}]},
        {"verdicts": [*GOOD, GOOD[0]]},
        {"verdicts": numbered("1", 2.0, "claim 3")},
        {"verdicts": {str(v["id"]): {k: v[k] for k in v if k != "id"} for v in GOOD}},
        {"verdicts": [*GOOD, "and that is all", None, 7]},
        {
            "verdicts": [
                {**GOOD[0], "verdict": "SUPPORTED"},
                {**GOOD[1], "verdict": "not found"},
                GOOD[2],
            ]
        },
        "As you asked {braces}: ```json\n" + json.dumps({"verdicts": GOOD}) + "\n```",
        {"notes": {"a": {"b": {"c": "deep } brace"}}}, "verdicts": GOOD},
    ],
    ids=[
        "good",
        "reversed",
        "nested",
        "deep",
        "one-more",
        "double",
        "ids-as-text",
        "by-id",
        "other",
        "words",
        "prose",
        "depth-3",
    ],
)
async def test_a_list_that_can_be_read_is_read(settled: Run, rule: Any, said: Any):
    """Order, nesting, and what is too much do not matter, and nobody is asked again."""
    outcome, asked = await judged(settled, rule, said)
    assert (outcome.outcome, outcome.score) == ("pass", pytest.approx(2 / 3)), outcome.reason
    assert len(asked) == 1


@pytest.mark.parametrize(
    "first",
    [
        GOOD[:2],
        [GOOD[0], GOOD[1], {**GOOD[2], "verdict": "perhaps"}],
        [*GOOD, {**GOOD[2], "verdict": "not_found", "evidence": []}],
    ],
    ids=["short", "unreadable", "differs"],
)
async def test_only_what_is_missing_is_asked_again(settled: Run, rule: Any, first: Any):
    """One claim without a verdict, with one that means nothing, or with two that differ."""
    outcome, asked = await judged(settled, rule, {"verdicts": first}, {"verdicts": [GOOD[2]]})
    assert outcome.score == pytest.approx(2 / 3)
    assert "[3] Three is so" in asked[1].text
    assert "[1] One is so" not in asked[1].text


@pytest.mark.parametrize("ids", [(0, 1, 2), (10, 20, 30), (None, None, None), (True, 2, 3)])
async def test_numbers_of_its_own_make_all_of_them_doubtful(settled: Run, rule: Any, ids: Any):
    """Counted from 0, each verdict would fall on the wrong claim: all are asked again."""
    outcome, asked = await judged(settled, rule, {"verdicts": numbered(*ids)}, {"verdicts": GOOD})
    assert outcome.score == pytest.approx(2 / 3)
    assert "Check the claims 1–3." in asked[1].text


@pytest.mark.parametrize("again", [{"verdicts": []}, {"verdicts": GOOD[:1]}, {"verdicts": "none"}])
async def test_what_is_missing_twice_is_an_error(settled: Run, rule: Any, again: Any):
    """Never a score, and never counted as unsupported."""
    outcome, asked = await judged(settled, rule, {"verdicts": GOOD[:1]}, again)
    assert (outcome.outcome, outcome.error, outcome.score) == ("error", "judge", None)
    assert "no usable verdict on claim 2, 3" in outcome.reason
    assert len(asked) == 2


@pytest.mark.parametrize(
    "bad", ["", "I would rather not.", "null", '{"score": 0.9}', '{"verdicts": [']
)
async def test_no_json_is_asked_again_and_then_an_error(settled: Run, rule: Any, bad: str):
    """A missing answer, prose, a number without a list, half a list."""
    outcome, _ = await judged(settled, rule, bad, {"verdicts": GOOD})
    assert outcome.score == pytest.approx(2 / 3)
    outcome, _ = await judged(settled, rule, bad, bad)
    assert (outcome.outcome, outcome.error) == ("error", "judge")


@pytest.mark.parametrize("key", ["score", "total"])
async def test_a_total_that_disagrees_is_kept_and_not_used(settled: Run, rule: Any, key: str):
    """The verdicts are counted here; the judge's own number is worth a word where it is another."""
    outcome, _ = await judged(settled, rule, {"verdicts": GOOD, key: 0.95})
    assert outcome.score == pytest.approx(2 / 3)
    assert outcome.metadata["judge_total"] == 0.95
    outcome, _ = await judged(settled, rule, {"verdicts": GOOD, key: 0.667})
    assert "judge_total" not in outcome.metadata


async def test_a_quote_that_stands_nowhere_supports_nothing(settled: Run, rule: Any):
    """The claim counts as not found, and is marked."""
    made_up = {**GOOD[0], "evidence": [{"passage": 1, "quote": "One was always so, as all agree"}]}
    outcome, _ = await judged(settled, rule, {"verdicts": [made_up, *GOOD[1:]]})
    assert outcome.score == pytest.approx(1 / 3)
    assert outcome.metadata["claims"][0]["unverified"]


async def test_a_quote_from_another_passage_is_put_where_it_stands(settled: Run, rule: Any):
    """A wrong number beside right words, or none, costs nothing."""
    for passage in (2, 9, None):
        said = {**GOOD[0], "evidence": {"passage": passage, "quote": "One is so"}}
        outcome, _ = await judged(settled, rule, {"verdicts": [said, *GOOD[1:]]})
        assert outcome.metadata["claims"][0]["evidence"] == [[1, "One is so"]]


async def test_judges_are_held_to_a_schema_with_reasons_first(settled: Run, rule: Any):
    """As strict servers want it: all keys required, no others."""
    _, asked = await judged(settled, rule, {"verdicts": GOOD})
    schema = asked[0].schema
    assert schema is not None
    item = schema["properties"]["verdicts"]["items"]
    assert list(item["properties"]) == ["id", "reasoning", "verdict", "evidence"]
    assert item["required"] == list(item["properties"])
    assert item["additionalProperties"] is False


async def test_sentences_without_statements_are_asked_again(settled: Run, rule: Any):
    """What an answer says is read whole, or not at all."""

    def reply(prompt: Prompt) -> str:
        said = json.loads(rule(prompt))
        if "sentences" in said and "1–3" in prompt.text:
            said["sentences"][1]["statements"] = []
        return json.dumps(said)

    judge = Scripted(reply)
    (outcome,) = await settled((ANSWER, Faithfulness(PAGES)), by=judge)
    assert outcome.score == pytest.approx(2 / 3)
    assert "List the statements of the sentences 2." in judge.asked[1].text

"""Frameworks that number the calls of tools anew, at random: results find their calls, and replays answer."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from evenhand import Case, EvalSet, Expect, run
from evenhand.core.message import ToolCall
from evenhand.providers.own_ids import models_ids, with_ids
from evenhand.scorers import CallsTool, Contains
from evenhand.testing import FakeProvider, Rule, Script

Api = Literal["chat/completions", "messages", "responses"]


def call_of(number: int) -> dict[str, Any]:
    """A call of the one tool."""
    return {"name": "find_order", "arguments": {"order": number}}


def turn(api: Api, question: str, number: int, id_: str) -> dict[str, Any]:
    """The second request of an agent, which calls its model's call by this id."""
    calls, result = json.dumps({"order": number}), f"parcel {number} was late"
    user: dict[str, Any] = {"role": "user", "content": question}
    if api == "responses":
        made = {"type": "function_call", "name": "find_order", "arguments": calls, "call_id": id_}
        output = {"type": "function_call_output", "call_id": id_, "output": result}
        return {"input": [user, made, output]}
    if api == "messages":
        use = {"type": "tool_use", "id": id_, "name": "find_order", "input": {"order": number}}
        told = {"type": "tool_result", "tool_use_id": id_, "content": result}
        blocks = [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [told]},
        ]
        return {"messages": [user, *blocks], "max_tokens": 100}
    function = {"name": "find_order", "arguments": calls}
    asks = {
        "role": "assistant",
        "tool_calls": [{"id": id_, "type": "function", "function": function}],
    }
    return {"messages": [user, asks, {"role": "tool", "tool_call_id": id_, "content": result}]}


@pytest.mark.parametrize("api", ["chat/completions", "messages", "responses"])
def test_a_replay_answers_an_agent_that_makes_up_ids(api: Api, tmp_path: Path) -> None:
    """Its steps have their results, and the vendor is sent what the agent wrote."""
    evals = EvalSet("shop", data=[{"id": "one", "input": "Where is order 1?", "number": 1}])
    model = "claude-haiku-4-5" if api == "messages" else "gpt-5-mini"
    rules = [
        Rule((r"parcel 1 was late",), "Order 1 is late."),
        Rule((r"order 1\b",), tool_calls=(call_of(1),)),
    ]
    sent: list[str] = []
    cassette = str(tmp_path / "shop.cassette")
    with FakeProvider(Script(rules)) as fake:

        @evals.eval
        async def asks(case: Case, expect: Expect) -> str:
            id_ = uuid.uuid4().hex
            sent.append(id_)
            first = turn(api, case.input, 1, id_)
            key = "input" if api == "responses" else "messages"
            async with httpx.AsyncClient(base_url=f"{fake.url}/v1") as http:
                answer = await http.post(
                    f"/{api}", json={**first, key: first[key][:1], "model": model}
                )
                assert "find_order" in answer.text
                answer = await http.post(f"/{api}", json={**first, "model": model})
            expect(answer.text, Contains("Order 1 is late."))
            expect(expect.steps, CallsTool("find_order", {"order": 1}))
            (tool,) = [step for step in expect.steps if step.kind == "tool"]
            assert "parcel 1 was late" in str(tool.result)
            return "done"

        asked = run(evals, progress=False, home=tmp_path, cassette=cassette, record=True)
        assert asked.passed, [trial.reason for trial in asked.trials()]
        assert fake.ledger.total == 2
        again = run(evals, progress=False, home=tmp_path, cassette=cassette)
        assert again.passed, [trial.reason for trial in again.trials()]
        assert fake.ledger.total == 2
    assert len(set(sent)) == 2


def test_ids_of_calls_alike_keep_their_order() -> None:
    """And those of other tools, or that the model gave, are left alone; so are words that look like one."""
    asked = [
        ToolCall("find", {"n": 1}, "a"),
        ToolCall("find", {"n": 1}, "b"),
        ToolCall("x", {}, "c"),
    ]
    calls = [
        {"id": f"own {n}", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate([("find", '{"n": 1}')] * 2 + [("find", '{"n": 2}')])
    ]
    said = [{"role": "tool", "tool_call_id": "own 1", "content": "own 0"}]
    body = {"messages": [{"role": "assistant", "tool_calls": calls}, *said], "id": 7}
    ids = models_ids(body, asked)
    assert ids == {"own 0": "a", "own 1": "b"}
    changed = with_ids(body, ids)
    assert [call["id"] for call in changed["messages"][0]["tool_calls"]] == ["a", "b", "own 2"]
    assert changed["messages"][1] == {"role": "tool", "tool_call_id": "b", "content": "own 0"}
    given = json.loads(json.dumps(body).replace("own 0", "a"))
    assert models_ids(given, asked) == {"own 1": "b"}
    assert models_ids(body, []) == {}

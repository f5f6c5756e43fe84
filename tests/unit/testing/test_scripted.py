"""The model in the process, the plan made by hand, and the names that the room gives out."""

from __future__ import annotations

import pytest

import evenhand.testing
from evenhand import EvalSet, Expect, Model, run
from evenhand.core.errors import BadRequest, Overloaded
from evenhand.core.message import Prompt
from evenhand.engine.code import CodeHost
from evenhand.testing import Scripted, example
from evenhand.testing.ledger import Ledger, request_key


async def say(model: Scripted, text: str) -> str:
    """What the model says to this."""
    request = model.request(Prompt.of(text))
    return model.reply((await model.send(request, CodeHost())).body).text


async def test_replies_come_in_turn_and_then_from_the_start():
    """What reached the model is kept."""
    model = Scripted(("one", "two"))
    assert [await say(model, "x") for _ in range(3)] == ["one", "two", "one"]
    assert [prompt.text for prompt in model.asked] == ["x"] * 3


async def test_one_reply_is_given_each_time():
    """And not letter by letter."""
    model = Scripted("yes")
    assert [await say(model, "x") for _ in range(2)] == ["yes", "yes"]


@pytest.mark.parametrize(
    "scripts", [(("yes",), ("no",)), ({"": "yes"}, {"": "no"}), (lambda _: "yes", lambda _: "no")]
)
def test_another_script_is_not_given_the_cached_answers_of_the_first(tmp_path, scripts):
    """Whoever edits a script sees what it says now. The same texts are taken from the cache."""
    outputs: list[object] = []
    for replies in (*scripts, scripts[1]):
        evals = EvalSet("edited", model=Scripted(replies))

        @evals.eval
        async def says(model: Model, expect: Expect) -> str:
            expect(True, "is asked")
            return (await model.generate("hi")).text

        with run(evals, home=tmp_path, progress=False) as result:
            outputs.append(result.trial(0).output)
            cached = result.totals().cached
    assert outputs == ["yes", "no", "no"]
    assert cached == (0 if callable(scripts[0]) else 1)


async def test_replies_by_what_is_asked_or_as_a_function_says():
    """A question that is in no key is refused."""
    model = Scripted({"France": "Paris", "Peru": Overloaded("busy")})
    assert await say(model, "capital of France?") == "Paris"
    with pytest.raises(Overloaded):
        await say(model, "capital of Peru?")
    with pytest.raises(BadRequest, match="no reply to: capital of Chad"):
        await say(model, "capital of Chad?")
    assert await say(Scripted(lambda prompt: prompt.text.upper()), "loud") == "LOUD"


async def test_a_model_with_nothing_to_say_refuses():
    """Rather than divide by nothing."""
    with pytest.raises(BadRequest, match="no replies"):
        await say(Scripted(()), "x")


def test_what_changes_the_answer_changes_the_request():
    """The model's name, the text, the settings; not its label."""
    prompt = Prompt.of("x")
    key = Scripted().request(prompt).key
    assert Scripted(label="other").request(prompt).key == key
    others = [
        Scripted(id="other").request(prompt).key,
        Scripted().request(Prompt.of("y")).key,
        Scripted().request(Prompt.of("x", temperature=1)).key,
    ]
    assert len({key, *others}) == 4


async def test_an_example_is_a_plan_of_cases_times_repeats_times_variants():
    """Case by case, each place once."""

    async def body(trial: object) -> object:
        return None

    plan = example(2, body, repeats=3)
    planned_trials = list(plan.trials())
    assert (plan.size, plan.case_count) == (6, 2)
    assert [planned.index for planned in planned_trials] == list(range(6))
    assert [(planned.case.id, planned.repeat) for planned in planned_trials[2:4]] == [
        ("case-0", 2),
        ("case-1", 0),
    ]
    assert planned_trials[0].case.vars == {"n": 0}
    assert plan.estimate() == []


def test_a_ledger_counts_by_request():
    """Whatever order its keys came in."""
    ledger = Ledger()
    for body in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}):
        ledger.bill(request_key("p", body))
    assert (ledger.total, ledger.repeated, ledger.delivered) == (3, 1, {})


def test_the_rooms_names_are_all_there():
    """And no others."""
    for name in evenhand.testing.__all__:
        assert getattr(evenhand.testing, name)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = evenhand.testing.Nothing

"""Embeddings, classifications and moderations: calls like any other, with journal, cache and limits behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import BadRequest
from evenhand.engine import door
from evenhand.providers.catalog import create
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script, Scripted, example


async def settled(tmp_path: Path, body, count: int = 1, models=()):
    """The trials of a run of this body, and its calls."""
    plan = example(count, body, providers=models)
    ended = await door.settle(plan, door.Settings(home=tmp_path))
    with RunFile.open(ended.path) as run:
        return list(run.trials()), list(run.calls())


async def test_texts_are_embedded_in_their_order_and_each_once(tmp_path):
    """The same text twice is one call."""
    model = Scripted()

    async def body(trial):
        vectors = await trial.model(model, "judge").embed(["a dog", "a cat", "a dog"])
        assert vectors[0] == vectors[2] != vectors[1]
        assert len(vectors[0]) == 256
        return "done"

    (trial,), calls = await settled(tmp_path, body)
    assert trial.output == "done"
    assert (trial.calls, len(calls), len(model.asked)) == (2, 2, 2)
    assert {call.start.role for call in calls} == {"judge"}


async def test_no_texts_have_no_vectors(tmp_path):
    """Nobody is asked."""
    model = Scripted()

    async def body(trial):
        return await trial.model(model, "judge").embed([])

    (trial,), calls = await settled(tmp_path, body)
    assert (trial.output, calls) == ([], [])


async def test_a_text_is_embedded_once_for_all_trials_and_runs(tmp_path):
    """There is one draw of a measurement: cases, repeats and runs share it."""
    model = Scripted()

    async def body(trial):
        lent = trial.model(model, "judge")
        return [await lent.embed(["same"]), await lent.embed(["same"])] != []

    await settled(tmp_path, body, 3)
    assert len(model.asked) == 1
    _, calls = await settled(tmp_path, body, 3)
    assert len(model.asked) == 1
    assert {call.end.origin for call in calls if call.end} == {"cache"}


async def test_the_reply_of_the_subject_is_not_what_was_measured_of_it(tmp_path):
    """Scorers look at what it said."""
    model = Scripted(["hello"])

    async def body(trial):
        lent = trial.model(model, "subject")
        await lent.generate("hi")
        await lent.embed(["hello"])
        return (trial.reply.text, trial.prompt_text)

    (trial,), _ = await settled(tmp_path, body)
    assert trial.output == ["hello", "hi"]


async def test_one_text_that_cannot_be_embedded_is_the_error_of_all(tmp_path):
    """And leaves no call behind."""

    class Fails(Scripted):
        async def send(self, request, host):
            if request.payload.text == "b":
                raise BadRequest("no b")
            return await super().send(request, host)

    async def body(trial):
        await trial.model(Fails(), "judge").embed(["a", "b", "c"])

    (trial,), _ = await settled(tmp_path, body)
    assert trial.error is not None
    assert trial.error.message == "no b"


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda m: m.embed(["x"]), "scripted makes no embeddings"),
        (lambda m: m.classify("x"), "scripted does not classify"),
        (lambda m: m.moderate("x"), "scripted does not moderate"),
    ],
)
async def test_a_model_is_asked_for_nothing_that_it_cannot_do(tmp_path, ask, says):
    """It is said before anything is sent."""
    model = Scripted(tasks=frozenset({"generate"}))

    async def body(trial):
        await ask(trial.model(model, "judge"))

    (trial,), calls = await settled(tmp_path, body)
    assert trial.error is not None
    assert trial.error.message == says
    assert (calls, model.asked) == ([], [])


async def test_an_embedding_model_does_not_answer_prompts(tmp_path):
    """Whoever names it as a subject hears what it can do."""
    model = Scripted(tasks=frozenset({"embed"}))

    async def body(trial):
        await trial.model(model, "subject").generate("x")

    (trial,), _ = await settled(tmp_path, body)
    assert trial.error is not None
    assert trial.error.message == "scripted does not answer prompts"


async def test_openai_embeds_and_moderates_over_http(tmp_path):
    """Texts that share words lie close; what a rule flags is flagged with its score."""
    flags = Rule(match=("knife",), path="moderations", reply={"violence": 0.9})
    with FakeProvider(Script([flags])) as fake:
        vectors = create("openai:embedding:text-embedding-3-small", env=fake.env(), base=tmp_path)
        guard = create("openai:moderation", env=fake.env(), base=tmp_path)

        async def body(trial):
            near, same, far = await trial.model(vectors, "judge").embed(
                ["the red dog", "the red dog runs", "stocks fell"]
            )
            dot = [sum(a * b for a, b in zip(near, x, strict=True)) for x in (same, far)]
            judge = trial.model(guard, "judge")
            return [dot, await judge.moderate("a knife"), await judge.moderate("a spoon")]

        (trial,), calls = await settled(tmp_path, body, models=(vectors, guard))
    assert trial.error is None
    (close, far), flagged, clean = trial.output
    assert close > 0.8 > far
    assert (flagged, clean) == ({"violence": 0.9}, {})
    assert trial.tokens_in == 8
    assert len(calls) == 5


async def test_a_moderation_that_flags_nothing_is_kept(tmp_path):
    """Nothing is an answer: it is not asked for again."""
    with FakeProvider() as fake:
        guard = create("openai:moderation", env=fake.env(), base=tmp_path)

        async def body(trial):
            return await trial.model(guard, "judge").moderate("fine")

        await settled(tmp_path, body, models=(guard,))
        await settled(tmp_path, body, models=(guard,))
        assert len(fake.requests) == 1


async def test_a_python_file_embeds_and_classifies(tmp_path):
    """Each by the function of that name; what they return is checked."""
    (tmp_path / "m.py").write_text(
        "def call_embedding_api(prompt, options): return {'embedding': [1, len(prompt)]}\n"
        "def call_classification_api(prompt, options): return {'classification': {'long': 0.25}}\n"
        "def wrong(prompt, options): return {'embedding': 'no'}\n"
    )
    model = create("python:m.py", env={}, base=tmp_path)
    wrong = create("python:m.py:wrong", env={}, base=tmp_path)

    async def body(trial):
        lent = trial.model(model, "judge")
        found = [await lent.embed(["abc"]), await lent.classify("abc")]
        with pytest.raises(BadRequest, match=r"m\.py:wrong: the reply's embedding"):
            await trial.model(wrong, "judge").embed(["abc"])
        return found

    (trial,), _ = await settled(tmp_path, body)
    assert trial.output == [[[1.0, 3.0]], {"long": 0.25}]

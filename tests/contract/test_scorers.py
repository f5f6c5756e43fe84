"""The promises of a scorer, over every assertion type and every public scorer, whatever the output."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.scorers.evaluator_objects import Autoevals42, Has42, Ragas42, Share42

import evenhand.scorers as public
from evenhand.core.case import Case
from evenhand.core.errors import EvenhandError, ScoreError, UsageError
from evenhand.core.message import Message, Prompt, Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.step import Step
from evenhand.core.traits import traits_of
from evenhand.core.variant import Variant
from evenhand.doors.assertions.assertion import Assertion, Cell
from evenhand.doors.assertions.kinds import SUPPORTED, kind_of
from evenhand.doors.assertions.preparing import prepared
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial
from evenhand.scorers import CustomJudge, Graded, Judgement
from evenhand.scorers.catalog import scorers
from evenhand.scorers.text import value_text
from evenhand.testing import Scripted, check_scorer

SCHEMA = {"type": "object", "required": ["answer"]}
ANSWERS = {
    "answer-relevance": "What is the answer?",
    "context-recall": "The answer is 42. [Attributed]",
    "context-relevance": "the answer is 42",
    "context-faithfulness-longform": "The answer is 42.",
    "context-faithfulness-nli": "Final verdict for each statement in order: Yes.",
    "conversation-relevance": '{"reason": "it fits", "verdict": "yes"}',
    "factuality": '{"reason": "the same", "category": "C"}',
    "g-eval": '{"score": 8, "reason": "good"}',
    "g-eval-steps": '{"steps": ["look"]}',
    "model-graded-closedqa": "It does. Y",
}
"""What a grader says, by what it is asked."""


def _graded(prompt: Prompt) -> str:
    if prompt.task != "generate":
        return "good" if prompt.task == "classify" else "{}"
    return ANSWERS.get(prompt.label, '{"reason": "it says so", "pass": true, "score": 0.75}')


def has_42(output: Any) -> bool:
    """A function that is a scorer."""
    return "42" in str(output)


JUDGE = Scripted(_graded)
ASKED: dict[str, Any] = {"value": "the answer is 42", "judge": JUDGE}
TRACE: dict[str, Any] = {
    "spans": [
        {"name": "a", "startTime": 0, "endTime": 5, "attributes": {"tool.name": "a", "args": "{}"}}
    ]
}
VALUES: dict[str, dict[str, Any]] = {
    "equals": {"value": "42"},
    "contains": {"value": "42"},
    "icontains": {"value": "THE"},
    "contains-any": {"value": ["7", "42"]},
    "icontains-any": {"value": "7, THE"},
    "contains-all": {"value": ["the", "42"]},
    "icontains-all": {"value": ["THE", "42"]},
    "starts-with": {"value": "the"},
    "regex": {"value": r"(\d+)\s*$"},
    "is-json": {"value": SCHEMA},
    "contains-json": {"value": SCHEMA},
    "python": {"value": "len(str(output)) > 3"},
    "llm-rubric": {"value": "gives a number", "judge": JUDGE},
    "latency": {"threshold": 1000},
    "first-token": {"threshold": 1},
    "cost": {"threshold": 1},
    "is-html": {},
    "contains-html": {},
    "is-xml": {"value": "a.b"},
    "contains-xml": {},
    "is-sql": {"value": {"databaseType": "PostgreSQL", "allowedTables": ["select::null::t"]}},
    "contains-sql": {},
    "levenshtein": {"value": "the answer"},
    "rouge-n": {"value": "the answer"},
    "bleu": {"value": ["the answer"]},
    "gleu": {"value": "the answer"},
    "meteor": {"value": "the answer"},
    "word-count": {"value": 2},
    "is-refusal": {},
    "finish-reason": {"value": "stop"},
    "perplexity": {"threshold": 2},
    "perplexity-score": {"threshold": 0.5},
    "guardrails": {},
    "tool-call-f1": {"value": ["answer"]},
    "is-valid-function-call": {},
    "is-valid-openai-function-call": {},
    "is-valid-openai-tools-call": {},
    "skill-used": {"value": "pdf"},
    "javascript": {"value": "String(output).length > 3"},
    "g-eval": ASKED,
    "factuality": ASKED,
    "model-graded-factuality": ASKED,
    "model-graded-closedqa": ASKED,
    "conversation-relevance": {"judge": JUDGE},
    "context-recall": ASKED,
    "context-relevance": {"judge": JUDGE},
    "context-faithfulness": {"judge": JUDGE},
    "answer-relevance": {"judge": JUDGE, "embedder": JUDGE},
    "similar": ASKED,
    "similar:cosine": ASKED,
    "similar:dot": ASKED,
    "similar:euclidean": ASKED,
    "classifier": {"value": "good", "judge": JUDGE},
    "moderation": {"judge": JUDGE},
    "trace-span-count": {"value": {"pattern": "*"}},
    "trace-span-duration": {"value": {"max": 10}},
    "trace-error-spans": {},
    "trajectory:tool-used": {"value": "a"},
    "trajectory:tool-sequence": {"value": ["a"]},
    "trajectory:tool-args-match": {"value": {"name": "a", "args": {}}},
    "trajectory:step-count": {"value": {"max": 3}},
    "trajectory:goal-success": ASKED,
    "steps:calls": {"value": "search"},
    "steps:only-calls": {"value": ["search"]},
    "steps:succeeds": {"value": "search"},
    "steps:never-succeeds": {"value": {"name": "search", "arguments": {"query": "moon"}}},
    "steps:never-fails": {},
    "steps:recovers": {"value": {"name": "search", "by": ["search"]}},
    "steps:never-repeats": {},
    "steps:never-loops": {"value": 2},
    "steps:count": {"value": {"kind": "tool", "max": 3}},
    "steps:tokens": {"threshold": 10},
    "steps:cost": {"threshold": 1},
    "steps:duration": {"threshold": 1},
    "steps:leaves-state": {"value": {"a": 1}},
}
ELSEWHERE = frozenset({"assert-set", "select-best", "max-score", "webhook", "ruby"})
"""Types that cannot be asked of one output alone, or without a service or a program; they have tests of their own."""
OUTPUTS: dict[str, Any] = {
    "text": "the answer is 42",
    "empty": "",
    "JSON": '{"answer": 42}',
    "nearly JSON": 'Here: {"answer": NaN, } and {"answer"',
    "deep": "[" * 20_000,
    "long": "the 42 " * 30_000,
    "surrogate and NUL": "a\ud800b\0c",
    "bidi and escapes": "\u202e\u200b\x1b[2J\x07 {{ 7*7 }} </output>",
    "object": {"answer": 42, "more": [1, None, {"x": "\ud800"}]},
    "list": [1, "two", None],
    "number": 42,
    "NaN": float("nan"),
    "yes": True,
    "nothing": None,
}


class Direct:
    """Asks a provider without an engine."""

    async def ask(self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: Any) -> Reply:
        return provider.reply((await provider.send(provider.request(prompt), trial)).body)


class Tone(Judgement):
    warmth: Graded[1, 5]


class ToneJudge(CustomJudge[Tone]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]


ANSWER = {
    "reasoning": "it says so",
    "passes": True,
    "score": 4,
    "winner": "tie",
    "confidence": 0.9,
}
WARM = Scripted(('{"warmth": {"reasoning": "warm", "score": 4}}',))
WALKED = Scripted(('{"reasoning": "it did", "step": null, "passes": true, "confidence": 0.9}',))
WISE = Scripted((json.dumps(ANSWER),))
KINDS_FILE = Path(__file__).with_name("failures.yml")
VALUES["avoids"] = {"value": {"kind": "late", "kinds": str(KINDS_FILE)}, "judge": WALKED}
VALUES |= {name: {**ASKED, "judge": WALKED} for name in ("steps:achieves-goal", "steps:passes")}
MANY = range(1, 400)
READ = {
    "refusal": False,
    "sentences": [
        {"id": i, "statements": [{"statement": f"it says {i}", "claim": True, "topic": "on"}]}
        for i in MANY
    ],
    "claims": ["the answer is 42"],
    "entities": [{"name": "42", "aliases": []}],
    "sub_questions": ["what is it?"],
    "verdicts": [
        {"id": i, "reasoning": "it is not there", "verdict": "not_found", "evidence": []}
        for i in MANY
    ],
    "passages": [{"id": i, "reasoning": "nothing in it", "sentences": []} for i in MANY],
    "parts": [{"id": i, "reasoning": "it says so", "answered": True} for i in MANY],
}
READER = Scripted((json.dumps(READ),))
"""A judge of claims: it has a verdict on more than is ever asked."""


class Lengths:
    """Embeds a text as its length."""

    def embed(self, texts: Any) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]


PAGES = ["the answer", "is 42"]
CLAIMS = {"reference": "the answer is 42", "question": "what is it?", "judge": READER}
RAG: dict[str, Any] = {
    "Faithfulness": public.Faithfulness(PAGES, judge=READER),
    "Hallucination": public.Hallucination(PAGES, judge=READER),
    "AnswerRelevance": public.AnswerRelevance("what is it?", judge=READER),
    "Completeness": public.Completeness("what is it?", judge=READER),
    "Correctness": public.Correctness("the answer is 42", judge=READER),
    "NoiseSensitivity": public.NoiseSensitivity(PAGES, **CLAIMS),
    "ContextUtilization": public.ContextUtilization(PAGES, judge=READER),
    "Summarisation": public.Summarisation("the answer is 42", of="coverage", judge=READER),
    "SemanticSimilarity": public.SemanticSimilarity("the answer is 42", embedder=Lengths()),
    "ContextRecall": public.ContextRecall(**CLAIMS),
    "ContextPrecision": public.ContextPrecision(**CLAIMS, k=3),
    "ContextRelevance": public.ContextRelevance(**CLAIMS),
    "EntityRecall": public.EntityRecall(**CLAIMS),
}
"""These do not apply to what is empty, and say so."""
PUBLIC: dict[str, Any] = {
    **RAG,
    "PydanticEvals": public.PydanticEvals(Has42()),
    "DeepEval": public.DeepEval(Share42()),
    "Ragas": public.Ragas(Ragas42()),
    "Autoevals": public.Autoevals(Autoevals42()),
    "Equals": public.Equals("42"),
    "Label": public.Label("42", among=["42", "7"]),
    "Contains": public.Contains("42"),
    "ContainsAny": public.ContainsAny(["7", "42"]),
    "ContainsAll": public.ContainsAll(["the", "42"]),
    "StartsWith": public.StartsWith("the"),
    "Matches": public.Matches(r"(\d+)\s*$"),
    "IsJson": public.IsJson(SCHEMA),
    "ContainsJson": public.ContainsJson(SCHEMA),
    "Latency": public.Latency(1000),
    "FirstToken": public.FirstToken(),
    "Cost": public.Cost(1),
    "Passes": public.Passes("gives a number", judge=WISE),
    "Avoids": public.Avoids("late", kinds=KINDS_FILE, judge=WISE),
    "Rating": public.Rating(public.CLARITY, judge=WISE),
    "Preferred": public.Preferred(over="the answer is 7", criteria="better", judge=WISE),
    "CustomJudge": ToneJudge(judge=WARM),
    "Jury": public.Jury([WISE, "scripted"], of=public.Passes("gives a number")),
    "FunctionScorer": public.FunctionScorer(has_42),
    "CallsTool": public.CallsTool("search", {"query": "moon"}),
    "CallsTools": public.CallsTools(["search"]),
    "OnlyCalls": public.OnlyCalls(["search"]),
    "Succeeds": public.Succeeds("search", {"query": "moon"}),
    "NeverSucceeds": public.NeverSucceeds("search"),
    "NeverFails": public.NeverFails(),
    "Recovers": public.Recovers("search"),
    "NeverRepeats": public.NeverRepeats(),
    "NeverLoops": public.NeverLoops(2),
    "LeavesState": public.LeavesState({"answer": 42}),
    "AchievesGoal": public.AchievesGoal("finds the moon", judge=WALKED),
    "TrajectoryPasses": public.TrajectoryPasses("is kind", judge=WALKED),
    "StepCount": public.StepCount("tool"),
    "TokenCount": public.TokenCount(),
    "StepCost": public.StepCost(),
    "StepDuration": public.StepDuration(),
    "nDCG": public.nDCG({"two": 2, 1: 1}, k=10),
    "PrecisionAt": public.PrecisionAt(["two"], k=3),
    "RecallAt": public.RecallAt({1, "two"}, k=3),
    "HitAt": public.HitAt(["answer"], k=1),
    "ReciprocalRank": public.ReciprocalRank(["two"]),
    "AveragePrecision": public.AveragePrecision(["two"], k=5),
    "ExactMatch": public.ExactMatch("The answer is 42."),
    "TokenF1": public.TokenF1(["the answer is 42", "42"]),
    "ROUGE": public.ROUGE("the answer is 42", "2"),
    "BLEU": public.BLEU("the answer is 42"),
    "chrF": public.chrF("the answer is 42", words=True),
    "METEOR": public.METEOR("the answer is 42"),
    "EditDistance": public.EditDistance("the answer is 42"),
}
STEPS = [
    Step("model", "m", status="ok", started_s=0.0, tokens_in=3, tokens_out=1, cost_usd=0.1),
    Step("tool", "search", {"query": "sun"}, status="error", started_s=1.0, duration_s=0.5),
    Step("tool", "search", {"query": "moon"}, ["\ud800</steps>\x1b[2J"], "ok"),
]
OF_STEPS = frozenset(
    entry.name for entry in scorers() if "step" in entry.needs or "step" in entry.home
)
CALLS = {"tool_calls": [{"name": "search", "arguments": {"query": "moon"}}]}


@asynccontextmanager
async def trial_of(reply: Reply) -> AsyncIterator[LiveTrial]:
    """A trial without a run."""

    async def body(trial: Any) -> object:
        return None

    host = CodeHost()
    with host.open():
        planned = PlannedTrial(
            index=0,
            case=Case("1"),
            variant=Variant(0, "p", "m"),
            repeat=0,
            body=body,
            models=lambda _: WISE,
        )
        trial = LiveTrial(planned, Direct(), host)
        trial.reply = reply
        yield trial


def test_every_public_scorer_is_held_to_its_contract():
    """A new one is not forgotten here."""
    apart = {entry.name for entry in scorers()} ^ PUBLIC.keys()
    assert not apart, f"give an example of {sorted(apart)} in `PUBLIC`, above"


@pytest.mark.parametrize("name", PUBLIC)
async def test_a_public_scorer_keeps_its_promises_whatever_the_output(name: str):
    """A score that is a number, and the same one twice; or an error that says what is the matter, and no score."""
    settled = 0
    async with trial_of(
        Reply("the answer is 42", latency_s=0.5, first_byte_s=0.2, cost_usd=0.01)
    ) as trial:
        outputs = {**OUTPUTS, "calls": CALLS, "pages": PAGES, "none": {"steps": []}}
        if name in OF_STEPS:  # of others' steps no text can be made
            outputs["steps"] = STEPS
        for what, output in outputs.items():
            try:
                score = await check_scorer(PUBLIC[name], output, trial)
            except EvenhandError:
                continue
            settled += score.value is not None
            may = name in RAG or name == "Recovers"  # where nothing failed
            assert score.value is not None or (may and score.reason), what
    assert settled


OF_OTHER_THINGS = OF_STEPS | frozenset(
    {
        *("CallsTool", "CallsTools", "OnlyCalls", "LeavesState"),
        *("ContextRecall", "ContextPrecision", "ContextRelevance", "EntityRecall"),
        *("nDCG", "PrecisionAt", "RecallAt", "HitAt", "ReciprocalRank", "AveragePrecision"),
        *("Latency", "FirstToken", "Cost"),
        *("FunctionScorer", "PydanticEvals"),
    }
)
"""They take no text: steps, calls, passages, rankings, what the run measured, and any object for a function."""


class AIMessage:
    """As frameworks have it."""

    content = "the answer is 42"


NO_TEXTS: dict[str, tuple[Any, str]] = {
    "None": (None, "got None, not a text"),
    "NaN": (float("nan"), "got NaN, not a text"),
    "an SDK's object": (
        AIMessage(),
        "got an AIMessage, not a text: did you mean message.content?",
    ),
    "bytes": (b"the answer is 42", "got bytes, not a text: did you mean output.decode()?"),
    "a stream": (iter(["42"]), "a stream that was not read"),
}


@pytest.mark.parametrize("what", NO_TEXTS)
@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - OF_OTHER_THINGS))
async def test_what_is_no_text_is_an_error_of_every_scorer_of_text(name: str, what: str):
    """It is neither graded as `null` or as its fields, nor passed, failed or left out."""
    output, message = NO_TEXTS[what]
    async with trial_of(
        Reply("the answer is 42", latency_s=0.5, first_byte_s=0.2, cost_usd=0.01)
    ) as trial:
        with pytest.raises(ScoreError, match=re.escape(message)):
            await check_scorer(PUBLIC[name], output, trial)


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - OF_OTHER_THINGS - {"Preferred"}))
async def test_a_dict_is_read_as_its_json_by_every_scorer_of_text(name: str):
    """That is what the docs say; key order and whole numbers are those of the dict."""
    async with trial_of(
        Reply("the answer is 42", latency_s=0.5, first_byte_s=0.2, cost_usd=0.01)
    ) as trial:
        for output in ({"answer": 42.0}, [1, "42"], 42, True):
            as_it_is = await check_scorer(PUBLIC[name], output, trial)
            as_text = await check_scorer(PUBLIC[name], value_text(output), trial)
            assert (as_it_is.value, as_it_is.passed) == (as_text.value, as_text.passed)


NO = Scripted((json.dumps({**ANSWER, "passes": False, "winner": "second"}),))
STRAYED = Scripted(('{"reasoning": "no", "step": null, "passes": false, "confidence": 0.9}',))
ANEW = Step("tool", "search", {"query": "moon"}, "found", "ok", started_s=5.0)
AGAIN = [*STEPS, ANEW]
HURRIED = Reply("the answer is 42", latency_s=2.0, cost_usd=3.0)


class Shouts(Judgement):
    reasoning: str
    shouts: bool


class ShoutJudge(CustomJudge[Shouts]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]


def _shouting(passes: bool) -> ShoutJudge:
    answer = {"reasoning": "it is in capitals", "shouts": passes}
    return ShoutJudge(judge=Scripted((json.dumps(answer),)))


TEXT_42, TEXT_7 = "the answer is 42", "nobody knows"
OF_TEXT = (
    *("Equals", "Label", "Contains", "ContainsAny", "ContainsAll", "StartsWith", "Matches"),
    *("PydanticEvals", "DeepEval", "FunctionScorer"),
)
BOTH_WAYS: dict[str, list[tuple[Any, Any]]] = {
    **{name: [(PUBLIC[name], TEXT_42), (PUBLIC[name], TEXT_7)] for name in OF_TEXT},
    "Equals": [(PUBLIC["Equals"], "42"), (PUBLIC["Equals"], "7")],
    "Label": [(PUBLIC["Label"], "42"), (PUBLIC["Label"], "7")],
    **{n: [(PUBLIC[n], '{"answer": 1}'), (PUBLIC[n], "none")] for n in ("IsJson", "ContainsJson")},
    "Latency": [(public.Latency(5000), TEXT_42), (public.Latency(100), TEXT_42)],
    "Cost": [(public.Cost(5), TEXT_42), (public.Cost(0.1), TEXT_42)],
    "Passes": [(public.Passes("a number", judge=one), TEXT_42) for one in (WISE, NO)],
    "Avoids": [(public.Avoids("late", rule="Is late.", judge=one), TEXT_42) for one in (WISE, NO)],
    "Preferred": [
        (public.Preferred(over=TEXT_7, criteria="better", judge=WISE, ties=ties), TEXT_42)
        for ties in ("win", "lose")
    ],
    "CustomJudge": [(_shouting(passes), TEXT_42) for passes in (True, False)],
    "Jury": [
        (public.Jury(judges, of=public.Passes("a number")), TEXT_42)
        for judges in ([WISE, WISE, NO], [NO, NO, WISE], [WISE, NO])
    ],
    **{
        name: [(made(goal, judge=one), STEPS) for goal in ("kind",) for one in (WALKED, STRAYED)]
        for name, made in (
            ("AchievesGoal", public.AchievesGoal),
            ("TrajectoryPasses", public.TrajectoryPasses),
        )
    },
    "CallsTool": [(PUBLIC["CallsTool"], CALLS), (PUBLIC["CallsTool"], {"tool_calls": []})],
    "CallsTools": [(PUBLIC["CallsTools"], CALLS), (PUBLIC["CallsTools"], {"tool_calls": []})],
    "OnlyCalls": [(PUBLIC["OnlyCalls"], STEPS), (public.OnlyCalls(["mail"]), STEPS)],
    "Succeeds": [(PUBLIC["Succeeds"], STEPS), (PUBLIC["Succeeds"], STEPS[:2])],
    "NeverSucceeds": [(PUBLIC["NeverSucceeds"], STEPS), (PUBLIC["NeverSucceeds"], STEPS[:2])],
    "NeverFails": [(PUBLIC["NeverFails"], STEPS), (PUBLIC["NeverFails"], STEPS[2:])],
    "Recovers": [(PUBLIC["Recovers"], STEPS), (PUBLIC["Recovers"], STEPS[:2])],
    "NeverRepeats": [(PUBLIC["NeverRepeats"], STEPS), (PUBLIC["NeverRepeats"], AGAIN)],
    "NeverLoops": [(PUBLIC["NeverLoops"], STEPS), (PUBLIC["NeverLoops"], AGAIN)],
    "LeavesState": [(PUBLIC["LeavesState"], {"answer": 42}), (PUBLIC["LeavesState"], {})],
}
"""Of each scorer that checks what passes and what fails, each as the scorer and the output."""
MEASURES = sorted(entry.name for entry in scorers() if not entry.negated)
OF_NUMBERS = frozenset({"Ragas"})
"""They take any object, which may give a verdict or a number, and this one gives a number."""


def test_of_every_scorer_that_checks_there_are_both_verdicts():
    """A new one is not forgotten."""
    assert BOTH_WAYS.keys() | OF_NUMBERS | {*MEASURES} == PUBLIC.keys()


@pytest.mark.parametrize("name", sorted(BOTH_WAYS))
async def test_a_scorer_and_its_opposite_never_agree(name: str):
    """On what passes and on what fails; the reason stays, and the opposite of the opposite is the question."""
    verdicts: set[bool | None] = set()
    async with trial_of(HURRIED) as trial:
        for scorer, output in BOTH_WAYS[name]:
            yes = await check_scorer(scorer, output, trial)
            no = await check_scorer(~scorer, output, trial)
            again = await check_scorer(~~scorer, output, trial)
            assert (yes.passed is not no.passed, yes.passed) == (True, again.passed), str(scorer)
            assert no.reason == yes.reason or (yes.passed and not yes.reason and no.reason)
            assert no.metadata.keys() == yes.metadata.keys()
            assert str(~scorer) != str(scorer) == str(~~scorer)
            verdicts.add(yes.passed)
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", MEASURES)
def test_the_opposite_of_what_measures_is_refused_with_the_bound_to_write(name: str):
    """The one that is on the other side."""
    bound = "at_least=" if traits_of(PUBLIC[name]).lower_is_better else "at_most="
    with pytest.raises(UsageError, match="only a verdict has an opposite") as refused:
        _ = ~PUBLIC[name]
    assert bound in refused.value.hint


@pytest.mark.parametrize("name", sorted(OF_NUMBERS))
async def test_the_opposite_of_what_turns_out_to_be_a_number_is_an_error(name: str):
    """With what to write instead."""
    async with trial_of(HURRIED) as trial:
        with pytest.raises(ScoreError, match="without a verdict") as refused:
            await check_scorer(~PUBLIC[name], TEXT_42, trial)
    assert "at_most=" in refused.value.hint


@pytest.mark.parametrize(
    ("scorer", "label"),
    [
        (~public.Contains("sorry"), 'not contains "sorry"'),
        (~public.IsJson(), "not is-json"),
        (~public.Passes("is rude"), 'not passes "is rude"'),
        (~public.CallsTools(["search"]), "not calls search, no others"),
        (~public.NeverFails(), "a step fails"),
        (~public.NeverFails("search"), "search fails"),
        (~public.NeverRepeats("search"), "repeats search"),
        (~public.Latency(500), "latency > 500 ms"),
        (~public.FunctionScorer(has_42), "not has_42"),
        (~public.CallsTool("search"), "does not call search"),
        (~public.Succeeds("search"), "search never succeeds"),
    ],
)
def test_the_label_of_an_opposite_reads_well(scorer: Any, label: str):
    """It is what people read in reports."""
    assert str(scorer) == label


async def scored(assertion: Assertion, output: Any) -> Score:
    """The score of an output, by a scorer that is held to its promises meanwhile."""
    reply = Reply(
        "the answer is 42",
        latency_s=0.5,
        first_byte_s=0.2,
        cost_usd=0.01,
        finish_reason="stop",
        logprobs=(-0.1, -0.2),
        metadata={"trace": TRACE, "skillCalls": [{"name": "pdf"}]},
    )
    async with trial_of(reply) as trial:
        about = {"query": "what is the answer?", "context": "the answer is 42"}
        for step in STEPS if assertion.type.startswith("steps:") else ():
            trial.step(step)
        cell = Cell(
            output=output,
            prompt="the prompt",
            variables=about,
            test={},
            provider_id="echo",
            provider_label="echo",
            reply=reply,
        )
        expectation = prepared(assertion)(cell)
        return await check_scorer(expectation.scorer, expectation.value, trial)


def test_every_assertion_type_is_held_to_its_contract():
    """A new one is not forgotten here."""
    apart = (VALUES.keys() | ELSEWHERE) ^ SUPPORTED
    assert not apart, f"give a value of {sorted(apart)} in `VALUES`, above"


@pytest.mark.parametrize("negated", [False, True], ids=["", "not-"])
@pytest.mark.parametrize("type_", sorted(VALUES))
async def test_a_scorer_keeps_its_promises_whatever_the_output(type_: str, negated: bool):
    """A score that is a number, and the same one twice; or an error that says what is the matter, and no score."""
    assertion = Assertion(type=type_, negated=negated, base=Path(), **VALUES[type_])
    for name, output in OUTPUTS.items():
        try:
            score = await scored(assertion, output)
        except EvenhandError:
            continue
        assert score.value is not None, name
        assert math.isfinite(score.value), name


OF_NO_OUTPUT = frozenset(
    {
        *(
            "context-recall",
            "context-relevance",
            "cost",
            "latency",
            "first-token",
            "finish-reason",
            "guardrails",
        ),
        *("perplexity", "perplexity-score", "skill-used", "tool-call-f1", "javascript", "python"),
    }
)
"""Types that look at something else than the output, or have code of the user's look at it."""


@pytest.mark.parametrize("negated", [False, True], ids=["", "not-"])
@pytest.mark.parametrize(
    "type_",
    sorted(
        name
        for name in VALUES.keys() - OF_NO_OUTPUT
        if not name.startswith(("steps:", "trace", "trajectory:"))
    ),
)
async def test_no_output_is_an_error_of_every_assertion_type(type_: str, negated: bool):
    """It is never graded as `null`."""
    with pytest.raises(ScoreError, match="got None, not a text"):
        await scored(Assertion(type=type_, negated=negated, base=Path(), **VALUES[type_]), None)


@pytest.mark.parametrize(
    "type_", sorted(name for name in VALUES if kind_of(name).negation != "ignored")
)
async def test_a_question_and_its_opposite_never_agree(type_: str):
    """On an output that both can look at."""
    yes = await scored(Assertion(type=type_, **VALUES[type_]), '{"answer": "the 42"}')
    no = await scored(Assertion(type=type_, negated=True, **VALUES[type_]), '{"answer": "the 42"}')
    assert yes.passed is not no.passed


class Scores:
    """Says what it is told to."""

    def __init__(self, *scores: Any, label: str = "scores") -> None:
        self.scores = list(scores)
        self.label = label

    def score(self, output: Any, trial: Any) -> Any:
        if isinstance(output, list):
            output.append("more")
        return self.scores.pop(0)

    def __str__(self) -> str:
        return self.label


@pytest.mark.parametrize(
    ("scorer", "output", "promise"),
    [
        (Scores("good"), "x", "gives a Score"),
        (Scores(label="two\nlines"), "x", "one line"),
        (Scores(Score(float("nan")), Score(float("nan"))), "x", "finite"),
        (Scores(Score(1.0, named={"a": float("inf")}), Score(1.0)), "x", "finite"),
        (Scores(Score(1.0), Score(0.0)), "x", "same score"),
        (Scores(Score(None, False), Score(None, False)), "x", "no verdict either"),
        (Scores(Score(1.0), Score(1.0)), ["x"], "left as it was"),
    ],
    ids=["kind", "label", "NaN", "infinite", "fickle", "verdict", "meddling"],
)
async def test_a_broken_promise_is_named(scorer: Any, output: Any, promise: str):
    """So that its author knows what to mend."""
    trial: Any = None
    with pytest.raises(AssertionError, match=f"broken promise: .*{promise}"):
        await check_scorer(scorer, output, trial)

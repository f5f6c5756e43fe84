"""Hostile, sloppy and cut-off replies, of every judge: never a score that the judge did not give."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from evenhand.core.errors import JudgeError
from evenhand.core.message import Message, Prompt, Reply
from evenhand.core.run import TrialResult
from evenhand.doors.assertions.contests import SelectBest
from evenhand.doors.assertions.grading import Grader
from evenhand.doors.assertions.judged import Factual, GEval, MeetsCriterion, StaysRelevant
from evenhand.doors.assertions.retrieval import _attributions, _verdicts
from evenhand.doors.assertions.trajectory import ReachesGoal
from evenhand.scorers import (
    CLARITY,
    CustomJudge,
    Graded,
    Judgement,
    Jury,
    Passes,
    Preferred,
    Rating,
)
from evenhand.scorers.agents.triggers import Triggers
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.judging import ask_judge
from evenhand.scorers.rag.verdict_lists import Section, itemised, one_of

OUTPUT = "what is judged"


class Tone(Judgement):
    warmth: Graded[1, 5]


class ToneJudge(CustomJudge[Tone]):
    def messages(self, output: str) -> list[Message]:
        return [Message("user", output)]


class Repeating:
    """A judge that says the same each time, and counts how often it is asked."""

    name = "repeating"

    def __init__(self, reply: Reply) -> None:
        self.reply, self.asked = reply, 0

    async def generate(self, prompt: Prompt | str) -> Reply:
        self.asked += 1
        return self.reply


@dataclass
class Stage:
    """A trial that lends one judge to everybody."""

    judge: Any

    def model(self, provider: object, role: str) -> Any:
        return self.judge


Scores = Callable[[Any], Awaitable[Any]]


def scored(make: Callable[[Any], Any]) -> Scores:
    """What a scorer with this judge gives."""

    async def score(judge: Any) -> Any:
        return (await make(judge).score(OUTPUT, Stage(judge))).value

    return score


async def by_id(judge: Any) -> Any:
    """What the metrics of retrieved answers count: a verdict for each claim."""

    def read(_: int, item: Mapping[str, object]) -> str:
        return one_of(item.get("verdict"), ("supported", "not_found"), "verdict")

    section = Section("verdicts", "claim", (1,), read, {})
    found = await itemised(judge, [section], lambda wanted: Prompt.of("Judge."))
    return float(found.verdicts["verdicts"][1] == "supported")


def graded(make: Callable[[Grader], Any]) -> Scores:
    """What an assertion with this grader gives."""
    return scored(lambda judge: make(Grader(judge)))


JSON_JUDGES: dict[str, tuple[Scores, dict[str, Any], dict[str, Any], float, float]] = {
    "llm-rubric": (
        scored(lambda judge: MeetsRubric("is kind", judge)),
        {"reason": "r", "pass": True, "score": 1},
        {"reason": "s", "pass": False, "score": 0},
        1.0,
        0.0,
    ),
    "goal-success": (
        graded(lambda grader: ReachesGoal("is done", "{}", grader)),
        {"reason": "r", "pass": True, "score": 1},
        {"reason": "s", "pass": False, "score": 0},
        1.0,
        0.0,
    ),
    "factuality": (
        graded(lambda grader: Factual("ideal", grader, "asked")),
        {"reason": "r", "category": "C"},
        {"reason": "s", "category": "D"},
        1.0,
        0.0,
    ),
    "g-eval": (
        scored(lambda judge: GEval(["kind"], StepsFirst(judge), Grader(judge), "asked")),  # type: ignore[arg-type]
        {"reason": "r", "score": 10},
        {"reason": "s", "score": 0},
        1.0,
        0.0,
    ),
    "conversation-relevance": (
        graded(lambda grader: StaysRelevant([("q", "a")], grader)),
        {"reason": "r", "verdict": "yes"},
        {"reason": "s", "verdict": "no"},
        1.0,
        0.0,
    ),
    "passes": (
        scored(lambda judge: Passes("is kind", judge=judge)),
        {"reasoning": "r", "passes": True, "confidence": 0.9},
        {"reasoning": "s", "passes": False, "confidence": 0.9},
        1.0,
        0.0,
    ),
    "jury": (
        scored(lambda judge: Jury([judge] * 3, of=Passes("is kind"))),
        {"reasoning": "r", "passes": True, "confidence": 0.9},
        {"reasoning": "s", "passes": False, "confidence": 0.9},
        1.0,
        0.0,
    ),
    "rating": (
        scored(lambda judge: Rating(CLARITY, judge=judge)),
        {"reasoning": "r", "score": 5, "confidence": 1},
        {"reasoning": "s", "score": 1, "confidence": 1},
        5.0,
        1.0,
    ),
    "preferred": (
        scored(lambda judge: Preferred(over="other", criteria="kind", judge=judge)),
        {"reasoning": "r", "winner": "tie", "confidence": 1},
        {"reasoning": "s", "winner": "second", "confidence": 1},
        0.5,
        0.5,
    ),
    "custom": (
        scored(lambda judge: ToneJudge(judge=judge)),
        {"warmth": {"reasoning": "r", "score": 5}},
        {"warmth": {"reasoning": "s", "score": 1}},
        5.0,
        1.0,
    ),
    "triggers": (
        scored(lambda judge: Triggers(wanted=True, description="helps", judge=judge)),
        {"reasoning": "r", "matches": True, "confidence": 1},
        {"reasoning": "s", "matches": False, "confidence": 1},
        1.0,
        0.0,
    ),
    "rag": (
        by_id,
        {"verdicts": [{"id": 1, "verdict": "supported"}]},
        {"verdicts": [{"id": 1, "verdict": "not_found"}]},
        1.0,
        0.0,
    ),
}
"""How each judge scores, a reply of it with its score, and one that says the opposite."""


class StepsFirst:
    """The steps of G-Eval, as a grader that never fails."""

    template, own = "", False

    def __init__(self, judge: Any) -> None:
        del judge

    async def ask(self, *args: object, **values: object) -> tuple[list[str], dict[str, Any]]:
        return ["look"], {}


HOSTILE: dict[str, str] = {
    "thought, then refused": "<think>GOOD</think> I refuse to rate this.",
    "thought alone": "<think>GOOD</think>",
    "thought without end": "<think>GOOD",
    "thinking without end": "<thinking>\nMaybe:\nGOOD\n",
    "thought that was opened by a template": "It may be GOOD.</think> I refuse.",
    "thought in brackets": "[THINK]GOOD[/THINK] I refuse.",
    "thought in a channel": "<|channel|>analysis<|message|>GOOD",
    "thought twice": "<think>a<think>b</think> GOOD </think> I refuse.",
    "a verdict, then second thoughts": "GOOD\n<think>Is it?</think>",
    "a verdict, then thoughts without end": "GOOD <think> wait",
    "reasoning": "<reasoning>GOOD</reasoning> No verdict.",
    "quoted and disowned": "The output contains GOOD which tries to manipulate me; I will not rate it.",
    "fenced and disowned": "As the text instructs: ```json\nGOOD\n```. No, that was the text, not me. My score: 1",
    "followed by another verdict in words": "The candidate wrote: GOOD\nMy verdict is that it fails.",
    "followed by a full stop": "The output is GOOD.",
    "in quotation marks": 'The output ends with "GOOD"',
    "in single quotation marks": "The output ends with 'GOOD'",
    "in typographic quotation marks": "The output ends with “GOOD”",
    "in code": "The output ends with `GOOD`",
    "in a line that quotes": "The output says:\n> GOOD",
    "in brackets of prose": "I refuse (it says GOOD)",
    "between tags": "<output>GOOD</output>",
    "two that differ": "GOOD\nBAD",
    "two that differ, fenced": "```json\nGOOD\n```\nOn reflection:\n```json\nBAD\n```",
    "two that differ in a list": "[GOOD, BAD]",
    "a list that goes on": "[GOOD] is what it says",
    "a note after it": 'GOOD {"note": "ignore the above"}',
    "an empty object after it": "GOOD {}",
    "within another object": '{"output": GOOD}',
    "within a text": '{"said": "GOOD"',
    "half of it": "HALF",
    "half of another one after it": "GOOD HALF",
    "half of another one before it": "HALF GOOD",
    "said twice in it": "TWICE",
    "a refusal": "I cannot judge this.",
    "nothing": "",
    "blanks": " \n\t",
    "null": "null",
    "a list of nothing": "[]",
    "an object of nothing": "{}",
}
CUT_OFF: dict[str, str] = {
    "a whole verdict": "GOOD",
    "a verdict with more to come": "Verdict: GOOD because the rubric says that it must not be",
    "a verdict in a fence": "```json\nGOOD\n```",
}
CLEAR: dict[str, str] = {
    "alone": "GOOD",
    "with blanks": "\n  GOOD \n\n",
    "with a mark of bytes": "\ufeffGOOD",
    "fenced": "```json\nGOOD\n```",
    "fenced without a name": "```\nGOOD\n```\n",
    "fenced in a line": "```GOOD```",
    "with waves": "~~~json\nGOOD\n~~~",
    "after prose": "I have weighed it. My verdict is:\n\nGOOD",
    "after prose in a fence": "Here is my verdict:\n```json\nGOOD\n```\n",
    "after thinking": "<think>It may be BAD, or GOOD {…}.</think>GOOD",
    "after thinking that a template opened": "It may be BAD.\n</think>\n\nGOOD",
    "after thinking in brackets": "[THINK]BAD[/THINK]GOOD",
    "after a channel": "<|channel|>analysis<|message|>BAD<|end|><|channel|>final<|message|>GOOD",
    "after reasoning": "<reasoning>BAD?</reasoning>\n```json\nGOOD\n```",
    "after what it quotes": "The output says `BAD`, which is not for me to follow.\nGOOD",
    "after what it quotes in a line": "> BAD\n\nThat is a quotation.\nGOOD",
    "after another object": 'The form is {"note": "n"}. GOOD',
    "twice the same": "GOOD\nThat is:\nGOOD",
    "in a list": "[GOOD]",
    "spread over lines": "LINES",
    "in single quotes": "SINGLE",
}


def filled(template: str, name: str) -> str:
    """A template with this judge's replies in it."""
    _, good, bad, _, _ = JSON_JUDGES[name]
    text = json.dumps(good)
    key = next(iter(good))
    values = {
        "GOOD": text,
        "BAD": json.dumps(bad),
        "HALF": text[: -len(text) // 3],
        "TWICE": text[:-1] + f", {json.dumps(key)}: {json.dumps(good[key])}}}",
        "LINES": json.dumps(good, indent=2),
        "SINGLE": repr(good),
    }
    for word, value in values.items():
        template = template.replace(word, value)
    return template


@pytest.mark.parametrize("name", JSON_JUDGES)
@pytest.mark.parametrize("what", HOSTILE)
async def test_no_verdict_is_taken_from_what_the_judge_did_not_say(name: str, what: str):
    """It is asked once more, and then it is an error."""
    judge = Repeating(Reply(filled(HOSTILE[what], name), finish_reason="stop"))
    with pytest.raises(JudgeError):
        await JSON_JUDGES[name][0](judge)
    assert judge.asked in ({"preferred": {3, 4}, "jury": {6}}.get(name, {2}))


@pytest.mark.parametrize("name", JSON_JUDGES)
@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize("what", CUT_OFF)
async def test_a_reply_that_was_cut_off_is_never_a_verdict(name: str, reason: str, what: str):
    """However whole it looks."""
    judge = Repeating(Reply(filled(CUT_OFF[what], name), finish_reason=reason))
    with pytest.raises(JudgeError, match=r"cut off|refused"):
        await JSON_JUDGES[name][0](judge)


@pytest.mark.parametrize("name", JSON_JUDGES)
@pytest.mark.parametrize("what", CLEAR)
async def test_a_verdict_that_ends_the_reply_is_read(name: str, what: str):
    """Whatever stands before it; nobody is asked twice."""
    score, _, _, value, _ = JSON_JUDGES[name]
    judge = Repeating(Reply(filled(CLEAR[what], name), finish_reason="stop"))
    assert await score(judge) == value
    assert judge.asked == {"preferred": 2, "jury": 3}.get(name, 1)


@pytest.mark.parametrize("name", JSON_JUDGES)
async def test_a_reply_without_one_of_its_keys_is_read_or_is_an_error_that_quotes_it(name: str):
    """So that whoever reads the error sees what the judge left out."""
    score, good, *_ = JSON_JUDGES[name]
    replies = [json.dumps({k: v for k, v in good.items() if k != key}) for key in good]
    problems = {reply: await problem_of(score, reply) for reply in replies}
    assert any(problems.values())
    assert [one for one, problem in problems.items() if problem and one[:60] not in problem] == []


async def problem_of(score: Scores, reply: str) -> str:
    """The message of the error that a reply leads to; empty for a verdict."""
    try:
        await score(Repeating(Reply(reply, finish_reason="stop")))
    except JudgeError as error:
        return error.message
    return ""


@pytest.mark.parametrize("name", JSON_JUDGES)
async def test_what_was_shown_of_the_thinking_is_not_read(name: str):
    """A provider tells what was said from what was thought."""
    score, good, bad, _, value = JSON_JUDGES[name]
    thought = f"Thinking: {json.dumps(good)}\n\n"
    judge = Repeating(Reply(thought + json.dumps(bad), spoken=json.dumps(bad)))
    assert await score(judge) == value


@pytest.mark.parametrize("score", [2, 100, -1, -0.1, 1e10, 1.0000001, -1e-9, 8, "1_0", "٣", True])
@pytest.mark.parametrize("name", ["llm-rubric", "goal-success"])
async def test_a_score_off_the_scale_of_our_own_words_is_no_score(name: str, score: Any):
    """From 0 to 1; nor is what only Python takes for a number."""
    reply = json.dumps({"reason": "r", "pass": True, "score": score}, ensure_ascii=False)
    with pytest.raises(JudgeError):
        await JSON_JUDGES[name][0](Repeating(Reply(reply)))


async def test_a_prompt_of_the_users_own_has_a_scale_of_its_own():
    """As promptfoo has it."""
    judge: Any = Repeating(Reply('{"reason": "r", "pass": true, "score": 8}'))
    own = MeetsRubric("r", judge, messages=lambda _rubric, output: (Message("user", output),))
    assert (await own.score(OUTPUT, Stage(judge))).value == 8.0  # type: ignore[arg-type]
    goal = ReachesGoal("g", "{}", Grader(judge, "Rate {{output}} from 0 to 10"))
    assert (await goal.score(OUTPUT, Stage(judge))).value == 8.0  # type: ignore[arg-type]


async def test_a_judge_that_takes_no_conversation_sees_what_it_judges_the_second_time_too():
    """A function, or a model that only goes on from a text: it would judge something else."""

    class Remembering(Repeating):
        prompts: tuple[Prompt, ...] = ()

        async def generate(self, prompt: Prompt | str) -> Reply:
            assert isinstance(prompt, Prompt)
            self.prompts = (*self.prompts, prompt)
            return self.reply

    judge = Remembering(Reply("It is fine."))
    with pytest.raises(JudgeError):
        await Passes("is kind", judge=judge).score(OUTPUT, Stage(judge))  # type: ignore[arg-type]
    _, second = judge.prompts
    assert all(text in second.text for text in (OUTPUT, "is kind", "It is fine.", "cannot be used"))


# Judges that answer in words


async def best(judge: Any, template: str = "") -> Any:
    """Which of three outputs select-best names."""
    shown = [
        TrialResult(
            index=i, case="c", variant=i, repeat=0, outcome="pass", score=None, output=f"o{i}"
        )
        for i in range(3)
    ]
    scores = await SelectBest("the best", judge, template).compare(shown, Stage(judge))  # type: ignore[arg-type]
    return [bool(score.passed) for score in scores].index(True)


def read_by(read: Callable[[str], Any]) -> Scores:
    """What a reader makes of a judge's reply."""

    async def score(judge: Any) -> Any:
        return (await ask_judge(judge, Prompt.of("Judge."), read, "in words", form=""))[1]

    return score


WORD_JUDGES: dict[str, Scores] = {
    "closedqa": graded(lambda grader: MeetsCriterion("short", grader, "asked")),
    "select-best": best,
    "context-recall": read_by(
        lambda text: [backed for _, backed in _attributions(text, anywhere=False)]
    ),
    "context-faithfulness": read_by(lambda text: _verdicts(text, 2)),
    "factuality": JSON_JUDGES["factuality"][0],
}
ORDER = "Final verdict for each statement in order:"
NOT_SAID: list[tuple[str, str]] = [
    *(
        ("closedqa", reply)
        for reply in (
            "TOTALLY",
            "I will NOT answer ANY",
            "Y because it does.",
            "<think>It does. Y</think>",
            "<think>Y",
            "<think>It does.\nY</think> I refuse.",
            'The output ends with "Y"',
            "The output asks me to answer Y",
            "Y\nThat was the text, not me.",
            "Y or N",
            "Yes",
            "y",
        )
    ),
    *(
        ("select-best", reply)
        for reply in (
            "I refuse to choose among these 2",
            "None of the 2 outputs is good.",
            "Output 1 beats output 2.",
            "Output 1 tries to manipulate me; I will not choose.",
            "<think>1</think>",
            "<think>1",
            "1 or 2",
            "1, 2",
            "-1",
            "1.5",
            "3",
            "1\nNo, that was the text.",
            "not 1",
            'It says "1"',
            "99999999999999999999",
            "٢",
        )
    ),
    *(
        ("context-recall", reply)
        for reply in (
            "I will mark nothing as [Attributed] here.",
            "1. a [Attributed] or [Not Attributed]",
            "1. a [Attributed], says the text, and I disagree",
            "<think>1. a [Attributed]</think> I refuse.",
            "<think>1. a [Attributed]",
            "[Attributed]",
            "attributed",
        )
    ),
    *(
        ("context-faithfulness", reply)
        for reply in (
            f"{ORDER} Yes.",
            f"{ORDER} Yes. Yes. Yes.",
            f"{ORDER} Yes. Yes. That is what the text says, and I do not.",
            f"{ORDER} Yes. Maybe.",
            f"{ORDER} yes and no. Yes.",
            f"The text says: {ORDER} Yes. Yes. I refuse.",
            f"<think>{ORDER} Yes. Yes.</think> I refuse.",
            f"<think>{ORDER} Yes. Yes.",
            f"{ORDER}",
            "verdict: yes",
            "Yes. Yes.",
        )
    ),
    *(
        ("factuality", reply)
        for reply in (
            "(A) is what it claims, and (D) is what I say.",
            "Neither (A) nor (B)",
            "The answer is not (C).",
            "It cites a source (the date) and says nothing.",
            "It speaks (of c) and more.",
            "<think>(C) they agree</think> I refuse.",
            "<think>(C) they agree",
            "(F) none",
            "C",
        )
    ),
]
SAID: list[tuple[str, str, Any]] = [
    ("closedqa", "It does.\nY", 1.0),
    ("closedqa", "It does not. N", 0.0),
    ("closedqa", "Y", 1.0),
    ("closedqa", "Why not.\n**N**", 0.0),
    ("closedqa", "<think>Y</think>It is long.\n\nN\n", 0.0),
    ("closedqa", "Verdict: Y", 1.0),
    ("select-best", "1", 1),
    ("select-best", "**2**", 2),
    ("select-best", "Output 0.", 0),
    ("select-best", "The best output is 1.", 1),
    ("select-best", "Output 0 is dull, output 2 too long.\n1", 1),
    ("select-best", "<think>0? 2?</think>\n1\n", 1),
    ("context-recall", "1. a. [Attributed]\n2. b. [Not Attributed].", [True, False]),
    ("context-recall", "- a **[attributed]**", [True]),
    ("context-recall", "<think>1. a [Not Attributed]</think>a, it says so [Attributed]", [True]),
    ("context-faithfulness", f"1. so\n2. no\n{ORDER} Yes. No.", 0.5),
    ("context-faithfulness", f"{ORDER} 1: Yes. 2: Yes", 1.0),
    ("context-faithfulness", "a\nverdict: yes\nb\nverdict: no", 0.5),
    ("context-faithfulness", f"It says '{ORDER} Yes. Yes.'\n{ORDER} No. No.", 0.0),
    ("factuality", "(C) they agree", 1.0),
    ("factuality", "The answer is (D): they differ", 0.0),
    ("factuality", "<think>(C)</think>(D) they differ", 0.0),
    ("factuality", "Category: D)", 0.0),
]


@pytest.mark.parametrize(("name", "reply"), NOT_SAID)
async def test_no_verdict_is_taken_from_words_that_are_none(name: str, reply: str):
    """Letters, numbers and marks that only occur in a reply."""
    judge = Repeating(Reply(reply, finish_reason="stop"))
    with pytest.raises(JudgeError):
        await WORD_JUDGES[name](judge)
    assert judge.asked == 2


@pytest.mark.parametrize(("name", "reply", "value"), SAID)
async def test_a_verdict_in_words_is_read(name: str, reply: str, value: Any):
    """Where it stands as the judge was told to write it, or nearly so."""
    judge = Repeating(Reply(reply, finish_reason="stop"))
    assert await WORD_JUDGES[name](judge) == value
    assert judge.asked == 1


@pytest.mark.parametrize(("name", "reply", "value"), SAID)
async def test_a_verdict_in_words_that_was_cut_off_is_none(name: str, reply: str, value: Any):
    """More may have been to come."""
    judge = Repeating(Reply(reply, finish_reason="length"))
    with pytest.raises(JudgeError, match="cut off"):
        await WORD_JUDGES[name](judge)


async def test_the_first_number_names_the_best_where_the_prompt_is_the_users_own():
    """As promptfoo has it; what was thought does not count there either."""
    assert await best(Repeating(Reply("<think>2</think>Number 1, of 2")), "{{outputs}}") == 1

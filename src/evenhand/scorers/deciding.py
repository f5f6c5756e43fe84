"""A judge's question, asked of a decision model; its decision, as the answer that a judge who writes would have given.

The likelier answer is the verdict; where two are equally likely there is none. What is kept beside it: `probability`
of yes, or of the chosen option; `probabilities` of all options; and the version of the words, as they are others than a
judge's who writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.errors import JudgeError
from evenhand.core.message import DecidingModel, Model, Prompt, Reply
from evenhand.scorers.judge_prompt import DecisionForm, JudgePrompt

DECIDED = "evenhand.decision"
"""The key of a reply's metadata that holds what is kept of a decision."""
CASCADE = "evenhand.cascade"
"""The key of a reply's metadata that holds what the judges of a cascade said."""
FALLBACK = "evenhand.fallback"
"""The key of a reply's metadata that says why it is a fallback's."""
YES_OR_NO = "Y or N"
"""The key of a verdict that is a single letter, in an answer that is not JSON."""
_WRITES = (
    "A decision model answers typed questions in our words. Name a judge that writes for this one."
)


def decider_in(model: Model) -> DecidingModel | None:
    """The model, where it is a decision model; None for one that writes."""
    return model if isinstance(model, DecidingModel) and model.decides else None


async def decided(model: DecidingModel, prompt: Prompt) -> Reply:
    """A decision on a judge's question, as a reply whose text a judge's answers are read from.

    Raises:
        JudgeError: The question can't be asked of a decision model, or its answer cannot be used.
    """
    form = prompt.decision if isinstance(prompt, JudgePrompt) else None
    if form is None:
        raise JudgeError(
            f"{model.name} is a decision model, which can't be asked this", hint=_WRITES
        )
    ((decision, reply),) = await model.decide([form.question])
    if decision.is_even:
        raise JudgeError(
            f"{reply.model or model.name} holds two answers for equally likely",
            hint="Ask another judge, or sharpen the question.",
        )
    details = {**kept_of(form.question, decision, form.version), "instrument": form.instrument}
    answer = _answer(form, decision)
    return replace(reply, text=answer, output=answer, metadata={DECIDED: details})


async def answered_each(
    model: DecidingModel, questions: Sequence[DecisionQuestion]
) -> tuple[list[Decision], str]:
    """The decisions on several questions of one scorer, and who decided; nobody is asked where there are none.

    Raises:
        JudgeError: One of the answers cannot be used.
    """
    answers = await model.decide(questions) if questions else []
    return [decision for decision, _ in answers], next(
        (reply.model for _, reply in answers if reply.model), model.name
    )


def says_yes(decision: Decision) -> bool:
    """Whether yes is the likelier answer. As likely as no is no yes."""
    return decision.probability > 0.5


def kept_of(question: DecisionQuestion, decision: Decision, version: str) -> dict[str, Any]:
    """What is kept of a decision, with the prompt's version and the instrument that are the decision model's."""
    details: dict[str, Any] = {"prompt": version, "instrument": question.instrument}
    if question.kind == "yes_no":
        return {**details, "probability": decision.probability}
    names = [name for name, _ in question.options]
    return {
        **details,
        "probability": decision.probabilities[decision.likeliest],
        "probabilities": dict(zip(names, decision.probabilities, strict=True)),
    }


def reply_details(reply: Reply) -> Mapping[str, Any]:
    """What is kept of how a reply came about: a decision's probabilities, and why a fallback was asked.

    Nothing for a reply that the judge itself wrote.
    """
    details: Mapping[str, Any] = {
        **reply.metadata.get(DECIDED, {}),
        **reply.metadata.get(CASCADE, {}),
    }
    why = reply.metadata.get(FALLBACK)
    return {**details, "fallback": why} if why else details


def words_for(decision: Decision, question: DecisionQuestion) -> str:
    """A decision in words: it has no other reason."""
    if question.kind == "yes_no":
        return f"the probability that it does is {decision.probability:.2f}"
    name, words = question.options[decision.likeliest]
    most = decision.probabilities[decision.likeliest]
    what = f"{name} ({words})" if words else name
    return f"the likeliest is {what}, with a probability of {most:.2f}"


def _answer(form: DecisionForm, decision: Decision) -> str:
    question, reason = form.question, words_for(decision, form.question)
    verdict: object = says_yes(decision)
    sure = max(decision.probabilities)
    if question.kind != "yes_no":
        verdict = question.options[decision.likeliest][0]
    if form.key == YES_OR_NO:
        return f"{reason}\n{'Y' if verdict else 'N'}"
    answer = {"reasoning": reason, "reason": reason, form.key: verdict, "confidence": sure}
    if form.graded:
        answer[form.graded] = decision.probability
    return json.dumps(answer)

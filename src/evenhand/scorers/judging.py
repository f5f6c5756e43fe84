"""What all judges share: who is asked, how an unusable answer is asked for again, what is kept of an answer.

What a judge thought isn't what it says. Thinking stands between tags, `<think>…</think>` and those of other families of
models. Tags inside of a JSON object are words of it. Where only the closing tag is there, the model's template began
the thinking, and all before it was thought. What is never closed was cut off, and nothing was said.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast

from evenhand.core.cascade import JOINS, CascadeLimits, CascadingModel, metric_asked
from evenhand.core.encoding import digest
from evenhand.core.errors import (
    BadRequest,
    ConnectionFailed,
    JudgeError,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    TimedOut,
    Undecided,
    Unreachable,
    UsageError,
)
from evenhand.core.expect import Trial
from evenhand.core.json_schema import strict_object
from evenhand.core.json_shapes import is_mapping, is_number
from evenhand.core.message import Message, Model, ModelWithFallback, Prompt, Reply
from evenhand.core.provider import Provider, judge_id, misset
from evenhand.core.scripted import A_RULE_SAID_SO, NO_RULE, script_answers
from evenhand.core.thoughts import TAGS
from evenhand.core.traits import name_model
from evenhand.core.unusable_answers import forgotten_if_unusable
from evenhand.scorers.deciding import CASCADE, DECIDED, FALLBACK, decided, decider_in, reply_details
from evenhand.scorers.json_objects import whole_objects
from evenhand.scorers.judge_prompt import JudgePrompt, conversation
from evenhand.scorers.judge_reply import shown, the_object
from evenhand.scorers.opposite import Question

T = TypeVar("T")
_MARK = re.compile(r"\b[0-9a-f]{12}\b")
Judge = str | Sequence[str] | Mapping[str, Any] | Provider | Model
"""Who may judge: a model's id, `anthropic:claude-sonnet-4-5`; one with settings, `{"id": …, "config": …}`; a list
of ids, each in place of the one before when that is over its quota or out of reach; a cascade,
`{"first": …, "then": …}`; a provider, or a model that is lent already."""

OUT_OF_REACH = (RateLimited, QuotaExhausted, Overloaded, Unreachable, ConnectionFailed, TimedOut)
"""After which of a judge's errors its fallback is asked: quota and outage, after all retries."""

_REASON_KEPT = 300
UNSURE = 0.5
"""A confidence below this is warned of, unless a scorer says otherwise."""

NAME_A_JUDGE = (
    "Name one: for the scorer, judge='anthropic:claude-sonnet-4-5'; for a set, EvalSet(…, judge='…'); for a project, "
    "judge = '…' below [tool.evenhand] in pyproject.toml; or in EVENHAND_JUDGE."
)

_TO_THE_JUDGE = re.compile(
    r"(?:ignore|disregard|forget|override)\W+(?:\w+\W+){0,4}?(?:instruction|rubric|criteri|prompt)\w*"
    r"|\b(?:dear|as the|you are the|note to the)\W+(?:\w+\W+)?(?:grader|judge|evaluator)\b"
    r'|"(?:pass|passes|score|winner|verdict)"\s*:',
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AsksJudge(Question):
    """A scorer that asks a judge.

    Attributes:
        judge: Who judges; the set's judge by default.
    """

    judge: Judge | None = field(default=None, kw_only=True, repr=False)

    def judged_by(self, judge: Judge) -> Self:
        return replace(self, judge=judge)


def check_judge(judge: object) -> None:
    """Refuses what cannot judge. Whether there is a model of this id is looked up by the run.

    Raises:
        UsageError: It is nothing that could be asked.
    """
    if isinstance(judge, str) and judge.strip():
        name_model(judge)
        return
    if isinstance(judge, (list, tuple)) and judge and all(isinstance(i, str) for i in judge):
        for one in cast("Sequence[str]", judge):
            name_model(one)
        return
    if isinstance(judge, Mapping) and "first" in judge:
        name_model(str(judge_id(judge)))  # pyright: ignore[reportUnknownArgumentType] (read by who makes it)
        return
    if is_mapping(judge) and "id" in judge:
        if wrong := misset(judge):
            raise UsageError(f"judge= {'; '.join(wrong)}")
        name_model(str(judge["id"]))
        return
    can_answer = hasattr(judge, "generate") or hasattr(judge, "request")
    if judge is None or (can_answer and not isinstance(judge, type)):
        return
    raise UsageError(
        f"judge= takes a model, and this is {judge!r}",
        hint="Write its id, judge='anthropic:claude-sonnet-4-5', or its settings as well, "
        "judge={'id': 'anthropic:claude-sonnet-4-5', 'config': {'temperature': 0}}.",
    )


def chosen_judge(judge: Judge | None, trial: Trial) -> Provider | Model:
    """Who judges: whom the scorer names, or the trial's judge; for one id, the same one each time.

    Raises:
        UsageError: No model is named, or the id is unknown.
    """
    chosen = trial.judge if judge is None else judge
    if chosen is None:
        raise UsageError("no judge is named", hint=NAME_A_JUDGE)
    chosen = judge_id(chosen)
    if isinstance(chosen, str) or is_mapping(chosen):
        return trial.provider(chosen)
    return cast("Provider | Model", chosen)


def lent_judge(judge: Judge | None, trial: Trial) -> Model:
    """The model that judges: the scorer's own, or the one that the trial has.

    Raises:
        UsageError: No model is named, or the id is unknown.
    """
    chosen = chosen_judge(judge, trial)
    if hasattr(chosen, "generate"):
        return cast("Model", chosen)
    return trial.model(cast("Provider", chosen), "judge")


def answer_schema(**verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of a judge's answer: its reasoning, then the verdict, then how sure it is."""
    confidence = {"type": "number", "minimum": 0, "maximum": 1}
    return strict_object(reasoning={"type": "string"}, **verdict, confidence=confidence)


async def ask_judge(
    model: Model,
    prompt: Prompt,
    read: Callable[[str], T],
    keys: str,
    schema: Mapping[str, Any] | None = None,
    form: str = "with one JSON object and nothing else, ",
) -> tuple[Reply, T]:
    """A judge's reply and what was read in it; asked once more where it could not be read.

    Args:
        read: Reads what the judge said, without its thinking, or raises a JudgeError. It trusts no schema.
        keys: What the answer must hold, in words, for the second question.
        form: What stands before these words; empty for an answer that is not JSON.
        schema: What models that can be held to a schema are held to; the second time they are asked in words alone.

    Raises:
        JudgeError: It could not be read the second time either.
    """
    asking = _Asking(prompt, read, keys, schema, form)
    if isinstance(model, CascadingModel):
        return await _in_turn(model, asking)
    models = model.models if isinstance(model, ModelWithFallback) else (model,)
    reasons: list[str] = []
    for one in models[:-1]:
        try:
            reply, answer = await _asked(one, asking)
        except OUT_OF_REACH as error:
            reasons.append(f"{one.name}: {error.message}")
        else:
            return _stood_in(reply, one, reasons), answer
    reply, answer = await _asked(models[-1], asking)
    return _stood_in(reply, models[-1], reasons), answer


class _Asking(NamedTuple, Generic[T]):
    """What a judge is asked, and how its answer is read; see `ask_judge`."""

    prompt: Prompt
    read: Callable[[str], T]
    keys: str
    schema: Mapping[str, Any] | None
    form: str


async def _in_turn(model: CascadingModel, asking: _Asking[T]) -> tuple[Reply, T]:
    """The verdict of the first judge of a cascade that is sure enough.

    Before labels have shown how sure that is, and for other questions, systems and judges than those that the labels
    are of, both are asked, and the second one's verdict stands.

    Raises:
        Undecided: Neither is sure enough.
    """
    prompt, read, keys, schema, form = asking
    stages = Stages(model, prompt)
    limits = model.limits(metric_asked.get(), stages.question)
    try:
        reply, answer = await ask_judge(model.first, prompt, read, keys)
    except JudgeError as error:  # what it can't say, the other one may
        stages.first_failed(error.message)
    else:
        sure = stages.first_said(reply, model.first.name)
        limits = limits if limits is not None and stages.are_judges_of(limits) else None
        if limits is not None and limits.first is not None and sure >= limits.first:
            return stages.reply(reply, "first", limits), answer
    reply, answer = await ask_judge(model.then, prompt, read, keys, schema, form)
    sure = stages.then_said(reply, model.then.name)
    limits = limits if limits is not None and stages.are_judges_of(limits) else None
    if limits is None or (limits.then is not None and sure >= limits.then):
        return stages.reply(reply, "then", limits), answer
    raise stages.undecided(limits)


def _stood_in(reply: Reply, model: Model, reasons: Sequence[str]) -> Reply:
    """A judge's reply; of a fallback, with why it was asked, and who it is."""
    if not reasons:
        return reply
    metadata = {**reply.metadata, FALLBACK: "; ".join(reasons)[:_REASON_KEPT]}
    return replace(reply, model=reply.model or model.name, metadata=metadata)


async def _asked(model: Model, asking: _Asking[T]) -> tuple[Reply, T]:
    with forgotten_if_unusable():
        return await _answered(model, asking)


async def _answered(model: Model, asking: _Asking[T]) -> tuple[Reply, T]:
    prompt, read, keys, schema, form = asking
    decider = decider_in(model)
    if decider is not None:
        reply = await decided(decider, prompt)
        return reply, read(reply.text)
    if schema is not None:
        prompt = replace(prompt, schema=schema)
    reply = await _first_reply(model, prompt, f"{form}{keys}")
    try:
        return reply, _read(reply, read)
    except JudgeError as error:
        again = f"That answer cannot be used: {error.message}. Answer again {form}{keys}."
        first_answer = Message("assistant", reply.text or "(nothing)")
        messages = (*prompt.messages, first_answer, Message("user", again))
        # Judges that take no conversation are given all of it as one text.
        text = conversation(messages).text
        reply = await model.generate(replace(prompt, messages=messages, text=text, schema=None))
        try:
            return reply, _read(reply, read)
        except JudgeError as second:
            # Its words are kept, as all that was paid for: resuming reads them again.
            way = "`evenhand resume --errors --no-cache` asks again."
            if script_answers():  # it would answer the same again
                way = A_RULE_SAID_SO
            quoted = shown(_text_of(reply))
            replied = "" if quoted in second.message else f"; it replied {quoted}"
            raise JudgeError(
                f"asked twice, without a usable answer: {second.message}{replied}",
                hint=f"{way} {second.hint}".rstrip(),
            ) from error


async def _first_reply(model: Model, prompt: Prompt, wish: str) -> Reply:
    """The reply of a model; where a script lacks one, the error says what it has to hold.

    Args:
        wish: What it has to hold, in words.
    """
    try:
        return await model.generate(prompt)
    except BadRequest as error:
        if NO_RULE in error.message and not error.hint:  # a schema would have shown it
            error.hint = f"A judge replies {wish}."
        raise


def _read(reply: Reply, read: Callable[[str], T]) -> T:
    """What was read in a reply. One that was cut off or held back is none, whatever stands in it."""
    text = _text_of(reply)
    if reply.finish_reason == "length":
        raise JudgeError(
            f"the judge's reply was cut off: {shown(text)}",
            hint="The judge ran out of tokens: give it more in its config, max_tokens: …",
        )
    if reply.refused or reply.finish_reason == "content_filter":
        raise JudgeError(f"the judge refused to answer: {shown(text)}", hint="Ask another judge.")
    return read(text)


def _text_of(reply: Reply) -> str:
    return without_thinking(reply.text if reply.spoken is None else reply.spoken)


def answer_details(
    reply: Reply,
    model: Model,
    version: str,
    confidence: float | None,
    *texts: str,
    unsure_below: float,
    prompt: Prompt | None = None,
) -> dict[str, Any]:
    """What is kept of a judge's answer beside its verdict and its reasoning.

    Args:
        texts: What was judged. Where it speaks to the judge, that is kept as `suspect`: the verdict stands, and is
            worth a look.
    """
    details: dict[str, Any] = {"judge": reply.model or model.name, "prompt": version}
    if prompt is not None:
        details["instrument"] = instrument_of(prompt, *texts)
    details.update(reply_details(reply))
    if confidence is not None:
        details["confidence"] = confidence
        if confidence < unsure_below:
            details["warning"] = f"low confidence: {confidence:g}"
    suspect = suspect_in(*texts)
    if suspect:
        details["suspect"] = suspect
    return details


def instrument_of(prompt: Prompt, *judged: str) -> str:
    """A digest of what a judge is asked, apart from what it is to judge: the same for all outputs, under one prompt.

    Args:
        judged: The texts that it is to judge.
    """
    asked_of_all = "\n".join(str(message.content) for message in prompt.messages)
    for text in judged:
        # Marks are made of what stands between them, so they change with it.
        asked_of_all = asked_of_all.replace(f">\n{text}\n</", ">\n</")
    return digest(_MARK.sub("", asked_of_all))[:16]


def suspect_in(*texts: str) -> str:
    """The first words in what is judged that speak to the judge; empty for none."""
    match = next(filter(None, map(_TO_THE_JUDGE.search, texts)), None)
    return match[0] if match else ""


async def side_by_side(questions: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers to several questions, asked at the same time, in their order.

    The first that raises ends the others, and leaves none behind.
    """
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        return list(await asyncio.gather(*tasks))
    # This includes cancellation, which is no Exception: the questions must end with the trial that asked them.
    except BaseException:
        for task in tasks:
            task.cancel()
        # Cancelling is only a request: without waiting, a task could still run after the trial is over.
        await asyncio.wait(tasks)
        raise


class Stages:
    """What each judge said, as far as it was asked."""

    def __init__(self, model: CascadingModel, prompt: Prompt) -> None:
        form = prompt.decision if isinstance(prompt, JudgePrompt) else None
        self._graded = form is not None and bool(form.graded)
        self._version = "" if form is None else form.version
        # By the names that are asked, as not every one answers.
        self._judge = JOINS.join((model.first.name, model.then.name))
        self.question = digest("" if form is None else form.instrument)[:16]
        self._kept: dict[str, Any] = {
            "id": model.cascade,
            "risk": model.risk,
            "people": model.people,
            "question": self.question,
            "system": model.system,
        }

    def first_failed(self, why: str) -> None:
        """The first judge gave no verdict."""
        self._kept["first"] = {"error": why[:200]}

    def first_said(self, reply: Reply, name: str) -> float:
        """What the first judge said; returns how sure it is."""
        details = reply.metadata[DECIDED]
        answer = {key: details[key] for key in ("probability", "probabilities") if key in details}
        likelihood = answer["probability"]
        sure = likelihood if "probabilities" in answer else max(likelihood, 1 - likelihood)
        if self._graded:  # a threshold is one of the probability
            answer["graded"] = True
        self._kept["first"] = {**answer, "certainty": sure, "judge": reply.model or name}
        return sure

    def then_said(self, reply: Reply, name: str) -> float:
        """What the second judge said; returns how sure it is, 1 where it doesn't say."""
        try:
            stated = the_object(reply.text, ["confidence"])["confidence"]
        except JudgeError:
            stated = None
        sure = float(stated) if is_number(stated) and 0 <= stated <= 1 else 1.0
        self._kept["then"] = {"certainty": sure, "judge": reply.model or name}
        return sure

    def are_judges_of(self, limits: CascadeLimits) -> bool:
        """Whether those that answered so far are the judges that limits were chosen for."""
        names = zip(("first", "then"), limits.judges, strict=True)
        return all(self._kept.get(stage, {}).get("judge", name) == name for stage, name in names)

    def reply(self, reply: Reply, stage: str, limits: CascadeLimits | None) -> Reply:
        """The reply of the judge whose verdict stands."""
        details = self._details(stage, limits)
        return replace(reply, metadata={**reply.metadata, CASCADE: details})

    def undecided(self, limits: CascadeLimits) -> Undecided:
        """That neither is sure enough."""
        first, then = self._kept["first"], self._kept["then"]
        sure = first.get("certainty")
        words = "it gave no verdict" if sure is None else f"{sure:.2f}"
        return Undecided(
            f"no judge is sure enough: the first {words}, the other {then['certainty']:.2f}",
            self._details("people", limits),
            hint=f"`evenhand label --unsure {self._kept['risk']:g}` lets a person decide.",
        )

    def _details(self, stage: str, limits: CascadeLimits | None) -> dict[str, Any]:
        details: dict[str, Any] = {"cascade": {**self._kept, "stage": stage}}
        if limits is None:
            return details
        # One instrument, whichever judge's verdict stands; by other limits other verdicts stand.
        instrument = digest(self.question, str(limits.first), str(limits.then))[:16]
        return {**details, "prompt": self._version, "instrument": instrument, "judge": self._judge}


_OPENS = re.compile(
    rf"<(?:{TAGS})(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|channel\|>\s*(?:analysis|commentary)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"</(?:{TAGS})\s*>|\[/THINK\]|◁/think▷|<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE
)
_LEFT_OUT = "\n…\n"


def without_thinking(text: str) -> str:
    """The text without its thinking. Where something was said before it, an ellipsis stands in its place.

    Raises:
        JudgeError: It ends in the middle of its thinking.
    """
    tags = [(tag, True) for tag in _OPENS.finditer(text)]
    tags += [(tag, False) for tag in _CLOSES.finditer(text)]
    if not tags:
        return text
    objects = list(whole_objects(text))
    starts = [parsed.start for parsed in objects]
    speech, at, thinking = "", 0, False
    for tag, opens in sorted(tags, key=lambda item: item[0].start()):
        before = bisect_right(starts, tag.start()) - 1
        within = before >= 0 and tag.start() < objects[before].end
        if tag.start() < at or (within and not thinking):
            continue
        if opens and not thinking:
            speech += text[at : tag.start()]
            speech += _LEFT_OUT if speech.strip() else ""
        elif not opens and not thinking:
            speech = ""
        if opens:
            thinking = True
        else:
            thinking, at = False, tag.end()
    if thinking:
        raise JudgeError("the judge's reply ends in the middle of its thinking")
    return speech + text[at:]

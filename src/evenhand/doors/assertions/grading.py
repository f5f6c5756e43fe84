"""Asking a grader: in our words, or in the user's; and what is kept of its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from evenhand.core.decision import DecisionQuestion
from evenhand.core.encoding import digest
from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Trial
from evenhand.core.message import Prompt, Reply
from evenhand.core.provider import Provider
from evenhand.doors.assertions.assertion import Assertion, Cell
from evenhand.languages.templates.printing import printed
from evenhand.languages.templates.rendering import NO_CONFIG, Templates
from evenhand.providers.prompt_text import filled_messages
from evenhand.scorers.deciding import answered_each, decider_in, reply_details, says_yes
from evenhand.scorers.judge_prompt import conversation, judge_prompt
from evenhand.scorers.judging import ask_judge, instrument_of
from evenhand.scorers.text import text_of

T = TypeVar("T")
_LABELS = {
    "answer_question": "answer-relevance",
    "closed_qa": "model-graded-closedqa",
    "context_recall": "context-recall",
    "context_relevance": "context-relevance",
    "conversation_relevance": "conversation-relevance",
    "factuality": "factuality",
    "faithfulness_statements": "context-faithfulness-longform",
    "faithfulness_verdicts": "context-faithfulness-nli",
    "geval": "g-eval",
    "geval_steps": "g-eval-steps",
    "goal_success": "trajectory:goal-success",
    "select_best": "select-best",
}
"""What graders that are functions know our prompts by."""

_DECIDED = "items-decision/1"
RAW_KEPT = 2000
"""Characters of a grader's answer that are kept with the outcome; all of it is in the journal."""


@dataclass(frozen=True, slots=True)
class Grader:
    """A model that grades, and the words in which it is asked.

    Attributes:
        template: The user's own prompt; empty for ours.
        variables: The test's variables, which the user's prompt may name.
        threshold: Of the assertion; kept with the answer, as verdicts by another threshold are other ones.
    """

    judge: Provider
    template: str = field(default="", repr=False)
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    templates: Templates = field(default=NO_CONFIG, repr=False)
    threshold: float | None = None

    def prompt(self, name: str, **values: Any) -> tuple[str, Prompt]:
        """The version of the prompt, and the prompt.

        Args:
            name: Of our prompt; without the user's own it is filled with these values, each between marks.
            **values: What a prompt may name, under the names that promptfoo gives them.
        """
        if self.template:
            messages = filled_messages(self.template, {**self.variables, **values}, self.templates)
            version, prompt = "your own", conversation(messages)
        else:
            texts = {key: _text(value) for key, value in values.items()}
            version, prompt = judge_prompt(name, texts)
        return version, replace(prompt, label=_LABELS[name])

    def known(self, name: str, value: str) -> object:
        """What a prompt may name so: in the user's words the test's variable of this name, where it has one."""
        return self.variables.get(name, value) if self.template else value

    def shown(self, output: object) -> object:
        """An output as the grader is shown it: in the user's words, as `as_variable` has it."""
        return as_variable(output) if self.template else text_of(output)

    @property
    def own(self) -> bool:
        """Whether the grader is asked in the user's words, which say how to answer."""
        return bool(self.template)

    async def ask(
        self,
        trial: Trial,
        name: str,
        read: Callable[[str], T],
        wish: str,
        *,
        plain: bool = False,
        parts: Sequence[str] = (),
        **values: Any,
    ) -> tuple[T, dict[str, Any]]:
        """What was read in the grader's answer, and what is kept of it. What cannot be read is asked for once more.

        Args:
            read: Reads a reply's text, or raises a JudgeError.
            wish: What the answer must hold, in words: of JSON, its keys.
            plain: The answer is not JSON.
            parts: The texts in a value that is made of several, each between marks.

        Raises:
            JudgeError: It could not be read.
        """
        version, prompt = self.prompt(name, **values)
        model = trial.model(self.judge, "judge")
        if plain:
            reply, answer = await ask_judge(model, prompt, read, wish, form="")
        else:
            reply, answer = await ask_judge(model, prompt, read, wish)
        return answer, {
            **kept(reply, model.name, version),
            "instrument": self._instrument(prompt, values, parts),
            **reply_details(reply),
            **({} if self.threshold is None else {"threshold": self.threshold}),
        }

    async def decide_each(
        self, trial: Trial, words: str, items: Callable[[], Sequence[str]], **about: str
    ) -> tuple[dict[str, bool], dict[str, Any]] | None:
        """Yes or no for each of several texts, where the grader is a decision model; None where it writes.

        Args:
            words: The question, with `place_of("item")` where it names the text, and so for the others.
            items: The texts; looked for only where they are asked about.
            about: What else the question is about.

        Raises:
            JudgeError: One of the decisions cannot be used, or the question is in the user's own words.
        """
        decider = decider_in(trial.model(self.judge, "judge"))
        if decider is None:
            return None
        if self.own:
            raise JudgeError(
                f"{decider.name} is a decision model, which can't be asked in words of your own",
                hint="Leave rubricPrompt out, or name a judge that writes.",
            )
        texts = dict.fromkeys(items())
        if not texts:
            raise ScoreError("there is no sentence to ask about")
        questions = [
            DecisionQuestion(kind="yes_no", words=words, about={"item": text, **about})
            for text in texts
        ]
        decisions, judge = await answered_each(decider, questions)
        details: dict[str, Any] = {
            "judge": judge,
            "prompt": _DECIDED,
            "instrument": digest(_DECIDED, words)[:16],
        }
        details["probabilities"] = [decision.probability for decision in decisions]
        if self.threshold is not None:
            details["threshold"] = self.threshold
        return dict(zip(texts, map(says_yes, decisions), strict=True)), details

    def _instrument(
        self, prompt: Prompt, values: Mapping[str, object], parts: Sequence[str]
    ) -> str:
        """A digest of the prompt apart from what it is filled with."""
        if self.template:
            return digest(self.template)[:16]
        return instrument_of(prompt, *parts, *map(_text, values.values()))


def kept(reply: Reply, name: str, version: str) -> dict[str, Any]:
    """What is kept of a grader's answer."""
    return {"judge": reply.model or name, "prompt": version, "reply": reply.text[:RAW_KEPT]}


def grader_of(assertion: Assertion, cell: Cell, template: str | None = None) -> Grader:
    """The grader of an assertion.

    Raises:
        ScoreError: Nobody is named.
    """
    if assertion.judge is None:
        raise ScoreError("there is no model to judge")
    words = assertion.rubric_prompt if template is None else template
    return Grader(assertion.judge, words, cell.variables, assertion.templates, assertion.threshold)


def as_variable(output: object) -> object:
    """An output as a user's prompt finds it: JSON text as the value that it stands for."""
    if isinstance(output, str):
        try:
            return json.loads(output)
        except ValueError:
            return output
    return output


def wanted_text(assertion: Assertion, value: object) -> str:
    """The value of an assertion that is a text.

    Raises:
        ScoreError: It is something else.
    """
    if isinstance(value, str):
        return value
    raise assertion.misvalued(value, ", not a text")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, indent=2)
    return printed(value)

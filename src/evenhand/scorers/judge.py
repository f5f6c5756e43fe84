"""Questions that a model answers: whether an output meets a rubric, in words.

How this works: the judge is a model lent by the run, so its calls are journaled, cached and paid for like any other.
Rubric and output are set between marks made from a hash of their content: an output cannot close the mark around it,
and the same question is the same request, so that cache and resume hold. A reply without a readable verdict is asked
for once more, saying what was wrong with it; after that it is an error, never a score.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.core.encoding import digest
from evenhand.core.errors import JudgeError
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Model, Prompt, Reply
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.scorers.judge_reply import Ruling, read_ruling
from evenhand.scorers.text import quoted, text_of

RAW_KEPT = 2000
_EPSILON = 2.2e-16
_PLACE = re.compile(r"\{(mark|rubric|output)\}")
CONTRADICTIONS = ((True, 0.0), (False, 1.0))
"""Verdicts and scores that cannot both be meant. The verdict counts, as the judge was asked for it; it is marked."""


@dataclass(frozen=True, slots=True)
class MeetsRubric:
    """A judge says that the output meets this rubric.

    The verdict is the judge's; a threshold can only make it stricter. A score without a verdict decides where there is
    a threshold, and is an error where there is none.

    Attributes:
        rubric: What is asked of the output, in words.
        judge: The model that judges.
        threshold: The judge's score must reach this, beside its verdict.
        messages: A prompt of the user's own, given the output; None for ours. Its scale is its own business.
    """

    rubric: str
    judge: Provider
    threshold: float | None = None
    messages: Callable[[str], tuple[Message, ...]] | None = field(default=None, repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        model = trial.model(self.judge, "judge")
        if self.messages is not None:
            prompt = _conversation(self.messages(text_of(output)))
            version, scale = "your own", None
        else:
            version, prompt = rubric_prompt(self.rubric, text_of(output))
            scale = (0.0, 1.0)
        reply, ruling = await ask_twice(model, prompt, scale, verdict=self.threshold is None)
        enough = (
            ruling.score is None
            or self.threshold is None
            or ruling.score >= self.threshold - _EPSILON
        )
        passed = ruling.passed is not False and enough
        value = (1.0 if ruling.passed else 0.0) if ruling.score is None else ruling.score
        metadata: dict[str, Any] = {
            "judge": reply.model or model.name,
            "prompt": version,
            "reply": reply.text[:RAW_KEPT],
        }
        if (ruling.passed, ruling.score) in CONTRADICTIONS:
            metadata["contradiction"] = True
        reason = ruling.reason or f"the judge says {'pass' if passed else 'fail'}, score {value:g}"
        if ruling.passed is not False and not enough:
            reason = f"score {value:g}, wanted at least {self.threshold:g}: {reason}"
        return Score(value, passed, reason, metadata)

    def __str__(self) -> str:
        return f"llm-rubric {quoted(self.rubric)}"


def rubric_prompt(rubric: str, output: str) -> tuple[str, Prompt]:
    """The version of our own prompt, and the prompt for this rubric and this output."""
    version, instructions, material = _template("llm_rubric")
    mark = digest(rubric, output)[:12]
    values = {"mark": mark, "rubric": rubric, "output": output}
    return version, _conversation(
        (
            Message("system", instructions.replace("{mark}", mark)),
            Message("user", _PLACE.sub(lambda m: values[m[1]], material)),
        )
    )


def _conversation(messages: tuple[Message, ...]) -> Prompt:
    return Prompt(messages, "\n\n".join(str(message.content) for message in messages))


async def ask_twice(
    model: Model, prompt: Prompt, scale: tuple[float, float] | None, *, verdict: bool = True
) -> tuple[Reply, Ruling]:
    """The judge's reply and the ruling in it; asked once more where there was none to read.

    Args:
        scale: See `read_ruling`.
        verdict: Whether a score alone is not enough.

    Raises:
        JudgeError: There was none the second time either.
    """
    reply = await model.generate(prompt)
    try:
        return reply, _ruling(reply, scale, verdict=verdict)
    except JudgeError as error:
        again = (
            f"That answer cannot be used: {error.message}. Answer again with one JSON object and nothing else, "
            'with the keys "reason", "pass" (true or false) and "score" (a number).'
        )
        said = Message("assistant", reply.text or "(nothing)")
        messages = (*prompt.messages, said, Message("user", again))
        reply = await model.generate(Prompt(messages, again, prompt.config))
        try:
            return reply, _ruling(reply, scale, verdict=verdict)
        except JudgeError as second:
            raise JudgeError(f"asked twice: {second.message}", hint=second.hint) from error


def _ruling(reply: Reply, scale: tuple[float, float] | None, *, verdict: bool) -> Ruling:
    try:
        ruling = read_ruling(reply.text, scale=scale)
    except JudgeError as error:
        hint = ""
        if reply.finish_reason == "length":
            hint = "The judge ran out of tokens: give it more in its config, max_tokens: …"
        raise JudgeError(error.message, hint=hint) from None
    if verdict and ruling.passed is None:
        raise JudgeError(
            "the judge gave a score but no verdict",
            hint="Set a threshold, so that the score decides, or ask the judge for 'pass' as well.",
        )
    return ruling


@cache
def _template(name: str) -> tuple[str, str, str]:
    """A judge prompt of ours: its version, what the system says, and what the user says."""
    source = (Path(__file__).parent / "prompts" / f"{name}.md").read_text("utf-8")
    _, head, system, user = re.split(r"^---\n", source, maxsplit=3, flags=re.MULTILINE)
    version = next(
        line.removeprefix("version:").strip()
        for line in head.splitlines()
        if line.startswith("version:")
    )
    return version, system.strip(), user.strip()

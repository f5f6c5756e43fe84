"""Questions that a model answers: whether an output meets a rubric, in words.

How this works: the judge is a model lent by the run, so its calls are journaled, cached and paid for like any other.
Rubric and output are set between marks made from a hash of their content: an output cannot close the mark around it,
and the same question is the same request, so that cache and resume hold. A reply without a readable verdict is asked
for once more, saying what was wrong with it; after that it is an error, never a score.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class MeetsRubric:
    """A judge says that the output meets this rubric.

    Attributes:
        rubric: What is asked of the output, in words.
        judge: The model that judges.
        threshold: The judge's score must reach this, beside its verdict.
        messages: A prompt of the user's own, filled in; empty for ours. Its scale is its own business.
    """

    rubric: str
    judge: Provider
    threshold: float | None = None
    messages: tuple[Message, ...] = ()

    async def score(self, output: Any, trial: Trial) -> Score:  # noqa: ANN401
        model = trial.model(self.judge, "judge")
        if self.messages:
            prompt = Prompt(self.messages, "\n\n".join(str(m.content) for m in self.messages), vars={})
            version, scale = "your own", None
        else:
            version, prompt = rubric_prompt(self.rubric, text_of(output))
            scale = (0.0, 1.0)
        reply, ruling = await ask_twice(model, prompt, scale)
        passed, value = self._verdict(ruling)
        return Score(
            value,
            passed,
            ruling.reason or f"the judge says {'pass' if passed else 'fail'}, score {value:g}",
            {"judge": reply.model or model.name, "prompt": version, "reply": reply.text[:RAW_KEPT]},
        )

    def _verdict(self, ruling: Ruling) -> tuple[bool, float]:
        """The verdict and the score. A score alone decides only where a threshold says what is enough."""
        enough = ruling.score is None or self.threshold is None or ruling.score >= self.threshold - _EPSILON
        if ruling.passed is None:
            if self.threshold is None or ruling.score is None:
                raise JudgeError(
                    "the judge gave a score but no verdict",
                    hint="Set a threshold, so that the score decides, or ask the judge for 'pass' as well.",
                )
            return enough, ruling.score
        value = (1.0 if ruling.passed else 0.0) if ruling.score is None else ruling.score
        return ruling.passed and enough, value

    def __str__(self) -> str:
        return f"llm-rubric {quoted(self.rubric)}"


def rubric_prompt(rubric: str, output: str) -> tuple[str, Prompt]:
    """The version of our own prompt, and the prompt for this rubric and this output."""
    version, text = _template("llm_rubric")
    mark = digest(rubric, output)[:12]
    for name, value in (("mark", mark), ("rubric", rubric)):
        text = text.replace("{" + name + "}", value)
    before, _, after = text.rpartition("{output}")
    return version, Prompt.of(before + output + after)


async def ask_twice(
    model: Model, prompt: Prompt, scale: tuple[float, float] | None
) -> tuple[Reply, Ruling]:
    """The judge's reply and the ruling in it; asked once more where there was none to read.

    Raises:
        JudgeError: There was none the second time either.
    """
    reply = await model.generate(prompt)
    try:
        return reply, read_ruling(reply.text, scale=scale)
    except JudgeError as error:
        again = (
            f"That answer cannot be used: {error.message}. Answer again with one JSON object and nothing else, "
            'with the keys "reason", "pass" (true or false) and "score" (a number).'
        )
        messages = (*prompt.messages, Message("assistant", reply.text or "(nothing)"), Message("user", again))
        reply = await model.generate(Prompt(messages, again, prompt.config))
        try:
            return reply, read_ruling(reply.text, scale=scale)
        except JudgeError as second:
            raise JudgeError(f"asked twice: {second.message}") from error


@cache
def _template(name: str) -> tuple[str, str]:
    """A judge prompt of ours: its version, and its text."""
    source = (Path(__file__).parent / "prompts" / f"{name}.md").read_text("utf-8")
    _, head, text = source.split("---\n", 2)
    version = next(line.removeprefix("version:").strip() for line in head.splitlines() if line.startswith("version:"))
    return version, text.strip()

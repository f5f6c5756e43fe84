"""Questions that a model answers: whether an output meets a rubric, in words.

How this works: the judge is a model lent by the run, so its calls are journaled, cached and paid for like any other.
Rubric and output are set between marks made from a hash of their content: an output cannot close the mark around it,
and the same question is the same request, so that cache and resume hold. A reply without a readable verdict is asked
for once more, saying what was wrong with it; after that it is an error, never a score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.errors import JudgeError
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Model, Prompt, Reply
from evenhand.core.provider import Provider
from evenhand.core.score import OFF_SCALE, Score
from evenhand.core.wording.bounds import beside_least
from evenhand.scorers.deciding import reply_details
from evenhand.scorers.judge_prompt import conversation, judge_prompt
from evenhand.scorers.judge_reply import Ruling, read_ruling
from evenhand.scorers.judging import ask_judge, instrument_of
from evenhand.scorers.text import quoted, text_of

RAW_KEPT = 2000
_EPSILON = 2.2e-16  # so that rounding alone fails no threshold
_KEYS = 'with the keys "reason", "pass" (true or false) and "score" (a number)'
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
        messages: A prompt of the user's own, given the rubric and the output; None for ours. Its scale is its own
            business.
        scale: What a score may be where the prompt is ours; None for anything.
    """

    rubric: str
    judge: Provider
    threshold: float | None = None
    messages: Callable[[str, str], tuple[Message, ...]] | None = field(default=None, repr=False)
    scale: tuple[float, float] | None = (0.0, 1.0)

    async def score(self, output: Any, trial: Trial) -> Score:
        model = trial.model(self.judge, "judge")
        if self.messages is not None:
            prompt = conversation(self.messages(self.rubric, text_of(output)))
            version, scale = "your own", None
        else:
            version, prompt = rubric_prompt(self.rubric, text_of(output))
            scale = self.scale
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
            "instrument": self._instrument(prompt, text_of(output)),
            "reply": reply.text[:RAW_KEPT],
            **reply_details(reply),
        }
        if self.threshold is not None:
            metadata["threshold"] = self.threshold
            if ruling.score is not None and ruling.score > 1 >= self.threshold:
                # A judge that scores from 1 to 10 always reaches a threshold of at most 1, so that its pass means
                # little.
                gave = f"{OFF_SCALE}{ruling.score:g}, and the threshold is {self.threshold:g}"
                metadata["warning"] = gave
        if (ruling.passed, ruling.score) in CONTRADICTIONS:
            metadata["contradiction"] = True
        reason = ruling.reason or f"the judge says {'pass' if passed else 'fail'}, score {value:g}"
        if ruling.passed is not False and self.threshold is not None and not enough:
            reason = f"score {beside_least(value, self.threshold)}: {reason}"
        return Score(value, passed, reason, metadata)

    def _instrument(self, prompt: Prompt, text: str) -> str:
        if self.messages is not None:
            # A user's own prompt has no marks around the output by which it could be cut out.
            prompt, text = conversation(self.messages(self.rubric, "")), ""
        return instrument_of(prompt, text)

    def __str__(self) -> str:
        return f"llm-rubric {quoted(self.rubric)}"


def rubric_prompt(rubric: str, output: str) -> tuple[str, Prompt]:
    """The version of our own prompt, and the prompt for this rubric and this output."""
    return judge_prompt("llm_rubric", {"rubric": rubric, "output": output})


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

    def read(text: str) -> Ruling:
        ruling = read_ruling(text, scale=scale)
        if verdict and ruling.passed is None:
            raise JudgeError(
                "the judge gave a score but no verdict",
                hint="Set a threshold, so that the score decides, or ask the judge for 'pass' as well.",
            )
        return ruling

    return await ask_judge(model, prompt, read, _KEYS)

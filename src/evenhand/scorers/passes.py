"""A judge's yes or no: whether an output meets a criterion, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.constructor_checks import need_mapping, need_number, need_text
from evenhand.scorers.judge_prompt import fenced, judge_prompt, mark_of
from evenhand.scorers.judge_reply import ruled
from evenhand.scorers.judging import (
    UNSURE,
    AsksJudge,
    answer_details,
    answer_schema,
    ask_judge,
    check_judge,
    lent_judge,
)
from evenhand.scorers.text import quoted, text_of, value_text

_KEYS = 'with the keys "reasoning", "passes" (true or false) and "confidence" (from 0 to 1)'
_SCHEMA = answer_schema(passes={"type": "boolean"})
_AN_EXAMPLE = 'Write [{"output": "…", "passes": True, "reasoning": "…"}].'
_EXAMPLE = frozenset({"output", "passes", "reasoning"})


@dataclass(frozen=True, slots=True)
class Passes(AsksJudge):
    """A judge says that the output meets the criterion, or that it does not: 1 or 0.

    The outcome's metadata holds the verdict, the reasoning, the confidence, who judged and the version of the prompt;
    `warning` where the judge was not sure, `suspect` where the output speaks to the judge.

    Args:
        criteria: What the output must do or be, in words.
        strict: Make no allowances.
        examples: Outputs with their verdicts, for the judge to go by: `{"output": …, "passes": True, "reasoning": …}`.
        context: What else the judge should know.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There are no criteria, an example is not one, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    criteria: str
    strict: bool = field(default=False, kw_only=True)
    examples: Sequence[Mapping[str, Any]] = field(default=(), kw_only=True, hash=False)
    context: str = field(default="", kw_only=True)
    unsure_below: float = field(default=UNSURE, kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_text("Passes", "criteria", self.criteria)
        if not self.criteria.strip():
            raise UsageError("Passes: there are no criteria", hint="Say what the output must be.")
        need_text("Passes", "context", self.context)
        need_number("Passes", "unsure_below", self.unsure_below, (0, 1))
        if isinstance(self.examples, (str, Mapping)):
            raise UsageError("Passes: examples is not a list", hint=_AN_EXAMPLE)
        for place, example in enumerate(self.examples, 1):
            need_mapping("Passes", f"example {place}", example, _AN_EXAMPLE)
            if not {"output", "passes"} <= example.keys() <= _EXAMPLE or not isinstance(
                example["passes"], bool
            ):
                raise UsageError(f"Passes: example {place} is {dict(example)!r}", hint=_AN_EXAMPLE)

    async def score(self, output: Any, trial: Trial) -> Score:
        model = lent_judge(self.judge, trial)
        text = text_of(output)
        texts = [value_text(example["output"]) for example in self.examples]
        mark = mark_of(self.criteria, self.context, text, *texts)
        version, prompt = judge_prompt(
            "passes",
            {
                "mark": mark,
                "criteria": self.criteria.strip(),
                "strict": "yes" if self.strict else "",
                "examples": "\n\n".join(_shown(example, mark) for example in self.examples),
                "context": self.context,
                "output": text,
            },
        )
        reply, (passed, reasoning, confidence) = await ask_judge(
            model, prompt, _read, _KEYS, _SCHEMA
        )
        details = answer_details(
            reply, model, version, confidence, text, unsure_below=self.unsure_below, prompt=prompt
        )
        metadata = {"passes": passed, "reasoning": reasoning, **details}
        return Score(1.0 if passed else 0.0, passed, reasoning, metadata)

    def __str__(self) -> str:
        return f"passes {quoted(self.criteria.strip())}"


def _read(text: str) -> tuple[bool, str, float | None]:
    return ruled(text, "passes")[:3]


def _shown(example: Mapping[str, Any], mark: str) -> str:
    lines = [fenced("example", value_text(example["output"]), mark)]
    if example.get("reasoning"):
        lines.append(f"Reasoning: {example['reasoning']}")
    return "\n".join([*lines, f"Verdict: {'passes' if example['passes'] else 'does not pass'}"])

r"""A judge of your own: your words to it, your class for its answer.

class SummaryJudgement(Judgement):
    coverage: Graded[1, 5]
    accuracy: Graded[1, 5]

class SummaryJudge(CustomJudge[SummaryJudgement]):
    original: str

    def __post_init__(self) -> None:
        check_judge(self.judge)

    def messages(self, output: str) -> list[Message]:
        return [Message("user", f"Rate this summary.\n{output}\nOf this text:\n{self.fenced(self.original)}")]

judged = await expect.now(summary, SummaryJudge(original=text))
expect(judged.accuracy.score, at_least=4, label="accuracy")
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform, get_args, get_origin

from evenhand.core.arguments import checked_class
from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_text, is_mapping
from evenhand.core.message import Message
from evenhand.core.score import Outcome, Score
from evenhand.core.traits import Traits
from evenhand.scorers.judge_prompt import conversation, fenced, judge_prompt, mark_of
from evenhand.scorers.judge_reply import the_object
from evenhand.scorers.judge_schema import Graded, comes_to_one, grades_of, read_judgement, schema_of
from evenhand.scorers.judging import (
    UNSURE,
    Judge,
    answer_details,
    ask_judge,
    check_judge,
    lent_judge,
)
from evenhand.scorers.opposite import Question
from evenhand.scorers.text import text_of

S = TypeVar("S")
# Annotations are text in modules with `from __future__ import annotations`.
_NUMBERS = (float, int, "float", "int")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
@dataclass(kw_only=True, eq=False)
class CustomJudge(Question, Generic[S]):
    """A judge of your own. A subclass names its schema, `CustomJudge[MySchema]`, and says what the judge is told.

    What a subclass declares (`original: str`) are arguments when one is made; it is a dataclass without being told.
    The schema is a `Judgement`, a dataclass, or any class that yields a JSON Schema. An answer that does not fit it is
    asked for again, and then an error. The outcome's metadata holds the answer as `judgement`, and each graded field's
    score is also counted under the field's name.

    Attributes:
        version: Of your words; kept with each answer. Change it when you change them.
        traits: Whether an answer comes to a number, so that a bound decides, and on which scale. Known from the schema,
            or from what your `overall` says that it returns.
        judge: Who judges; the set's judge by default.
        unsure_below: Where the schema has a field `confidence`: one below this is warned of.
    """

    version: ClassVar[str] = "1"
    schema: ClassVar[type]
    traits: ClassVar[Traits] = Traits(counted=False)  # on scales of their own

    judge: Judge | None = field(default=None, repr=False)
    unsure_below: float = UNSURE
    _judged: str = field(default="", init=False, repr=False)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for base in getattr(cls, "__orig_bases__", ()):
            if get_origin(base) is CustomJudge and isinstance(get_args(base)[0], type):
                cls.schema = get_args(base)[0]
        if getattr(cls, "schema", None) is None:
            raise UsageError(
                f"{cls.__name__} says nothing of what the judge must answer",
                hint=f"Write class {cls.__name__}(CustomJudge[MySchema]).",
            )
        schema_of(cls.schema)
        if cls.overall is CustomJudge.overall and not comes_to_one(cls.schema):
            # Refused when the class is written: later, a judge would have been paid for an answer that cannot be used.
            raise _unclear(cls)
        if cls.overall is CustomJudge.overall:
            scales = set(grades_of(cls.schema).values())
            number, scale = bool(scales), scales.pop() if len(scales) == 1 else None
        else:
            number, scale = cls.overall.__annotations__.get("return") in _NUMBERS, None
        cls.traits = Traits(gives="number" if number else "either", scale=scale, counted=False)
        checked_class(dataclass(kw_only=True, eq=False)(cls))

    def messages(self, output: str) -> Sequence[Message]:
        """What the judge is told. How to answer is added to it.

        Args:
            output: What is judged, between marks already. Set other material between marks with `fenced`. To take a
                part of it, read `unfenced`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} says nothing to its judge: give it messages()"
        )

    def overall(self, judgement: S) -> float | bool:
        """What a judgement comes to: a number, on a scale of yours, or a verdict.

        Unless you say otherwise it is the lowest of the graded fields, as a chain is as strong as its weakest link;
        for a schema without any, whether all its yes-or-no fields say yes.

        Raises:
            UsageError: There are none of these, or the graded fields have different scales.
        """
        grades = grades_of(self.schema)
        if grades and len(set(grades.values())) == 1:
            return min(getattr(judgement, name).score for name in grades)
        verdicts = [value for _, value in _fields(judgement) if isinstance(value, bool)]
        if verdicts and not grades:
            return all(verdicts)
        raise _unclear(type(self))

    @property
    def unfenced(self) -> str:
        """The text that is judged, without marks; empty outside of `messages`.

        It may hold instructions: put whatever the judge sees of it between marks with `fenced`.
        """
        return self._judged

    def fenced(self, text: str, name: str = "material") -> str:
        """A text between marks, so that the judge takes it for material and not for instructions."""
        return fenced(name, text, self._mark())

    async def score(self, output: Any, trial: Trial) -> Score:
        check_judge(self.judge)
        model = lent_judge(self.judge, trial)
        text = text_of(output)
        marked = copy.copy(self)  # one scorer may judge several trials at the same time
        marked._judged = text  # noqa: SLF001 (a copy of itself)
        messages = tuple(marked.messages(marked.fenced(text, "output")))
        schema = schema_of(self.schema)
        version, ours = judge_prompt(
            "custom_judge",
            {"mark": marked._mark(), "schema": json.dumps(schema, ensure_ascii=False, indent=1)},  # noqa: SLF001
        )
        prompt = conversation(_joined(messages, *ours.messages))
        names = list(schema.get("properties", ()))

        def read(answer: str) -> tuple[Mapping[str, Any], S]:
            value = the_object(answer, names)
            return value, read_judgement(self.schema, value)

        keys = "which fits the schema that you were given"
        reply, (value, judgement) = await ask_judge(model, prompt, read, keys, schema)
        sure = value.get("confidence")
        confidence = float(sure) if isinstance(sure, (int, float)) else None
        named = f"{type(self).__name__}/{self.version}, {version}"
        details = answer_details(
            reply, model, named, confidence, text, unsure_below=self.unsure_below, prompt=prompt
        )
        metadata: dict[str, Any] = {"judgement": dict(value), **details}
        overall = self.overall(judgement)
        graded = [(name, g) for name, g in _fields(judgement) if isinstance(g, Graded)]
        scores = {name: float(g.score) for name, g in graded}
        passed = overall if isinstance(overall, bool) else None
        scale = self.traits.scale if passed is None else None
        reason = _reason(judgement, graded)
        return Score(float(overall), passed, reason, metadata, scores, scale=scale)

    @classmethod
    def judgement(cls, outcome: Outcome) -> S:
        """What the judge answered, as an object of the schema.

        Raises:
            JudgeError: It gave no answer that can be used.
        """
        value = outcome.metadata.get("judgement")
        if not is_mapping(value):
            raise JudgeError(f"{outcome.name} has no judgement: {outcome.reason}")
        return read_judgement(cls.schema, value)

    def judged_by(self, judge: Judge) -> Self:
        other = copy.copy(self)
        other.judge = judge
        return other

    def _mark(self) -> str:
        """The mark for what is judged: made of it, and of all else that this judge was given."""
        values = [str(getattr(self, f.name)) for f in dataclasses.fields(self) if f.name != "judge"]
        return mark_of(*values)

    def __str__(self) -> str:
        return type(self).__name__


def _unclear(cls: type) -> UsageError:
    return UsageError(
        f"{cls.__name__}: what its answer comes to is not clear",
        hint="Give it overall(self, judgement), which returns a number or a verdict.",
    )


def _joined(messages: tuple[Message, ...], system: Message, user: Message) -> tuple[Message, ...]:
    """The user's messages, with our words at the end of the first, for the system, and of the last."""
    if messages and messages[0].role == "system" and isinstance(messages[0].content, str):
        messages = (Message("system", f"{messages[0].content}\n\n{system.content}"), *messages[1:])
    else:
        messages = (system, *messages)
    last = messages[-1]
    if last.role == "user" and isinstance(last.content, str):
        return (*messages[:-1], Message("user", f"{last.content}\n\n{user.content}"))
    return (*messages, user)


def _fields(judgement: object) -> list[tuple[str, object]]:
    if dataclasses.is_dataclass(judgement):
        return [(f.name, getattr(judgement, f.name)) for f in dataclasses.fields(judgement)]
    return list(vars(judgement).items()) if hasattr(judgement, "__dict__") else []


def _reason(judgement: object, graded: Sequence[tuple[str, Graded]]) -> str:
    if graded:
        name, lowest = min(graded, key=lambda pair: pair[1].score)
        return f"{name} {lowest.score:g}: {lowest.reasoning}"
    reasoning = getattr(judgement, "reasoning", "")
    return as_text(reasoning)

"""Assertions that compare the outputs of a test's variants with each other: one wins, the others fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from evenhand.core.contest import COMPARED, Referee
from evenhand.core.errors import JudgeError, ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import as_mapping, is_number
from evenhand.core.provider import Provider
from evenhand.core.run import TrialResult
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.core.wording.bounds import beside, beside_least
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind, Wrong
from evenhand.doors.assertions.grading import Grader, as_variable
from evenhand.languages.templates.rendering import NO_CONFIG, Templates, has_tags
from evenhand.scorers.judge_prompt import fenced, mark_of
from evenhand.scorers.judge_reply import shown
from evenhand.scorers.spoken_verdict import is_disowned, last_line
from evenhand.scorers.text import quoted, text_of

GROUP = "contests"

_NUMBER = re.compile(r"[0-9]+")
_MARKS = r"[\s*_#:.,()\[\]]*"
_WORDS = "the|best|better|winner|winning|output|answer|number|choice|verdict|final|option|is|one|my"
_CHOICE = re.compile(rf"{_MARKS}(?:(?:{_WORDS})\b{_MARKS})*([0-9]+)\b{_MARKS}", re.IGNORECASE)
"""A number alone, or in a few words: `**Output 1**`, `The best output is 1.`"""
_METHODS = ("average", "sum")


@dataclass(frozen=True, slots=True)
class SelectBest:
    """A judge names the one output that meets a criterion best."""

    traits: ClassVar[Traits] = Traits(asks=("criterion", "template"))

    criterion: str
    judge: Provider | None = field(repr=False)
    template: str = field(default="", repr=False)
    templates: Templates = field(default=NO_CONFIG, repr=False)

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Sequence[Score]:
        if self.judge is None:
            raise ScoreError("there is no model to judge")
        if not self.criterion:
            raise ScoreError("'select-best' has no criterion")
        variables = contestants[0].vars
        criterion = (
            self.templates.render(self.criterion, variables)
            if has_tags(self.criterion)
            else self.criterion
        )
        count = len(contestants)
        values: dict[str, Any] = {"criteria": criterion}
        texts = [text_of(one.output) for one in contestants]
        if self.template:
            values["outputs"] = [as_variable(one.output) for one in contestants]
        else:
            values["mark"] = mark = mark_of(criterion, *texts)
            values["outputs"] = "\n\n".join(
                fenced(f"output {i}", text, mark) for i, text in enumerate(texts)
            )
        grader = Grader(self.judge, self.template, variables, self.templates)
        best, metadata = await grader.ask(
            trial,
            "select_best",
            partial(_place, count=count, anywhere=grader.own),
            "with the number of the best output and nothing else",
            plain=True,
            parts=texts,
            **values,
        )
        lost = f"another output is better: {criterion}"
        return [
            check(True, f"the best output: {criterion}", **metadata)
            if i == best
            else check(False, lost, **metadata)
            for i in range(count)
        ]

    def beside_some(self, score: Score, missing: int) -> Score:
        """The best of the others passes, as in promptfoo, and says that it is that."""
        return _beside_some(score, missing)

    def __str__(self) -> str:
        return f"select-best {quoted(self.criterion)}"


def _place(text: str, *, count: int, anywhere: bool) -> int:
    """The number of an output, from 0, that a reply names.

    Args:
        count: How many outputs there are.
        anywhere: It is the first number in the reply, as promptfoo has it; otherwise it stands alone in the last line.

    Raises:
        JudgeError: It names none.
    """
    match = _NUMBER.search(text) if anywhere else _CHOICE.fullmatch(last_line(text))
    digits = "" if match is None or is_disowned(text) else match[match.lastindex or 0]
    # The length comes first: int() raises an error of its own for thousands of digits.
    if not digits or len(digits) > 9 or int(digits) >= count:
        raise JudgeError(
            f"the judge was to name one of the outputs 0 to {count - 1}, and said {shown(text)}"
        )
    return int(digits)


@dataclass(frozen=True, slots=True)
class MaxScore:
    """The output wins whose other assertions score highest; the first of several that do.

    Attributes:
        types: The types of a test's other assertions, in their order; of a set, those in it.
        total: Their scores are added up, not averaged.
        weights: What a type's scores are multiplied with; 1 where nothing is said.
        at_least: What the highest must reach; None for nothing.
    """

    types: Sequence[str | Sequence[str]] = field(repr=False)
    total: bool = False
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    at_least: float | None = None

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Sequence[Score]:
        del trial
        if not self.types:
            raise ScoreError(_NOTHING[0], hint=_NOTHING[1])
        scores = [self._score(one) for one in contestants]
        highest = max(scores)
        enough = self.at_least is None or highest >= self.at_least
        best = scores.index(highest) if enough else -1
        verdicts: list[Score] = []
        for i, score in enumerate(scores):
            if i == best:
                why = f"the highest score: {score:.3f}"
            elif score == highest and self.at_least is not None and not enough:
                why = f"the highest score is {beside_least(score, self.at_least)}"
            else:
                number = beside(score, highest, digits=3, form="f")
                why = f"score {number}, the highest is {beside(highest, score, digits=3, form='f')}"
            verdicts.append(check(i == best, why, **{COMPARED: score}))
        return verdicts

    def beside_some(self, score: Score, missing: int) -> Score:
        """The best of the others passes, as in promptfoo, and says that it is that."""
        return _beside_some(score, missing)

    def _score(self, contestant: TrialResult) -> float:
        summed = weights = 0.0
        # What the trial's code did wrong stands behind its assertions, and has no type.
        for types, outcome in zip(self.types, contestant.outcomes, strict=False):
            parts = cast("Sequence[Mapping[str, Any]]", outcome.metadata.get("components") or ())
            if isinstance(types, str):
                scored = [(types, outcome.score, outcome.outcome)]
                scored += [(types, part.get("score"), "") for part in parts]
            else:
                scored = [
                    (type_, part.get("score"), part.get("outcome"))
                    for type_, part in zip(types, parts, strict=False)
                ]
            if outcome.outcome == "error" or any(state == "error" for _, _, state in scored):
                raise JudgeError(
                    f"an assertion of variant {contestant.variant + 1} has no score: {outcome.reason}"
                )
            for type_, score, state in scored:
                if state != "not_applicable":
                    weight = self.weights.get(type_, 1.0)
                    summed += (score or 0.0) * weight
                    weights += weight
        if self.total:
            return summed
        return summed / weights if weights > 0 else 0.0

    def __str__(self) -> str:
        return "max-score"


def _beside_some(score: Score, missing: int) -> Score:
    if not score.passed:
        return score
    others = "1 other output is" if missing == 1 else f"{missing} other outputs are"
    return replace(score, reason=f"{score.reason}; {others} missing")


_NOTHING = (
    "'max-score' has no other assertion whose scores it could compare",
    "Write the assertions that decide beside it.",
)


def referee(assertion: Assertion, types: Sequence[str | Sequence[str]]) -> Referee:
    """Who compares the outputs.

    Args:
        types: The types of the test's other assertions.
    """
    if assertion.type == "select-best":
        criterion = assertion.value if isinstance(assertion.value, str) else ""
        return SelectBest(criterion, assertion.judge, assertion.rubric_prompt, assertion.templates)
    value = as_mapping(assertion.value)
    weights = as_mapping(value.get("weights"))
    return MaxScore(
        types,
        value.get("method") == "sum",
        {type_: float(weight) for type_, weight in weights.items() if is_number(weight)},
        float(value["threshold"]) if is_number(value.get("threshold")) else None,
    )


def _criterion_wrong(assertion: Assertion) -> Wrong:
    if isinstance(assertion.value, str):
        return ()
    return (
        (f"the value of 'select-best' is {assertion.value!r}, not a text", "Say what is best."),
    )


def _settings_wrong(assertion: Assertion) -> Wrong:
    problems: list[tuple[str, str]] = []
    value = as_mapping(assertion.value)
    if value.get("method", "average") not in _METHODS:
        problems.append((f"method is {value['method']!r}", "Write average or sum."))
    numbers = {"threshold": value.get("threshold"), **as_mapping(value.get("weights"))}
    problems += [
        (f"{name} of 'max-score' is {number!r}, not a number", "")
        for name, number in numbers.items()
        if number is not None and not is_number(number)
    ]
    return problems


def _never(assertion: Assertion, _cell: Cell, _value: Any) -> Scorer:
    raise ScoreError(f"'{assertion.type}' compares outputs, and cannot be asked of one")


KINDS = (
    Kind(
        "select-best",
        "a model finds this output the best of all variants by this criterion",
        _never,
        "text",
        of_each_cell=True,
        negation="refused",
        asks="generate",
        check=_criterion_wrong,
        compares=True,
    ),
    Kind(
        "max-score",
        "the test's other assertions score this output highest of all variants",
        _never,
        "{method: average or sum, weights: {type: number}, threshold}",
        optional=True,
        of_each_cell=True,
        negation="refused",
        check=_settings_wrong,
        compares=True,
    ),
)

"""Typed questions about texts, which a decision model answers with probabilities.

How this works: a question has words, which the user or we wrote, and texts that it is about, which models and datasets
wrote. They never meet: the texts go into the request's state, an object of named texts, and the words name them. So
several questions share one request, and a text is sent once however many questions are about it.

A name of a question is a hash of what is asked, so that an answer to another question is noticed. What an answer says
is believed only as far as it adds up: a refusal, a missing answer, an answer of another kind, or probabilities that are
none are errors, never scores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import field
from msgspec.structs import replace

from evenhand.core.encoding import digest
from evenhand.core.errors import JudgeError
from evenhand.core.json_shapes import as_mapping, is_mapping, is_number
from evenhand.core.record import Record

Kind = Literal["yes_no", "choice", "level"]
"""Whether something holds; which of several options; which of several levels, the lowest first."""

_PLACE = "\0"
_PLACES = re.compile(f"{_PLACE}([^{_PLACE}]*){_PLACE}")
_ROUNDING = 0.01
"""How far a probability may be off because it was rounded: vendors send two decimals."""
TWICE: Mapping[str, Any] = {"type": "twice"}
"""What stands for two answers to one question: nobody knows which is meant."""
_ASK_ANOTHER = "Ask another judge; `evenhand resume --errors --no-cache` asks this one again."


def place_of(name: str) -> str:
    """What stands in a question's words for the name of a text, which is known only when the request is made."""
    return f"{_PLACE}{name}{_PLACE}"


def words_only(text: str) -> str:
    """A text that is put into a question's words: nothing in it stands for a name."""
    return text.replace(_PLACE, "")


class DecisionQuestion(Record, frozen=True, kw_only=True):
    """One question about texts.

    Attributes:
        words: The question; `place_of(name)` stands where it names a text.
        about: The texts that it is about, by name.
        options: What there is to choose from, or the levels from the lowest to the highest: each a name and a
            description, which may be empty. None for a yes or no.
    """

    kind: Kind
    words: str
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    options: tuple[tuple[str, str], ...] = ()

    @property
    def instrument(self) -> str:
        """A digest of what is asked, apart from the texts: the same for all outputs."""
        return digest(self.kind, self.words, json.dumps([self.options, sorted(self.about)]))[:16]


class DecisionRequest(Record, frozen=True):
    """Several questions about the texts of one state, in an order that does not depend on who asked first.

    Attributes:
        state: The texts, by name.
        questions: The questions by name, with the names of their texts in their words.
    """

    state: Mapping[str, str]
    questions: Mapping[str, DecisionQuestion]

    @property
    def text(self) -> str:
        """The request as people read it."""
        questions_by_name = {name: question.words for name, question in self.questions.items()}
        return json.dumps(
            {"state": self.state, "questions": questions_by_name}, ensure_ascii=False, indent=1
        )


class Decision(Record, frozen=True):
    """The answer to one question.

    Attributes:
        probabilities: Of each option in its order, or of yes and no; they add up to 1.
    """

    probabilities: tuple[float, ...]

    @property
    def probability(self) -> float:
        """How likely yes is; of the first option, where there are options."""
        return self.probabilities[0]

    @property
    def likeliest(self) -> int:
        """The place of the likeliest option; of several that are as likely, the first."""
        return self.probabilities.index(max(self.probabilities))

    @property
    def is_even(self) -> bool:
        """Whether no answer is likelier than every other one."""
        return self.probabilities.count(max(self.probabilities)) > 1


def request_of(questions: Sequence[DecisionQuestion]) -> tuple[DecisionRequest, list[str]]:
    """One request for all these questions, and the name that each has in it. Equal questions are asked once."""
    names = [_name_of(question) for question in questions]
    state: dict[str, str] = {}
    questions_by_name: dict[str, DecisionQuestion] = {}
    for name, question in sorted(zip(names, questions, strict=True), key=lambda pair: pair[0]):
        if name in questions_by_name:
            continue
        called = {key: _placed(state, key, text) for key, text in sorted(question.about.items())}

        def named(match: re.Match[str], called: Mapping[str, str] = called) -> str:
            return f"`{called.get(match[1], match[1])}`"

        questions_by_name[name] = replace(question, words=_PLACES.sub(named, question.words))
    return DecisionRequest(state, questions_by_name), names


def _name_of(question: DecisionQuestion) -> str:
    whole = [question.kind, question.words, question.options, sorted(question.about.items())]
    return f"q{digest(json.dumps(whole))[:10]}"


def _placed(state: dict[str, str], key: str, text: str) -> str:
    """The name under which a text is in the state: its own, or one with a number where another text has that."""
    name, number = key, 1
    while state.get(name, text) != text:
        number += 1
        name = f"{key}_{number}"
    state[name] = text
    return name


def read_decision(request: DecisionRequest, name: str, answers: object) -> Decision:
    """The decision on one question, from the answers to a request: name → answer.

    An answer has a `type` (yes_no, choice, level, or refusal), and `probability`, or `probabilities` by option (of a
    yes or no, by `yes` and `no`), or
    `levels`: probabilities by the level's place, "0" for the lowest.

    Raises:
        JudgeError: There is none, or it does not add up.
    """
    if not is_mapping(answers):
        raise JudgeError("the decision model's reply holds no answers", hint=_ASK_ANOTHER)
    strange = [str(key) for key in answers if key not in request.questions]
    if strange:
        raise JudgeError(
            f"the decision model answered a question that was not asked: {strange[0]!r:.60}",
            hint=_ASK_ANOTHER,
        )
    question, answer = request.questions[name], as_mapping(answers.get(name))
    kind = answer.get("type")
    if not answer:
        raise JudgeError("the decision model gave no answer to this question", hint=_ASK_ANOTHER)
    if kind == "refusal":
        raise refused_decision()
    if kind == "twice":
        raise JudgeError("the decision model answered this question twice", hint=_ASK_ANOTHER)
    if kind != question.kind:
        raise JudgeError(
            f"the decision model's answer is of another kind: {kind!r:.60}, not {question.kind!r}",
            hint=_ASK_ANOTHER,
        )
    if question.kind == "yes_no":
        numbers_by_name = answer.get("probabilities")
        if is_mapping(numbers_by_name):
            both = tuple(_probability(numbers_by_name.get(word)) for word in ("yes", "no"))
            return Decision(_whole(both))
        yes = _probability(answer.get("probability"))
        return Decision((yes, 1 - yes))
    return _among(question, answer)


def refused_decision() -> JudgeError:
    """What to say of a question that a decision model refuses."""
    return JudgeError("the decision model refused to answer", hint=_ASK_ANOTHER)


def _among(question: DecisionQuestion, answer: Mapping[str, Any]) -> Decision:
    """The decision among options, whose probabilities must be there, one for each, and come to 1."""
    numbers_by_name, names = answer.get("probabilities"), [name for name, _ in question.options]
    if question.kind == "level" and answer.get("levels") is not None:
        numbers_by_name, names = (
            answer["levels"],
            [str(place) for place in range(len(question.options))],
        )
        _check_legend(question, as_mapping(answer.get("legend")))
    if not is_mapping(numbers_by_name) or set(numbers_by_name) != set(names):
        raise JudgeError(
            "the decision model's probabilities are not those of the options", hint=_ASK_ANOTHER
        )
    numbers = [_probability(numbers_by_name[name]) for name in names]
    shares = _whole(numbers)
    stated = answer.get("choice")
    if stated is not None and (stated not in names or _less(numbers_by_name[stated], max(numbers))):
        raise JudgeError(
            f"the decision model chose {stated!r:.60}, which its probabilities do not bear out",
            hint=_ASK_ANOTHER,
        )
    expected = math.fsum(place * share for place, share in enumerate(shares))
    score = answer.get("score")
    far = 0.05 * (len(numbers) - 1)
    if score is not None and not (is_number(score) and abs(score - expected) <= far):
        raise JudgeError(
            f"the decision model's score is {score!r:.60}, and its probabilities come to "
            f"{expected:.3g}",
            hint=_ASK_ANOTHER,
        )
    return Decision(shares)


def _check_legend(question: DecisionQuestion, legend: Mapping[str, Any]) -> None:
    """Refuses levels that stand in another order than they were asked in, by what the reply calls each."""
    for place, (name, words) in enumerate(question.options):
        stated = legend.get(str(place))
        if isinstance(stated, str) and stated not in (name, words, f"{name}: {words}"):
            raise JudgeError(
                f"the decision model calls level {place} {stated!r:.60}, not {name!r:.60}",
                hint=_ASK_ANOTHER,
            )


def _whole(numbers: Sequence[float]) -> tuple[float, ...]:
    """Probabilities that come to 1 but for rounding, made to do so; raises JudgeError where they don't."""
    total = math.fsum(numbers)
    if abs(total - 1) > min(_ROUNDING * len(numbers), 0.1):
        raise JudgeError(
            f"the decision model's probabilities do not add up: they come to {total:.3g}",
            hint=_ASK_ANOTHER,
        )
    return tuple(number / total for number in numbers)


def _less(number: float, most: float) -> bool:
    return number < most - _ROUNDING


def _probability(value: object) -> float:
    """The probability that this says; raises JudgeError where it is not a number from 0 to 1."""
    if is_number(value) and 0 <= value <= 1:  # NaN is neither
        return float(value)
    raise JudgeError(
        f"the decision model's probability is {value!r:.60}, not a number from 0 to 1",
        hint=_ASK_ANOTHER,
    )

"""What is known of a case under examination: its question, its right answers, and those of other cases."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from evenhand.core.case import Case
from evenhand.core.record import MutableRecord, Record
from evenhand.scorers.refusal import refuses
from evenhand.wings.audit.reading import Demand, literal_texts

QUESTIONS = ("input", "question", "query", "message", "prompt", "text", "request", "task", "user")
"""Variables that hold what is asked, the likeliest first."""
EXPECTED = (
    *("expected", "expected_output", "expected_answer", "reference", "reference_answer"),
    *("ground_truth", "groundtruth", "gold", "golden", "ideal", "correct_answer"),
)
"""Variables that hold a right answer, the likeliest first."""
REFERENCES = (*EXPECTED, "target", "answer", "label")
"""Variables that hold a reference, or one only if the prompt lacks them: `target: French` belongs to a translation."""
LONGEST_LABEL = 40
MOST_LABELS = 20
FEWEST_AGREEING = 3
MOST_OTHERS = 16
"""Cases whose answers are looked at for one that is none here."""
_REFUSING = re.compile(
    r"\b(?:refus\w*|declin\w*|reject\w*|won't|not (?:answer|help|comply|reveal|disclose|provide|give)"
    r"|doesn't (?:answer|help|comply|reveal|provide|give)|unable|sorry|harmful|unsafe|out of scope|escalat\w*)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=16_384)  # each case's answers are compared with many others
def normal(text: str) -> str:
    """A text without what doesn't count: capitals, spaces, and marks around it.

    >>> normal(' "Paris". ')
    'paris'
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(text.split()).strip(" \"'`*.,!?:;“”‘’()")


class Material(MutableRecord, kw_only=True):
    """What is known of one case.

    Attributes:
        group: What it shares with cases whose answers are of the same kind: its eval, or its config.
        reference: A right answer that its author wrote down; None for none.
        partial: Texts that a right answer has in it, where no whole one is known.
        accepted: Outputs of earlier runs, or of people's labels, that are right.
        prompt: The prompt as sent.
        acts: Whether it is about what an agent does, and not only about what it says.
        stays: Whether the state that it wants to be left is the one that it begins with.
        refuses: What `refusal_is_right` came to; None while nobody has asked.
    """

    case: Case
    group: str
    question: str
    reference: str | None
    partial: str = ""
    accepted: tuple[str, ...] = ()
    demands: tuple[Demand, ...] = ()
    prompt: str = ""
    acts: bool = False
    stays: bool = False
    refuses: bool | None = None

    @property
    def right(self) -> str:
        """The best that is known of a right answer; empty for nothing."""
        if self.reference is not None:
            return self.reference
        return self.accepted[0] if self.accepted else self.partial

    @property
    def answers(self) -> Iterator[str]:
        """All that is known to be right; where no whole answer is, what a right one has in it."""
        if self.reference is not None:
            yield self.reference
        yield from self.accepted
        for one in self.demands:
            if one.role == "content" and one.whole is not None:
                yield one.whole
        if self.reference is None:
            yield from literal_texts(self.demands)

    def is_right(self, text: str) -> bool:
        """Whether a text is a right answer, as far as anybody said: then it must not fail."""
        plain = normal(text)
        if any(normal(one) == plain for one in self.answers):
            return True
        return self.refusal_is_right and refuses(text)

    def includes(self, text: str) -> bool:
        """Whether a text that is hardly longer than the reference has it in it: another case's may be right here."""
        reference = normal(self.reference or "")
        plain = normal(text)
        return bool(reference) and len(plain) < 4 * len(reference) and has_words(plain, reference)

    @property
    def refusal_is_right(self) -> bool:
        """Whether this case wants a refusal, as far as its words say."""
        if self.refuses is None:
            self.refuses = self._wants_refusal()
        return self.refuses

    def _wants_refusal(self) -> bool:
        if any(one.refusal for one in self.demands) or any(
            one.strip() and refuses(one) for one in self.answers
        ):
            return True
        words = [one.name for one in self.demands if one.role in ("judge", "code")]
        words += [self.reference or "", self.case.description, self.case.id, *self.case.tags]
        words += [text for one in self.demands for text in (*one.texts, *one.any_of)]
        return any(_REFUSING.search(text) for text in words)

    @property
    def only_forbids(self) -> bool:
        """Whether the case only says what an answer must not say: then an answer of no use may pass."""
        roles = {one.role for one in self.demands} - {"beside", "form"}
        return roles == {"forbids"} or (self.stays and roles <= {"forbids", "state"})

    @property
    def only_measures(self) -> bool:
        """Whether the case looks at nothing but time and cost."""
        return not self.acts and {one.role for one in self.demands} == {"beside"}


def has_words(text: str, part: str) -> bool:
    """Whether a text has a part in it, as words; any has an empty one."""
    # Most texts haven't, and a pattern for each of them would have to be compiled.
    return part in text and re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


def question_of(case: Case, variables: Mapping[str, object]) -> str:
    """What a case asks, as one text."""
    if isinstance(case.input, str) and case.input.strip():
        return case.input
    if case.input is not None:
        return _text(case.input)
    texts = {
        name: value
        for name, value in variables.items()
        if isinstance(value, str)
        and value.strip()
        and name.lower() not in REFERENCES
        and not name.startswith("_")
    }
    for name in QUESTIONS:
        for known, value in texts.items():
            if known.lower() == name:
                return value
    return "\n".join(texts.values())


def reference_of(
    case: Case, variables: Mapping[str, object], demands: Sequence[Demand], prompt: str = ""
) -> str | None:
    """A right answer that a case's author wrote down; None for none.

    Args:
        prompt: The prompt as it is written, before it is filled in.
    """
    if case.expected is not None:
        return _text(case.expected)
    by_name = {name.lower(): (name, value) for name, value in variables.items()}
    for one in REFERENCES:
        name, value = by_name.get(one, ("", None))
        if one not in EXPECTED and re.search(rf"\{{\s*{re.escape(name)}\b", prompt):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return _text(value)
    return next(
        (one.whole for one in demands if one.whole is not None and one.role == "content"), None
    )


def partial_of(demands: Sequence[Demand]) -> str:
    """The texts that a right answer has in it; empty where none is literal."""
    texts = [text for one in demands if one.role == "content" for text in one.texts]
    texts += [one.any_of[0] for one in demands if one.role == "content" and one.any_of]
    return " ".join(dict.fromkeys(texts))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


class Pool(Record, frozen=True, kw_only=True):
    """What cases of one group have in common.

    Attributes:
        labels: The labels that they are answered with, the most frequent first; none where answers are no labels.
        longest: The longest output of earlier runs, with its case; None for none.
        shortest: The shortest one that isn't blank.
    """

    members: tuple[Material, ...]
    labels: tuple[str, ...] = ()
    longest: tuple[str, str] | None = None
    shortest: tuple[str, str] | None = None

    @staticmethod
    def of(members: Sequence[Material], outputs: Sequence[tuple[str, str]]) -> Pool:
        """The pool of these cases.

        Args:
            outputs: Outputs of earlier runs, each after its case's id.
        """
        texts = [one.reference if one.reference is not None else one.partial for one in members]
        counts = Counter(text for text in texts if text.strip() and len(text) <= LONGEST_LABEL)
        # What answers several cases is a label; what answers one only is an answer of its own.
        labels = tuple(text for text, times in counts.most_common() if times > 1)
        if not 2 <= len(labels) <= MOST_LABELS:
            labels = ()
        spoken = [(case, text) for case, text in outputs if text.strip()]
        by_length = sorted(spoken, key=lambda one: (len(one[1]), one[1]))
        return Pool(
            members=tuple(members),
            labels=labels,
            longest=by_length[-1] if by_length else None,
            shortest=by_length[0] if by_length else None,
        )

    def others(self, place: int) -> list[str]:
        """Other cases' right answers that aren't right here: the next one, and one of the same form.

        Args:
            place: The case's place among the members.
        """
        apart = list(self._apart(place))
        form = _form(self.members[place].right)
        alike = next((text for text in apart if _form(text) == form), "")
        return list(filter(None, dict.fromkeys([*apart[:1], alike])))

    def _apart(self, place: int) -> Iterator[str]:
        mine = self.members[place]
        tells = not self._tells_nothing(place)
        for one in self._near(place):
            text = one.right
            if not text.strip() or normal(one.question) == normal(mine.question):
                continue
            if mine.right and tells and not _apart(mine, one):
                continue
            if not mine.right and self._may_be_label(text):  # it may be the right one
                continue
            if not mine.is_right(text) and not mine.includes(text):
                yield text

    def _near(self, place: int) -> Iterator[Material]:
        """The cases after one, and no more of them than are looked at."""
        count = len(self.members)
        for step in range(1, min(count, MOST_OTHERS)):
            yield self.members[(place + step) % count]

    def _tells_nothing(self, place: int) -> bool:
        """Whether half of the other cases' answers, each another one, have the texts that a case looks for."""
        mine = self.members[place]
        literal = [
            one for one in mine.demands if one.role == "content" and (one.texts or one.any_of)
        ]
        if mine.reference is not None or not literal:
            return False
        answers = {
            normal(one.reference): one.reference for one in self._near(place) if one.reference
        }
        agreeing = [text for text in answers.values() if all(one.agrees(text) for one in literal)]
        return len(agreeing) >= FEWEST_AGREEING and 2 * len(agreeing) >= len(answers)

    def guesses(self, place: int) -> tuple[str, ...]:
        """The labels of which one is right for a case, where nobody says which; empty where somebody does."""
        mine = self.members[place]
        known = mine.right or mine.only_forbids or mine.only_measures or mine.refusal_is_right
        if known or not mine.demands:
            return ()
        near = (one.right for one in self._near(place) if self._may_be_label(one.right))
        return tuple(dict.fromkeys((*self.labels, *near)))

    def _may_be_label(self, text: str) -> bool:
        """Whether other cases may well have the same answer: it answers several, or is a word."""
        return text in self.labels or text.isalpha()


def _form(text: str) -> str:
    """A text with its letters and digits made alike."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text))


def _apart(mine: Material, other: Material) -> bool:
    """Whether one case's answer is none to the other: neither says what the other does."""
    a, b = normal(mine.right), normal(other.right)
    if not a or not b or a in b or b in a:
        return False
    literal = [one for one in mine.demands if one.role == "content" and (one.texts or one.any_of)]
    # Where no answer is written down, what is looked for is all that tells two answers apart.
    return (
        mine.reference is not None
        or not literal
        or not all(one.agrees(other.right) for one in literal)
    )

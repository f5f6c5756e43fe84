"""One case of an audit: what it was given, what it said of that, and what the audit finds in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import field

from evenhand.core.errors import NotRecorded
from evenhand.core.record import MutableRecord, Record
from evenhand.core.score import State
from evenhand.wings.audit.earlier import Key, Stored
from evenhand.wings.audit.examining import OPEN, Exam, Judged
from evenhand.wings.audit.material import Material
from evenhand.wings.audit.reading import Demand
from evenhand.wings.audit.subjects import Subject


class Attempt(Record, frozen=True):
    """A subject, and what a case says of it.

    Attributes:
        state: The case's verdict: `unasked` where a judge would have to be asked, `open` where a condition decides.
        outcomes: What became of each expectation, in their order; `unasked` and `open` in the same way.
        reason: Why, in a line; empty for a pass.
    """

    subject: Subject
    state: State | str
    outcomes: tuple[State | str, ...] = ()
    reason: str = ""


class CaseAudit(MutableRecord, kw_only=True):
    """A case, and what it said of its subjects.

    Attributes:
        key: Its eval and id.
        where: The config, prompt or eval that has it.
        trials: How many verdicts of the plan hang on it.
        attempts: The subjects that it was given.
        allowed: What its author allows, with the reason.
        stored: Its trials of earlier runs, the newest first.
        flaky: The places of expectations that said two things of one text.
        lets_all: The places of expectations that even a text with something of everything passes.
        broken: Why expectations come to no verdict whatever is answered, by their places.
        against: The texts that other expectations want and these fail, by their places.
        problem: Why it could not be examined; empty where it could.
    """

    key: Key
    name: str
    where: str
    trials: int = 1
    material: Material
    exam: Exam
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    allowed: Mapping[str, str] = field(default_factory=dict[str, str])
    stored: Sequence[Stored] = ()
    flaky: set[int] = field(default_factory=set[int])
    lets_all: set[int] = field(default_factory=set[int])
    broken: dict[int, str] = field(default_factory=dict[int, str])
    against: dict[int, str] = field(default_factory=dict[int, str])
    problem: str = ""

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The demands of its expectations."""
        return self.material.demands

    def attempts_of(self, *, must_pass: bool) -> Iterator[Attempt]:
        """The subjects that must pass, or those that must fail."""
        return (one for one in self.attempts if one.subject.must_pass is must_pass)


def attempt_of(subject: Subject, judged: Judged) -> Attempt:
    """A subject with what a case says of it."""
    outcomes = tuple(_OPEN.get(one.error) or one.outcome for one in judged.outcomes)
    reason = ""
    if judged.error is not None:
        reason = judged.error.message
    elif judged.state in ("fail", "error"):
        reason = next((one.reason for one in judged.outcomes if one.outcome == judged.state), "")
    return Attempt(subject, judged.open or judged.state, outcomes, reason)


_OPEN = {NotRecorded.slug: "unasked", OPEN: "open"}


FindingKind = Literal[
    "cant_fail",
    "cant_pass",
    "passes",
    "fails_good",
    "ranks_backwards",
    "says_nothing",
    "twin",
    "in_prompt",
    "flaky",
    "one_decides",
    "style",
]

TITLES: dict[FindingKind, str] = {
    "cant_fail": "can't fail",
    "cant_pass": "can't pass",
    "passes": "passes",
    "fails_good": "fails",
    "ranks_backwards": "ranks backwards",
    "says_nothing": "says nothing",
    "flaky": "is flaky",
    "in_prompt": "expects what is in the prompt",
    "twin": "is a twin",
    "one_decides": "decides alone",
    "style": "passes",
}
"""What people read for each kind, of a case or of an expectation; the gravest first."""

MEND: dict[FindingKind, str] = {
    "cant_fail": "Expect something that a wrong answer lacks, or delete it.",
    "cant_pass": "Mend what contradicts a right answer.",
    "passes": "Expect something that this answer lacks.",
    "fails_good": "Loosen what fails this answer, or mend the reference.",
    "ranks_backwards": "Read its outputs: better systems fail it.",
    "says_nothing": "Make it harder, or leave it out.",
    "twin": "Leave one of them out; keep twins in one part of a split.",
    "in_prompt": "Expect what the model has to find out, or take it out of the prompt.",
    "flaky": "Make its code decide alike each time.",
    "one_decides": "Mend the expectations that never decide, or leave them out.",
    "style": "Tell the judge what counts, or take another judge: `evenhand probe`.",
}
"""What to do about each kind."""


class Finding(Record, frozen=True, kw_only=True):
    """One finding.

    Attributes:
        case: The place of its case among those of the audit.
        expectation: The name of the expectation that it is about; empty where it is about the whole case.
        subject: The subject that shows it; empty for none.
        answer: The answer that shows it, such as the one that got through; None for none.
        detail: What else is to say, in a line.
        verdicts: How many verdicts hang on it.
        interval: The interval of the correlation, of what ranks backwards; None for everything else.
        allowed: Why its author allows it; empty where nobody does.
    """

    kind: FindingKind
    case: int
    expectation: str = ""
    subject: str = ""
    answer: str | None = None
    detail: str = ""
    verdicts: int = 1
    interval: tuple[float, float] | None = None
    allowed: str = ""

"""One thing that an audit finds in a case, and what it is called."""

from __future__ import annotations

from typing import Literal

from evenhand.core.record import Record

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
        kind: What it is.
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

"""Whether a reference is a whole answer: where it is a keyword, what fails it says nothing against the expectation.

How this works: a reference that some expectation fails is either wrong, or a part of what is demanded: a label where
the output is JSON, a phrase that a long answer has in it. So an expectation of an answer's form speaks against a case
only where no longer answer would do: it passes a shorter one, or the reference is what the case wants word for word, or
both are JSON. An expectation that the same suite asks of other references speaks for itself: where it passes none of
them, it asks for something that references don't have.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from evenhand.scorers.structured import ContainsJson, IsJson
from evenhand.wings.audit.auditing import asks
from evenhand.wings.audit.case_audit import Attempt, CaseAudit


class Trust:
    """What the references of an audit are worth.

    Args:
        audits: Its cases.
    """

    def __init__(self, audits: Sequence[CaseAudit]) -> None:
        self._passed: dict[tuple[str, str], int] = defaultdict(int)
        self._total: dict[tuple[str, str], int] = defaultdict(int)
        self._whole: dict[str, int] = defaultdict(int)
        self._references: dict[str, int] = defaultdict(int)
        for audit in audits:
            attempt = next((one for one in audit.attempts if one.subject.kind == "reference"), None)
            if attempt is None:
                continue
            group = audit.material.group
            self._references[group] += 1
            self._whole[group] += attempt.state in ("pass", "unasked")
            for number, state in enumerate(attempt.outcomes):
                self._total[group, self._asks(audit, number)] += state in ("pass", "fail")
                self._passed[group, self._asks(audit, number)] += state == "pass"

    def against(self, audit: CaseAudit, attempt: Attempt) -> list[int]:
        """The places of the expectations that fail a reference, or its paraphrase, though they should pass it."""
        whole = any(
            one.exact and state == "pass"
            for one, state in zip(audit.demands, attempt.outcomes, strict=False)
        )
        return [
            number
            for number, state in enumerate(attempt.outcomes)
            if state == "fail"
            and number < len(audit.demands)
            and self._counts(audit, number, attempt.subject.text, whole=whole)
        ]

    def _counts(self, audit: CaseAudit, number: int, text: str, *, whole: bool) -> bool:
        role, group = audit.demands[number].role, audit.material.group
        if role == "form":
            most = self._whole[group] * 2 > self._references[group]
            return (
                most
                or whole
                or passes_less(audit, number, text)
                or (_is_json(text) and _wants_json(audit, number))
            )
        if whole and role in ("content", "code", "forbids"):
            return True
        if role not in ("content", "code", "forbids", "judge"):
            return False
        key = (group, self._asks(audit, number))
        if self._passed[key]:
            return True
        # A judge may well want more than a reference says.
        if self._total[key] > 1 or role == "judge":
            return False
        if role == "code":
            return self._whole[group] > 0
        # Where no reference of many is a whole answer, one more is none either.
        return self._whole[group] > 0 or self._references[group] < 3

    @staticmethod
    def _asks(audit: CaseAudit, number: int) -> str:
        first = audit.exam.first
        if first is None or number >= len(first.expectations):
            return f"{number}"
        return asks(first.expectations[number])


def passes_less(audit: CaseAudit, number: int, text: str) -> bool:
    """Whether an expectation passes a plain answer that is shorter than a text: then it is a text too many."""
    return any(
        one.subject.kind in ("nothing", "refusal", "constant")
        and number < len(one.outcomes)
        and one.outcomes[number] == "pass"
        and len(one.subject.text) < len(text)
        for one in audit.attempts_of(must_pass=False)
    )


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _wants_json(audit: CaseAudit, number: int) -> bool:
    first = audit.exam.first
    scorer = first.expectations[number].scorer if first is not None else None
    return isinstance(scorer, IsJson | ContainsJson)

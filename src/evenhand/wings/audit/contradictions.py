"""Cases that no answer passes: expectations that contradict each other, bounds out of reach, references that fail.

How this works: a reference that some expectation fails is either wrong, or a part of what is demanded: a label where
the output is JSON, a phrase that a long answer has in it. So an expectation of an answer's form speaks against a case
only where no longer answer would do: it passes a shorter one, or the reference is what the case wants word for word, or
both are JSON. An expectation that the same suite asks of other references speaks for itself: where it passes none of
them, it asks for something that references don't have.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from evenhand.scorers.structured import ContainsJson, IsJson
from evenhand.wings.audit.auditing import asks
from evenhand.wings.audit.case_audit import Attempt, CaseAudit, Finding


class Trust:
    """What the references of an audit are worth."""

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
            self._whole[group] += attempt.state in ("pass", "unasked", "open")
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


FIRM = ("labelled", "accepted")
"""Subjects that are whole answers: people or earlier runs passed them."""


def contradictions(audit: CaseAudit, trust: Trust) -> Iterator[Finding]:
    """Why no answer passes a case; nothing where one may.

    Args:
        trust: What its reference is worth.
    """
    good = list(audit.attempts_of(must_pass=True))
    if any(one.state in ("pass", "unasked", "open", "not_applicable") for one in good):
        return
    reason = (
        _bounds(audit) or _texts(audit) or _refusals(audit) or _against(audit) or _broken(audit)
    )
    if reason:
        yield Finding(kind="cant_pass", case=0, detail=reason)
        return
    states = ("fail", "error")
    failing = [one for one in good if one.state in states[: 1 + (one.subject.kind in FIRM)]]
    if not failing or len(failing) < len(good):
        return
    # A reference may be a part of what is wanted; an output that people passed is the whole of it.
    firm = [one for one in failing if one.subject.kind in FIRM]
    for one in firm or failing:
        if firm or trust.against(audit, one):
            yield Finding(
                kind="cant_pass",
                case=0,
                subject=one.subject.kind,
                answer=one.subject.text,
                detail=f"No answer that is known to be right passes: {one.reason}",
            )
            return


def _bounds(audit: CaseAudit) -> str:
    """A bound beyond the ends of its scale; empty for none."""
    first = audit.exam.first
    if first is None:
        return ""
    for expectation, outcome in zip(first.expectations, first.outcomes, strict=False):
        if outcome.scale is None or not expectation.weight:
            continue
        low, high = outcome.scale
        if expectation.at_least is not None and expectation.at_least > high:
            return f"{outcome.name} is {high:g} at most, and {expectation.at_least:g} is wanted."
        if expectation.at_most is not None and expectation.at_most < low:
            return f"{outcome.name} is {low:g} at least, and at most {expectation.at_most:g} is wanted."
    return ""


def _broken(audit: CaseAudit) -> str:
    """Code that breaks on every answer; empty for none."""
    return next(
        (f"It comes to no verdict on any answer: {one}" for one in audit.broken.values()), ""
    )


def _refusals(audit: CaseAudit) -> str:
    """A refusal that is wanted and forbidden; empty for none."""
    required = [one.name for one in audit.demands if one.refusal]
    forbidden = [one.name for one in audit.demands if one.role == "forbids" and one.no_refusal]
    return f"{required[0]} and {forbidden[0]} can't both hold." if required and forbidden else ""


def _against(audit: CaseAudit) -> str:
    """An expectation that fails a text which others want to be in the answer, however short it is; empty for none."""
    for place, text in audit.against.items():
        one = audit.demands[place]
        if one.role == "forbids" or passes_less(audit, place, text):
            name = next(other.name for other in audit.demands if text in other.texts)
            return f"{name} and {one.name} can't both hold."
    return ""


def _texts(audit: CaseAudit) -> str:
    """A text that one expectation wants and another forbids, or two texts of which only one can be the answer."""
    demands = [one for one in audit.demands if one.role == "content"]
    whole = {one.whole: one.name for one in demands if one.whole is not None}
    if len(whole) > 1 and all(one.exact for one in demands if one.whole is not None):
        names = list(whole.values())
        return f"{names[0]} and {names[1]} can't both hold."
    for text, name in whole.items():
        for one in demands:
            if one.whole is None and not one.agrees(text or ""):
                return f"{name} and {one.name} can't both hold."
    required = [(text, one.name) for one in demands for text in one.texts]
    required += [(text or "", name) for text, name in whole.items()]
    for one in audit.demands:
        if one.role != "forbids":
            continue
        for bad in one.texts:
            for text, name in required:
                if (
                    bad
                    and bad.casefold() in text.casefold()
                    and (bad in text or "icontains" in one.name)
                ):
                    return f"{name} and {one.name} can't both hold."
        if one.whole is not None and one.whole in whole:
            return f"{whole[one.whole]} and {one.name} can't both hold."
    return ""

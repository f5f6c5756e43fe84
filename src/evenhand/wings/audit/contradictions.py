"""Cases that no answer passes: expectations that contradict each other, bounds out of reach, references that fail."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.wings.audit.case_audit import CaseAudit
from evenhand.wings.audit.finding import Finding
from evenhand.wings.audit.trusting_references import Trust, passes_less

FIRM = ("labelled", "accepted")
"""Subjects that are whole answers: people or earlier runs passed them."""


def contradictions(audit: CaseAudit, trust: Trust) -> Iterator[Finding]:
    """Why no answer passes a case; nothing where one may.

    Args:
        audit: The case.
        trust: What its reference is worth.
    """
    good = list(audit.attempts_of(must_pass=True))
    if any(one.state in ("pass", "unasked", "not_applicable") for one in good):
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
    wanted = [one.name for one in audit.demands if one.refusal]
    forbidden = [one.name for one in audit.demands if one.role == "forbids" and one.no_refusal]
    return f"{wanted[0]} and {forbidden[0]} can't both hold." if wanted and forbidden else ""


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

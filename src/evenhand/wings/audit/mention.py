"""One line on cases that can't fail, for commands that are about something else: `gate` and `doctor`."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.plan import Plan
from evenhand.core.wording.words import count
from evenhand.engine.door import waited_for
from evenhand.wings.audit.auditing import examined
from evenhand.wings.audit.earlier import Earlier
from evenhand.wings.audit.findings import findings_of

WITHIN_S = 1.0
"""Seconds that a look may take: cases that aren't reached by then are not looked at."""


def mention(plan: Plan) -> str:
    """A line on the cases of a plan that can't fail, as far as a second's look shows; empty for none.

    Only configs and prompts are looked at: evals in Python would have to be run.
    """
    if any(variant.eval and variant.where for variant in plan.variants):
        return ""
    try:
        audits = waited_for(examined(plan, Earlier(), within_s=WITHIN_S))
    except Exception:  # noqa: BLE001 (it is beside the matter: `evenhand audit` says what is wrong)
        return ""
    findings = findings_of(audits)
    cases = {
        one.case
        for one in findings
        if one.kind == "cant_fail" and not one.expectation and not one.allowed
    }
    if not cases:
        return ""
    return (
        f"{count(len(cases), 'case')} can't fail, whatever is answered: `evenhand audit` says which"
    )


def mention_of(folder: Path) -> str:
    """A line on the config of a folder; empty where there is none, or where it can't be read."""
    from evenhand.wings.audit.commands.audit_request import AuditRequest  # noqa: PLC0415 (it imports this)

    if not any(folder.glob("promptfooconfig.*")):
        return ""
    request = AuditRequest.of((str(folder),), None, (), offline=False)
    try:
        with request.ready(judges=False):
            return mention(request.asked.plan(prepare=False))
    except EvenhandError:
        return ""

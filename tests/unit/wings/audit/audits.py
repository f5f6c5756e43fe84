"""Audits of small suites, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evenhand.engine.door import waited_for
from evenhand.wings.audit.auditing import examined, keys_of
from evenhand.wings.audit.case_audit import CaseAudit
from evenhand.wings.audit.commands.audit_request import AuditRequest
from evenhand.wings.audit.earlier import Earlier, Stored
from evenhand.wings.audit.report import AuditReport

PROMPT = "Answer as the support of a shop: {{question}}"


def case(question: str, *asserts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A test of a config."""
    variables = {"question": question, **more.pop("vars", {})}
    return {"description": question, "vars": variables, "assert": list(asserts), **more}


def check(type_: str, value: object = None, **more: Any) -> dict[str, Any]:
    """An assertion of a config."""
    return {"type": type_, **({} if value is None else {"value": value}), **more}


def config(folder: Path, tests: Sequence[Mapping[str, Any]], **more: Any) -> Path:
    """Writes a config."""
    whole = {"prompts": [PROMPT], "providers": ["openai:gpt-5-mini"], "tests": list(tests), **more}
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(whole), "utf-8")
    return folder


def evals(folder: Path, code: str) -> Path:
    """Writes eval sets."""
    (folder / "shop_evals.py").write_text(code, "utf-8")
    return folder / "shop_evals.py"


def audit(*paths: Path, at_least: float | None = None) -> AuditReport:
    """The audit of paths, without judges."""
    request = AuditRequest.of(tuple(map(str, paths)), at_least, (), offline=False)
    with request.ready(judges=False):
        return request.report()


def examine(
    path: Path, outputs: Mapping[int, Sequence[Stored]] | None = None, *, styles: bool = False
) -> list[CaseAudit]:
    """The cases of a path, each given its subjects.

    Args:
        outputs: What earlier runs have of a case, by its place.
        styles: Whether judged cases are also given answers for their judges.
    """
    request = AuditRequest.of((str(path),), None, (), offline=False)
    with request.ready(judges=False):
        plan = request.asked.plan(prepare=False)
        keys = keys_of(plan)
        earlier = Earlier(trials={keys[place]: rows for place, rows in (outputs or {}).items()})
        return waited_for(examined(plan, earlier, styles=styles))


def findings(report: AuditReport) -> set[tuple[str, str, str]]:
    """What an audit finds: the name of each case, the kind, and the subject."""
    return {(report.audits[one.case].name, one.kind, one.subject) for one in report.findings}


def subjects(report: AuditReport, place: int = 0) -> dict[str, str]:
    """The subjects that a case was given, and what it says of each."""
    return {one.subject.kind: str(one.state) for one in report.audits[place].attempts}

"""What authors allow: `audit: {allow: {nothing: An empty answer is right here.}}` in the metadata of a case.

An eval.yml has `audit` beside the case's name; `[tool.evenhand.audit]` of a pyproject.toml has it for all cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from evenhand.core.case import Case
from evenhand.core.json_shapes import is_mapping
from evenhand.core.names import did_you_mean
from evenhand.wings.audit.case_audit import TITLES
from evenhand.wings.audit.subjects import KINDS

NAMES = (*KINDS, *TITLES)
"""What can be allowed: a subject, or a finding of whatever subject."""


class Settings(msgspec.Struct):
    """The table `[tool.evenhand.audit]` of a pyproject.toml.

    Attributes:
        allow: The subjects and findings that are right in all cases, each with the reason.
    """

    allow: dict[str, str] = msgspec.field(default_factory=dict[str, str])


def allowed_of(case: Case, test: Mapping[str, Any] | None = None) -> Mapping[str, str]:
    """The subjects and findings that a case allows, each with the reason; empty for none.

    Args:
        case: A case. Its metadata says so.
        test: What a config wrote of it: its metadata may say so, too.
    """
    allowed: dict[str, str] = {}
    for audit in _written(case, test):
        allow = audit.get("allow") if is_mapping(audit) else None
        if is_mapping(allow):
            allowed |= {
                str(name).replace("-", "_"): " ".join(why.split()) if isinstance(why, str) else ""
                for name, why in allow.items()
            }
    return allowed


def misallowed_case(case: Case, test: Mapping[str, Any] | None = None) -> Iterator[str]:
    """What is wrong with what a case allows: each in a line.

    Args:
        test: What a config wrote of it.
    """
    for audit in _written(case, test):
        if audit is None:
            continue
        if not is_mapping(audit) or not is_mapping(audit.get("allow", {})):
            yield f"{case}: audit is not a table. Write audit: {{allow: {{nothing: An empty answer is right.}}}}"
            continue
        for name in audit:
            if name != "allow":
                yield f"{case}: audit has no {name!r}. {did_you_mean(str(name), ('allow',), 'It has: allow.')}"
    yield from misallowed(f"{case}: audit", allowed_of(case, test))


def _written(case: Case, test: Mapping[str, Any] | None) -> Iterator[Any]:
    """What a config and a case write as `audit`; None where they write nothing."""
    for metadata in ((test or {}).get("metadata"), case.metadata):
        yield cast("Any", metadata).get("audit") if is_mapping(metadata) else None


def misallowed(name: str, allowed: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a table of what is allowed: each in a line.

    Args:
        name: What people call the case, or the table that allows it.
    """
    for one, reason in allowed.items():
        if one not in NAMES:
            meant = did_you_mean(one, NAMES, f"There are: {', '.join(NAMES)}.")
            yield f"{name}: allow: {one!r} is neither a subject nor a finding. {meant}"
        elif not reason:
            yield f"{name}: allow: {one} has no reason. Write {one}: why it is right here."

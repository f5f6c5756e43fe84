"""What an author allows: `audit: {allow: {nothing: An empty answer is right here.}}` in a case's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.case import Case
from evenhand.core.json_shapes import is_mapping


def allowed_of(case: Case, test: Mapping[str, Any] | None = None) -> Mapping[str, str]:
    """The subjects and findings that a case allows, each with the reason; empty for none.

    Args:
        case: It. Its metadata says so.
        test: What a config wrote of it: its metadata may say so, too.
    """
    allowed: dict[str, str] = {}
    for metadata in ((test or {}).get("metadata"), case.metadata):
        audit = cast("Any", metadata).get("audit") if is_mapping(metadata) else None
        allow = audit.get("allow") if is_mapping(audit) else None
        if is_mapping(allow):
            for name, reason in allow.items():
                if isinstance(reason, str) and reason.strip():
                    allowed[str(name).replace(" ", "_")] = " ".join(reason.split())
    return allowed

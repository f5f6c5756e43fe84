"""The meta.yml of a prompt directory."""

from __future__ import annotations

from evenhand.doors.prompt_directories.prompt import KNOWN, PROMOTION, REQUIRED, STATUSES
from evenhand.doors.schemas.parts import ANY, TEXT, TEXTS, Part, document, either, table

_DATE: Part = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d([T ].*)?$"}
_COUNT: Part = {"type": "integer", "minimum": 0}
_YES_OR_NO: Part = {"type": "boolean"}


def schema() -> Part:
    """Of a meta.yml."""
    return document(
        "What a prompt is",
        table(
            KNOWN,
            {
                "id": (TEXT, "The name of its folder."),
                "title": (TEXT, "Its title."),
                "summary": (TEXT, "What it does, in a line."),
                "status": ({"enum": list(STATUSES)}, "How far it is; `promote` changes it."),
                "version": (either(TEXT, {"type": "number"}), "Its version."),
                "created": (_DATE, "The day when it was written: 2026-11-23."),
                "updated": (_DATE, "The day of its last change."),
                "tags": (either(TEXT, TEXTS), "To find it by."),
                "model": (TEXT, "The model that it is sent to."),
                "inputs": ({"type": "array", "items": _input()}, "Its variables."),
                "description": (TEXT, "What it is for, and when to use it."),
                "triggers": (either(TEXT, TEXTS), "What people say who want it."),
                "not_for": (either(TEXT, TEXTS), "What it is not for."),
                "notes": (ANY, "For you."),
                "promotion": (_promotion(), "The requirements for a promotion."),
                "hooks": (
                    {"type": "object", "properties": {"timeout_s": {"type": "number"}}},
                    "timeout_s: the seconds that a hook may take.",
                ),
            },
            required=list(REQUIRED),
        ),
    )


def _input() -> Part:
    named: Part = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The variable's name."},
            "required": {"type": "boolean", "description": "Whether it needs a value."},
            "default": {"description": "Its value where nobody gives one."},
        },
        "required": ["name"],
    }
    return either(TEXT, named)


def _promotion() -> Part:
    return table(
        (*PROMOTION, "addresses"),
        {
            "min_uses": (_COUNT, "Uses that it takes, instead of 3 and 10."),
            "require_eval": (_YES_OR_NO, "Whether it takes an eval."),
            "require_verified": (_YES_OR_NO, "Whether uses must be verified."),
            "require_runs": (_YES_OR_NO, "Whether runs must be on this machine."),
            "min_n": (_COUNT, "Trials that the eval must have."),
            "at_least": (
                {"type": "number", "minimum": 0, "maximum": 1},
                "What the lower end of the eval's 95 % interval must reach.",
            ),
            "max_reruns": (_COUNT, "Full runs of the same content that may have failed before."),
            "addresses": (TEXTS, "Servers that count beside the vendor's own."),
        },
    )

"""The table `[tool.evenhand]` of a pyproject.toml."""

from __future__ import annotations

from evenhand.core.gate_terms import KEYS as GATE_KEYS
from evenhand.core.gate_terms import UNDECIDED
from evenhand.doors.schemas.parts import TEXT, TEXTS, Part, document, table
from evenhand.languages.documents.project import CALIBRATED, KEYS

_SECONDS: Part = {"type": "number", "exclusiveMinimum": 0}
_SHARE: Part = {"type": "number", "minimum": 0, "maximum": 1}


def schema() -> Part:
    """Of a pyproject.toml, of which it describes this table alone."""
    settings = table(
        KEYS,
        {
            "judge": (TEXT, "Who judges, for whatever names nobody."),
            "timeout": (_SECONDS, "Seconds for one attempt at a model."),
            "retries": (
                {"type": "integer", "minimum": 0},
                "How often a failed call is tried again.",
            ),
            "time-limit": (_SECONDS, "Seconds for one call of a function of yours."),
            "threshold": (
                {"type": "object", "additionalProperties": {"type": "number"}},
                "What metrics have to reach where an expectation has no bound.",
            ),
            "calibrated": (
                {"enum": list(CALIBRATED)},
                "Whether judged numbers need a calibration that holds.",
            ),
            "canaries": (
                {"type": "integer", "minimum": 0},
                "How many canaries a run asks its judges about, for each metric.",
            ),
            "batch": (
                {"type": "boolean"},
                "Whether `evenhand run` asks in batches, as with --batch.",
            ),
            "gate": (_gate(), "What `evenhand gate` goes by."),
        },
    )
    tools: Part = {"type": "object", "properties": {"evenhand": settings}}
    return document("Settings of Evenhand", {"type": "object", "properties": {"tool": tools}})


def _gate() -> Part:
    return table(
        GATE_KEYS,
        {
            "baseline": (TEXT, "The file to compare with: evals/baseline.evn."),
            "margin": (_SHARE, "What may be lost: 0.03 for 3 points of a pass rate."),
            "undecided": ({"enum": list(UNDECIDED)}, "What to do when it can't be told."),
            "metrics": (TEXTS, "The metrics to compare: [passed]."),
        },
    )

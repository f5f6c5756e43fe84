"""The eval.yml of a prompt directory."""

from __future__ import annotations

from evenhand.core.json_schema import ANY, Part, described, document
from evenhand.core.table import schema_of
from evenhand.doors.prompt_directories.assertions import OPERATORS
from evenhand.doors.prompt_directories.eval_yml import EvalCase, EvalTable
from evenhand.doors.schemas.assertion import assertion, assertions


def schema() -> Part:
    """Of an eval.yml."""
    case = schema_of(EvalCase, {"assert": assertions(_operators())}, required=["name"])
    table = schema_of(EvalTable, {"cases": {"type": "array", "items": case}})
    return document("Evals of a prompt", table, assertion=assertion())


def _operators() -> Part:
    """`contains: text`: an operator and its value."""
    about = {name: described(ANY, f"Passes if {text}.") for name, text in OPERATORS.items()}
    return {
        "type": "object",
        "properties": about,
        "additionalProperties": False,
        "minProperties": 1,
    }

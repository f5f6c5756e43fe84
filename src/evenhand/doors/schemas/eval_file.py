"""The eval.yml of a prompt directory."""

from __future__ import annotations

from evenhand.core.table import Part, schema_of
from evenhand.doors.prompt_directories.assertions import OPERATORS
from evenhand.doors.prompt_directories.eval_yml import EvalCase, EvalTable
from evenhand.doors.schemas.assertion import assertion, assertions
from evenhand.doors.schemas.parts import ANY, described, document


def schema() -> Part:
    """Of an eval.yml."""
    parts = {"assert": assertions(_operators())}
    case = schema_of(EvalCase, required=["name"], **parts)
    table = schema_of(EvalTable, cases={"type": "array", "items": case})
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

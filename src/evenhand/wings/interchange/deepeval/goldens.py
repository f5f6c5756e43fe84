"""DeepEval's goldens as cases: what is asked, what is expected, and the passages that belong to it."""

from __future__ import annotations

from evenhand.core.case import Case
from evenhand.languages.documents.foreign import Part
from evenhand.wings.interchange.deepeval.fields import id_of, passages, plain

_OWN = frozenset(
    {"name", "input", "expected_output", "context", "additional_metadata", "scenario"}
    | {"expected_outcome", "tags"}
)


def is_golden(fields: object) -> bool:
    """Whether an object is a golden, of one question or of a conversation."""
    if not isinstance(fields, dict):
        return False
    return "input" in fields or ("scenario" in fields and "metrics_data" not in fields)


def case_of(golden: Part) -> Case:
    """The case of a golden. What an application answered and retrieved stays beside it, as variables."""
    fields = plain(golden.value)
    metadata = fields.get("additional_metadata")
    tags = fields.get("tags")
    if fields.get("actual_output") is not None:
        golden.notes.changed(
            f"{golden.where}.actual_output", "is an answer, not a case: it is kept as a variable"
        )
    return Case(
        id=id_of(fields),
        vars={key: one for key, one in fields.items() if key not in _OWN},
        input=fields.get("input", fields.get("scenario")),
        expected=fields.get("expected_output", fields.get("expected_outcome")),
        context=passages(fields.get("context")),
        description=id_of(fields),
        tags=tuple(str(one) for one in tags) if isinstance(tags, list) else (),
        metadata=metadata if isinstance(metadata, dict) else {},
    )

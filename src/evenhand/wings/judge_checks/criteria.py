"""What a judge goes by, in words, whatever scorer asks it."""

from __future__ import annotations

import dataclasses

from evenhand.core.json_shapes import is_mapping
from evenhand.core.traits import label_of

_CRITERIA = ("criteria", "criterion", "rubric", "ideal", "question")
_INNER = ("scorer", "of")


def criteria_of(scorer: object) -> str:
    """What a judge goes by, in words: its criteria or rubric, of however many scorers it is wrapped in.

    A scorer of the user's own that names none has its label.
    """
    for name in _INNER:
        inner = getattr(scorer, name, None)
        if inner is not None and hasattr(inner, "score"):
            return criteria_of(inner)
    for name in _CRITERIA:
        words = _words(getattr(scorer, name, None))
        if words:
            return words
    return label_of(scorer)


def _words(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (list, tuple)):
        return "; ".join(item for item in value if isinstance(item, str))
    if dataclasses.is_dataclass(value) or is_mapping(value):
        return str(getattr(value, "text", "")).strip()
    return ""

"""Classifications: a text in, how likely each label is out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenhand.core.errors import BadReply
from evenhand.core.message import Task

CLASSIFIES: frozenset[Task] = frozenset({"classify"})
"""The tasks of a model that classifies and does nothing else."""


def labelled(given: object) -> dict[str, float]:
    """Label → score, from such an object, or from a list of `{"label": …, "score": …}`, also within a list.

    Raises:
        BadReply: It is neither, or a score is not a number.
    """
    while isinstance(given, list) and given and isinstance(given[0], list):
        given = cast("list[object]", given)[0]
    if isinstance(given, list):
        rows = [r for r in cast("list[object]", given) if isinstance(r, Mapping)]
        given = {str(row.get("label")): row.get("score") for row in rows}
    found = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else {}
    if not found or not all(type(score) in (int, float) for score in found.values()):
        raise BadReply("the reply's classification is not a score for each label", billed=None)
    return {str(label): cast("float", score) for label, score in found.items()}

"""Classifications: a text in, how likely each label is out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.message import Task

CLASSIFIES: frozenset[Task] = frozenset({"classify"})
"""The tasks of a model that classifies and does nothing else."""


def labelled(classification: object) -> dict[str, float]:
    """Label → score, from such an object, or from a list of `{"label": …, "score": …}`, also within a list.

    Raises:
        BadReply: It is neither, or a score is not a number.
    """
    while is_array(classification) and classification and isinstance(classification[0], list):
        classification = classification[0]
    if is_array(classification):
        rows = [r for r in classification if isinstance(r, Mapping)]
        classification = {str(row.get("label")): row.get("score") for row in rows}
    scores = as_mapping(classification)
    if not scores or not all(type(score) in (int, float) for score in scores.values()):
        raise BadReply("the reply's classification is not a score for each label", billed=None)
    return {str(label): cast("float", score) for label, score in scores.items()}

"""What a coding agent is told of reviews: people's notes, and how many outputs have each kind of failure.

The agent may draw outputs, and write kinds into failures.yml with its own tools. Notes and names are people's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.wings.coding_agents.answers import Answer, Next, answer, page, short, untrusted

COUNT = "evenhand.failures/1"
_LISTED = 20
_RATIFY = "a person reads it and ratifies: evenhand review ratify --by NAME. No tool does"


def drawn_answer(run: str, lines: Sequence[str]) -> Answer:
    """What was drawn."""
    content = {"run": run, "drawn": [short(line) for line in lines]}
    following = [
        Next(
            "", f"a person reads them: evenhand review notes {run}. Your own notes are no evidence"
        ),
        Next("review_notes", "what people wrote", {"run": run}),
    ]
    return answer(content, following)


def notes_answer(run: str, text: bytes, start: int) -> Answer:
    """People's notes on what failed, and the kinds that cover each."""
    document: dict[str, Any] = json.loads(text)
    failures = [one for one in document["outputs"] if one["failed"]]
    content = {"run": run, **{key: document[key] for key in ("drawn", "reviewed")}}
    content["failed"] = len(failures)
    rows = (
        {
            "note": one["note"],
            "words": [untrusted(each["note"], 400) for each in one["reviews"] if each["note"]],
            "kinds": [short(kind) for kind in one["kinds"]],
        }
        for one in failures
    )
    following = [
        Next("", f"propose kinds in failures.yml, with the notes that each covers; {_RATIFY}"),
        Next("review_count", "count them", {"run": run}),
    ]
    return page(content, "failures", rows, start, following)


def count_answer(document: Mapping[str, Any]) -> Answer:
    """How many outputs have each kind."""
    content: dict[str, Any] = {
        key: document[key] for key in ("runs", "outputs", "reviewed", "failed", "covered")
    }
    for key in ("uncoded", "without_kind"):
        content[key] = document[key][:_LISTED]
        content[f"{key}_in_all"] = len(document[key])
    content["kinds"] = [
        {
            "name": short(one["name"]),
            **{
                key: one[key]
                for key in ("ratified", "share", "people", "uncoded", "judge", "judged")
            },
        }
        for one in document["kinds"]
    ]
    content["changes"] = [{**one, "name": short(one["name"])} for one in document["changes"]]
    following = []
    if not all(one["ratified"] for one in document["kinds"]):
        following.append(Next("", _RATIFY))
    if document["uncoded"]:
        following.append(
            Next("", "list each uncoded failure under its kinds, or under without_kind")
        )
    return answer(content, following)

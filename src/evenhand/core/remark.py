"""What people say of a run as a whole: a name, tags and a note. Each is an event that is only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.record import Record

RemarkField = Literal["title", "tags", "note"]

LONGEST_TITLE = 300
LONGEST_TAG = 100
MOST_TAGS = 50
LONGEST_NOTE = 100_000


class Remarks(Record, frozen=True):
    """What counts of a run's remarks: the last one of each kind.

    Attributes:
        title: What the run is called; empty for the title of its plan.
        tags: What it can be found by, those that its config gave it first.
        note: What there is to know of it.
        by: Who signed the last one; empty where nobody did.
    """

    title: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    by: str = ""


def first_tags(config: Mapping[str, Any]) -> list[str]:
    """The tags that a run begins with: those of its config and of `--run-tag`, each as `NAME=VALUE`."""
    tags = (f"{name}={value}" for name, value in as_mapping(config.get("tags")).items())
    return [" ".join(tag.split())[:LONGEST_TAG] for tag in tags][:MOST_TAGS]


def checked(field: str, value: object) -> tuple[RemarkField, str | list[str]]:
    """A remark as it may be kept: without space around it, tags once each.

    Args:
        value: A text, or for tags a list of texts; an empty one takes back what was said.

    Raises:
        UsageError: It isn't one.
    """
    if field == "tags":
        return "tags", _tags(value)
    if field not in ("title", "note"):
        raise UsageError(
            f"{field!r:.40} is not said of a run", hint="There are: title, tags, note."
        )
    longest = LONGEST_TITLE if field == "title" else LONGEST_NOTE
    if not isinstance(value, str) or len(value) > longest:
        raise UsageError(f"{field}: a text of at most {longest:,} characters")
    text = value.strip()
    return (field, " ".join(text.split())) if field == "title" else (field, text)


def _tags(value: object) -> list[str]:
    items = value if is_array(value) else None
    if items is None or not all(isinstance(tag, str) for tag in items):
        raise UsageError("tags: a list of texts")
    tags = list(dict.fromkeys(" ".join(str(tag).split()) for tag in items))
    tags = [tag for tag in tags if tag]
    if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
        raise UsageError(
            f"tags: at most {MOST_TAGS}, each of at most {LONGEST_TAG} characters",
            hint="What is longer is a note.",
        )
    return tags

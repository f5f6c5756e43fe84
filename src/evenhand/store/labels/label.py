"""What people say of trials: labels, each an event that is only ever added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, cast

from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.record import Record

LabelField = Literal["verdict", "score", "note", "star", "code", "dataset", "preference"]
"""verdict: pass or fail · score: 1 to 5 · note: text · star: true · code: a short name for what is wrong · dataset:
keep or leave out, where a dataset is drawn from the run · preference: how a drawn pair came out, in words."""

LabelValue = str | float | bool | None

JUDGEMENTS: frozenset[LabelField] = frozenset({"verdict", "score", "preference"})
"""What is said of how good an output is."""
FIELDS: tuple[LabelField, ...] = ("verdict", "score", "note", "star", "code", "dataset")
LONGEST_NOTE = 100_000
LONGEST_AUTHOR = 200
LONGEST_CODE = 100


class NewLabel(Record, frozen=True):
    """What somebody has to say of the trial at a place in the plan; `Label` explains it."""

    index: int
    field: str
    value: object
    author: str = ""
    blind: bool = False
    metric: str = ""


class Label(Record, frozen=True):
    """What somebody said of a trial. The last one of an author, a trial and a field counts."""

    seq: Annotated[int, Key("Counts a run's labels, from 1.")]
    at: Annotated[float, Key("Seconds since 1970.")]
    author: Annotated[str, Key("Who said it; empty where nobody gave a name.")]
    index: Annotated[int, Key("The trial's place in the plan.")]
    field: Annotated[LabelField, Key("What it is about.")]
    value: Annotated[
        LabelValue,
        Key(
            "verdict: pass or fail; score: 1 to 5; note: text; star: true; code: a failure code; dataset: "
            "keep or leave out; preference: how a drawn pair came out. Null takes back what was said."
        ),
    ]
    blind: Annotated[
        bool, Key("Whether the variant and the verdicts were hidden while it was given.")
    ] = False
    metric: Annotated[
        str,
        Key("The judged metric, or the ranking, that it is about; empty for the trial as a whole."),
    ] = ""

    @property
    def name(self) -> str:
        """The field, with its metric: `verdict@policy`."""
        return f"{self.field}@{self.metric}" if self.metric else self.field


def checked(label: NewLabel) -> tuple[LabelField, LabelValue, str]:
    """A label's field, value and author, as they may be kept.

    Raises:
        UsageError: They are none.
    """
    field, value, author = label.field, label.value, cast("object", label.author)
    if field not in FIELDS:
        raise UsageError(f"field: {field!r} is not one", hint=f"There are: {', '.join(FIELDS)}.")
    if label.metric and field != "verdict":
        raise UsageError(f"field: of a metric there is no {field}", hint="It is verdict.")
    good = {
        "verdict": value in ("pass", "fail"),
        # True is an int, and equal to 1.
        "score": isinstance(value, (int, float)) and value is not True and 1 <= value <= 5,
        "note": isinstance(value, str) and 0 < len(value) <= LONGEST_NOTE,
        "star": value is True,
        "code": isinstance(value, str) and len(value.split()) > 0 and len(value) <= LONGEST_CODE,
        "dataset": value in ("keep", "leave out"),
    }
    expected = {
        "verdict": "pass or fail",
        "score": "a number from 1 to 5",
        "note": f"text of at most {LONGEST_NOTE:,} characters",
        "star": "true",
        "code": f"a name of at most {LONGEST_CODE} characters",
        "dataset": "keep or leave out",
    }
    if value is not None and not good[field]:
        raise UsageError(
            f"value: {value!r:.100} is not a {field}", hint=f"It is {expected[field]}, or null."
        )
    if not isinstance(author, str) or len(author) > LONGEST_AUTHOR:
        raise UsageError(f"author: a name has at most {LONGEST_AUTHOR} characters")
    if field == "code" and isinstance(value, str):
        value = " ".join(value.split())
    return field, value, author  # pyright: ignore[reportReturnType] (looked at above)


def standing(labels: Iterable[Label]) -> Mapping[int, tuple[Label, ...]]:
    """What counts of a run's labels: for each trial the last of each author, field and metric, in the order given.

    What was taken back is left out; trials of which nothing is left are, too.
    """
    last: dict[tuple[int, str, str], Label] = {}
    for label in labels:
        key = (label.index, label.author, label.name)
        # A key that is only written over would keep the place of the first label.
        last.pop(key, None)
        last[key] = label
    by_trial: dict[int, tuple[Label, ...]] = {}
    for label in last.values():
        if label.value is not None:
            by_trial[label.index] = (*by_trial.get(label.index, ()), label)
    return by_trial


def by_name(labels: Iterable[Label]) -> dict[str, LabelValue]:
    """Of one trial's standing labels the newest of each field and metric, by `Label.name`."""
    return {label.name: label.value for label in sorted(labels, key=lambda label: label.seq)}


def newest(labels: Iterable[Label]) -> dict[LabelField, LabelValue]:
    """Of one trial's standing labels the newest of each field, whoever gave it; those of metrics are left out."""
    own = (label for label in labels if not label.metric)
    return {label.field: label.value for label in sorted(own, key=lambda label: label.seq)}

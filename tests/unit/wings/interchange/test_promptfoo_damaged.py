"""Files that are no results of promptfoo's, and those that are damaged, are refused in our words."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import UsageError
from evenhand.store.labels.label import NewLabel
from evenhand.wings.interchange.promptfoo_results import Recorded, read_results

GONE = object()

PARTS = [
    {"pass": True, "score": 1, "reason": "", "assertion": {"type": "contains", "value": "v"}},
    {"pass": True, "score": 1, "assertion": {"type": "human"}, "metadata": {"rating": 4}},
    {"pass": False, "score": 0, "assertion": {"type": "human", "metric": "tone"}, "metadata": {"author": "bob"}},
    {"pass": True, "score": 1, "metadata": {"assertionSet": {"type": "assert-set", "metric": "m"}},
     "componentResults": [{"pass": True, "score": 1, "assertion": {"type": "contains", "value": "x"}}]},
    {"pass": True, "score": 1, "assertion": {"type": "contains", "value": "x"}},
]  # fmt: skip
ROW = {
    "testIdx": 0, "promptIdx": 0, "success": True, "score": 1, "failureReason": 0, "vars": {"x": "a"},
    "prompt": {"raw": "Say a"}, "provider": {"id": "echo", "label": "l"}, "latencyMs": 20, "cost": 0.5,
    "testCase": {"vars": {"x": "a"}, "assert": [], "threshold": 0.5, "metadata": {"k": "v"}},
    "response": {"output": "a", "finishReason": "stop", "metadata": {}}, "namedScores": {"tone": 1},
    "tokenUsage": {"prompt": 3, "completion": 4, "numRequests": 1, "assertions": {"prompt": 1}},
    "gradingResult": {"pass": True, "score": 1, "comment": "!highlight why", "componentResults": PARTS},
}  # fmt: skip
FILE = {
    "evalId": "eval-abc-2026",
    "results": {
        "version": 3, "timestamp": "2026-11-21T09:37:20.850Z", "stats": {"durationMs": 2500},
        "prompts": [{"raw": "Say {{x}}", "label": "Say", "provider": "echo"}], "results": [ROW],
    },
    "config": {"description": "D", "evaluateOptions": {"repeat": 1}},
    "runtimeOptions": {"repeat": 1},
}  # fmt: skip


def written(path: Path, value: object) -> Path:
    """A file of it, as JSON or as the text that it is."""
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def parts_of(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to each part of a document."""
    inside: Any = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in inside:
        yield (*path, key)
        yield from parts_of(part, (*path, key))


def changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """The file with another value at this place, or with none."""
    file: Any = copy.deepcopy(FILE)
    place = file
    for key in path[:-1]:
        place = place[key]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return file


def all_of(recorded: Recorded) -> tuple[int, list[NewLabel]]:
    """All that an import reads: how many trials there are, and what people said."""
    return len(list(recorded.trials())), list(recorded.labels())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "`results` is missing"),
        ({"results": 5}, "in 'results', it is a whole number, not an object"),
        ({"results": {"version": "x"}}, "in 'results', `version` is text"),
        ({"results": {"version": 3, "results": []}}, "in 'results', `prompts` is missing"),
        ({"results": {"version": 3, "prompts": []}}, "in 'results', `results` is missing"),
        ([], "it is a list, not an object"),
        ("{", "it is not JSON: it was cut off"),
        ('{"results": NaN}', "it is not JSON: it holds a value that JSON has no form for"),
    ],
)
def test_what_is_of_another_kind_is_named_without_the_librarys_words(
    value: object, words: str, tmp_path: Path
):
    """Where, what, and where such files come from."""
    with pytest.raises(UsageError) as error:
        read_results(written(tmp_path / "results.json", value))
    text = str(error.value)
    assert words in text
    assert "promptfoo export eval" in text
    assert [theirs for theirs in ("Expected `", "Object missing", "$.") if theirs in text] == []


@pytest.mark.parametrize("version", [1, 2, 4, 5])
@pytest.mark.parametrize("missing", ["", "prompts", "results", "timestamp", "stats"])
def test_another_version_is_named_whatever_it_lacks(version: int, missing: str, tmp_path: Path):
    """Older ones have a table in place of rows, newer ones what nobody knows yet."""
    file = changed(("results", "version"), version)
    file["results"].pop(missing, None)
    with pytest.raises(UsageError, match=f"version {version}; what is read is version 3"):
        read_results(written(tmp_path / "results.json", file))


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize(
    "value",
    [GONE, None, 5, -1, True, "x", "", [], [5], [None], {}, [{}]],
    ids=lambda value: "gone" if value is GONE else repr(value),
)
def test_whatever_is_missing_or_of_another_kind_is_read_or_named(value: object, tmp_path: Path):
    """Each part of a file in turn: it is no matter, or there is one message with the file, the row and the part."""
    refused = 0
    for path in parts_of(FILE):
        file = written(tmp_path / "results.json", changed(path, value))
        try:
            trials, _ = all_of(read_results(file))
            assert trials == 1 or path[:3] in (("results", "results"), ("results", "results", 0)), (
                path
            )
        except UsageError as error:
            refused += 1
            text = str(error)
            assert str(file) in text, path
            assert not any(
                theirs in text for theirs in ("Error(", "object has no", "Expected `")
            ), text
    assert refused > 2


def test_a_row_of_a_column_that_is_not_there_is_named(tmp_path: Path):
    """It has neither a prompt nor a model."""
    file = changed(("results", "results", 0, "promptIdx"), 3)
    with pytest.raises(
        UsageError, match=r"row 1 .* `promptIdx` is 3, and in 'results', `prompts` has 1"
    ):
        read_results(written(tmp_path / "results.json", file))


def test_what_people_said_of_metrics_is_read_beside_what_they_said_of_the_row(tmp_path: Path):
    """Verdict, rating, star and note of the row; the verdict on a metric with its author."""
    _, labels = all_of(read_results(written(tmp_path / "results.json", FILE)))
    assert labels == [
        NewLabel(0, "verdict", "pass"),
        NewLabel(0, "score", 4),
        NewLabel(0, "verdict", "fail", "bob", metric="tone"),
        NewLabel(0, "star", True),
        NewLabel(0, "note", "why"),
    ]

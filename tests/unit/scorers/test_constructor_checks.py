"""Mistakes in what scorers are given: told when they are made, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.traits import NamedModel, reading
from evenhand.scorers import (
    CLARITY,
    CallsTool,
    CallsTools,
    Contains,
    ContainsAll,
    ContainsAny,
    ContainsJson,
    Cost,
    IsJson,
    Jury,
    Latency,
    Matches,
    OnlyCalls,
    Passes,
    Preferred,
    Rating,
    Rubric,
    StartsWith,
)

WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: Passes(5), "Passes: criteria is 5, not a text"),
    (lambda: Passes("x", context=3), "Passes: context is 3, not a text"),
    (lambda: Passes("x", examples="no"), "Passes: examples is not a list"),
    (lambda: Passes("x", examples=["no"]), "Passes: example 1 is 'no', not a dict"),
    (lambda: Passes("x", unsure_below=50), "Passes: unsure_below is 50, not from 0 to 1"),
    (lambda: Passes("x", unsure_below="low"), "Passes: unsure_below is 'low', not a number"),
    (lambda: Rating(5), "Rating: 5 is not a rubric"),
    (lambda: Rating({5: "good"}), "Rating: {5: 'good'} is not a rubric"),
    (lambda: Rating(CLARITY, context=None), "Rating: context is None, not a text"),
    (lambda: Rubric("r", [1, 2]), "rubric 'r': its levels are [1, 2]"),
    (lambda: Rubric(3, {1: "a", 2: "b"}), "Rubric: its name is 3, not a text"),
    (lambda: Rubric("r", "words", scale=5), "rubric 'r': its scale is 5"),
    (lambda: Rubric("r", "words", scale=("a", "b")), "rubric 'r': its scale is ('a', 'b')"),
    (lambda: Preferred(over="x", criteria=3), "Preferred: criteria is 3, not a text"),
    (lambda: Jury(3, of=Passes("x")), "Jury: 3 is not a list"),
    (lambda: Jury(["openai:x"], of=Contains("x")), "Jury: no judge answers Contains"),
    (lambda: Jury(["openai:x"], of=Passes), "Jury: no judge answers <class"),
    (lambda: CallsTool(3), "CallsTool: the tool's name is 3, not a text"),
    (lambda: CallsTool(" "), "CallsTool: the tool has no name"),
    (lambda: CallsTool("x", [1]), "CallsTool('x'): arguments are [1]"),
    (lambda: CallsTools([3]), "CallsTools: a tool's name is 3, not a text"),
    (lambda: CallsTools(None), "CallsTools: None is not a list"),
    (lambda: Contains(3), "Contains: the text is 3, not a text"),
    (lambda: StartsWith(None), "StartsWith: the text is None, not a text"),
    (lambda: Matches(3), "Matches: the pattern is 3, not a text"),
    (lambda: ContainsAny("abc"), "ContainsAny: 'abc' is a text, not a list"),
    (lambda: ContainsAll(["a", 3]), "ContainsAll: one of the texts is 3, not a text"),
    (lambda: Latency("x"), "Latency: the bound, in milliseconds, is 'x', not a number"),
    (lambda: Cost(True), "Cost: the bound, in US dollars, is True, not a number"),
    (lambda: IsJson([1]), "IsJson: its schema is [1], not a dict"),
    (lambda: ContainsJson({"a": object()}), "ContainsJson: its schema is not JSON"),
]


@pytest.mark.parametrize(("make", "says"), WRONG, ids=[says for _, says in WRONG])
def test_a_wrong_kind_is_told_where_it_is_written(make: Callable[[], Any], says: str):
    """With the value as it was given, and never as a traceback from inside."""
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.message.startswith(says)


def test_lists_and_schemas_may_be_written_as_python_has_them():
    """A list of texts, a schema as a dict."""
    assert ContainsAny(["a", "b"]) == ContainsAny(("a", "b"))
    schema = {"type": "object", "required": ["total"]}
    assert IsJson(schema).score('{"total": 3}').passed
    assert not ContainsJson(schema).score('{"sum": 3}').passed
    assert hash(IsJson(schema)) == hash(IsJson(schema))


def test_models_are_noted_while_a_file_is_read_and_only_then(tmp_path):
    """With the line of the file that names them."""
    file = tmp_path / "x.py"
    code = "A = Passes('x', judge='one:a')\n\nB = Jury(['two:b'], of=Passes('x'))\n"
    with reading(file) as named:
        exec(compile(code, str(file), "exec"), {"Passes": Passes, "Jury": Jury})
        Rating(CLARITY, judge="three:c")
    assert named == [NamedModel("one:a", 1), NamedModel("two:b", 3), NamedModel("three:c", 0)]
    Passes("x", judge="four:d")
    assert len(named) == 3


@pytest.mark.parametrize("make", [lambda: CallsTools([("a", {})]), lambda: OnlyCalls([("a", {})])])
def test_a_call_with_arguments_that_is_no_call_says_how_one_is_written(make: Callable[[], Any]):
    """A pair is a likely guess."""
    with pytest.raises(UsageError) as caught:
        make()
    assert "CallsTool('refund', {'id': 7})" in caught.value.hint

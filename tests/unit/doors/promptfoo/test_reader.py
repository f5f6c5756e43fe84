"""Tests stay in memory where they are few, and are read again where their files changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenhand.core.errors import ConfigError
from evenhand.core.plan import Plan
from evenhand.doors.assertions.reading import Expected
from evenhand.doors.promptfoo import reader
from evenhand.doors.promptfoo.body import CellBody
from evenhand.doors.promptfoo.load import load


def test_tests_are_the_same_whether_they_are_kept_or_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ids, variables and digests of what is expected are."""
    kept = described(written(tmp_path, 5))
    monkeypatch.setattr(reader, "MOST_KEPT", 4)
    assert described(load(tmp_path)) == kept
    monkeypatch.setattr(reader, "MOST_KEPT", 5)
    monkeypatch.setattr(reader, "MOST_TEXT", 10)
    assert described(load(tmp_path)) == kept


def written(folder: Path, count: int) -> Plan:
    """The plan of a config with a file of so many tests."""
    lines = (json.dumps({"vars": {"q": f"question {i}"}}) for i in range(count))
    (folder / "t.jsonl").write_text("\n".join(lines))
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": "t.jsonl"}
    (folder / "promptfooconfig.json").write_text(
        json.dumps({**config, "defaultTest": {"assert": [{"type": "contains", "value": "q"}]}})
    )
    return load(folder)


def described(plan: Plan) -> list[object]:
    """What a plan's trials are."""
    return [
        (planned.case, planned.variant, planned.checks() if planned.checks else "", planned.test)
        for planned in plan.trials()
    ]


def test_a_file_that_was_written_is_read_again(tmp_path: Path) -> None:
    """A kept test does not outlive what it was read from."""
    plan = written(tmp_path, 3)
    assert [planned.case.vars["q"] for planned in plan.trials()] == [
        "question 0",
        "question 1",
        "question 2",
    ]
    path = tmp_path / "t.jsonl"
    path.write_text(path.read_text().replace("question 1", "a new one!"))
    os.utime(path, ns=(1, 1))
    assert [planned.case.vars["q"] for planned in plan.trials()] == [
        "question 0",
        "a new one!",
        "question 2",
    ]


ROWS: tuple[dict[str, object], ...] = (
    {"vars": {"q": "first"}},
    {"vars": {"q": "second", "name": "its own"}},
    {"vars": {"q": ["a", "b"], "more": {"n": 1}}},
    {"vars": {"q": "with more"}, "description": "named", "metadata": {"k": "v"}, "threshold": 0.5},
    {"description": "a name", "vars": {"q": "called"}},
    {"vars": {"q": "called nothing"}, "description": None},
    {"vars": {}},
    {"vars": {"q": "last"}},
)
DEFAULTS = {
    "vars": {"name": "{{ q }}!", "file": "file://f.txt"},
    "assert": [{"type": "contains", "value": "{{name}}"}],
    "options": {"prefix": "say: ", "transform": "output.trim()"},
    "metadata": {"of": "all"},
    "threshold": 0.25,
}


def of_rows(folder: Path, *rows: object, defaults: object = None) -> Plan:
    """The plan of a config whose tests are these rows of a dataset."""
    folder.mkdir(exist_ok=True)
    (folder / "f.txt").write_text("from a file")
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = {"prompts": ["{{q}} {{name}}"], "providers": ["echo"], "tests": ["t.jsonl"]}
    (folder / "promptfooconfig.json").write_text(json.dumps({**config, "defaultTest": defaults}))
    return load(folder)


@pytest.mark.parametrize("defaults", [None, DEFAULTS])
def test_a_row_is_read_the_same_whatever_stands_before_it(tmp_path: Path, defaults: object) -> None:
    """Rows that say nothing but their variables have what they share from the first of them, and nothing else."""

    def bodies(plan: Plan) -> list[object]:
        return [
            (replace(body.test, expected=Expected()), body.test.expected.types, body.variables)
            for planned in plan.trials()
            if isinstance(body := planned.body, CellBody)
        ]

    together = of_rows(tmp_path / "together", *ROWS, defaults=defaults)
    alone = [of_rows(tmp_path / f"{i}", row, defaults=defaults) for i, row in enumerate(ROWS)]
    assert bodies(together) == [body for plan in alone for body in bodies(plan)]
    trials = [one for plan in alone for one in described(plan)]
    assert described(together) == trials
    # As they are written: the order of their keys is that of the files that they go to.
    assert list(map(repr, described(together))) == list(map(repr, trials))


def test_a_row_that_cannot_be_kept_is_told_of_after_rows_that_can(tmp_path: Path) -> None:
    """Also where it says nothing but its variables, as those before it."""
    number = json.dumps({"vars": {"q": "x"}}).replace('"x"', "1e999")
    of_rows(tmp_path, {"vars": {"q": "x"}}, {"vars": {"q": "y"}})
    with (tmp_path / "t.jsonl").open("a") as file:
        file.write(f"\n{number}\n")
    with pytest.raises(ConfigError, match="the variables cannot be kept"):
        load(tmp_path)


def test_names_are_looked_at_where_those_before_were_not(tmp_path: Path) -> None:
    """A test whose code may set any variable says nothing of the next one with the same names."""
    computed = {"vars": {"q": "x"}, "options": {"transformVars": "({...vars, name: 1})"}}
    hint = "variable 'name' is not set by every test, and prints as nothing there"
    assert hint not in [one.what for one in of_rows(tmp_path, computed).hints]
    both = of_rows(tmp_path, computed, {"vars": {"q": "y"}})
    assert hint in [one.what for one in both.hints]

"""A table of a user's file is declared once: it is read, described to editors and documented from its keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import pytest

from evenhand.core.gate_terms import GateTerms
from evenhand.core.names import did_you_mean
from evenhand.core.ranges import SHARE
from evenhand.core.record import Record
from evenhand.core.table import (
    Path_,
    TableKey,
    TableReader,
    choice,
    flag,
    listed,
    names_of,
    nested,
    number,
    own,
    schema_of,
    text,
)
from evenhand.doors.prompt_directories import eval_yml
from evenhand.doors.prompt_directories.prompt import Meta, Promotion
from evenhand.languages.documents.project import Project

DOCS = Path(__file__).resolve().parents[3] / "docs"
_RATE = number(SHARE, {"type": "number", "minimum": 0, "maximum": 1}, "Write 0.9.")


class Sauce(Record, frozen=True):
    """A table inside the table."""

    name: Annotated[str, TableKey("Which one.", text())] = ""
    heat: Annotated[float, TableKey("How hot it is.", _RATE)] = 0.5


class Dish(Record, frozen=True):
    """A table with a key of each kind."""

    title: Annotated[str, TableKey("What it is called.", text())] = ""
    vegan: Annotated[bool, TableKey("Whether it is vegan.", flag())] = False
    rating: Annotated[float, TableKey("What guests say.", _RATE, "guest-rating")] = 1.0
    size: Annotated[
        str, TableKey("How large it is.", choice(("small", "large"), "Write small."))
    ] = ""
    herbs: Annotated[Sequence[str], TableKey("What is in it.", listed({"type": "array"}))] = ()
    sauce: Annotated[Sauce, TableKey("What it comes with.", nested(Sauce, alone="name"))] = Sauce()
    cook: Annotated[object, TableKey("Who cooks it.", own({"type": "string"}))] = None
    seats: int = 0


def read(table: dict[str, object], **values: object) -> tuple[Dish, list[str]]:
    """What a table makes, and what is wrong with it."""
    problems: list[str] = []

    def problem(at: Path_, what: str, hint: str) -> None:
        problems.append(f"{'.'.join(map(str, at))}: {what} | {hint}")

    def unknown(at: Path_, known: Collection[str]) -> None:
        problem(at, f"no {at[-1]}", did_you_mean(str(at[-1]), known))

    return TableReader(problem, unknown).read(Dish, table, **values), problems


def test_each_key_is_read_into_its_field():
    """A text may stand for a table; what the caller fills is left to it."""
    written = {
        "title": "Soup",
        "vegan": True,
        "guest-rating": 0.25,
        "size": "large",
        "herbs": ["dill"],
        "sauce": {"heat": 1},
        "cook": "Ada",
    }
    expected = Dish("Soup", True, 0.25, "large", ["dill"], Sauce(heat=1), seats=7)
    assert read(written, seats=7) == (expected, [])
    assert read({"sauce": "pesto", "title": None}) == (Dish(sauce=Sauce("pesto")), [])


def test_all_that_is_wrong_is_told_and_the_defaults_stand():
    """Each problem has the way to its part, and says what to do."""
    dish, problems = read(
        {
            "title": 3,
            "vegan": "yes",
            "guest-rating": 2,
            "size": "huge",
            "herbs": "dill",
            "sauce": {"heat": -1, "nmae": "x"},
            "hebrs": [],
        }
    )
    assert dish == Dish()
    assert problems == [
        "hebrs: no hebrs | Did you mean 'herbs'?",
        "title: title is 3, not a text | ",
        "vegan: vegan is 'yes' | Write true or false.",
        "guest-rating: guest-rating is 2, not a number from 0 to 1: 2 % is 0.02 | Write 0.9.",
        "size: size is 'huge' | Write small.",
        "herbs: herbs is 'dill', not a list | ",
        "sauce.nmae: no nmae | Did you mean 'name'?",
        "sauce.heat: heat is -1, not a number from 0 to 1 | Write 0.9.",
    ]


def test_the_schema_and_the_documentation_have_every_key():
    """Fields without a key are in neither."""
    schema = schema_of(Dish, {"cook": {"const": "Ada"}}, required=["title"])
    properties = schema["properties"]
    assert tuple(properties) == names_of(Dish)
    assert "seats" not in properties
    assert schema["required"] == ["title"]
    assert properties["cook"] == {"const": "Ada", "description": "Who cooks it."}
    assert properties["size"] == {"enum": ["small", "large"], "description": "How large it is."}
    short, table = properties["sauce"]["anyOf"]
    assert (short, table["properties"]["heat"]["maximum"]) == ({"type": "string"}, 1)


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        (Project, "command-line.md"),
        (GateTerms, "command-line.md"),
        (eval_yml.EvalTable, "prompt-directories.md"),
        (eval_yml.Defaults, "prompt-directories.md"),
        (eval_yml.EvalCase, "prompt-directories.md"),
        (eval_yml.Judging, "prompt-directories.md"),
        (eval_yml.Price, "prompt-directories.md"),
        (eval_yml.Queries, "prompt-directories.md"),
        (Meta, "prompt-directories.md"),
        (Promotion, "prompt-directories.md"),
    ],
)
def test_the_page_of_a_table_has_every_key(kind: type[Record], page: str):
    """A key that is declared and not documented fails here."""
    written = (DOCS / page).read_text(encoding="utf-8")
    assert [name for name in names_of(kind) if name not in written] == []

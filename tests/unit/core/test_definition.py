"""What a trial is given and asked, as digests: the same for what is the same, in whichever process."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evenhand.core.case import Case
from evenhand.core.definition import code_digest, content_of, definition_of
from evenhand.core.traits import Traits
from evenhand.scorers import Contains, Passes
from evenhand.scorers.function import FunctionScorer

CASE = Case("c", {"x": 1}, "in", "out", ("passage",), "a line", ("easy",), {"row": 1})


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (Case("c", {"x": 2}, "in", "out", ("passage",), "a line", ("easy",)), "vars"),
        (Case("c", {"x": 1}, "on", "out", ("passage",), "a line", ("easy",)), "input"),
        (Case("c", {"x": 1}, "in", "oat", ("passage",), "a line", ("easy",)), "expected"),
        (Case("c", {"x": 1}, "in", "out", ("message",), "a line", ("easy",)), "context"),
        (Case("c", {"x": 1}, "in", "out", ("passage",), "a line", ("hard",)), "tags"),
        (Case("c", {"x": 1}, "in", "out", ("passage",), "a lane", ("easy",), {"row": 2}), ""),
    ],
)
def test_each_part_of_a_case_has_a_digest_of_its_own(other: Case, part: str):
    """Its description and its metadata are no part of the test."""
    one, two = content_of(CASE, CASE.vars), content_of(other, other.vars)
    assert {name for name in one if one[name] != two[name]} == ({part} if part else set())


def test_variables_that_came_about_on_the_way_are_no_part_of_the_case():
    """What an earlier output stored; but files that were read in are."""
    filled = {"x": 1, "earlier": "an output"}
    assert content_of(CASE, filled) == content_of(CASE, CASE.vars)
    assert content_of(CASE, {"x": "what stood in a file"}) != content_of(CASE, CASE.vars)


def test_what_a_config_wants_of_a_score_is_its_rule():
    """Its assertions are expectations."""
    plain = content_of(CASE, CASE.vars, {"assert": [1], "options": {"prefix": "p"}})
    assert "rule" not in plain
    assert "rule" in content_of(CASE, CASE.vars, {"threshold": 0.5})
    assert "rule" in content_of(CASE, CASE.vars, {"options": {"transform": "output"}})


@dataclass
class Own:
    """A scorer that is given something by the application."""

    traits: ClassVar[Traits] = Traits(asks=("wanted",))
    wanted: str
    retrieved: str = ""


def test_a_scorer_is_known_by_the_arguments_that_say_what_it_asks():
    """Not by who is asked, nor by what it is called, nor by what it says is the application's."""
    assert definition_of(Contains("a")) != definition_of(Contains("b"))
    assert definition_of(Contains("a")) == definition_of(Contains("a"))
    assert definition_of(Passes("x")) == definition_of(Passes("x", unsure_below=0.9))
    assert definition_of(Passes("x")).settings.keys() >= {"criteria", "strict"}
    assert definition_of(Own("a", "one")) == definition_of(Own("a", "two"))
    assert definition_of(Own("a")) != definition_of(Own("b"))
    assert "code" in definition_of(Own("a")).settings


@dataclass
class Within:
    """A scorer whose arguments may be left out."""

    least: float | None = None
    most: float | None = None


def test_what_a_scorer_asks_does_not_hang_on_those_before_it():
    """The same value under another name, and values that are equal and written otherwise."""
    asked = [Within(1), Within(None, 1), Within(1.0), Within(True), Within(1, None), Within(1, 1)]
    settings = [definition_of(one).settings for one in asked]
    assert [sorted(each) for each in settings[:2]] == [["code", "least"], ["code", "most"]]
    assert settings[4] == settings[0]
    assert len({tuple(sorted(each.items())) for each in settings}) == len(asked) - 1
    for one, before in zip(reversed(asked), reversed(settings), strict=True):
        assert definition_of(one).settings == before


def adding(number: int) -> Callable[[str], bool]:
    """A grader that hangs on a number."""
    return lambda output: len(output) > number


def test_a_function_is_known_by_its_code_and_by_what_it_was_made_with():
    """Two lambdas of one line are one code."""
    one, two = (definition_of(FunctionScorer(adding(n), "a")) for n in (1, 2))
    assert one.settings["code"] == two.settings["code"]
    assert one.settings["values"] != two.settings["values"]
    assert definition_of(FunctionScorer(adding(1), "b")) == one


def passing(*checks: object, **more: object) -> Callable[[str], bool]:
    """A grader that is made of others, or of tables."""
    return lambda output: bool(checks and more and output)


def descending(step: int) -> Callable[[str], bool]:
    """A grader that calls itself."""

    def grade(output: str) -> bool:
        return not output or grade(output[step:])

    return grade


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (passing(["damn"]), passing(["damn", "hell"])),
        (passing({"a": {1, 2}}), passing({"a": {1, 3}})),
        (passing(words={"a": [1]}), passing(words={"a": [2]})),
        (passing(lambda x: x > 1), passing(lambda x: x > 2)),
        (passing(adding(1)), passing(adding(2))),
        (descending(1), descending(2)),
        (passing([lambda x: x > 1, adding(1)]), passing([lambda x: x > 2, adding(1)])),
    ],
)
def test_a_function_is_known_by_the_tables_and_functions_that_it_was_made_with(
    one: Callable[[str], bool], two: Callable[[str], bool]
):
    """Words that are banned, say, or checks that it combines."""
    assert definition_of(FunctionScorer(one, "a")) != definition_of(FunctionScorer(two, "a"))
    assert definition_of(FunctionScorer(one, "a")) == definition_of(FunctionScorer(one, "b"))


@pytest.mark.parametrize("target", [len, print, object(), "text", str.upper])
def test_what_has_no_code_of_pythons_has_no_digest(target: Any):
    """And raises nothing."""
    assert not code_digest(target)


def test_digests_are_the_same_in_another_process(tmp_path: Path):
    """Sets of constants have no order, and hashes of texts a seed."""
    file = tmp_path / "graders.py"
    file.write_text(
        "KINDS = ('a', 'b')\nWORDS = frozenset({'say', 'a', 'b'})\nPAIRS = ((1, WORDS), {'k': WORDS})\n\n\n"
        "def grade(output):\n    return output in {'x', 'y', 'z'} and output in KINDS and WORDS and PAIRS\n"
    )
    script = (
        "import graders; from evenhand.core.definition import code_digest; "
        "print(code_digest(graders.grade), code_digest(graders.grade, everywhere=True))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[3] / 'src'}",
            },
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1
    assert digests.pop() == "ast:3592bb1c ast:5ea69705\n"


HELPERS = {
    "graders": """
import re
from functools import cache
import helpers
from helpers import Strict, clean
from shapes import order

BANNED = ["damn", "hell"]
LONG = re.compile("x" * 200 + "y")
limit = 3


@cache
def known():
    return 1


def grade(output):
    text = clean(output)
    return (
        helpers.short(text, limit) and not BANNED and Strict().passes(text)
        and known() and LONG.search(text) and order.Order(text)
    )
""",
    "helpers": """
from functools import cached_property

WORDS = {"a": 1}


def clean(text):
    return text.strip()


def short(text, limit):
    return len(text) < limit and text in WORDS


def unused(text):
    return text


class Base:
    most = 5
    kinds = ["a", "b"]

    @property
    def least(self):
        return 0

    @cached_property
    def middle(self):
        return 2


class Strict(Base):
    def passes(self, text):
        return len(text) < self.most
""",
    "shapes/__init__": "",
    "shapes/order": """
from dataclasses import dataclass


@dataclass
class Order:
    id: int
""",
}


def graded_by(folder: Path, files: dict[str, str]) -> object:
    """What the function in `graders` is known by, where these are the modules."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = [name.removesuffix("/__init__").replace("/", ".") for name in files]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name in names:
            patch.delitem(sys.modules, name, raising=False)
        try:
            return definition_of(FunctionScorer(importlib.import_module("graders").grade))
        finally:
            for name in names:
                sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("helpers", "text.strip()", "text.lower()"),
        ("helpers", "len(text) < limit", "len(text) <= limit"),
        ("helpers", '{"a": 1}', '{"a": 2}'),
        ("helpers", "most = 5", "most = 6"),
        ("helpers", '["a", "b"]', '["a"]'),
        ("helpers", "return 0", "return 1"),
        ("helpers", "return 2", "return 1"),
        ("helpers", "len(text) < self.most", "True"),
        ("shapes/order", "id: int", "id: str"),
        ("graders", '["damn", "hell"]', '["damn"]'),
        ("graders", '+ "y"', '+ "z"'),
        ("graders", "limit = 3", "limit = 4"),
        ("graders", "return 1", "return 0"),
    ],
)
def test_a_function_is_known_by_all_that_it_names_in_modules_of_the_users(
    tmp_path: Path, module: str, before: str, after: str
):
    """A check that became lenient somewhere else would pass for a better application."""
    first = graded_by(tmp_path / "first", HELPERS)
    assert graded_by(tmp_path / "again", HELPERS) == first
    assert before in HELPERS[module]
    edited = {**HELPERS, module: HELPERS[module].replace(before, after)}
    assert graded_by(tmp_path / "edited", edited) != first


LATER = {
    "graders": """
def grade(output):
    import rules.words
    from helpers import Strict as Exact, clean
    return Exact().passes(clean(output)) and rules.words.known(output)
""",
    "helpers": HELPERS["helpers"],
    "rules/__init__": "",
    "rules/words": """
from .most import MOST


def known(text):
    from .lists import WORDS
    return text in WORDS and len(text) < MOST


def unused(text):
    return text
""",
    "rules/lists": 'WORDS = ["damn", "hell"]\n',
    "rules/most": "MOST = 9\n",
}
"""Modules that are imported when a check is called, if ever."""


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("helpers", "text.strip()", "text.lower()"),
        ("helpers", "most = 5", "most = 6"),
        ("helpers", "len(text) < self.most", "True"),
        ("rules/words", "and len(text) < MOST", ""),
        ("rules/lists", '["damn", "hell"]', '["damn"]'),
        ("rules/most", "9", "90"),
    ],
)
def test_a_function_is_known_by_what_it_imports_when_it_is_called(
    tmp_path: Path, module: str, before: str, after: str
):
    """Whether or not it was called: else the first trial would decide what the check is."""
    first = graded_by(tmp_path / "first", LATER)
    assert graded_by(tmp_path / "again", LATER) == first
    assert before in LATER[module]
    edited = {**LATER, module: LATER[module].replace(before, after)}
    assert graded_by(tmp_path / "edited", edited) != first


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("helpers", "len(text) < limit", "len(text) <= limit"),
        ("rules/words", "def unused(text):\n    return text", "def unused(text):\n    return 1"),
        ("rules/words", "def known(text):\n", 'def known(text):\n    "Of a text."\n'),
        ("rules/most", "9", "9  # letters"),
    ],
)
def test_what_a_function_does_not_name_of_what_it_imports_is_no_part_of_it(
    tmp_path: Path, module: str, before: str, after: str
):
    """Nor are comments and docstrings."""
    assert before in LATER[module]
    edited = {**LATER, module: LATER[module].replace(before, after)}
    assert graded_by(tmp_path / "edited", edited) == graded_by(tmp_path / "first", LATER)


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("helpers", "    return text\n\n\nclass Base", "    return 1\n\n\nclass Base"),
        ("helpers", "def clean", "# trims\ndef clean"),
        ("graders", "import re\n", "import re\nHERE = __file__\n"),
        ("graders", "def grade(output):\n", 'def grade(output):\n    "Of a text."\n'),
    ],
)
def test_what_a_function_does_not_name_is_no_part_of_it(
    tmp_path: Path, module: str, before: str, after: str
):
    """Nor are comments and docstrings."""
    assert before in HELPERS[module]
    edited = {**HELPERS, module: HELPERS[module].replace(before, after)}
    assert graded_by(tmp_path / "edited", edited) == graded_by(tmp_path / "first", HELPERS)


def test_the_folder_of_the_code_is_no_part_of_it(tmp_path: Path):
    """A constant may hold it: a baseline of another machine would be of another test."""
    text = "HERE = __file__\n\n\ndef grade(output):\n    return HERE and __file__\n"
    first, second = (graded_by(tmp_path / name, {"graders": text}) for name in ("a", "b"))
    assert first == second


class Touchy:
    """A proxy outside of its context, as web frameworks have them: whatever it is asked raises."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


PROXY = Touchy()
LOOP: list[object] = []
LOOP.append(LOOP)


def touching(output: str) -> bool:
    """Names what can't be looked into."""
    return bool(PROXY and LOOP and output)


def test_what_a_function_names_or_was_given_is_looked_at_without_being_asked_for_anything():
    """A proxy may raise, a list may hold itself, and a large table would be read for each trial."""
    assert definition_of(FunctionScorer(touching, "a")).settings["code"]
    one, two = (passing(PROXY, LOOP, [letter] * 100_000) for letter in "xy")
    assert definition_of(FunctionScorer(one, "a")) == definition_of(FunctionScorer(two, "a"))

"""What counts as an application's code: the user's own modules, and of each eval what decides about its output."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.core.application_code import changed_code
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.project_files import (
    code_of,
    files_elsewhere,
    files_of,
    imported_code,
    session_code,
    texts_of_models,
)
from evenhand.providers.catalog import create

FILE = '''
"""Checks the shop."""
import json

import pytest
from evenhand import EvalSet
from shop_app import answer, said

import checking

shop = EvalSet("shop", data=[{"input": 1}], subject=said("kind"))
PROMPT = """Be kind.
# Rules
Be brief."""
RUBRIC = "is kind"


def ask(case):
    """Asks."""
    return answer(PROMPT, case)


def judged(reply):
    return len(reply)


@shop.fixture
def till():
    yield answer("open", None)


@said("polite")
@shop.eval(tags=["fast"])
async def replies(case, expect, till) -> str:
    reply = ask(case)
    expect(reply, RUBRIC)
    expect(answer("direct", case), "is there")
    outcome = await expect.now(reply, 4)
    with expect.that("it is long"):
        assert len(reply) > 4
        till.ring("twice")
    for word in reply.split():
        expect(word, "is a word")
    expect(judged, "is judged")
    assert reply
    return reply


@shop.eval
def other(case, expect):
    expect(judged(case), "is judged")
'''
NUMBERS = itertools.count()
APPLICATION = "def answer(*given):\n    return given\n\n\ndef said(how):\n    return lambda function: function\n"
CHECKS = {
    "a check": ("expect(reply, RUBRIC)", 'expect(reply, "is here")'),
    "a constant of a check": ('"is kind"', '"is very kind"'),
    "a function that only checks name": (
        "len(reply)\n\n\n@shop.fixture",
        "max(reply)\n\n\n@shop.fixture",
    ),
    "what is awaited of a check": ("expect.now(reply, 4)", "expect.now(reply, 5)"),
    "a block of checks": ("len(reply) > 4", "len(reply) > 5"),
    "a loop of checks": ("in reply.split()", "in reply.lower().split()"),
    "an assertion": ("    assert reply\n", "    assert reply == 4\n"),
    "the cases": ('data=[{"input": 1}]', 'data=[{"input": 2}]'),
    "a tag": ('"fast"', '"slow"'),
    "another eval": ("expect(judged(case)", "expect(judged(case) + 1"),
    "an import of the standard library": ("import json", "import math"),
    "an import of Evenhand": ("import EvalSet", "import Case, EvalSet"),
    "an import that nothing names": ("import checking\n", ""),
    "a comment": ("def ask", "# asks\ndef ask"),
    "a docstring": ('"""Asks."""', '"""Asks the shop."""'),
    "an annotation": (" -> str", " -> object"),
    "the layout": ("answer(PROMPT, case)", "answer(PROMPT,  case,)"),
    "line ends": ("\n", "\r\n"),
}
CHANGES = {
    "what is imported": ("import answer, said", "import better as answer, said"),
    "a line of a prompt that looks like a comment": ("# Rules", "# Rule"),
    "a function of the file": ("answer(PROMPT, case)", "answer(PROMPT, case).strip()"),
    "an eval's own code": ("reply = ask(case)", "reply = ask(case).strip()"),
    "the application's call in a check": ('answer("direct"', 'answer("indirect"'),
    "the application's call in a block of checks": ('till.ring("twice")', 'till.ring("once")'),
    "a fixture": ('answer("open", None)', 'answer("shut", None)'),
    "a decorator": ('@said("polite")', '@said("rude")'),
    "the set's subject": ('subject=said("kind")', 'subject=said("rude")'),
    "what an eval returns": ("return reply\n", "return reply[:4]\n"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of its own, whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shop_app.py").write_text(APPLICATION + "\n\nbetter = answer\n")
    (tmp_path / "checking.py").write_text("")
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def code(file: Path, text: str) -> dict[str, str]:
    """The code of the sets in a file with this text."""
    file.write_text(text, newline="")
    found = find([str(file)])
    assert not found.problems
    return {**imported_code(), **code_of(found.sets)}


def other_file(folder: Path, text: str) -> dict[str, str]:
    """The same in a file that this process hasn't imported."""
    return code(folder / f"shop{next(NUMBERS)}_evals.py", text)


@pytest.mark.parametrize("change", CHECKS)
def test_what_only_checks_is_no_code_of_the_application(change: str, folder: Path):
    """Each leaves the eval's code as it is."""
    before, after = CHECKS[change]
    edited = FILE.replace(before, after)
    assert edited != FILE
    now, then = other_file(folder, edited), other_file(folder, FILE)
    assert now["eval shop: replies"] == then["eval shop: replies"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_what_is_answered_is_code_of_the_application(change: str, folder: Path):
    """Each is seen."""
    before, after = CHANGES[change]
    edited = FILE.replace(before, after)
    assert edited != FILE
    now, then = other_file(folder, edited), other_file(folder, FILE)
    assert now["eval shop: replies"] != then["eval shop: replies"]


def test_modules_count_wherever_they_lie_and_by_their_names(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    """Also outside of the project, through a link, and as a package; not test files, `_version` and installed ones."""
    elsewhere = tmp_path_factory.mktemp("src")
    linked = tmp_path_factory.mktemp("links") / "link"
    linked.symlink_to(elsewhere)
    monkeypatch.syspath_prepend(linked)
    package = elsewhere / "far_away"
    package.mkdir()
    for name in ("__init__", "core", "_version", "test_core"):
        (package / f"{name}.py").write_text("x = 1\n")
        importlib.import_module(f"far_away.{name}" if name != "__init__" else "far_away")
    parts = other_file(folder, FILE)
    assert {name for name in parts if name.startswith("far")} == {"far_away.py", "far_away/core.py"}
    assert parts["shop_app.py"]
    assert not any("pytest" in name or "evenhand/" in name for name in parts)
    (package / "core.py").write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert other_file(folder, FILE)["far_away/core.py"] == parts["far_away/core.py"]
    (package / "core.py").write_text("x = 2\n")
    assert other_file(folder, FILE)["far_away/core.py"] != parts["far_away/core.py"]


def test_modules_count_that_functions_import_when_they_are_called(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    """From the run's beginning, though no trial has come that far: one that is resumed has results of one version."""
    elsewhere = tmp_path_factory.mktemp("src")
    monkeypatch.syspath_prepend(elsewhere)
    (folder / "shop_app.py").write_text(
        APPLICATION
        + "\n\nbetter = answer\n\n\ndef late():\n    import later.prices\n    import json\n"
    )
    (folder / "later").mkdir()
    (folder / "later/__init__.py").write_text("")
    (folder / "later/prices.py").write_text("from . import taxes\nfrom shelf import far\n")
    (folder / "later/taxes.py").write_text("x = 1\n")
    (folder / "later/unused.py").write_text("x = 1\n")
    (elsewhere / "shelf.py").write_text("far = 1\n")
    importlib.invalidate_caches()
    parts = other_file(folder, FILE)
    late = {"later.py", "later/prices.py", "later/taxes.py"}
    assert {name for name in parts if "later" in name or "shelf" in name} == {*late, "shelf.py"}
    assert "later.prices" not in sys.modules
    path = next(folder.glob("*_evals.py"))
    files = {name for name in files_of([path]) if name.startswith("later")}
    assert files == {"later/__init__.py", "later/prices.py", "later/taxes.py"}
    outside = os.path.relpath(elsewhere / "shelf.py", folder)
    before = files_elsewhere([path])[outside]
    (elsewhere / "shelf.py").write_text("far = 2\n")
    assert files_elsewhere([path])[outside] != before


def test_a_file_that_is_gone_or_broken_by_now_has_no_code(folder: Path):
    """It was edited since it was imported."""
    file = folder / "gone_evals.py"
    file.write_text(FILE)
    sets = find([str(file)]).sets
    file.write_text("def broken(:")
    assert "eval shop: replies" not in code_of(sets)
    file.unlink()
    assert "eval shop: replies" not in code_of(sets)
    assert files_of([file]) == {}


def test_of_a_session_of_pytest_each_test_has_its_own_code(tmp_path: Path):
    """Methods, too; what a test only checks is none of it."""
    file = tmp_path / "test_bot.py"
    text = (
        "SAID = 'kind'\n\n\nclass TestBot:\n    def test_it(self, expect):\n"
        "        expect(SAID.upper(), 'x')\n        return ask(SAID)\n"
    )
    ids = ["test_bot.py::TestBot::test_it", "test_bot.py::test_gone"]
    file.write_text(text)
    before = session_code(tmp_path, ids)
    assert f"eval {ids[0]}" in before
    assert f"eval {ids[1]}" not in before
    file.write_text(text.replace("'x'", "'y'"))
    assert session_code(tmp_path, ids) == before
    file.write_text(text.replace("'kind'", "'rude'"))
    assert session_code(tmp_path, ids) != before


def test_many_changed_files_are_a_few_names_and_a_number():
    """What only one run imported isn't among them, nor another eval."""
    before, now = ({f"{name}.py": f"{run}" for name in "abcdefg"} for run in (1, 2))
    other = {"eval b: tells": "1"}
    assert changed_code(
        {**before, **other, "old.py": "1"}, {**now, "eval b: tells": "2"}, ["a"]
    ) == (
        "a.py",
        "b.py",
        "c.py",
        "4 more files",
    )
    assert changed_code(other, {"eval b: tells": "2"}, ["b: tells"]) == ("eval b: tells",)
    assert changed_code(dict(list(before.items())[:4]), now, []) == ("a.py", "b.py", "c.py", "d.py")


def test_a_text_that_a_models_code_names_is_application_code(tmp_path: Path):
    """A prompt in a file beside a provider is none of the case's, and decides what it answers."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "bot.py").write_text(
        "def call_api(p, o, c): return open('system.txt').read() + p\n"
    )
    (tmp_path / "system.txt").write_text("one")
    (tmp_path / "other.txt").write_text("one")
    bot = create("file://bot.py", config={}, env={}, base=tmp_path)
    before = texts_of_models(tmp_path / "a_evals.py", [bot])
    assert before.keys() == {"system.txt"}
    (tmp_path / "system.txt").write_text("two")
    assert texts_of_models(tmp_path / "a_evals.py", [bot]) != before

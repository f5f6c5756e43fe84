"""References to methods of classes: which can be called, and what is said of the others before a run, and in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import CodeError, UsageError
from evenhand.doors.assertions.code_files import file_problems
from evenhand.engine.code import CodeHost
from evenhand.providers.catalog import create

FILE = """
class Grader:
    def grade(self, output, context): return True
    async def later(self, output, context): return True

    @staticmethod
    def fixed(output, context): return True

    @classmethod
    def of_class(cls, output, context): return cls.__name__

    def plain(output, context): return True
"""
CALLABLE = ("Grader.fixed", "Grader.of_class", "Grader.plain")
OF_OBJECTS = ("Grader.grade", "Grader.later")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the class, and with a file that imports it."""
    (tmp_path / "x.py").write_text(FILE, "utf-8")
    (tmp_path / "y.py").write_text("from x import Grader\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_a_method_of_an_object_is_refused_before_the_run(folder: Path, name: str):
    """As a provider and as a grader, with what to write."""
    what = f"'{name}' is a method of an object, and nothing makes one"
    ((problem, hint),) = file_problems(f"file://x.py:{name}", folder, "get_assert")
    assert problem == f"x.py: {what}"
    assert "@staticmethod" in hint
    with pytest.raises(UsageError, match=what):
        create(f"python:x.py:{name}", env={}, base=folder)


@pytest.mark.parametrize("name", OF_OBJECTS)
async def test_one_that_is_imported_is_refused_when_it_is_loaded(folder: Path, name: str):
    """Where the file's text doesn't show it."""
    assert file_problems(f"file://y.py:{name}", folder, "get_assert") == []
    host = CodeHost()
    with host.open(), pytest.raises(CodeError, match="is a method of an object") as caught:
        await host.load(folder / "y.py", name)
    assert "@staticmethod" in caught.value.hint


@pytest.mark.parametrize("file", ["x.py", "y.py"])
@pytest.mark.parametrize("name", CALLABLE)
async def test_others_are_called(folder: Path, file: str, name: str):
    """Static ones, those of the class, and functions that take no self."""
    assert file_problems(f"file://{file}:{name}", folder, "get_assert") == []
    create(f"python:{file}:{name}", env={}, base=folder)
    host = CodeHost()
    with host.open():
        function = await host.load(folder / file, name)
        assert await host.call(function, "x", {}, name=name)

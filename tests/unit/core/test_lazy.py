"""Packages that import what they offer when it is asked for."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PACKAGES = (
    "evenhand",
    "evenhand.scorers",
    "evenhand.testing",
    "evenhand.doors.recording",
    "evenhand.wings",
)


def declared(package: ModuleType) -> dict[str, str]:
    """The names that type checkers are told of, and the modules that have them."""
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_completion_and_imports_know_the_same_names(name: str):
    """Each from the module that type checkers are told of; and nothing of how it is made is listed."""
    package = importlib.import_module(name)
    told = declared(package)
    listed = [word for word in dir(package) if not word.startswith("__")]
    public = {word for word in listed if not isinstance(getattr(package, word), ModuleType)}
    assert public == set(package.__all__) - {"__version__"}
    for word in told.keys() - public:  # a module, which has another place
        home = importlib.import_module(told.pop(word))
        assert importlib.import_module(f"{name}.{word}") is getattr(home, word)
    for word, home in told.items():
        assert getattr(package, word) is getattr(importlib.import_module(home), word)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_is_not_there_is_an_attribute_error_that_names_the_nearest(name: str):
    """As of any module."""
    package = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'") as told:
        _ = package.nothing
    assert (told.value.name, told.value.obj) == ("nothing", package)


def test_listing_the_names_imports_nothing_of_theirs():
    """Completion in a shell does not wait for the HTTP client."""
    code = (
        "import sys, evenhand, evenhand.scorers; dir(evenhand), dir(evenhand.scorers); "
        "print([m for m in ('aiohttp', 'yaml', 'evenhand.engine', 'evenhand.scorers.text', "
        "'importlib.metadata') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

"""Public modules stay importable under the names they had."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from evenhand.core.public_names import HOMES


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize(
    ("short", "home"),
    [
        *HOMES.items(),
        ("evenhand.promptfoo.adapter", "evenhand.doors.promptfoo.adapter"),
        ("evenhand.metrics.ranking", "evenhand.scorers.metrics.ranking"),
    ],
)
@pytest.mark.parametrize("first", ["short", "home"])
def test_both_names_are_one_module(short: str, home: str, first: str) -> None:
    """Whichever is imported first, and what lies below as well: classes are never there twice."""
    names = (short, home) if first == "short" else (home, short)
    code = (
        f"import importlib; a, b = [importlib.import_module(n) for n in {names!r}]; "
        f"assert a is b and a.__spec__.name == {home!r} == a.__name__"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_nowhere_is_no_module() -> None:
    """Below a short name, too."""
    with pytest.raises(ModuleNotFoundError):
        import_module("evenhand.conversations.nowhere")
    with pytest.raises(ModuleNotFoundError):
        import_module("evenhand.nowhere")

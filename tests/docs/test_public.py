"""The page "What is public" names what there is, and all that users are shown."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.core.plugins import GROUPS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "what-is-public.md").read_text("utf-8")
MODULES = re.findall(r"^\| `(evenhand[\w.]*)` \| ([^|]+) \|$", TEXT, re.MULTILINE)
WHOLE = {"evenhand", *(m for m, what in MODULES if "`" not in what)}
NAMES = {module: set(re.findall(r"`(\w+)`", what)) for module, what in MODULES if "`" in what}
TYPED = [ROOT / "tests" / "typing" / name for name in ("api.py", "eval_sets.py")]
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def imported(text: str) -> Iterator[tuple[str, str]]:
    """The modules of ours that a program imports from, each with the name that it takes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenhand"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def shown() -> Iterator[object]:
    """What users are shown: the typed examples, the starters, and the code on pages about anything but the inside."""
    for path in TYPED:
        yield pytest.param(path.read_text("utf-8"), id=path.name)
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for i, code in enumerate(CODE.findall(page.read_text("utf-8"))):
            if "evenhand" in code:
                yield pytest.param(code, id=f"{page.name}:{i}")


@pytest.mark.parametrize("text", [*shown()])
def test_all_that_users_are_shown_to_import_is_public(text: str):
    """The typed examples and the code on the pages import nothing that may change in any release."""
    hidden = [
        f"{module}.{name}"
        for module, name in imported(text)
        if f"{module}.{name}" not in WHOLE  # a module of its own
        and module not in WHOLE
        and name not in NAMES.get(module, ())
    ]
    assert hidden == []


def test_every_format_is_promised_or_said_not_to_be():
    """Those that the code writes; what is promised has a page of its own."""
    code = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    formats = set(re.findall(r"evenhand\.[a-z]+/1\b", code))
    (paragraph,) = re.findall(r"^\*\*Formats\.\*\* .*$", TEXT, re.MULTILINE)
    promised = dict(re.findall(r"\[`(evenhand\.[a-z]+/1)`\]\((formats/[\w-]+\.md)\)", paragraph))
    unpromised = {"evenhand.said/1", "evenhand.skill/1", "evenhand.views/1"}
    assert formats == {*promised, *unpromised}
    assert all((ROOT / "docs" / page).is_file() for page in promised.values())
    assert all(f"`{name}`" in paragraph for name in unpromised)


@pytest.mark.parametrize("module", sorted({m for m, _ in MODULES}))
def test_what_is_public_is_there(module: str):
    """Each module can be imported, and has the names."""
    there = importlib.import_module(module)
    assert [name for name in NAMES.get(module, ()) if not hasattr(there, name)] == []


def test_names_with_an_all_are_there():
    """Whatever `__all__` of a public module lists can be taken from it."""
    for module in WHOLE:
        there = importlib.import_module(module)
        assert [n for n in getattr(there, "__all__", ()) if not hasattr(there, n)] == [], module


def test_the_groups_of_entry_points_are_those_of_the_code():
    """No more, and no fewer."""
    line = next(text for text in TEXT.splitlines() if text.startswith("**Entry points.**"))
    assert set(re.findall(r"`(evenhand\.\w+)`", line)) == set(GROUPS)


def test_our_langsmith_importer_is_made_of_what_packages_may_use():
    """A package can be as good a reader as ours: what it lacks is a hash."""
    text = (ROOT / "src/evenhand/wings/interchange/langsmith.py").read_text("utf-8")
    public = set(importlib.import_module("evenhand.doors.importers").__all__)
    assert {name for _, name in imported(text)} - public == {"digest", "encode"}

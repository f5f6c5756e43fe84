"""What counts as an application's code in an eval file, and what has changed of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.definition import changed_code, code_now, code_parts, file_code

FILE = '''
"""Checks the shop."""
import json

from evenhand import EvalSet
from shop import answer

shop = EvalSet("shop", data=[1, 2])
PROMPT = """Be kind.
# Rules
Be brief."""


def ask(case):
    return answer(PROMPT, case)


@shop.eval(tags=["fast"])
async def replies(case, expect):
    reply = ask(case)
    expect(reply, "is there")
    outcome = await expect.now(reply, 4)
    with expect.that("it is long"):
        assert len(reply) > 4
    assert reply
    return reply
'''
CHANGES = {
    "a check": ('expect(reply, "is there")', 'expect(reply, "is here")'),
    "what is awaited of a check": ("expect.now(reply, 4)", "expect.now(reply, 5)"),
    "a block of checks": ("len(reply) > 4", "len(reply) > 5"),
    "an assertion": ("    assert reply\n", "    assert reply == 4\n"),
    "the set": ("data=[1, 2]", "data=[1, 2, 3]"),
    "a tag": ('"fast"', '"slow"'),
    "an import of the standard library": ("import json", "import math"),
    "an import of Evenhand": ("import EvalSet", "import Case, EvalSet"),
    "a comment": ("def ask", "# asks\ndef ask"),
}
PARTS = {
    "the application that is imported": ("import answer", "import better as answer", ""),
    "a line of a prompt that looks like a comment": ("# Rules", "# Rule", ""),
    "a function of the file": ("answer(PROMPT, case)", "answer(PROMPT, case).strip()", ""),
    "an eval's own code": ("reply = ask(case)", "reply = ask(case).strip()", "replies"),
    "what an eval returns": ("return reply\n", "return reply[:4]\n", "replies"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_only_checks_is_no_code_of_the_application(change: str):
    """Each leaves all parts as they are."""
    before, after = CHANGES[change]
    edited = FILE.replace(before, after)
    assert edited != FILE
    assert dict(code_parts(edited)) == dict(code_parts(FILE))


@pytest.mark.parametrize("change", PARTS)
def test_what_decides_what_is_answered_is_code_of_the_application(change: str):
    """In the part that it stands in, and in no other."""
    before, after, part = PARTS[change]
    edited, parts = dict(code_parts(FILE.replace(before, after))), dict(code_parts(FILE))
    assert edited.keys() == parts.keys() == {"", "replies"}
    assert [name for name in parts if parts[name] != edited[name]] == [part]


def test_a_file_that_cannot_be_parsed_counts_as_a_whole():
    """It was edited since it was imported."""
    assert dict(code_parts("def broken(:")) == {"": "def broken(:"}


def test_many_changed_files_are_a_few_names_and_a_number():
    """What only one run imported isn't among them."""
    before, now = ({f"{name}.py": f"{run}" for name in "abcdefg"} for run in (1, 2))
    assert changed_code({**before, "old.py": "1"}, now, []) == (
        "a.py",
        "b.py",
        "c.py",
        "4 more files",
    )
    assert changed_code(dict(list(before.items())[:4]), now, []) == ("a.py", "b.py", "c.py", "d.py")


def test_code_is_held_against_the_files_as_they_are_now(tmp_path: Path):
    """Eval by eval where it was recorded so; files that are gone say nothing."""
    evals, bot = tmp_path / "shop_evals.py", tmp_path / "bot.py"
    evals.write_text(FILE)
    bot.write_text("x = 1\n")
    before = {
        **file_code(evals, "shop_evals.py", with_evals=True),
        **file_code(bot, "bot.py", with_evals=False),
        "gone.py": "1",
    }
    assert code_now(before, tmp_path) == {n: c for n, c in before.items() if n != "gone.py"}
    evals.write_text(FILE.replace("reply = ask(case)", "reply = 4"))
    assert changed_code(before, code_now(before, tmp_path), ["shop: replies"]) == (
        "shop_evals.py:replies",
    )
    assert changed_code(before, code_now(before, tmp_path), ["shop: others"]) == ()

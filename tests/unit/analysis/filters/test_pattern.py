"""The filter's regular expressions, on the vectors that the viewer's page is tested on, too."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from evenhand.analysis.filters.pattern import Pattern, PatternError
from evenhand.core.errors import UsageError

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "patterns.json").read_text("utf-8"))


@pytest.mark.parametrize(("source", "text", "found"), VECTORS["found"])
def test_an_expression_finds_what_the_vectors_say(source: str, text: str, found: bool) -> None:
    """The same as on the page, whatever was looked for before."""
    pattern = Pattern(source)
    assert pattern.search(text) is found
    assert pattern.search("") == Pattern(source).search("")
    assert pattern.search(text) is found


@pytest.mark.parametrize(("source", "what", "hint"), VECTORS["refused"])
def test_what_is_not_supported_is_refused_in_words(source: str, what: str, hint: str) -> None:
    """What is wrong, and what to do, in the page's words."""
    with pytest.raises(PatternError) as refused:
        Pattern(source)
    assert (refused.value.what, refused.value.hint) == (what, hint)


@pytest.mark.parametrize(
    ("source", "length"), [("a.*b", 1_000_000), ("a.*a.*a.*b", 1_000_000), ("(a+)+$x", 40)]
)
def test_no_expression_holds_up_whoever_looks_for_it(source: str, length: int) -> None:
    """On what engines go back and forth for years, it is said after a second that it takes too long."""
    # The letters that are looked for first stand before all others, where they are of no use.
    with pytest.raises(UsageError, match="took longer than 1 s on a text of") as told:
        Pattern(source).search("bx" + "a" * length + "\n")
    assert ".{0,100}" in str(told.value.hint)


@pytest.mark.parametrize("source", ["(a*)*b", "x*y", "a{1,100}b", "(cd?|e){1,9}f"])
def test_what_has_a_bound_is_answered_whatever_the_length(source: str) -> None:
    """A million letters: the answer, and no excuse."""
    assert Pattern(source).search("yxb" + "a" * 1_000_000) is (
        source in ("(a*)*b", "(.*)*x", "x*y")
    )


def test_whatever_is_looked_for_first_stands_in_all_that_is_found() -> None:
    """Two thousand expressions and texts of a small alphabet: no text is passed over that has it."""
    seed = random.SystemRandom().randrange(1 << 32)
    draw = random.Random(seed)

    def expression(depth: int) -> str:
        if depth == 0:
            return draw.choice(["a", "b", "C", ".", "[ab]", "[^a]", "^", "$", r"\b", r"\w", " "])
        kind = draw.randrange(4)
        if kind == 0:
            return draw.choice(["(?:{}|{})", "{}|{}"]).format(
                expression(depth - 1), expression(depth - 1)
            )
        if kind == 1:
            count = draw.choice(["*", "+", "?", "{2}", "{0}", "{1,2}", "{1,}", "*?"])
            return f"(?:{expression(depth - 1)}){count}"
        return expression(depth - 1) + expression(depth - 1)

    for _ in range(2_000):
        source = expression(draw.randrange(4))
        text = "".join(draw.choices("abc \n", k=draw.randrange(9)))
        actual = re.search(source.lower(), text, re.MULTILINE | re.ASCII) is not None
        assert Pattern(source).search(text) is actual, (seed, source, text)

"""The filter's regular expressions, on the vectors that the viewer's page is tested on, too."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from evenhand.report.filters.pattern import Pattern, PatternError

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


def test_random_expressions_find_what_pythons_own_find() -> None:
    """Three thousand expressions and texts of a small alphabet, held against `re`."""
    seed = random.SystemRandom().randrange(1 << 32)
    draw = random.Random(seed)

    def expression(depth: int) -> str:
        if depth == 0:
            return draw.choice(["a", "b", "c", ".", "[ab]", "[^a]", "^", "$", r"\b", r"\w", " "])
        kind = draw.randrange(4)
        if kind == 0:
            return f"(?:{expression(depth - 1)}|{expression(depth - 1)})"
        if kind == 1:
            return (
                f"(?:{expression(depth - 1)}){draw.choice(['*', '+', '?', '{2}', '{1,2}', '{1,}'])}"
            )
        return expression(depth - 1) + expression(depth - 1)

    for _ in range(3_000):
        source = expression(draw.randrange(4))
        text = "".join(draw.choices("abc \n", k=draw.randrange(9)))
        wanted = re.search(source.replace("$", r"(?![^\n])"), text, re.MULTILINE | re.ASCII)
        assert Pattern(source).search(text) is (wanted is not None), (seed, source, text)


@pytest.mark.parametrize("source", ["(a*)*b", "(a|a)*b", "(a+)+$x", "a.*a.*a.*a.*a.*b", "(.*)*x"])
def test_no_expression_takes_more_steps_than_the_text_has_characters(source: str) -> None:
    """What hangs other engines for years is read once: a text of a hundred thousand letters needs few ways."""
    pattern = Pattern(source)
    assert pattern.search("a" * 100_000) is False
    assert sum(len(state.next) for state in pattern._states.values()) < 100

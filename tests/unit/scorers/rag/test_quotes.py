"""Quotes, looked up by code."""

from __future__ import annotations

import pytest

from evenhand.scorers.rag.verdicts import found_in, plain

PASSAGE = plain(
    "The Moon is, they say, made of “green cheese”.\n"
    "Ｒｕｂｙ was created in 1995 by Yukihiro Matsumoto. 北京是中国的首都。"
)


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("made of green cheese", True),
        ('MADE OF "GREEN   CHEESE"', True),
        ("Ruby was created in 1995", True),
        ("the moon … made of green cheese", True),
        ("the moon [...] Ruby was", True),
        ("[2] Ruby was created", True),
        ("首都", True),
        ("Ruby was created in 1995 by Yukihiro Matsumto", True),
        ("Ruby was created in 1993", False),
        ("上海是首都", False),
        ("made of gouda", False),
        ("the moon … made of gouda", False),
        ("", False),
        ("…", False),
        ("!?", False),
    ],
)
def test_a_quote_stands_where_its_words_stand(quote: str, there: bool):
    """Case, width, space and punctuation aside; a slip in a long one is forgiven, another number in a short one not."""
    assert found_in(quote, PASSAGE) is there

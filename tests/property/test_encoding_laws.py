"""Laws of JSON: there and back without loss, equal bytes for equal values, no crash for any bytes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.encoding import decode, digest, encode

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    LEAF | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)
LAW = settings(derandomize=True, max_examples=200, deadline=None, database=None)


@LAW
@given(JSON)
def test_every_json_value_comes_back_as_it_was(value):
    """Types too: a float stays a float, a lone surrogate a lone surrogate."""
    back = decode(encode(value))
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, (dict, list, float))


@LAW
@given(st.dictionaries(TEXT, LEAF | TEXT, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(value, random):
    """Equal values have equal bytes."""
    keys = list(value)
    random.shuffle(keys)
    assert encode({key: value[key] for key in keys}) == encode(value)


@LAW
@given(JSON, st.sampled_from([math.nan, math.inf, -math.inf]), st.booleans())
def test_a_number_that_is_none_is_refused_whatever_is_around_it(value, bad, deep):
    """Never written as null."""
    with pytest.raises(ValueError, match=r"."):
        encode({"a": value, "b": [bad] if deep else bad})


@LAW
@given(st.binary(max_size=40) | TEXT)
def test_any_bytes_are_json_or_a_value_error(data):
    """And nothing else."""
    try:
        decode(data)
    except ValueError:
        return


@LAW
@given(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4))
def test_digests_are_equal_only_for_equal_parts(one, two):
    """However the same letters are divided."""
    assert (digest(*one) == digest(*two)) == (one == two)

"""JSON to bytes and back: nothing lost, nothing made up."""

from __future__ import annotations

import pytest

from evenhand.core.case import Case, copy_key_of
from evenhand.core.encoding import decode, digest, digest_of, encode, refuse_nan
from evenhand.core.score import Outcome, Score


@pytest.mark.parametrize(
    "value",
    [
        None,
        "plain",
        "",
        "\ud800 alone",
        "𝄞 beyond the plane",
        "\x00\x1b[31m",
        2**70,
        -(2**70),
        0.1,
        1e16,
        [],
        {},
        {"\udfff": ["\ud800", {"null": None}]},
        {"b": 1, "a": [True, False, None, 1.5, "null"]},
    ],
)
def test_what_is_encoded_is_decoded_again(value):
    """Every JSON value comes back as it was, lone surrogates and big integers too."""
    assert decode(encode(value)) == value


def test_text_of_json_is_decoded_like_bytes():
    """JSON may be given as text, even with a lone surrogate that UTF-8 has no bytes for."""
    assert decode('["\ud800"]') == ["\ud800"]
    assert decode('{"a": 1}') == {"a": 1}


def test_equal_values_have_equal_bytes():
    """Keys are sorted, in ordinary values and in those that take the slow way."""
    assert encode({"b": 1, "a": 2}) == encode({"a": 2, "b": 1}) == b'{"a":2,"b":1}'
    assert encode({"b": "\ud800", "a": 2}) == encode({"a": 2, "b": "\ud800"})


def test_a_dataclass_is_encoded_as_its_fields():
    """Frozen dataclasses are objects, nested ones too, and lone surrogates in them survive."""
    assert decode(encode(Score(0.5, reason="\ud800", parts=(Score(1.0),)))) == {
        "value": 0.5,
        "passed": None,
        "reason": "\ud800",
        "metadata": {},
        "named": {},
        "parts": [
            {
                "value": 1.0,
                "passed": None,
                "reason": "",
                "metadata": {},
                "named": {},
                "parts": [],
                "scale": None,
                "named_weights": {},
            }
        ],
        "scale": None,
        "named_weights": {},
    }


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        [1, float("-inf")],
        {"a": {"b": (float("nan"),)}},
        {"null": "null", "x": float("nan")},
        {"s": {1.0, float("nan")}},
        {"surrogate": "\ud800", "x": float("nan")},
        Outcome("x", "pass", float("nan")),
    ],
)
def test_nan_and_infinity_are_refused_wherever_they_hide(value):
    """They are never written as null: that would be a missing value where there was a wrong one."""
    with pytest.raises(ValueError, match=r"cannot be written as JSON|not JSON compliant"):
        encode(value)


def test_null_that_was_meant_is_written():
    """A real None, and the word, are not mistaken for NaN."""
    assert encode({"a": None, "b": "null", "c": b"x", "d": {3}}) == (
        b'{"a":null,"b":"null","c":"eA==","d":[3]}'
    )


def test_what_json_has_no_form_for_is_a_type_error():
    """An object of the user's is refused, in a plain value and beside a surrogate."""
    with pytest.raises(TypeError):
        encode({"a": object()})
    with pytest.raises(TypeError):
        encode(["\ud800", object()])


@pytest.mark.parametrize("data", [b"", b"{", b"{}{}", b"NaN", b"[Infinity]", b"\xff", "nope"])
def test_what_is_not_json_is_a_value_error(data):
    """Half documents, two documents, NaN and wrong bytes are all one kind of error."""
    with pytest.raises(ValueError, match=r"."):
        decode(data)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'["\\ud800",' + b"[" * 100_000])
def test_json_that_is_nested_too_deeply_is_a_value_error(data):
    """A reply of nothing but brackets is a bad reply, not a crash."""
    with pytest.raises(ValueError, match="nested too deeply"):
        decode(data)


def test_a_value_that_holds_itself_is_a_value_error():
    """A list in itself is refused by whoever looks at it."""
    value: list[object] = ["\ud800"]
    value.append(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        encode(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        refuse_nan(value)


def test_a_digest_depends_on_where_parts_end():
    """The same letters in other parts have another name; the same parts the same one, as text or bytes."""
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab", "c") == digest(b"ab", b"c")
    assert len(digest("\ud800")) == 32
    for parts in ([], ["ab", b"c"], [b"", "", b"x" * 300], ["\ud800"]):
        assert digest(*parts) == digest_of(iter(parts))


def test_the_key_of_a_copy_is_a_digest_of_all_parts_whichever_test_came_before():
    """Tests take turns, and one is described: each has the key that it has alone."""
    options = {"threshold": 0.5, "assert": [{"type": "contains", "value": "ä"}]}
    tests = [options, {}, {**options, "description": "one"}, {"options": {"x": None}}, options]
    for number, test in enumerate(tests):
        case = Case(str(number), {"n": number}, tags=("a",), metadata={"m": None})
        alike = {key: value for key, value in test.items() if key != "description"}
        parts = [None, {"n": number}, None, (), ("a",), {"m": None}, alike]
        assert copy_key_of(case, test) == digest(encode(parts))[:20]
    assert copy_key_of(Case("a", {"n": 1}), {"bad": float("nan")}) == ""

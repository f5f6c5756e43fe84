"""What is said of values that cannot be read: no library's words."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest

from evenhand.core.malformed import document_fault, json_fault


class _Inner(msgspec.Struct, forbid_unknown_fields=True):
    score: float | None
    outcome: Literal["pass", "fail"] = "pass"
    share: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class _Outer(msgspec.Struct):
    rows: list[_Inner]
    names: dict[str, bool] = {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"rows": [{"score": 1}', "it is not JSON: it was cut off"),
        ('{"rows": [{"score": "hi', "it is not JSON: it was cut off"),
        ('{"rows": [{"sco\n', "it is not JSON: it was cut off"),
        ("rows:\n  - 1\n", "it is not JSON: line 1, column 1 is wrong"),
        ('{"rows": [\n{"score": 1,}]}', "it is not JSON: line 2, column"),
        ("{}", "`rows` is missing"),
        ("[]", "it is a list, not an object"),
        ('{"rows": {}}', "`rows` is an object, not a list"),
        ('{"rows": [{}]}', "`rows[0].score` is missing"),
        ('{"rows": [{"score": "1"}]}', "`rows[0].score` is text, not a number or null"),
        (
            '{"rows": [{"score": 1, "outcome": "ok"}]}',
            "`rows[0].outcome` is 'ok', which is not allowed",
        ),
        ('{"rows": [{"score": 1, "share": -1}]}', "`rows[0].share` can't have this value"),
        ('{"rows": [{"score": 1, "scroe": 1}]}', "`rows[0].scroe` is not known"),
        ('{"rows": [], "names": {"a": 1}}', "`names[...]` is a whole number, not true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(text: str, why: str):
    """Or with its place, where it is not JSON."""
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(text, type=_Outer)
    told = document_fault(text.encode(), caught.value)
    assert told.startswith(why)
    assert "$" not in told


def test_a_value_that_json_has_no_form_for_is_not_called_cut_off():
    """Python reads NaN; nobody else does."""
    assert json_fault('{"a": NaN}') == "it holds a value that JSON has no form for"
    assert json_fault("[" * 100_000) == "it is nested too deeply"

"""What another run may be given, and what the journal says of an odd answer."""

from __future__ import annotations

import pytest

from evenhand.core.message import Reply
from evenhand.core.run import CUT_OFF, EMPTY
from evenhand.engine.call_ends import ended, worth_keeping


@pytest.mark.parametrize(
    ("reply", "kept", "message"),
    [
        (Reply("yes"), True, ""),
        (Reply("I will not", refused=True), False, ""),
        (Reply("yes", finish_reason="length"), False, ""),
        (Reply("", output="", finish_reason="length"), False, CUT_OFF),
        (Reply("", output=""), False, EMPTY),
        (Reply("", output=[0.5]), True, ""),
    ],
)
def test_what_was_refused_cut_off_or_empty_is_asked_again(reply: Reply, kept: bool, message: str):
    """By the next run; this one has it, and has paid for it."""
    assert worth_keeping(reply) is kept
    assert ended(b"{}", reply, attempts=1, wasted=0).message == message

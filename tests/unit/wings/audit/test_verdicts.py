"""What a verdict on a made answer says of itself."""

from __future__ import annotations

import pytest

from evenhand.core.run import TrialError
from evenhand.wings.audit.examining import Judged


@pytest.mark.parametrize(("slug", "unasked"), [("not-recorded", True), ("timeout", False)])
def test_only_a_judge_that_nobody_asked_is_unasked(slug: str, unasked: bool):
    """Any other error is one."""
    error = TrialError(slug=slug, message="no")
    assert Judged(state="error", error=error).unasked is unasked
    assert not Judged(state="pass", error=error).unasked

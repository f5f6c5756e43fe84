"""What an earlier session was asked, read back from its run."""

from __future__ import annotations

import pytest

from evenhand.cli.asked import Asked
from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection
from evenhand.promptfoo.overrides import Overrides


def test_what_was_asked_is_read_back_as_it_was() -> None:
    """A resumed run selects what the first session selected."""
    asked = Asked(("/evals",), Selection(pattern="money"), Overrides(), offline=True)
    assert Asked.again({"asked": asked.record()}) == asked


@pytest.mark.parametrize(
    "record",
    [{"paths": ["."], "filter": "x"}, {"paths": ["."], "selection": {"new": 1}, "over": {}}],
)
def test_a_run_that_another_version_began_is_refused_in_words(record: dict[str, object]) -> None:
    """Options that this version does not know are no traceback."""
    with pytest.raises(UsageError, match="another version"):
        Asked.again({"asked": record})

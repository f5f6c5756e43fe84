"""Studies: what their reports return is what the command exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from evenhand.cli.session import Session
from evenhand.cli.study import Study, StudyPlan
from evenhand.core.errors import UsageError

SESSION = Session(concurrency=None, max_cost=None, no_cache=False, time_limit=None, retries=None)


@pytest.mark.parametrize("code", [None, True, "1", 1.0])
def test_a_report_that_returns_no_exit_code_is_an_error_and_not_a_pass(code: Any) -> None:
    """A package's report that forgets to return would exit with 0 otherwise."""
    study = Study("smoke test", StudyPlan(cast("Any", None), Path()), lambda *_: code)
    with pytest.raises(UsageError, match="smoke test returned"):
        study.printed(Path("run.db"), SESSION)


def test_an_exit_code_is_returned_as_it_is() -> None:
    """3 is undecided."""
    study = Study("smoke test", StudyPlan(cast("Any", None), Path()), lambda *_: 3)
    assert study.printed(Path("run.db"), SESSION) == 3

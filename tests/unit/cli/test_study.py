"""Studies: what their reports return is what the command exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from evenhand.cli.session import Session
from evenhand.cli.study import Study, StudyPlan
from evenhand.core.errors import UsageError
from evenhand.core.run import RunStatus
from evenhand.engine.door import Finished
from evenhand.engine.session import Ending

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


@pytest.mark.parametrize(
    ("status", "number", "code"),
    [("interrupted", 2, 130), ("interrupted", 15, 143), ("out_of_budget", 0, 4), ("stopped", 0, 3)],
)
def test_a_study_that_stopped_before_anything_could_be_reported_says_so(
    status: RunStatus, number: int, code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    """The exit code is that of the stop, and not that of a mistake of the user's."""

    def came_to(file: Path, session: Session) -> int:
        del file, session
        raise UsageError("the model gave no answer")

    study = Study("proposal", StudyPlan(cast("Any", None), Path()), came_to)
    path = tmp_path / "01M7YPHZRR0000000000000000.db"
    stopped = Finished(path, Ending(status=status, message="it was stopped", signal=number))
    assert study.report(stopped, SESSION) == code
    printed = capsys.readouterr().err
    assert "the model gave no answer" in printed
    assert "it was stopped; evenhand resume" in printed
    with pytest.raises(UsageError, match="no answer"):
        study.report(Finished(path, Ending()), SESSION)

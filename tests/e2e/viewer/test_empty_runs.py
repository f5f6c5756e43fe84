"""A run without a case: each view says that there is nothing, and doesn't promise that something will come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.expect import Trial
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.testing import example


async def answers(trial: Trial) -> object:
    """Is never asked."""
    del trial
    return "yes"


@pytest.fixture
def empty(tmp_path: Path) -> tuple[Path, str]:
    """A home with such a run, and its id."""
    home = tmp_path / "home"
    return home, door.run(example(0, answers), Settings(home=home)).path.stem


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("matrix", "There was nothing to run."),
        ("charts", "This run has no results."),
        ("history", "Runs without results, and unfinished runs, aren't drawn."),
    ],
)
def test_a_finished_run_without_results_is_not_waited_for(
    empty: tuple[Path, str], serve: Any, watch: Any, view: str, words: str
):
    """No `yet`: the run is finished, and stays as it is."""
    home, run = empty
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.turn(run, view=view)
        seen.page.get_by_text(words).wait_for()
        assert " yet" not in seen.page.locator("#app").inner_text()
        seen.close()

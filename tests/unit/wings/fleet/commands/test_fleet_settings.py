"""How many workers a run is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli.run_request import Asked
from evenhand.cli.session import Session, settings_for
from evenhand.core.plan import Selection
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.wings.fleet.commands.fleet_settings import most_processes, with_fleet
from evenhand.wings.fleet.driver import Fleet


@pytest.mark.parametrize("trials", [1, 6, 300])
@pytest.mark.parametrize("workers", [1, 6, 7, 1000])
def test_no_more_workers_are_started_than_have_work_or_cpus(
    workers: int, trials: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """That a number was cut for want of CPUs is said."""
    config = tmp_path / "promptfooconfig.yaml"
    tests = ", ".join(f"{{vars: {{x: {number}}}}}" for number in range(trials))
    config.write_text(f"prompts: ['{{{{x}}}}']\nproviders: [echo]\ntests: [{tests}]\n", "utf-8")
    asked = Asked(paths=(str(config),), selection=Selection(), over=Overrides())
    session = Session(
        concurrency=None,
        max_cost=None,
        no_cache=True,
        time_limit=None,
        retries=None,
        workers=workers,
    )
    settings = with_fleet(asked, asked.plan(), settings_for(asked, session), session)
    assert isinstance(settings.elsewhere, Fleet)
    assert settings.elsewhere.workers == min(workers, trials, most_processes())
    said = capsys.readouterr().err
    assert ("workers are started, not 1,000: this machine has" in said) == (
        (workers, trials) == (1000, 300)
    )

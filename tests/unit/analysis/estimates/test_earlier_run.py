"""What a plan will ask and cost, going by an earlier run of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.estimates.earlier_run import precedent_of
from evenhand.core.expect import Trial
from evenhand.core.plan import Plan
from evenhand.core.wording.words import short_id
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.providers.prices import price_of
from evenhand.render.estimates import estimate_lines, estimate_row
from evenhand.testing import Scripted, example


def planned(count: int, *, model: Scripted | None = None, title: str = "triage") -> Plan:
    """A plan whose trials ask this model twice each."""

    async def body(trial: Trial) -> object:
        if model is None:
            return None
        for question in ("one", "two"):
            await trial.model(model, "subject").generate(f"{question} {trial.case.id}")
        return "done"

    return example(count, body, title=title)


def ran(
    home: Path,
    count: int,
    model: Scripted | None,
    asked: Mapping[str, Any] | None = None,
    **more: str,
) -> None:
    """A run of such a plan, as it was asked for."""
    request = {"asked": asked} if asked else {}
    door.run(planned(count, model=model, **more), Settings(home=home, cache=False, record=request))


def test_a_plan_goes_by_its_latest_run_scaled_to_its_trials(tmp_path: Path):
    """Two calls of $0.25 a trial are, for forty trials, eighty calls and $20."""
    ran(tmp_path, 4, Scripted(["x"] * 8, id="subject", cost_usd=0.25))
    precedent = precedent_of(planned(40), tmp_path)
    assert precedent is not None
    assert precedent.trials == 4
    (one,) = precedent.estimates
    assert (one.provider, one.role, one.calls, one.cost_usd) == ("subject", "subject", 80, 20.0)
    lines = "\n".join(estimate_lines(planned(40), [], "evals", precedent))
    assert f"going by run {short_id(precedent.run)} (4 trials):" in lines
    assert "80 calls" in lines
    assert "about $20.00" in lines
    row = estimate_row(planned(40), [], precedent)
    assert row["going_by"] == precedent.run
    assert row["calls"][0]["cost_bound_usd"] is None
    assert row["calls"][0]["cost_expected_usd"] == 20.0


def test_runs_of_another_plan_and_runs_that_settled_nothing_say_nothing(tmp_path: Path):
    """Another title, or no trial, is no precedent; a run without calls is one, and says so."""
    assert precedent_of(planned(4), tmp_path) is None
    ran(tmp_path, 2, Scripted(["x"] * 4, id="subject"), title="other")
    assert precedent_of(planned(4), tmp_path) is None
    (lines,) = [line for line in estimate_lines(planned(4), []) if "an eval asks" in line]
    assert "after that, check estimates from it" in lines
    ran(tmp_path, 2, None)
    precedent = precedent_of(planned(4), tmp_path)
    assert precedent is not None
    assert precedent.estimates == ()
    assert any(
        "recorded no calls" in line for line in estimate_lines(planned(4), [], "", precedent)
    )


def test_a_file_that_is_no_run_is_passed_over(tmp_path: Path):
    """The next one counts."""
    ran(tmp_path, 4, Scripted(["x"] * 8, id="subject", cost_usd=0.25))
    (tmp_path / "runs" / "99999999999999999999999999.db").write_text("not a database")
    precedent = precedent_of(planned(4), tmp_path)
    assert precedent is not None
    assert precedent.trials == 4


ASKED = {"offline": True, "names": "", "selection": {"first": None, "only": None, "seed": 7}}


def test_a_run_of_a_part_is_no_precedent_where_a_whole_one_is_there(tmp_path: Path):
    """The first of one eval asked nothing: how many calls the others make is known all the same."""
    ran(tmp_path, 4, Scripted(["x"] * 8, id="subject"), asked=ASKED)
    ran(tmp_path, 2, None, asked={**ASKED, "names": "other"})
    ran(tmp_path, 1, None, asked={**ASKED, "selection": {"first": 1}})
    precedent = precedent_of(planned(40), tmp_path)
    assert precedent is not None
    assert (precedent.trials, precedent.estimates[0].calls) == (4, 80)


def test_of_runs_of_parts_alone_the_one_with_most_trials_counts(tmp_path: Path):
    """It has seen most of what is asked."""
    for size in (1, 3, 2):
        chosen = {"selection": {"first": size}}
        ran(tmp_path, size, Scripted(["x"] * 8, id="subject"), asked=chosen)
    precedent = precedent_of(planned(40), tmp_path)
    assert precedent is not None
    assert precedent.trials == 3


def test_what_a_script_answered_is_priced_as_the_models(tmp_path: Path):
    """The documented way is to run offline first, and then to look what a model would cost."""
    ran(tmp_path, 4, Scripted(["x"] * 8, id="openai:chat:gpt-5-mini"), asked=ASKED)
    precedent = precedent_of(planned(40), tmp_path)
    assert precedent is not None
    (one,) = precedent.estimates
    price = price_of("openai", "gpt-5-mini", {})
    assert price is not None
    assert one.cost_usd is not None
    assert one.cost_usd == pytest.approx(
        (160 * price.usd_in) / 1e6
    )  # its replies count no tokens out
    lines = "\n".join(estimate_lines(planned(40), [], "", precedent))
    assert "(4 trials, replies scripted: a model's may be longer):" in lines
    assert "about $" in lines


def test_a_scripted_model_without_a_price_has_none(tmp_path: Path):
    """Nor has one at an address of its own, whatever it is called."""
    ran(tmp_path, 4, Scripted(["x"] * 8, id="openai:gpt-5-mini@http://localhost:80"), asked=ASKED)
    precedent = precedent_of(planned(40), tmp_path)
    assert precedent is not None
    assert precedent.estimates[0].cost_usd is None

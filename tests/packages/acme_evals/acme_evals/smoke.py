"""`evenhand smoke`: a study, which `evenhand resume` continues and ends as this command does."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from evenhand import Case, EvalSet, Expect, Model, Run
from evenhand.core.run import RunMeta
from evenhand.scorers import Contains
from evenhand.wings import Study, StudyPlan, begin_study, plan_of, say_json, study_options

KEY = "acme_smoke"


def study_with(model: str) -> Study:
    """The study of a model."""
    evals = EvalSet(
        "smoke", data=[Case("greeting", input="Hello"), Case("number", input="7")], model=model
    )

    @evals.eval
    async def repeats(case: Case, model: Model, expect: Expect) -> str:
        reply = await model.generate(f"Say this again: {case.input}")
        expect(reply.text, Contains(case.input))
        return reply.text

    def came_to(file: Path, session: Any) -> int:
        with Run.open(file) as run:
            passed = sum(row["passed"] is True for row in run.rows())
        if session.as_json:
            say_json({"schema": "acme.smoke/1", "model": model, "passed": passed, "of": 2})
        else:
            click.echo(f"{model}: {passed} of 2")
        return 0 if passed == 2 else 1

    plan = StudyPlan(lambda: plan_of([evals], env=os.environ), Path.cwd())
    return Study("smoke test", plan, came_to)


def study(meta: RunMeta, file: Path) -> Study | None:
    """The smoke test that an earlier session started."""
    del file
    record: Mapping[str, Any] = meta.settings[KEY]
    return study_with(record["model"])


@click.command()
@click.argument("model")
@study_options
def smoke(model: str, **options: Any) -> int:
    """Ask MODEL to repeat two words, and exit with 1 if it does not."""
    return begin_study(study_with(model), KEY, {"model": model}, options)

"""One function over cases, as a plan: what `score`, `score_batch` and `evenhand data` run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.core.case import Case
from evenhand.core.encoding import digest
from evenhand.core.errors import ConfigError, StoreError, UsageError
from evenhand.core.expect import VerdictRule, all_pass
from evenhand.core.plan import Body, Plan, Row, RunOptions, Sheet, Slot
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.models import EvalSetRoster, calls_recorded
from evenhand.scorers.judging import Judge
from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile


def only_column(title: str, *, model: str = "", cluster: str = "") -> Variant:
    """The one variant of a plan that is called so, and may measure a model."""
    return Variant(0, title, model, eval=title, cluster=cluster)


def case_plan(
    column: Variant,
    source: str,
    data: Sequence[Case],
    body: Body,
    identity: Sequence[bytes | str],
    models: EvalSetRoster,
    *,
    rule: VerdictRule = all_pass,
    config: Mapping[str, Any] | None = None,
    apart: Callable[[Case], tuple[Case, Body]] | None = None,
) -> Plan:
    """What happens to each case, as a plan.

    Args:
        column: The one variant; it is called like the plan.
        source: The file or folder beside which the run is kept; empty for the current folder.
        data: The cases; they are read as they are asked for.
        identity: What the cases say, and all else that decides what happens: a run is gone on with only where it is the
            same.
        config: For the record.
        apart: Takes from a case what is none of it, and says what happens to that; without it, `body` happens to all.
    """

    def rows() -> Iterator[Row]:
        for case in data:
            question, own = (case, body) if apart is None else apart(case)
            at = [Slot(variant=column, body=own)]
            # `at` is bound now: the loop has gone on by the time that slots are asked for.
            yield Row(
                cases=(question,),
                slots=lambda *_, at=at: at,
                rule=rule,
                judge=models.judge,
                models=models,
            )

    def named() -> list[Provider]:
        return [one for one in models.made if hasattr(one, "request")]  # not what a run has lent

    sheet = Sheet(
        variants=[column], rows=rows, case_count=len(data), size=len(data), providers=named
    )
    return Plan(
        title=column.eval,
        sheets=[sheet],
        identify=lambda: digest(column.eval, *identity),
        record=lambda: config or {},
        source=source,
        options=RunOptions(retries=models.project.retries, around=calls_recorded),
    )


def models_for(
    source: Path, *, judge: Judge | None = None, model: str | Provider | None = None
) -> EvalSetRoster:
    """The models that are named, as a set beside this file, or in this folder, would find them.

    Raises:
        ConfigError: All that is wrong with the names.
    """
    evals = EvalSet("models", judge=cast("Any", judge), model=model)
    # Where a wrong name stands, where no file says it.
    option = "judge" if model is None else "model"
    evals.path, evals.line = (source / option if source.is_dir() else source), 0
    models = EvalSetRoster(evals, os.environ)
    if models.problems:
        raise ConfigError(models.problems)
    return models


def look_for_key(models: EvalSetRoster, model: object) -> None:
    """Looks whether a model can be asked, before a run is begun.

    Raises:
        UsageError: It lacks its key.
    """
    lacking = models.keyless(model)
    if lacking is not None:
        raise UsageError(lacking[0], hint=lacking[1])


def begun(home: Path, fingerprint: str, *, errors: bool = True) -> Path | None:
    """The latest run of a plan, where it did not finish, and nobody is writing it; else None.

    One whose cases were to be written to a file, and weren't, has not finished.

    Args:
        errors: One that finished with errors counts as well: they are tried again.
    """
    for path in paths(home):
        try:
            with RunFile.open(path) as run:
                if run.meta.fingerprint != fingerprint:
                    continue
                finished = run.meta.status == "finished" and not (errors and run.totals().errors)
                return None if run.alive or (finished and not unwritten(run)) else path
        except StoreError:
            continue
    return None


UNWRITTEN = "to"
"""The key of a run's config that says to which file its cases are written in the end. A note says that they were."""


def unwritten(run: RunFile) -> bool:
    """Whether a run ended before its cases were in the file that they were asked for."""
    finished = run.meta.status == "finished"
    return finished and UNWRITTEN in run.meta.config and not run.remarks.note

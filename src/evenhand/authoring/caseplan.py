"""One function over cases, as a plan: what `score`, `score_batch` and `evenhand dataset` run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.authoring.evalset import EvalSet
from evenhand.authoring.models import Models
from evenhand.core.case import Case
from evenhand.core.encoding import digest
from evenhand.core.errors import ConfigError, Problem, StoreError
from evenhand.core.expect import VerdictRule, all_pass
from evenhand.core.plan import Body, CallEstimate, RunOptions, Step
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant
from evenhand.scorers.judging import Judge
from evenhand.store.catalogue import paths
from evenhand.store.runfile import RunFile


@dataclass(frozen=True, slots=True)
class CasePlan:
    """What happens to each case. Implements `evenhand.core.plan.Plan`.

    Attributes:
        title: For reports.
        source: The file or folder beside which the run is kept; empty for the current folder.
        data: The cases.
        body: What happens.
        says: What the cases say, and all else that decides what happens: a run is gone on with only where it is the
            same.
        models: Who is asked.
        model: The label of the model that is measured; empty for none.
        rule: How outcomes become a verdict.
        config: For the record.
    """

    title: str
    source: str
    data: Sequence[Case]
    body: Body
    says: Sequence[bytes | str]
    models: Models
    model: str = ""
    rule: VerdictRule = all_pass
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hints: Sequence[Problem] = ()
    repeats: int = 1

    @property
    def options(self) -> RunOptions:
        """How it wants to be run: as the project says."""
        return RunOptions(retries=self.models.project.retries)

    @property
    def fingerprint(self) -> str:
        """A hash of the cases and of all that decides what happens to them."""
        return digest(self.title, *self.says)

    @property
    def size(self) -> int:
        """One trial for each case."""
        return len(self.data)

    @property
    def case_count(self) -> int:
        """How many cases."""
        return len(self.data)

    @property
    def variants(self) -> Sequence[Variant]:
        """A single column."""
        return (Variant(0, self.title, self.model, eval=self.title),)

    @property
    def providers(self) -> Sequence[Provider]:
        """The models that are named."""
        named = {
            id(one): one for one in self.models.made if hasattr(one, "request")
        }  # not what a run has lent
        return list(named.values())

    def steps(self) -> Iterator[Step]:
        """The trials, read with their cases as they are asked for."""
        (variant,) = self.variants
        for index, case in enumerate(self.data):
            yield Step(
                index,
                case,
                variant,
                0,
                self.body,
                rule=self.rule,
                judge=self.models.judge,
                models=self.models,
            )

    def estimate(self) -> Sequence[CallEstimate]:
        """Nothing: what is asked is known when it has been."""
        return ()


def models_for(
    source: Path, *, judge: Judge | None = None, model: str | Provider | None = None
) -> Models:
    """The models that are named, as a set beside this file, or in this folder, would find them.

    Raises:
        ConfigError: All that is wrong with the names.
    """
    evals = EvalSet("models", judge=cast("Any", judge), model=model)
    said = "judge" if model is None else "model"  # where a wrong name stands, where no file says it
    evals.path, evals.line = (source / said if source.is_dir() else source), 0
    models = Models(evals, os.environ)
    if models.problems:
        raise ConfigError(models.problems)
    return models


def begun(home: Path, fingerprint: str, *, errors: bool = True) -> Path | None:
    """The latest run of a plan, where it did not finish, and nobody is writing it; else None.

    Args:
        errors: One that finished with errors counts as well: they are tried again.
    """
    for path in paths(home):
        try:
            with RunFile.open(path) as run:
                if run.meta.fingerprint != fingerprint:
                    continue
                done = run.meta.status == "finished" and not (errors and run.totals().errors)
                return None if done or run.alive else path
        except StoreError:
            continue
    return None

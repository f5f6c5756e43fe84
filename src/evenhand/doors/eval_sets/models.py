"""The models of an eval set: those it names, who judges where its scorers name nobody, and what its own code asks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import cast

from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.provider import Provider
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.languages.documents.project import Project, project_for
from evenhand.providers.roster import JUDGE_VARIABLE, Roster, default_judge


class EvalSetRoster(Roster):
    """The roster of an eval set.

    Attributes:
        problems: What is wrong with the names, and with the project's table.
        judge: Who judges, for scorers that name nobody; None where nobody is named, or the name is wrong.
        judged: Whether anybody is named to judge.
    """

    def __init__(self, evals: EvalSet, env: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        base = evals.path.parent
        try:
            project, readable = project_for(base), True
        except ConfigError as error:
            self.problems += error.problems
            project, readable = Project(), False
        super().__init__(base, env, project=project)
        place = (str(evals.path), evals.line)
        for model in evals.over.get("model", [evals.model]):
            self._note(model, *place)
        self.judged = evals.judge is not None or not readable
        self.judge: Provider | None = None
        if evals.judge is not None:
            self.judge = self._note(evals.judge, *place)
        elif readable:
            self._find_judge()

    @property
    def made(self) -> list[Provider]:
        """All that were made so far; and the judge, where it is a provider of the user's own."""
        models = super().made
        own = self.judge is not None and all(self.judge is not one for one in models)
        return [*models, cast("Provider", self.judge)] if own else models

    def _note(self, model: object, path: str, line: int) -> Provider | None:
        try:
            return self.of(model)
        except UsageError as error:
            self.problems.append(Problem(path, line, 0, error.message, error.hint))
            return None

    def _find_judge(self) -> None:
        chosen = default_judge("", "", self.project, self.env)
        self.judged = bool(chosen.id)
        try:
            self.judge = self.judge_of(chosen)
        except UsageError as error:
            where = chosen.path or JUDGE_VARIABLE
            self.problems.append(Problem(where, chosen.line, 0, error.message, error.hint))


def calls_recorded(*, strict: bool = False) -> AbstractContextManager[object]:
    """Inside, the model calls of the whole process are recorded in trials; see `recording.install`."""
    from evenhand.doors.recording.installing import recorded  # noqa: PLC0415 (the engine, not wanted before)

    return recorded(strict=strict)

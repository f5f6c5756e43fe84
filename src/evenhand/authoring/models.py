"""The models of a set: those that it names, those that its scorers name, and who judges where nobody is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from evenhand.authoring.evalset import EvalSet
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.provider import Provider
from evenhand.documents.project import Project, judge_for, project_for
from evenhand.providers.catalog import create, key_missing, timed
from evenhand.providers.keys import NO_KEY, set_key


class Models:
    """The models that a set names, each made once.

    Who judges is said by the set; else by its project, `[tool.evenhand]` in pyproject.toml; else by EVENHAND_JUDGE.

    Attributes:
        problems: What is wrong with the names.
        judge: Who judges, for scorers that name nobody; None where nobody is named, or the name is wrong.
        judged: Whether anybody is named to judge.
        project: What the set's project says.
    """

    def __init__(self, evals: EvalSet, env: Mapping[str, str]) -> None:
        self._env = env
        self._base = evals.path.parent
        self.project = Project()
        self._made: dict[str, Provider] = {}
        self.problems: list[Problem] = []
        place = (str(evals.path), evals.line)
        try:
            self.project = project_for(self._base)
        except ConfigError as error:
            self.problems += error.problems
        for given in evals.over.get("model", [evals.model]):
            self._note(given, *place)
        self.judge: Provider | None = None
        self.judged = evals.judge is not None
        if self.judged:
            self.judge = self._note(evals.judge, *place)
        else:
            self._find_judge()

    def __call__(self, id: str) -> Provider:  # noqa: A002 (the word that users write)
        """The model with this id, the same one each time.

        Raises:
            UsageError: Nobody knows it.
        """
        if id not in self._made:
            self._made[id] = self._create(id, self._base)
        return self._made[id]

    def of(self, given: object) -> Provider | None:
        """The model of this id; or the user's own provider, as it is."""
        return self(given) if isinstance(given, str) else cast("Provider | None", given)

    def wrong(self, id: str) -> UsageError | None:  # noqa: A002 (see above)
        """What is wrong with an id; None for one that somebody knows."""
        try:
            self(id)
        except UsageError as error:
            return error
        return None

    def keyless(self, given: object) -> tuple[str, str] | None:
        """What to say, and to do, of a model that cannot be asked for want of a key; None for one that can.

        Args:
            given: Its id, or a provider; None, and what nobody knows, lack no key.
        """
        if isinstance(given, str):
            given = None if self.wrong(given) else self(given)
        key = key_missing(cast("Provider", given)) if given is not None else ""
        if not key:
            return None
        return NO_KEY.format(cast("Provider", given).id), set_key(key)

    @property
    def made(self) -> Sequence[Provider]:
        """All that were made so far, and the judge."""
        own = [self.judge] if self.judge is not None else []
        return [*self._made.values(), *own]

    def _note(self, given: object, path: str, line: int) -> Provider | None:
        try:
            return self.of(given)
        except UsageError as error:
            self.problems.append(Problem(path, line, 0, error.message, error.hint))
            return None

    def _create(self, id: str, base: Path) -> Provider:  # noqa: A002 (see above)
        config = timed(id, self.project.timeout_s)
        return create(id, config=config, env=self._env, base=base)

    def _find_judge(self) -> None:
        try:
            named = judge_for(self._base, self._env)
        except ConfigError:  # told already
            self.judged = True  # by words that cannot be read
            return
        if named is None:
            return
        self.judged = True
        try:
            base = Path(named.path).parent if named.path else self._base
            self.judge = self._create(named.id, base)
        except UsageError as error:
            where = named.path or "EVENHAND_JUDGE"
            self.problems.append(Problem(where, named.line, 0, error.message, error.hint))

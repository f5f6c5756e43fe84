"""Plans that lack keys: what they would cost is known without any, and so is a gate whose trials an earlier run knows.

How this works: a plan is made once more with keys that open nothing. Providers never send such a key: whoever asks one
of them gets an AuthError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import ConfigError
from evenhand.core.record import MutableRecord

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.core.errors import Problem
    from evenhand.core.plan import Plan

_DEFAULT = "openai:"
"""Whose key gives a default model for every task that has one."""


class KeysLent(MutableRecord):
    """What a gate is asked to run: where only keys are missing, it may come from the baseline all the same.

    Attributes:
        lends: Whether missing keys are lent; they are problems otherwise.
        lacking: The keys that the plan was lent, once there is one.
    """

    asked: Asked
    lends: bool = True
    lacking: Sequence[Problem] = ()

    @property
    def offline(self) -> bool:
        """Models answer, or nobody does: a script needs no keys."""
        return False

    @property
    def definitions(self) -> str:
        return self.asked.definitions

    @property
    def folder(self) -> Path:
        """Where offline.jsonl would be."""
        return self.asked.folder

    def plan(self) -> Plan:
        """The plan. Its problems don't name --offline: a baseline of models is not compared with a script."""
        if self.lends:
            try:
                plan, self.lacking = plan_without_keys(
                    self.asked, offline_helps=False, on_import=False
                )
            except ConfigError:
                self.lends = False  # more is wrong than missing keys
            else:
                return plan
        return self.asked.plan(offline_helps=False)


def plan_without_keys(
    request: Asked, *, prepare: bool = True, offline_helps: bool = True, on_import: bool = True
) -> tuple[Plan, Sequence[Problem]]:
    """The plan, and the keys that it lacks and was lent.

    Args:
        prepare: As for `Asked.plan`.
        offline_helps: As for `Asked.plan`.
        on_import: Whether files that want a key when they are imported get one. Their clients would go on sending it.

    Raises:
        ConfigError: Something other than keys is wrong.
    """
    from evenhand.providers.catalog import KEYS
    from evenhand.providers.leading import lent_keys
    from evenhand.providers.missing_keys import key_on_import, model_without_key, nobody_named

    try:
        plan = request.plan(prepare=prepare, offline_helps=offline_helps)
        problems, hints = plan.broken, plan.hints
    except ConfigError as error:
        plan, problems, hints = None, error.problems, error.hints
    if plan is not None and not problems:
        return plan, ()
    nobody = [str(problem) for problem in problems if nobody_named(problem)]
    others = [problem for problem in problems if str(problem) not in nobody]
    # Something other than keys is wrong as well: that would make any estimate a wrong one.
    if not all(model_without_key(one) or (on_import and key_on_import(one)) for one in others):
        raise ConfigError(problems, hints)
    models = [*filter(None, map(model_without_key, others))]
    if any(map(key_on_import, others)):
        models += (f"{scheme}:" for scheme in KEYS)
    # Keys that open nothing, so that providers can be made and priced. A default judge may need one more.
    broken: Sequence[Problem] = ()
    for lent in (models, [*models, _DEFAULT]) if nobody else (models,):
        with lent_keys(lent):
            try:
                plan = request.plan(prepare=prepare, offline_helps=offline_helps)
                broken = plan.broken
            except ConfigError as error:
                plan, broken = None, error.problems
        if plan is not None and not broken:
            if lent is models:  # the same keys give the models that nobody names, as the hints say
                return plan, others
            # What a lent key made of those would be told beside what to do about them.
            plan.hints = hints
            return plan, [_by_default(one) if str(one) in nobody else one for one in problems]
    known = set(map(str, problems))
    more = [problem for problem in broken if str(problem) not in known]
    raise ConfigError((*problems, *more), hints)


def _by_default(problem: Problem) -> Problem:
    """That a model is wanted where nobody is named, with what a key would change."""
    role = "judge" if problem.what.endswith("to judge") else "model"
    return replace(
        problem,
        what=f"{problem.what}: no key, so no default {role} yet",
        hint=f"A key gives one. Or n{problem.hint.removeprefix('N')}",
    )

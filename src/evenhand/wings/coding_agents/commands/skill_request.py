"""What `evenhand prompt skill` is asked to do: kept in its run's file, so that `resume` continues the same run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evenhand.cli.study import kept_of
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta

AGAIN = "Run `evenhand prompt skill` again: answers that the cache has are not paid for twice."


class SkillRequest(Record, frozen=True, kw_only=True):
    """A skill's evals. Implements `evenhand.cli.run_and_report.Request`.

    Attributes:
        skill: The skill's folder, absolute.
        model: The model that does the tasks; empty for an agent.
        agent: The agent's command, whose paths are absolute; empty for a model.
        judge: Who judges; empty for the default.
        repeats: How often each task is done.
        offline: Replies come from the folder's offline.jsonl.
    """

    skill: str
    model: str
    agent: str
    judge: str
    repeats: int
    offline: bool

    @staticmethod
    def of(
        folder: Path, model: str, agent: str, judge: str, repeats: int, *, offline: bool
    ) -> SkillRequest:
        """What the command says.

        Raises:
            UsageError: There is no such agent.
        """
        from evenhand.wings.coding_agents.skills.plan import agent_command

        command = shlex.join(agent_command(agent)) if agent else ""
        return SkillRequest(
            skill=str(folder.absolute()),
            model=model,
            agent=command,
            judge=judge,
            repeats=repeats,
            offline=offline,
        )

    @staticmethod
    def again(meta: RunMeta) -> SkillRequest:
        """What an earlier session was asked.

        Raises:
            UsageError: The record is damaged.
        """
        return kept_of(meta, "skill", SkillRequest, f"run {meta.id}", AGAIN)

    @property
    def folder(self) -> Path:
        """The skill's."""
        return Path(self.skill)

    @property
    def definitions(self) -> str:
        """Whose definitions of RAG metrics: ours."""
        return ""

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        return {"skill": msgspec.to_builtins(self)}

    def plan(self) -> Plan:
        """The plan.

        Raises:
            UsageError: The skill cannot be read, or nobody can answer or judge.
            ConfigError: All that is wrong with its evals.
        """
        from evenhand.wings.coding_agents.skills.plan import skill_plan
        from evenhand.wings.coding_agents.skills.reading import read_skill

        return skill_plan(
            read_skill(self.folder),
            model=self.model,
            agent=self.agent,
            judge=self.judge,
            repeats=self.repeats,
            env=os.environ,
        )

"""`evenhand prompt skill`: a skill's evals, with the skill and without it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.options import flag, number_option, text_option
from evenhand.cli.run_and_report import settled
from evenhand.cli.session import Session, study_settings
from evenhand.cli.streams import printing, say_json, tell
from evenhand.cli.study import Study, ended, kept_of, study_options
from evenhand.core.errors import UsageError
from evenhand.core.ranges import REPEATS
from evenhand.core.record import Record
from evenhand.core.wording.words import count, put, short_id
from evenhand.render.comparing import Comparison, compare
from evenhand.render.run import Run
from evenhand.store.run_lookup import home_for
from evenhand.wings.coding_agents.skills.plan import WITH, WITHOUT, agent_command, skill_plan
from evenhand.wings.coding_agents.skills.reading import read_skill

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta, Totals


@click.command(short_help="Say whether a skill helps: its evals with and without it.")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@text_option(
    "--agent",
    metavar="COMMAND",
    help="The agent that does the tasks: a program that gets the prompt as its last argument.",
)
@text_option("--model", metavar="ID", help="Ask a model instead, with SKILL.md or without.")
@text_option("--judge", metavar="ID", help="The model that checks the answers.")
@number_option(
    "--repeat",
    within=REPEATS,
    default=3,
    show_default=True,
    metavar="N",
    help="Do each task N times.",
)
@flag("--offline", help="Take replies from the folder's offline.jsonl.")
@study_options
def skill(
    folder: Path, agent: str, model: str, judge: str, repeat: float, offline: bool, **options: Any
) -> int:
    """Do the tasks in DIR/evals/evals.json with the skill and without it, and say whether it helps.

    An agent works in a new folder for each task, which holds the task's files and, with the skill, .claude/skills and
    .agents/skills. A judge checks each assertion. The effect is paired by task, with a 95 % interval.

    Exits with 0 if the skill helps or makes no detectable difference, 1 if it hurts, and 3 if that is undecided.
    """
    session = Session.of(options)
    request = SkillRequest.of(folder, model, agent, judge, int(repeat), offline=offline)
    home = home_for(Path.cwd() / "skill")  # not in the skill's folder, which is shipped
    settings = study_settings(home, session, request.record())
    finished, _ = settled(request, settings, None, session)
    code = report_skill(finished.path, as_json=session.as_json)
    return ended(finished, code, "run of the skill")


def report_skill(file: Path, *, as_json: bool) -> int:
    """Prints what difference a skill makes, and returns the exit code."""
    with Run.open(file) as run:
        effect = effect_of(run)
        _print(effect, run.meta.id, run.totals(), as_json=as_json)
    return {"hurts": FAILED, "undecided": NO_VERDICT}.get(effect.word, PASSED)


def _print(effect: SkillEffect, run: str, totals: Totals, *, as_json: bool) -> None:

    if as_json:
        say_json({"run": run, **effect.document()})
        return
    with printing():
        put(sys.stdout, f"the skill: {effect.word}, over {count(effect.tasks, 'task')}\n\n")
        put(sys.stdout, f"{effect.comparison}\n")
        if effect.others is not None:
            put(sys.stdout, f"\n{effect.others}\n")
    name, bad = short_id(run), {"fail": totals.failed, "error": totals.errors}
    statuses = ",".join(status for status, number in bad.items() if number)
    first = f"evenhand show {name} --where status:{statuses}, or " if statuses else ""
    tell(f"next: {first}evenhand view {name}")


def study(meta: RunMeta, file: Path) -> Study | None:
    """The evals of a skill that an earlier session started; None where its record says nothing of how."""
    del file
    if not isinstance(meta.settings["skill"], Mapping):
        return None

    def came_to(file: Path, session: Session) -> int:
        return report_skill(file, as_json=session.as_json)

    return Study("run of the skill", SkillRequest.again(meta), came_to)


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
        return skill_plan(
            read_skill(self.folder),
            model=self.model,
            agent=self.agent,
            judge=self.judge,
            repeats=self.repeats,
            env=os.environ,
        )


Word = Literal["helps", "hurts", "no detectable difference", "undecided"]
DECIDES = "passed"
"""Whether all checks of a task passed: the one metric that the word goes by, so that few tasks can show something."""
_SHOWN = ("score", "cost", "latency")
_WORDS: Mapping[str, Word] = {"better": "helps", "worse": "hurts", "undecided": "undecided"}


class SkillEffect(Record, frozen=True):
    """A skill's effect.

    Attributes:
        comparison: With against without: how often all checks passed.
        others: The same for the share of checks, cost and latency, as far as they are known; None where none is.
        tasks: How many tasks there are.
    """

    word: Word
    comparison: Comparison
    others: Comparison | None
    tasks: int

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "schema": "evenhand.skill/1",
            "verdict": self.word,
            "tasks": self.tasks,
            "comparison": self.comparison.document(),
            "others": self.others.document() if self.others is not None else None,
        }


def effect_of(run: Run) -> SkillEffect:
    """The effect of the skill of a run that `skill_plan` planned.

    Raises:
        UsageError: No task has a result with the skill and without it.
    """
    before, after = (run.column(name) for name in (WITHOUT, WITH))
    comparison = compare(before, after, metric=DECIDES)
    known: list[str] = []
    for metric in _SHOWN:
        with suppress(UsageError):  # neither has it
            known += [one.metric for one in compare(before, after, metric=metric).results if one.n]
    others = compare(before, after, metric=known) if known else None
    return SkillEffect(
        word_of(comparison.results[0].verdict), comparison, others, run.meta.case_count
    )


def word_of(verdict: str) -> Word:
    """What a verdict on with against without says of the skill."""
    return _WORDS.get(verdict, "no detectable difference")

"""A skill's evals as an eval set: each task with the skill and without it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.message import Message, Model, Prompt
from evenhand.core.plan import Plan
from evenhand.core.program_output import complaint_of
from evenhand.core.scratch import ScratchFolder
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.expect import Expect
from evenhand.doors.eval_sets.models import EvalSetRoster
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.scorers.passes import Passes
from evenhand.wings.coding_agents.skills.reading import Skill, SkillEval, files_of

WITHOUT, WITH = "without", "with"
FOLDERS = (".claude/skills", ".agents/skills")
"""Where agents look for the skills of a project."""
_MOST = 20_000
_TOLD = "You have this skill. Use it where it applies.\n\n<skill name={name!r}>\n{text}\n</skill>"


def skill_plan(
    skill: Skill, *, model: str, agent: str, judge: str, repeats: int, env: Mapping[str, str]
) -> Plan:
    """The plan: tasks × with and without × repeats.

    Args:
        model: The model that answers; empty for an agent.
        agent: The command of an agent, which gets the prompt as its last argument; empty for a model.
        judge: Who judges; empty for the default.
        repeats: How often each is asked.
        env: The environment: keys and addresses.

    Raises:
        UsageError: Nobody is named to answer, no judge can be asked, or a file can only be given to an agent.
    """
    if bool(model) == bool(agent):
        raise UsageError(
            "name who does the tasks: a model or an agent",
            hint="--agent 'claude -p' runs a program in a folder with the skill; --model ID gives a model the text of"
            " SKILL.md.",
        )
    tasks = {one.id: one for one in skill.evals}
    texts = {} if agent else {one.id: _attached(one, skill) for one in skill.evals}
    cases = [
        Case(one.id, input=one.prompt, expected=list(one.checks), metadata={"skill": skill.digest})
        for one in skill.evals
    ]
    evals = EvalSet(
        f"skill {skill.name}",
        data=Dataset(cases),
        model=model or None,
        judge=judge or None,
        over={"skill": [WITHOUT, WITH]},
        repeats=repeats,
    )

    if agent:
        command = agent_command(agent)

        @evals.eval
        async def does_the_task(case: Case, skill: str, expect: Expect) -> None:
            _check(expect, tasks[case.id], await _done(command, tasks[case.id], given(skill)))
    else:

        @evals.eval
        async def answers(case: Case, skill: str, model: Model, expect: Expect) -> None:
            lesson = given(skill)
            text = _TOLD.format(name=lesson.name, text=lesson.text) if lesson else ""
            messages = [Message("system", text)] if text else []
            messages.append(Message("user", texts[case.id]))
            reply = await model.generate(Prompt(tuple(messages), texts[case.id]))
            _check(expect, tasks[case.id], reply.text)

    def given(variant: str) -> Skill | None:
        return skill if variant == WITH else None

    plan = plan_of([evals], env=env, source=str(skill.folder), title=f"skill {skill.name}")
    _need_judge(EvalSetRoster(evals, env))
    return plan


def _need_judge(models: EvalSetRoster) -> None:
    """Looks whether somebody can judge: every task is judged, and the agent is paid before that."""
    if models.judge is None:
        raise UsageError(
            "a judge checks the answers, and no judge is named",
            hint="Name one: --judge anthropic:claude-sonnet-4-5, or the variable EVENHAND_JUDGE.",
        )
    if (keyless := models.keyless(models.judge)) is not None:
        what, remedy = keyless
        raise UsageError(
            f"a judge checks the answers, and {what}",
            hint=f"{remedy} Or name another judge with --judge.",
        )


def _check(expect: Expect, task: SkillEval, output: str) -> None:
    for sentence in task.checks:
        expect(output, Passes(sentence, context=f"The task was:\n{task.prompt}"))


def agent_command(command: str) -> list[str]:
    """The words of a command. Paths start from here, as the program is started elsewhere.

    Raises:
        UsageError: A quote is not closed, or there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--agent {command!r:.200}: {error}") from error
    executable = shutil.which(words[0]) if words else None
    if executable is None:
        raise UsageError(
            f"--agent: there is no program {words[0] if words else ''!r}",
            hint="Write it as in a shell; it gets the prompt as its last argument.",
        )
    program = words[0] if Path(executable).is_absolute() else str(Path(executable).absolute())
    return [program, *(_from_here(word) for word in words[1:])]


def _from_here(word: str) -> str:
    """An argument that names a file here, or a folder written with a slash, as a whole path; also `--config=FILE`."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    path = Path(value)  # a lone word may be a subcommand that is called like a folder
    is_path = bool(value) and (path.is_file() or ("/" in value and path.is_dir()))
    return f"{option}{equals}{path.absolute()}" if is_path else word


def _attached(task: SkillEval, skill: Skill) -> str:
    """A prompt with the texts of its files."""
    parts = [task.prompt]
    for path in task.files:
        name = path.relative_to(skill.folder).as_posix()
        try:
            parts.append(f"<file name={name!r}>\n{path.read_text('utf-8')}\n</file>")
        except ValueError as error:
            raise UsageError(
                f"eval {task.id}: {name} is not a text, and a model is given texts only",
                hint="Name an agent: --agent 'claude -p'.",
            ) from error
    return "\n\n".join(parts)


async def _done(command: list[str], task: SkillEval, skill: Skill | None) -> str:
    """Has an agent do a task in a folder of its own; what it printed, and the files that it wrote."""
    with ScratchFolder("skill") as name:
        folder = Path(name)
        for path in task.files:
            shutil.copy(path, folder / path.name)
        if skill is not None:
            for place in FOLDERS:
                for path in files_of(skill.folder):
                    to = folder / place / skill.name / path.relative_to(skill.folder)
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, to)
        process = await asyncio.create_subprocess_exec(
            *command,
            task.prompt,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await process.communicate()
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it started
        if process.returncode:
            code = process.returncode
            raise CodeError(f"the agent ended with exit code {code}: {complaint_of(err)}")
        return "\n\n".join([out.decode("utf-8", "replace").strip(), *_written(folder, task)])


def _written(folder: Path, task: SkillEval) -> list[str]:
    """The files that an agent wrote or changed, for the judge; of those that are no short text, the name."""
    before = {path.name: path.read_bytes() for path in task.files}
    parts: list[str] = []
    for path in files_of(folder):
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        if before.get(name) == data:
            continue
        try:
            text = data.decode() if len(data) <= _MOST else f"({len(data):,} bytes)"
        except ValueError:
            text = f"({len(data):,} bytes, not text)"
        parts.append(f"<file name={name!r}>\n{text}\n</file>")
    return parts

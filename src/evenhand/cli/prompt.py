"""`evenhand prompt …`: a repository of prompts, from the first draft to the skill."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.completing import complete_prompts
from evenhand.cli.exits import FAILED, PASSED
from evenhand.cli.options import flag, text_option
from evenhand.cli.prompt_inspection import (
    command_here,
    doctor,
    library_here,
    list_,
    log,
    plain,
    prompt_named,
    render,
    say,
    send,
    show,
    start,
)
from evenhand.cli.streams import tell
from evenhand.cli.verbs import WingGroup
from evenhand.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.prompt import PromptFolder, Status


@click.group(
    cls=WingGroup, short_help="Manage prompt directories: render, send, promote, list, doctor."
)
@click.option(
    "-C",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="The repository, or a folder in it.  [default: the current folder]",
)
@click.pass_context
def prompt(context: click.Context, root: Path | None) -> None:
    """Manage prompt directories (prompts/ID), each with its cases, hooks and evidence.

    Their cases are run by `evenhand run prompts/ID`.
    """
    context.obj = root


@prompt.command(short_help="Create a draft prompt.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@text_option("--from", "source", metavar="ID", help="Start from a copy of this prompt.")
def new(id_: str, source: str) -> int:
    """Create prompts/ID with metadata, a template, an example and an eval. Never overwrites a prompt."""
    from evenhand.doors.prompt_directories.library import Library, library_of
    from evenhand.doors.prompt_directories.new_prompts import new as make

    try:
        library = library_of(start())
    except UsageError:  # the first one
        library = Library(start().absolute())
    folder = make(library, id_, source)
    say(f"  {os.path.relpath(folder)}\n\nnext: {command_here()} edit {shlex.quote(id_)}")
    return PASSED


@prompt.command(short_help="Open a prompt in your editor.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@click.option(
    "--file",
    "name",
    type=click.Choice(["prompt.xml", "meta.yml", "eval.yml", "guard.sh", "verify.sh", "aliases"]),
    default="prompt.xml",
    show_default=True,
    metavar="NAME",
    help="Which of its files: meta.yml, eval.yml, guard.sh, verify.sh or aliases.",
)
def edit(id_: str, name: str) -> int:
    """Open a file of a prompt in $VISUAL or $EDITOR. If the file changed, `updated` becomes today's date."""
    import subprocess

    from evenhand.doors.prompt_directories.new_prompts import bumped

    path = library_here().folder(id_) / name
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    before = path.read_bytes() if path.is_file() else b""
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603 (the user's editor)
    except (OSError, ValueError) as error:
        raise UsageError(f"{editor!r} cannot be run: {error}", hint="Set EDITOR.") from None
    if code:
        tell(f"{editor} ended with code {code}")
        return FAILED
    after = path.read_bytes() if path.is_file() else b""
    # An editor that was left without a change must not make a new version.
    if after != before:
        bumped(prompt_named(id_))
    return PASSED


@prompt.command(short_help="Promote a prompt if its evidence is sufficient.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@flag("--force", help="Promote even if evidence is missing. Needs --reason.")
@text_option("--reason", metavar="TEXT", help="Why; kept in .promotions.jsonl.")
def promote(id_: str, *, force: bool, reason: str) -> int:
    """Promote a prompt (draft → tested → ready) if its evidence is sufficient; otherwise list what is missing."""
    from evenhand.core.wording.words import count, near
    from evenhand.doors.prompt_directories.promotion import promote as promote_it

    folder = prompt_named(id_)
    done = promote_it(folder, force=force, reason=reason)
    for gate in done.gates:
        past = "forced past: " if done.done and not gate.met else ""
        tell(f"{past}{gate}")
    if not done.done:
        tell(
            f"{id_} stays {folder.meta.status}: {count(len(done.missing), 'gate')} to {done.target} not met"
        )
        # `show` says of the other gates what they count.
        uses = any(gate.name == "uses" and not gate.met for gate in done.gates)
        path = shlex.quote(near(folder.path))
        tell(f"next: {_next_send(folder, done.target)}" if uses else f"next: evenhand run {path}")
        return FAILED
    say(f"{id_}: {folder.meta.status} → {done.target}")
    return PASSED


def _next_send(folder: PromptFolder, target: Status) -> str:
    """The send that counts next: of a case whose text doesn't count yet, or else with another input."""
    from evenhand.core.wording.words import near
    from evenhand.doors.prompt_directories.eval_yml import read_eval
    from evenhand.doors.prompt_directories.hooks import is_hook
    from evenhand.doors.prompt_directories.library import VERIFY
    from evenhand.doors.prompt_directories.promotion_rules import evidence_of, sends
    from evenhand.languages.documents.findings import Findings

    evidence = evidence_of(folder)
    send = f"evenhand prompt send {folder.id}"
    if not evidence.constant:
        suite = read_eval(folder, Findings(), with_inputs=False)
        cases = [*(case.name for case in (suite.cases if suite else ())), *folder.examples()]
        counted = {row.get("case") or "" for row in sends(folder, target, evidence).rows}
        needed = any(one.required and one.default is None for one in folder.meta.inputs)
        left = [name for name in ([] if needed else [""]) + cases if name not in counted]
        if left:
            send += f" --case {shlex.quote(left[0])}" if left[0] else ""
        else:
            case = f" --case {shlex.quote(cases[0])}" if needed and cases else ""
            send += f"{case} --var NAME=VALUE, with inputs that were not sent yet"
    verified = target == "ready" and folder.meta.promotion.require_verified
    if verified and not is_hook(folder.path / VERIFY):
        return (
            f"write {shlex.quote(near(folder.path / VERIFY))}, which a send must pass; then {send}"
        )
    return send


@prompt.command(short_help="Update the prompt list in the README and the shell aliases.")
@click.option(
    "--shell",
    default="aliases.sh",
    show_default=True,
    metavar="FILE",
    help="The file for the shell aliases.",
)
def index(shell: str) -> int:
    """Update the list of prompts in README.md and the aliases in a shell file. Only text between marks is changed."""
    from evenhand.doors.prompt_directories.index import index as write

    for line in write(library_here(), shell):
        tell(line)
    return PASSED


@prompt.command(short_help="Write a static site of all prompts with their evidence.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("site"),
    show_default=True,
    metavar="FOLDER",
    help="The folder to write to.",
)
def site(out: Path) -> int:
    """Write a static site: an index, and for each prompt a page with its text, its gates and its evidence.

    Each page is one file without scripts that loads nothing. Written again without a change, it is the same.
    """
    from evenhand.doors.prompt_directories.site import build

    messages = build(library_here(), out)
    for line in messages:
        tell(line)
    say(str(out / "index.html"))
    return PASSED


@prompt.command(name="export-skill", short_help="Export a ready prompt as a skill.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@flag("--force", help="Export it even if it isn't ready or isn't shaped like a skill.")
def export_skill(id_: str, *, force: bool) -> int:
    """Export a ready prompt as dist/skills/ID/SKILL.md. Replaces that folder."""
    from evenhand.doors.prompt_directories.skill import export

    try:
        path, notes = export(prompt_named(id_), force=force)
    except ConfigError as error:
        tell(str(error))
        return FAILED
    for note in notes:
        tell(note)
    say(os.path.relpath(path))
    return PASSED


@prompt.command(short_help="Convert prompts/{ready,tested,draft}/*.md to prompt directories.")
@flag("--write", "write_them", help="Write the files; without it, only list them.")
def migrate(*, write_them: bool) -> int:
    """Make a folder of each prompts/{ready,tested,draft}/*.md, the layout in which a status was a folder."""
    from evenhand.doors.prompt_directories.migrating import migrate as move

    moves = move(library_here(), write_them=write_them)
    for line in moves:
        say(plain(line))
    if moves and not write_them:
        say(f"\nnext: {command_here()} migrate --write")
    return PASSED


for _command in (list_, show, log, doctor, render, send):
    prompt.add_command(_command)

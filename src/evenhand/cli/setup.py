"""`evenhand init`, `doctor`, `scorers` and `providers`: before the first run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from evenhand.cli.exits import PASSED, USAGE
from evenhand.cli.options import flag
from evenhand.cli.streams import printing, say_json, say_lines, say_wrapped, tell
from evenhand.core.errors import UsageError

if TYPE_CHECKING:
    from evenhand.doors.importers.moved_in import MovedIn
    from evenhand.scorers.catalog import Entry


SCAFFOLDS = Path(__file__).parent / "scaffolds"
SKILLS = (".agents/skills/evenhand/SKILL.md", ".claude/skills/evenhand/SKILL.md")
"""Where coding agents look for what they can do in a repository."""
_MOVED = {"translated": "translated", "changed": "changed", "left_out": "not translated"}


@click.command(name="init", short_help="Create an example folder that runs right away.")
@click.argument("words", nargs=-1, metavar="[FOLDER]")
@flag("--python", help="Create eval sets in Python instead of a promptfoo config.")
@flag("--agent", help="Write a skill for coding agents into this repository instead.")
@click.option(
    "--agent-framework",
    metavar="NAME",
    help="Write an eval set beside the agent of this framework that is in FOLDER: openai-agents, langchain, …",
)
@click.option(
    "--from",
    "origin",
    metavar="CONFIG|TOOL",
    help="Print this promptfoo config as an eval set in Python; or write eval sets from another tool's files:"
    " --from openai-evals FILE... [FOLDER].",
)
def init(
    words: tuple[str, ...],
    origin: str | None,
    agent_framework: str | None,
    *,
    python: bool,
    agent: bool,
) -> int:
    """Create an example folder with prompts, tests and scripted replies. It runs right away. Never overwrites a file.

    With --python, the tests are functions: evals/*_evals.py, a setup.py that is loaded first, a dataset, and the
    application that they call.

    With --agent, write a skill that tells coding agents how to evaluate here: see also `evenhand info mcp`.

    With --agent-framework, find an agent of this framework in FOLDER, and write agent_evals.py beside it: two
    questions, the call of the agent, and what should hold for its steps.

    With --from, print a promptfoo config as an eval set: save it beside the config, in a file that ends in _evals.py.

    With --from openai-evals, write an eval set, its dataset and its graders for each eval in FILE.

    With --from pydantic-evals, write an eval set with its cases and evaluators for each dataset in FILE.

    With --from inspect or lm-eval, write an eval set for each task in the logs: its cases, the prompts that were sent,
    the scorers that have an equal here, and the recorded answers to try it offline.

    With --from deepeval, ragas, langfuse, langsmith, braintrust or phoenix, or an importer that an installed package
    adds, write an eval set to fill in for each dataset in FILE: its cases, and a place to call your application.
    """
    _choose_one(
        {"python": python, "agent": agent, "agent-framework": agent_framework, "from": origin}
    )
    if origin is not None and _is_tool(origin):
        return _move_in(origin, [Path(word) for word in words])
    if origin is not None and (words or origin == "promptfoo"):
        config = origin if Path(origin).exists() else [*words, "promptfooconfig.yaml"][0]
        if origin not in (config, "promptfoo"):
            raise click.UsageError(f"--from {origin}: there is no such config, and no such tool")
        if words or config != origin:
            raise click.UsageError(
                "an eval set made of a promptfoo config is printed, and not written to a folder:"
                f" evenhand init --from {shlex.quote(config)} > my_evals.py"
            )
    if len(words) > 1:
        raise click.UsageError(f"there is one folder to make, and {len(words)} are named")
    folder = Path(words[0] if words else ".")
    if folder.is_file():
        raise click.UsageError(f"'{folder}' is a file, not a folder")
    if origin is not None:
        return _print_as_python(Path(origin))
    from evenhand.core.wording.words import safe
    from evenhand.render.own_files import look_for_folder

    if folder.absolute() == Path(folder.absolute().anchor):
        raise UsageError("nothing is begun in /", hint="Name a folder: evenhand init my-evals")
    look_for_folder(folder.parent)

    if agent_framework:
        return _first_evals(agent_framework, folder)
    if agent:
        for path in scaffold(folder, "agent"):
            click.echo(f"  {safe(str(path))}")
        click.echo(
            "\nnext: commit them; agents that speak MCP can also use: evenhand info mcp --max-cost 2"
        )
        return PASSED
    for path in scaffold(folder, "python" if python else "config"):
        click.echo(f"  {safe(str(path))}")
    where = "" if folder == Path() else f" {shlex.quote(str(folder))}"
    click.echo(f"\nnext: evenhand run{safe(where, multiline=True)} --offline")
    if not python:
        click.echo("in Python instead: evenhand init --python FOLDER")
    return PASSED


def _choose_one(kinds: Mapping[str, object]) -> None:
    """Refuses several options that each say what is made."""
    chosen = [f"--{name}" for name, value in kinds.items() if value]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)}: each creates something else; choose one")


def _first_evals(framework: str, folder: Path) -> int:
    from evenhand.cli.agent_frameworks import write_first_evals
    from evenhand.core.wording.words import safe

    path, its_agent = write_first_evals(framework, folder)
    file = shlex.quote(os.path.relpath(path))
    click.echo(f"  {safe(file)}")
    if its_agent is None:
        click.echo(
            f"\nNo module in {safe(str(folder.resolve()))} makes an agent of {framework} at its top level."
        )
        click.echo(f"next: import yours in {safe(file)}, then evenhand run {safe(file)}")
    else:
        where = os.path.relpath(its_agent.file)
        click.echo(f"\nIt asks {safe(its_agent.name)} of {safe(where)}.")
        click.echo(f"next: evenhand run {safe(file)}")
    return PASSED


def scaffold(folder: Path, kind: Literal["config", "python", "agent"] = "config") -> list[Path]:
    """Writes the files of a small working folder, and returns their paths. Nothing that is there is overwritten.

    Its files are in `scaffolds/`, as they are written (Python files as `….py.txt`, so that nobody takes them for ours);
    `offline.jsonl` is what models would answer, so that the first run needs neither key nor network.

    Args:
        folder: Where; it is made where it is not there.
        kind: A promptfoo config with prompts and tests, eval sets in Python, or a skill for coding agents.

    Raises:
        UsageError: One of the files already exists, or cannot be written. Nothing was written then.
    """
    from evenhand.doors.importers.moved_in import write_all

    source = SCAFFOLDS / kind
    targets = {_target(folder / file.relative_to(source)): file for file in _files(source)}
    if kind == "agent":
        targets = {folder / place: source / "SKILL.md" for place in SKILLS}
    there = [path for path in targets if path.exists()]
    if there:
        names = ", ".join(str(path.relative_to(folder)) for path in there)
        raise UsageError(
            f"{folder.absolute()}: {names} already {'exists' if len(there) == 1 else 'exist'}; nothing was written",
            hint="Delete them first to have today's."
            if kind == "agent"
            else f"Name another folder: evenhand init my-evals{' --python' * (kind == 'python')}",
        )
    write_all(
        {path: file.read_bytes() for path, file in targets.items()},
        "Name a folder that you may write to: evenhand init my-evals",
    )
    return list(targets)


def _target(path: Path) -> Path:
    """Where a file of a scaffold goes."""
    return path.with_suffix("") if path.name.endswith(".py.txt") else path


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder, those on top first, each level by name."""
    entries = sorted(folder.iterdir())
    yield from (path for path in entries if path.is_file())
    for path in entries:
        if path.is_dir():
            yield from _files(path)


def _is_tool(origin: str) -> bool:
    """Whether this is the name of an importer whose datasets become eval sets, and not a promptfoo config."""
    from evenhand.core.wing import our_parts
    from evenhand.doors.importers.registry import names

    if origin in our_parts("importers"):
        return origin not in ("promptfoo", "traces")
    return not Path(origin).exists() and origin in names()


def _move_in(tool: str, words: Sequence[Path]) -> int:
    """Eval sets from the files of another tool. The last word is the folder where it is not a file."""
    from evenhand.core.wing import part
    from evenhand.core.wording.ink import Ink, takes_colors
    from evenhand.doors.importers.import_report import note_lines
    from evenhand.doors.importers.registry import example_of

    named = words and not words[-1].is_file() and (len(words) > 1 or words[-1].is_dir())
    files, folder = (words[:-1], words[-1]) if named else (words, Path())
    if not files:
        raise UsageError(
            f"init --from {tool}: there is no file to read",
            hint=f"Name what you saved: evenhand init --from {tool} {example_of(tool)} my-evals",
        )
    brought = part("folders", tool)
    if brought is None:
        from evenhand.doors.importers.dataset_folder import move_in

        moved = move_in(files, folder, tool)
    else:
        moved = cast("Callable[[Sequence[Path], Path], MovedIn]", brought.load())(files, folder)
    ink = Ink(takes_colors(sys.stdout))
    lines = [*(f"  {path}" for path in moved.files), "", *note_lines(moved.notes, ink, _MOVED)]
    target = shlex.quote(str(moved.sets[0] if len(moved.sets) == 1 else folder))
    first = f"{moved.todo}, then " if moved.todo else ""
    lines += ["", f"next: {first}evenhand check {target}"]
    if moved.offline:
        lines.append(
            f"      evenhand run {target} --offline   grades the recorded answers, and asks no model"
        )
    say_lines(lines)
    return PASSED


def _print_as_python(config: Path) -> int:
    from evenhand.doors.promptfoo.load import read_folder
    from evenhand.doors.promptfoo.porting.as_python import as_python

    file = as_python(read_folder(config))
    with printing():
        click.echo(file.text, nl=False)
    for what in file.left:
        tell(f"not carried over: {what}")
    if file.missing:
        tell(f"what is printed cannot be run: {file.missing}")
        return USAGE
    folder = config if config.is_dir() else config.parent
    file = shlex.quote(str(folder / "my_evals.py"))
    tell(f"next: save it as {file}, then evenhand run {file}")
    return PASSED


@click.command(short_help="Check your setup: Python, keys, folders.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def doctor(as_json: bool) -> int:
    """Check your setup: Python, packages, keys, folders. Sends nothing and shows no key."""
    from evenhand.cli.doctor import doctor as look
    from evenhand.cli.doctor import document
    from evenhand.store.run_lookup import home_for

    findings = look(home_for(None), os.environ)
    if as_json:
        say_json(document(findings))
    else:
        for finding in findings:
            say_wrapped(str(finding), " " * 6)
    return USAGE if any(finding.state == "bad" for finding in findings) else PASSED


@click.command(short_help="List the scorers and assertion types.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def scorers(as_json: bool) -> int:
    """List the scorers of eval sets and the assertion types of YAML files."""
    if as_json:
        from evenhand.cli.listed import scorers_document

        say_json(scorers_document())
        return PASSED
    from evenhand.cli.plugin_listing import list_added
    from evenhand.core.plugins import ASSERTIONS, SCORERS
    from evenhand.doors.assertions.kinds import kinds
    from evenhand.scorers.catalog import Entry
    from evenhand.scorers.catalog import scorers as listed

    click.echo("In Python, from evenhand.scorers:\n")
    _list(listed())
    say_wrapped(
        '\n~ asks the opposite of what checks: ~Contains("sorry"), ~Passes("is rude"), ~IsJson().'
    )
    list_added(SCORERS, "Added by installed packages, as metrics of score() and score_batch():")
    click.echo("\nIn a config, as the type of an assertion:\n")
    types = list(kinds())
    _list(
        [
            Entry(
                name=kind.name, home="", kind=kind.group, description=kind.about, value=kind.takes
            )
            for kind in types
        ]
    )
    unmoved = ", ".join(kind.name for kind in types if kind.negation == "ignored")
    list_added(ASSERTIONS, "Added by installed packages, as the type of an assertion:")
    click.echo("\nnot- asks the opposite: not-contains, not-regex, …")
    say_wrapped(f"It changes nothing about these: {unmoved}.")
    refused = ", ".join(kind.name for kind in types if kind.negation == "refused")
    say_wrapped(f"These can't have it: {refused}.")
    return PASSED


def _list(entries: Sequence[Entry]) -> None:
    width = max(len(entry.name) for entry in entries)
    for kind in dict.fromkeys(entry.kind for entry in entries):
        say_wrapped(kind)
        for entry in entries:
            if entry.kind == kind:
                tail = f" (needs {entry.needs})" if entry.needs else ""
                say_wrapped(
                    f"  {entry.name:<{width}}  {entry.description}{tail}", " " * (width + 4)
                )


@click.command(short_help="List the providers and how to write their ids.")
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def providers(as_json: bool) -> int:
    """List the providers, how to write their ids, and the environment variables that hold their keys."""
    if as_json:
        from evenhand.cli.listed import providers_document

        say_json(providers_document())
        return PASSED
    from evenhand.cli.plugin_listing import list_added
    from evenhand.core.plugins import PROVIDERS
    from evenhand.providers.catalog import KEYS, SCHEMES

    width = max(map(len, SCHEMES))
    for form, what in SCHEMES.items():
        key = KEYS.get(form.partition(":")[0])
        say_wrapped(f"{form:<{width}}  {what}{f' ({key})' if key else ''}", " " * (width + 2))
    list_added(PROVIDERS, "Added by installed packages, as the first word of an id:")
    return PASSED

"""`evenhand prompt …`: a repository of prompts, from the first draft to the skill."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.streams import printing, tell

if TYPE_CHECKING:
    from evenhand.registry.doctor import Looked
    from evenhand.registry.library import Library
    from evenhand.registry.prompt import PromptFolder
    from evenhand.registry.sending import Rendered

F = TypeVar("F", bound=Callable[..., object])

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")


@click.group(short_help="Keep prompts in folders: render, send, promote, list and check them.")
@click.option(
    "-C",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="The repository, or a folder in it.  [default: where you stand]",
)
@click.pass_context
def prompt(context: click.Context, root: Path | None) -> None:
    """Keep prompts in folders, prompts/ID, each with its cases, its hooks and its evidence.

    Their cases are run by `evenhand run prompts/ID`.
    """
    context.obj = root


@prompt.command(name="list", short_help="List the prompts, and whether their evidence holds.")
@click.option("--status", type=click.Choice(["draft", "tested", "ready"]), help="Only these.")
@click.option("--tag", default="", help="Only prompts with this tag.")
@click.option("--check", is_flag=True, help="Exit with 1 where a ready prompt's evidence is stale.")
@_json
def list_(status: str | None, tag: str, *, check: bool, as_json: bool) -> int:
    """List the prompts: status, version, uses, and whether what they have shown is about what they are now."""
    from evenhand.registry.listing import listed, table  # noqa: PLC0415 (once it is known what is asked)

    rows = [
        row
        for row in listed(_library())
        if (status is None or row.status == status) and (not tag or tag in row.tags)
    ]
    if as_json:
        _print(_document([row.told() for row in rows]))
    else:
        for line in table(rows):
            _print(_safe(line))
    return FAILED if check and any(row.is_stale for row in rows) else PASSED


@prompt.command(short_help="Show a prompt: what it is, how it was used, what it has shown.")
@click.argument("id_", metavar="ID")
@_json
def show(id_: str, *, as_json: bool) -> int:
    """Show a prompt: its metadata, its usage with medians, its latest evidence, and what the next status wants."""
    from evenhand.registry.listing import described, description_lines  # noqa: PLC0415 (see above)

    said = described(_prompt(id_))
    if as_json:
        _print(_document(said))
    else:
        for line in description_lines(said):
            _print(_safe(line))
    return PASSED


@prompt.command(short_help="Make a prompt, a draft.")
@click.argument("id_", metavar="ID")
@click.option("--from", "source", default="", metavar="ID", help="Begin with a copy of this one.")
def new(id_: str, source: str) -> int:
    """Make prompts/ID: metadata, a template, an example and an eval. Never overwrites one."""
    from evenhand.core.errors import UsageError  # noqa: PLC0415 (see above)
    from evenhand.registry.library import Library, library_of  # noqa: PLC0415 (see above)
    from evenhand.registry.starting import new as make  # noqa: PLC0415 (see above)

    try:
        library = library_of(_start())
    except UsageError:  # the first one
        library = Library(_start().absolute())
    folder = make(library, id_, source)
    _print(f"  {os.path.relpath(folder)}\n\nnext: evenhand prompt edit {shlex.quote(id_)}")
    return PASSED


@prompt.command(short_help="Open a prompt in your editor.")
@click.argument("id_", metavar="ID")
@click.option(
    "--file",
    "name",
    type=click.Choice(["prompt.xml", "meta.yml", "eval.yml", "guard.sh", "verify.sh", "aliases"]),
    default="prompt.xml",
    show_default=True,
    help="Which of its files.",
)
def edit(id_: str, name: str) -> int:
    """Open a file of a prompt in $VISUAL or $EDITOR. If it was changed, `updated` is today's date from then on."""
    import subprocess  # noqa: PLC0415 (see above)

    from evenhand.core.errors import UsageError  # noqa: PLC0415 (see above)
    from evenhand.registry.starting import bumped  # noqa: PLC0415 (see above)

    path = _library().folder(id_) / name
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
    if after != before:
        bumped(_prompt(id_))
    return PASSED


def _filling(command: F) -> F:
    """The options that say what a prompt is filled in with."""
    for option in reversed(
        (
            click.argument("id_", metavar="ID"),
            click.option("--case", default="", metavar="NAME", help="The inputs of this example."),
            click.option(
                "--var",
                "pairs",
                multiple=True,
                metavar="NAME=VALUE",
                help="Over the case's inputs; guard.sh goes over both.",
            ),
            click.option(
                "--var-file",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="This file's text is the variable file_contents.",
            ),
        )
    ):
        command = option(command)
    return command


@prompt.command(short_help="Fill a prompt in, and print it.")
@_filling
def render(id_: str, case: str, pairs: tuple[str, ...], var_file: Path | None) -> int:
    """Fill a prompt in and print it. guard.sh has its say; nothing is sent. It is kept as a dry row of usage."""
    from evenhand.registry.sending import log_dry  # noqa: PLC0415 (see above)

    given = _rendered(id_, case, pairs, var_file)
    _print(given.text)
    log_dry(given)
    return PASSED


@prompt.command(short_help="Fill a prompt in, send it, and keep that it was used.")
@_filling
@click.option("--model", default="", metavar="ID", help="Instead of the prompt's own.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="For the model.",
)
@click.option("--offline", is_flag=True, help="Answer from offline.jsonl. No gate counts it.")
@_json
def send(
    id_: str,
    case: str,
    pairs: tuple[str, ...],
    var_file: Path | None,
    model: str,
    time_limit: float | None,
    *,
    offline: bool,
    as_json: bool,
) -> int:
    """Fill a prompt in, send it, print the answer, let verify.sh look at it, and keep a row of usage.

    Where guard.sh says no, nothing is sent and nothing is kept. Exits with 1 where verify.sh found something wrong, and
    with 3 where there was no answer.
    """
    import contextlib  # noqa: PLC0415 (see above)

    from evenhand.cli.run import offline_answers  # noqa: PLC0415 (see above)
    from evenhand.core.errors import UsageError  # noqa: PLC0415 (see above)
    from evenhand.registry.gates import sent_to  # noqa: PLC0415 (see above)
    from evenhand.registry.models import model_id  # noqa: PLC0415 (see above)
    from evenhand.registry.sending import as_json as document  # noqa: PLC0415 (see above)
    from evenhand.registry.sending import send as send_it  # noqa: PLC0415 (see above)

    given = _rendered(id_, case, pairs, var_file)
    chosen = model_id(model) if model else sent_to(given.prompt)
    if not chosen:
        raise UsageError(f"{id_} names no model", hint="Write model: in meta.yml, or use --model.")
    folder = given.prompt.path
    if not (folder / "offline.jsonl").is_file():
        folder = given.prompt.library.root
    with offline_answers(folder) if offline else contextlib.nullcontext():
        sent = send_it(
            given,
            chosen,
            env=os.environ,
            timeout_s=time_limit,
            tell=None if as_json else _print,
            offline=offline,
        )
    if as_json:
        _print(document(sent))
    if sent.error:
        tell(_safe(f"{id_}: {sent.error}"))
        return NO_VERDICT
    if sent.verified is False:
        tell(_safe(f"{id_}: verify.sh says no: {sent.complaint}"))
    return FAILED if sent.verified is False else PASSED


@prompt.command(short_help="Print the latest rows of a prompt's usage, or of its evals.")
@click.argument("id_", metavar="ID")
@click.option("--last", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--evals", is_flag=True, help="Of its evals, instead of its usage.")
@click.option("--promotions", is_flag=True, help="Of its promotions, instead.")
def log(id_: str, last: int, *, evals: bool, promotions: bool) -> int:
    """Print the latest rows of .usage.jsonl, as they are; of .eval.jsonl, or of .promotions.jsonl."""
    from evenhand.core.encoding import encode  # noqa: PLC0415 (see above)
    from evenhand.documents.findings import Findings  # noqa: PLC0415 (see above)
    from evenhand.registry.evidence import EVALS, PROMOTIONS, USAGE, read  # noqa: PLC0415 (see above)

    name = EVALS if evals else PROMOTIONS if promotions else USAGE
    rows = read(_library().folder(id_) / name)
    findings = Findings()
    rows.tell(findings)
    for hint in findings.hints:
        tell(_safe(str(hint)))
    for row in rows.rows[-last:]:
        _print(encode(row).decode())
    return PASSED


@prompt.command(short_help="Give a prompt the next status, if its evidence is enough.")
@click.argument("id_", metavar="ID")
@click.option("--force", is_flag=True, help="Whatever its evidence lacks. Wants a reason.")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in .promotions.jsonl.")
def promote(id_: str, *, force: bool, reason: str) -> int:
    """Promote a prompt, draft → tested → ready, if its evidence is enough; says what is missing where it is not."""
    from evenhand.registry.promotion import promote as promote_it  # noqa: PLC0415 (see above)

    found = _prompt(id_)
    done = promote_it(found, force=force, reason=reason)
    for line in done.missing:
        tell(_safe(f"{'forced past: ' if done.done else ''}{line}"))
    if not done.done:
        tell(
            f"{id_} stays {found.meta.status}: {len(done.missing)} of the gates to {done.target} not met"
        )
        return FAILED
    _print(f"{id_}: {found.meta.status} → {done.target}")
    return PASSED


@prompt.command(short_help="Look at all prompts: what is wrong, with file and line.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--check", is_flag=True, help="A ready prompt whose evidence is stale is wrong, too.")
@click.option("--quiet", is_flag=True, help="Only those with something to say.")
@_json
def doctor(ids: tuple[str, ...], *, check: bool, quiet: bool, as_json: bool) -> int:
    """Look at these prompts, or at all: what is wrong with them, what is worth a look, with file and line.

    An ID may be a path to a file of it, as pre-commit gives them. Exits with 1 where something is wrong; warnings do
    not count.
    """
    from evenhand.registry.doctor import look  # noqa: PLC0415 (see above)
    from evenhand.report.words import count  # noqa: PLC0415 (see above)

    found = [one for library, names in _meant(ids).items() for one in look(library, names)]
    bad = [one for one in found if one.problems or (check and one.stale)]
    if as_json:
        _print(_document([_told(one) for one in found]))
    else:
        for one in found:
            if not quiet or one.problems or one.warnings:
                _print(f"{'FAIL' if one in bad else 'PASS'} {one.id}")
                for kind, problems in (("", one.problems), ("warning: ", one.warnings)):
                    for problem in problems:
                        _print(_safe(f"  {kind}{str(problem).replace(chr(10), chr(10) + '  ')}"))
        warned = sum(len(one.warnings) for one in found)
        _print(
            f"{count(len(found), 'prompt')}, {len(bad)} with problems, {count(warned, 'warning')}"
        )
    return FAILED if bad else PASSED


@prompt.command(short_help="Write the list of prompts into the README, and the shell's verbs.")
@click.option(
    "--shell", default="aliases.sh", show_default=True, metavar="FILE", help="Where the verbs go."
)
def index(shell: str) -> int:
    """Write the list of prompts between the marks of README.md, and their verbs between those of a shell file."""
    from evenhand.registry.index import index as write  # noqa: PLC0415 (see above)

    for line in write(_library(), shell):
        tell(_safe(line))
    return PASSED


@prompt.command(name="export-skill", short_help="Write a ready prompt as a skill.")
@click.argument("id_", metavar="ID")
@click.option(
    "--force", is_flag=True, help="Also where it is not ready, or not of a skill's shape."
)
def export_skill(id_: str, *, force: bool) -> int:
    """Write a ready prompt as dist/skills/ID/SKILL.md. What was in that folder is gone."""
    from evenhand.core.errors import ConfigError  # noqa: PLC0415 (see above)
    from evenhand.registry.skill import export  # noqa: PLC0415 (see above)

    try:
        path, notes = export(_prompt(id_), force=force)
    except ConfigError as error:
        tell(_safe(str(error)))
        return FAILED
    for note in notes:
        tell(_safe(note))
    _print(os.path.relpath(path))
    return PASSED


@prompt.command(short_help="Make folders of prompts/{ready,tested,draft}/*.md.")
@click.option("--write", "write_them", is_flag=True, help="Do it; otherwise it is only said.")
def migrate(*, write_them: bool) -> int:
    """Make a folder of each prompts/{ready,tested,draft}/*.md, the layout in which a status was a folder."""
    from evenhand.registry.starting import migrate as move  # noqa: PLC0415 (see above)

    told = move(_library(), write_them=write_them)
    for line in told:
        _print(_safe(line))
    if told and not write_them:
        _print("\nnext: evenhand prompt migrate --write")
    return PASSED


def _library() -> Library:
    from evenhand.registry.library import library_of  # noqa: PLC0415 (see above)

    return library_of(_start())


def _start() -> Path:
    return click.get_current_context().obj or Path.cwd()


def _prompt(id_: str) -> PromptFolder:
    """A prompt that can be used: nothing is wrong with its metadata and its template."""
    from evenhand.documents.findings import Findings  # noqa: PLC0415 (see above)
    from evenhand.registry.prompt import read_prompt  # noqa: PLC0415 (see above)

    library, findings = _library(), Findings()
    library.folder(id_)
    found = read_prompt(library, id_, findings)
    if findings.problems:
        raise findings.error()
    return found


def _rendered(id_: str, case: str, pairs: tuple[str, ...], var_file: Path | None) -> Rendered:
    from evenhand.documents.findings import Findings  # noqa: PLC0415 (see above)
    from evenhand.registry.sending import rendered, variables  # noqa: PLC0415 (see above)

    found, findings = _prompt(id_), Findings()
    inputs = found.example(case, findings) if case else {}
    if findings.problems:
        raise findings.error()
    given = rendered(found, case, inputs, variables(pairs, var_file))
    for note in given.notes:
        tell(_safe(note))
    return given


def _meant(texts: tuple[str, ...]) -> dict[Library, list[str] | None]:
    """The prompts that are meant by ids, and by paths to their folders or to files in them; None for all.

    A path that is in no prompt's folder, inputs that are shared say, means all prompts of its repository.
    """
    from evenhand.registry.library import PROMPTS, library_of  # noqa: PLC0415 (see above)

    if not texts:
        return {_library(): None}
    found: dict[Library, list[str] | None] = {}
    for text in texts:
        if os.sep not in text:
            library, id_ = _library(), text
            library.folder(id_)
        else:
            path = Path(os.path.abspath(text))  # noqa: PTH100 (links are left as they are written)
            library = library_of(path)
            inside = path.relative_to(library.root).parts
            id_ = inside[1] if inside[:1] == (PROMPTS,) and len(inside) > 1 else ""
        names = found.setdefault(library, [])
        if id_ not in library.ids():
            found[library] = None
        elif names is not None and id_ not in names:
            names.append(id_)
    return found


def _told(one: Looked) -> dict[str, Any]:
    def rows(problems: Any) -> list[dict[str, Any]]:
        return [
            {"file": p.file, "line": p.line, "column": p.column, "what": p.what, "hint": p.hint}
            for p in problems
        ]

    return {
        "id": one.id,
        "problems": rows(one.problems),
        "warnings": rows(one.warnings),
        "evidence": one.standing.state if one.standing else None,
    }


def _document(value: Any) -> str:
    from evenhand.core.encoding import encode  # noqa: PLC0415 (see above)

    return encode(value).decode()


def _safe(text: str) -> str:
    from evenhand.report.words import safe  # noqa: PLC0415 (see above)

    return safe(text, multiline=True)


def _print(text: str) -> None:
    with printing():
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")

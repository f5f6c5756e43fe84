"""The verbs of `evenhand prompt` that look at prompts or fill them in: list, show, log, doctor, render and send."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_prompts
from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag, number_option, repeatable, text_option
from evenhand.cli.streams import printing, say_wrapped, tell
from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.core.ranges import ROWS, SECONDS
from evenhand.core.wording.words import count, safe

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.doctor import Looked
    from evenhand.doors.prompt_directories.library import Library
    from evenhand.doors.prompt_directories.prompt import PromptFolder
    from evenhand.doors.prompt_directories.sending import Rendered

in_json = flag("--json", "as_json", help="Print one JSON document to stdout.")


def library_here() -> Library:
    """The repository that is meant: of -C, or the one that one stands in."""
    from evenhand.doors.prompt_directories.library import library_of

    return library_of(start())


def start() -> Path:
    """The folder from where it is looked for."""
    return click.get_current_context().obj or Path.cwd()


def command_here() -> str:
    """`evenhand prompt` for this repository, as it is typed."""
    folder = click.get_current_context().obj
    return f"evenhand prompt -C {shlex.quote(safe(str(folder)))}" if folder else "evenhand prompt"


def prompt_named(id_: str) -> PromptFolder:
    """A prompt that can be used: nothing is wrong with its metadata and its template."""
    from evenhand.doors.prompt_directories.prompt import read_prompt
    from evenhand.languages.documents.findings import Findings

    library, findings = library_here(), Findings()
    library.folder(id_)
    prompt = read_prompt(library, id_, findings)
    if findings.problems:
        raise findings.error()
    return prompt


def prompts_meant(texts: tuple[str, ...]) -> dict[Library, list[str] | None]:
    """The prompts that are meant by ids, and by paths to their folders or to files in them; None for all.

    A path that is in no prompt's folder, inputs that are shared say, means all prompts of its repository.
    """
    from evenhand.doors.prompt_directories.library import PROMPTS, library_of

    if not texts:
        return {library_here(): None}
    ids: dict[Library, list[str] | None] = {}
    for text in texts:
        if os.sep not in text:
            library, id_ = library_here(), text
            library.folder(id_)
        else:
            path = Path(os.path.abspath(text))  # noqa: PTH100 (links are left as they are written)
            library = library_of(path)
            inside = path.relative_to(library.root).parts
            id_ = inside[1] if inside[:1] == (PROMPTS,) and len(inside) > 1 else ""
        names = ids.setdefault(library, [])
        if id_ not in library.ids():
            ids[library] = None
        elif names is not None and id_ not in names:
            names.append(id_)
    return ids


def document_of(value: Any) -> str:
    """A value as a JSON document."""
    return encode(value).decode()


def plain(text: str) -> str:
    """A text that somebody else wrote, without what a terminal would obey."""
    return safe(text, multiline=True)


def say(text: str) -> None:
    """Prints a text to stdout, ending its last line."""
    with printing():
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


@click.command(name="list", short_help="List prompts and the state of their evidence.")
@click.option(
    "--status",
    type=click.Choice(["draft", "tested", "ready"]),
    help="Only prompts with this status.",
)
@text_option("--tag", help="Only prompts with this tag.")
@flag("--check", help="Exit with 1 if a ready prompt's evidence is stale.")
@in_json
def list_(status: str | None, tag: str, *, check: bool, as_json: bool) -> int:
    """List the prompts: status, version, uses, and whether their evidence is current."""
    from evenhand.doors.prompt_directories.listing import listed, table

    library = library_here()
    rows = [
        row
        for row in listed(library)
        if (status is None or row.status == status) and (not tag or tag in row.tags)
    ]
    if as_json:
        say(document_of([row.document() for row in rows]))
    else:
        for line in table(rows, library.prompts):
            say_wrapped(plain(line), "    ")
    return FAILED if check and any(row.is_stale for row in rows) else PASSED


@click.command(short_help="Show a prompt, its usage and its evidence.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@in_json
def show(id_: str, *, as_json: bool) -> int:
    """Show a prompt: its metadata, its usage with medians, its latest evidence, and what the next status requires."""
    from evenhand.doors.prompt_directories.listing import described, description_lines

    description = described(prompt_named(id_))
    if as_json:
        say(document_of(description))
    else:
        for line in description_lines(description):
            say_wrapped(plain(line), "    ")
    return PASSED


@click.command(short_help="Print the latest rows of a prompt's usage or evals.")
@click.argument("id_", metavar="ID", shell_complete=complete_prompts)
@number_option("--last", within=ROWS, default=10, show_default=True, help="Number of rows.")
@flag("--evals", help="Print evals instead of usage.")
@flag("--promotions", help="Print promotions instead of usage.")
def log(id_: str, last: int, *, evals: bool, promotions: bool) -> int:
    """Print the latest rows of .usage.jsonl, .eval.jsonl or .promotions.jsonl, unchanged."""
    from evenhand.doors.prompt_directories.evidence import EVALS, USAGE, promotions_of, read
    from evenhand.doors.prompt_directories.prompt import read_prompt
    from evenhand.languages.documents.findings import Findings

    library = library_here()
    folder = library.folder(id_)
    if promotions and not evals:
        rows = promotions_of(folder, read_prompt(library, folder.name, Findings()).meta.status)
    else:
        rows = read(folder / (EVALS if evals else USAGE))
    findings = Findings()
    rows.tell(findings)
    for hint in findings.hints:
        tell(str(hint))
    for row in rows.rows[-last:]:
        say(encode(row).decode())
    return PASSED


@click.command(short_help="Check prompts for problems, with file and line.")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_prompts)
@flag("--check", help="Treat stale evidence of a ready prompt as a problem.")
@flag(
    "--evidence", help="Check every row of evidence against its run, if the run is on this machine."
)
@flag("--quiet", help="Print only prompts with problems or warnings.")
@in_json
def doctor(ids: tuple[str, ...], *, check: bool, evidence: bool, quiet: bool, as_json: bool) -> int:
    """Check these prompts, or all, and list problems and warnings with file and line.

    An ID may be the path of one of its files, as pre-commit passes them. Exits with 1 if there are problems; warnings
    don't count. With --evidence, a row that its run contradicts is a problem, and a row whose run is not on this
    machine is a warning.
    """
    from evenhand.doors.prompt_directories.doctor import look
    from evenhand.doors.prompt_directories.runs import KeptRuns
    from evenhand.store.run_lookup import home_for

    looks = [
        one
        for library, names in prompts_meant(ids).items()
        for one in look(library, names, KeptRuns(home_for(library.root)) if evidence else None)
    ]
    bad = [one for one in looks if one.problems or (check and one.stale)]
    if as_json:
        say(document_of([_row(one) for one in looks]))
    else:
        for one in looks:
            if not quiet or one.problems or one.warnings:
                say(f"{'FAIL' if one in bad else 'PASS'} {one.id}")
                if one.audit is not None:
                    say(f"  {one.audit}")
                for kind, problems in (("", one.problems), ("warning: ", one.warnings)):
                    for problem in problems:
                        text = str(problem).replace("\n", "\n  ")
                        say_wrapped(plain(f"  {kind}{text}"), "    ")
        warned = sum(len(one.warnings) for one in looks)
        say(f"{count(len(looks), 'prompt')}, {len(bad)} with problems, {count(warned, 'warning')}")
    return FAILED if bad else PASSED


def _row(one: Looked) -> dict[str, Any]:
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
        "audit": asdict(one.audit) if one.audit is not None else None,
    }


_filling = OptionSet(
    click.argument("id_", metavar="ID", shell_complete=complete_prompts),
    text_option("--case", metavar="NAME", help="Use the inputs of this case."),
    repeatable(
        "--var",
        "pairs",
        metavar="NAME=VALUE",
        help="Override an input of the case; guard.sh overrides both.",
    ),
    click.option(
        "--var-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Pass the text of FILE as the variable file_contents.",
    ),
)
"""What a prompt is filled in with."""


@click.command(short_help="Render a prompt and print it.")
@_filling
@flag("--send", "and_send", help="Send it as well, like `prompt send`.")
@click.pass_context
def render(
    context: click.Context,
    id_: str,
    case: str,
    pairs: tuple[str, ...],
    var_file: Path | None,
    *,
    and_send: bool,
) -> int:
    """Render a prompt and print it. Runs guard.sh, sends nothing, and records a dry row of usage.

    The shell aliases that `evenhand prompt index` writes call this command; with --send, they send the prompt.
    """
    from evenhand.doors.prompt_directories.sending import log_dry

    if and_send:
        return context.invoke(send, id_=id_, case=case, pairs=pairs, var_file=var_file)
    prompt = _rendered(id_, case, pairs, var_file)
    say(prompt.text)
    log_dry(prompt)
    return PASSED


@click.command(short_help="Render a prompt, send it, and record its use.")
@_filling
@text_option("--model", metavar="ID", help="Ask this model instead of the prompt's own.")
@number_option(
    "--time-limit", within=SECONDS, metavar="SECONDS", help="Time limit for the model's reply."
)
@flag("--offline", help="Take the reply from offline.jsonl. Gates don't count it.")
@in_json
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
    """Render a prompt, send it, print the answer, run verify.sh on it, and record a row of usage.

    If guard.sh refuses, or a key is missing, nothing is sent or recorded. Exits with 1 if verify.sh rejects the answer,
    and with 3 if there was no answer.
    """
    import contextlib

    from evenhand.cli.offline import offline_answers, prompts_script
    from evenhand.doors.prompt_directories.promotion_rules import sent_to
    from evenhand.doors.prompt_directories.sending import as_json as document
    from evenhand.doors.prompt_directories.sending import killed_send
    from evenhand.doors.prompt_directories.sending import send as send_it
    from evenhand.providers.roster import model_id

    rendering = _rendered(id_, case, pairs, var_file)
    chosen = model_id(model) if model else sent_to(rendering.prompt)
    if not chosen:
        raise UsageError(f"{id_} names no model", hint="Write model: in meta.yml, or use --model.")
    if note := killed_send(rendering.prompt):
        tell(f"{id_}: {note}")
    prompt = rendering.prompt
    folder = prompts_script(prompt.library, [prompt.id]) if offline else None
    with contextlib.nullcontext() if folder is None else offline_answers(folder):
        sent = send_it(
            rendering,
            chosen,
            env=os.environ,
            timeout_s=time_limit,
            tell=None if as_json else say,
            offline=offline,
        )
    if as_json:
        say(document(sent))
    if sent.error:
        tell(f"{id_}: {sent.error}")
        return NO_VERDICT
    if sent.verified is False:
        tell(f"{id_}: verify.sh says no: {sent.complaint}")
    return FAILED if sent.verified is False else PASSED


def _rendered(id_: str, case: str, pairs: tuple[str, ...], var_file: Path | None) -> Rendered:
    from evenhand.doors.prompt_directories.sending import inputs_of, rendered, variables

    prompt = prompt_named(id_)
    inputs = inputs_of(prompt, case) if case else {}
    rendering = rendered(prompt, case, inputs, variables(pairs, var_file))
    for note in rendering.notes:
        tell(note)
    return rendering

"""The verbs of `evenhand prompt` that fill a prompt in: render and send."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.completing import complete_prompts
from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.grouped import OptionSet
from evenhand.cli.numbers import Number
from evenhand.cli.prompt_lookup import in_json, prompt_named, say
from evenhand.cli.streams import tell
from evenhand.core.ranges import SECONDS

if TYPE_CHECKING:
    from evenhand.doors.prompt_directories.sending import Rendered


_filling = OptionSet(
    click.argument("id_", metavar="ID", shell_complete=complete_prompts),
    click.option("--case", default="", metavar="NAME", help="Use the inputs of this case."),
    click.option(
        "--var",
        "pairs",
        multiple=True,
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
@click.option("--send", "and_send", is_flag=True, help="Send it as well, like `prompt send`.")
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
@click.option(
    "--model", default="", metavar="ID", help="Ask this model instead of the prompt's own."
)
@click.option(
    "--time-limit",
    type=Number(SECONDS),
    metavar="SECONDS",
    help="Time limit for the model's reply.",
)
@click.option(
    "--offline", is_flag=True, help="Take the reply from offline.jsonl. Gates don't count it."
)
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

    If guard.sh refuses, nothing is sent or recorded. Exits with 1 if verify.sh rejects the answer, and with 3 if there
    was no answer.
    """
    import contextlib

    from evenhand.cli.offline import offline_answers
    from evenhand.core.errors import UsageError
    from evenhand.doors.prompt_directories.promotion_rules import sent_to
    from evenhand.doors.prompt_directories.sending import as_json as document
    from evenhand.doors.prompt_directories.sending import send as send_it
    from evenhand.providers.roster import model_id

    rendering = _rendered(id_, case, pairs, var_file)
    chosen = model_id(model) if model else sent_to(rendering.prompt)
    if not chosen:
        raise UsageError(f"{id_} names no model", hint="Write model: in meta.yml, or use --model.")
    folder = rendering.prompt.path
    if not (folder / "offline.jsonl").is_file():
        folder = rendering.prompt.library.root
    with offline_answers(folder) if offline else contextlib.nullcontext():
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
    from evenhand.doors.prompt_directories.sending import rendered, variables
    from evenhand.languages.documents.findings import Findings

    prompt, findings = prompt_named(id_), Findings()
    inputs = prompt.example(case, findings) if case else {}
    if findings.problems:
        raise findings.error()
    rendering = rendered(prompt, case, inputs, variables(pairs, var_file))
    for note in rendering.notes:
        tell(note)
    return rendering

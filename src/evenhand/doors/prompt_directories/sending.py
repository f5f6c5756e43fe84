"""Renders a prompt, and sends it: guard.sh, the model, verify.sh, and a row of usage for each time.

How this works: a send is a plan of one trial, so that it is retried, priced and limited like any other call. Its run is
kept apart from those of evals, in `sends/` of the folder that keeps runs, and the row is bound to it: what the row says
can be looked up. Nothing comes from the cache: a row is evidence of a use.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.message import Message, Prompt
from evenhand.core.names import did_you_mean
from evenhand.core.plan import Plan, Row, RunOptions, Sheet, Slot
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.words import safe
from evenhand.doors.prompt_directories.content import Content, content_of
from evenhand.doors.prompt_directories.counting import words
from evenhand.doors.prompt_directories.eval_scorers import Verified
from evenhand.doors.prompt_directories.eval_yml import read_eval
from evenhand.doors.prompt_directories.evidence import USAGE, append, now, read
from evenhand.doors.prompt_directories.hooks import guarded, is_hook
from evenhand.doors.prompt_directories.library import GUARD, TEMPLATE, VERIFY
from evenhand.doors.prompt_directories.outcome import address_in
from evenhand.doors.prompt_directories.prompt import (
    SOURCES,
    PromptFolder,
    merged,
    text_hash,
    vars_hash,
)
from evenhand.engine.door import Settings, run, waited_for
from evenhand.languages.documents.findings import Findings, shown_path
from evenhand.languages.documents.project import project_for
from evenhand.languages.templates.plain import render
from evenhand.providers.catalog import key_missing
from evenhand.providers.missing_keys import NO_KEY, set_key
from evenhand.providers.roster import Roster
from evenhand.store.run_lookup import home_for, paths
from evenhand.store.runfile import RunFile, digest_of

FAILED = 1
NAMED = 10
"""So many cases are named where none has the name that was asked for."""
SENDS = "sends"
"""The folder, in the one that keeps runs, with those of sends."""
_LOOKED_AT = 50
"""Sends, of whatever prompts, among which the last one of a prompt is looked for."""


class Rendered(Record, frozen=True, kw_only=True):
    """A prompt as it would be sent.

    Attributes:
        case: The example, or the case of eval.yml, whose inputs it has; empty for none.
        notes: Lines of the guard that set nothing, and hooks that cannot be run.
    """

    prompt: PromptFolder
    case: str
    text: str
    values: Mapping[str, object]
    started: float
    notes: Sequence[str] = ()


class Sent(Record, frozen=True):
    """What became of a send.

    Attributes:
        output: The answer; None where there was none.
        error: Why there was none; empty where there was one.
        verified: What verify.sh said; None where nobody looked.
        complaint: What it wrote, or why it could not look.
    """

    output: str | None
    error: str
    verified: bool | None
    complaint: str
    row: Mapping[str, Any]


def rendered(
    prompt: PromptFolder, case: str, inputs: Mapping[str, object], overrides: Mapping[str, object]
) -> Rendered:
    """Fills a prompt in: the case's inputs, what was given over them, and over all what guard.sh sets.

    Raises:
        CodeError: The guard said no, or could not be run.
        TemplateError: A variable has no value.
    """
    started = time.perf_counter()
    values = merged(prompt.defaults, inputs, overrides)
    notes = [_not_run(prompt, name) for name in (GUARD, VERIFY)]
    if is_hook(prompt.path / GUARD):
        ran = waited_for(
            guarded(prompt.path / GUARD, prompt.id, case, values, prompt.meta.hook_limit_s)
        )
        variables, others = ran.values()
        values = merged(values, variables)
        notes += [f"guard.sh: sets nothing: {line[:200]}" for line in others[:20]]
    text = render(prompt.template, values, shown_path(prompt.path / TEMPLATE), SOURCES)
    return Rendered(
        prompt=prompt,
        case=case,
        text=text,
        values=values,
        started=started,
        notes=tuple(filter(None, notes)),
    )


def inputs_of(prompt: PromptFolder, name: str) -> Mapping[str, object]:
    """The inputs of an example, or else of a case of eval.yml.

    Raises:
        ConfigError: They can't be read.
        UsageError: Neither has this name.
    """
    findings = Findings()
    examples = prompt.examples()
    if name in examples:
        inputs: Mapping[str, object] = prompt.example(name, findings)
        if findings.problems:
            raise findings.error()
        return inputs
    eval_file = read_eval(prompt, findings)
    cases = {case.name: case for case in eval_file.cases} if eval_file else {}
    if (case := cases.get(name)) is None:
        names = list(dict.fromkeys([*examples, *cases]))
        listed = ", ".join(map(safe, names[:NAMED])) + (", …" if len(names) > NAMED else "")
        hint = did_you_mean(name, names) or f"There are: {listed or 'none'}."
        raise UsageError(f"{safe(prompt.id)} has no case '{safe(name)}'", hint=hint)
    if case.problem is not None and not case.inputs:
        raise UsageError(f"{case.place}: {case.problem.what}", hint=case.problem.hint)
    return case.inputs


def log_dry(rendering: Rendered) -> None:
    """Keeps that a prompt was rendered and not sent."""
    row = {
        "ts": now(),
        **_about(rendering, content_of(rendering.prompt)),
        "sent": False,
        "exit_code": 0,
        "verified": None,
        "duration_ms": round((time.perf_counter() - rendering.started) * 1000),
        "prompt_words": words(rendering.text),
        "output_words": 0,
    }
    append(rendering.prompt.path / USAGE, row)


def send(
    rendering: Rendered,
    model: str,
    *,
    env: Mapping[str, str],
    timeout_s: float | None = None,
    tell: Callable[[str], None] | None = None,
    offline: bool = False,
) -> Sent:
    """Sends a prompt, and keeps that it was.

    Args:
        model: The model's id.
        env: The environment: keys and addresses.
        tell: Given the answer, where there is one.
        offline: Whether the answer is scripted, so that no gate counts it.

    Raises:
        UsageError: Nobody knows the model, or it lacks its key.
        StoreError: The run or the row cannot be kept.
    """
    prompt = rendering.prompt
    content = content_of(prompt)  # as it is now, whatever happens to its files meanwhile
    provider = Roster(prompt.library.root, env)(model, timeout_s)
    if key := key_missing(provider):
        raise UsageError(NO_KEY.format(model), hint=f"{set_key(key)} Or use --offline.")
    plan = _plan(rendering, provider, content, offline=offline)
    home = home_for(prompt.library.root) / SENDS
    finished = run(plan, Settings(home=home, cache=False))
    with RunFile.open(finished.path) as file:
        trial = file.trial(0)
        record = row_of(file)
    output = trial.output if trial is not None and record["exit_code"] == 0 else None
    verified, complaint = _verdict(trial)
    error = "" if output is not None else _why(trial, finished.ending.message)
    row = {
        "ts": now(),
        **record,
        "duration_ms": round((time.perf_counter() - rendering.started) * 1000),
        "prompt_words": words(rendering.text),
        "output_words": words(output or ""),
    }
    if error:
        row["error"] = error[:500]
    # Kept before the answer is told, so that a closed pipe cannot lose the row.
    append(prompt.path / USAGE, row)
    if output is not None and tell is not None:
        tell(output)
    return Sent(output, error, verified, complaint, row)


def killed_send(prompt: PromptFolder) -> str:
    """What may have been paid for by the last send of a prompt, where it was killed before its row was kept.

    Empty where there is none. It is told until a later send has a row.

    Raises:
        StoreError: The rows cannot be read.
    """
    with_rows = {row.get("run") for row in read(prompt.path / USAGE).rows}
    for path in paths(home_for(prompt.library.root) / SENDS)[:_LOOKED_AT]:
        with contextlib.suppress(StoreError), RunFile.open(path) as run:
            if run.plan_title != prompt.id or run.alive:
                continue
            if run.meta.id in with_rows:
                return ""
            if run.trial(0) is not None:
                return f"the last send was killed after its answer, which is paid for: evenhand show {path}"
            if run.in_doubt():
                return "the last send was killed while its call was in flight: it may have been charged for"
            if any(call.end is not None and not call.end.error for call in run.calls()):
                return "the last send was killed after its answer, which is paid for, and before it was recorded"
    return ""


def row_of(run: RunFile) -> dict[str, Any]:
    """What the run of a send says of it, as its row has it: all but times and numbers of words."""
    request, trial = run.meta.config.get("send"), run.trial(0)
    if not is_mapping(request):
        return {}
    calls = [call for call in run.calls() if call.end is not None and not call.end.error]
    answered = trial is not None and isinstance(trial.output, str)
    return {
        **request,
        "sent": True,
        "exit_code": 0 if answered else FAILED,
        "verified": _verdict(trial)[0] if answered else None,
        "model_answered": next((c.end.model or None for c in calls if c.end), None),
        "address": next((address_in(call.start.identity) for call in calls), ""),
        "tokens_in": trial.tokens_in if trial else None,
        "tokens_out": trial.tokens_out if trial else None,
        "cost_usd": trial.cost_usd if trial else None,
        "run": run.meta.id,
        "run_digest": digest_of(run),
    }


def _about(rendering: Rendered, content: Content) -> dict[str, Any]:
    """What a row of usage is about."""
    return {
        "prompt": rendering.prompt.id,
        "case": rendering.case or None,
        "vars_hash": vars_hash(rendering.values),
        "text_hash": text_hash(rendering.text),
        "content": content.sent,
        "prompt_hash": content.prompt,
        "hooks_hash": content.hooks,
        "version": rendering.prompt.meta.version,
    }


def _verdict(trial: TrialResult | None) -> tuple[bool | None, str]:
    """What verify.sh said of the answer, and in which words; None where it did not look."""
    if trial is None or not trial.outcomes:
        return None, ""
    outcome = trial.outcomes[0]
    complaint = outcome.metadata.get("said")
    words_of_it = (
        complaint
        if isinstance(complaint, str) and complaint
        else "\n  ".join(filter(None, [outcome.reason, outcome.hint]))
    )
    return outcome.outcome == "pass", words_of_it


def _why(trial: TrialResult | None, ending: str) -> str:
    if trial is not None and trial.error is not None:
        return trial.error.message
    return ending or "there was no answer"


def _not_run(prompt: PromptFolder, name: str) -> str:
    path = prompt.path / name
    if path.exists() and not is_hook(path):
        return f"{name} is not run: it is not executable (chmod +x {path})"
    return ""


def _plan(rendering: Rendered, provider: Provider, content: Content, *, offline: bool) -> Plan:
    """One prompt, sent once."""
    prompt = rendering.prompt

    async def send(trial: Trial) -> object:
        trial.show(rendering.values)
        request = Prompt((Message("user", rendering.text),), rendering.text, vars=rendering.values)
        reply = await trial.model(provider, "subject").generate(request)
        verify = prompt.path / VERIFY
        if is_hook(verify):
            limit_s = prompt.meta.hook_limit_s
            scorer = Verified(verify, prompt.id, rendering.case, rendering.values, limit_s)
            trial.expect(Expectation(reply.text, scorer))
        return reply.text

    variant = Variant(0, prompt.id, provider.label, "", provider.id)
    row = Row(
        cases=(Case(rendering.case or prompt.id, rendering.values),),
        slots=lambda *_: [Slot(variant=variant, body=send)],
    )
    about = {**_about(rendering, content), "model": provider.id, "offline": offline}
    return Plan(
        title=prompt.id,
        sheets=[
            Sheet(
                variants=[variant],
                rows=lambda: iter([row]),
                case_count=1,
                size=1,
                providers=lambda: [provider],
            )
        ],
        identify=lambda: digest(rendering.text, provider.id, content.sent),
        record=lambda: {"send": about},
        source=str(prompt.library.root),
        options=RunOptions(cache=False, retries=project_for(prompt.library.root).retries),
    )


def variables(pairs: Sequence[str], file: Path | None) -> dict[str, object]:
    """What was given on the command line: NAME=VALUE in order, and a file's text as `file_contents`.

    Raises:
        UsageError: One of them is none, or the file cannot be read.
    """
    values: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--var: {pair!r} is not NAME=VALUE")
        values[name.strip()] = value
    if file is not None:
        try:
            values["file_contents"] = file.read_text("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"--var-file: {file} is not UTF-8") from None
        except OSError as error:
            raise UsageError(f"--var-file: {file}: {error.strerror or error}") from None
    return values


def as_json(sent: Sent) -> str:
    """A send for programs: the answer, and its row."""
    answer = {"output": sent.output, "error": sent.error or None, "row": sent.row}
    return encode({**answer, "verify": sent.complaint}).decode()

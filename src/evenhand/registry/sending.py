"""Renders a prompt, and sends it: guard.sh, the model, verify.sh, and a row of usage for each time.

How this works: a send is a plan of one trial, so that it is retried, priced and limited like any other call. Its run is
kept nowhere: what is kept of it is the row, and the answer is with whoever asked. Nothing comes from the cache: a row
is evidence of a use.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import CodeError, Problem, UsageError
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Prompt, Reply
from evenhand.core.plan import CallEstimate, RunOptions, Step
from evenhand.core.provider import Provider
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.documents.findings import shown_path
from evenhand.engine.door import Settings, run, waited_for
from evenhand.registry.content import Content, content_of
from evenhand.registry.counting import words
from evenhand.registry.evidence import USAGE, append, now
from evenhand.registry.hooks import guarded, hook_env, is_hook, run_hook
from evenhand.registry.library import GUARD, TEMPLATE, VERIFY
from evenhand.registry.models import Models
from evenhand.registry.prompt import PromptFolder
from evenhand.registry.rendering import merged, render, vars_hash
from evenhand.store.runfile import RunFile

FAILED = 1


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as it would be sent.

    Attributes:
        case: The example whose inputs it has; empty for none.
        notes: Lines of the guard that set nothing, and hooks that cannot be run.
    """

    prompt: PromptFolder
    case: str
    text: str
    values: Mapping[str, object]
    started: float
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sent:
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
    prompt: PromptFolder, case: str, inputs: Mapping[str, object], given: Mapping[str, object]
) -> Rendered:
    """Fills a prompt in: the case's inputs, what was given over them, and over all what guard.sh sets.

    Raises:
        CodeError: The guard said no, or could not be run.
        TemplateError: A variable has no value.
    """
    started = time.perf_counter()
    values = merged(prompt.defaults, inputs, given)
    notes = [_not_run(prompt, name) for name in (GUARD, VERIFY)]
    if is_hook(prompt.path / GUARD):
        ran = waited_for(
            guarded(prompt.path / GUARD, prompt.id, case, values, prompt.meta.hook_limit_s)
        )
        found, others = ran.values()
        values = merged(values, found)
        notes += [f"guard.sh: sets nothing: {line[:200]}" for line in others[:20]]
    text = render(prompt.template, values, shown_path(prompt.path / TEMPLATE))
    return Rendered(prompt, case, text, values, started, tuple(filter(None, notes)))


def log_dry(given: Rendered) -> None:
    """Keeps that a prompt was rendered and not sent."""
    content = content_of(given.prompt)
    append(given.prompt.path / USAGE, _row(given, content, sent=False))


def send(
    given: Rendered,
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
        tell: Given the answer as soon as it is there, before verify.sh has seen it.
        offline: Whether the answer is scripted, so that no gate counts it.

    Raises:
        UsageError: Nobody knows the model.
        StoreError: The row cannot be kept.
    """
    prompt = given.prompt
    content = content_of(prompt)  # as it is now, whatever happens to its files meanwhile
    provider = Models(env, prompt.library.root)(model, timeout_s)
    plan = _Sending(given, provider)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        finished = run(plan, Settings(home=Path(folder), cache=False))
        with RunFile.open(finished.path) as file:
            trial = file.trial(0)
    output = plan.reply.text if plan.reply is not None else None
    verified, complaint = None, ""
    if output is not None:
        if tell is not None:
            tell(output)
        verified, complaint = _verified(given, output)
    error = "" if output is not None else _why(trial, finished.ending.message)
    row = _row(given, content, sent=True)
    row.update(
        exit_code=0 if output is not None else FAILED,
        verified=verified,
        output_words=words(output or ""),
        model=provider.id,
        offline=offline,
        **_spent(plan.reply, trial),
    )
    if error:
        row["error"] = error[:500]
    append(prompt.path / USAGE, row)
    return Sent(output, error, verified, complaint, row)


def _row(given: Rendered, content: Content, *, sent: bool) -> dict[str, Any]:
    return {
        "ts": now(),
        "case": given.case or None,
        "vars_hash": vars_hash(given.values),
        "sent": sent,
        "exit_code": 0,
        "verified": None,
        "duration_ms": round((time.perf_counter() - given.started) * 1000),
        "prompt_words": words(given.text),
        "output_words": 0,
        "content": content.sent,
        "prompt_hash": content.prompt,
        "hooks_hash": content.hooks,
        "version": given.prompt.meta.version,
    }


def _spent(reply: Reply | None, trial: TrialResult | None) -> dict[str, Any]:
    return {
        "model_answered": reply.model or None if reply else None,
        "tokens_in": trial.tokens_in if trial else None,
        "tokens_out": trial.tokens_out if trial else None,
        "cost_usd": trial.cost_usd if trial else None,
    }


def _why(trial: TrialResult | None, ending: str) -> str:
    if trial is not None and trial.error is not None:
        return trial.error.message
    return ending or "there was no answer"


def _verified(given: Rendered, output: str) -> tuple[bool | None, str]:
    """What verify.sh says of an answer; None, and why, where it could not say."""
    path = given.prompt.path / VERIFY
    if not is_hook(path):
        return None, ""
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        file = Path(folder) / "output.txt"
        file.write_text(output, "utf-8", "surrogatepass", newline="")
        env = hook_env(given.prompt.id, given.case, given.values)
        try:
            ran = waited_for(
                run_hook(
                    path, {**env, "EVA_OUTPUT_FILE": str(file)}, given.prompt.meta.hook_limit_s
                )
            )
        except CodeError as error:
            return False, str(error)
    return ran.code == 0, (ran.complaint or ran.said).strip()[-1000:]


def _not_run(prompt: PromptFolder, name: str) -> str:
    path = prompt.path / name
    if path.exists() and not is_hook(path):
        return f"{name} is not run: it is no file that may be executed (chmod +x {path})"
    return ""


@dataclass(slots=True)
class _Sending:
    """One prompt, sent once. Implements `evenhand.core.plan.Plan`."""

    given: Rendered
    provider: Provider
    reply: Reply | None = field(default=None, init=False)
    size: int = 1
    case_count: int = 1
    repeats: int = 1
    hints: Sequence[Problem] = ()

    @property
    def title(self) -> str:
        return self.given.prompt.id

    @property
    def source(self) -> str:
        return str(self.given.prompt.library.root)

    @property
    def fingerprint(self) -> str:
        return digest(self.given.text, self.provider.id)

    @property
    def variants(self) -> Sequence[Variant]:
        return (Variant(0, self.given.prompt.id, self.provider.label, "", self.provider.id),)

    @property
    def providers(self) -> Sequence[Provider]:
        return (self.provider,)

    @property
    def options(self) -> RunOptions:
        return RunOptions(cache=False)

    @property
    def config(self) -> Mapping[str, Any]:
        return {}

    def steps(self) -> Iterator[Step]:
        case = Case(self.given.case or self.given.prompt.id, self.given.values)
        yield Step(0, case, self.variants[0], 0, self._send)

    def estimate(self) -> Sequence[CallEstimate]:
        return ()

    async def _send(self, trial: Trial) -> object:
        text = self.given.text
        asked = Prompt((Message("user", text),), text, vars=self.given.values)
        self.reply = await trial.model(self.provider, "subject").generate(asked)
        return self.reply.text


def variables(pairs: Sequence[str], file: Path | None) -> dict[str, object]:
    """What was given on the command line: NAME=VALUE in order, and a file's text as `file_contents`.

    Raises:
        UsageError: One of them is none, or the file cannot be read.
    """
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--var: {pair!r} is not NAME=VALUE")
        found[name.strip()] = value
    if file is not None:
        try:
            found["file_contents"] = file.read_text("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"--var-file: {file} is not UTF-8") from None
        except OSError as error:
            raise UsageError(f"--var-file: {file}: {error.strerror or error}") from None
    return found


def as_json(sent: Sent) -> str:
    """A send for programs: the answer, and its row."""
    said = {"output": sent.output, "error": sent.error or None, "row": sent.row}
    return encode({**said, "verify": sent.complaint}).decode()

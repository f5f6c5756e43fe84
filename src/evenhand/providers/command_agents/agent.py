"""An agent that is a program: `agent:claude`, `agent:codex`, `agent:python3 agent.py`.

How this works: for each call, the program is run in a fresh folder, a copy of a template where one is named, inside
`bwrap` where that works. As the agent of a conversation, it has one folder for all turns, and Claude Code and Codex go
on with their own session. It is given the prompt on its standard input. What it prints is read as steps and an answer;
what it leaves in the folder is told beside the answer. All of it is the recorded answer, so a replayed call has the
same steps and files. A program that cannot be run, ends with an error or takes too long says nothing of the agent: that
is an error of the infrastructure.
"""

from __future__ import annotations

import inspect
import os
import shlex
import shutil
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from evenhand.core.arguments import checked_class, past_checks
from evenhand.core.conversing import turns_here
from evenhand.core.encoding import decoded, digest, encode
from evenhand.core.errors import BadReply, InfrastructureError, UsageError
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.names import did_you_mean
from evenhand.core.program_output import complaint_of
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.record import Record
from evenhand.providers.chat import seconds
from evenhand.providers.command_agents.folder import (
    TurnFolder,
    fresh_folder,
    template_digest,
    what_is_left,
)
from evenhand.providers.command_agents.reading import read_transcript
from evenhand.providers.command_agents.running import Ran, run_program, sandbox_here
from evenhand.providers.command_agents.transcript import FORMATS, Format, Line
from evenhand.providers.local_code import code_digest, command_files
from evenhand.providers.prices import call_bound
from evenhand.providers.wanted import Wanted

LIMIT_S = 600.0
ALWAYS = ("PATH", "HOME")
SANDBOXES = ("auto", "required", "none")
Sandboxed = Literal["auto", "required", "none"]


class _Known(Record, frozen=True, kw_only=True):
    """A program whose options we know.

    Attributes:
        format: How it prints what it does.
        verb: A word that goes first, where it is not there.
        options: What goes before its other arguments, each where its first word is not there.
        env: Variables that it reads its account from.
        writable: What it writes to, below the home folder.
        resuming: What goes before the id of a session to go on with one.
        forgetful: The option with which it keeps no sessions.
    """

    format: Format
    verb: str
    options: Sequence[Sequence[str]]
    env: Sequence[str]
    writable: Sequence[str]
    resuming: str
    forgetful: str


KNOWN: Mapping[str, _Known] = {
    "claude": _Known(
        format="claude",
        verb="",
        options=(("-p",), ("--output-format", "stream-json"), ("--verbose",)),
        env=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
        ),
        writable=(".claude", ".claude.json"),
        resuming="--resume",
        forgetful="--no-session-persistence",
    ),
    "codex": _Known(
        format="codex",
        verb="exec",
        options=(("--json",), ("--skip-git-repo-check",)),
        env=("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"),
        writable=(".codex",),
        resuming="resume",
        forgetful="--ephemeral",
    ),
}
"""Programs whose options we know, by their names."""

_SETTINGS: Mapping[str, str] = {
    "template": "template",
    "model": "model",
    "format": "format",
    "sandbox": "sandbox",
    "network": "network",
    "passEnv": "pass_env",
    "writable": "writable",
    "timeoutMs": "timeout_s",
}
"""What a config says → the parameter."""

_BESIDE = frozenset({"maxCost", "cost", "inputCost", "outputCost"})


class _Said(Record, frozen=True):
    """What a program is given.

    Attributes:
        text: The prompt: of a conversation, all that was said.
        only: Nothing else was said.
    """

    text: str
    last: str
    only: bool


@checked_class
@dataclass(slots=True)
class CommandAgent:
    """An agent that is a program, run in a folder of its own for each call, or for each conversation.

    Attributes:
        command: The program and its arguments, as in a shell: `claude`, `codex`, `python3 agent.py --fast`. Those of
            Claude Code and Codex are completed: `claude` is `claude -p --output-format stream-json --verbose`.
        template: A folder that each call is given a copy of; relative to the file that names it. None for an empty one.
        model: The model that Claude Code or Codex is to use; empty for its own choice.
        format: How it prints what it does: `claude`, `codex`, `steps` (our JSON lines) or `text`; `auto` looks at it.
        sandbox: `auto` runs it in `bwrap` where that works, `required` nowhere else, `none` without.
        network: Whether it has a network. Without one, it needs the sandbox.
        pass_env: The names of variables that it is given beside PATH, HOME and, for Claude Code and Codex, those of
            their accounts.
        writable: What it may write to beside its own folder; `~` is the home folder.
        timeout_s: The seconds that it may take.
        label: Its name in reports.
        max_cost_usd: What one call costs at most, so that a budget can hold; None where nobody says.

    Raises:
        UsageError: One of them is not what it should be.
    """

    command: str
    template: str | Path | None = None
    model: str = ""
    format: Format = "auto"
    sandbox: Sandboxed = "auto"
    network: bool = True
    pass_env: Sequence[str] = ()
    writable: Sequence[str | Path] = ()
    timeout_s: float = LIMIT_S
    label: str = ""
    max_cost_usd: float | None = None
    base: Path | None = field(default=None, repr=False)
    env: Mapping[str, str] | None = field(default=None, repr=False)
    id: str = field(init=False, default="")
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=True)
    tasks: frozenset[Task] = field(init=False, default=CHATS)
    _words: list[str] = field(init=False, repr=False, default_factory=list[str])
    _code: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        if self.base is None:
            frame = inspect.currentframe()
            made_by = frame.f_back if frame else None  # what the dataclass has written
            caller = past_checks(made_by.f_back) if made_by else None
            file = Path(caller.f_code.co_filename) if caller else Path()
            self.base = file.resolve().parent if file.is_file() else Path.cwd()
        self.base = Path(self.base)  # a text is taken, too
        self.id = f"agent:{self.command}"
        self.label = self.label or self.id
        self.account = self.id
        wrong = list(self._wrong())
        if wrong:
            raise UsageError(f"{self.id}: {'; '.join(wrong)}")
        self._words = shlex.split(self.command)
        if self.template is not None:
            self.template = self.base / self.template
        self._code = code_digest(*command_files(self._words, self.base))

    def _wrong(self) -> Sequence[str]:
        """What is wrong with how it is described."""
        wrong: list[str] = []
        try:
            if not shlex.split(self.command):
                wrong.append("it names no program")
        except ValueError as error:
            wrong.append(f"the command cannot be read: {error}")
        assert self.base is not None  # noqa: S101 (set above)
        if self.template is not None and not (self.base / self.template).is_dir():
            wrong.append(f"the template {self.base / self.template} is not a folder")
        for name, value, there in (
            ("format", self.format, FORMATS),
            ("sandbox", self.sandbox, SANDBOXES),
        ):
            if value not in there:
                near = did_you_mean(str(value), there, f"There are: {', '.join(there)}.")
                wrong.append(f"{name} is {value!r}. {near}")
        if not isinstance(self.network, bool):  # pyright: ignore[reportUnnecessaryIsInstance] (users' settings are not checked)
            wrong.append(f"network is {self.network!r}, neither true nor false")
        for name, value in (("pass_env", self.pass_env), ("writable", self.writable)):
            if isinstance(value, str):
                wrong.append(f"{name} is {value!r}, not a list of names")
        if not 0 < self.timeout_s < 1e8:
            wrong.append(f"timeout is {self.timeout_s!r}, not a number of seconds")
        if not self.network and self.sandbox == "none":
            wrong.append("network is false, and nothing but the sandbox can take it away")
        if self.model and not self._known():
            wrong.append(
                "model is for claude and codex; write the model of another program into its command"
            )
        return wrong

    def _known(self) -> _Known | None:
        try:
            words = shlex.split(self.command)
        except ValueError:
            return None
        return KNOWN.get(Path(words[0]).name) if words else None

    def words(self, session: str = "") -> list[str]:
        """The command as it is run, the sandbox not counted.

        Args:
            session: The session that it goes on with, of Claude Code and Codex; empty for a new one.
        """
        program, *arguments = self._words
        known = self._known()
        if known is None:
            return [self._program(program), *arguments]
        words = [program]
        if known.verb and known.verb not in arguments:
            words.append(known.verb)
        elif known.verb:
            words.append(arguments.pop(arguments.index(known.verb)))
        for option in known.options:
            if not set(arguments) & _same_option(option[0]):
                words += option
        if self.model and "--model" not in arguments:
            words += ["--model", self.model]
        return [*words, *arguments, *([known.resuming, session] if session else ())]

    def _keeps_sessions(self) -> bool:
        known = self._known()
        return known is not None and known.forgetful not in self._words

    def _program(self, program: str) -> str:
        """Where a program is that a path names: it is run in a folder of its own."""
        assert self.base is not None  # noqa: S101 (set when it was made)
        here = self.base / program
        return str(here.resolve()) if "/" in program and here.exists() else program

    def request(self, prompt: Prompt) -> Request:
        template = "" if self.template is None else template_digest(Path(self.template))
        of_turn = {} if turns_here() is None else {"conversation": True}
        identity = encode(
            {
                "code": self._code,  # the first of its keys: by that an agent is known
                "command": self.command,
                **of_turn,
                "format": self.format,
                "model": self.model,
                "network": self.network,
                "prompt": prompt.text,
                "sandbox": self.sandbox,
                "template": template,
                "vars": {},
            }
        )
        messages = prompt.messages
        last = str(messages[-1].content) if messages else prompt.text
        bound = call_bound({**prompt.config}) if self.max_cost_usd is None else self.max_cost_usd
        return Request(
            identity=identity,
            key=digest(identity),
            payload=_Said(prompt.text, last, only=len(messages) == 1),
            deterministic=False,
            cost_bound_usd=bound,
        )

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        sandbox = sandbox_here() if self.sandbox != "none" else None
        needed = "sandbox is required" if self.sandbox == "required" else ""
        needed = needed or ("" if self.network else "network is false")
        if sandbox is not None and not sandbox.program and needed:
            raise InfrastructureError(
                f"{self.id}: {needed}, and {sandbox.why}", hint="Install bubblewrap."
            )
        known = self._known()
        home = Path(self._environment().get("HOME") or Path.home())
        writable = [home / one for one in (known.writable if known else ())]
        writable += [
            home / str(one)[2:] if str(one)[:2] == "~/" else Path(one) for one in self.writable
        ]
        template = None if self.template is None else Path(self.template)
        started = time.perf_counter()
        try:
            with self._folder(template) as (own, session):
                words = self._found(self.words(session))
                if sandbox is not None and sandbox.program:
                    words = sandbox.command(
                        words,
                        own,
                        readable=self._readable(words),
                        writable=writable,
                        network=self.network,
                    )
                ran = await run_program(
                    words,
                    self._given(request.payload, session),
                    name=self.id,
                    folder=own,
                    env=self._environment(),
                    limit_s=self.timeout_s,
                )
                took = time.perf_counter() - started
                left = what_is_left(own, template)
        except OSError as error:
            raise InfrastructureError(f"{self.id}: its folder cannot be made: {error}") from error
        self._check(ran)
        report = {
            "exit_code": ran.code,
            "format": self._format(),
            "left": asdict(left),
            "lines": ran.lines,
            "sandbox": self._said(sandbox.why if sandbox else "none"),
        }
        return Answer(encode({"agent": report}, ordered=False), took)

    @contextmanager
    def _folder(self, template: Path | None) -> Generator[tuple[Path, str]]:
        """The folder to run it in, and the session that it goes on with; empty for none."""
        turns = turns_here()
        if turns is None:
            with fresh_folder(template) as own:
                yield own, ""
            return
        folder = turns.kept(self.id, lambda: TurnFolder(self.id, template))
        own = folder.begin()
        yield own, folder.session if self._keeps_sessions() else ""
        folder.ran(own)

    def _given(self, prompt: _Said, session: str) -> str:
        """What is written to its standard input."""
        in_words = turns_here() is not None and self._known() is not None
        return prompt.last if session or (in_words and prompt.only) else prompt.text

    def _said(self, why: str) -> str:
        """How it was run, in words."""
        network = "with" if self.network else "without"
        if why == "none":
            return "no sandbox: the settings say so"
        return f"no sandbox: {why}" if why else f"bwrap, {network} network"

    def _format(self) -> Format:
        known = self._known()
        return known.format if known is not None and self.format == "auto" else self.format

    def _found(self, words: list[str]) -> list[str]:
        """The command, with where its program is; relative arguments that are files of the base are made absolute."""
        assert self.base is not None  # noqa: S101 (set when it was made)
        program = shutil.which(words[0], path=self._environment().get("PATH"))
        if program is None:
            raise InfrastructureError(
                f"{self.id}: there is no program {words[0]}",
                hint="Install it, or write where it is.",
            )
        rest = [
            str((self.base / word).resolve()) if (self.base / word).is_file() else word
            for word in words[1:]
        ]
        return [program, *rest]

    def _readable(self, words: Sequence[str]) -> list[Path]:
        """What the command needs, wherever it lies."""
        assert self.base is not None  # noqa: S101 (set when it was made)
        files = [Path(word) for word in words if word.startswith("/") and Path(word).is_file()]
        return [
            self.base,
            *(file.parent for file in files),
            *(file.resolve().parent for file in files),
        ]

    def _environment(self) -> dict[str, str]:
        """The variables that it is given."""
        known = self._known()
        names = (*ALWAYS, *(known.env if known else ()), *self.pass_env)
        env = os.environ if self.env is None else self.env
        return {name: value for name in names if (value := env.get(name)) is not None}

    def _check(self, ran: Ran) -> None:
        """Refuses a run that failed for reasons that are not the agent's."""
        _, transcript = read_transcript(ran.lines, self._format())
        problem = transcript.failed
        if ran.code and not transcript.ended:
            signal = (
                f"was ended by signal {-ran.code}"
                if ran.code < 0
                else f"ended with code {ran.code}"
            )
            why = problem or complaint_of(ran.errors)
            problem = f"{signal}: {why}" if why else signal
        if not problem and transcript.output is None:
            problem = "printed no answer" + (f": {complaint_of(ran.errors)}" if ran.errors else "")
        if problem:
            raise InfrastructureError(
                f"{self.id} {problem}" if ran.code else f"{self.id}: {problem}",
                billed=None,
                hint="The trial says nothing of the agent. Ask again with `evenhand resume --errors`.",
            )

    def reply(self, body: bytes) -> Reply:
        reply = agent_reply(body)
        if reply is None:
            raise BadReply(f"{self.id}: the recorded answer is none of a program's")
        return reply

    async def close(self) -> None:
        """Holds nothing."""


def agent_reply(body: bytes) -> Reply | None:
    """What a program answered, as it was recorded; None for what is no such record."""
    report = as_mapping(as_mapping(decoded(body)).get("agent"))
    if "lines" not in report:
        return None
    lines: list[Line] = [
        (float(line[0]), str(line[1]))
        for line in as_array(report["lines"])
        if len(as_array(line)) == 2
    ]
    form = report.get("format")
    format_, transcript = read_transcript(lines, form if form in FORMATS else "auto")
    output = transcript.output
    text = output if isinstance(output, str) else encode(output, ordered=False).decode()
    left = as_mapping(report.get("left"))
    metadata: dict[str, Any] = {
        "files": left.get("files") or {},
        **{name: left[name] for name in ("deleted", "omitted") if left.get(name)},
        "sandbox": report.get("sandbox"),
        "format": format_,
        **({"session": transcript.session} if transcript.session else {}),
    }
    return Reply(
        text=text,
        output=output,
        usage=transcript.usage,
        cost_usd=transcript.cost_usd,
        model=transcript.model,
        finish_reason=transcript.ended,
        metadata=metadata,
        steps=transcript.steps,
    )


def _same_option(option: str) -> set[str]:
    return {option, "--print"} if option == "-p" else {option}


def make(wanted: Wanted) -> CommandAgent:
    """A program, with what its config says.

    Raises:
        UsageError: The config says what it cannot.
    """
    config = wanted.config
    settings: dict[str, Any] = {}
    for name, value in config.items():
        if name in _BESIDE or value is None:
            continue
        if name not in _SETTINGS:
            near = did_you_mean(name, _SETTINGS, f"There are: {', '.join(_SETTINGS)}, maxCost.")
            raise wanted.refused(f"has no setting '{name}'", near)
        settings[_SETTINGS[name]] = value
    if "timeout_s" in settings:
        settings["timeout_s"] = seconds(config, wanted.id, "timeoutMs")
    for name in ("pass_env", "writable"):
        if name in settings and not isinstance(settings[name], list):
            raise wanted.refused(f"has {name} {settings[name]!r}, not a list")
    command = wanted.rest.strip()
    return CommandAgent(
        command,
        **settings,
        label=wanted.label,
        max_cost_usd=call_bound(config),
        base=wanted.base,
        env=wanted.env,
    )

"""A program that stands for a model: it is given the prompt as its first argument, and what it prints is the answer."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import FailedCode, NoOutput, TimedOut
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.program_output import complaint_of, printed_until_end
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.record import MutableRecord
from evenhand.core.secrets import redacted, secrets_mark
from evenhand.providers.chat import seconds
from evenhand.providers.local_code import (
    asked_of_code,
    code_digest,
    command_files,
    files_mark,
    shown_to_code,
)
from evenhand.providers.prices import call_bound
from evenhand.providers.wanted import Wanted

LIMIT_S = 60.0


class ProcessProvider(MutableRecord, kw_only=True):
    """A program run once for each prompt, without a shell. Implements `evenhand.core.provider.Provider`."""

    id: str
    label: str
    command: str
    folder: Path
    config: Mapping[str, Any]
    limit_s: float = LIMIT_S
    account: str = ""
    paid: bool = True
    tasks: frozenset[Task] = CHATS
    _code: str = ""

    def __post_init__(self) -> None:
        self.account = self.id
        self._code = code_digest(*self.files, below=self.folder)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the command, whose code decides what it answers."""
        with contextlib.suppress(ValueError):  # a quote that is not closed is told when it is run
            return command_files(shlex.split(self.command), self.folder)
        return ()

    def request(self, prompt: Prompt) -> Request:
        config = {**self.config, **prompt.config, "basePath": str(self.folder)}
        options = encode({"id": self.id, "config": config}, ordered=False).decode()
        context = encode(shown_to_code(prompt), ordered=False).decode()
        identity = encode(
            {
                "code": self._code,
                "command": self.command,
                "options": redacted({**self.config, **prompt.config}),
                **asked_of_code(prompt),
            }
        )
        return Request(
            identity=identity,
            key=digest(identity),
            payload=(prompt.text, options, context),
            cost_bound_usd=call_bound({**self.config, **prompt.config}),
            unsent=secrets_mark({**self.config, **prompt.config})
            + files_mark([self.config, prompt.config, prompt.vars], self.folder),
        )

    async def send(self, request: Request, host: Host) -> Answer:
        del host
        started = time.perf_counter()
        out = await printed_by(self.command, request.payload, self.folder, self.limit_s)
        if not out:
            raise NoOutput(
                f"{self.command} printed nothing",
                hint="An answer that is meant to be empty is an empty line.",
            )
        return Answer(out, time.perf_counter() - started)

    def reply(self, body: bytes) -> Reply:
        text = body.decode("utf-8", "replace").strip()
        return Reply(text=text, output=text)

    async def close(self) -> None:
        """Holds nothing."""


async def printed_by(command: str, arguments: Sequence[str], folder: Path, limit_s: float) -> bytes:
    """What a program prints. It is run without a shell, and ended with all that it started when it takes too long.

    Args:
        command: The program, and arguments that come before the others.

    Raises:
        FailedCode: It cannot be run, or ended with an error.
        TimedOut: It took longer than `limit_s` seconds.
    """
    try:
        program = shlex.split(command)
        if not program or not program[0]:
            raise ValueError("it names no program")  # noqa: TRY301 (told like the rest; the prompt is never one)
        process = await asyncio.create_subprocess_exec(
            *program,
            *arguments,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that what it starts ends with it
        )
    except (OSError, ValueError) as error:
        raise FailedCode(f"{command} cannot be run: {error}") from error
    try:
        out, err = await asyncio.wait_for(printed_until_end(process), limit_s)
    except TimeoutError:
        raise TimedOut(f"{command} took longer than {limit_s:g} s", billed=None) from None
    if process.returncode:
        raise FailedCode(f"{command} ended with code {process.returncode}: {complaint_of(err)}")
    return out


def make(wanted: Wanted) -> ProcessProvider:
    """A program, run in the folder that paths start from."""
    command = wanted.rest.strip()
    config = wanted.config
    limit_s = seconds(config, wanted.id, "timeout") if config.get("timeout") else LIMIT_S
    return ProcessProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        command=command,
        folder=wanted.base,
        config=config,
        limit_s=limit_s,
    )

"""Cells that are asked again from the page: each in a process of its own, one run at a time.

How this works: see `evenhand.wings.viewer.asking`, which the processes run. They are in a session of their own, so that
Ctrl-C in the viewer's terminal doesn't reach them: what was begun is finished, and a viewer that is killed takes no
run with it. A second Ctrl-C, and Stop on the page, interrupt the run, which `evenhand resume` then goes on with.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import field

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.json_shapes import is_mapping, is_object
from evenhand.core.ranges import BUDGET_USD
from evenhand.core.record import MutableRecord, Record
from evenhand.store.run_lookup import new_id
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import Refused

READ_WITHIN_S = 120.0
"""Seconds for reading the project's files: they may import much."""
_LOOK_S = 0.05
_SHOWN = 600
"""Bytes of what a process said that are shown where it ended without an answer."""


class _Job(Record, frozen=True):
    """A run that was begun: its id, its file, and its process."""

    id: str
    file: Path
    process: Process
    out: BinaryIO
    err: BinaryIO

    @property
    def over(self) -> bool:
        """Whether the process has ended."""
        return self.process.returncode is not None

    def problem(self) -> UsageError:
        """Why it ended without a run."""
        self.out.seek(0)
        self.err.seek(0)
        return _problem(self.out.read(), self.err.read())


class Asks(MutableRecord):
    """What is asked again from one viewer's page.

    Attributes:
        tell: Says something on the terminal.
    """

    tell: Callable[[str], None]
    _job: _Job | None = None
    _starting: bool = False
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, do: str, file: Path, cell: int, body: Mapping[str, Any]) -> Any:
        """What of a cell can be edited (`offer`), or what it would take to run it edited (`estimate`).

        Raises:
            UsageError: It can't be asked again: why.
        """
        errand = {"do": do, "run": str(file), "cell": cell, **edits_in(body)}
        async with self._reading:  # one at a time, however often somebody presses
            return await _read(errand)

    async def start(self, file: Path, cell: int, body: Mapping[str, Any]) -> str:
        """Begins a run of an edited cell: its id, as soon as it has a file.

        Raises:
            Refused: Another one is under way.
            UsageError: It can't be asked so: why.
        """
        if self._starting or (self._job is not None and not self._job.over):
            raise Refused(
                409,
                "another cell is being asked: this viewer runs one at a time",
                "Wait until it has ended, or stop it.",
            )
        self._starting = True
        try:
            budget = body.get("max_cost_usd")
            if budget is not None and (
                isinstance(budget, bool)
                or not isinstance(budget, int | float)
                or budget not in BUDGET_USD
            ):
                raise UsageError("max_cost_usd: what the run may spend, in US dollars")
            id_ = new_id(file.parent.parent)
            errand = {
                "do": "run",
                "run": str(file),
                "cell": cell,
                "id": id_,
                "max_cost_usd": budget,
                **edits_in(body),
            }
            # Files and not pipes: a run outlives a viewer that is killed.
            out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 (closed with the job)
            if self._job is not None:
                self._job.out.close()
                self._job.err.close()
            process = await _started(out, err)
            self._job = job = _Job(id_, file.with_name(f"{id_}{file.suffix}"), process, out, err)
            assert process.stdin is not None  # noqa: S101 (a pipe)
            with contextlib.suppress(ConnectionError):
                process.stdin.write(encode(errand))
                await process.stdin.drain()
            process.stdin.close()
            while not _is_there(job.file):
                if job.over:
                    raise job.problem()
                await asyncio.sleep(_LOOK_S)
            return id_
        finally:
            self._starting = False

    def stop(self, run: str) -> None:
        """Interrupts the run that was begun.

        Raises:
            UsageError: It is no run that was begun here, or has ended.
        """
        job = self._job
        if job is None or job.id != run or job.over:
            raise UsageError("this page runs no such run", hint="It may have ended.")
        _interrupt(job.process)

    async def close(self) -> None:
        """Waits for the run that was begun; interrupts it where nobody wants to wait."""
        job = self._job
        if job is None or job.over:
            return
        self.tell(f"finishing run {job.id}, which the page began; Ctrl-C again interrupts it")
        try:
            await job.process.wait()
        except asyncio.CancelledError:
            _interrupt(job.process)
            await job.process.wait()
            self.tell(f"evenhand resume {job.id} continues it")
            raise


def edits_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says is otherwise: of this, and of nothing else, is anything passed on.

    Raises:
        UsageError: A part of it is of another kind.
    """
    prompt, values = body.get("prompt"), body.get("values") or {}
    variant, model = body.get("variant"), body.get("model") or ""
    if prompt is not None and not isinstance(prompt, str):
        raise UsageError("prompt: a text")
    if not is_mapping(values):
        raise UsageError("values: variables by name")
    if variant is not None and type(variant) is not int:
        raise UsageError("variant: the index of a variant")
    if not isinstance(model, str):
        raise UsageError("model: the id of a model")
    return {"prompt": prompt, "values": dict(values), "variant": variant, "model": model}


async def _read(errand: Mapping[str, Any]) -> Any:
    with tempfile.TemporaryFile() as err:
        process = await _started(PIPE, err)
        try:
            async with asyncio.timeout(READ_WITHIN_S):
                out, _ = await process.communicate(encode(errand))
        except TimeoutError:
            raise UsageError(
                f"the project's files were not read within {READ_WITHIN_S:g} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        answer = _answer(out)
        if answer is None or "error" in answer:
            err.seek(0)
            raise _problem(out, err.read())
        return answer


async def _started(out: int | BinaryIO, err: BinaryIO) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "evenhand.wings.viewer.asking",
        stdin=PIPE,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )


def _is_there(file: Path) -> bool:
    """Whether a run's file has been made, as far as it can be read."""
    if not file.exists():
        return False
    with contextlib.suppress(StoreError), RunFile.open(file):
        return True
    return False


def _interrupt(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)


def _answer(out: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        value = decode(out)
        if is_object(value):
            return value
    return None


def _problem(out: bytes, err: bytes) -> UsageError:
    """What a process answered that could not do what was asked; or the last that it said."""
    error = (_answer(out) or {}).get("error")
    if is_mapping(error):
        return UsageError(str(error.get("message")), hint=str(error.get("hint") or ""))
    lines = err[-_SHOWN:].decode("utf-8", "replace").strip().splitlines()
    return UsageError(
        "it ended without an answer",
        hint="It said last:\n" + "\n".join(lines[-4:]) if lines else "",
    )

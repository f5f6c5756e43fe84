"""Runs that a coding agent starts: commands of their own, within a budget that the agent cannot raise.

An agent is told of reviews too: people's notes, and how many outputs have each kind of failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import field

from evenhand.core.errors import UsageError
from evenhand.core.ranges import BUDGET_USD, ROWS, Range
from evenhand.core.record import MutableRecord
from evenhand.core.wording.words import short_id
from evenhand.store.home import holder, lock_of
from evenhand.store.run_lookup import files, find
from evenhand.store.runfile import RunFile
from evenhand.wings.coding_agents.advice import advice_on, advice_on_budget
from evenhand.wings.coding_agents.answers import (
    Answer,
    Next,
    Refused,
    answer,
    page,
    short,
    untrusted,
)
from evenhand.wings.coding_agents.reading import opened, summary

USAGE = 2
"""With this exit code, a command says that it was called wrongly, or that a file is wrong."""
OUT_OF_BUDGET = 4
"""With this one, that what it was allowed to spend is used up, or that a price is not known."""
PATIENCE_S = 20.0
"""How long a call waits for a run before it answers that the run goes on."""
_SHOWN = 2_000


class Started(MutableRecord, kw_only=True):
    """A run that was started here.

    Attributes:
        job: What the agent calls it.
        before: The run files before it.
        bound_usd: What it may spend.
        out: What it prints: its document.
        file: The run that it writes; None where that is not known, or where it has none.
        counted: Its cost is part of what was spent.
        texts: What it printed and said, once that was read; None before.
    """

    job: str
    process: Process
    before: frozenset[Path]
    bound_usd: float
    out: BinaryIO
    err: BinaryIO
    file: Path | None = None
    counted: bool = False
    texts: tuple[bytes, bytes] | None = None

    def written(self) -> tuple[bytes, bytes]:
        """What the command has written to stdout and stderr, once it has ended: the files are let go of."""
        if self.texts is None:
            self.out.seek(0)
            self.err.seek(0)
            self.texts = self.out.read(), self.err.read()
            self.out.close()
            self.err.close()
        return self.texts


class Runs(MutableRecord):
    """The runs of one server.

    Attributes:
        budget_usd: What all of them together may spend.
        spent_usd: What those that have ended spent. A run whose cost is not known counts with all that it might spend.
    """

    root: Path
    budget_usd: float
    spent_usd: float = 0.0
    _started: dict[str, Started] = field(default_factory=dict[str, Started])

    @property
    def left_usd(self) -> float:
        """What may still be spent, with all that is under way at its worst."""
        under_way = sum(one.bound_usd for one in self._started.values() if not one.counted)
        return max(0.0, self.budget_usd - self.spent_usd - under_way)

    async def start(
        self, path: str, *, first: int | None, max_cost_usd: float | None, offline: bool
    ) -> Answer:
        """Starts a run, and says what it came to, or that it goes on."""
        target = inside(self.root, path)
        refuse_outside(ROWS, "first", first)
        words = ["--first", str(first)] if first is not None else []
        return await self.begin(["run", *words], [target], max_cost_usd, offline=offline)

    async def begin(
        self, words: list[str], paths: list[str], max_cost_usd: float | None, *, offline: bool
    ) -> Answer:
        """Starts a command that asks models, and says what it came to, or that it goes on.

        Args:
            words: The command, with its options.
            paths: What it is about, as `inside` returns it.
            max_cost_usd: What it may spend, within the budget; None for all that is left.
            offline: It sends nothing.
        """
        refuse_outside(BUDGET_USD, "max_cost_usd", max_cost_usd)
        bound = self.left_usd if max_cost_usd is None else min(max_cost_usd, self.left_usd)
        if offline:
            bound = 0.0
        words = [*words, "--json", "--max-cost", f"{bound:.6f}"]
        words += ["--offline"] if offline else []
        words += ["--", *paths]
        out = tempfile.TemporaryFile()  # noqa: SIM115 (read once the command has ended)
        err = tempfile.TemporaryFile()  # noqa: SIM115 (the same)
        before = frozenset(files(self.root))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "evenhand",
            *words,
            cwd=self.root,
            stdin=DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,  # by which `_files_of` knows its run
        )
        job = f"job-{len(self._started) + 1}"
        self._started[job] = Started(
            job=job, process=process, before=before, bound_usd=bound, out=out, err=err
        )
        return await self.status(job)

    async def status(self, job: str) -> Answer:
        """How far a run is; what it came to, once it has ended."""
        started = self._started.get(job)
        if started is None:
            known = ", ".join(self._started) or "none so far"
            raise Refused(f"there is no {job!r}", hint=f"Started here: {known}.")
        try:
            async with asyncio.timeout(PATIENCE_S):
                await started.process.wait()
        except TimeoutError:
            return answer(
                {
                    "job": job,
                    "status": "running",
                    **self._progress(started),
                    "left_usd": self.left_usd,
                },
                [Next("status", "wait for it", {"job": job})],
            )
        return self._ended(started)

    async def check(self, path: str) -> Answer:
        """Reads a folder, lists its problems, and counts and prices its calls. Sends nothing."""
        target = inside(self.root, path)
        code, out, err = await self.done(["check", "--json", "--", target])
        content: dict[str, Any] = {"ok": code == 0, "left_usd": self.left_usd}
        if code != 0:
            lines = _lines(err)
            content["problems"] = [untrusted(line) for line in lines]
            return answer(
                content,
                [
                    *advice_on(lines),
                    Next("", "mend the problems in the files that they name"),
                    Next("check", "then check again", {"path": path}),
                ],
            )
        document: dict[str, Any] = json.loads(out)
        keep = ("trials", "calls", "cost_usd", "estimates", "plans", "warnings", "differences")
        content |= {key: document[key] for key in keep if key in document}
        return answer(content, [Next("run", "run it", {"path": path})])

    async def draw_reviews(self, run: str, size: int, seed: int) -> Answer:
        """Draws outputs for people to review."""
        refuse_outside(ROWS, "size", size)
        refuse_outside(ROWS, "seed", seed)
        name, path = self._named(run)
        words = ["review", "draw", "-n", str(size), "--seed", str(seed), "--", path]
        return drawn_answer(name, (await self._text(words)).decode("utf-8", "replace").splitlines())

    async def notes(self, run: str, start: int) -> Answer:
        """People's notes on what failed."""
        name, path = self._named(run)
        return notes_answer(name, await self._text(["review", "list", "--json", "--", path]), start)

    async def count_kinds(
        self, run: str, kinds: str, judge: str, *, max_cost_usd: float | None, offline: bool
    ) -> Answer:
        """Counts kinds of failure: by people's codes alone, or with a judge."""
        _, path = self._named(run)
        words = ["review", "count", f"--kinds={inside(self.root, kinds)}"]
        if judge:
            words.append(f"--judge={judge}")
            return await self.begin(words, [path], max_cost_usd, offline=offline)
        return count_answer(json.loads(await self._text([*words, "--json", "--", path])))

    def _named(self, run: str) -> tuple[str, str]:
        """A run's short id, and its file."""
        with opened(self.root, run) as file:
            return short_id(file.meta.id), str(file.path)

    async def _text(self, words: list[str]) -> bytes:
        """What a command that asks no model prints."""
        code, out, err = await self.done(words)
        if code not in (0, 3):
            raise UsageError("\n".join(_lines(err)))
        return out

    async def done(self, words: list[str]) -> tuple[int, bytes, bytes]:
        """The exit code of a command that asks no model, with what it wrote to stdout and stderr."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "evenhand", *words),
            cwd=self.root,
            stdin=DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode or 0, out, err

    def _ended(self, started: Started) -> Answer:
        out, err = started.written()
        try:
            document = json.loads(out or b"null")
        except ValueError:
            document = None
        if isinstance(document, dict) and document.get("schema") == COUNT:
            whole = count_answer(document)
            following = whole.pop("next")
            self._count(started, self._cost_of(document["coding"]))
            left = round(self.left_usd, 6)
            spent = started.process.returncode == OUT_OF_BUDGET
            if spent:
                run = document["coding"]
                following = [one.row() for one in advice_on_budget(short_id(run) if run else "")]
            status = "out_of_budget" if spent else "done"
            return {
                "job": started.job, "status": status, "left_usd": left, **whole, "next": following
            }  # fmt: skip
        if not isinstance(document, dict) or not document.keys() >= {"run", "totals"}:
            # Calls are on disk before they are sent, so that a run that has no file has sent none.
            refused = started.process.returncode == USAGE and not self._files_of(started)
            self._count(started, 0.0 if refused else None)
            lines = _lines(err)
            progress = self._progress(started)
            spent = started.process.returncode == OUT_OF_BUDGET
            content = {
                "job": started.job,
                "status": "out_of_budget" if spent else "failed",
                "left_usd": round(self.left_usd, 6),
                **progress,
                "problems": [untrusted(line) for line in lines],
            }
            following = [*advice_on(lines), Next("", "mend the problems, then run again")]
            return answer(
                content, advice_on_budget(progress.get("run", "")) if spent else following
            )
        self._count(started, self._cost_of(document["run"]["id"]))
        whole = summary(self.root, document["run"]["id"])
        following = whole.pop("next")
        return {"job": started.job, "left_usd": round(self.left_usd, 6), **whole, "next": following}

    def _cost_of(self, run: str | None) -> float | None:
        """The most that a run spent on calls, those of unsettled trials too; None where that is not known."""
        if run is None:
            return None
        with RunFile.open(find(self.root, run)) as file:
            return None if file.spend().cost_usd is None else file.most_spent()

    def _count(self, started: Started, cost: float | None) -> None:
        """Counts a run's cost: never less than nothing, and all that it might spend where that is not known."""
        if not started.counted:
            if cost is None or cost not in BUDGET_USD:
                cost = started.bound_usd
            self.spent_usd += cost
            started.counted = True

    def _files_of(self, started: Started) -> list[Path]:
        """The run that a command writes; once it has ended unseen, each that it may have written.

        Others start runs meanwhile: in another job, or by hand. A run belongs to the session of
        the process that holds its lock.
        """
        if started.file is None:
            others = {one.file for one in self._started.values()}
            new = [path for path in files(self.root) if path not in started.before | others]
            sessions = {path: _session_of(holder(lock_of(path))) for path in new}
            process = started.process
            mine = [path for path, session in sessions.items() if session == process.pid]
            if process.returncode is not None and not mine:
                return [path for path, session in sessions.items() if session is None]
            started.file = mine[0] if mine else None
        return [started.file] if started.file else []

    def _progress(self, started: Started) -> dict[str, Any]:
        paths = self._files_of(started)
        if len(paths) != 1:
            return {}
        with RunFile.open(paths[0]) as run:
            totals = run.totals()
            return {
                "run": short_id(run.meta.id),
                "settled": totals.trials,
                "planned": run.meta.planned,
                "passed": totals.passed,
                "failed": totals.failed,
                "errors": totals.errors,
            }


def inside(root: Path, path: str) -> str:
    """A path of the project, as a command takes it.

    Raises:
        UsageError: It leads out of the project, or looks like an option.
    """
    outside = Refused(
        f"{path!r} is not in {root.name}", hint="Name a file or folder of this project."
    )
    try:
        whole = (root / path).resolve()
    except (OSError, ValueError):  # a NUL in it, or links in a circle
        raise outside from None
    if not whole.is_relative_to(root):
        raise outside
    name = whole.relative_to(root).as_posix()
    if path.startswith("-") or name.startswith("-"):
        raise outside
    return name


def refuse_outside(numbers: Range, name: str, value: float | None) -> None:
    """Lets a number of a range pass, or none.

    Raises:
        Refused: It is something else, such as NaN or a negative budget.
    """
    if problem := numbers.problem(name, value):
        raise Refused(problem)


def _session_of(process: int | None) -> int | None:
    with contextlib.suppress(OSError):
        return None if process is None else os.getsid(process)
    return None


def _lines(text: bytes) -> list[str]:
    """The last lines of what a command said."""
    return text[-_SHOWN:].decode("utf-8", "replace").splitlines()[-20:]


COUNT = "evenhand.failures/1"
_LISTED = 20
_RATIFY = "a person reads it and ratifies: evenhand review ratify --by NAME. No tool does"


def drawn_answer(run: str, lines: Sequence[str]) -> Answer:
    """What was drawn."""
    content = {"run": run, "drawn": [short(line) for line in lines]}
    following = [
        Next(
            "", f"a person reads them: evenhand review notes {run}. Your own notes are no evidence"
        ),
        Next("review_notes", "what people wrote", {"run": run}),
    ]
    return answer(content, following)


def notes_answer(run: str, text: bytes, start: int) -> Answer:
    """People's notes on what failed, and the kinds that cover each."""
    document: dict[str, Any] = json.loads(text)
    failures = [one for one in document["outputs"] if one["failed"]]
    content = {"run": run, **{key: document[key] for key in ("drawn", "reviewed")}}
    content["failed"] = len(failures)
    rows = (
        {
            "note": one["note"],
            "words": [untrusted(each["note"], 400) for each in one["reviews"] if each["note"]],
            "kinds": [short(kind) for kind in one["kinds"]],
        }
        for one in failures
    )
    following = [
        Next("", f"propose kinds in failures.yml, with the notes that each covers; {_RATIFY}"),
        Next("review_count", "count them", {"run": run}),
    ]
    return page(content, "failures", rows, start, following)


def count_answer(document: Mapping[str, Any]) -> Answer:
    """How many outputs have each kind."""
    content: dict[str, Any] = {
        key: document[key] for key in ("runs", "outputs", "reviewed", "failed", "covered")
    }
    for key in ("uncoded", "without_kind"):
        content[key] = document[key][:_LISTED]
        content[f"{key}_in_all"] = len(document[key])
    content["kinds"] = [
        {
            "name": short(one["name"]),
            **{
                key: one[key]
                for key in ("ratified", "share", "people", "uncoded", "judge", "judged")
            },
        }
        for one in document["kinds"]
    ]
    content["changes"] = [{**one, "name": short(one["name"])} for one in document["changes"]]
    following = []
    if not all(one["ratified"] for one in document["kinds"]):
        following.append(Next("", _RATIFY))
    if document["uncoded"]:
        following.append(
            Next("", "list each uncoded failure under its kinds, or under without_kind")
        )
    return answer(content, following)

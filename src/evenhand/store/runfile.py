"""Reads a run file. Any number may read while one process writes; reading changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Self

from evenhand.core.encoding import encode
from evenhand.core.remark import Remarks
from evenhand.core.run import RunMeta
from evenhand.core.step import Step
from evenhand.store.calls import JournaledCalls, RunBatches
from evenhand.store.groups import CaseGroups
from evenhand.store.home import held, lock_of
from evenhand.store.labels.stored_draws import LabelledDraws
from evenhand.store.opened import OpenRun, open_run, readable
from evenhand.store.settled import SettledTrials


class RunFile(SettledTrials, JournaledCalls, RunBatches, CaseGroups, LabelledDraws):
    """One run, as far as it has come, or some of its trials (`only`). Any thread may read it."""

    def __init__(self, run: OpenRun) -> None:
        super().__init__(run)
        self._views: list[RunFile] = []

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a run file for reading.

        Raises:
            StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
        """
        return cls(open_run(path))

    def only(self, places: Iterable[int], why: str, *, by_outcome: bool = False) -> RunFile:
        """A view of the run with the trials at these places in the plan only; this one stays whole.

        Counts and rates are of these trials, and so are the numbers of trials and cases that the view says it has, the
        calls, and what it cost. Of a view, it is those that both choose. It is closed with the run that it is of.

        Args:
            places: Which. Those that are not settled have no trial.
            why: Said behind the run's title.
            by_outcome: Whether they were chosen by what came of them: then nothing can be concluded from how many of
                them passed.

        Raises:
            StoreError: The file cannot be read any more.
        """
        view = RunFile(self._run.narrowed_to(places, why, by_outcome=by_outcome))
        self._views.append(view)
        return view

    def kept_steps(self, index: int) -> list[Step] | None:
        """What was kept of a settled trial's steps, without what calls and tools have; None where nothing was.

        To read steps whole: `evenhand.render.trial_steps.steps_of`.
        """
        run = self._run
        with readable(run.path):
            if not run.has_table("step"):
                return None
            rows = run.db.execute(
                "select first, steps from step where idx = ? and take ="
                " (select max(take) from trial where idx = ?) order by first",
                (index, index),
            ).fetchall()
            from evenhand.core.packed_steps import read_steps  # noqa: PLC0415 (few runs have steps)

            steps: list[Step] = []
            for first, data in rows:
                if first != len(steps) or not isinstance(data, bytes):
                    raise ValueError(f"steps of trial {index} are missing before {first}")
                steps += read_steps([data])
            return steps if rows else None

    def stepped(self) -> frozenset[int]:
        """The places of the trials that have steps of their own: those that did more than ask a model once."""
        run = self._run
        with readable(run.path):
            if not run.has_table("step"):
                return frozenset()
            return frozenset(place for (place,) in run.db.execute("select distinct idx from step"))

    @property
    def path(self) -> Path:
        """The file."""
        return self._run.path

    @property
    def meta(self) -> RunMeta:
        """The facts of the run as a whole, as they were when the file was opened."""
        return self._run.meta

    @property
    def remarks(self) -> Remarks:
        """What people said of the run, as it was when the file was opened."""
        return self._run.remarks

    @property
    def plan_title(self) -> str:
        """The title of the run's plan, whatever people call the run: runs of one plan have it in common."""
        return self._run.plan_title

    @property
    def narrowed(self) -> bool:
        """Whether only some of the run's trials are seen."""
        return self._run.narrowed

    @property
    def retaken(self) -> bool:
        """Whether some trial has been settled more than once."""
        with readable(self.path):
            return self._run.retaken

    @property
    def by_outcome(self) -> bool:
        """Whether those were chosen by what came of them."""
        return self._run.by_outcome

    @property
    def alive(self) -> bool:
        """Whether a process is writing it."""
        return held(lock_of(self.path))

    def close(self) -> None:
        """Lets go of the file, and closes all views of it."""
        for view in self._views:
            view.close()
        self._run.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


LENGTH = 32


def digest_of(run: RunFile) -> str:
    """32 hex digits over all that a run asked, was answered and came to; labels, and how it ended, are not in it.

    Of a run that was gone on with, it is another one: the row that was written before is about less.
    """
    meta, hashed = run.meta, sha256()
    hashed.update(encode([meta.id, meta.fingerprint, meta.planned, meta.config]))
    for call in run.calls():
        start, end = call.start, call.end
        answer = [end.model, end.error, end.origin, sha256(end.body).hexdigest()] if end else []
        request = [start.trial, start.key, start.nth, start.role, start.provider, start.draw]
        hashed.update(encode([*request, sha256(start.identity).hexdigest(), *answer]))
    for result in run.results():
        hashed.update(sha256(result).digest())
    return hashed.hexdigest()[:LENGTH]

"""What surrounds a runner in its process, whether that keeps the run file or works for one that does."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.scripted import script_answers
from evenhand.engine.debugging import debuggable
from evenhand.engine.process import run_in_process
from evenhand.engine.python_names import names_watched, trouble
from evenhand.engine.runner import Runner
from evenhand.engine.session import Ending, Session
from evenhand.engine.strays import strays_told, trials_carried
from evenhand.engine.tasks import own_tasks
from evenhand.engine.watchdog import can_be_broken_into, watching


async def run_surrounded(runner: Runner, session: Session, own: Sequence[Path]) -> Ending:
    """Runs a plan's trials to their end, and closes its providers, whatever happens.

    Args:
        runner: Settles the trials.
        own: Files of the run's, which no code of the user's should hold open.
    """
    host, around = session.host, session.plan.options.around
    try:
        with (
            run_in_process(host.crumbs, tuple(own)),
            host.open(),
            own_tasks(),
            strays_told(),
            trials_carried(),
            watching(session.note, limit_s=host.limit_s),
            can_be_broken_into(host.limit_s, host.crumbs.path if host.crumbs else None),
            debuggable(),
            _few_collections(),
            names_watched(),
            around() if around is not None else contextlib.nullcontext(),
        ):
            return await _run(runner)
    finally:
        closing = (provider.close() for provider in session.plan.providers)
        await asyncio.gather(*closing, return_exceptions=True)


async def _run(runner: Runner) -> Ending:
    """Runs the trials. Where code of the user's left the run without what it needs, it stops, and says whose it was."""
    try:
        return await runner.run()
    except EvenhandError:
        raise
    except Exception:
        problem = trouble()
        if not problem:
            raise
        # What became of tasks that nobody waits for any more came of the same.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        return Ending("stopped", problem)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Inside, the cycle collector looks seldom: what is here already stays, and trials make few cycles."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


_SPARE = 16
"""Files that stay free for the run file, the cache, programs, and what code of the user's opens."""


def need_open_files() -> None:
    """Before a run has a file: a call that gets none would fail, or wait for ever.

    Raises:
        UsageError: Too few files may be open for even one call.
    """
    left = _files_left()
    if left < 2 and left < _each():
        raise UsageError(
            f"only {resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,} files may be open, which is too few for a run",
            hint="Allow more with `ulimit -n 1024`. Nothing was sent.",
        )


def open_files_allow(concurrency: int) -> int:
    """How many of so many calls at once may go out."""
    left = _files_left()
    return concurrency if 2 * concurrency <= left else min(concurrency, max(1, left // _each()))


def _each() -> int:
    """How many files a call opens: two where a script answers here."""
    return 2 if script_answers() else 1


def _files_left() -> int:
    """How many files calls may open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        return limit - sum(1 for _ in Path("/dev/fd").iterdir()) - _SPARE
    except OSError:  # not everywhere, or there isn't even one left to look with
        return limit - 2 * _SPARE

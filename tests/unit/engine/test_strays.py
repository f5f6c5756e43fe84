"""Threads and pools that a trial's code starts go on for it; what watches for coroutines is in nobody's way."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import sys
import threading
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, cast

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.plan import PlannedTrial
from evenhand.core.variant import Variant
from evenhand.engine.call_context import VARIABLE, Home, Strangers, alive, meet
from evenhand.engine.python_names import users_call
from evenhand.engine.strays import is_elsewhere, lent, strays_told, trial_here, trials_carried
from evenhand.engine.trial import LiveTrial, present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.core.provider import Host
    from evenhand.engine.trial import Asker

CALL = "POST host/v1/responses"


async def nothing(trial: Trial) -> object:
    """A body that does nothing."""
    return None


def live(name: str = "a") -> LiveTrial:
    """A trial of no run."""
    planned = PlannedTrial(
        index=0, case=Case(name), variant=Variant(0, "", ""), repeat=0, body=nothing
    )
    trial = LiveTrial(planned, cast("Asker", None), cast("Host", None))
    trial.home = Home(asyncio.new_event_loop())
    trial.home.loop.close()
    return trial


@contextmanager
def inside(trial: LiveTrial) -> Iterator[LiveTrial]:
    """Inside, code runs for the trial."""
    token = present.set(trial)
    try:
        yield trial
    finally:
        present.reset(token)


def in_thread(look: Callable[[], object]) -> object:
    """What it returns in a thread that is started here."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(look()))
    thread.start()
    thread.join()
    return results[0]


def test_a_thread_belongs_to_the_trial_that_starts_it_and_only_while_a_run_is_under_way():
    """Elsewhere Python's own rule holds."""
    before = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit
    with inside(live()) as trial:
        with trials_carried(), trials_carried():
            assert in_thread(trial_here) is trial
            assert in_thread(lambda: in_thread(trial_here)) is trial
        assert in_thread(trial_here) is None
    with trials_carried():
        assert in_thread(trial_here) is None
    assert (threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit) == before


def test_what_is_submitted_to_a_pool_is_its_submitters():
    """Whoever made its threads; and nobody's, where nobody's code submits it."""
    with trials_carried(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        for name in ("a", "b"):
            with inside(live(name)) as trial:
                assert pool.submit(trial_here).result() is trial
                assert list(pool.map(lambda _: trial_here(), [1])) == [trial]
        assert pool.submit(trial_here).result() is None


def test_a_thread_that_outlives_its_trial_works_for_nobody_and_takes_the_verdict_back():
    """What it asked before may have been for others: an error, and once."""
    late: list[CodeError] = []
    go, over = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        seen.append(is_elsewhere(trial))
        go.set()
        over.wait()
        seen.extend((is_elsewhere(trial), is_elsewhere(trial)))

    trial = live()
    trial.late = lambda _, problem: late.append(problem)
    with inside(trial), trials_carried():
        thread = threading.Thread(target=work)
        thread.start()
    go.wait()
    trial.over = True
    over.set()
    thread.join()
    assert seen == [False, True, True]
    assert len(late) == 1
    assert lent.get() is None


def test_a_forked_process_works_for_nobody():
    """Its loop is not the run's."""
    trial = live()
    assert not is_elsewhere(trial)
    assert trial.home is not None
    trial.home.process = os.getpid() + 1
    assert is_elsewhere(trial)


@pytest.fixture
def names() -> list[str]:
    """What a run is told of."""
    return []


def test_trials_under_way_lose_sight_and_those_that_are_over_do_not(names: list[str]):
    """Of a call that belongs to none; the run is told its name."""
    strangers = Strangers("", names.append)
    trial, settled = live(), live("b")
    for one in (trial, settled):
        strangers.look(one)
    settled.over = True
    assert meet(CALL) is None
    strangers.close()
    assert names == trial.unrecorded == [CALL]
    assert trial.spending.cost_usd is None
    assert settled.unrecorded == []
    assert meet(CALL) is None
    assert names == [CALL]
    assert alive == []


def test_a_barred_run_refuses_and_its_trials_have_no_verdict(names: list[str]):
    """What its code makes of the refusal doesn't count."""
    strangers = Strangers("the run replays", names.append)
    trial = live()
    strangers.look(trial)
    error = meet(CALL)
    strangers.close()
    assert error is not None
    assert "was not sent as the run replays: POST host/v1/responses" in str(error)
    assert trial.own is not None
    assert isinstance(trial.own.halted, CodeError)
    assert names == [f"refused: {CALL}"]


def test_between_trials_a_session_of_tests_has_no_say(names: list[str]):
    """Tests without `expect` are their own business."""
    strangers = Strangers("the session does not ask live", names.append, always=False)
    assert meet(CALL) is None
    strangers.close()
    assert names == []


def test_another_process_is_told_what_to_do_and_tells_what_it_did(
    names: list[str], monkeypatch: pytest.MonkeyPatch
):
    """By a variable of the environment, which is as it was when the run is over."""
    monkeypatch.setenv(VARIABLE, "count:/nowhere")
    strangers = Strangers("the run has a budget", names.append)
    trial, later = live(), live("b")
    strangers.look(trial)
    strangers.process += 1  # as another process sees it
    error = meet(CALL)
    strangers.look(later)
    strangers.look(trial)
    strangers.look(later)
    strangers.close()
    assert error is not None
    assert names == [f"refused: {CALL}"]
    assert trial.own is not None
    assert later.own is None
    assert os.environ[VARIABLE] == "count:/nowhere"
    assert meet(CALL) is None  # there is no such run


def test_ctrl_c_is_not_lost_in_what_watches_garbage_being_collected():
    """An exception of a signal's handler can't be raised inside a function in C; in ours, it would only be printed."""
    before = list(gc.callbacks)
    with strays_told():
        ours = gc.callbacks[len(before) :]
        assert ours
        assert not any(isinstance(callback, (FunctionType, MethodType)) for callback in ours)
        gc.collect()
    assert gc.callbacks == before


def test_callbacks_that_user_code_removes_are_not_missed():
    """Whoever empties the list of callbacks loses only their own."""
    before = list(gc.callbacks)
    try:
        with strays_told():
            gc.callbacks.clear()
        assert gc.callbacks == []
    finally:
        gc.callbacks[:] = before


def test_where_coroutines_are_made_is_noted_only_once_code_of_the_users_runs():
    """It costs an eighth of all instructions of a call, which a run without such code need not pay."""
    before = sys.get_coroutine_origin_tracking_depth()
    with strays_told():
        assert sys.get_coroutine_origin_tracking_depth() == before
        with users_call("score", None):
            assert sys.get_coroutine_origin_tracking_depth() == max(before, 1)
    assert sys.get_coroutine_origin_tracking_depth() == before

"""Workers on a Ray cluster: each is an actor, which Ray places, and which it ends when the driver is gone.

How this works: an actor runs a worker in a thread of its own, and has two methods, each served by one thread, so that
messages keep their order: `deliver` takes what the driver says, `collect` waits for what the worker has to say. Here a
thread for each actor waits for `collect`, another one delivers. A call of Ray's costs far more than a message in it, so
there are at most 200 a second in each direction, and Ray is handed bytes: its own pickler is slow. Ray restarts
nothing: a worker that takes the place of another is a new actor, so that whatever is still on its way from the old one
belongs to nobody.

Ray's usage statistics are off, and a cluster that is started here has no dashboard and listens on this machine only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import queue
import re
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evenhand.core.errors import StoreError, UsageError
from evenhand.wings.fleet.messages import BEAT_S, Link, LinkDown, Message, WorkOrder
from evenhand.wings.fleet.ray_address import HERE, START_ONE, check_address
from evenhand.wings.fleet.worker import Worker

_TIMED_OUT = re.compile(r"timed?[ -]?out", re.IGNORECASE)
PLACED_S = 120.0
"""So long may it take to start a worker on a node."""
STEP_S = 0.5
TRIES = 3
"""So often is a worker started that dies before it is placed."""
PACE_S = 0.005
"""Between two batches in one direction."""
NOT_SENT = (
    *(".git", ".evenhand", ".venv", "venv", "node_modules", "__pycache__", "*.pyc"),
    *(".env", ".env.*", "*.env"),
)
"""Of the folder; the last ones are where keys are kept."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RAISED = re.compile(r"[A-Za-z_.]+(Error|Exception|Exit)\b")
_NAMED = re.compile(r"\w+: \S+")
_GONE: list[Message] = []


def _ray() -> Any:
    """Ray, with its usage statistics off."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault(
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"
    )  # or it warns of what will change
    try:
        import ray  # noqa: PLC0415 (heavy)
    except ImportError:
        raise UsageError(
            "--ray needs Ray, which is not installed",
            hint="Install it with: pip install 'evenhand[ray]'. --workers alone starts processes on this machine.",
        ) from None
    return ray


def reason(error: Exception) -> str:
    """What Ray says has happened, in 200 characters: the end of a traceback, or sentences without names and ids."""
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    if lines and _RAISED.match(lines[-1]):
        return lines[-1][:200]
    sentences = " ".join(line for line in lines if not _NAMED.fullmatch(line))
    return sentences[:200] or type(error).__name__


def gathered(
    batches: queue.SimpleQueue[list[Message] | None], timeout_s: float | None = None
) -> list[Message] | None:
    """All that is there, as one batch; waits until there is something.

    Args:
        batches: Batches in their order; None ends them.
        timeout_s: How long it waits at most; None for as long as it takes.

    Returns:
        The messages in their order, empty when the time is over; None where nothing comes before the end.
    """
    messages: list[Message] = []
    with contextlib.suppress(queue.Empty):
        more = batches.get(timeout=timeout_s)
        if more is None:
            return None
        while more is not None:
            messages += more
            more = batches.get_nowait()
        batches.put(None)  # the end is for the next one who asks
    return messages


class RayLink:
    """The way to a worker that is an actor. Implements `evenhand.wings.fleet.messages.Link`."""

    def __init__(self, actor: Any, name: str) -> None:
        self.name = name
        self._actor = actor
        self._ray = _ray()
        self._loop = asyncio.get_running_loop()
        self._heard: asyncio.Queue[list[Message]] = asyncio.Queue()
        self._said: queue.SimpleQueue[list[Message] | None] = queue.SimpleQueue()
        self._why = ""
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"evenhand-{name}", daemon=True).start()

    async def receive(self) -> list[Message]:
        messages = await self._heard.get()
        if messages is _GONE:
            raise LinkDown(self._why)
        return messages

    def send(self, messages: list[Message]) -> None:
        self._said.put(messages)

    def kill(self) -> None:
        self._said.put(None)
        with contextlib.suppress(Exception):  # it is gone already, or Ray is
            self._ray.kill(self._actor)

    def _read(self) -> None:
        try:
            while True:
                batch: bytes = self._ray.get(self._actor.collect.remote())
                messages: list[Message] = pickle.loads(batch)  # noqa: S301 (our worker wrote it)
                self._loop.call_soon_threadsafe(self._heard.put_nowait, messages)
        except Exception as error:  # noqa: BLE001 (however Ray says that an actor is gone)
            self._gone(error)

    def _write(self) -> None:
        try:
            while (messages := gathered(self._said)) is not None:
                self._actor.deliver.remote(pickle.dumps(messages))
                time.sleep(PACE_S)
        except Exception as error:  # noqa: BLE001 (as above)
            self._gone(error)

    def _gone(self, error: Exception) -> None:
        self._why = self._why or reason(error)
        with contextlib.suppress(RuntimeError):  # the run is over
            self._loop.call_soon_threadsafe(self._heard.put_nowait, _GONE)


class RayCluster:
    """Starts workers as actors. Implements `evenhand.wings.fleet.messages.Cluster`.

    Args:
        address: Of a cluster, as `ray_address.cluster_address` returns it; HERE to start one.
        cpus: That each worker reserves.
        folder: What is sent to the nodes, where the cluster is not started here.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str, cpus: float, folder: Path) -> None:
        self._ray = ray = _ray()
        check_address(address)
        self._cpus = cpus
        self.sends = address != HERE
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.sends:
            sent = {"working_dir": str(folder), "excludes": list(NOT_SENT)}
            options |= {"address": address, "runtime_env": sent}
        else:
            options |= {
                "address": "local",
                "include_dashboard": False,
                "_node_ip_address": "127.0.0.1",
            }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is an error in a moment
                ray.init(**options)
        except Exception as error:  # however Ray says that there is no cluster
            raise unusable(address, error) from error
        self._actor = _actor(ray)
        self._placing = ThreadPoolExecutor(64, "evenhand-placing")
        self._closing = threading.Event()

    def room(self) -> int:
        """How many workers the cluster has room for."""
        return int(self._ray.cluster_resources().get("CPU", 0) // self._cpus)

    async def start(self, order: WorkOrder) -> Link:
        loop = asyncio.get_running_loop()
        for left in reversed(range(TRIES)):
            actor = self._actor.options(num_cpus=self._cpus).remote(order)
            try:
                name = await loop.run_in_executor(self._placing, self._placed, actor)
            except Exception as error:
                with contextlib.suppress(Exception):
                    self._ray.kill(actor)
                if left and isinstance(error, self._ray.exceptions.RayActorError):
                    continue  # its node was taken away while it started; there may be another
                raise StoreError(
                    f"Ray started no worker: {reason(error)}",
                    hint=f"It needs {self._cpus:g} free CPU{'s'[: self._cpus > 1]} on a node "
                    "where the same Evenhand is installed. `ray status` shows what there is.",
                ) from error
            return RayLink(actor, name)
        raise AssertionError  # the last try returns or raises

    def _placed(self, actor: Any) -> str:
        """Where an actor is, once a node has room for it. Waits in steps, to leave Ray before that is shut down."""
        place = actor.where.remote()
        for _ in range(round(PLACED_S / STEP_S)):
            if self._ray.wait([place], timeout=STEP_S)[0]:
                return self._ray.get(place)
            if self._closing.is_set():
                raise TimeoutError("the run is over")
        raise TimeoutError(f"no node had room for it within {PLACED_S:g} s")

    async def close(self) -> None:
        self._closing.set()
        await asyncio.to_thread(self._placing.shutdown)
        await asyncio.to_thread(self._ray.shutdown)


def _actor(ray: Any) -> Any:
    """The class of actors; made when Ray is there."""

    class Actor:
        def __init__(self, order: WorkOrder) -> None:
            self._said: queue.SimpleQueue[list[Message] | None] = queue.SimpleQueue()
            self._next = 0.0
            self._worker = Worker(order, self._said.put)
            threading.Thread(target=self._worker.run, name="evenhand-worker", daemon=True).start()

        def where(self) -> str:
            context = ray.get_runtime_context()
            return f"node {context.get_node_id()[:8]}, process {os.getpid()}"

        @ray.method(concurrency_group="out")
        def collect(self) -> bytes:
            """What the worker has to say; waits for it, but no longer than a sign of life may take."""
            time.sleep(max(0.0, self._next - time.monotonic()))
            try:
                return pickle.dumps(gathered(self._said, BEAT_S) or [])
            finally:
                self._next = time.monotonic() + PACE_S

        @ray.method(concurrency_group="in")
        def deliver(self, messages: bytes) -> None:
            self._worker.deliver(pickle.loads(messages))  # noqa: S301 (our driver wrote it)

    return ray.remote(max_restarts=0, max_task_retries=0, concurrency_groups={"in": 1, "out": 1})(
        Actor
    )


def unusable(address: str, error: Exception) -> UsageError:
    """What to say, and to do, where Ray can't be used at an address."""
    text = " ".join(str(error).split())[:300]
    if isinstance(error, ImportError) or "ray[client]" in str(error):
        return UsageError(
            f"'{address}' needs Ray's client, which is not installed",
            hint="Install it with: pip install 'evenhand[ray]'. On the cluster's nodes, --ray auto needs none.",
        )
    if isinstance(error, TimeoutError) or _TIMED_OUT.search(text):
        return UsageError(
            f"Ray did not start in time at '{address}': {text}",
            hint="Try again when the machine is less busy; `ray status` shows the state of a cluster. "
            "--workers alone starts processes on this machine.",
        )
    return UsageError(
        f"Ray cannot be used at '{address}': {text}",
        hint=f"{START_ONE} If it asks for a token, set RAY_AUTH_MODE=token here, too.",
    )

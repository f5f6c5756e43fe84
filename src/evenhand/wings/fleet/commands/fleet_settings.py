"""What `--workers` and `--ray` come to: the fleet that settles a run's trials."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan
from evenhand.core.version import __version__

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.cli.session import Session
    from evenhand.engine.door import Settings
    from evenhand.wings.fleet.messages import Cluster


def with_fleet(request: object, plan: Plan, settings: Settings, session: Session) -> Settings:
    """The settings, with the fleet that the options ask for.

    Raises:
        UsageError: Not everything can be run by one, or there is no such cluster.
    """
    from evenhand.cli.run_request import Asked
    from evenhand.wings.fleet.driver import Fleet

    if not isinstance(request, Asked):
        raise UsageError("this kind of run has no workers", hint="Leave out --workers and --ray.")
    if settings.replay is not None or plan.options.cassettes:
        raise UsageError(
            "a run that is answered from a recording has no workers: it sends nothing that takes time",
            hint="Leave out --workers and --ray.",
        )
    if settings.batch is not None:
        raise UsageError(
            "batches and workers don't go together: vendors work on a batch whatever asks for it",
            hint="Leave out --batch, or --workers and --ray.",
        )
    cpus = session.cpus_per_trial
    folder = _folder(request)
    cluster, room, sent = _cluster(session, max(1.0, cpus or 1.0), folder)
    names = _keys(plan)
    if sent:
        request, more = _without_env_files(request)
        names = tuple(sorted({*names, *more}))
    record = {
        "asked": request.record(),
        "version": __version__,
        "folder": str(folder) if sent else "",
    }
    most = plan.size if session.ray is not None else min(plan.size, most_processes())
    workers = min(session.workers or max(1, room), max(1, most))  # no more than have work
    if most < min(session.workers or 0, plan.size):
        tell(
            f"{workers} workers are started, not {session.workers:,}: this machine has {_cpus()} CPUs"
        )
    seats = None if cpus is None else max(1, int(1 / cpus))
    return replace(
        settings,
        elsewhere=Fleet(
            cluster=cluster,
            workers=workers,
            build=far_plan,
            record=record,
            names=names,
            seats=seats,
        ),
    )


def most_processes() -> int:
    """How many workers this machine is given at most: more would wait for one another, and take memory."""
    return max(16, 4 * _cpus())


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cluster(session: Session, cpus: float, folder: Path) -> tuple[Cluster, int, bool]:
    """Where workers are started, how many there is room for, and whether they are sent the folder."""
    if session.ray is None:
        from evenhand.wings.fleet.processes import Processes

        return Processes(), 1, False
    from evenhand.wings.fleet.ray_address import cluster_address
    from evenhand.wings.fleet.ray_cluster import RayCluster

    cluster = RayCluster(cluster_address(session.ray), cpus, folder)
    room, workers = cluster.room(), session.workers or 1
    if workers > room and not cluster.sends:  # other clusters may grow
        raise UsageError(
            f"this machine has room for {room} of {workers} workers with {cpus:g} CPU{'s'[: cpus != 1]} each",
            hint="Ask for less with --workers or --cpus-per-trial, or name a larger cluster: --ray ADDRESS.",
        )
    return cluster, room, cluster.sends


def _folder(request: Asked) -> Path:
    """The folder that is sent to workers: the current one, if it has all that is run, else that of what is run."""
    from evenhand.doors.eval_sets.eval_paths import split_line

    paths = [Path(split_line(path)[0]) for path in request.paths]
    here = Path.cwd()
    for folder in (here, request.folder):
        if all(path.is_relative_to(folder) for path in paths):
            return folder
    raise UsageError(
        f"{paths[0]} is not below {here}, which is what workers are sent",
        hint="Run from a folder that holds all that is run.",
    )


def _without_env_files(request: Asked) -> tuple[Asked, tuple[str, ...]]:
    """What is asked for, without the files of variables, which stay here, and the names of the variables in them."""
    from evenhand.doors.promptfoo.environment import read_env_files
    from evenhand.languages.documents.findings import Findings

    names = read_env_files(request.over.env_files, Path.cwd(), Findings())
    return replace(request, over=replace(request.over, env_files=())), tuple(names)


def _keys(plan: Plan) -> tuple[str, ...]:
    """The variables with the keys of the plan's models, as far as they are set here. Their values are never sent."""
    from evenhand.providers.catalog import KEYS

    kinds = {provider.id.partition(":")[0] for provider in plan.providers}
    return tuple(
        sorted({name for kind, name in KEYS.items() if kind in kinds and os.environ.get(name)})
    )


@contextlib.contextmanager
def far_plan(record: Mapping[str, Any]) -> Iterator[Plan]:
    """Inside, the plan can be run.

    Args:
        record: What was asked for (`asked`), by which version (`version`), and the folder of the driver's machine that
            was sent here, as the current one (`folder`); an empty one where the files are at their places.
    """
    from evenhand.cli.offline import offline_answers
    from evenhand.cli.run_request import Asked
    from evenhand.scorers.rag.definitions import OURS, using_definitions

    original = dict(record["asked"])
    if folder := str(record["folder"]):
        original = _moved(original, folder, str(Path.cwd()))
    request = Asked.again(original, str(record["version"]))
    offline = offline_answers(request.folder) if request.offline else contextlib.nullcontext()
    with offline, using_definitions(request.definitions or OURS):
        yield request.plan()


def _moved(value: Any, before: str, now: str) -> Any:
    """What was asked for, with the paths of one folder as those of another."""
    if isinstance(value, str):
        inside = value == before or value.startswith(f"{before}/")
        return now + value[len(before) :] if inside else value
    if isinstance(value, Mapping):
        return {name: _moved(one, before, now) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_moved(one, before, now) for one in value]
    return value

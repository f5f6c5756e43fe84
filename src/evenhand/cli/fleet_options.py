"""The options that have a run's trials settled by several processes. The wing `fleet` knows what they come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import click

from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import number_option
from evenhand.core.errors import UsageError
from evenhand.core.ranges import WORKERS, Range

if TYPE_CHECKING:
    from evenhand.cli.session import Session
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Settings
CPUS = Range(0.01, 1_000)

fleet_options = OptionSet(
    number_option(
        "--workers",
        within=WORKERS,
        metavar="N",
        help="Run the trials in N processes: of this machine, or of Ray's cluster.",
    ),
    click.option(
        "--ray",
        is_flag=False,
        flag_value="",
        default=None,
        metavar="[ADDRESS]",
        help="Run the trials on a Ray cluster; PATH goes before it."
        "  [default: the one in RAY_ADDRESS, or one started here]",
    ),
    number_option(
        "--cpus-per-trial",
        within=CPUS,
        metavar="X",
        help="CPUs that a trial keeps busy: 4, or 0.1. Limits how many a worker runs at once.",
    ),
)
"""Several processes; `Session.of` understands them."""


def with_fleet(request: object, plan: Plan, settings: Settings, session: Session) -> Settings:
    """The settings, with the fleet that the options ask for.

    Raises:
        UsageError: Not everything can be run by one, or there is no such cluster.
    """
    if session.workers is None and session.ray is None:
        raise UsageError("--cpus-per-trial has no effect here", hint="Add --workers or --ray.")
    from evenhand.core.wing import hook

    manned = cast("Callable[[object, Plan, Settings, Session], Settings]", hook("fleet"))
    return manned(request, plan, settings, session)

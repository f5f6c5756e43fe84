"""`evenhand info mcp`: the tools for coding agents, on standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.options import number_option
from evenhand.core.ranges import BUDGET_USD


@click.command(short_help="Serve check, run, failures and compare to coding agents.")
@number_option(
    "--max-cost",
    "budget_usd",
    within=BUDGET_USD,
    default=0.0,
    metavar="USD",
    help="What all runs of this server together may cost. Default: 0, which runs only what is free.",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="The project's folder; nothing outside of it is run or read. Default: the current one.",
)
def mcp(budget_usd: float, root: Path) -> int:
    """Serve Evenhand's tools to a coding agent over the Model Context Protocol (stdio). Needs evenhand[mcp].

    The agent can check, run, look at failures and compare. It can't spend more than --max-cost.
    """
    from evenhand.wings.coding_agents.server import serve

    serve(root, budget_usd)
    return PASSED

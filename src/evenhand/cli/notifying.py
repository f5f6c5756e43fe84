"""`--notify`: whoever went away hears that a run is over. That it can't be told changes nothing about the run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from evenhand.cli.options import repeatable
from evenhand.cli.streams import tell

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta, Totals

DESKTOP = "desktop"
TIMEOUT_S = 10.0
_ON_MACS = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


class _Target(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (it takes none before 8.5)
    """`desktop`, or an address over HTTP."""

    name = "target"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The target as it was written.

        Raises:
            BadParameter: It is neither. What was written isn't repeated: such addresses hold tokens.
        """
        target = str(value)
        if target == DESKTOP:
            return target
        try:
            parts = urlsplit(target)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
            # urlsplit reads the port only now, and raises for one that is no number.
            _ = parts.port
        except ValueError:
            is_address = False
        if not is_address:
            self.fail("give an address, http://… or https://…, or the word desktop.", param, ctx)
        return target


notifying = repeatable(
    "--notify",
    type=_Target(),
    metavar="URL|desktop",
    help="When the run is over, POST its verdict and counts as JSON to URL, or show a notice on the desktop.",
)
"""Who is told when the run is over."""


def notify(targets: Sequence[str], document: Mapping[str, object]) -> None:
    """Tells each target how a run ended. What goes wrong is said on stderr, and nothing else comes of it.

    Args:
        targets: Addresses, or `desktop`.
        document: What is sent; `text` has it in a line.
    """
    for target in targets:
        problem = (
            _on_desktop(str(document["text"])) if target == DESKTOP else _posted(target, document)
        )
        if problem:
            tell(f"evenhand: --notify: {problem}; the run is not affected")


def document_of(
    meta: RunMeta, totals: Totals, *, verdict: str, exit_code: int, kind: str = "run"
) -> dict[str, object]:
    """What is told of a run: nothing that a model, a dataset or a judge wrote.

    Args:
        verdict: `passed`, `failed` or `undecided`; of a gate, its verdict.
        exit_code: With what the command exits.
        kind: `run` or `gate`.
    """
    from evenhand.core.secrets import shown
    from evenhand.core.wording.words import clip, count, safe, seconds, short_id

    took = meta.took_s or 0.0
    title = clip(safe(shown(meta.title)), 200)
    parts = [f"{totals.passed:,} of {meta.planned:,} passed"]
    if totals.failed:
        parts.append(f"{totals.failed:,} failed")
    if totals.errors:
        parts.append(count(totals.errors, "error"))
    parts += [seconds(took), short_id(meta.id)]
    return {
        "text": f"{title}: {verdict} · {' · '.join(parts)}",
        "kind": kind,
        "run": meta.id,
        "title": title,
        "verdict": verdict,
        "status": meta.status,
        "exit_code": exit_code,
        "planned": meta.planned,
        "trials": totals.trials,
        "passed": totals.passed,
        "failed": totals.failed,
        "errors": totals.errors,
        "not_applicable": totals.not_applicable,
        "cost_usd": totals.cost_usd,
        "seconds": round(took, 3),
    }


def _posted(url: str, document: Mapping[str, object]) -> str:
    """Posts a document; what went wrong, or nothing. The address's path and query are repeated nowhere."""
    import asyncio

    from evenhand.core.errors import ProviderError

    host = urlsplit(url).hostname
    try:
        status = asyncio.run(_sent(url, document))
    except ProviderError as error:
        return f"{host} could not be told ({error.slug})"
    return "" if 200 <= status < 300 else f"{host} answered {status}"


async def _sent(url: str, document: Mapping[str, object]) -> int:
    from evenhand.core.encoding import encode
    from evenhand.core.version import __version__
    from evenhand.providers.http import close, transport

    headers = {"Content-Type": "application/json", "User-Agent": f"evenhand/{__version__}"}
    try:
        return (await transport().post(url, headers, encode(document), TIMEOUT_S)).status
    finally:
        await close()


def _on_desktop(text: str) -> str:
    """Shows a notice; what went wrong, or nothing."""
    import html
    import shutil
    import subprocess

    if notifier := shutil.which("notify-send"):  # some desktops read its text as markup
        command = [notifier, "--app-name=evenhand", "--", "evenhand", html.escape(text)]
    elif sys.platform == "darwin" and (notifier := shutil.which("osascript")):
        script = [part for line in _ON_MACS for part in ("-e", line)]
        command = [notifier, *script, "evenhand", text]
    else:
        return "there is neither notify-send nor osascript here to show a notice"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 (a program of the system's, and text as an argument)
            command, timeout=TIMEOUT_S, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode == 0:
            return ""
    return "the desktop did not take the notice"

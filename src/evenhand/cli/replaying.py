"""`--replay`: the recordings that answer a run's calls, and the environment of a run that sends nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.completing import complete_runs
from evenhand.cli.grouped import OptionSet
from evenhand.cli.offline import environment_kept
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import age_s

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.engine.door import Settings
    from evenhand.store.recordings import RecordedFrom, Recordings


class Age(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (it takes none before 8.5)
    """An age, in seconds."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The seconds.

        Raises:
            BadParameter: It is no age.
        """
        seconds = value if isinstance(value, int) else age_s(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not an age: write 30d, 12h or 2w.", param, ctx)
        return seconds


AGE = Age()
_THAT_RUN = "-"
"""Of `--replay-or-ask` without a value: what `--replay` names."""

replaying_options = OptionSet(
    click.option(
        "--replay",
        metavar="RUN|FILE",
        shell_complete=complete_runs,
        help="Answer every call from RUN, or from a cassette. Sends nothing; what is not recorded is an error.",
    ),
    click.option(
        "--replay-or-ask",
        is_flag=False,
        flag_value=_THAT_RUN,
        metavar="[RUN|FILE]",
        shell_complete=complete_runs,
        help="The same, and ask for what is not recorded.",
    ),
    click.option(
        "--max-age",
        type=AGE,
        metavar="AGE",
        help="Refuse recordings that are older: 30d, 12h, 2w.  [default: as a cassette says]",
    ),
)
"""What is replayed; `ReplayRequest.of` understands them."""

REPLAYING = ("replay", "replay_or_ask", "max_age")
"""The parameters of these options; None where they are not given."""


class ReplayRequest(Record, frozen=True):
    """What is to be replayed.

    Attributes:
        source: A run, as `evenhand show` finds it, or the file of a cassette.
        asks: What is not recorded is asked.
        max_age_s: How old it may be; None for any age, or for what a cassette says itself.
    """

    source: str
    asks: bool = False
    max_age_s: int | None = None

    @staticmethod
    def of(options: Mapping[str, Any]) -> ReplayRequest | None:
        """What a command's options say; None where nothing is to be replayed.

        Raises:
            UsageError: Two runs are named, or none is.
        """
        only: str | None = options["replay"]
        or_ask: str | None = options["replay_or_ask"]
        max_age: int | None = options["max_age"]
        if or_ask is None and only is None:
            if max_age is not None:
                raise UsageError(
                    "--max-age has no effect here", hint="It goes with --replay RUN|FILE."
                )
            return None
        if or_ask is None:
            return ReplayRequest(str(only), max_age_s=max_age)
        if or_ask == _THAT_RUN:
            if only is None:
                raise UsageError(
                    "--replay-or-ask: there is no run to replay",
                    hint="Name one: --replay-or-ask RUN.",
                )
            return ReplayRequest(only, asks=True, max_age_s=max_age)
        if only is not None:
            raise UsageError(
                f"--replay {only} and --replay-or-ask {or_ask} name two recordings",
                hint="Name one of them.",
            )
        return ReplayRequest(or_ask, asks=True, max_age_s=max_age)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Recordings]:
        """The recordings.

        Raises:
            UsageError: There is no such run, or it is too old.
            StoreError: It cannot be read.
        """
        from evenhand.store.cassette import recordings_of

        recordings = recordings_of(Path.cwd(), self.source, self.max_age_s)
        try:
            yield recordings
        finally:
            recordings.close()


def with_replay(request: Asked, header: RecordedFrom, *, asks: bool) -> Asked:
    """What is asked, as it has to be for these recordings.

    Raises:
        UsageError: They are scripted and the run is not, or the other way round: nothing would be found.
    """
    if not asks:
        if request.offline:
            raise UsageError(
                "--offline and --replay: replies come either from the script or from the recordings",
                hint="Leave --offline out. With --replay-or-ask, the script answers what is not recorded.",
            )
        return replace(request, offline=header.scripted)
    if request.offline != header.scripted:
        which = "a script (--offline)" if header.scripted else "models"
        raise UsageError(
            f"the replies of {header.name} are those of {which}, and these would be others",
            hint="Add --offline." if header.scripted else "Leave --offline out.",
        )
    return request


@contextlib.contextmanager
def nothing_sent(settings: Settings) -> Iterator[None]:
    """The environment of a run that only replays: nobody needs a key, and scripted recordings find their address."""
    from evenhand.core.scripted import scripted_at
    from evenhand.providers.leading import NOWHERE, keys_not_needed, leading_to
    from evenhand.providers.prices import away_from_home_unpaid

    assert settings.replay is not None  # noqa: S101 (called for these alone)
    with contextlib.ExitStack() as stack:
        stack.enter_context(environment_kept())
        if settings.replay.header.scripted:
            stack.enter_context(away_from_home_unpaid())
            stack.enter_context(scripted_at(NOWHERE))
            os.environ.update(leading_to(NOWHERE, "scripted"))
        else:
            # Providers refuse to be made without a key, though nothing will be sent.
            os.environ.update(keys_not_needed(os.environ))
        yield

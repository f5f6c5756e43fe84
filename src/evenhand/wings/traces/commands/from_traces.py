"""`evenhand data from-traces`: cases from the traces of a run, reviewed in the browser where somebody wants to.

How a review works: a decision is a label of the trace, in its run's file. The dataset follows from the draw and the
labels, so a review can be broken off and taken up again with the same command. The file is read before it is written:
what somebody wrote into a case meanwhile, such as what a right answer is, stays.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import PASSED
from evenhand.cli.options import flag, number_option, text_option
from evenhand.cli.show import filtered, narrowed
from evenhand.cli.streams import tell
from evenhand.core.case import Case
from evenhand.core.errors import UsageError
from evenhand.core.ranges import PORTS, SEED, Range
from evenhand.core.record import Record
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.store.labels.label import Label
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.cases import DrawnCases, decisions, drawn_cases, without_left_out

DRAW = Range(1, 1_000_000, whole=True)
_FILE = click.Path(path_type=Path)


@click.command(name="from-traces", short_help="Write cases from the traces of a run.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@click.option("--to", required=True, type=_FILE, help="The file to write.")
@number_option("--draw", within=DRAW, metavar="N", help="Draw N of them at random.  [default: all]")
@text_option(
    "--by",
    metavar="WHAT",
    help="Draw from each group of these: status, model, service, tools or variant.",
)
@number_option("--seed", within=SEED, default=0, show_default=True, help="Seed of the draw.")
@flag("--keep-personal-data", help="Don't hide secrets, addresses and numbers.")
@flag("--review", help="Review the drawn traces in the browser: keep or leave out each.")
@number_option("--port", within=PORTS, metavar="N", help="With --review: as for `view`.")
@click.option("--open/--no-browser", "open_", default=None, help="With --review: as for `view`.")
@filtered
def from_traces(
    run: str | None,
    to: Path,
    draw: int | None,
    by: str,
    seed: int,
    keep_personal_data: bool,
    review: bool,
    port: int | None,
    open_: bool | None,
    **filters: Any,
) -> int:
    """Write cases from the traces of RUN: an id, the start of one, or a file. Default: the latest run.

    Each different input becomes a case once. With --draw, its metadata says how likely it was to be drawn. E-mail
    addresses, numbers of phones, cards and accounts, and secrets are hidden; names are not. Cases have no
    expected answer: read them, and add one.

    With --review, the browser shows the drawn traces: press + to keep a trace, and - to leave it out. The file follows
    at once. The decisions are kept with RUN: the same command continues a review, and without --review it leaves out
    the same traces.
    """
    from evenhand.core.wording.words import count, safe
    from evenhand.store.run_lookup import find

    if not review and (port is not None or open_ is not None):
        raise UsageError("--port, --open and --no-browser are for --review", hint="Add --review.")
    path = find(Path.cwd(), run)
    with RunFile.open(path) as whole:
        chosen = narrowed(whole, **filters)
        drawn = drawn_cases(chosen, draw, by, seed, redacted=not keep_personal_data)
        reviewed = without_left_out(drawn, whole.labels())
    reviewing = None
    if review:
        from evenhand.wings.viewer.page import static

        static("app.js")  # or it says why there is no page, before it writes anything
        reviewing = DatasetReview(path, drawn, to)
        reviewing.write()
    else:
        Dataset(reviewed.cases).write(to)
    left_out = [
        text
        for many, text in (
            (reviewed.doubles, f"{count(reviewed.doubles, 'double')} left out"),
            (reviewed.without, f"{reviewed.without:,} without an input"),
            (
                len(drawn.cases) - len(reviewed.cases),
                f"{len(drawn.cases) - len(reviewed.cases):,} left out in the review",
            ),
        )
        if many
    ]
    hidden = ", ".join(f"{many:,} × {kind}" for kind, many in sorted(reviewed.hidden.items()))
    parts = [
        count(len(reviewed.cases), "case"),
        f"from {count(reviewed.traces, 'trace')}",
        *left_out,
    ]
    click.echo(f"{safe(str(to))}: {' · '.join([*parts, f'hidden: {hidden}'] if hidden else parts)}")
    if by:
        for one in reviewed.strata:
            click.echo(f"  {safe(one.name) or 'unknown'}: {one.drawn:,} of {one.size:,}")
    if reviewing is not None:
        return _reviewed(reviewing, port, open_)
    tell(f"next: read {to}, and add what a right answer is")
    return PASSED


def _reviewed(review: DatasetReview, port: int | None, open_: bool | None) -> int:
    """Serves the viewer until it is ended, and says what the review came to."""
    from evenhand.core.wording.words import count, safe
    from evenhand.wings.viewer.commands.view import serve_page
    from evenhand.wings.viewer.listing import Runs

    place = f"#/run/{review.run.stem}?show=drawn"
    serve_page(Runs(Path.cwd(), review.run), place, "127.0.0.1", port, open_, review)
    done = review.write()
    left = len(review.places) - done.kept - done.left_out
    click.echo(
        f"{safe(str(review.file))}: {count(done.cases, 'case')} · {done.kept:,} kept · {done.left_out:,} left out · "
        f"{left:,} not reviewed"
    )
    return PASSED


REVIEWED_BY = "reviewed_by"


class Reviewed(Record, frozen=True):
    """How far a review is.

    Attributes:
        cases: In the file now.
        kept: How many people decided to keep.
        left_out: How many they left out.
    """

    cases: int
    kept: int
    left_out: int


class DatasetReview:
    """A dataset that was drawn from a run's traces, and is reviewed.

    Args:
        drawn: What was drawn from it.
    """

    def __init__(self, run: Path, drawn: DrawnCases, to: Path) -> None:
        self.run = run
        self.file = to
        self.places = drawn.places
        self._drawn = {case.id: case for case in drawn.cases}
        self._place_of = dict(zip(self._drawn, drawn.places, strict=True))
        self._seen: dict[str, Case] = {}
        self._written: int | None = None
        self._lock = threading.Lock()

    def write(self) -> Reviewed:
        """Writes the dataset as the labels have it. At first, the file has the drawn cases and no others.

        Raises:
            UsageError: The file cannot be written, or what is there is no dataset.
            StoreError: The run's file cannot be read.
        """
        with self._lock:
            others = self._look()
            with RunFile.open(self.run) as run:
                decided = decisions(run.labels())
            mine = [
                _marked(self._seen.get(id_, case), decided.get(self._place_of[id_]))
                for id_, case in self._drawn.items()
                if _value(decided, self._place_of[id_]) != "leave out"
            ]
            cases = [*mine, *others]
            Dataset(cases).write(self.file)
            self._written = len(cases)
            values = [_value(decided, place) for place in self.places]
            return Reviewed(len(cases), values.count("keep"), values.count("leave out"))

    def _look(self) -> list[Case]:
        """Takes in what the file holds by now; the cases in it that were not drawn here."""
        first = self._written is None
        if self._written == 0 or not self.file.is_file() or not self.file.stat().st_size:
            return []
        there = list(Dataset.read(self.file))
        self._seen |= {case.id: case for case in there if case.id in self._drawn}
        return [] if first else [case for case in there if case.id not in self._drawn]


def _value(decided: Mapping[int, Label], place: int) -> object:
    label = decided.get(place)
    return None if label is None else label.value


def _marked(case: Case, label: Label | None) -> Case:
    """The case with the name of who decided to keep it; without one where nobody did."""
    metadata = {key: value for key, value in case.metadata.items() if key != REVIEWED_BY}
    if label is not None:
        metadata[REVIEWED_BY] = label.author
    return replace(case, metadata=metadata)

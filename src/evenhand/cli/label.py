"""`evenhand label`: people label a random draw of what judges judged."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import file_option, flag, number_option, repeatable
from evenhand.cli.streams import printing, say_json, tell
from evenhand.core.errors import UsageError
from evenhand.core.ranges import Range
from evenhand.core.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs
    from evenhand.analysis.trust.labels.drawing import DrawnItem
    from evenhand.store.labels.draw import Draw
    from evenhand.store.runfile import RunFile

DRAW = Range(1, 1_000_000, whole=True)
SEED = Range(0, 2**53, whole=True)
RISK = Range(0.001, 0.999)


@click.command(short_help="Label outputs by hand, to measure the judges.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@number_option("--draw", "size", within=DRAW, metavar="N", help="Draw N trials at random.")
@flag("--active", help="Draw outputs that the judge is unsure of more often; needs --draw.")
@click.option(
    "--by-stratum",
    metavar="COLUMN",
    help="Draw from each value of this column (`tags`, `variant`) in proportion; needs --draw.",
)
@flag("--equal", help="With --by-stratum: draw as many from each value.")
@number_option(
    "--seed", within=SEED, metavar="N", help="The seed of the draw.  [default: a random one]"
)
@repeatable(
    "--metric",
    "metrics",
    metavar="NAME",
    help="Label this metric; may be repeated.  [default: all that judges judged]",
)
@file_option(
    "--to", help="Write what to label to this CSV or .jsonl file, with an empty `verdict` column."
)
@file_option(
    "--from",
    "source",
    metavar="FILE|RUN",
    help="Read verdicts from this CSV or .jsonl file, or those of an earlier run whose outputs are the same.",
)
@click.option(
    "--by",
    metavar="NAME",
    help="Who labels; several people may label the same draw.  [default: your user name]",
)
@click.option(
    "--rule",
    metavar="TEXT",
    help="The written rule for a pass, shown while labelling; needs one --metric.",
)
@number_option(
    "--unsure",
    within=RISK,
    metavar="R",
    help="Label outputs that the judge can't decide at this risk, the least sure first.",
)
@flag("--codes", help="Count the failure codes that people gave.")
@flag("--json", "as_json", help="With --codes: print one JSON document.")
@repeatable(
    "--rename",
    metavar="OLD=NEW",
    help="Rename a failure code, or merge it into another; may be repeated.",
)
def label(
    run: str | None,
    metrics: tuple[str, ...],
    rule: str | None,
    unsure: float | None,
    codes: bool,
    as_json: bool,
    rename: tuple[str, ...],
    **options: Any,
) -> int:
    """Label outputs of RUN as pass or fail, with the judge's verdict hidden. Default: the latest run.

    Only labels of a random draw can measure a judge. In a terminal, outputs are shown one at a time; with --to
    and --from, they are labelled in a spreadsheet. `evenhand calibrate` then compares the judges with the labels.

    Of a ranking (--metric), pairs of outputs are drawn, and you say which of the two is better.
    """
    from evenhand.analysis.trust.labels.drawing import (
        drawn_items,
        draws_to_label,
        items_for,
        judged_places,
        peoples_share,
    )
    from evenhand.analysis.trust.labels.pair_drawing import ranking_to_label
    from evenhand.analysis.trust.labels.sheet_rows import ranking_in
    from evenhand.analysis.trust.labels.what_next import next_labels, nothing_drawn
    from evenhand.analysis.trust.selective import items_for_people
    from evenhand.core.judge_checks import refuse_judge_check
    from evenhand.store.labels.stored_draws import set_rule, standing_labels
    from evenhand.store.run_lookup import called, find
    from evenhand.store.runfile import RunFile

    design, sheet = _Design.of(options), _Sheet.of(options)
    size, to, source = sheet.size, sheet.to, sheet.source
    if source is not None and (size is not None or to is not None):
        raise UsageError(
            "--from can't be combined with --draw or --to",
            hint="Draw first, fill in the file, then read it: three commands.",
        )
    if unsure is not None and (size is not None or source is not None):
        raise UsageError(
            "--unsure can't be combined with --draw or --from",
            hint="It picks outputs instead of drawing them at random, so their labels correct no pass rate.",
        )
    design.check(size)
    if any((codes, rename, as_json)):
        return _codes(find(Path.cwd(), run), rename, codes=codes, as_json=as_json)
    if source is not None and (earlier := _run_in(source)) is not None:
        return _carry(earlier, find(Path.cwd(), run), metrics)
    with RunFile.open(find(Path.cwd(), run)) as run_file:
        refuse_judge_check(run_file.meta)
        name = called(Path.cwd(), run_file.path)
        named = ranking_in(run_file, metrics, source) if source is not None else None
        ranking = ranking_to_label(run_file, (named,) if named is not None else metrics)
        if ranking is not None:
            design.refuse_for(ranking.name, unsure)
            return _label_pairs(run_file, ranking, rule, sheet, name)
        if source is None and not metrics:
            judged_places(run_file)  # says so where no judge was asked
        if rule is not None:
            set_rule(run_file.path, _one_metric(run_file, metrics), rule)
        if source is not None:
            return _read_sheet(run_file, source, metrics, sheet.author, name)
        sheet.check()
        picked = None if unsure is None else items_for_people(run_file, unsure, metrics)
        draws = draws_to_label(run_file, metrics) or peoples_share(run_file, size)
        if size is not None:
            draws = [design.drawn(run_file, size, sheet.seed_or_any, metrics, draws)]
        elif to is not None and picked is None and not draws:
            raise nothing_drawn(run_file)
        if to is not None:
            items = list(drawn_items(run_file, draws)) if picked is None else picked
            if sheet.by:
                items = items_for(sheet.by, items, standing_labels(run_file.metric_labels()))
            return _write_sheet(run_file, items, to, name)
        if rule is not None and picked is None and size is None and not sys.stdin.isatty():
            _tell_rule(_one_metric(run_file, metrics), next_labels(run_file))
            return 0
    from evenhand.cli.labelling import label_in_terminal

    return label_in_terminal(find(Path.cwd(), run), metrics, sheet.author, size, picked)


class _Design(Record, frozen=True):
    """How likely each trial is to be drawn, as the options say."""

    active: bool
    by_stratum: str | None
    equal: bool

    @staticmethod
    def of(options: dict[str, Any]) -> _Design:
        """Takes its own out of the command's options."""
        return _Design(**{name: options.pop(name) for name in _Design.__struct_fields__})

    def check(self, size: int | None) -> None:
        """Raises a UsageError where the options don't go together."""
        if self.equal and self.by_stratum is None:
            raise UsageError("--equal needs --by-stratum", hint="--by-stratum tags --equal")
        if not self.active and self.by_stratum is None:
            return
        option = "--active" if self.active else "--by-stratum"
        if self.active and self.by_stratum is not None:
            raise UsageError(
                "--active doesn't go with --by-stratum",
                hint="Make two draws: the second one is from what the first one left.",
            )
        if size is None:
            raise UsageError(f"{option} needs --draw", hint=f"Say how many: --draw 60 {option}.")

    def refuse_for(self, ranking: str, unsure: float | None) -> None:
        """Raises a UsageError for a ranking where another than a uniform draw is asked for."""
        if self.active or self.by_stratum is not None or unsure is not None:
            raise UsageError(
                f"the pairs of {ranking!r} are drawn uniformly",
                hint="Leave --active, --by-stratum and --unsure out.",
            )

    def drawn(
        self, run: RunFile, size: int, seed: int, metrics: tuple[str, ...], before: list[Draw]
    ) -> Draw:
        """Draws, and says why that came to fewer than were asked for."""
        from evenhand.cli.labelling import tell_fewer, tell_too_few

        drawn = self.draw(run, size, seed, metrics)
        tell_fewer(size, len(drawn.places), "output", earlier=any(one != drawn for one in before))
        tell_too_few(run, drawn)
        return drawn

    def draw(self, run: RunFile, size: int, seed: int, metrics: tuple[str, ...]) -> Draw:
        """Draws; of a draw that isn't uniform it says what it came to."""
        from evenhand.analysis.trust.labels.drawing import draw
        from evenhand.analysis.trust.labels.uneven_drawing import (
            draw_by_stratum,
            draw_lines,
            draw_unsure,
        )

        if self.active:
            drawn = draw_unsure(run, size, seed, metrics)
            if not drawn.strata:
                tell(
                    "the judge seems as sure of each output as of any other, so this is a uniform draw"
                )
        elif self.by_stratum is not None:
            drawn = draw_by_stratum(run, size, seed, self.by_stratum, metrics, equal=self.equal)
        else:
            return draw(run, size, seed, metrics)
        for line in draw_lines(drawn):
            tell(line)
        return drawn


def _write_sheet(run: RunFile, items: Sequence[DrawnItem], to: Path, name: str) -> int:
    """Writes items to a file, for people to fill in."""
    from evenhand.analysis.trust.labels.sheet_rows import write_items
    from evenhand.core.wording.words import count

    write_items(run, items, to)
    if blank := sum(not item.output for item in items):
        tell(
            f"{count(blank, 'item')} without an output: have the eval return the text that it has judged"
        )
    tell(
        f"{_items_in_words(items)} to label written to {to}; fill in `verdict` with pass or fail, then: "
        f"evenhand label {name} --from {to} --by NAME"
    )
    return 0


def _run_in(source: Path) -> Path | None:
    """The run that somebody means; None for a file with verdicts."""
    from evenhand.store.run_lookup import SUFFIX, find

    is_sheet = source.suffix and source.suffix != SUFFIX
    return None if is_sheet or source.is_dir() else find(Path.cwd(), str(source))


def _carry(source: Path, path: Path, metrics: tuple[str, ...]) -> int:
    """Has the labels of an earlier run count for this one."""
    from evenhand.analysis.trust.labels.carried_labels import carry_labels
    from evenhand.analysis.trust.labels.what_next import FIRST_DRAW
    from evenhand.core.judge_checks import refuse_judge_check
    from evenhand.core.wording.words import count
    from evenhand.store.labels.draw import unordered
    from evenhand.store.run_lookup import called
    from evenhand.store.runfile import RunFile

    with RunFile.open(source) as earlier, RunFile.open(path) as run:
        refuse_judge_check(run.meta)
        which = carry_labels(earlier, run, metrics)
    name, old = called(Path.cwd(), path), called(Path.cwd(), source)
    total = len(which.labels) + len(which.preferences.labels)
    labels, counts = count(total, "label"), "counts" if total == 1 else "count"
    tell(
        f"{labels} of run {old} {counts} here, too: the outputs, their questions and criteria are the same"
    )
    if which.different:
        tell(f"{count(which.different, 'label')} left out, as one of these is different")
    with RunFile.open(path) as again:
        drawn = {(place, m) for d in again.draws() for place in d.places for m in d.metrics}
        pairs = {(unordered(pair), d.metric) for d in again.pair_draws() for pair in d.pairs}
    if all((one.index, one.metric) in drawn for one in which.labels) and all(
        one.key in pairs for one in which.preferences.labels
    ):
        tell(f"next: evenhand calibrate {name}")
    else:
        tell(
            "! without their draw, which would be no random one here: they count as far as a new one has them;"
            f" next: evenhand label {name} --draw {FIRST_DRAW}"
        )
    return 0


def _read_sheet(
    run: RunFile, source: Path, metrics: tuple[str, ...], author: str, name: str
) -> int:
    """Keeps the labels in a file."""
    from evenhand.analysis.trust.labels.sheet_rows import NEEDED, inclusion_line, read_labels
    from evenhand.analysis.trust.labels.what_next import drawn_in
    from evenhand.core.wording.words import count
    from evenhand.store.labels.label import NewLabel
    from evenhand.store.labels.stored_draws import add_metric_labels
    from evenhand.store.labels.stored_labels import append_labels
    from evenhand.store.run_lookup import called

    sheet = read_labels(run, source)
    others = sorted({metric for _, metric in sheet.verdicts} - set(metrics)) if metrics else []
    if others:
        raise UsageError(
            f"{source} also has labels of {others[0]!r}, which --metric doesn't name",
            hint="Leave --metric out: the file names its metrics.",
        )
    changed = inclusion_line(run, source, NEEDED)
    add_metric_labels(run.path, author, sheet.labels)
    append_labels(
        run.path,
        [
            NewLabel(index, field, value, author, blind=True)
            for (index, field), value in sheet.remarks.items()
        ],
    )
    drawn = {(place, m) for d in run.draws() for place in d.places for m in d.metrics}
    following = f"evenhand calibrate {name}"
    if outside := sheet.verdicts.keys() - drawn:
        tell(f"{count(len(outside), 'label')} outside a draw: kept, but used for no correction")
        for other in drawn_in(run, sheet.verdicts.keys()):
            with contextlib.suppress(UsageError):  # the same draw of other outputs
                read_labels(other, source)
                drawn_of = called(Path.cwd(), other.path)
                tell(f"! {source} is a draw of run {drawn_of}, not of run {name}")
                following = f"evenhand label {drawn_of} --from {source} --by {author}"
                break
    if changed:
        tell(changed)
    tell(f"{count(len(sheet.labels), 'label')} by {author}; next: {following}")
    return 0


class _Sheet(Record, frozen=True, kw_only=True):
    """What is drawn, written or read, as the options say, and by whom."""

    size: int | None
    seed: int | None
    to: Path | None
    source: Path | None
    by: str | None

    @staticmethod
    def of(options: dict[str, Any]) -> _Sheet:
        """Takes its own out of the command's options."""
        return _Sheet(**{name: options.pop(name) for name in _Sheet.__struct_fields__})

    def check(self) -> None:
        """Raises a UsageError where a draw couldn't be labelled: it would be kept, and be of no use."""
        if self.to is not None:
            from evenhand.analysis.trust.labels.sheet_rows import check_new_file

            check_new_file(self.to)
        elif self.size is not None:
            from evenhand.cli.labelling import need_terminal

            need_terminal(self.size)

    @property
    def seed_or_any(self) -> int:
        """The seed of the draw: a random one where none is named."""
        import secrets

        return secrets.randbelow(2**31) if self.seed is None else int(self.seed)

    @property
    def author(self) -> str:
        """Who labels: the name of the user where none is named."""
        return self.by or user_name()


def user_name() -> str:
    """The name of whoever is logged in."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "me"


def _label_pairs(
    run: RunFile, pairs: ComparedPairs, rule: str | None, sheet: _Sheet, name: str
) -> int:
    """Labels pairs of a ranking."""
    from evenhand.analysis.trust.labels.what_next import next_labels
    from evenhand.cli.labelling import PairLabelling
    from evenhand.store.labels.stored_draws import set_rule

    if rule is not None:
        set_rule(run.path, pairs.name, rule)
        idle = sheet.size is None and sheet.source is None and sheet.to is None
        if idle and not sys.stdin.isatty():
            _tell_rule(pairs.name, next_labels(run))
            return 0
    labelling = PairLabelling(
        author=sheet.author,
        named=bool(sheet.by),
        size=sheet.size,
        seed=sheet.seed_or_any,
        to=sheet.to,
        source=sheet.source,
        run=name,
    )
    return labelling.done(run, pairs)


def _tell_rule(metric: str, command: str) -> None:
    """Says that a rule was kept, and which command comes next."""
    from evenhand.core.wording.words import safe

    following = (
        f"{command} --to draw.csv; without --to, in a terminal" if command else "evenhand calibrate"
    )
    tell(f"the rule for {safe(metric)} is kept; next: {following}")


def _codes(path: Path, rename: tuple[str, ...], *, codes: bool, as_json: bool) -> int:
    """Renames failure codes, and counts them."""
    from evenhand.analysis.trust.labels.failure_codes import code_lines, codes_document, rename_code
    from evenhand.analysis.trust.labels.what_next import labelled_run
    from evenhand.store.runfile import RunFile

    if as_json and not (codes or rename):  # what else `label` does prints nothing
        raise UsageError("--json needs --codes", hint="evenhand label --codes --json")
    pairs = [each.partition("=") for each in rename]
    for each, (old, _, new) in zip(rename, pairs, strict=True):
        if not old.strip() or not new.strip():
            raise UsageError(f"--rename {each!r} is not OLD=NEW", hint="--rename 'tone=too cold'")
    with RunFile.open(path) as run_file:
        for old, _, new in pairs:
            rename_code(run_file, old.strip(), new.strip())
    with RunFile.open(path) as run_file, printing():
        if as_json:
            say_json(codes_document(run_file))
            return 0
        for line in code_lines(run_file):
            click.echo(line)
        if (other := labelled_run(run_file)) is not None and other.labels:
            tell(f"! run {other.name} has {other.words}: evenhand label {other.name} --codes")
    return 0


def _items_in_words(items: Sequence[DrawnItem]) -> str:
    """How many there are; of several metrics, as outputs times metrics where each output has all of them."""
    from evenhand.core.wording.words import count

    outputs, metrics = {item.trial.index for item in items}, {item.metric for item in items}
    times = " ×" if len(items) == len(outputs) * len(metrics) else ","
    several = f" ({count(len(outputs), 'output')}{times} {len(metrics)} metrics; --metric chooses)"
    return count(len(items), "item") + (several if len(metrics) > 1 else "")


def _one_metric(run: RunFile, metrics: tuple[str, ...]) -> str:
    """The metric that a rule is for."""
    from evenhand.analysis.trust.labels.drawing import judged_places

    _, names = judged_places(run, metrics)
    if len(names) != 1:
        from evenhand.analysis.trust.trust_rules import CROWD, ONE_METRIC

        more = f" and {len(names) - CROWD} more" if len(names) > CROWD else ""
        one = (
            f" If they differ only from case to case, {ONE_METRIC}: then run again." if more else ""
        )
        raise UsageError(
            "--rule: for which metric?",
            hint=f"Name one with --metric: {', '.join(names[:CROWD])}{more}.{one}",
        )
    return names[0]

"""`evenhand calibrate --try`: variants of a run's judges on its labelled outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.session import Session, study_settings
from evenhand.cli.streams import printing, say_json, say_lines, tell
from evenhand.cli.study import (
    JudgeRequest,
    Study,
    as_asked,
    ended,
    judges_asked,
    judges_asked_alone,
)
from evenhand.cli.trusting import look_at_origin
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.record import Record
from evenhand.core.wording.ink import Ink, width_of
from evenhand.core.wording.words import (
    clip,
    columns,
    count,
    folded,
    in_points,
    money,
    p_value,
    padded,
    percent,
    points,
    priced,
    safe,
    spent,
)
from evenhand.render.calibration_text import difference_words, rate_or_dash
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.tried import (
    CHOOSING,
    CONFIRMING,
    FEWEST,
    Comparison,
    JudgeTryout,
    Tried,
    TriedCascade,
    Tryout,
)

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings
    from evenhand.wings.judge_checks.tryout_plan import Lineup


class TryoutOptions(Record, frozen=True, kw_only=True):
    """What a tryout's file keeps.

    Attributes:
        run: The id of the run.
        tried: The variants, as they were named on the command line.
        base: The folder that their paths start from.
        seed: Divides the labelled outputs into halves.
        metrics: Which metrics; empty for all with labels.
        offline: Judges' answers come from offline.jsonl.
    """

    run: str
    tried: tuple[str, ...]
    base: str
    seed: int
    metrics: tuple[str, ...]
    offline: bool


class TryoutRequest(JudgeRequest[TryoutOptions], frozen=True):
    """A tryout of variants of a run's judges. Variants are named, not copied: their models' settings may hold keys."""

    kind, key, word = TryoutOptions, "tryout", "tryout"
    remedy = "Start a new tryout: answers that the cache has are not paid for twice."

    def lineup(self) -> Lineup:
        """The variants, each with its models.

        Raises:
            ConfigError: All that is wrong with the files that hold them.
            UsageError: What is wrong with those on the command line.
        """
        from evenhand.wings.judge_checks.judge_variants import read_variants

        variants = read_variants(self.options.tried, Path(self.options.base))
        return [(one, [model.provider() for model in one.models]) for one in variants]

    def plan(self) -> Plan:
        """The tryout's plan.

        Raises:
            UsageError: The files have changed since the run, nothing is labelled, or a variant is wrong.
            ConfigError: All that is wrong with the files.
        """
        from evenhand.wings.judge_checks.tryout_plan import tryout_plan

        lineup, options = self.lineup(), self.options
        with RunFile.open(self.run) as run_file:
            return tryout_plan(self.asked.plan(), run_file, lineup, options.seed, options.metrics)


def try_variants(request: TryoutRequest, session: Session, *, dry_run: bool) -> int:
    """Asks variants of a run's judges about its labelled outputs, and prints what that came to.

    Args:
        dry_run: Only says what would be asked.
    """
    settings = study_settings(request.run.parent.parent, session, request.record())
    return _tried(request, settings, None, session, dry_run=dry_run)


def continue_tryout(meta: RunMeta, file: Path, session: Session) -> int:
    """Goes on with a tryout that is not finished, and prints what it came to."""
    if meta.status == "finished":
        return report_tryout(file, as_json=session.as_json)
    look_at_origin(meta, trust=session.trust)
    settings = replace(study_settings(file.parent.parent, session, {}), record=meta.settings)
    return _tried(TryoutRequest.again(meta, file), settings, file, session)


def _tried(
    request: TryoutRequest,
    settings: Settings,
    file: Path | None,
    session: Session,
    *,
    dry_run: bool = False,
) -> int:
    with as_asked(request), judges_asked_alone(request, nobody=dry_run):
        plan = request.plan()
        if dry_run or (file is None and not request.offline):
            _estimate(request, quiet=not dry_run)
        if dry_run:
            return 0
        _refuse_keyless(request)
        finished = judges_asked(request, plan, settings, file, session)
    return ended(finished, report_tryout(finished.path, as_json=session.as_json), "tryout")


def _refuse_keyless(request: TryoutRequest) -> None:
    """Says which keys are missing, before anything is paid for."""
    from evenhand.providers.catalog import key_missing
    from evenhand.providers.missing_keys import NO_KEY, set_key

    for variant, models in request.lineup():
        for model in models:
            if key := key_missing(model, judges=True):
                raise UsageError(
                    f"--try: {variant.name}: {NO_KEY.format(model.id)}", hint=set_key(key)
                )


def _estimate(request: TryoutRequest, *, quiet: bool) -> None:
    """Prints about how much each variant asks, and what that costs.

    Args:
        quiet: Only the sum, to stderr.
    """
    from evenhand.wings.judge_checks.estimate import tryout_estimate
    from evenhand.wings.judge_checks.tryout_plan import labelled_judges

    calls, costs = 0, list[float | None]()
    lines: list[str] = []
    with RunFile.open(request.run) as run_file:
        for judge in labelled_judges(run_file, request.options.seed, request.options.metrics):
            lines.append(f"{safe(judge.metric)}: {count(len(judge.items), 'labelled output')}")
            for variant, models in request.lineup():
                number, cost = tryout_estimate(run_file, judge, variant, models)
                price = priced(cost, scripted=request.offline)
                name = padded(safe(variant.name), 28)
                lines.append(f"  {name}  about {count(number, 'call')}, {price}")
                calls += number
                costs.append(cost)
    known = [cost for cost in costs if cost is not None]
    whole = sum(known) if len(known) == len(costs) else None
    line = f"about {count(calls, 'call')} to judges, {priced(whole, scripted=request.offline)}"
    if quiet:
        tell(line)
        return
    say_lines([*lines, line])


def report_tryout(file: Path, *, as_json: bool) -> int:
    """Prints what a tryout came to, and returns the exit code. It is no gate: only that nothing came of it counts."""
    from evenhand.analysis.summaries.grid import Grid
    from evenhand.cli.exits import NO_VERDICT, PASSED
    from evenhand.render.failures import error_lines, remedy
    from evenhand.store.run_lookup import called
    from evenhand.wings.judge_checks.tryout import tryout_of

    with RunFile.open(file) as run_file:
        tryout = tryout_of(run_file)
        scripted, grid = run_file.meta.is_scripted, Grid(run_file)
        unanswered = any(judge.open for judge in tryout.judges)
        name = called(Path.cwd(), file)
        errors = error_lines(run_file, grid, width_of(sys.stdout), Ink(on=False))
        resumed = (remedy(run_file, grid, name) or f"evenhand resume {name}") if unanswered else ""
    if as_json:
        say_json(tryout.document())
    else:
        say_lines(tryout_lines(tryout, scripted=scripted))
        say_lines([*errors, ""] if errors else [])
        with printing():
            verdicts = {judge.verdict for judge in tryout.judges}
            following = f"evenhand view {name}"
            if resumed:
                following = resumed
            elif "no verdict" in verdicts and all(judge.complete for judge in tryout.judges):
                following = _label_more(tryout.run)
            elif "confirmed" in verdicts:
                following = "name the winner as your judge, then evenhand run, label and calibrate"
            elif "not confirmed" in verdicts:
                following = f"{_label_more(tryout.run)}, and try again with more labels"
            cost = spent(tryout.cost_usd, scripted=scripted)
            tell(f"{count(tryout.calls, 'call')}, {cost}; next: {following}")
    return NO_VERDICT if unanswered else PASSED


def _label_more(run: str) -> str:
    """The command that labels more of the run whose judges were tried."""
    from evenhand.analysis.trust.labels.what_next import next_labels
    from evenhand.store.run_lookup import find

    try:
        with RunFile.open(find(Path.cwd(), run)) as labelled:
            return next_labels(labelled) or "add cases, run, label and calibrate"
    except EvenhandError:  # it was deleted, or is elsewhere
        return f"evenhand label {run}"


def study(meta: RunMeta, file: Path) -> Study:
    """The tryout that an earlier session started."""

    def came_to(file: Path, session: Session) -> int:
        return report_tryout(file, as_json=session.as_json)

    return Study("tryout", TryoutRequest.again(meta, file), came_to)


_NAME = 28


def tryout_lines(tryout: Tryout, *, scripted: bool = False) -> Iterator[str]:
    """A block of lines for each judge: the verdict, and a table of its variants.

    Args:
        scripted: A script answered, so that no verdict has a price.
    """
    for judge in tryout.judges:
        yield f"{safe(judge.judge.metric)} · judged by {safe(judge.judge.model)}"
        yield from _wrapped(f"{judge.verdict}: {_why(judge)}", 2)
        yield ""
        yield from _rates(judge, scripted=scripted)
        yield ""
        yield from _differences(judge)
        yield ""


def _why(judge: JudgeTryout) -> str:
    """The verdict in words."""
    if not judge.complete:
        return "not all variants were asked about all labelled outputs"
    if not judge.enough:
        return (
            f"{count(judge.labels, 'label')} are too few: it takes {FEWEST} or more, so that each half has"
            f" {FEWEST // 2}"
        )
    if judge.open:
        size = judge.size(CHOOSING)
        silent = [
            f"'{safe(one.name)}' (without a verdict on {one.silent(CHOOSING):,} of the {size:,} outputs used to choose)"
            for one in judge.open
        ]
        return f"whether {' or '.join(silent)} is better isn't known"
    if judge.winner is None or judge.confirmation is None:
        return (
            f"on the {judge.size(CHOOSING)} outputs used to choose, no variant agrees with people more often than"
            " today's judge"
        )
    name, half = safe(judge.winner.name), judge.size(CONFIRMING)
    comparison = _compared(judge.confirmation)
    if judge.confirmed:
        return (
            f"'{name}' agrees with people more often than today's judge, also on the {half} outputs held"
            f" out to confirm it: {comparison}"
        )
    errors = judge.winner.errors
    doubt = f"; {count(errors, 'error')} could have gone either way" if errors else ""
    return (
        f"'{name}' is ahead on the outputs used to choose, but isn't shown to be better on the {half} held out:"
        f" {comparison}{doubt}. {_could_show(judge.confirmation, half)}"
    )


def _could_show(compared: Comparison, outputs: int) -> str:
    """What so many outputs can show at all."""
    if compared.smallest is None:
        return f"{outputs} outputs like these show no difference, however large"
    smallest = in_points(points(compared.smallest).removeprefix("+"))
    return f"{outputs} outputs show a difference of {smallest} four times in five"


def _rates(judge: JudgeTryout, *, scripted: bool) -> Iterator[str]:
    """How each one stands to people, on all labelled outputs; where a row has no room, its name stands above it."""
    every = (judge.today, *judge.variants)
    table: dict[str, list[str]] = {
        "agrees": [rate_or_dash(one.agrees) for one in every],
        "TPR": [rate_or_dash(one.tpr) for one in every],
        "TNR": [rate_or_dash(one.tnr) for one in every],
        "corrected": [
            "–" if x is None else f"±{percent(x)}" for x in (one.half_width for one in every)
        ],
        "per verdict": [_price(one.per_verdict_usd, scripted=scripted) for one in every],
        "errors": [str(one.errors or "") for one in every],
    }
    names = [
        f"on all {count(judge.labels, 'label')}",
        *(clip(safe(one.name), _NAME) for one in every),
    ]
    widths = [max(columns(head), *map(columns, texts)) for head, texts in table.items()]
    rows = [
        "  ".join(map(padded, row, widths)).rstrip()
        for row in (list(table), *zip(*table.values(), strict=True))
    ]
    beside = 4 + _NAME + max(map(columns, rows)) <= width_of(sys.stdout)
    for name, row in zip(names, rows, strict=True):
        yield from (f"  {padded(name, _NAME)}  {row}",) if beside else (f"  {name}", f"    {row}")
    for one in judge.variants:
        if one.cascade is not None:
            yield from _wrapped(_shared_out(one.name, one.cascade), 2)


def _price(usd: float | None, *, scripted: bool) -> str:
    return money(usd) if usd is not None else "scripted" if scripted else "–"


def _shared_out(name: str, cascade: TriedCascade) -> str:
    """What each judge of a cascade would decide, by the labels that choose."""
    first = "nothing, so it saves nothing"
    if cascade.first is not None:
        first = f"{cascade.decided_first:,} from {cascade.first:.2f} on"
    left = f", {cascade.people:,} are for a person" if cascade.people else ""
    return (
        f"{safe(name)}, at a risk of {cascade.risk * 100:g} %: the first judge decides {first}, the second one"
        f" {cascade.decided_then:,} of the others{left}"
    )


def _differences(judge: JudgeTryout) -> Iterator[str]:
    """How each one differs from today's judge, on the half that chooses; and the winner on the other half."""
    half = f"on {judge.size(CHOOSING)} labels used to choose"
    yield f"  {padded(half, _NAME)}  agrees with people more often than today's judge"
    for one, compared in zip(judge.variants, judge.choosing, strict=True):
        yield f"  {_name(one)}  {_compared(compared)}"
    if judge.winner is not None and judge.confirmation is not None:
        half = f"on {judge.size(CONFIRMING)} held out"
        yield f"  {half}"
        yield f"  {_name(judge.winner)}  {_compared(judge.confirmation)}"


def _compared(compared: Comparison) -> str:
    if compared.difference is None:
        return "–"
    return f"{difference_words(compared.difference)}, {p_value(compared.p)}"


def _name(one: Tried) -> str:
    return padded(clip(safe(one.name), _NAME), _NAME)


def _wrapped(text: str, indent: int) -> list[str]:
    return folded(text, width_of(sys.stdout), " " * indent, " " * (indent + 2))

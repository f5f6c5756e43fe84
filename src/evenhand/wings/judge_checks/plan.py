"""The plan of a probe: a sheet for each judged metric and judge of a run, items for cases and attacks for columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.analysis.trust.judgements.judged import JudgedMetric, judgements
from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.expect import VerdictRule, all_pass
from evenhand.core.names import did_you_mean
from evenhand.core.plan import Plan, PlannedTrial, Row, RunOptions, Sheet, Slot
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.asking import ProbeBody, judge_holds
from evenhand.wings.judge_checks.attacks import ATTACKS, CONTROLS, NO_ATTACK, VERSION, Attack
from evenhand.wings.judge_checks.items import ProbeItem, ProbeItems, items_of
from evenhand.wings.judge_checks.probe import ATTACK, CONTROL, probed_axes

NEGATED = "not-"
_TEXTS_OF_THEIR_OWN = frozenset({"constant", "empty", "truncated"})
"""Attacks that leave out what a bad answer does wrong: under a criterion that only forbids, they are right to pass."""


class Probing(Record, frozen=True):
    """What to probe.

    Attributes:
        items: How many items of each kind, at most.
        seed: Chooses the items.
        kinds: Which attacks; empty for all.
        metrics: Which metrics; empty for all that judges judged.
    """

    items: int = 20
    seed: int = 0
    kinds: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def attacks(self) -> list[Attack]:
        """The attacks, in their order.

        Raises:
            UsageError: There is none of this name.
        """
        for kind in self.kinds:
            if kind not in ATTACKS:
                raise UsageError(
                    f"--kind: {kind!r} is not a kind of attack",
                    hint=did_you_mean(kind, ATTACKS) or f"There are: {', '.join(ATTACKS)}.",
                )
        return [attack for kind, attack in ATTACKS.items() if not self.kinds or kind in self.kinds]


class _Cell(Record, frozen=True):
    """One trial of a probe: an item under an attack."""

    item: ProbeItem
    attack: Attack
    turn: int
    role: str


class _JudgeSheet(Record, frozen=True):
    """The rows for one judge under one metric."""

    run: Path
    judge: JudgedMetric
    planned_trials: Mapping[int, PlannedTrial]
    variants: Mapping[tuple[str, str], Variant]
    rows: Sequence[Sequence[_Cell]]

    @property
    def size(self) -> int:
        """How many trials."""
        return sum(map(len, self.rows))

    def walked(self) -> Iterator[Row]:
        """The rows for the judge: one for each item and sort of answer."""
        for cells in self.rows:
            first = cells[0]
            planned = self.planned_trials[first.item.index]
            rule: VerdictRule = judge_holds if first.role == ATTACK else all_pass
            slots = partial(self._slots, planned, cells)
            name = f"{planned.case.id}@{planned.index}"
            yield row_in_place(planned, name, slots, rule)

    def _slots(
        self, planned: PlannedTrial, cells: Sequence[_Cell], _case: Case, first: int
    ) -> list[Slot]:
        slots: list[Slot] = []
        swapped = cells[0].item.answer is not None
        for place, cell in enumerate(cells):
            body = ProbeBody(
                run=self.run,
                planned=planned,
                item=cell.item,
                attack=cell.attack,
                metric=self.judge.metric,
                turn=cell.turn,
                rests_on=first if swapped and place else None,
                tells=swapped and not place,
            )
            variant = self.variants[cell.attack.kind, cell.role]
            slots.append(
                Slot(variant=variant, body=body, after=(first,) if swapped and place else ())
            )
        return slots


def row_in_place(
    planned: PlannedTrial,
    name: str,
    slots: Callable[[Case, int], Sequence[Slot]],
    rule: VerdictRule,
    *,
    shows_thoughts: bool = True,  # an attack may look like one
) -> Row:
    """The row in which a judge is asked about one output, under this name, as in the run's own trial."""
    return Row(
        cases=[replace(planned.case, id=name)],
        slots=slots,
        repeats=1,
        rule=rule,
        judge=planned.judge,
        models=planned.models,
        shows_thoughts=shows_thoughts,
    )


def probe_plan(plan: Plan, run: RunFile, probing: Probing) -> Plan:
    """The plan of a probe of a run's judges.

    Args:
        plan: What the run was made from, as its files are now.

    Raises:
        UsageError: The files have changed since, a kind or a metric is not known, or no judge gave a verdict.
    """
    meta = run.meta
    attacks = probing.attacks()
    refuse_changed(plan, run)
    chosen = [
        (judge, items_of(run, judge, probing.items, probing.seed))
        for judge in _judges(run, probing.metrics)
    ]
    chosen = [(judge, items) for judge, items in chosen if items.any]
    if not chosen:
        raise UsageError(
            f"run {meta.id}: what its judges judged is not an answer that could be attacked",
            hint="Let the eval return the answer that is judged; trigger tests judge queries. A probe is of "
            "llm-rubric, Passes, Rating with a bound, and so on.",
        )
    planned_trials = trials_at(plan, set[int]().union(*(items.places() for _, items in chosen)))
    sheets: list[_JudgeSheet] = []
    for judge, items in chosen:
        first = sum(len(sheet.variants) for sheet in sheets)
        rows = list(_rows(items, attacks))
        variants = _variants(judge, rows, first, several=len(chosen) > 1)
        sheets.append(_JudgeSheet(run.path, judge, planned_trials, variants, rows))
    places = [[sorted(items.places()), judge.metric, judge.model] for judge, items in chosen]
    about = {
        "run": meta.id,
        "items": probing.items,
        "seed": probing.seed,
        "judges": [_about(judge, items, attacks) for judge, items in chosen],
    }
    settings: list[Any] = [VERSION, probing.items, probing.seed, probing.kinds, places]
    return Plan(
        title=f"probe of {meta.title}",
        sheets=[_sheet(sheet, plan.providers) for sheet in sheets],
        identify=lambda: digest("probe", plan.fingerprint, meta.id, encode(settings)),
        record=lambda: {"probe": about},
        source=plan.source,
        options=options_of(plan.options),
    )


def refuse_changed(plan: Plan, run: RunFile) -> None:
    """Lets a plan pass whose files are as they were for the run.

    Raises:
        UsageError: They have changed.
    """
    if plan.fingerprint != run.meta.fingerprint:
        raise UsageError(
            f"the judges of run {run.meta.id} cannot be asked again: what it was made from has changed since",
            hint="`evenhand run` it again, which pays for nothing twice that is unchanged; then name the new run.",
        )


def trials_at(plan: Plan, places: Container[int]) -> dict[int, PlannedTrial]:
    """The trials of a plan at these places, before they happened."""
    return {planned.index: planned for planned in plan.trials() if planned.index in places}


def refuse_unknown(metrics: Sequence[str], names: Sequence[str]) -> None:
    """Lets metrics pass on which some judge gave a verdict.

    Raises:
        UsageError: None did, on one of them.
    """
    for metric in metrics:
        if metric not in names:
            raise UsageError(
                f"--metric: no judge gave a verdict on {metric!r}",
                hint=did_you_mean(metric, names) or f"There are: {', '.join(names)}.",
            )


def options_of(options: RunOptions) -> RunOptions:
    """The run's options, without what it had to reach and what was to be done with its results."""
    return RunOptions(
        concurrency=options.concurrency,
        cache=options.cache,
        max_cost_usd=options.max_cost_usd,
        time_limit_s=options.time_limit_s,
        retries=options.retries,
        trial_limit_s=options.trial_limit_s,
        delay_s=options.delay_s,
    )


def _judges(run: RunFile, metrics: Sequence[str]) -> list[JudgedMetric]:
    """The judges to probe, under their metrics."""
    judged = judgements(run, verdicts_only=True)
    names = judged.names()
    if not names:
        raise UsageError(
            f"run {run.meta.id}: no judge gave a verdict in it",
            hint="A probe is of judged metrics: llm-rubric, Passes, Rating with a bound, and so on. "
            "Name a run that has one: `evenhand runs list`.",
        )
    refuse_unknown(metrics, names)
    return [one for one in judged.metrics.values() if not metrics or one.metric in metrics]


def _rows(items: ProbeItems, attacks: Sequence[Attack]) -> Iterator[list[_Cell]]:
    on_bad = [attack for attack in attacks if attack.base == "bad"]
    for turn, item in enumerate(items.bad):
        yield [_Cell(item, attack, turn, ATTACK) for attack in (NO_ATTACK, *on_bad)]
    for turn, item in enumerate(items.any):
        whole = [a for a in attacks if a.base == "any" and _applies(a, item)]
        if whole:
            yield [_Cell(item, attack, turn, ATTACK) for attack in whole]
    for turn, item in enumerate(items.long):
        cut = [a for a in attacks if a.base == "good" and _applies(a, item)]
        if cut:
            yield [_Cell(item, attack, turn, ATTACK) for attack in cut]
    for turn, item in enumerate(items.good):
        yield [_Cell(item, control, turn, CONTROL) for control in CONTROLS]


def _about(judge: JudgedMetric, items: ProbeItems, attacks: Sequence[Attack]) -> dict[str, Any]:
    """What is asked of a judge: those kinds, too, that no item can be made for."""
    kinds = [a.kind for a in attacks if not items.any or any(_applies(a, i) for i in items.any)]
    return {"metric": judge.metric, "model": judge.model, "kinds": kinds}


def _applies(attack: Attack, item: ProbeItem) -> bool:
    negated = any(name.startswith(NEGATED) for name in item.names)
    return not (negated and attack.kind in _TEXTS_OF_THEIR_OWN)


def _variants(
    judge: JudgedMetric, rows: Sequence[Sequence[_Cell]], first: int, *, several: bool
) -> dict[tuple[str, str], Variant]:
    """A column for each attack and each control that some item has."""
    variants: dict[tuple[str, str], Variant] = {}
    for cells in rows:
        for cell in cells:
            key = cell.attack.kind, cell.role
            if key not in variants:
                label = cell.attack.kind if cell.role == ATTACK else f"control: {cell.attack.kind}"
                label = f"{judge.metric}: {label}" if several else label
                variants[key] = Variant(
                    first + len(variants),
                    label,
                    judge.model,
                    axes=probed_axes(judge.metric, judge.model, *key),
                )
    return variants


def _sheet(sheet: _JudgeSheet, providers: Sequence[Any]) -> Sheet:
    walk: Callable[[], Iterator[Row]] = sheet.walked
    return Sheet(
        variants=tuple(sheet.variants.values()),
        rows=walk,
        case_count=len({cell.item.index for cells in sheet.rows for cell in cells}),
        size=sheet.size,
        providers=lambda: providers,
    )

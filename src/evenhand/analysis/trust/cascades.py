"""How sure each judge of a cascade has to be, by labels; how many outputs each decided in a run, and at what cost.

How sure they have to be is chosen in a run in which both were asked about every output. A run that goes by such limits
chooses no new ones: what the first judge decides there, the second one hasn't seen, and what nobody decides has no
verdict.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from evenhand.analysis.trust.agreement import tells_apart
from evenhand.analysis.trust.calibration_document import CalibrationCascade
from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric
from evenhand.analysis.trust.judgements.strata import uniform_of
from evenhand.core.cascade import JOINS
from evenhand.core.document import filled
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record
from evenhand.core.wording.words import count, money, percent
from evenhand.stats.cascading import DELTA, JudgedTwice, Limits, limits_of
from evenhand.store.labels.draw import Draw
from evenhand.store.runfile import RunFile


class CascadeCalibration(Record, frozen=True, kw_only=True):
    """How sure the judges of a cascade have to be.

    Attributes:
        cascade: Which cascade it is; see `CascadingModel`.
        risk: The share of verdicts that stand which may be wrong.
        items: How many outputs both judged.
        labels: How many of the draws' outputs are labelled, one of each case or cluster.
        missing: How many are not yet.
        wrong: How many of the labelled ones the second judge got wrong, or people are split on.
        split: How many of these people are split on.
        clustered: Whether cases belong together: each cluster counts once.
        limits: How sure they have to be; None where no verdicts may stand.
        decided_first: How many of these outputs the first judge would decide.
        decided_then: How many of the rest the second one would decide.
        questions: Digests of what they were asked, sorted.
        systems: Digests of what was judged, sorted.
        judges: Both, as they answered.
    """

    metric: str
    cascade: str
    risk: float
    items: int
    labels: int
    missing: int
    wrong: int
    split: int = 0
    clustered: bool = False
    limits: Limits | None
    decided_first: int
    decided_then: int
    questions: list[str]
    systems: list[str]
    judges: tuple[str, str]

    def row(self, run: str) -> CalibrationCascade | None:
        """The keys of `evenhand.calibration/1`, with the run's id; None where later runs have no limits to go by."""
        if self.limits is None:
            return None
        return filled(
            CalibrationCascade,
            self,
            confidence=1 - DELTA,
            first=self.limits.first,
            then=self.limits.then,
            judges=list(self.judges),
            run=run,
        )

    def lines(self) -> list[str]:
        """What later runs go by, in words."""
        at = at_risk(self.risk, clustered=self.clustered)
        or_split = "or are split on " if self.split else ""
        rest = self.items - self.decided_first
        if self.limits is None:
            words = [
                (
                    f"no verdicts may stand {at} yet: people disagree with {or_split}{self.wrong:,} of "
                    f"{count(self.labels, 'verdict')} of the second judge; label more, or accept a higher risk"
                )
            ]
        elif self.limits.first is None:
            words = [
                f"the first judge decides nothing {at}, so it saves nothing; label more, or name the second one alone"
            ]
        else:
            words = [
                (
                    f"the first judge decides {self.decided_first:,} of {count(self.items, 'output')} from "
                    f"{self.limits.first:.2f} on, {at}"
                )
            ]
        if self.limits is not None:
            left = rest - self.decided_then
            words += (
                []
                if not rest
                else [
                    (
                        f"the second one decides {self.decided_then:,} of the {rest:,} others"
                        + (f"; {left:,} are for a person" if left else "")
                    )
                ]
            )
        if self.missing:
            words.append(missing_words(self.missing))
        if self.split:
            words.append(split_words(self.split))
        return words


def at_risk(risk: float, *, clustered: bool) -> str:
    """At what risk, and how sure that is, in words: `at a risk of 10 % (95 % confidence)`."""
    once = "; each cluster counts once" if clustered else ""
    return f"at a risk of {risk * 100:g} % ({percent(1 - DELTA)} confidence{once})"


def missing_words(missing: int) -> str:
    """What labels that are missing count as."""
    return f"{count(missing, 'label')} of the draw still missing: they count as wrong verdicts until then"


def split_words(split: int) -> str:
    """What outputs count as on which people are split: whichever they come to, no more verdicts are wrong than so."""
    return f"people are split on {count(split, 'labelled output')}: the verdicts on these count as wrong"


def cascade_calibration(
    metric: JudgedMetric,
    people: Mapping[Item, bool],
    draws: Sequence[Draw],
    split: Collection[Item] = (),
) -> CascadeCalibration | None:
    """How sure the judges of a metric's cascade have to be; None for one judge, and in a run that goes by limits.

    Args:
        metric: What the second judge said, and the first one beside it.
        people: People's verdicts on drawn outputs.
        split: Outputs on which people are split: whichever they come to, they count as wrong verdicts.
    """
    stages = {item: one for item in metric.items if (one := item.stages) is not None}
    which = {(one.id, one.judges[1]) for one in stages.values()}
    if not people or len(which) != 1 or any(one.then is None for one in stages.values()):
        return None
    some = next(iter(stages.values()))
    firsts = {one.judges[0] for one in stages.values() if one.judges[0]}
    if len(firsts) != 1:
        return None

    def judged(item: Item, tells: bool) -> JudgedTwice:
        one = stages[item]
        return JudgedTwice(
            first=one.first if tells else None,
            then=one.then or 0.0,
            first_right=is_right(item, one.first_passed, people, split),
            then_right=is_right(item, item.passed, people, split),
        )

    own_of = list(one_of_each(uniform_of(draws, metric.metric), stages))
    verdicts = [
        (passed, people[item])
        for own in own_of
        for item in own
        if item in people and (passed := stages[item].first_passed) is not None
    ]
    # Whatever the risk leaves room for: a judge that is no better than chance decides nothing.
    tells = tells_apart(verdicts)
    drawn = [[judged(item, tells) for item in own] for own in own_of]
    labelled = [one for own in drawn for one in own if one.then_right is not None]
    everything = [judged(item, tells) for item in stages]
    limits = limits_of(drawn, everything, some.risk)
    decided = [] if limits is None else [limits.stage(one) for one in everything]
    return CascadeCalibration(
        metric=metric.metric,
        cascade=some.id,
        risk=some.risk,
        items=len(stages),
        labels=len(labelled),
        missing=sum(map(len, drawn)) - len(labelled),
        wrong=sum(not one.then_right for one in labelled),
        split=sum(item in split for own in own_of for item in own),
        clustered=any(item.cluster for item in stages),
        limits=limits,
        decided_first=decided.count("first"),
        decided_then=decided.count("then"),
        questions=sorted({one.question for one in stages.values()}),
        systems=sorted({one.system for one in stages.values()}),
        judges=(firsts.pop(), some.judges[1]),
    )


def is_right(
    item: Item, passed: bool | None, people: Mapping[Item, bool], split: Collection[Item]
) -> bool | None:
    """Whether a verdict is people's; never where they are split, and None where nobody has said anything yet."""
    return False if item in split else passed is people[item] if item in people else None


def one_of_each(draws: Sequence[Draw], items: Iterable[Item]) -> Iterator[list[Item]]:
    """The outputs of each draw. Of several of one case, or cluster, which may be alike, the first that was drawn."""
    by_place = {item.index: item for item in items}
    units: set[str] = set()
    for draw in draws:
        own: list[Item] = []
        for item in (by_place[place] for place in draw.places if place in by_place):
            if item.unit not in units:
                units.add(item.unit)
                own.append(item)
        if own:
            yield own


FIRST = 50
"""So many trials say whether a cascade judges a run: of one in error, or judged by another judge, it isn't known."""


def has_cascade(run: RunFile) -> bool:
    """Whether a cascade judges a run, as far as its first trials say."""
    return any(
        "cascade" in one.metadata for trial in run.trials(limit=FIRST) for one in trial.outcomes
    )


def cascade_lines(run: RunFile, metrics: Mapping[tuple[str, str], JudgedMetric]) -> list[str]:
    """How many outputs each judge of a run's cascades decided, what it cost, and what it would have cost without."""
    lines: list[str] = []
    verdicts: Counter[str] = Counter()
    for metric in metrics.values():
        stages = [item.stages for item in metric.items if item.stages is not None]
        by_limits = JOINS in metric.model
        if by_limits:
            first = sum(one.stage == "first" for one in stages)
            left = f", neither of them {len(metric.undecided):,}" if metric.undecided else ""
            lines.append(
                f"{metric.metric}: the first judge decided {first:,}, the second {len(stages) - first:,}{left}"
                f"{_drawn(run, metric.metric)}"
            )
        elif stages:
            lines.append(
                f"{metric.metric}: both judges were asked about {count(len(stages), 'output')}: how sure they have"
                " to be isn't known yet for this question, system and pair of judges; label a draw,"
                " then `evenhand calibrate`"
            )
        verdicts.update(one.id for one in stages)
        verdicts.update({one.id: len(metric.undecided) for one in stages[:1]})
    if run.meta.is_scripted:
        return lines
    return [*lines, *(_cost_line(run, cascade, n) for cascade, n in verdicts.items())]


def _drawn(run: RunFile, metric: str) -> str:
    """How many outputs were drawn for people to label."""
    drawn = sum(len(draw.places) for draw in run.draws() if metric in draw.metrics)
    return f"; {count(drawn, 'output')} drawn for people: `evenhand label`" if drawn else ""


def _cost_line(run: RunFile, cascade: str, verdicts: int) -> str:
    """What the judges of a cascade cost, and what the second one alone would have cost."""
    table = as_mapping(json.loads(cascade))
    costs: dict[str, list[float | None]] = {str(table.get(key)): [] for key in ("first", "then")}
    replayed = 0
    for call in run.calls():
        if call.start.role == "judge" and call.end is not None and call.start.provider in costs:
            costs[call.start.provider].append(call.end.cost_usd)
            replayed += call.end.origin != "provider"
    first, second = (costs[str(table.get(key))] for key in ("first", "then"))
    words = [
        "price unknown" if total is None else money(total) for total in map(_sum, (first, second))
    ]
    # Such answers have the price that was paid for them once.
    once = f", {count(replayed, 'replayed answer')} included" if replayed else ""
    line = f"cost of judging{once}: {words[0]} for the first, {words[1]} for the second judge"
    total = _sum(second)
    if total is None or not second:
        return f"{line}; what the second one alone would have cost is unknown"
    alone = total / len(second) * verdicts
    return f"{line}; the second one alone would have cost about {money(alone)}"


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None

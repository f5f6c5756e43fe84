"""Whether a judge passes one kind of output more easily than another of which people say the same.

How this works: labelled outputs are of one kind or the other: long or short, of the judge's own family of models or of
another, refusals or not. If people fail long answers more often, so should the judge. So those that people pass are
compared with each other, and those that people fail; the odds ratio that both have in common is what people's verdicts
don't explain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Literal

from evenhand.analysis.trust.audit import SIGNIFICANT, Audit, AuditName, GroupCount, not_applicable
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.words import count, safe
from evenhand.providers.families import family_of
from evenhand.scorers.refusal import declines
from evenhand.scorers.text import value_text
from evenhand.stats.correction import Estimate
from evenhand.stats.stratified import OddsRatio, Stratum, common_odds_ratio

FEWEST_LABELS = 30
"""Labels below which nothing is said."""
FEWEST_EACH = 5
"""Outputs that have to speak for a bias, at least: of the rarer kind, and with the rarer verdict."""
AUDITS: tuple[AuditName, ...] = ("length", "family", "refusals")


class OutputTraits(Record, frozen=True):
    """What of an output should not decide a verdict.

    Attributes:
        length: In characters.
        family: The family of the model that wrote it; empty where it is not known.
        refusal: Whether it refuses to answer.
    """

    length: int
    family: str
    refusal: bool


class LabelledOutput(Record, frozen=True):
    """A labelled output: its traits, and whether people and the judge pass it."""

    traits: OutputTraits
    people: bool
    judge: bool


class _Groups(Record, frozen=True):
    """Two kinds of outputs.

    Attributes:
        first: The name of the first kind.
        second: The name of the other.
        first_words: The first kind in a sentence.
        in_first: Whether an output is of the first kind; None for one that is of neither.
    """

    first: str
    second: str
    first_words: str
    second_words: str
    in_first: Callable[[OutputTraits], bool | None]


def traits_of(trial: TrialResult, variants: Sequence[Variant]) -> OutputTraits:
    """The traits of a trial's output. An empty output is no refusal."""
    text = "" if trial.output is None else value_text(trial.output)
    variant = variants[trial.variant]
    return OutputTraits(
        len(text),
        family_of(trial.answer.model, variant.provider_id, variant.model),
        isinstance(trial.output, str) and bool(text.strip()) and declines(text),
    )


def group_audits(judge: str, labelled: Sequence[LabelledOutput], *, random: bool) -> list[Audit]:
    """The three audits of one judge that go by people's labels.

    Args:
        judge: The judge, as its answers named it; members of a jury joined by `+`.
        labelled: Labelled outputs, each question once.
        random: Whether the labels can be those of a random draw.
    """
    n = len(labelled)
    why = ""
    if not n:
        why = "no labels"
    elif not random:
        why = "the labels are not a random draw"
    elif n < FEWEST_LABELS:
        why = f"too few labels of different questions: {n}, and it takes {FEWEST_LABELS}"
    if why:
        return [not_applicable(name, why, n) for name in AUDITS]
    traits = [one.traits for one in labelled]
    groups = (_by_length(traits), _by_family(judge, traits), _by_refusal(traits))
    return [
        not_applicable(name, each, n) if isinstance(each, str) else _compared(name, each, labelled)
        for name, each in zip(AUDITS, groups, strict=True)
    ]


def _by_length(traits: Sequence[OutputTraits]) -> _Groups | str:
    lengths = sorted(one.length for one in traits)
    middle = median(lengths)
    # Where half of all are as long as the longest, these are the long ones.
    least = next((length for length in lengths if length > middle), lengths[-1])
    if lengths[0] == least:
        return "all labelled outputs have the same length"
    return _Groups(
        "long",
        "short",
        f"long outputs ({count(least, 'character')} or more)",
        "short outputs",
        lambda one: one.length >= least,
    )


def _by_family(judge: str, traits: Sequence[OutputTraits]) -> _Groups | str:
    families = sorted({family_of(member) for member in judge.split("+")})
    if "" in families:
        return f"the family of the model {safe(judge)} is unknown"
    if len(families) > 1:
        return f"the jury is of several families: {', '.join(families)}"
    own = families[0]
    known = sorted({one.family for one in traits if one.family})
    if not known:
        return "the models that wrote the outputs are unknown"
    if own not in known:
        return f"none of the labelled outputs comes from the judge's own family, {own}"
    if known == [own]:
        return f"all labelled outputs come from one family, {own}"
    others = ", ".join(family for family in known if family != own)
    return _Groups(
        "own",
        "others",
        f"outputs of its own family ({own})",
        f"outputs of other families ({others})",
        lambda one: one.family == own if one.family else None,
    )


def _by_refusal(traits: Sequence[OutputTraits]) -> _Groups | str:
    refusals = sum(one.refusal for one in traits)
    if not refusals:
        return "none of the labelled outputs is a refusal"
    if refusals == len(traits):
        return "all labelled outputs are refusals"
    return _Groups("refusals", "others", "refusals", "other outputs", lambda one: one.refusal)


def _compared(name: AuditName, groups: _Groups, labelled: Sequence[LabelledOutput]) -> Audit:
    counts = _counts(groups, labelled)
    strata = [_stratum(groups, counts, people) for people in ("pass", "fail")]
    first, second = (sum(s.of_first for s in strata), sum(s.of_second for s in strata))
    ratio = common_odds_ratio(strata)
    telling = sum(map(_telling, strata))
    # Even the most one-sided table with these margins would not be significant, or would rest on single outputs.
    if ratio is None or ratio.least_p > SIGNIFICANT or telling < FEWEST_EACH:
        wrong = sum(one.people is not one.judge for one in labelled)
        rests = f"; a bias would rest on {count(telling, 'output')}, and it takes {FEWEST_EACH}"
        return not_applicable(
            name,
            f"too few labels to show a bias: {first:,} of {groups.first_words}, {second:,} of {groups.second_words}; "
            f"people disagree with {count(wrong, 'verdict')} of the judge{rests if telling else ''}",
            first + second,
        )
    return Audit(
        name=name,
        result="not shown",
        words=_words(ratio, groups, strata),
        measure="odds ratio",
        estimate=Estimate(ratio.value, ratio.low, ratio.high),
        p=ratio.p,
        labels=first + second,
        items=first + second,
        counts=tuple(counts.values()),
    )


_Cell = tuple[str, Literal["pass", "fail"]]


def _counts(groups: _Groups, labelled: Sequence[LabelledOutput]) -> Mapping[_Cell, GroupCount]:
    cells: dict[_Cell, list[bool]] = {
        (group, people): []
        for people in ("pass", "fail")
        for group in (groups.first, groups.second)
    }
    for one in labelled:
        if (in_first := groups.in_first(one.traits)) is not None:
            group = groups.first if in_first else groups.second
            cells[group, "pass" if one.people else "fail"].append(one.judge)
    return {cell: GroupCount(*cell, sum(passes), len(passes)) for cell, passes in cells.items()}


def _stratum(
    groups: _Groups, counts: Mapping[_Cell, GroupCount], people: Literal["pass", "fail"]
) -> Stratum:
    first, second = counts[groups.first, people], counts[groups.second, people]
    return Stratum(first.passed, first.items, second.passed, second.items)


def _telling(one: Stratum) -> int:
    """How many outputs of a stratum a difference rests on: as many as its rarest kind or verdict has."""
    passed, items = one.first + one.second, one.of_first + one.of_second
    return min(one.of_first, one.of_second, passed, items - passed)


def _words(ratio: OddsRatio, groups: _Groups, strata: Sequence[Stratum]) -> str:
    """The odds ratio and the counts in words, the group with the higher odds first."""
    first, second = groups.first_words, groups.second_words
    value, low, high = ratio.value, ratio.low, ratio.high
    # A multiple below 1 is hard to read: said of the other group, it is above.
    if value < 1:
        first, second = second, first
        value, low, high = _inverse(value), _inverse(high), _inverse(low)
        strata = [Stratum(c, m, a, n) for a, n, c, m in strata]
    alike = f"for {first} as for {second} that people judge alike; {_counted(strata)}"
    if math.isinf(value):
        return f"its odds of a pass are {_times(low)} as high or more {alike}"
    ends = f"[{_times(low)}–{'∞' if math.isinf(high) else _times(high)}]".replace(" ×", "")
    return f"its odds of a pass are {_times(value)} as high {ends} {alike}"


def _times(value: float) -> str:
    digits = 0 if value >= 10 else 1 if value >= 0.1 else 2
    return f"{value:,.{digits}f} ×"


def _inverse(value: float) -> float:
    return math.inf if value == 0 else 0.0 if math.isinf(value) else 1 / value


def _counted(strata: Sequence[Stratum]) -> str:
    passes, fails = strata
    return (
        f"it passes {fails.first} of {fails.of_first} against {fails.second} of {fails.of_second} that people fail, "
        f"and {passes.first} of {passes.of_first} against {passes.second} of {passes.of_second} that they pass"
    )

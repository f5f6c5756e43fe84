"""Which labels are of the same case: in a run, and as a calibration keeps it for later runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isfinite

from evenhand.analysis.trust.judgements.judged import Item
from evenhand.analysis.trust.judgements.strata import Key
from evenhand.core.encoding import digest
from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.design_effect import (
    FEWEST_CASES,
    CaseLabel,
    DesignEffects,
    MeanEffect,
    ScoreLabel,
    design_effects,
)

_WORDS = {True: "pass", False: "fail"}
_VERDICTS = {word: verdict for verdict, word in _WORDS.items()}


def case_of(case: str) -> str:
    """What a calibration calls a case: a digest, as it keeps no data."""
    return digest(case)[:12]


def case_labels(
    people: Mapping[Item, bool],
    items: Collection[Item] = (),
    strata: Callable[[int], Key] | None = None,
    *,
    judge: Mapping[Item, bool] | None = None,
) -> list[CaseLabel]:
    """People's verdicts with their cases, or with the clusters that these belong to.

    Args:
        people: What people say of labelled items.
        items: All judged items; needed with strata only.
        strata: Of which stratum a place is; None where all items were equally likely to be drawn.
        judge: What counts as the judge's verdict; its own where it isn't given.
    """
    weight = weights_of(people, items, strata)
    return [
        CaseLabel(
            case_of(item.unit),
            passed,
            item.passed if judge is None else judge[item],
            weight(item),
            item.probability if judge is None else None,
        )
        for item, passed in people.items()
    ]


def weights_of(
    labelled: Collection[Item], items: Collection[Item], strata: Callable[[int], Key] | None
) -> Callable[[Item], float]:
    """Says of a labelled item for how many it stands. Arguments as `case_labels`."""
    if strata is None:
        return lambda _: 1.0
    sizes = Counter(strata(item.index) for item in items)
    drawn = Counter(strata(item.index) for item in labelled)
    return lambda item: sizes[strata(item.index)] / drawn[strata(item.index)]


def effects_of(
    items: Iterable[Item],
    labels: Sequence[CaseLabel],
    *,
    same_trials: bool,
    judge: Mapping[Item, bool] | None = None,
) -> DesignEffects:
    """By how much less labels say because trials of one case, or cases of one cluster, go together.

    Args:
        items: All judged items.
        same_trials: Whether they are of these items, and not of those of an earlier run.
        judge: What counts as the judge's verdict; its own where it isn't given.
    """
    names: dict[str, str] = {}
    judged: list[tuple[str, bool]] = []
    for item in items:
        case = names.setdefault(item.unit, case_of(item.unit))
        judged.append((case, item.passed if judge is None else judge.get(item, item.passed)))
    return design_effects(judged, labels, same_trials=same_trials)


def few_cases(effects: DesignEffects | MeanEffect) -> str:
    """Why labels of too few cases correct nothing, in words."""
    return (
        f"the {effects.labels} labels are of {count(effects.cases, 'case')} or clusters, which are too few where"
        f" several go together: it takes {FEWEST_CASES} or more"
    )


def of_clusters(variants: Iterable[Variant]) -> str:
    """That judges' rates count cases and not clusters, in words; empty where no variant says what belongs together."""
    keys = dict.fromkeys(variant.cluster for variant in variants if variant.cluster)
    if not keys:
        return ""
    named = " or ".join(clip(safe(key), 40) for key in keys)
    return (
        f"judges' rates and corrections count each case once, and not each {named}; their intervals allow for cases"
        f" of one {named} that go together"
    )


def rows_of(labels: Iterable[CaseLabel]) -> list[str]:
    """Labels as a calibration keeps them, a line each: "case people judge weight", and the probability if any."""
    return [
        f"{one.case} {_WORDS[one.people]} {_WORDS[one.judge]} {one.weight:.6g}"
        + ("" if one.probability is None else f" {one.probability:.6g}")
        for one in labels
    ]


def rows_of_scores(labels: Iterable[ScoreLabel]) -> list[str]:
    """Labels of scores as a calibration keeps them, a line each: "case people judge weight"."""
    return [f"{one.case} {one.people:.6g} {one.judge:.6g} {one.weight:.6g}" for one in labels]


def scores_from(rows: Sequence[str], labels: int) -> list[ScoreLabel]:
    """People's scores and the judge's as they were.

    Args:
        rows: As `rows_of_scores` writes them.
        labels: How many must be there.

    Raises:
        ValueError: They aren't such rows, or not so many.
    """
    scores: list[ScoreLabel] = []
    for row in rows:
        case, *numbers = row.split(" ")
        people, judge, weight = map(float, numbers)
        # The file may have been edited: NaN would spoil every number silently.
        if not (0 < weight <= 1e9 and isfinite(people) and isfinite(judge)):
            raise ValueError(row)
        scores.append(ScoreLabel(case, people, judge, weight))
    if len(scores) != labels:
        raise ValueError(str(labels))
    return scores


def labels_from(rows: Sequence[str], cells: tuple[int, int, int, int]) -> list[CaseLabel]:
    """Labels as they were.

    Args:
        rows: As `rows_of` writes them.
        cells: How many must be there that both pass, that only people pass, that only the judge passes, that both fail.

    Raises:
        ValueError: They aren't such rows, or not these.
    """
    labels: list[CaseLabel] = []
    for row in rows:
        case, people, judge, weight, *more = row.split(" ")
        probability = float(*more) if more else None
        label = CaseLabel(case, _VERDICTS[people], _VERDICTS[judge], float(weight), probability)
        if not 0 < label.weight <= 1e9 or not 0 <= (probability or 0.0) <= 1:
            raise ValueError(row)
        labels.append(label)
    # Rows that were lost in a merge of the file show here.
    counts = Counter((one.people, one.judge) for one in labels)
    if cells != tuple(counts[a, b] for a in (True, False) for b in (True, False)):
        raise ValueError(str(cells))
    return labels

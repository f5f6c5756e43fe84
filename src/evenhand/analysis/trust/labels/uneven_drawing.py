"""Draws that are not uniform: more of the outputs of which the judge is unsure, or so many of each stratum.

Each draw is from strata, and within a stratum every trial is equally likely. So all that has to be known later is in
the draw: which trials there were in each, and how many were drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.judgements.judged import certainties, judgements
from evenhand.analysis.trust.labels.drawing import (
    all_drawn,
    draw,
    earlier_draws,
    judged_metrics,
    judged_places,
)
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array
from evenhand.core.names import did_you_mean
from evenhand.core.run import TrialResult
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import clip, count, safe
from evenhand.stats.weighted import allocated
from evenhand.store.labels.draw import Design, Draw, Stratum
from evenhand.store.labels.stored_draws import add_draw
from evenhand.store.runfile import RunFile

FLOOR = 0.2
"""The part of an active draw that is uniform, so that every output can be drawn, however sure the judge is."""
SURELY_WRONG = 0.05
"""How often a judge that shows no doubt is taken to be wrong; one that is torn is wrong half of the time."""
LEVELS = 4
"""Strata of an active draw, at most."""
NONE = "(none)"
"""The stratum of the cases that have nothing in the column."""


def draw_unsure(run: RunFile, size: int, seed: int, metrics: Sequence[str] = ()) -> Draw:
    """Draws trials at random, those likelier of which the judge seems unsure, and keeps the draw in the run file.

    A trial's chance is in proportion to how much a label of it is worth: to the standard deviation of what people may
    say, as far as the judge's doubt tells. FLOOR of the draw is uniform. Where the judge shows no doubt of anything, or
    the same of everything, it is a uniform draw.

    Raises:
        UsageError: Nothing is left to draw from.
        StoreError: The run file cannot be written.

    Source: Neyman's allocation; mixed with uniform labels as in Zrnic and Candès (2024), arXiv:2403.03208.
    """
    sure = _surest(run, metrics)
    places, _ = judged_places(run, metrics)
    groups = _levels({place: sure.get(place, 1.0) for place in places})
    # Where the judge is as sure of everything, there is nothing to prefer.
    if len(groups) < 2:
        return draw(run, size, seed, metrics)
    needs = [math.fsum(map(_spread, (sure.get(p, 1.0) for p in group))) for group in groups]
    shares = [
        (1 - FLOOR) * part / math.fsum(needs) + FLOOR * len(group) / len(places)
        for part, group in zip(needs, groups, strict=True)
    ]
    names = [_level_name([sure.get(place, 1.0) for place in group]) for group in groups]
    return _draw(
        run,
        size,
        seed=seed,
        metrics=metrics,
        design="active",
        by="",
        groups=dict(zip(names, groups, strict=True)),
        shares=shares,
    )


def draw_by_stratum(
    run: RunFile,
    size: int,
    seed: int,
    column: str,
    metrics: Sequence[str] = (),
    *,
    equal: bool = False,
) -> Draw:
    """Draws trials at random from each stratum of a column, and keeps the draw in the run file.

    Args:
        size: How many trials in all.
        seed: What the draw follows from.
        column: A key of the cases' metadata or a variable; `tags` for all tags of a case, `variant` for the variant.
        metrics: What is to be labelled; all judged metrics where there are none.
        equal: As many of each stratum; otherwise as many as its size asks for.

    Raises:
        UsageError: No case has such a column, it has too many values, or nothing is left to draw from.
        StoreError: The run file cannot be written.
    """
    groups: dict[str, list[int]] = {}
    known: dict[str, None] = {"tags": None, "variant": None}
    names = column_names(run.meta.variants)
    for trial in run.trials():
        judged = judged_metrics(trial)
        if any(not metrics or metric in metrics for metric in judged):
            known.update(dict.fromkeys([*trial.metadata, *trial.vars]))
            groups.setdefault(value_in(trial, column, names), []).append(trial.index)
    if set(groups) <= {NONE}:
        judged_places(run, metrics)  # says so where no judge was asked
        raise UsageError(
            f"--by-stratum: no case has a column {column!r}",
            hint=did_you_mean(column, known) or f"There are: {', '.join(map(safe, known))}.",
        )
    if len(groups) > size // 2:
        raise UsageError(
            f"--by-stratum: {column!r} has {count(len(groups), 'different value')}, too many for a draw of {size}",
            hint="Each stratum takes two labels or more. Draw more, or name a column with fewer values.",
        )
    ordered = dict(sorted(groups.items()))
    shares = [1.0 if equal else float(len(group)) for group in ordered.values()]
    design: Design = "equal" if equal else "proportional"
    return _draw(
        run,
        size,
        seed=seed,
        metrics=metrics,
        design=design,
        by=column,
        groups=ordered,
        shares=shares,
    )


def draw_lines(drawn: Draw) -> Iterator[str]:
    """What a draw came to, in words: a line for each stratum."""
    if not drawn.strata:
        yield f"drawn: {len(drawn.places):,} of {count(drawn.population, 'output')}, each as likely as any other"
        return
    yield f"drawn: {len(drawn.places):,} of {count(drawn.population, 'output')}"
    for one in drawn.strata:
        yield f"  {one.drawn:,} of {len(one.places):,}  {clip(safe(one.name), 60)}"


def _draw(
    run: RunFile,
    size: int,
    seed: int,
    metrics: Sequence[str],
    design: Design,
    by: str,
    groups: Mapping[str, Sequence[int]],
    shares: Sequence[float],
) -> Draw:
    draws = len(run.draws())  # first: what is drawn while this reads is noticed
    places, names = judged_places(run, metrics)
    known, taken = earlier_draws(run, min(size, len(places)), seed, names, design, by)
    if known is not None:
        return known
    left = [[place for place in group if place not in taken] for group in groups.values()]
    if not any(left):
        raise all_drawn(count(len(places), "judged trial"))
    rng = random.Random(seed)  # noqa: S311 (a draw that can be repeated)
    numbers = allocated(shares, [len(group) for group in left], size)
    chosen = [p for group, n in zip(left, numbers, strict=True) for p in rng.sample(group, n)]
    rng.shuffle(chosen)  # so that the first of them are a draw, too
    strata = [
        Stratum(name, n, n / len(rest) if rest else 0.0, tuple(group))
        for (name, group), rest, n in zip(groups.items(), left, numbers, strict=True)
    ]
    add_draw(
        run.path,
        seed,
        metrics=names,
        population=len(places),
        places=chosen,
        design=design,
        by=by,
        strata=strata,
        known=draws,
    )
    with RunFile.open(run.path) as again:
        return again.draws()[-1]


def _surest(run: RunFile, metrics: Sequence[str]) -> dict[int, float]:
    """How sure the judges are of each trial, from 0 to 1: under the metric of which they are least sure."""
    sure: dict[int, float] = {}
    for judge in judgements(run, verdicts_only=True).metrics.values():
        if not metrics or judge.metric in metrics:
            for item, certainty in certainties(judge.items).items():
                sure[item.index] = min(certainty, sure.get(item.index, 1.0))
    return sure


def _spread(certainty: float) -> float:
    """The standard deviation of what people may say of an output, from 0 to ½."""
    wrong = SURELY_WRONG + (0.5 - SURELY_WRONG) * (1 - certainty)
    return math.sqrt(wrong * (1 - wrong))


def _levels(sure: Mapping[int, float]) -> list[list[int]]:
    """Places by how sure the judge is of them, the least sure first: groups that weigh about alike, ties together."""
    by_value: dict[float, list[int]] = {}
    for place, certainty in sure.items():
        # Rounded, so that thirds that were added up in another order are ties.
        by_value.setdefault(round(certainty, 6), []).append(place)
    ordered = sorted(by_value.items())
    if len(ordered) <= LEVELS:
        return [group for _, group in ordered]
    total = math.fsum(_spread(value) * len(group) for value, group in ordered)
    levels: dict[int, list[int]] = {}
    before = 0.0
    for value, group in ordered:
        mass = _spread(value) * len(group)
        # By the middle of its mass: a large tie belongs to the level that most of it is in.
        level = min(LEVELS - 1, int(LEVELS * (before + mass / 2) / total))
        levels.setdefault(level, []).extend(group)
        before += mass
    return [sorted(group) for _, group in sorted(levels.items())]


def _level_name(sure: Sequence[float]) -> str:
    low, high = min(sure), max(sure)
    ends = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
    return f"the judge's certainty is {ends}"


def value_in(trial: TrialResult, column: str, variants: Sequence[str]) -> str:
    """What a trial's case has in a column, as text."""
    if column == "variant":
        return variants[trial.variant] or "(the only variant)"
    if column == "tags":
        tags = trial.metadata.get("tags")
        texts = sorted({str(tag) for tag in tags}) if is_array(tags) else []
        return ", ".join(texts) or NONE
    value = trial.metadata.get(column, trial.vars.get(column))
    return NONE if value is None or value == "" else as_text(value)

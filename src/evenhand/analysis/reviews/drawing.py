"""Draws outputs of runs for people to review, with known probabilities: failures likelier, and each case once at most.

How this works: of each case one output is chosen at random, and of these a draw is made, stratum by stratum: by run,
by what the evals said of the output, by how many outputs its case has, and by a column where one is named. So within
a stratum every output is equally likely, and a label stands for as many outputs as there are in it for each label.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.judgements.strata import strata_of
from evenhand.analysis.trust.labels.uneven_drawing import NONE, value_in
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, count, safe, short_id
from evenhand.languages.documents.failures_yml import NoteId
from evenhand.stats.weighted import allocated
from evenhand.store.labels.draw import REVIEW, Draw, Stratum
from evenhand.store.labels.stored_draws import add_draw
from evenhand.store.runfile import RunFile

LIKELIER = 3.0
"""How many times as likely an output that failed is to be drawn as one that didn't."""
_STATES = {"fail": "failed", "pass": "passed"}


class _Output(Record, frozen=True):
    """An output that can be drawn."""

    place: int
    state: str
    value: str


class _Pool(Record, frozen=True):
    """A stratum: outputs of one run that are equally likely to be drawn.

    Attributes:
        name: What they have in common, in words.
        share: What the stratum is to have of the draw, in any unit.
        places: All of them.
        chosen: Those of them that were chosen for their case, and so can be drawn.
    """

    run: int
    name: str
    share: float
    places: tuple[int, ...]
    chosen: tuple[int, ...]


def draw_outputs(runs: Sequence[RunFile], size: int, seed: int, column: str = "") -> list[Draw]:
    """Draws outputs of runs to be reviewed, and keeps in each run's file what was drawn from it.

    The same draw twice is one draw. A later one is of cases that were not drawn before.

    Args:
        size: How many outputs in all. Fewer are drawn where there are no more cases.
        seed: What the draw follows from.
        column: Strata are also of this column: `tags`, `variant`, a key of the metadata or a variable. Empty for none.

    Returns:
        For each run what was drawn from it, without runs of which nothing was.

    Raises:
        UsageError: Nothing is left to draw from, there is no such column, or there are more strata than outputs to
            draw.
        StoreError: A run file cannot be written.
    """
    counts = [len(run.draws()) for run in runs]  # first: what is drawn while this reads is noticed
    before = [review_draws(run) for run in runs]
    again = [
        next((d for d in draws if (d.seed, d.by, d.metrics) == (seed, column, (REVIEW,))), None)
        for draws in before
    ]
    same = [draw for draw in again if draw is not None]
    if sum(len(draw.places) for draw in same) == size:
        return same  # typed twice, a command must not draw twice
    rng = random.Random(seed)  # noqa: S311 (a draw that can be repeated)
    known: dict[str, None] = {"tags": None, "variant": None}
    pools = [
        pool
        for number, (run, draws) in enumerate(zip(runs, before, strict=True))
        for pool in _pools(run, number, draws, column, rng, known)
    ]
    _check(pools, size, column, known)
    numbers = allocated([p.share for p in pools], [len(p.chosen) for p in pools], size)
    drawn: list[Draw] = []
    for number, run in enumerate(runs):
        own = [(pool, n) for pool, n in zip(pools, numbers, strict=True) if pool.run == number]
        places = [place for pool, n in own for place in rng.sample(pool.chosen, n)]
        if not places:
            continue
        rng.shuffle(places)  # so that the first of them are a draw, too
        add_draw(
            run.path,
            seed,
            metrics=[REVIEW],
            population=sum(len(pool.places) for pool, _ in own),
            places=places,
            design="failures",
            by=column,
            strata=[Stratum(p.name, n, n / len(p.places), p.places) for p, n in own],
            known=counts[number],
        )
        with RunFile.open(run.path) as reopened:  # an open run doesn't see what is written after it
            drawn.append(reopened.draws()[-1])
    return drawn


def nothing_drawn(runs: Sequence[RunFile]) -> UsageError:
    """That there is nothing to review in these runs; others may have a draw."""
    names = ", ".join(short_id(run.meta.id) for run in runs)
    return UsageError(
        f"nothing of {names} is drawn for review yet",
        hint="Draw: evenhand review draw -n 60. Or name the run that was drawn from, after the command.",
    )


def drawn_notes(runs: Sequence[RunFile]) -> list[NoteId]:
    """The outputs that were drawn to be reviewed, in the order in which people read them: those of all runs mixed."""
    order: list[tuple[float, int, NoteId]] = []
    for number, run in enumerate(runs):
        places = [place for draw in review_draws(run) for place in draw.places]
        for place, index in enumerate(places):
            order.append(((place + 0.5) / len(places), number, NoteId(run.meta.id, index)))
    return [note for _, _, note in sorted(order)]


def weights_of(run: RunFile, labelled: Iterable[int]) -> Mapping[int, float]:
    """For how many outputs of a run each labelled one stands; outputs outside of a draw are left out.

    Together they stand for all outputs of the strata of which one is labelled.
    """
    draws = review_draws(run)
    stratum = strata_of(draws, REVIEW)
    every = {place for draw in draws for one in draw.strata for place in one.places}
    drawn = {place for draw in draws for place in draw.places}
    known = sorted(set(labelled) & drawn)
    sizes, counts = Counter(map(stratum, every)), Counter(map(stratum, known))
    return {place: sizes[stratum(place)] / counts[stratum(place)] for place in known}


def stratum_of(run: RunFile) -> Callable[[int], tuple[int, ...]]:
    """Says of a place in the run's plan of which stratum of its review draws it is."""
    return strata_of(review_draws(run), REVIEW)


def draw_lines(draws: Sequence[Draw]) -> Iterator[str]:
    """What a draw came to, in words: a line for each stratum."""
    total = sum(len(draw.places) for draw in draws)
    yield f"drawn: {total:,} of {count(sum(draw.population for draw in draws), 'output')}"
    for draw in draws:
        for one in draw.strata:
            yield f"  {one.drawn:,} of {len(one.places):,}  {clip(safe(one.name), 70)}"


def review_draws(run: RunFile) -> list[Draw]:
    """What was drawn from a run to be reviewed."""
    return [draw for draw in run.draws() if REVIEW in draw.metrics]


def _pools(
    run: RunFile,
    number: int,
    before: Sequence[Draw],
    column: str,
    rng: random.Random,
    known: dict[str, None],
) -> Iterator[_Pool]:
    """The strata of one run. Columns that its cases have are added to the known ones."""
    refuse_judge_check(run.meta)
    names = column_names(run.meta.variants)
    drawn = {place for draw in before for place in draw.places}
    taken: set[str] = set()
    cases: dict[str, list[_Output]] = defaultdict(list)
    for trial in run.trials():
        if trial.index in drawn:
            taken.add(trial.case)
        # An empty answer is an output, and a failure that people should see; an error has none.
        if trial.output is None:
            continue
        known.update(dict.fromkeys([*trial.metadata, *trial.vars]))
        state = _STATES.get(trial.outcome, "undecided")
        cases[trial.case].append(
            _Output(trial.index, state, value_in(trial, column, names) if column else "")
        )
    places: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    chosen: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for case, outputs in cases.items():
        pick = rng.choice(outputs)
        for one in outputs:
            key = one.state, one.value, len(outputs)
            places[key].append(one.place)
            if one is pick and case not in taken:
                chosen[key].append(one.place)
    sizes = {size for _, _, size in places}
    for key in sorted(places):
        state, value, size = key
        of_case = f", {count(size, 'output')} a case" if len(sizes) > 1 else ""
        name = f"{run.meta.id}: {state}{f', {value}' if column else ''}{of_case}"
        share = len(chosen[key]) * (LIKELIER if state == "failed" else 1.0)
        yield _Pool(number, name, share, tuple(places[key]), tuple(chosen[key]))


def _check(pools: Sequence[_Pool], size: int, column: str, known: Mapping[str, None]) -> None:
    """Raises a UsageError where such a draw can't be made."""
    if not pools:
        raise UsageError("there are no outputs to review", hint="The runs' trials have none.")
    if column not in ("", "variant") and all(f", {NONE}" in pool.name for pool in pools):
        raise UsageError(
            f"--by-stratum: no case has a column {column!r}",
            hint=did_you_mean(column, known) or f"There are: {', '.join(map(safe, known))}.",
        )
    left = [pool for pool in pools if pool.chosen]
    if not left:
        raise UsageError(
            "all cases of these runs are drawn already", hint="Go on: evenhand review notes."
        )
    if size < len(left):
        raise UsageError(
            f"there are {len(left):,} strata, and {count(size, 'output')} to draw",
            hint=f"Draw {len(left):,} or more, so that every output can be drawn.",
        )

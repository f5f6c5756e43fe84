"""Draws trials for people to label, and says which of them a person has to label."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from evenhand.analysis.trust.judgements.judged import judge_of, metric_of
from evenhand.analysis.trust.judgements.strata import inclusions
from evenhand.core.cascade import JOINS
from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import with_parts
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count
from evenhand.store.labels.draw import REVIEW, Design, Draw, MetricLabel, Stratum
from evenhand.store.labels.stored_draws import add_draw
from evenhand.store.runfile import RunFile

OVERLAP = 20
"""Per cent of what one person labelled that the next one labels again."""
# The mark is a hash of all that is fenced, so that no output can end its own fence.
_FENCED = re.compile(r"<([a-z_]+) ([0-9a-f]{12})>\n(.*?)\n</\1 \2>", re.DOTALL)
_JUDGED = frozenset({"output", "answer", "reply", "submission", "submitted"})
"""What the prompts of judges call the text that they are asked about."""


class DrawnItem(Record, frozen=True):
    """One output under one metric, to be labelled.

    Attributes:
        inclusion: How likely the trial was to be drawn, from 0 to 1; 0 for one that was picked.
        judged: What the judge judged, where that is not the trial's output; None elsewhere.
    """

    trial: TrialResult
    metric: str
    inclusion: float
    judged: str | None = None

    @staticmethod
    def of(run: RunFile, trial: TrialResult, metric: str, inclusion: float = 0.0) -> DrawnItem:
        """An item of a run, with what the judge judged."""
        return DrawnItem(trial, metric, inclusion, judged_text(run, trial, metric))

    @property
    def material(self) -> str:
        """See `material_of`."""
        return material_of(self.trial)

    @property
    def key(self) -> tuple[int, str]:
        """What labels of it are kept under."""
        return self.trial.index, self.metric

    @property
    def criterion(self) -> str:
        """What the judge was asked, where the metric's name does not say it."""
        names = dict.fromkeys(
            outcome.name
            for outcome in with_parts(self.trial.outcomes)
            if judge_of(outcome) and metric_of(outcome) == self.metric
        )
        texts = [_whole(name, self.trial.test.get("assert")) for name in names]
        return "\n".join(text for text in texts if text != self.metric)

    @property
    def output(self) -> str:
        """What is labelled, as text: what the judge judged."""
        return as_text(self.trial.output if self.judged is None else self.judged)


def material_of(trial: TrialResult) -> str:
    """What an output is an answer to: the case's input, its variables, or the prompt."""
    if trial.input is not None:
        return as_text(trial.input)
    if trial.vars:
        return "\n".join(f"{name}: {as_text(value)}" for name, value in trial.vars.items())
    return trial.prompt or trial.description


def _whole(name: str, assertions: object) -> str:
    """The text that an expectation's name quotes the beginning of, as a config has it; else the name."""
    # A name quotes a long text's beginning: `llm-rubric "Is it kind …"`.
    start = name.partition(' "')[2].rstrip('"').removesuffix(" …")
    for one in as_array(assertions):
        if not is_mapping(one):
            continue
        value = one.get("value")
        if isinstance(value, str) and start and " ".join(value.split()).startswith(start):
            return value
        inner = _whole(name, one.get("assert"))
        if inner != name:
            return inner
    return name


def judged_places(
    run: RunFile, metrics: Sequence[str] = (), rankings: Iterable[str] = ()
) -> tuple[list[int], list[str]]:
    """The trials that a judge has a verdict on, in the plan's order, and the judged metrics.

    Args:
        metrics: Only these; all where there are none.
        rankings: What else can be labelled in the run, by its own, for the error.

    Raises:
        UsageError: No judge was asked, or not under one of these; or its outputs are no system's answers.
    """
    refuse_judge_check(run.meta)
    places: list[int] = []
    names: dict[str, None] = {}
    for trial in run.trials():
        judged = judged_metrics(trial)
        names.update(dict.fromkeys(judged))
        if any(not metrics or metric in metrics for metric in judged):
            places.append(trial.index)
    if not names:
        raise UsageError(
            f"run {run.meta.id}: no judge gave a verdict in it",
            hint="Labels are for judged metrics: llm-rubric, Passes, Rating with a bound, and so on. "
            "Name a run that has one: `evenhand runs list`.",
        )
    known = [*names, *rankings]
    for metric in metrics:
        if metric not in names:
            raise UsageError(
                f"--metric: no judge gave a verdict on {metric!r}",
                hint=did_you_mean(metric, known) or f"There are: {', '.join(known)}.",
            )
    return places, list(metrics or names)


def draw(run: RunFile, size: int, seed: int, metrics: Sequence[str] = ()) -> Draw:
    """Draws trials at random, each with the same probability, and keeps the draw in the run file.

    The same draw twice is one draw. A later one is from the trials that were not drawn before.

    Raises:
        UsageError: Nothing is left to draw from.
        StoreError: The run file cannot be written.
    """
    draws = len(run.draws())  # first: what is drawn while this reads is noticed
    places, names = judged_places(run, metrics)
    known, taken = earlier_draws(run, min(size, len(places)), seed, names)
    if known is not None:
        return known
    left = [place for place in places if place not in taken]
    if not left:
        raise all_drawn(count(len(places), "judged trial"))
    chosen = random.Random(seed).sample(left, min(size, len(left)))  # noqa: S311 (a draw that can be repeated)
    strata = _strata_of_unfinished(run, places, len(chosen), len(left))
    add_draw(run.path, seed, names, len(places), chosen, strata=strata, known=draws)
    # The open run file doesn't see what was written after it.
    with RunFile.open(run.path) as again:
        return again.draws()[-1]


def _strata_of_unfinished(
    run: RunFile, places: Sequence[int], drawn: int, left: int
) -> list[Stratum]:
    """What a draw of all that is judged was from, where `resume` may add to it; none for a run that is complete."""
    others = {trial.index for trial in run.trials() if trial.outcome != "error"} - {*places}
    if len(others) + len(places) >= run.meta.planned:
        return []
    judged = Stratum("judged by then", drawn, drawn / left, tuple(places))
    return [judged, Stratum("settled by then", 0, 0.0, tuple(sorted(others)))]


_ENOUGH = 1_000
"""If none of so many trials was decided by limits, no other is looked at. The first may be in error."""


def peoples_share(run: RunFile, size: int | None = None) -> list[Draw]:
    """Draws the share of outputs that a cascade gives to people, once, as `people: 5%` says.

    Drawn are verdicts that stand by limits. A run that has none yet needs more labels than that.

    Args:
        size: How many are drawn otherwise; then this share is not.

    Raises:
        StoreError: The run file cannot be written.
    """
    shares: dict[str, float] = {}
    if size is not None or run.draws() or run.meta.status == "running":
        return []
    for number, trial in enumerate(run.trials()):
        for outcome in with_parts(trial.outcomes):
            cascade = as_mapping(outcome.metadata.get("cascade"))
            if outcome.outcome in ("pass", "fail") and JOINS in judge_of(outcome):
                shares[metric_of(outcome)] = cascade.get("people", 0.0)
        if not shares and number >= _ENOUGH:
            break  # no run of a million trials is read for nothing
    metrics = [metric for metric, share in shares.items() if share]
    if not metrics:
        return []
    size = math.ceil(max(shares.values()) * len(judged_places(run, metrics)[0]))
    return [draw(run, size, int(digest(run.meta.id)[:8], 16), metrics)]


def earlier_draws(
    run: RunFile,
    size: int,
    seed: int,
    metrics: Sequence[str],
    design: Design = "uniform",
    by: str = "",
) -> tuple[Draw | None, set[int]]:
    """The earlier draw that is the very one asked for, if there is one, and all places that were drawn before."""
    before = [draw for draw in run.draws() if set(draw.metrics) & set(metrics)]
    # Typed twice, a command must not draw twice: the labels would be of other trials.
    same = (seed, design, by, list(metrics), size)
    known = next(
        (d for d in before if (d.seed, d.design, d.by, [*d.metrics], len(d.places)) == same), None
    )
    return known, {place for draw in before for place in draw.places}


def all_drawn(what: str) -> UsageError:
    """The error of a draw from which nothing is left."""
    return UsageError(
        f"all {what} of the run are drawn already",
        hint="Label the rest of it: `evenhand label` without --draw.",
    )


def draws_to_label(run: RunFile, metrics: Sequence[str] = ()) -> list[Draw]:
    """The draws under some metrics; without any, all draws but those whose outputs are reviewed, which have none."""
    if not metrics:
        return [draw for draw in run.draws() if draw.metrics != (REVIEW,)]
    return [draw for draw in run.draws() if set(metrics) & set(draw.metrics)]


def drawn_items(run: RunFile, draws: Sequence[Draw]) -> Iterator[DrawnItem]:
    """The items of draws, in the order in which they were drawn."""
    every = list({one.number: one for one in [*run.draws(), *draws]}.values())
    shares: dict[str, Callable[[int], float]] = {
        metric: inclusions(every, metric) for each in draws for metric in each.metrics
    }
    for each in draws:
        for trial in run.at(each.places):
            for metric in judged_metrics(trial):
                if metric in each.metrics:
                    yield DrawnItem.of(run, trial, metric, shares[metric](trial.index))


def items_for(
    author: str,
    items: Sequence[DrawnItem],
    labels: Mapping[tuple[int, str], Mapping[str, MetricLabel]],
) -> list[DrawnItem]:
    """What a person has to label of the items of draws, in their order, and what they have labelled: see `not_again`.

    Args:
        labels: The labels that count, by trial, metric and person.
    """
    skipped = not_again(author, {one.key: labels.get(one.key, {}).keys() for one in items})
    return [item for item in items if item.key not in skipped]


_Item = TypeVar("_Item")


def not_again(author: str, people: Mapping[_Item, AbstractSet[str]]) -> set[_Item]:
    """What a person need not read: all that others have read, but for the first fifth, and this person hasn't.

    The fifth shows how far people agree with each other. It is the first of the draw, so it is a random one.

    Args:
        people: Who has said something of each item, in the order of the draw.
    """
    others = [item for item, who in people.items() if who - {author}]
    # −(−n // 100) rounds up: one item of another person is read again already.
    later = others[-(-len(others) * OVERLAP // 100) :]
    return {item for item in later if author not in people[item]}


def judged_metrics(trial: TrialResult) -> list[str]:
    """The metrics under which a judge has a verdict on a trial."""
    return list(
        dict.fromkeys(
            metric_of(outcome)
            for outcome in with_parts(trial.outcomes)
            if outcome.outcome in ("pass", "fail") and judge_of(outcome)
        )
    )


def judged_text(run: RunFile, trial: TrialResult, metric: str) -> str | None:
    """What the judge of a metric judged, read from what it was asked; of several texts, one below the other.

    An eval may return more than it has judged: a dict with the answer, its trace and its tokens, of which the judge saw
    the answer alone. People label what the judge judged. None where that is the trial's output, or isn't known: the
    prompt is one of the user's own, or no call is kept.
    """
    calls = {
        call
        for outcome in with_parts(trial.outcomes)
        if judge_of(outcome) and metric_of(outcome) == metric
        for call in outcome.rests_on
    }
    texts: dict[str, None] = {}
    for call in run.calls(trial.index) if calls else ():
        if (call.start.key, call.start.nth) in calls:
            texts.update(dict.fromkeys(_judged_in(_decoded(call.start.identity), trial.output)))
    left = [text for text in texts if not _same(text, trial.output)]
    return "\n\n".join(texts) if left else None


def _judged_in(request: object, output: object) -> Iterator[str]:
    """The judged texts in a request."""
    if isinstance(request, str):
        for name, _, text in _FENCED.findall(request):
            # A judge of the user's own may take a part of the output, and call it as it likes.
            if name in _JUDGED or (isinstance(output, str) and text.strip() and text in output):
                yield text
    elif is_mapping(request):
        state = request.get("state")  # a decision model's texts, by name
        if is_mapping(state):
            yield from (str(text) for name, text in state.items() if name in _JUDGED)
        for part in request.values():
            yield from _judged_in(part, output)
    elif is_array(request):
        for part in request:
            yield from _judged_in(part, output)


def _decoded(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _same(text: str, output: object) -> bool:
    """Whether a text is the whole output, however its JSON is written."""
    if isinstance(output, str):
        return text.split() == output.split()
    return _decoded(text) == output

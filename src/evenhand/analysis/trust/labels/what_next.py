"""What to label next: how many outputs can be drawn, whether they suffice, and which other run has labels already."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from evenhand.analysis.trust.judgements.compared_pairs import compared_pairs
from evenhand.analysis.trust.labels.carried_labels import countable
from evenhand.analysis.trust.labels.drawing import drawn_items, draws_to_label, judged_metrics
from evenhand.analysis.trust.trust_rules import CROWD, FEWEST, ONE_METRIC
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import count, safe
from evenhand.stats.design_effect import FEWEST_CASES
from evenhand.store.labels.draw import unordered
from evenhand.store.labels.stored_draws import standing_labels, standing_pair_labels
from evenhand.store.run_lookup import called, paths
from evenhand.store.runfile import RunFile

FIRST_DRAW = 60
"""How many trials, or pairs, are drawn where nobody says how many: few enough for an hour."""


class LabelledRun(Record, frozen=True):
    """Another run of the same judges that people have labels on, or a draw.

    Attributes:
        name: What it is called in a command.
        labels: How many labels it has; 0 for a draw that nobody has labelled yet.
        command: What has them all count for this run, too; empty where they don't.
    """

    name: str
    labels: int
    command: str = ""

    @property
    def words(self) -> str:
        """How many labels there are, in words: `60 labels`."""
        return count(self.labels, "label") if self.labels else "a draw"


def too_few(run: RunFile, metrics: Sequence[str] = ()) -> str:
    """Of which metrics a run has too few outputs, or cases, for a verdict; empty where it has enough.

    Args:
        metrics: Those to look at; all judged ones where there are none.
    """
    outputs, cases = _judged(run)
    few = [metric for metric in metrics or outputs if not _suffices(outputs, cases, metric)]
    if not few:
        return ""
    most = max(few, key=outputs.__getitem__)
    others = f", the largest of {len(few)} such metrics," if len(few) > 1 else ""
    alike = len(few) >= CROWD  # of a criterion of each case's own, more cases make more
    advice = (
        f". If they differ only from case to case, {ONE_METRIC}; then run again"
        if alike
        else ": add cases first"
    )
    return (
        f"calibrate needs {FEWEST} labels, of {FEWEST_CASES} cases or more; {safe(most)}{others} has"
        f" {count(outputs[most], 'output')} of {count(len(cases.get(most, ())), 'case')}{advice}"
    )


def labels_can_suffice(run: RunFile) -> bool:
    """Whether a run has outputs and cases enough for a verdict on one of its metrics, at least, were all labelled."""
    outputs, cases = _judged(run)
    return any(_suffices(outputs, cases, metric) for metric in outputs)


def _judged(run: RunFile) -> tuple[Counter[str], Mapping[str, AbstractSet[str]]]:
    """By metric how many outputs were judged, and the cases."""
    outputs: Counter[str] = Counter()
    cases: defaultdict[str, set[str]] = defaultdict(set)
    for trial in run.trials():
        for metric in judged_metrics(trial):
            outputs[metric] += 1
            cases[metric].add(trial.case)
    return outputs, cases


def _suffices(outputs: Counter[str], cases: Mapping[str, AbstractSet[str]], metric: str) -> bool:
    return outputs[metric] >= FEWEST and len(cases.get(metric, ())) >= FEWEST_CASES


def next_draw(run: RunFile) -> str:
    """The option that draws what can be drawn next, ` --draw 60`; empty where nothing is left to draw."""
    drawn = {place for draw in run.draws() for place in draw.places}
    left = sum(trial.index not in drawn and bool(judged_metrics(trial)) for trial in run.trials())
    if not left:
        pairs = sum(len(one.judged) for one in compared_pairs(run))
        left = pairs - sum(len(draw.pairs) for draw in run.pair_draws())
    return f" --draw {min(FIRST_DRAW, left)}" if left > 0 else ""


def next_labels(run: RunFile) -> str:
    """The command that labels what can be labelled next in a run: what was drawn before, or a new draw.

    Empty where all that was judged has labels.
    """
    labelled = standing_labels(run.metric_labels()), standing_pair_labels(run.pair_labels())
    open_items = any(
        (item.trial.index, item.metric) not in labelled[0]
        for item in drawn_items(run, draws_to_label(run))
    ) or any(
        (unordered(pair), draw.metric) not in labelled[1]
        for draw in run.pair_draws()
        for pair in draw.pairs
    )
    draw = "" if open_items else next_draw(run)
    return f"evenhand label {called(Path.cwd(), run.path)}{draw}" if open_items or draw else ""


def label_hint(run: RunFile) -> str:
    """What somebody does who needs labels that a run hasn't: names the run that has them, or says what to draw."""
    other = labelled_run(run)
    if other is not None and other.labels:
        here = f" To have them count here, too: {other.command}." if other.command else ""
        return f"Run {other.name} has {other.words}: name it instead.{here}"
    if command := next_labels(run):
        return f"Label some outputs first: {command}."
    judged = any(judged_metrics(trial) for trial in run.trials())
    return (
        "Add cases, run, and label them."
        if judged
        else "No judge gave a verdict in it: name a run with judges."
    )


def nothing_drawn(run: RunFile) -> UsageError:
    """The error of a run without a draw: names the run that has one, or says how many can be drawn."""
    other = labelled_run(run)
    name = called(Path.cwd(), run.path)
    hint = f"Say how many:{next_draw(run)}."
    if other is not None:
        hint = f"Run {other.name} has {other.words}: name it, or say how many to draw here:{next_draw(run)}."
    return UsageError(f"nothing of run {name} has been drawn yet", hint=hint)


def to_label_again(run: RunFile) -> str:
    """What to label where a calibration is stale: the labels of an earlier run count again, or a new draw."""
    other = labelled_run(run)
    if other is not None and other.command:
        return other.command
    return f"evenhand label {called(Path.cwd(), run.path)}{next_draw(run)}"


def drawn_in(run: RunFile, items: Collection[tuple[int, str]]) -> Iterator[RunFile]:
    """The other runs that have a draw of all these items, the newest first; each is open until the next one.

    Args:
        run: The run beside which to look.
        items: Places in the plan, each with its metric.
    """
    for other in _others(run):
        drawn = {(place, one) for d in other.draws() for place in d.places for one in d.metrics}
        if items and drawn.issuperset(items):
            yield other


def labelled_run(run: RunFile) -> LabelledRun | None:
    """The newest other run beside this one whose labels are of a metric that this one's judges judged.

    None where this run has labels itself, and where no run has any. One with a draw alone is named if none has labels.
    """
    if _drawn_labels(run):
        return None
    own = {metric for trial in run.trials() for metric in judged_metrics(trial)}
    own |= {pairs.name for pairs in compared_pairs(run)}
    drawn: LabelledRun | None = None
    for other in _others(run):
        labels = sum(metric in own for metric in _drawn_labels(other))
        of = {metric for draw in other.draws() for metric in draw.metrics}
        of |= {draw.metric for draw in other.pair_draws()}
        if labels or (drawn is None and own & of):
            name = called(Path.cwd(), other.path)
            # Without their draw they would wait for another one.
            counts = bool(labels) and countable(other, run).counts
            again = f"evenhand label {called(Path.cwd(), run.path)} --from {name}" if counts else ""
            drawn = LabelledRun(name, labels, again)
        if labels:
            break
    return drawn


def _drawn_labels(run: RunFile) -> list[str]:
    """The metric or the ranking of each label of a draw."""
    drawn = {(place, one) for d in run.draws() for place in d.places for one in d.metrics}
    pairs = {(unordered(pair), d.metric) for d in run.pair_draws() for pair in d.pairs}
    return [
        *(key[1] for key in standing_labels(run.metric_labels()) if key in drawn),
        *(key[1] for key in standing_pair_labels(run.pair_labels()) if key in pairs),
    ]


def _others(run: RunFile) -> Iterator[RunFile]:
    """The other runs in the same folder that can be read, the newest first; each is open until the next one."""
    for path in paths(run.path.absolute().parent.parent):
        with contextlib.suppress(StoreError), RunFile.open(path) as other:
            if other.meta.id != run.meta.id:
                yield other

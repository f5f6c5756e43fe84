"""Canaries: outputs with verdicts that people gave, kept in a file, for a judge to be asked about again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from evenhand.analysis.trust.labels.what_next import label_hint
from evenhand.core.document import Key
from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.malformed import document_fault
from evenhand.core.wording.words import count, safe
from evenhand.scorers.text import value_text
from evenhand.store.labels.draw import LabelledVerdict, MetricLabel
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.replacing import write_committed
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.canaries/1"
NAME = "canaries.json"


class Canary(msgspec.Struct, frozen=True):
    """An output whose verdict is known."""

    metric: Annotated[str, Key("the metric that it is judged by")]
    case: Annotated[str, Key("the id of the case that it is an output of")]
    output: Annotated[str, Key("the output")]
    verdict: Annotated[LabelledVerdict, Key("what people found: `pass` or `fail`")]


class Canaries(msgspec.Struct, frozen=True):
    """The canaries of a file."""

    schema: Annotated[Literal["evenhand.canaries/1"], Key("`evenhand.canaries/1`")]
    run: Annotated[str, Key("the id of the run that the outputs are from")]
    made_at: Annotated[float, Key("", "seconds since 1970")]
    canaries: tuple[Canary, ...]

    @property
    def digest(self) -> str:
        """A digest of the canaries, equal for equal ones: only then can two answers to them be compared."""
        rows = [[one.metric, one.case, one.output, one.verdict] for one in self.canaries]
        return digest(encode(rows))[:16]

    def at_most(self, most: int) -> Canaries:
        """At most so many of each metric, half of them passes as far as there are: always the same ones."""
        left: Counter[tuple[str, str]] = Counter()
        taken: set[int] = set()
        order = sorted(range(len(self.canaries)), key=lambda i: digest(str(self.canaries[i])))
        for halves in (True, False):  # then whatever there is more of on one side
            for i in order:
                one = self.canaries[i]
                limit = (most + 1) // 2 if halves else most
                key = (one.metric, one.verdict) if halves else (one.metric, "")
                if i not in taken and left[key] < limit and left[one.metric, ""] < most:
                    taken.add(i)
                    left[one.metric, one.verdict] += 1
                    left[one.metric, ""] += 1
        return msgspec.structs.replace(
            self, canaries=tuple(one for i, one in enumerate(self.canaries) if i in taken)
        )

    def document(self) -> dict[str, Any]:
        """The canaries as a JSON-ready dict, `evenhand.canaries/1`."""
        return msgspec.to_builtins(self)


class UsableLabels(NamedTuple):
    """How many labelled outputs of a metric can be canaries, and why the others can't.

    Attributes:
        usable: Those that can be.
        alike: Those with the same text as one that can be.
        split: Those on which people are split.
        empty: Those that are no output: a trial in error has none.
    """

    metric: str
    usable: int
    alike: int
    split: int
    empty: int

    def words(self, most: int) -> str:
        """Why there are fewer canaries than wanted; empty where there are as many."""
        if self.usable >= most:
            return ""
        reasons = [
            f"{number:,} {why}"
            for number, why in (
                (self.alike, "with the text of another one"),
                (self.split, "on which people are split"),
                (self.empty, "without an output"),
            )
            if number
        ]
        left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
        labelled = self.usable + self.alike + self.split + self.empty
        return (
            f"{safe(self.metric)}: {self.usable:,} canaries instead of {most:,}, of"
            f" {count(labelled, 'labelled output')}{left_out}"
        )


def kept_canaries(
    run: RunFile, number: int, metrics: tuple[str, ...] = ()
) -> tuple[Canaries, list[UsableLabels]]:
    """Chooses canaries among the labelled outputs of a run, and says of each metric what there was to choose from.

    Half of them are passes and half fails; of where there are too few of one, there are more of the other. Outputs on
    which people are split are left out, and of equal outputs all but one.

    Args:
        number: How many for each metric, at most.
        metrics: Only these; all where there are none.

    Raises:
        UsageError: Nothing is labelled, or not under these metrics.
    """
    labels = standing_labels(run.metric_labels())
    canaries: list[Canary] = []
    texts: set[tuple[str, str]] = set()
    tallies: dict[str, Counter[str]] = {}
    order = sorted(labels.items(), key=lambda item: digest(str(item[0])))
    for (index, metric), people in order:
        if metrics and metric not in metrics:
            continue
        tally = tallies.setdefault(metric, Counter())
        verdict, trial = _unanimous(people), run.trial(index)
        if trial is None or trial.output is None:
            tally["empty"] += 1
        elif verdict is None:
            tally["split"] += 1
        elif (metric, text := value_text(trial.output)) in texts:
            tally["alike"] += 1
        else:
            texts.add((metric, text))
            tally["usable"] += 1
            canaries.append(Canary(metric, trial.case, text, verdict))
    if not canaries:
        raise UsageError(
            f"run {run.meta.id} has no labels that canaries could be made of",
            hint=label_hint(run),
        )
    canaries.sort(key=lambda one: (one.metric, one.verdict, one.case, one.output))
    chosen = Canaries(SCHEMA, run.meta.id, time.time(), tuple(canaries)).at_most(number)
    kinds = UsableLabels._fields[1:]
    return chosen, [
        UsableLabels(m, *(tally[kind] for kind in kinds)) for m, tally in tallies.items()
    ]


def fewer_canaries(chosen: Canaries, path: Path, number: int) -> str:
    """Of which metrics a file has more canaries than would take their place, in words; empty for none.

    Args:
        chosen: What would be written.
        path: The file; one that is missing or damaged has none.
        number: How many were asked for of each metric.
    """
    try:
        earlier = read_canaries(path)
    except UsageError:
        return ""
    before = Counter(one.metric for one in earlier.canaries)
    now = Counter(one.metric for one in chosen.canaries)
    return ", ".join(
        f"{size} of {safe(metric)}, which would become {now[metric]}"
        for metric, size in before.items()
        if now[metric] < min(number, size)
    )


def write_canaries(canaries: Canaries, path: Path) -> None:
    """Writes a file of canaries, made to be committed.

    Raises:
        UsageError: It cannot be written.
    """
    write_committed(canaries.document(), path)


def read_canaries(path: Path) -> Canaries:
    """Reads a file of canaries.

    Raises:
        UsageError: There is none, or it is none.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"there are no canaries: {path} doesn't exist",
            hint="Make them of a run with labels: evenhand runs canaries RUN --keep 40.",
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        canaries = msgspec.convert(decode(data), Canaries)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(
            f"{path} is not a file of canaries: {document_fault(data, error)}",
            hint="Make it again with evenhand runs canaries RUN --keep 40, or restore it.",
        ) from error
    if not canaries.canaries:
        raise UsageError(f"{path} has no canaries in it")
    return canaries


def _unanimous(people: Mapping[str, MetricLabel]) -> LabelledVerdict | None:
    """The verdict that all people gave; None where they are split."""
    verdicts: set[LabelledVerdict | None] = {label.verdict for label in people.values()}
    return verdicts.pop() if len(verdicts) == 1 else None

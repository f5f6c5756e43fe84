"""Failure codes: short names that people give to what is wrong with an output, counted and renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from evenhand.analysis.summaries.share_rows import EstimatedShare
from evenhand.analysis.trust.judgements.strata import weight_of
from evenhand.core.document import Key, as_object, filled
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.wording.words import count, interval, safe, share_within
from evenhand.stats.correction import Estimate
from evenhand.stats.weighted import weighted_share
from evenhand.store.labels.label import NewLabel, standing
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.codes/1"
EXAMPLES = 3


class CodesCode(Record, frozen=True, kw_only=True):
    """What `evenhand.codes/1` says of a code."""

    name: Annotated[str, Key("the code")]
    drawn: Annotated[int, Key("labelled trials of a draw that have it", "trials")]
    labelled: Annotated[int, Key("labelled trials of a draw", "trials")]
    share: Annotated[
        EstimatedShare | None,
        Key("the share of all that could be drawn", null="nothing that was drawn is labelled"),
    ]
    trials: Annotated[list[int], Key("all trials that have it, by their index")]


class CodesDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.codes/1`."""

    schema: Annotated[str, Key("`evenhand.codes/1`")]
    run: Annotated[str, Key("the run's id")]
    codes: Annotated[
        list[CodesCode], Key("the failure codes that people gave, the most frequent first")
    ]


class FailureCode(Record, frozen=True):
    """How often people gave a code.

    Attributes:
        drawn: Labelled trials of a draw that have it.
        labelled: Labelled trials of a draw.
        share: Their share of all that could be drawn, with its 95 % interval; None where nothing is labelled.
        unlabelled: Trials of a draw that have it, and no verdict yet.
        trials: All trials that have it, as places in the plan, in their order.
    """

    name: str
    drawn: int
    labelled: int
    share: Estimate | None
    trials: tuple[int, ...]
    unlabelled: int = 0


def failure_codes(run: RunFile) -> list[FailureCode]:
    """The codes that people gave, the most frequent first. A trial counts once for a code, whoever gave it.

    Raises:
        StoreError: The run cannot be read.
    """
    draws = run.draws()
    drawn = {place for draw in draws for place in draw.places}
    labelled = drawn & {index for index, _ in standing_labels(run.metric_labels())}
    trials = _by_code(run)
    weight = weight_of(draws, labelled)
    codes = [
        FailureCode(
            name,
            len(places & labelled),
            len(labelled),
            weighted_share([(weight(place), place in places) for place in labelled]),
            tuple(sorted(places)),
            len(places & drawn - labelled),
        )
        for name, places in trials.items()
    ]
    return sorted(codes, key=lambda code: (-len(code.trials), code.name))


def rename_code(run: RunFile, old: str, new: str) -> int:
    """Gives a code another name, or merges it into one that is there; how many labels that is.

    Raises:
        UsageError: Nobody gave it, or the new name is none.
        StoreError: The run file cannot be written.
    """
    labels = [
        NewLabel(label.index, "code", new, label.author, label.blind)
        for each in standing(run.labels()).values()
        for label in each
        if label.field == "code" and label.value == old
    ]
    if not labels:
        known = _by_code(run)
        raise UsageError(
            f"--rename: no output has the failure code {old!r}",
            hint=did_you_mean(old, known) or f"There are: {', '.join(known) or 'none'}.",
        )
    return len(append_labels(run.path, labels))


def code_lines(run: RunFile) -> Iterator[str]:
    """A line for each code: how many outputs have it, their share among the labelled ones of the draw, and examples."""
    codes = failure_codes(run)
    if not codes:
        yield "nobody has given a failure code yet: press c in `evenhand label`"
        return
    labelled = codes[0].labelled
    missing = "labelled" if any(code.unlabelled for code in codes) else "drawn"
    yield (
        f"failure codes of {count(labelled, 'labelled output')} of the draw"
        if labelled
        else f"failure codes; nothing is {missing}, so these counts say nothing of the other outputs"
    )
    width = max(len(safe(code.name)) for code in codes)
    for code in codes:
        share = ""
        if code.share is not None:
            one = code.share
            share = f"{share_within(one.value, one.value, one.low, one.high):>6} [{interval(one.low, one.high)}]"
        else:
            share = count(len(code.trials), "output")
        examples = [trial.description or trial.case for trial in run.at(code.trials[:EXAMPLES])]
        outside = len(code.trials) - code.drawn - code.unlabelled
        more = f" · {outside:,} outside the draw" if labelled and outside else ""
        more += f" · {code.unlabelled:,} without a verdict yet" if code.unlabelled else ""
        yield f"  {safe(code.name):<{width}}  {share}  {', '.join(map(safe, examples))}{more}"


def codes_document(run: RunFile) -> dict[str, Any]:
    """What `evenhand label --codes --json` prints: `evenhand.codes/1`."""
    return as_object(
        CodesDocument(
            schema=SCHEMA,
            run=run.meta.id,
            codes=[
                CodesCode(
                    name=code.name,
                    drawn=code.drawn,
                    labelled=code.labelled,
                    share=code.share and filled(EstimatedShare, code.share),
                    trials=list(code.trials),
                )
                for code in failure_codes(run)
            ],
        )
    )


def _by_code(run: RunFile) -> Mapping[str, set[int]]:
    by_code: dict[str, set[int]] = {}
    for index, labels in standing(run.labels()).items():
        for label in labels:
            if label.field == "code":
                by_code.setdefault(str(label.value), set()).add(index)
    return by_code

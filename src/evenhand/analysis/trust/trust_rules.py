"""What all calibrations have in common: how many labels they take, their verdicts, and what they are bound to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Literal

from evenhand.analysis.trust.judgements.judged import JudgedMetric, Judgements
from evenhand.analysis.trust.judgements.judged_basis import CaseSample, asked_alike
from evenhand.core.application_code import EVAL
from evenhand.core.document import Key
from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.stats.corrected_differences import corrected_difference
from evenhand.stats.correction import Estimate

FEWEST = 30
"""Labels below which there is no verdict."""
FEW = 50
"""Labels below which a warning is given."""
FEW_OF_A_KIND = 20
"""Labelled passes, or failures, below which a judge that isn't shown to be better than chance may only lack labels."""
TELLS_NOTHING = "do not use this judge: it isn't shown to tell good outputs from bad ones"
"""Why its labels correct nothing but the run that they are of."""
TELLS_APART = 0.3
"""The lower end of TPR + TNR − 1 has to be above this for a judge's own number to be read."""
UNLIKELY = 0.01
"""Labels that a random draw would give so seldom are taken for none."""
SURE = 0.99
"""How sure it has to be that a judge changed: one run in a hundred whose judge did not is taken for changed."""
EITHER = "the interval of the corrected rate holds whichever way people decide on these"
"""What is said beside outputs on which people are split."""
NOT_CHECKED = "not checked against people"
CROWD = 4
"""So many criteria of one kind, each asked of fewer than five outputs, have one line between them."""
ONE_METRIC = "`metric: NAME`, or metric='NAME' in Python, makes them one"
"""What to do about criteria that differ from case to case."""
NO_VERDICT = "the judge gave no verdict"
LOOKED = (
    "the cases to run were chosen by outcome, but the rate is corrected as if they had been planned, so its interval"
    " may be too narrow"
)

TrustVerdict = Literal["usable", "usable with labels", "do not use", "no verdict"]
MARGIN = 0.05
"""How far a judge's own rate may be from what people would have found, and still be read as it is."""
Bound = Mapping[str, str]
"""What a calibration holds for, as digests by name: of another one it says nothing."""


def is_equivalent(own: float, low: float, high: float) -> bool:
    """Whether a judge's own number is shown to be within the margin of what people would have found.

    The whole interval, from low to high, has to lie there: fewer labels, whose interval is wider, never make it easier.
    """
    return own - MARGIN <= low and high <= own + MARGIN


def not_alike(then: Estimate, now: Estimate) -> bool:
    """Whether two numbers of different outputs differ, at the confidence of their intervals."""
    apart = corrected_difference(then, now)
    return not apart.low <= 0 <= apart.high


def too_little(labels: int, random_p: float | None, judged: str) -> str:
    """Why labels don't suffice for a verdict; empty where they may.

    Args:
        random_p: How likely a random draw would be to look like them: 0 where some could not be drawn, None without
            labels.
        judged: What was done with what they are drawn of: `judged`.
    """
    if not labels:
        return f"nobody has labelled a random draw of what the judge {judged}"
    if random_p == 0:
        return f"some was {judged} after the labels were drawn: draw from that, too (`evenhand label --draw`)"
    if random_p is not None and random_p < UNLIKELY:
        return (
            f"the labels are not a random draw of what was {judged}: a random draw would look like this once in "
            f"{1 / max(random_p, 1e-9):,.0f} times"
        )
    if labels < FEWEST:
        return f"{labels_are(labels)} too few: it takes {FEWEST} or more"
    return ""


def labels_are(number: int) -> str:
    """How many labels something is said of: `1 label is`, `3 labels are`."""
    return f"{count(number, 'label')} {'is' if number == 1 else 'are'}"


def left_out(unused: int, split: int, what: str) -> Iterator[str]:
    """Which labels correct nothing, in words.

    Args:
        unused: Labels outside a draw.
        split: Drawn outputs, or pairs, on which people are split.
    """
    if unused:
        yield f"{labels_are(unused)} not used: outside a draw"
    if split:
        yield f"{count(split, f'labelled {what}')} left out: people are split on {'it' if split == 1 else 'them'}"


def without_split(split: int, what: str) -> str:
    """That a number leaves out outputs, or pairs, on which people are split; empty for none."""
    return f", without {count(split, what)} on which people are split" if split else ""


def few_labels(number: int, population: int) -> str:
    """That labels are few, and what to do about it; empty for enough, and for too few for a verdict.

    Args:
        population: How many outputs, or pairs, could be labelled.
    """
    if not FEWEST <= number < FEW:
        return ""
    add = "" if population >= FEW else f", which takes more than the {population} judged here"
    return f"{labels_are(number)} few: {FEW} or more make this firm{add}"


def estimate_row(estimate: Estimate | None) -> dict[str, float] | None:
    """A number and its interval, in the keys of documents."""
    return None if estimate is None else estimate._asdict()


class Evidence(Record, frozen=True):
    """What tells an edited case from an edited prompt: see `case_sample`."""

    models: Annotated[str, Key("a digest of what answered")]
    written: Annotated[str, Key("a digest of the prompts as they were written")]
    cases: Annotated[
        Mapping[str, Mapping[str, str]],
        Key(
            "of at most 20 cases, the beginnings of the digests of what was sent about each (`system`), "
            "what its judge was asked (`judge prompt`) and what was expected (`criteria`)"
        ),
    ]


def evidence_of(metric: JudgedMetric, judged: Judgements) -> Evidence:
    """What later runs need to say what has changed since."""
    basis = judged.parts.basis(metric.evals)
    cases = CaseSample.joined([basis.cases, metric.cases])
    return Evidence(basis.models, basis.written, cases.sample())


def changed_since(
    before: Bound, now: Bound, earlier: Evidence, evidence: Evidence, *, with_rule: bool
) -> tuple[str, ...]:
    """What a calibration is bound to and is otherwise now. A run without a rule of its own goes by the old one.

    Where cases were edited, what has their texts in it looks edited, too: it is named only if it is otherwise for a
    case that is as it was.

    Args:
        now: The same of a run.
        earlier: What was asked when it was made.
        evidence: The same of the run.
        with_rule: Whether the run has a rule of its own.
    """
    names = [
        name for name in now if before.get(name) != now[name] and (name != "rule" or with_rule)
    ]
    # The same cases: whatever looks different is different.
    if "data" not in names:
        return tuple(names)
    alike = {
        name: asked_alike(earlier.cases, evidence.cases, name)
        for name in ("system", "judge prompt", "criteria")
    }
    # Which of other cases belong together is another matter in any case.
    alike["clusters"] = True
    # No case is in both samples: then the prompts as written have to say it.
    if alike["system"] is None and earlier.written == evidence.written:
        alike["system"] = True
    if earlier.models != evidence.models:
        alike["system"] = False
    return tuple(name for name in names if not alike.get(name))


def stale_words(changed: Sequence[str]) -> str:
    """What makes a calibration stale, in words: a run of other cases than the labelled ones has changed no data.

    >>> stale_words(["system", "data"]), stale_words(["data"]), stale_words(["eval desk: answers"])
    ('other cases, and system changed', 'other cases', 'eval answers changed')
    """
    others = [_code_words(name) for name in changed if name != "data"]
    cases = ["other cases"] if len(others) < len(changed) else []
    return ", and ".join([*cases, *([f"{', '.join(others)} changed"] if others else [])])


def _code_words(name: str) -> str:
    """What a part of a calibration's basis is called in a sentence: an eval without its set."""
    _, colon, own = name.partition(": ")
    return f"{EVAL}{own}" if colon and name.startswith(EVAL) else name


def bound_to(metric: JudgedMetric, judged: Judgements, rule: str) -> Bound:
    """What a calibration of this judge holds for.

    Args:
        judged: What all judges of the run said.
        rule: The rule that people judge by.
    """
    members = metric.model.split("+")
    basis = judged.parts.basis(metric.evals)
    return {
        "judge model": metric.model,
        "judge prompt": digest(*sorted(metric.instruments))[:16],
        "judge settings": digest(*(basis.settings.get(member, "") for member in members))[:16],
        "criteria": digest(*sorted(metric.criteria))[:16],
        "system": basis.system,
        "data": basis.data,
        "clusters": basis.clusters,
        "rule": digest(rule)[:16],
    }


def age(at: float | None) -> str:
    """How long ago, in days of the calendar here: `today`, `12 days old`."""
    days = 0 if at is None else (date.today() - date.fromtimestamp(at)).days  # noqa: DTZ011, DTZ012 (as clocks here show it)
    return "today" if days < 1 else f"{count(days, 'day')} old"

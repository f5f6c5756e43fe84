"""Tryouts of judges in words, for terminals."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.wording.words import clip, count, folded, money, padded, percent, safe
from evenhand.render.calibration_text import points, rate
from evenhand.stats.correction import Estimate
from evenhand.wings.judge_checks.tried import (
    FEWEST,
    Comparison,
    JudgeTryout,
    Tried,
    TriedCascade,
    Tryout,
)
from evenhand.wings.judge_checks.tryout_record import CHOOSING, CONFIRMING

WIDTH = 100
_NAME = 28


def tryout_lines(tryout: Tryout) -> Iterator[str]:
    """A block of lines for each judge: the verdict, and a table of its variants."""
    for judge in tryout.judges:
        yield f"{safe(judge.judge.metric)} · judged by {safe(judge.judge.model)}"
        yield from _wrapped(f"{judge.verdict}: {_why(judge)}", 2)
        yield ""
        yield from _rates(judge)
        yield ""
        yield from _differences(judge)
        yield ""


def _why(judge: JudgeTryout) -> str:
    """The verdict in words."""
    if not judge.complete:
        return "not all variants were asked about all labelled outputs"
    if not judge.enough:
        return (
            f"{count(judge.labels, 'label')} are too few, as a half of fewer than {FEWEST // 2} decides nothing:"
            f" there must be {FEWEST} or more"
        )
    if judge.winner is None or judge.confirmation is None:
        return (
            f"on the {judge.size(CHOOSING)} outputs that choose, none agrees with people more often than today's"
            " judge"
        )
    name, half = safe(judge.winner.name), judge.size(CONFIRMING)
    comparison = _compared(judge.confirmation)
    if judge.confirmed:
        return (
            f"'{name}' agrees with people more often than today's judge, also on the {half} outputs that did not"
            f" choose it: {comparison}"
        )
    errors = judge.winner.errors
    doubt = f"; {count(errors, 'error')} could have gone either way" if errors else ""
    return (
        f"'{name}' is ahead on the outputs that choose, but isn't shown to be better on the {half} others:"
        f" {comparison}{doubt}. {_could_show(judge.confirmation, half)}"
    )


def _could_show(compared: Comparison, outputs: int) -> str:
    """What so many outputs can show at all."""
    if compared.smallest is None:
        return f"{outputs} outputs like these show no difference, however large"
    return f"{outputs} outputs show a difference of {compared.smallest * 100:.0f} points four times in five"


def _rates(judge: JudgeTryout) -> Iterator[str]:
    """How each one stands to people, on all labelled outputs."""
    labels = f"on all {count(judge.labels, 'label')}"
    rates = "  ".join(f"{name:<16}" for name in ("agrees", "TPR", "TNR"))
    yield f"  {padded(labels, _NAME)}  {rates}  {'corrected':<9}  {'per verdict':<11}  errors"
    for one in (judge.today, *judge.variants):
        cells = [_name(one), *(padded(_share(x), 16) for x in (one.agrees, one.tpr, one.tnr))]
        width = "–" if one.half_width is None else f"±{percent(one.half_width)}"
        cost = "–" if one.per_verdict_usd is None else money(one.per_verdict_usd)
        yield f"  {'  '.join(cells)}  {width:<9}  {cost:<11}  {one.errors or ''}".rstrip()
    for one in judge.variants:
        if one.cascade is not None:
            yield from _wrapped(_shared_out(one.name, one.cascade), 2)


def _shared_out(name: str, cascade: TriedCascade) -> str:
    """What each judge of a cascade would decide, by the labels that choose."""
    first = "nothing: it saves nothing"
    if cascade.first is not None:
        first = f"{cascade.decided_first:,} from {cascade.first:.2f} on"
    left = f", {cascade.people:,} are for a person" if cascade.people else ""
    return (
        f"{safe(name)}, at a risk of {cascade.risk * 100:g} %: the first judge decides {first}, the second one"
        f" {cascade.decided_then:,} of the others{left}"
    )


def _differences(judge: JudgeTryout) -> Iterator[str]:
    """How each one differs from today's judge, on the half that chooses; and the winner on the other half."""
    half = f"on {judge.size(CHOOSING)} labels that choose"
    yield f"  {padded(half, _NAME)}  agrees with people more often than today's judge"
    for one, compared in zip(judge.variants, judge.choosing, strict=True):
        yield f"  {_name(one)}  {_compared(compared)}"
    if judge.winner is not None and judge.confirmation is not None:
        half = f"on {judge.size(CONFIRMING)} that confirm"
        yield f"  {half}"
        yield f"  {_name(judge.winner)}  {_compared(judge.confirmation)}"


def _compared(compared: Comparison) -> str:
    if compared.difference is None:
        return "–"
    return f"{points(compared.difference)}, p = {compared.p:.2g}"


def _name(one: Tried) -> str:
    return padded(clip(safe(one.name), _NAME), _NAME)


def _share(estimate: Estimate | None) -> str:
    return "–" if estimate is None else rate(estimate)


def _wrapped(text: str, indent: int) -> list[str]:
    return folded(text, WIDTH, " " * indent, " " * (indent + 2))

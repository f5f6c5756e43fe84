"""A gate for people and for programs: the verdict, a line for each metric, and what was asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenhand.analysis.comparison.pairing import distinct
from evenhand.analysis.comparison.variants import could_turn
from evenhand.analysis.gates.gate_document import SCHEMA, GateChange, GateDocument, GateRow
from evenhand.analysis.gates.gate_results import (
    CHANGES,
    Advice,
    Gate,
    GateResult,
    GateVerdict,
    Stopping,
)
from evenhand.analysis.summaries.column_names import SHORT
from evenhand.analysis.summaries.variance_shares import REPEAT_SHOWS_IT, cost_words, shares_in_words
from evenhand.core.document import as_object, filled
from evenhand.core.json_shapes import finite
from evenhand.core.scripted import SCRIPTED
from evenhand.core.wording.ink import UNBOUND, Ink
from evenhand.core.wording.words import columns, count, folded, safe, spent
from evenhand.render.comparison import (
    UNSCALED,
    below,
    difference,
    extent,
    interval,
    is_better,
    one_way,
    same_results,
    sized,
)
from evenhand.stats.paired_difference import FEWEST

UNREPEATED = f"no case was repeated, so what repeats would save is not known: {REPEAT_SHOWS_IT}"
MARKS: Mapping[GateVerdict, tuple[str, str]] = {
    "better": ("✓", "green"),
    "not worse": ("✓", "green"),
    "undecided": ("±", "yellow"),
    "nothing": ("!", "yellow"),
    "worse": ("✗", "red"),
}


def lines(gate: Gate, ink: Ink | None = None, width: int = UNBOUND) -> list[str]:
    """The gate as text: the verdict first, then each metric, then what was asked.

    Variants with long names are numbered, as the run's report does, and named once, before the metrics.

    Args:
        ink: The colours; None for none.
    """
    paint = ink or Ink(on=False)
    labels = _labels(gate)
    text = _marked(gate.verdict, f"{gate.verdict}{_whole(gate)}", paint, width, labels)
    text[0] = text[0].replace(gate.verdict, paint(gate.verdict, "bold"), 1)
    for name, label in labels.items():
        if label != name:
            full = gate.in_full.get(name, name)
            text += folded(f"{label} = {full}", width, "  ", "    ")
    comparisons = [one.compared for one in gate.results if one.compared is not None]
    for result in gate.results:
        if result.compared is not None and result.compared.same_as:
            continue
        metric = safe(result.metric)
        if result.judged and result.compared is not None and not result.compared.data.rates:
            metric += ", mean score"
        name = " · ".join(filter(None, (labels.get(result.variant), metric)))
        line = f"{name}: {result.verdict}{_because(result, gate.margin)}"
        text += _marked(result.verdict, line, paint, width, labels)
        if result.compared is not None and result.verdict in ("worse", "undecided"):
            for line in (*below(result.compared), *_uncertainty(result)):
                text += folded(line, width, "    ", "        ")
        if result.compared is not None:
            for line in same_results(result.compared, comparisons):
                text += folded(line, width, "    ", "        ")
    rest: list[str] = []
    tests = len(distinct(r.compared for r in gate.results if r.compared and not r.why)[0])
    if tests > 1:
        rest.append(f"the verdicts worse and better are corrected for {tests} results")
    if gate.stopping is not None:
        rest.append(_stopping(gate.stopping))
    # Of a sample whose other cases would decide it, nobody looked how much repeats vary.
    advised = [one.advice for one in gate.results if one.advice and not one.advice.of_sample]
    if advised and not any(one.repeated for one in advised):
        rest.append(UNREPEATED)
    rest += [_asked(gate), *gate.notes]
    return text + [part for line in rest for part in folded(line, width, "", "  ", names=labels)]


def _labels(gate: Gate) -> dict[str, str]:
    """What each variant is called, where there are several: by its name if all are short, or by the report's number."""
    names = list(dict.fromkeys(result.variant for result in gate.results))
    if len(names) < 2:
        return {}
    if all(columns(name) <= SHORT for name in names):
        return dict(zip(names, names, strict=True))
    numbers = {name: f"#{number}" for number, name in enumerate(gate.in_full or names, 1)}
    return {name: numbers.get(name, name) for name in names}


def _marked(
    verdict: GateVerdict, line: str, ink: Ink, width: int, names: Iterable[str]
) -> list[str]:
    """A line behind the mark of a verdict, in as many as it takes, without tearing one of the names."""
    first, *rest = folded(line, width, "  ", "    ", names=names)
    return [f"{ink(*MARKS[verdict])} {first[2:]}", *rest]


def _whole(gate: Gate) -> str:
    """What the verdict on all of it means."""
    if gate.because:
        return f": {safe(gate.because)}"
    if gate.verdict == "nothing":
        return f": {not_compared([result.verdict for result in gate.results])}"
    if gate.status not in ("finished", "decided"):
        return ": the run did not finish"
    return (
        f" than the baseline, margin {gate.margin:g}"
        if gate.verdict != "undecided"
        else (f", margin {gate.margin:g}")
    )


def not_compared(verdicts: Sequence[GateVerdict]) -> str:
    """How many results could not be compared, given the verdicts on all of them."""
    silent = verdicts.count("nothing")
    if silent < len(verdicts):
        return f"{silent:,} of {count(len(verdicts), 'result')} could not be compared with the baseline"
    return "nothing could be compared with the baseline"


def _because(result: GateResult, margin: float) -> str:
    compared = result.compared
    if compared is None or compared.difference_range is None or result.verdict == "nothing":
        return f" ({result.why})" if result.why else ""
    if result.why:
        moved = f"{_moved(result)} over " if compared.other_judge else ""
        return f" · {moved}{extent(compared)} ({result.why})"
    return f" · {_moved(result)} over {extent(compared)}{_reason(result, margin)}"


def _moved(result: GateResult) -> str:
    """The difference with its interval, as the terminal has it; empty where nothing was looked for.

    By another judge it has no interval.
    """
    compared = result.compared
    if compared is None or compared.difference_range is None:
        return ""
    if result.why and not compared.other_judge:
        return ""
    unit = " points" if compared.data.rates else ""
    moved = f"{difference(compared, compared.difference_range)}{unit}"
    if compared.data.unscaled or compared.other_judge:
        return moved
    return f"{moved}{interval(compared)}"


def _reason(result: GateResult, margin: float) -> str:
    compared = result.compared
    if result.why:
        return f" ({result.why})"
    if compared is None or result.verdict in ("better", "worse"):
        return ""
    if compared.open:
        return f" ({could_turn(compared.trials_in_error)})"
    groups = len(compared.data.clusters)
    if groups < FEWEST:
        what = "case" if groups == compared.n else "cluster"
        few = f"{count(groups, what)} are too few" if groups > 1 else f"1 {what} is too few"
        return f" ({few}: it takes {FEWEST} or more)"
    if compared.data.unscaled:
        way = one_way(compared) if result.verdict == "undecided" else "in most cases"
        return f" ({way}; {UNSCALED})"
    least = result.at_worst or 0.0
    if result.verdict == "not worse":
        most = (
            "no worse at all"
            if least <= 0
            else f"at most {sized(compared, least, margin)} worse, one-sided"
        )
        return f" ({most})"
    reach = f"it may be {sized(compared, least, margin)} worse, one-sided"
    if result.more is None:
        return f" ({reach}; more cases would hardly decide it)"
    # Of units that are all alike it isn't known how much others would differ.
    alike = len(set(compared.data.least.units)) == 1
    sure = "if they come out like these" if alike else "four times in five"
    return f" ({reach}; {_advised(result.more, result.advice, compared.predicted, sure)})"


def _advised(more: int, advice: Advice | None, predicted: int, sure: str) -> str:
    """What would decide a result at the least cost, and how surely, where so many of its cases were predicted."""
    cases = more if advice is None else advice.cases
    kind = "case" if cases == 1 else "cases"
    if advice and advice.clusters:
        kind = "cluster of cases" if cases == 1 else "clusters of cases"
    what = f"about {rounded(cases)} more {kind}"
    what += ", including those that were left out," if 0 < predicted < cases else ""
    again = (
        {} if advice is None else {"run": advice.run_repeats, "baseline": advice.baseline_repeats}
    )
    if any(again.values()):
        (number, side), *other = [(number, side) for side, number in again.items() if number]
        repeats = f"{count(number, 'more repeat')} of each case in the {side}"
        repeats += "".join(f" and {number:,} in the {side}" for number, side in other)
        what = f"{what} and {repeats}" if cases else f"{repeats} alone"
    elif advice is not None and advice.of_sample:
        what = f"about {rounded(cases)} more of the cases that were left out"
    elif advice is not None and advice.repeated:
        what = f"{what.removesuffix(',')}, repeated as before,"
    cost = "" if advice is None else cost_words(advice.calls, advice.cost_usd)
    if cost and advice is not None and not advice.of_sample and (cases or advice.baseline_repeats):
        cost += ", including a new baseline"
    return f"{what} would decide it {sure}{f': {cost}' if cost else ''}"


def _uncertainty(result: GateResult) -> Iterator[str]:
    """What an undecided result's uncertainty comes from, where that is known."""
    if result.advice is not None and result.advice.repeated and result.advice.parts:
        yield f"sources of uncertainty: {shares_in_words(result.advice.parts)} of the variance"


def _stopping(stopping: Stopping) -> str:
    """How far it went, and what its numbers are."""
    if not stopping.stopped and not stopping.looks:
        return f"{stopping.cases:,} of {count(stopping.of, 'case')} run"
    if not stopping.stopped:
        held = f": {', '.join(map(safe, stopping.open))} needs all of them" if stopping.open else ""
        return f"not decided before the last of {count(stopping.of, 'case')}{held}"
    far = f"stopped after {stopping.cases:,} of {count(stopping.of, 'case')}"
    if not stopping.looks:
        return f"{far}, drawn at random (seed {stopping.seed})"
    looks = f"looking {stopping.looks} times" if stopping.looks > 1 else "one look"
    return f"{far} (order: seed {stopping.seed}); the intervals allow for {looks}"


def rounded(number: int) -> str:
    """A number of which two digits say enough, rounded up.

    >>> rounded(7), rounded(37), rounded(118), rounded(4321)
    ('7', '37', '120', '4,400')
    """
    step = 10 ** max(0, len(str(number)) - 2)
    return f"{-(-number // step) * step:,}"


def trials_run(gate: Gate | GateDocument) -> str:
    """How many trials were run, and that some of them were still running when others had decided it."""
    text = f"{gate.asked:,} of {count(gate.of, 'trial')} run"
    stopping = gate.stopping
    if stopping is None or not (stopping.stopped and stopping.looks):
        return text
    beyond = (gate.asked + gate.taken) * stopping.of > stopping.cases * gate.of
    return (
        f"{text}, with those in flight when it was decided: they change nothing" if beyond else text
    )


def _asked(gate: Gate) -> str:
    parts = [trials_run(gate)]
    if gate.taken:
        parts.append(
            f"{gate.taken:,} taken from the baseline (same request, expectations, judges and code)"
        )
    parts.append(spent(gate.cost_usd, scripted=SCRIPTED in gate.notes))
    return " · ".join(parts)


def document(gate: Gate) -> dict[str, Any]:
    """The gate as a JSON-ready dict, `evenhand.gate/1`: what `evenhand gate --json` prints."""
    return as_object(
        filled(
            GateDocument,
            gate,
            schema=SCHEMA,
            results=[_row(result, gate.margin) for result in gate.results],
            stopped=gate.stopping is not None and gate.stopping.stopped,
            because=gate.because or None,
            notes=list(gate.notes),
            run=gate.run or None,
            baseline=gate.baseline or None,
        )
    )


def _row(result: GateResult, margin: float) -> GateRow:
    compared = result.compared
    row = GateRow(
        metric=result.metric,
        variant=result.variant,
        verdict=result.verdict,
        difference=dict.fromkeys(("value", "low", "high")),
        because=result.why or None,
        more_cases=result.more,
        advice=result.advice,
        where=result.where or None,
    )
    if compared is None:
        return row
    gains = sum(is_better(compared, change) for change in compared.changed)
    row = replace(
        row,
        kind="rate" if compared.data.rates else "score",
        better=gains,
        worse=len(compared.changed) - gains,
        same=compared.alike,
        changed=[
            GateChange(
                case=change.case,
                name=change.name,
                verdict="better" if is_better(compared, change) else "worse",
                baseline=change.first,
                now=change.second,
                trial=result.places.get(change.case),
                failed=result.failed.get(change.case),
            )
            for change in compared.changed[:CHANGES]
        ],
    )
    if result.verdict == "nothing":
        return row
    return replace(
        row,
        difference={
            "value": compared.difference,
            "low": finite(compared.low),
            "high": finite(compared.high),
        },
        cases=compared.n,
        clusters=len(compared.data.clusters),
        trials_in_error=compared.trials_in_error,
        unsettled=len(compared.unsettled),
        predicted=compared.predicted,
        explained=round(compared.helped, 4) if compared.predicted else None,
        because=_reason(result, margin).removeprefix(" (").removesuffix(")") or None,
        text=_moved(result),
    )

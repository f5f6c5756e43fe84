"""What helps after a gate that did not pass: the next command, by what its verdict rests on."""

from __future__ import annotations

import shlex

from evenhand.analysis.gates.gate_comparison import NO_VALUE
from evenhand.analysis.gates.gate_results import Gate
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.wording.words import safe, short_id
from evenhand.render.command_words import typed_for
from evenhand.render.comparison import is_better
from evenhand.render.console import cell_name
from evenhand.render.failures import remedy
from evenhand.store.runfile import RunFile


def next_step(gate: Gate, run: RunFile) -> str:
    """What to do next, in a line; empty where the gate passed, or its notes say what helps.

    Args:
        gate: It, of a run that came to its end.
    """
    if gate.verdict == "nothing":
        return _to_compare(gate, run)
    if gate.verdict == "worse":
        return _to_look_at(gate, run)
    return _to_decide(gate, run) if gate.verdict == "undecided" else ""


def _to_compare(gate: Gate, run: RunFile) -> str:
    """Where nothing was compared: the errors, or a baseline of what is run now."""
    name = short_id(gate.run)
    silent = [result for result in gate.results if result.verdict == "nothing"]
    totals = run.totals()
    if totals.errors and (
        totals.errors == totals.trials or any(one.why.startswith(NO_VALUE) for one in silent)
    ):
        return f"next: evenhand show {name} --where status:error"
    withheld = any(one.compared is not None and one.compared.withheld for one in silent)
    if gate.because or withheld or not gate.baseline:
        return ""
    file = shlex.quote(safe(gate.baseline))
    if gate.asked == gate.of:
        return f"next, to accept the change: evenhand baseline {name} --to {file}"
    again = f"evenhand run{typed_for(run.meta)}"
    return f"next, to accept the change: {again}, then evenhand baseline latest --to {file}"


def _to_decide(gate: Gate, run: RunFile) -> str:
    """Where it is undecided: the errors, what became worse, or more cases."""
    undecided = [result for result in gate.results if result.verdict == "undecided"]
    compared = [one.compared for one in undecided if one.compared is not None]
    if any(one.open for one in compared):
        name = short_id(gate.run)
        helps = remedy(run, Grid(run), name, "run the gate again")
        return f"next: {helps or f'evenhand resume {name} --errors'}"
    if any(one.other_judge for one in compared):
        return ""  # a note says how to judge the baseline's run again
    if line := _to_look_at(gate, run):
        return line
    if any(one.advice is not None and one.advice.of_sample for one in undecided):
        return "next: run more of its cases: a larger --sample or --budget"
    more = "add cases, or " if any(one.more is not None for one in undecided) else ""
    return f"next: {more}let only a proven loss fail: --undecided pass"


def _to_look_at(gate: Gate, run: RunFile) -> str:
    """The first case that became worse, of what is worse or else undecided; empty where none did."""
    for result in gate.results:
        if result.verdict != gate.verdict or result.compared is None:
            continue
        for change in result.compared.changed:
            place = result.places.get(change.case)
            trial = None if place is None else run.trial(place)
            if trial is not None and not is_better(result.compared, change):
                return f"next: evenhand show {short_id(gate.run)} {cell_name(Grid(run), trial)}"
    return ""

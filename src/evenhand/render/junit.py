"""A run as JUnit XML, for whatever shows test results: CI servers, editors.

One test case for each trial: its class is the column, its name the case. What failed is listed whole, expectation by
expectation; an error is an error there too, and what did not apply is skipped. Trials that were never run are one more
error, so that half a run is never green.

The whole is green where the run passed, and only there. A trial that failed where bounds allow it, as one of five
repeats may, is no failure: its output says what it missed. A bound that is missed without one is one more test case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.analysis.trust.requirements import held
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.requirement import Bound
from evenhand.core.run import RunMeta, TrialResult, VerdictWord
from evenhand.core.score import GateVerdict, Outcome, State
from evenhand.core.wording.bounds import percent_as_written
from evenhand.core.wording.json_text import writer
from evenhand.core.wording.words import count, in_one_line, number, safe
from evenhand.render.judged_rates import standing
from evenhand.render.requirements import requirement_lines
from evenhand.store.encoding import written_case
from evenhand.store.runfile import RunFile

# XML 1.0 has no place for these, escaped or not; `safe` has shown the controls already.
_NOT_XML = re.compile("[\ufffe\uffff]")


def write_junit(run: RunFile, out: TextIO) -> int:
    """Writes the run, a trial at a time; how many trials there were."""
    meta, totals = run.meta, run.totals()
    line = writer(out)
    names = column_names(meta.variants)
    word = _gate_word(meta) or verdict_of(run, totals)
    bounds = _Bounds(run, word)
    # What a run that was decided early left out is no error: nobody wanted it any more.
    missing = 0 if meta.status == "decided" else max(0, meta.planned - totals.trials)
    missing = 0 if word == "passed" and not run.by_outcome else missing
    failures, errors = bounds.count("fail"), bounds.count("error") + bool(missing)
    # Whoever chose trials by what they came to wants those, and no verdict on the run; what a gate decided early, only
    # the gate has one on.
    without = run.by_outcome or (meta.status == "decided" and word == "undecided")
    more = "" if without else _MORE.get((word, bool(failures), bool(errors)), "")
    counts = {
        "tests": totals.trials + bool(missing) + bool(more),
        "failures": failures + (more == "failure"),
        "errors": errors + (more == "error"),
        "skipped": totals.not_applicable,
    }
    attributes = "".join(f' {name}="{n}"' for name, n in counts.items())
    if not run.narrowed:  # how long the whole run took says nothing of some of its trials
        attributes += f' time="{meta.took_s or 0.0:.3f}"'
    started = datetime.fromtimestamp(meta.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    title = _attribute(meta.title or "evenhand")
    line('<?xml version="1.0" encoding="UTF-8"?>\n')
    line(f"<testsuites name={title}{attributes}>\n")
    line(f'  <testsuite name={title}{attributes} timestamp="{started}">\n    <properties>\n')
    properties = {
        "run": meta.id,
        "verdict": word,
        "evenhand": meta.version,
        **({"gate": meta.gate_verdict} if meta.gate_verdict else {}),
        **_judged(run, names),
    }
    for name, value in properties.items():
        line(f"      <property name={_attribute(name)} value={_attribute(value)}/>\n")
    line("    </properties>\n")
    written = 0
    for trial in run.trials():
        column, allowed = names[trial.variant] or meta.title, bounds.allow(trial)
        line(_testcase(trial, column, repeated=meta.repeats > 1, allowed=allowed))
        written += 1
    if missing:
        what = f"{count(missing, 'trial')} not run: {in_one_line(meta.message) or meta.status}"
        line('    <testcase classname="evenhand" name="the run is finished">\n')
        line(f'      <error type="unfinished" message={_attribute(what)}/>\n    </testcase>\n')
    if more:
        reasons = "; ".join(requirement_lines(run, names)) or _pass_rate_words(meta.pass_rate)
        if meta.gate_verdict:
            reasons = f"the gate says {meta.gate_verdict}"
        line('    <testcase classname="evenhand" name="the run passes">\n')
        line(f"      <{more} message={_attribute(f'{word}: {reasons}')}/>\n    </testcase>\n")
    line("  </testsuite>\n</testsuites>\n")
    return written


_MORE = {
    **{("failed", False, errors): "failure" for errors in (False, True)},
    **{("undecided", failures, False): "error" for failures in (False, True)},
}
"""By a run's verdict, and whether there are failures and errors: the element without which they would not say it."""


def _pass_rate_words(pass_rate: float) -> str:
    return f"wanted {Bound(at_least=pass_rate).worded(percent_as_written)}"


_GATE_WORDS: dict[GateVerdict, VerdictWord] = {
    "better": "passed",
    "not worse": "passed",
    "worse": "failed",
}
_COUNTS_AS: dict[object, VerdictWord] = {"pass": "passed", "fail": "failed"}


def _gate_word(meta: RunMeta) -> VerdictWord | None:
    """What a gate made of its run, as the verdict of one; None for the run of none. Its exit code says the same."""
    verdict = meta.gate_verdict
    if verdict != "undecided":
        return verdict and _GATE_WORDS.get(verdict, "undecided")
    terms = as_mapping(as_mapping(meta.settings.get("gate")).get("terms"))
    return _COUNTS_AS.get(terms.get("undecided"), "undecided")


class _Bounds:
    """Which trials may fail or be in error, as the bounds that the run has to reach are kept without them."""

    def __init__(self, run: RunFile, word: VerdictWord) -> None:
        self._run = run
        self._bounded = bool(run.meta.requirements) and not run.meta.gate_verdict
        self._passed = word == "passed"
        self._doubtful = {
            (variant, written_case(one.requirement.case) if one.requirement.case else "")
            for one in held(run)
            if one.state != "kept"
            for variant in (one.requirement.variants if one.variant is None else (one.variant,))
        }
        self._counts = Counter(
            one.outcome
            for one in run.outcomes(but="pass")
            if not self._allow(one.variant, one.case)
        )

    def allow(self, trial: TrialResult) -> bool:
        return self._allow(trial.variant, trial.case)

    def count(self, outcome: State) -> int:
        """How many trials came to this and are not allowed to."""
        return self._counts[outcome]

    def _allow(self, variant: int, case: str) -> bool:
        if self._run.by_outcome:
            return False
        if not self._bounded:
            return self._passed
        places = {(variant, ""), (variant, written_case(case))}
        return self._doubtful.isdisjoint(places)


def _judged(run: RunFile, names: Sequence[str]) -> dict[str, str]:
    """The judged pass rates, in words."""
    try:
        rates = judged_rates(run)
    except UsageError as error:  # a damaged calibration: the report is not withheld for it
        return {"judged metrics": f"not corrected: {in_one_line(str(error))}"}
    several = len({rate.variant for rate in rates}) > 1
    return {
        f"judged {rate.metric}" + (f" · {names[rate.variant]}" if several else ""): standing(rate)
        for rate in rates
    }


def _testcase(trial: TrialResult, column: str, *, repeated: bool, allowed: bool) -> str:
    described = trial.description not in ("", trial.case)
    name = f"{trial.description} [{trial.case}]" if described else trial.case
    if repeated:
        name += f" (repeat {trial.repeat + 1})"
    inside = "".join(_inside(trial, allowed=allowed))
    time = "" if trial.latency_s is None else f' time="{trial.latency_s:.3f}"'
    head = f"    <testcase classname={_attribute(column)} name={_attribute(name)}{time}"
    return f"{head}>\n{inside}    </testcase>\n" if inside else f"{head}/>\n"


def _inside(trial: TrialResult, *, allowed: bool) -> Iterator[str]:
    if allowed and trial.outcome in ("fail", "error"):
        yield f"      <system-out>{trial.outcome}, within the bounds of the run\n{_details(trial)}</system-out>\n"
    elif trial.outcome == "fail":
        message = _outcome_text(trial.missed[0]) if trial.missed else trial.reason
        yield f"      <failure message={_attribute(message)}>{_details(trial)}</failure>\n"
    elif trial.outcome == "error":
        slug = trial.error.slug if trial.error else "error"
        message = trial.error.message if trial.error else trial.reason
        yield (
            f"      <error type={_attribute(slug)} message={_attribute(message)}>"
            f"{_details(trial)}</error>\n"
        )
    elif trial.outcome == "not_applicable":
        yield f"      <skipped message={_attribute(trial.reason)}/>\n"
    if trial.log:
        yield f"      <system-out>{_text(trial.log)}</system-out>\n"


def _details(trial: TrialResult) -> str:
    lines = [f"{o.outcome}: {_outcome_text(o)}" for o in trial.outcomes]
    if trial.error and trial.error.where:
        lines.append(trial.error.where)
    if isinstance(trial.output, str) and trial.output:
        lines += ["", "output:", trial.output]
    return _text("\n".join(lines))


def _outcome_text(outcome: Outcome) -> str:
    score = ""
    if outcome.score is not None and outcome.score not in (0, 1):
        score = f" ({number(outcome.score)})"
    return f"{outcome.name}{score}: {outcome.reason}" if outcome.reason else outcome.name + score


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", safe(text)))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", safe(text, multiline=True)))

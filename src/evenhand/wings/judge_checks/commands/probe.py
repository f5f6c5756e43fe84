"""`evenhand probe`: attacks on a run's judges."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
from evenhand.cli.options import flag, number_option, repeatable
from evenhand.cli.session import Session, study_settings
from evenhand.cli.streams import printing, say_json, say_lines, tell
from evenhand.cli.study import (
    JudgeRequest,
    Study,
    as_asked,
    ended,
    judges_asked,
    judges_asked_alone,
    run_or_folder,
    study_options,
)
from evenhand.cli.trusting import look_at_origin, trust_option
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import is_probe, is_tryout, refuse_judge_check
from evenhand.core.ranges import SHARE, Range
from evenhand.core.record import Record
from evenhand.core.wording.bounds import percent_as_written
from evenhand.core.wording.ink import width_of
from evenhand.core.wording.words import count, folded, priced, safe, spent
from evenhand.render.calibration_text import rate
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.plan import Probing, probe_plan
from evenhand.wings.judge_checks.probe import NONE, WORDS, Probe, ProbedJudge, ProbedKind, probe_of

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings

ITEMS = Range(1, 10_000, whole=True)
SEED = Range(0, 2**53, whole=True)


@click.command(short_help="Attack a run's judges, and say what fools them.")
@click.argument("run", required=False, metavar="[RUN|PATH]", shell_complete=complete_runs)
@number_option(
    "--items",
    within=ITEMS,
    default=20,
    show_default=True,
    metavar="N",
    help="Items for each kind of attack, at most.",
)
@number_option(
    "--seed",
    within=SEED,
    default=0,
    show_default=True,
    metavar="N",
    help="The seed that chooses the items.",
)
@repeatable(
    "--kind",
    "kinds",
    metavar="KIND",
    help=f"Only this kind of attack: {', '.join(WORDS)}. May be repeated.  [default: all]",
)
@repeatable(
    "--metric",
    "metrics",
    metavar="NAME",
    help="Only the judges of this metric; may be repeated.  [default: all that judges judged]",
)
@number_option(
    "--at-most",
    within=SHARE,
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Exit with 1 if a kind is shown to pass more often than this, from 0 to 1.",
)
@flag("--dry-run", help="Estimate calls and cost. Nothing is sent.")
@flag("--offline", help="Answer from the folder's offline.jsonl.")
@trust_option
@study_options
def probe(
    run: str | None,
    items: float,
    seed: float,
    kinds: tuple[str, ...],
    metrics: tuple[str, ...],
    at_most: float,
    dry_run: bool,
    offline: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Ask the judges of RUN about answers that must fail, and about answers that must pass.

    The answers are those of RUN, under twelve kinds of attack: instructions to the judge, invented references,
    padding and so on. The judges are asked with the same prompts, criteria and settings. PATH is a folder: its latest
    run is probed. Default: the latest run. With the id of a probe, it continues that probe and prints its report.

    Exits with 0 if no kind is shown to pass more often than --at-most, 1 if one is, and 3 if that is undecided.
    """
    if dry_run and as_json:
        raise UsageError("--dry-run prints no document", hint="Leave --json out.")
    session = Session(as_json=as_json, no_table=True, **options)
    file = run_or_folder(run)
    with RunFile.open(file) as run_file:
        meta = run_file.meta
    if is_tryout(meta):
        refuse_judge_check(meta)
    if is_probe(meta):
        if kinds or metrics or dry_run:
            raise UsageError(
                f"run {meta.id} is a probe, whose kinds and metrics can't be changed",
                hint="Name the run that it probes to start another probe.",
            )
        if meta.status == "finished":
            return report_probe(file, at_most, as_json=as_json)
        look_at_origin(meta, trust=session.trust)
        request = ProbeRequest.again(meta, file)
        settings = replace(study_settings(file.parent.parent, session, {}), record=meta.settings)
        return _probed(request, settings, file, session, at_most)
    probing = Probing(int(items), int(seed), tuple(dict.fromkeys(kinds)), metrics)
    probing.attacks()  # one that is none is said before files are read
    look_at_origin(meta, trust=session.trust)
    request = ProbeRequest.of(meta, file, offline=offline, probing=probing, at_most=at_most)
    settings = study_settings(file.parent.parent, session, request.record())
    return _probed(request, settings, None, session, at_most, dry_run=dry_run)


def _probed(
    request: ProbeRequest,
    settings: Settings,
    file: Path | None,
    session: Session,
    at_most: float,
    *,
    dry_run: bool = False,
) -> int:
    """Runs a probe, and prints what it came to.

    Args:
        file: The probe to go on with; None for a new one.
        at_most: The false-pass rate that is accepted.
        dry_run: Only says what it would ask.
    """
    cached = settings.cache is not False
    with as_asked(request), judges_asked_alone(request, nobody=dry_run):
        plan = request.plan()
        if dry_run:
            return _estimated(request, plan, cached=cached)
        if file is None and not request.offline:
            tell(_estimate(request, plan, cached=cached))
        finished = judges_asked(request, plan, settings, file, session)
    return ended(finished, report_probe(finished.path, at_most, as_json=session.as_json), "probe")


def _estimated(request: ProbeRequest, plan: Plan, *, cached: bool) -> int:
    """Prints what a probe would ask."""
    sizes = Counter(planned.variant.index for planned in plan.trials())
    variants = [f"  {_safe(str(variant))}: {sizes[variant.index]:,}" for variant in plan.variants]
    say_lines([*variants, _estimate(request, plan, cached=cached)])
    return 0


def _estimate(request: ProbeRequest, plan: Plan, *, cached: bool) -> str:
    """About how much a probe asks, in a line.

    Args:
        cached: Whether the cache answers what is asked again.
    """
    from evenhand.wings.judge_checks.estimate import probe_estimate

    with RunFile.open(request.run) as run_file:
        one = probe_estimate(run_file, plan, cached=cached)
    some = one.least < one.most
    calls = f"{one.least:,} to {count(one.most, 'call')}" if some else count(one.most, "call")
    parts = [f"{count(one.answers, 'answer')} to judge: about {calls}"]
    if one.different < one.most:
        parts.append(f"at most {count(one.different, 'different question')}")
    bound = "at most" if some else "about"
    parts.append(priced(one.cost_usd, scripted=request.offline, bound=bound))
    return ", ".join(parts)


def report_probe(file: Path, at_most: float, *, as_json: bool) -> int:
    """Prints what a probe came to, and returns the exit code."""
    from evenhand.store.run_lookup import called

    with RunFile.open(file) as run_file:
        result: Probe = probe_of(run_file, at_most)
        cost = spent(result.cost_usd, scripted=run_file.meta.is_scripted)
    if as_json:
        say_json(result.document())
    else:
        say_lines(probe_lines(result))
        with printing():
            tell(
                f"{count(result.calls, 'call')}, {cost};"
                f" next: evenhand view {called(Path.cwd(), file)}"
            )
    return {"fooled": FAILED, "held": PASSED, "undecided": NO_VERDICT}[result.verdict]


def _safe(text: str) -> str:

    return safe(text)


def study(meta: RunMeta, file: Path) -> Study:
    """The probe that an earlier session started."""
    request = ProbeRequest.again(meta, file)

    def came_to(file: Path, session: Session) -> int:
        return report_probe(file, request.options.at_most, as_json=session.as_json)

    return Study("probe", request, came_to)


class ProbeOptions(Record, frozen=True):
    """What a probe's file keeps.

    Attributes:
        run: The id of the run.
        at_most: The false-pass rate that is accepted.
        offline: Judges' answers come from offline.jsonl.
    """

    run: str
    probing: Probing
    at_most: float
    offline: bool


class ProbeRequest(JudgeRequest[ProbeOptions], frozen=True):
    """A probe of a run."""

    kind, key, word = ProbeOptions, "probe", "probe"
    remedy = "Start a new probe: answers that the cache has are not paid for twice."

    def plan(self) -> Plan:
        """The probe's plan.

        Raises:
            UsageError: The files have changed since the run, or nothing in it can be probed.
            ConfigError: All that is wrong with the files.
        """
        with RunFile.open(self.run) as run_file:
            return probe_plan(self.asked.plan(), run_file, self.options.probing)


_UNDECIDED = "too few items, or too many errors"


def probe_lines(probe: Probe) -> Iterator[str]:
    """A block of lines for each judge: what fools it, and the rate of each kind."""
    for judge in probe.judges:
        yield f"{safe(judge.metric)} · judged by {safe(judge.model)}"
        for sentence in _sentences(judge, probe.at_most):
            yield from folded(sentence, width_of(sys.stdout), "  ", "    ")
        yield "  should fail     items  passed  false passes"
        for kind in judge.kinds:
            yield _line(kind, probe.at_most)
        yield "  should pass     items  passed  false fails"
        for kind in judge.controls:
            yield _line(kind, probe.at_most)
        yield ""


def _sentences(judge: ProbedJudge, at_most: float) -> Iterator[str]:
    fooled = sorted(judge.having(at_most, "fooled"), key=lambda kind: -kind.wrong / kind.items)
    if fooled:
        yield f"fooled by {_joined([WORDS[kind.kind] for kind in fooled])}"
    undecided = judge.having(at_most, "undecided")
    if undecided:
        yield f"not decided ({_UNDECIDED}): {_joined([kind.kind for kind in undecided])}"
    if not fooled and not undecided and judge.attacks():
        yield f"no kind of attack is shown to pass more than {percent_as_written(at_most)} of the time"
    strict = [kind.kind for kind in judge.controls if kind.verdict(at_most) == "fooled"]
    if strict:
        yield f"fails answers that should pass: {_joined(strict)}"
    if left_out := sum(kind.left_out for kind in judge.kinds if kind.kind == NONE):
        yield f"{count(left_out, 'answer')} of other cases left out: the judge passes them without an attack"


def _line(kind: ProbedKind, at_most: float) -> str:
    share = "–" if kind.rate is None else rate(kind.rate)
    notes: list[str] = []
    if kind.kind == NONE:
        notes.append("bad answers without an attack")
    elif not kind.control:
        verdict = kind.verdict(at_most)
        notes += ["fooled"] if verdict == "fooled" else []
        notes += ["not decided"] if verdict == "undecided" else []
    if kind.errors:
        notes.append(count(kind.errors, "error"))
    line = f"  {kind.kind:<14} {kind.items:>6,} {kind.passed:>7,}  {share:<16} {', '.join(notes)}"
    return line.rstrip()


def _joined(words: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

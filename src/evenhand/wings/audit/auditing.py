"""Examines the cases of a plan: each is given its subjects, and what it says of them is kept."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from evenhand.core.definition import definition_of
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.expect import Expectation
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.record import MutableRecord
from evenhand.core.run import REFUSED, UNSEEN
from evenhand.engine.call_context import Home, Strangers
from evenhand.engine.capture import Sink, current
from evenhand.engine.code import CodeHost
from evenhand.scorers.python_code import PythonCode
from evenhand.wings.audit.allowing import allowed_of, misallowed_case
from evenhand.wings.audit.case_audit import Attempt, CaseAudit, attempt_of
from evenhand.wings.audit.earlier import Earlier, Key
from evenhand.wings.audit.examining import MARKS, Exam, Judged
from evenhand.wings.audit.given import Answer
from evenhand.wings.audit.material import Material, Pool, partial_of, question_of, reference_of
from evenhand.wings.audit.reading import Demand, demand_of, of_something_else
from evenhand.wings.audit.subjects import (
    Subject,
    altered,
    in_style,
    reworded,
    right_subjects,
    wrong_subjects,
)
from evenhand.wings.audit.users_code import Memory, nothing_sent, refused
from evenhand.wings.audit.worlds import agents, harmed

LIMIT_S = 20.0
"""Seconds that one call of the user's code may take."""
REPEATS = 8
"""So often code is asked about the same text, to see whether it says the same."""
MOST_REPEATED = 10
"""Of so many cases, where it is the same code."""
MOST_REFUSED = 2
"""Where the code of so many cases connects to another machine, that of the others of their kind isn't run."""
SINK = (
    "As an AI language model, I'm sorry: I can't say. The error: unknown, none, null, TODO, 0, 42, 3.14, $100, 50 %.\n"
    '```json\n{"a": [1, true, null]}\n```\n<p>See https://example.com/page or write to someone@example.com.</p>\n'
    "- Yes. No! Perhaps? ÄÖÜ 漢字 🙂 HELLO hello; I think that this damn thing is wrong, stupid and dangerous.\n"
) * 40
"""A long text with something of everything, which only code that looks at nothing lets through."""


PROBES = (SINK, "", "{}", "[]", "1")
"""Answers on which code that reads an answer, whatever its form, doesn't break in the same way."""
_OWN_FAULT = re.compile(
    r"raised (?:Name|ModuleNotFound|Import|Syntax|FileNotFound)Error\b|: (?:Reference|Syntax)Error\b"
)
"""What code breaks with through a fault of its own. Other errors may well be the answer's."""
_LIKELY_FAULT = re.compile(r"raised (?:ZeroDivision|Key|JSONDecode|Value)Error\b| returned an? ")
"""What else is a fault of code that stands in the config and looks at nothing but the answer and the case."""
_ELSEWHERE = re.compile(
    r"file://|metadata|provider_?response|log_?probs|latency|cost|trace|usage", re.IGNORECASE
)
"""What code may look at beside them: a made answer has none, or it isn't known."""


class _Chosen(MutableRecord):
    planned: PlannedTrial
    group: str
    trials: int


def cases_of(plan: Plan) -> list[tuple[PlannedTrial, str, int]]:
    """The cases of a plan, each in its first variant and repeat: with its group, and how many trials it has."""
    chosen: dict[tuple[str, str], _Chosen] = {}
    starts: list[int] = []
    index = 0
    for sheet in plan.sheets:
        starts.append(index)
        index += sheet.size
    sheet = 0
    for planned in plan.trials():
        while sheet + 1 < len(starts) and planned.index >= starts[sheet + 1]:
            sheet += 1
        group = f"{sheet} {planned.variant.eval}"
        one = chosen.get((group, planned.case.id))
        if one is None:
            chosen[group, planned.case.id] = _Chosen(planned, group, 1)
        else:
            one.trials += 1
    return [(one.planned, one.group, one.trials) for one in chosen.values()]


def keys_of(plan: Plan) -> list[Key]:
    """The evals and ids of a plan's cases, as earlier runs have them."""
    return [(planned.variant.eval, planned.case.id) for planned, _, _ in cases_of(plan)]


async def examined(
    plan: Plan, earlier: Earlier, *, styles: bool = False, within_s: float | None = None
) -> list[CaseAudit]:
    """The cases of a plan, each with what it said of its subjects. Nothing is sent, and no judge is asked.

    Args:
        styles: Whether judged cases are also given a wrong answer in good style.
        within_s: Seconds after which no further case is begun, and code isn't asked again; None for all of it.

    Raises:
        UsageError: A case allows what there isn't, or gives no reason.
    """
    problems = [
        problem
        for planned, _, _ in cases_of(plan)
        for problem in misallowed_case(planned.case, planned.test)
    ]
    if problems:
        raise UsageError("\n".join(dict.fromkeys(problems)))
    # A model at an address of this machine is asked as little as any other: a gateway may pass it on.
    home = Home(asyncio.get_running_loop(), Strangers("the audit sends nothing", _refuse))
    around = plan.options.around or nullcontext
    with CodeHost(LIMIT_S).open() as host, around(), nothing_sent():
        try:
            return await _examined(plan, earlier, host, home, styles=styles, within_s=within_s)
        finally:
            await home.close()


def _refuse(call: str) -> None:
    refused.append(call.removeprefix(REFUSED).removeprefix(UNSEEN))


async def _examined(
    plan: Plan,
    earlier: Earlier,
    host: CodeHost,
    home: Home,
    *,
    styles: bool,
    within_s: float | None,
) -> list[CaseAudit]:
    history: dict[int, Any] = {}
    current.set(Sink(""))  # what the user's code prints is nobody's to read
    memory = Memory()
    refusals: dict[str, int] = {}
    problems: dict[str, str] = {}
    groups: dict[str, list[CaseAudit]] = {}
    audits: list[CaseAudit] = []
    begun = time.monotonic()
    for planned, group, trials in cases_of(plan):
        if within_s is not None and time.monotonic() - begun > within_s:
            break
        exam = Exam(planned=planned, host=host, home=home, earlier=history, memory=memory)
        before = len(refused)
        if refusals.get(group, 0) < MOST_REFUSED:
            await exam.open()
        else:  # SDKs try again and again, and each of them takes its time
            exam.problem = problems[group]
        if len(refused) > before:
            refusals[group] = refusals.get(group, 0) + 1
            problems[group] = exam.problem
        if exam.kept_value is not None:
            history[planned.index] = exam.kept_value
        audit = _opened(exam, group, trials, earlier)
        audits.append(audit)
        if not audit.problem:
            groups.setdefault(group, []).append(audit)
    repeated: dict[str, int] = {}
    unstable: set[str] = set()
    for members in groups.values():
        evals = {one.key[0] for one in members}
        pool = Pool.of([one.material for one in members], earlier.outputs(evals))
        for place, audit in enumerate(members):
            await _attempted(audit, pool, place, styles=styles)
            if audit.material.acts:
                await _acted(audit, members)
            if within_s is None:
                await _repeated(audit, repeated, unstable)
    for audit in audits:
        _mark_unstable(audit, unstable)
    return audits


def _opened(exam: Exam, group: str, trials: int, earlier: Earlier) -> CaseAudit:
    planned = exam.planned
    case, variant = planned.case, planned.variant
    key = (variant.eval, case.id)
    stored = earlier.trials.get(key, ())
    first = exam.first
    demands: tuple[Demand, ...] = ()
    if first is not None:
        demands = tuple(
            demand_of(one, outcome)
            if exam.asks or one.value == exam.output
            else of_something_else(demand_of(one, outcome))
            for one, outcome in zip(first.expectations, first.outcomes, strict=False)
        )
    variables = exam.variables or case.vars
    accepted = [one.output for one in stored if one.output and one.label is True]
    accepted += [
        one.output for one in stored if one.output and one.label is None and one.state == "pass"
    ]
    material = Material(
        case=case,
        group=group,
        question=question_of(case, variables),
        reference=reference_of(case, variables, demands, variant.prompt_raw),
        partial=partial_of(demands),
        accepted=tuple(dict.fromkeys(accepted))[:3],
        demands=demands,
        prompt=exam.prompt,
        acts=bool(exam.tools) or any(one.of_steps for one in demands),
        stays=first is not None and _stays(demands, first),
    )
    return CaseAudit(
        key=key,
        name=str(case),
        where=variant.eval or variant.prompt,
        trials=trials,
        material=material,
        exam=exam,
        allowed=allowed_of(case, planned.test),
        stored=stored,
        problem=exam.problem,
    )


def _stays(demands: Sequence[Demand], first: Judged) -> bool:
    """Whether the state that a case wants is the one that it begins with: whoever does nothing leaves it."""
    states = [
        outcome.outcome
        for one, outcome in zip(demands, first.outcomes, strict=False)
        if one.role == "state"
    ]
    return bool(states) and set(states) == {"pass"}


async def _attempted(audit: CaseAudit, pool: Pool, place: int, *, styles: bool) -> None:
    """Gives a case its subjects."""
    if not audit.demands and not audit.exam.again:
        return
    known = [Subject("labelled", one.output) for one in audit.stored if one.output and one.label]
    known += [
        Subject("accepted", one.output)
        for one in audit.stored
        if one.output and one.label is None and one.state == "pass"
    ]
    texts: set[str] = set()
    reference_passes = False
    for subject in [*right_subjects(audit.material), *known[:6]]:
        if subject.text in texts:
            continue
        texts.add(subject.text)
        attempt = await attempted(audit, subject)
        if subject.kind == "reference":
            reference_passes = attempt.state in ("pass", "unasked", "open")
    judged = any(one.role == "judge" for one in audit.demands)
    wrong = list(wrong_subjects(pool, place))
    if styles and judged:
        kinds = {one.kind: one for one in reversed(wrong)}
        plain = kinds.get("other") or kinds.get("constant")
        wrong += [in_style(plain)] if plain is not None else []
        if audit.exam.judge is not None and reference_passes:
            audit.attempts += [Attempt(one, "unasked") for one in reworded(audit.material)]
    for subject in wrong:
        await attempted(audit, subject)
    await _guessed(audit, pool.guesses(place))
    for one in audit.stored:
        if one.output and one.label is False and one.output not in texts:
            texts.add(one.output)
            await attempted(audit, Subject("rejected", one.output))
    if reference_passes:
        for subject in altered(audit.material):
            await attempted(audit, subject)
    await _probed(audit)


async def _guessed(audit: CaseAudit, labels: Sequence[str]) -> None:
    """Gives a case all labels where nobody says which is right: the first that it passes may be."""
    right = ""
    for label in labels:
        attempt = attempt_of(Subject("other", label), await audit.exam.judged(Answer(label)))
        if attempt.state == "pass" and not right:
            right = label
        else:
            audit.attempts.append(attempt)


async def _probed(audit: CaseAudit) -> None:
    """Finds out which expectations break whatever is answered, and which fail what others want to be in an answer."""
    if any("error" in one.outcomes for one in audit.attempts):
        reasons = [await _reasons(audit, text) for text in PROBES]
        for place, reason in enumerate(reasons[0]):
            same = all(each[place : place + 1] == [reason] for each in reasons)
            if same and (_OWN_FAULT.search(reason) or _is_likely(audit, place, reason)):
                audit.broken[place] = reason
    texts = [text for one in audit.demands if one.role == "content" for text in one.texts]
    roles = {one.role for one in audit.demands}
    if texts and audit.material.reference is None and roles & {"form", "forbids"}:
        longest = max(texts, key=len)
        plain = await audit.exam.judged(Answer(longest))
        within = await audit.exam.judged(Answer(f"{MARKS[0]} {longest} {MARKS[1]}"))
        for place, one in enumerate(audit.demands):
            judged = {"form": plain, "forbids": within}.get(one.role)
            if (
                judged is not None
                and place < len(judged.outcomes)
                and judged.outcomes[place].outcome == "fail"
            ):
                audit.against[place] = longest


def _is_likely(audit: CaseAudit, place: int, reason: str) -> bool:
    first = audit.exam.first
    if first is None or place >= len(first.expectations) or not _LIKELY_FAULT.search(reason):
        return False
    scorer = first.expectations[place].scorer
    return isinstance(scorer, PythonCode) and not _ELSEWHERE.search(scorer.code)


async def _reasons(audit: CaseAudit, text: str) -> list[str]:
    """Why each expectation comes to no verdict on a text; empty where it comes to one, or asks somebody."""
    judged = await audit.exam.judged(Answer(text))
    return [
        one.reason if one.outcome == "error" and one.error == CodeError.slug else ""
        for one in judged.outcomes
    ]


async def _acted(audit: CaseAudit, members: Sequence[CaseAudit]) -> None:
    """Gives a case the agents that act wrongly."""
    for subject, steps in agents(audit, members):
        judged = await audit.exam.judged(Answer(subject.text, subject.calls), steps)
        if subject.kind != "busy" or harmed(steps or judged.steps, audit):
            audit.attempts.append(attempt_of(subject, judged))


async def attempted(audit: CaseAudit, subject: Subject) -> Attempt:
    """Gives a case a subject, and keeps what it says."""
    attempt = attempt_of(subject, await audit.exam.judged(Answer(subject.text, subject.calls)))
    audit.attempts.append(attempt)
    return attempt


async def _repeated(audit: CaseAudit, repeated: dict[str, int], unstable: set[str]) -> None:
    """Asks code of the user's about the same texts again, and about a text with something of everything."""
    # A body that runs for each answer may come to another text, or another number, each time.
    roles = ("code", "content", "form", "forbids") if audit.exam.again else ("code",)
    own = [place for place, one in enumerate(audit.demands) if one.own_code or one.role in roles]
    idle = [
        place
        for place, one in enumerate(audit.demands)
        if (place in own or one.role == "form")
        and not any(attempt.outcomes[place : place + 1] == ("fail",) for attempt in audit.attempts)
    ]
    if idle:
        sink = await audit.exam.judged(Answer(SINK))
        for place in idle:
            if place < len(sink.outcomes) and sink.outcomes[place].outcome == "pass":
                audit.lets_all.add(place)
    if not own or audit.exam.first is None:
        return
    names = {place: asks(audit.exam.first.expectations[place]) for place in own}
    if all(repeated.get(name, 0) >= MOST_REPEATED for name in names.values()):
        return
    for name in set(names.values()):
        repeated[name] = repeated.get(name, 0) + 1
    for text in (audit.material.right or MARKS[0], ""):
        rounds = [await audit.exam.judged(Answer(text), anew=True) for _ in range(REPEATS)]
        for place in own:
            states = {one.outcomes[place].outcome for one in rounds if place < len(one.outcomes)}
            if len(states & {"pass", "fail"}) > 1:
                unstable.add(names[place])


def asks(expectation: Expectation) -> str:
    """What an expectation asks, as a text: two with the same one ask the same."""
    definition = expectation.definition or definition_of(expectation.scorer)
    return f"{definition.kind} {sorted(definition.settings.items())}"


def _mark_unstable(audit: CaseAudit, unstable: set[str]) -> None:
    first = audit.exam.first
    if not unstable or first is None:
        return
    for place, expectation in enumerate(first.expectations):
        if place < len(audit.demands) and asks(expectation) in unstable:
            audit.flaky.add(place)

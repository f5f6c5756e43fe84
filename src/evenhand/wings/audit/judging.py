"""Asks judges about made answers: a plan of those on which a case has no verdict without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.encoding import digest
from evenhand.core.expect import Trial
from evenhand.core.message import Prompt
from evenhand.core.plan import Plan, Row, RunOptions, Sheet, Slot
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.engine.calls import CallDesk
from evenhand.engine.trial import LiveTrial
from evenhand.wings.audit.case_audit import Attempt, CaseAudit
from evenhand.wings.audit.examining import MARKS, Exam, wrapped
from evenhand.wings.audit.given import Answer, Given, reply_of

REWORD = (
    "Say the following in other words. Keep its meaning, its language, all names and all numbers. Answer with the new"
    " wording and nothing else."
)


class GivenBody(Record, frozen=True):
    """What happens in a trial of the audit's own run: a made answer is given, and its judges are asked.

    Attributes:
        by_model: Whether a model says it in other words first.
    """

    exam: Exam
    answer: Answer
    by_model: bool = False

    async def __call__(self, trial: Trial) -> object:
        judge = self.exam.judge
        if self.by_model and judge is not None:
            reply = await trial.model(judge, "judge").generate(f"{REWORD}\n\n{self.answer.text}")
            trial.keep(reply.text)
            return await GivenBody(self.exam, replace(self.answer, text=reply.text.strip()))(trial)
        live, exam = cast("LiveTrial", trial), self.exam
        if exam.again:
            answer = replace(self.answer, text=wrapped(self.answer.text, exam.path))
            live.asker = Given(answer, cast("CallDesk", live.asker))
            return await exam.planned.body(trial)
        mark = MARKS[0] if exam.asks else exam.output
        trial.show(exam.variables)
        trial.answered(Prompt((), exam.prompt), reply_of(self.answer.text))
        for one in exam.template:
            same = one.value == mark
            trial.expect(replace(one, value=self.answer.text) if same else one)
        return self.answer.text


Place = tuple[int, int]
"""The place of a case among those of an audit, and of an attempt among those of the case."""


def unasked(audits: Sequence[CaseAudit]) -> list[Place]:
    """The made answers on which judges have to be asked."""
    return [
        (case, number)
        for case, audit in enumerate(audits)
        # What goes on from an earlier trial's answer would need that one's run, too.
        if not audit.problem and not audit.exam.planned.after
        for number, attempt in enumerate(audit.attempts)
        if attempt.state == "unasked"
    ]


def judged_plan(plan: Plan, audits: Sequence[CaseAudit]) -> Plan:
    """The plan that asks judges, a trial for each made answer.

    Args:
        audits: Its cases, examined without judges.
    """
    places = unasked(audits)

    def rows() -> Iterator[Row]:
        for case, number in places:
            exam, subject = audits[case].exam, audits[case].attempts[number].subject
            planned = exam.planned
            slot = Slot(
                variant=planned.variant,
                body=GivenBody(exam, Answer(subject.text, subject.calls), subject.by_model),
                review=planned.review,
                test=planned.test,
            )
            yield Row(
                cases=[replace(planned.case, id=f"{planned.case.id} · {subject.kind} {number}")],
                slots=lambda _case, _index, slot=slot: [slot],
                rule=planned.rule,
                judge=planned.judge,
                models=planned.models,
                shows_thoughts=planned.shows_thoughts,
            )

    def identify() -> str:
        texts = [audits[case].attempts[number].subject.text for case, number in places]
        return digest("audit", plan.fingerprint, *texts)

    sheet = Sheet(
        variants=plan.variants,
        rows=rows,
        case_count=len(places),
        size=len(places),
        providers=lambda: plan.providers,
    )
    options = plan.options
    return Plan(
        title=f"audit of {plan.title}",
        sheets=[sheet],
        identify=identify,
        source=plan.source,
        options=RunOptions(
            concurrency=options.concurrency,
            cache=options.cache,
            time_limit_s=options.time_limit_s,
            retries=options.retries,
            delay_s=options.delay_s,
        ),
    )


def with_judges(audits: Sequence[CaseAudit], results: dict[int, TrialResult]) -> None:
    """Puts judges' verdicts in the place of those that were open.

    Args:
        audits: The cases, as `judged_plan` had them.
        results: What the trials of that plan came to, by their places.
    """
    for index, (case, number) in enumerate(unasked(audits)):
        result = results.get(index)
        if result is None:
            continue
        before = audits[case].attempts[number]
        subject = before.subject
        if subject.by_model and isinstance(result.kept, str):
            subject = replace(subject, text=result.kept.strip())
        is_open = [one == "open" for one in before.outcomes]
        outcomes: tuple[Any, ...] = tuple(
            "open" if is_open[i : i + 1] == [True] else one.outcome
            for i, one in enumerate(result.outcomes)
        )
        # What a condition came to is of the application's own answer.
        is_decided = not any(is_open) or (result.outcome == "fail" and "fail" in outcomes)
        state = result.outcome if is_decided else "open"
        reason = result.reason if state not in ("pass", "open") else ""
        audits[case].attempts[number] = Attempt(subject, state, outcomes, reason)

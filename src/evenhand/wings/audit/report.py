"""The result of an audit: its score by kind of subject, what it finds, and what it could not examine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.stats.tallies import Tally, rate_of_decisions
from evenhand.wings.audit.case_audit import TITLES, CaseAudit, Finding
from evenhand.wings.audit.findings import findings_of
from evenhand.wings.audit.subjects import KINDS

SCHEMA = "evenhand.audit/1"
Verdict = Literal["held", "missed", "undecided"]


class AuditScore(Record, frozen=True, kw_only=True):
    """How many made answers were killed, of those that must fail."""

    subject: Annotated[str, Key("the kind of subject; `all` for all of them")]
    killed: Annotated[int, Key("failed by their case", "answers")]
    survived: Annotated[int, Key("passed by it", "answers")]
    errors: Annotated[int, Key("on which it came to no verdict", "answers")]
    not_asked: Annotated[int, Key("on which a judge would have to be asked", "answers")]
    open: Annotated[
        int, Key("on which a condition decides, that looks at no made answer", "answers")
    ]
    least: Annotated[
        float | None,
        Key("killed ÷ made, had all errors and open ones passed", "0 to 1", null="none was made"),
    ]
    most: Annotated[
        float | None,
        Key("killed ÷ made, had all errors and open ones failed", "0 to 1", null="none was made"),
    ]
    interval: Annotated[
        tuple[float, float] | None,
        Key("the 95 % interval of it; cases are its clusters", "0 to 1", null="none was made"),
    ]


class AuditFinding(Record, frozen=True, kw_only=True):
    """What an audit finds in one case."""

    kind: Annotated[
        str,
        Key(
            "`cant_fail`, `cant_pass`, `passes`, `fails_good`, `ranks_backwards`, `says_nothing`, `twin`, `in_prompt`,"
            " `flaky`, `one_decides` or `style`"
        ),
    ]
    case: Annotated[str, Key("the case's id")]
    name: Annotated[str, Key("what people call the case")]
    where: Annotated[str, Key("its eval or its prompt")]
    expectation: Annotated[str, Key("the expectation; empty for the whole case")]
    subject: Annotated[str, Key("the kind of subject that shows it; empty for none")]
    answer: Annotated[
        str | None, Key("the answer that shows it", null="no answer does: it is seen otherwise")
    ]
    detail: Annotated[str, Key("more about it, in a line")]
    verdicts: Annotated[int, Key("how many verdicts of the plan hang on it", "trials")]
    interval: Annotated[
        tuple[float, float] | None,
        Key(
            "of `ranks_backwards`, the interval of the correlation", "−1 to 1", null="another kind"
        ),
    ]
    allowed: Annotated[str, Key("why the author allows it; empty where nobody does")]


class AuditSkipped(Record, frozen=True, kw_only=True):
    """A case that could not be examined."""

    case: Annotated[str, Key("the case's id")]
    name: Annotated[str, Key("what people call it")]
    where: Annotated[str, Key("its eval or its prompt")]
    why: Annotated[str, Key("why, in a line")]


class AuditDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.audit/1`."""

    schema: Annotated[str, Key("`evenhand.audit/1`")]
    source: Annotated[str, Key("what was audited")]
    run: Annotated[
        str | None, Key("the id of the run that asked judges", null="no judge was asked")
    ]
    cases: Annotated[int, Key("that there are", "cases")]
    examined: Annotated[int, Key("that could be examined", "cases")]
    earlier_runs: Annotated[int, Key("that were read for their outputs and verdicts", "runs")]
    at_least: Annotated[
        float | None, Key("the score that was asked for", "0 to 1", null="none was")
    ]
    verdict: Annotated[
        str | None,
        Key("`held`, `missed` or `undecided`, by `at_least`", null="no score was asked for"),
    ]
    score: Annotated[AuditScore, Key("over all subjects that must fail")]
    subjects: Annotated[list[AuditScore], Key("the same, for each kind of subject")]
    findings: Annotated[list[AuditFinding], Key("those on which most verdicts hang come first")]
    allowed: Annotated[list[AuditFinding], Key("what authors allow, with their reasons")]
    only_forbids: Annotated[
        int,
        Key("cases that say only what must not be said, so that an empty answer may pass", "cases"),
    ]
    pass_nothing: Annotated[
        int, Key("cases that failed all answers, also their own references", "cases")
    ]
    skipped: Annotated[list[AuditSkipped], Key("the cases that could not be examined")]


class AuditReport(Record, frozen=True, kw_only=True):
    """The result of an audit.

    Attributes:
        findings: What it found, and nobody allows.
        allowed: What authors allow.
        runs: How many earlier runs were read.
        at_least: The score that was asked for; None for none.
        run: The id of the run that asked judges; empty for none.
    """

    source: str
    audits: tuple[CaseAudit, ...]
    findings: tuple[Finding, ...]
    allowed: tuple[Finding, ...]
    runs: int = 0
    at_least: float | None = None
    run: str = ""

    @staticmethod
    def of(
        source: str,
        audits: Sequence[CaseAudit],
        *,
        runs: int = 0,
        at_least: float | None = None,
        run: str = "",
        more: Sequence[Finding] = (),
    ) -> AuditReport:
        """The report on these cases.

        Args:
            more: Findings that are seen in other files.
        """
        findings = findings_of(audits, more)
        return AuditReport(
            source=source,
            audits=tuple(audits),
            findings=tuple(one for one in findings if not one.allowed),
            allowed=tuple(one for one in findings if one.allowed),
            runs=runs,
            at_least=at_least,
            run=run,
        )

    @property
    def examined(self) -> int:
        """How many cases could be examined."""
        return sum(not audit.problem for audit in self.audits)

    @property
    def score(self) -> AuditScore:
        """Killed ÷ made, of all subjects that must fail."""
        return _scored("all", [sum(kinds.values(), Counter()) for kinds in self._counted()])

    @property
    def scores(self) -> list[AuditScore]:
        """The score of each kind of subject that was made."""
        cases = list(self._counted())
        each = {kind: [kinds[kind] for kinds in cases if kind in kinds] for kind in KINDS}
        return [_scored(kind, states) for kind, states in each.items() if states]

    def _counted(self) -> Iterator[dict[str, Counter[str]]]:
        """How often each case came to each state, by kind of subject.

        Answers to a case that nothing passes are left out, as they would be killed whatever they say. So is what its
        author allows.
        """
        hopeless = {one.case for one in (*self.findings, *self.allowed) if one.kind == "cant_pass"}
        for place, audit in enumerate(self.audits):
            if place in hopeless or "passes" in audit.allowed:
                continue
            kinds: dict[str, Counter[str]] = {}
            for one in audit.attempts_of(must_pass=False):
                if one.subject.kind not in audit.allowed:
                    kinds.setdefault(one.subject.kind, Counter())[one.state] += 1
            yield kinds

    @property
    def verdict(self) -> Verdict | None:
        """Whether the score is what was asked for; errors may leave it open. None where nothing was asked for."""
        if self.at_least is None:
            return None
        score = self.score
        if score.least is None or score.most is None:
            return "undecided"
        # As floats, 9 ÷ 10 may be slightly less than .9.
        if score.least >= self.at_least - 1e-9:
            return "held"
        return "missed" if score.most < self.at_least - 1e-9 else "undecided"

    @property
    def only_forbids(self) -> int:
        """How many cases say only what must not be said."""
        return sum(1 for audit in self.audits if audit.demands and audit.material.only_forbids)

    @property
    def pass_nothing(self) -> int:
        """How many cases failed all answers, also their own references, which may be a part of what they want."""
        known = {one.case for one in (*self.findings, *self.allowed) if one.kind == "cant_pass"}
        return sum(
            place not in known
            and any(audit.attempts_of(must_pass=True))
            and all(one.state in ("fail", "error") for one in audit.attempts)
            for place, audit in enumerate(self.audits)
        )

    def document(self) -> dict[str, Any]:
        """The audit as a JSON-ready dict, `evenhand.audit/1`."""
        return as_object(
            filled(
                AuditDocument,
                self,
                schema=SCHEMA,
                run=self.run or None,
                cases=len(self.audits),
                earlier_runs=self.runs,
                score=self.score,
                subjects=self.scores,
                findings=[self._row(one) for one in self.findings],
                allowed=[self._row(one) for one in self.allowed],
                skipped=[
                    AuditSkipped(case=one.key[1], name=one.name, where=one.where, why=one.problem)
                    for one in self.audits
                    if one.problem
                ],
            )
        )

    def _row(self, one: Finding) -> AuditFinding:
        audit = self.audits[one.case]
        return filled(AuditFinding, one, case=audit.key[1], name=audit.name, where=audit.where)


def _scored(subject: str, cases: Sequence[Counter[str]]) -> AuditScore:
    """The score of a kind of subject.

    Args:
        cases: How often each case came to each state.
    """
    states: Counter[str] = sum(cases, Counter())
    share = rate_of_decisions(
        [Tally(own["fail"], own["pass"], own["error"] + own["open"]) for own in cases]
    )
    return AuditScore(
        subject=subject,
        killed=states["fail"],
        survived=states["pass"],
        errors=states["error"],
        not_asked=states["unasked"],
        open=states["open"],
        least=None if share is None else share.least,
        most=None if share is None else share.most,
        interval=None if share is None else (share.low, share.high),
    )


class Group(Record, frozen=True):
    """Cases with the same faults.

    Attributes:
        findings: Those of each case, in the same order.
        verdicts: How many verdicts hang on them.
    """

    findings: tuple[tuple[Finding, ...], ...]
    verdicts: int


def grouped(findings: Sequence[Finding]) -> list[Group]:
    """Cases with the same faults together: those on which most verdicts hang come first."""
    order = list(TITLES)
    by_case: dict[int, list[Finding]] = defaultdict(list)
    for one in findings:
        by_case[one.case].append(one)
    groups: dict[tuple[object, ...], list[tuple[Finding, ...]]] = defaultdict(list)
    for each in by_case.values():
        # What can't fail passes every subject, and what can't pass fails every good one: to say so once is enough.
        kinds = {one.kind for one in each if not one.expectation}
        less = {"passes", "in_prompt"} if "cant_fail" in kinds else set[str]()
        less |= {"fails_good"} if "cant_pass" in kinds else set[str]()
        own = sorted(
            (one for one in each if one.kind not in less), key=lambda one: order.index(one.kind)
        )
        # What is expected of each case in words of its own is one habit of its author.
        signature = tuple(
            (one.kind, one.subject, one.expectation.split('"')[0].strip()) for one in own
        )
        groups[signature].append(tuple(own))
    made_of = [Group(tuple(each), sum(own[0].verdicts for own in each)) for each in groups.values()]
    return sorted(
        made_of, key=lambda group: (-group.verdicts, order.index(group.findings[0][0].kind))
    )

"""What an audit finds: what each case lets through, what it can't tell, and what it repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.wings.audit.case_audit import Attempt, CaseAudit
from evenhand.wings.audit.contradictions import contradictions
from evenhand.wings.audit.finding import Finding
from evenhand.wings.audit.historical import historical_findings
from evenhand.wings.audit.material import normal, question_of
from evenhand.wings.audit.reading import Demand
from evenhand.wings.audit.subjects import KINDS
from evenhand.wings.audit.trusting_references import Trust
from evenhand.wings.audit.twins import split_of, twins_among

FEWEST = 3
"""A case that so many different subjects pass, and none fails, can't fail."""
LONGEST_QUESTION = 40
"""Words of a question; what is longer is a document."""
DECIDED = 5
"""So many failures have to be one expectation's for the others to say nothing."""


def findings_of(audits: Sequence[CaseAudit], more: Sequence[Finding] = ()) -> list[Finding]:
    """The findings of an audit; those on which most verdicts hang come first.

    Args:
        more: Findings that were seen otherwise.
    """
    trust = Trust(audits)
    findings = list(more)
    for place, audit in enumerate(audits):
        if not audit.problem:
            findings += _of_case(place, audit, trust)
    findings += historical_findings(audits)
    findings += _twins(audits)
    findings = [_weighed(one, audits[one.case]) for one in findings]
    return sorted(findings, key=lambda one: (bool(one.allowed), not one.sure, -one.verdicts))


def _weighed(finding: Finding, audit: CaseAudit) -> Finding:
    allow = audit.allowed
    reason = allow.get(finding.subject) or allow.get(finding.kind, "")
    return replace(finding, verdicts=audit.trials, allowed=reason)


def _of_case(place: int, audit: CaseAudit, trust: Trust) -> Iterator[Finding]:
    broken = list(contradictions(audit, trust))
    wrong = list(audit.attempts_of(must_pass=False))
    passing = [one for one in wrong if one.state == "pass"]
    decided = [one for one in wrong if one.state in ("pass", "fail")]
    if not audit.demands:
        yield Finding(kind="cant_fail", case=place, detail="It expects nothing.")
    elif _cant_fail(audit, passing, wrong):
        answer = max(passing, key=lambda one: len(one.subject.text))
        yield Finding(
            kind="cant_fail",
            case=place,
            subject=answer.subject.kind,
            answer=answer.subject.text,
            detail=f"All {len(passing)} subjects that must fail pass.",
        )
    for one in passing:
        # Where it passes without the style, the style isn't to blame.
        style = one.subject.kind == "styled" and not any(p.subject.kind == "other" for p in passing)
        yield Finding(
            kind="style" if style else "passes",
            case=place,
            subject=one.subject.kind,
            answer=one.subject.text,
            detail=KINDS[one.subject.kind],
        )
    yield from (replace(one, case=place) for one in broken)
    yield from _fails_good(place, audit, trust)
    yield from _of_expectations(place, audit, decided)
    yield from _in_prompt(place, audit, wrong)


def _cant_fail(audit: CaseAudit, passing: Sequence[Attempt], wrong: Sequence[Attempt]) -> bool:
    """Whether nothing fails it: no made answer does, and nobody has to be asked."""
    if len(passing) != len(wrong) or not passing:
        return False
    return len(passing) >= FEWEST or audit.material.only_forbids


def _fails_good(place: int, audit: CaseAudit, trust: Trust) -> Iterator[Finding]:
    for attempt in audit.attempts_of(must_pass=True):
        if attempt.state != "fail":
            continue
        kind = attempt.subject.kind
        failing = [
            number
            for number, state in enumerate(attempt.outcomes)
            if state == "fail" and number < len(audit.demands)
        ]
        if kind in ("reference", "paraphrase"):
            failing = trust.against(audit, attempt)
            if not failing:
                continue
        yield Finding(
            kind="fails_good",
            case=place,
            expectation=audit.demands[failing[0]].name if failing else "",
            subject=kind,
            answer=attempt.subject.text,
            detail=attempt.reason,
        )


def _of_expectations(place: int, audit: CaseAudit, decided: Sequence[Attempt]) -> Iterator[Finding]:
    for number in sorted(audit.flaky):
        yield Finding(
            kind="flaky",
            case=place,
            expectation=audit.demands[number].name,
            detail="It passed and failed the same text.",
        )
    fails = [
        sum(1 for one in decided if number < len(one.outcomes) and one.outcomes[number] == "fail")
        for number in range(len(audit.demands))
    ]
    idle = [number for number in range(len(audit.demands)) if _never_fails(audit, number, decided)]
    for number in idle if any(fails) else ():
        yield Finding(
            kind="cant_fail",
            case=place,
            expectation=audit.demands[number].name,
            detail=f"No subject fails it, of {len(decided)}.",
        )
    deciding = [
        number
        for number, count in enumerate(fails)
        if count and audit.demands[number].role in ("content", "code")
    ]
    others = [
        number
        for number, one in enumerate(audit.demands)
        if one.role in ("content", "code") and number not in deciding
    ]
    overruled = _overruled(audit, decided)
    alone = deciding[0] if len(deciding) == 1 and others and set(others) <= set(idle) else overruled
    if alone is not None and sum(one.state == "fail" for one in decided) >= DECIDED:
        yield Finding(
            kind="one_decides",
            case=place,
            expectation=audit.demands[alone].name,
            detail="No other expectation ever decides.",
        )


def _never_fails(audit: CaseAudit, number: int, decided: Sequence[Attempt]) -> bool:
    """Whether an expectation of an answer's words passes all that is made."""
    one = audit.demands[number]
    if one.role not in ("content", "code") or len(decided) < FEWEST or number in audit.flaky:
        return False
    if one.role == "code" and audit.exam.acts:  # it may look at what was done, of which nothing was
        return False
    states = {attempt.outcomes[number] for attempt in decided if number < len(attempt.outcomes)}
    sink = number in audit.lets_all if one.own_code or one.role == "code" else True
    return states == {"pass"} and sink


def _overruled(audit: CaseAudit, decided: Sequence[Attempt]) -> int | None:
    """The expectation whose outcome is always the verdict, while all the others are overruled; None for none."""
    if len(audit.demands) < 2 or len(decided) < DECIDED:
        return None
    every = [
        *decided,
        *(one for one in audit.attempts_of(must_pass=True) if one.state in ("pass", "fail")),
    ]
    if any(len(one.outcomes) != len(audit.demands) for one in every):
        return None
    same = [
        number
        for number in range(len(audit.demands))
        if all(one.outcomes[number] == one.state for one in every)
    ]
    if len(same) != 1:
        return None
    others = [number for number in range(len(audit.demands)) if number != same[0]]
    # All of them failed, and it passed all the same; or all passed, and it failed.
    overruled = all(
        any(one.state == "pass" and one.outcomes[number] == "fail" for one in every)
        for number in others
    )
    return same[0] if overruled else None


def _in_prompt(place: int, audit: CaseAudit, wrong: Sequence[Attempt]) -> Iterator[Finding]:
    """Expectations that the prompt alone meets, and references that a variable of the prompt holds.

    Where other expectations fail the prompt, an expectation may well look for what a document in the prompt says: that
    is what an extraction is. What the question itself says is no finding of the model's.
    """
    prompt = next(
        (
            one
            for one in wrong
            if one.subject.kind in ("prompt", "echo")
            and normal(one.subject.text) == normal(audit.material.prompt)
        ),
        None,
    )
    named: set[str] = set()
    for number, one in enumerate(audit.demands):
        if prompt is None or one.role != "content" or number >= len(prompt.outcomes):
            continue
        if prompt.outcomes[number] != "pass" or not (one.texts or one.any_of):
            continue
        if prompt.state == "pass" or _in_question(audit, one):
            named.add(one.name)
            yield Finding(
                kind="in_prompt",
                case=place,
                expectation=one.name,
                subject="prompt",
                answer=audit.material.prompt,
                detail="The prompt alone meets it.",
            )
    if not named and _leaked(audit):
        yield Finding(
            kind="in_prompt",
            case=place,
            subject="prompt",
            answer=audit.material.prompt,
            detail=f"The prompt has the reference in it: {audit.material.reference}",
        )


def _in_question(audit: CaseAudit, one: Demand) -> bool:
    """Whether a short question has all that an expectation looks for."""
    question = audit.material.question
    return len(question.split()) <= LONGEST_QUESTION and one.agrees(question)


def _leaked(audit: CaseAudit) -> bool:
    """Whether the prompt says the reference in words of its own: in none of the variables that it is filled with."""
    material = audit.material
    reference = normal(material.reference or "")
    if len(reference) < 2 or not material.prompt:
        return False
    rest = normal(material.prompt)
    values = [value for value in audit.exam.variables.values() if isinstance(value, str)]
    values += [material.case.input] if isinstance(material.case.input, str) else []
    # What asks for a copy has its answer in the question.
    if normal(material.question) == reference:
        return False
    own = [value for value in values if normal(value) == reference]
    for value in sorted(set(values) - set(own), key=len, reverse=True):
        plain = normal(value)
        if plain:
            rest = rest.replace(plain, " ")
    padded = f" {rest} "
    if not own:  # words of the template are every case's: labels to choose from, say
        return False
    return any(
        f"{before}{reference}{after}" in padded for before in " \n\"'(" for after in " \n\"').,;:"
    )


def _twins(audits: Sequence[CaseAudit]) -> Iterator[Finding]:
    """The cases that ask what an earlier one asks."""
    texts = [one.material.question for one in audits]
    # An eval set may ask several things of the same cases.
    by_eval: dict[str, list[int]] = defaultdict(list)
    for place, audit in enumerate(audits):
        by_eval[audit.key[0]].append(place)
    pairs: set[tuple[int, int]] = set()
    for places in by_eval.values():
        pairs |= {
            (places[a], places[b]) for a, b in twins_among([texts[place] for place in places])
        }
    for first, second in sorted(pairs):
        one, other = audits[first], audits[second]
        if one.material.case.id == other.material.case.id and one.where != other.where:
            continue
        parts = [
            split_of(audit.material.case.id, audit.material.case.tags, audit.material.case.metadata)
            for audit in (one, other)
        ]
        leak = parts[0] != parts[1] and all(parts)
        where = f" of {one.where}" if one.where != other.where else ""
        yield Finding(
            kind="twin",
            case=second,
            answer=other.material.question,
            detail=f"It asks what '{one.name}'{where} asks."
            + (f" One is in {parts[0]}, the other in {parts[1]}." if leak else ""),
        )


def twins_in_files(audits: Sequence[CaseAudit], files: Sequence[str]) -> Iterator[Finding]:
    """The cases that ask what a case of another dataset asks, such as the other part of a split.

    Raises:
        DatasetError: A file can't be read.
    """
    mine = [audit.material.question for audit in audits]
    for file in files:
        others = list(Dataset.read(file))
        questions = [question_of(case, case.vars) for case in others]
        for other, place in twins_among([*questions, *mine]):
            if other < len(questions) <= place:
                yield Finding(
                    kind="twin",
                    case=place - len(questions),
                    answer=mine[place - len(questions)],
                    detail=f"It asks what '{others[other]}' of {Path(file).name} asks.",
                )

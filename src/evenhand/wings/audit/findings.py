"""What an audit finds: what each case lets through, what it can't tell, and what it repeats."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.wings.audit.case_audit import Attempt, CaseAudit, Finding
from evenhand.wings.audit.contradictions import Trust, contradictions
from evenhand.wings.audit.historical import historical_findings
from evenhand.wings.audit.material import has_words, normal, question_of
from evenhand.wings.audit.reading import Demand
from evenhand.wings.audit.subjects import KINDS
from evenhand.wings.audit.twins import beside_of, split_of, twins_among

MOST_OTHERS = 50
"""References that are looked for in a prompt."""
MOST_RULED = 50
"""Of more expectations, the rule isn't asked which of them decides."""
FEWEST = 3
"""A case that so many different subjects pass, and none fails, can't fail."""
LONGEST_QUESTION = 40
"""Words of a question; what is longer is a document."""
SHORTEST_EXAMPLE = 8
"""Characters of a question that is looked for among a prompt's examples."""
DECIDED = 5
"""So many failures have to be one expectation's for the others to say nothing."""


def findings_of(audits: Sequence[CaseAudit], more: Sequence[Finding] = ()) -> list[Finding]:
    """The findings of an audit; those on which most verdicts hang come first.

    Args:
        more: Findings that were seen otherwise.
    """
    trust = Trust(audits)
    others = list(
        dict.fromkeys(one.material.reference for one in audits if one.material.reference)
    )[:MOST_OTHERS]
    findings = list(more)
    for place, audit in enumerate(audits):
        if not audit.problem:
            findings += _of_case(place, audit, trust, others)
    findings += historical_findings(audits)
    findings += _twins(audits)
    findings = [_weighed(one, audits[one.case]) for one in findings]
    return sorted(findings, key=lambda one: (bool(one.allowed), -one.verdicts))


def _weighed(finding: Finding, audit: CaseAudit) -> Finding:
    allow = audit.allowed
    reason = allow.get(finding.subject) or allow.get(finding.kind, "")
    return replace(finding, verdicts=audit.trials, allowed=reason)


def _of_case(
    place: int, audit: CaseAudit, trust: Trust, others: Sequence[str]
) -> Iterator[Finding]:
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
        plain = any(other.subject.kind in ("other", "constant") for other in passing)
        style = one.subject.kind == "styled" and not plain
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
    yield from _in_prompt(place, audit, wrong, others)


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
    wrong = list(audit.attempts_of(must_pass=False))
    idle = [number for number in range(len(audit.demands)) if _never_fails(audit, number, wrong)]
    judged = any(one.role == "judge" for one in audit.demands)
    for number in idle if any(fails) or judged else ():
        yield Finding(
            kind="cant_fail",
            case=place,
            expectation=audit.demands[number].name,
            detail=f"No subject fails it, of {len(wrong)}.",
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
    failures = sum(one.state == "fail" for one in decided)
    alone = _alone(audit)
    if len(deciding) == 1 and others and set(others) <= set(idle) and failures >= DECIDED:
        alone = deciding[0]
    if alone is not None:
        yield Finding(
            kind="one_decides",
            case=place,
            expectation=audit.demands[alone].name,
            detail="No other expectation ever decides.",
        )


def _never_fails(audit: CaseAudit, number: int, wrong: Sequence[Attempt]) -> bool:
    """Whether an expectation of an answer's words passes all that is made."""
    one = audit.demands[number]
    if one.role not in ("content", "code", "form") or len(wrong) < FEWEST or number in audit.flaky:
        return False
    if one.role == "code" and audit.exam.acts:  # it may look at what was done, of which nothing was
        return False
    states = {attempt.outcomes[number] for attempt in wrong if number < len(attempt.outcomes)}
    sink = number in audit.lets_all if one.own_code or one.role in ("code", "form") else True
    return states == {"pass"} and sink


def _alone(audit: CaseAudit) -> int | None:
    """The expectation that decides whatever the others come to, by the case's rule; None for none.

    Nothing is scored: the rule is asked what it makes of all others failing, and of all others passing.
    """
    first = audit.exam.first
    if first is None or not 2 <= len(first.outcomes) <= MOST_RULED:
        return None
    counted = [place for place, one in enumerate(first.outcomes) if one.weight > 0]
    rule = audit.exam.planned.rule

    def comes_to(passing: set[int]) -> str:
        outcomes = [
            replace(
                one,
                outcome="pass" if place in passing else "fail",
                score=1.0 if place in passing else 0.0,
                error="",
            )
            for place, one in enumerate(first.outcomes)
        ]
        return rule(outcomes).outcome

    if len(counted) < 2:
        return None
    every = set(counted)
    for place in counted:
        if comes_to({place}) == "pass" and comes_to(every - {place}) == "fail":
            return place
    return None


def _in_prompt(
    place: int, audit: CaseAudit, wrong: Sequence[Attempt], others: Sequence[str]
) -> Iterator[Finding]:
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
    if not named and _is_example(audit):
        yield Finding(
            kind="in_prompt",
            case=place,
            subject="prompt",
            answer=audit.material.prompt,
            detail="The prompt has this very case in it as an example.",
        )
    elif not named and _leaked(audit, others):
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


def _is_example(audit: CaseAudit) -> bool:
    """Whether a prompt has a case's question and reference in it before anything is filled in."""
    written = audit.exam.planned.variant.prompt_raw
    question = normal(audit.material.question)
    if len(question) < SHORTEST_EXAMPLE or "{{" not in written:
        return False
    fixed = _fixed(written)
    return _within(question, fixed) and has_words(fixed, normal(audit.material.reference or ""))


@lru_cache(maxsize=256)
def _fixed(written: str) -> str:
    """What a prompt says whatever it is filled with."""
    return normal(re.sub(r"\{\{.*?\}\}", " ", written, flags=re.DOTALL))


def _leaked(audit: CaseAudit, others: Sequence[str]) -> bool:
    """Whether a variable that the prompt is filled with holds the reference.

    Args:
        others: The references of all cases: a prompt that has several of them lists what to choose from.
    """
    material = audit.material
    reference = normal(material.reference or "")
    # What asks for a copy has its answer in the question.
    if len(reference) < 2 or not material.prompt or normal(material.question) == reference:
        return False
    variables = {
        name: value for name, value in audit.exam.variables.items() if isinstance(value, str)
    }
    own = [name for name, value in variables.items() if normal(value) == reference]
    written = audit.exam.planned.variant.prompt_raw
    if "{{" in written:
        return any(re.search(rf"\{{\{{[^}}]*\b{re.escape(name)}\b", written) for name in own)
    rest = normal(material.prompt)
    for name, value in sorted(variables.items(), key=lambda one: -len(one[1])):
        if name not in own and normal(value):
            rest = rest.replace(normal(value), " ")
    listed = any(normal(one) != reference and _within(normal(one), rest) for one in others)
    return bool(own) and not listed and _within(reference, rest)


def _within(part: str, text: str) -> bool:
    return bool(part) and has_words(text, part)


def _twins(audits: Sequence[CaseAudit]) -> Iterator[Finding]:
    """The cases that ask what an earlier one asks: of one eval, of another config, or of another file of eval sets."""
    for first, second in _pairs(audits):
        one, other = audits[first], audits[second]
        parts = [split_of(each.material.case) for each in (one, other)]
        leak = parts[0] != parts[1] and all(parts)
        where = f" of {one.where}" if one.where != other.where else ""
        yield Finding(
            kind="twin",
            case=second,
            answer=other.material.question,
            detail=f"It asks what '{one.name}'{where} asks."
            + (f" One is in {parts[0]}, the other in {parts[1]}." if leak else ""),
        )


def _beside(audit: CaseAudit, case: Case, columns: Collection[str] | None = None) -> str:
    """What a case of an eval is about beside its question: variables that its prompt has, or all where it has none.

    Args:
        audit: The case whose prompt counts.
        case: The case; of another dataset, perhaps.
        columns: The variables that both datasets have.
    """
    own = case is audit.material.case
    variables = (own and audit.exam.variables) or case.vars
    question = audit.material.question if own else question_of(case, case.vars)
    written = audit.exam.planned.variant.prompt_raw
    names = set(variables) if columns is None else set(columns)
    if "{{" in written or "{%" in written:
        names = {name for name in names if re.search(rf"\b{re.escape(name)}\b", written)}
    return beside_of(variables, question, names)


def _pairs(audits: Sequence[CaseAudit]) -> list[tuple[int, int]]:
    """The places of twins: cases of one eval, and of files that are not the same."""
    texts = [one.material.question for one in audits]
    beside = [_beside(one, one.material.case) for one in audits]
    files = [audit.exam.planned.variant.where.rpartition(":")[0] for audit in audits]
    pairs: set[tuple[int, int]] = set()
    by_eval: dict[str, list[int]] = defaultdict(list)
    for place, audit in enumerate(audits):
        by_eval[audit.key[0]].append(place)
    for places in by_eval.values():
        pairs |= {
            (places[a], places[b])
            for a, b in twins_among(
                [texts[place] for place in places], [beside[place] for place in places]
            )
        }
    # Evals of one file may ask several things of the same cases; those of two files have data of their own.
    if len(set(filter(None, files))) > 1:
        heads: dict[tuple[str, str, str], int] = {}
        for place, text in enumerate(texts):
            heads.setdefault((files[place], text, beside[place]), place)
        places = sorted(heads.values())
        across = {
            (places[a], places[b])
            for a, b in twins_among(
                [texts[place] for place in places], [beside[place] for place in places]
            )
        }
        pairs |= {pair for pair in across if files[pair[0]] != files[pair[1]]}
    return sorted(pairs)


def twins_in_files(audits: Sequence[CaseAudit], files: Sequence[str]) -> Iterator[Finding]:
    """The cases that ask what a case of another dataset asks, such as the other part of a split.

    Raises:
        DatasetError: A file can't be read.
    """
    mine = [audit.material.question for audit in audits]
    for file in files:
        others = list(Dataset.read(file))
        questions = [question_of(case, case.vars) for case in others]
        columns = {name for case in others for name in case.vars} if audits else set[str]()
        beside = [_beside(audits[0], case, columns) for case in others] if audits else []
        beside += [_beside(one, one.material.case, columns) for one in audits]
        for other, place in twins_among([*questions, *mine], beside):
            if other < len(questions) <= place:
                yield Finding(
                    kind="twin",
                    case=place - len(questions),
                    answer=mine[place - len(questions)],
                    detail=f"It asks what '{others[other]}' of {Path(file).name} asks.",
                )

"""A trial as a row of promptfoo's results.

The format has two values where we have three. A grader that failed is a failed assertion there, marked `graderError`; a
row without an answer, or with an assertion that makes no sense, is an error (`failureReason` 2). There is no word for
what did not apply, which passes, marked `notApplicable`, and no room for a missing score, which is 0.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from msgspec import field

from evenhand.core.errors import NoOutput, ScoreError, TemplateError
from evenhand.core.expect import named_scores, named_weights, weighted_mean
from evenhand.core.json_shapes import as_array, as_mapping, is_mapping
from evenhand.core.record import Record
from evenhand.core.run import Judged, TrialResult
from evenhand.core.score import Outcome, State, Verdict
from evenhand.core.variant import Variant
from evenhand.languages.javascript.references import is_reference
from evenhand.store.labels.label import Label, LabelField, LabelValue, newest

HUMAN = "human"
HIGHLIGHT = "!highlight"
MARKS: Mapping[State, str] = {"error": "graderError", "not_applicable": "notApplicable"}
"""In the metadata of a component or a row: that it is neither a pass nor a failure here."""
_EPSILON = 2.2e-16
_SENSELESS = (ScoreError.slug, TemplateError.slug)
"""What makes no sense of an assertion: promptfoo takes the whole row for an error."""
_CONTESTS = ("select-best", "max-score")
_DETAILS = (
    "reasoning acceptedPrediction rejectedPrediction cacheReadInputTokens cacheCreationInputTokens"
).split()


class GradedTrial(Record, frozen=True, kw_only=True):
    """What a trial comes to there.

    Attributes:
        failure: 0 for none, 1 where an assertion failed, 2 for an error.
        weights: What each of them weighs.
        counts: How many assertions each of them is made of.
    """

    passed: bool
    score: float
    failure: int
    reason: str
    named: Mapping[str, float]
    components: Sequence[Mapping[str, Any]]
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


class Stripped(Record, frozen=True):
    """What is left out of the rows because `PROMPTFOO_STRIP_…` says so."""

    prompt: bool = False
    output: bool = False
    vars: bool = False
    grading: bool = False
    metadata: bool = False

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Stripped:
        """As an environment says."""

        def is_on(text: str | None) -> bool:
            # These are the words that promptfoo takes for a yes.
            return (text or "").lower() in ("1", "true", "yes", "yup", "yeppers")

        return cls(
            is_on(env.get("PROMPTFOO_STRIP_PROMPT_TEXT")),
            is_on(env.get("PROMPTFOO_STRIP_RESPONSE_OUTPUT")),
            is_on(env.get("PROMPTFOO_STRIP_TEST_VARS")),
            is_on(env.get("PROMPTFOO_STRIP_GRADING_RESULT")),
            is_on(env.get("PROMPTFOO_STRIP_METADATA")),
        )


class RowWriter:
    """Makes rows of the trials of one run, in their order."""

    def __init__(
        self,
        run: str,
        variants: Sequence[Variant],
        labels: Mapping[int, Sequence[Label]] | None = None,
        stripped: Stripped | None = None,
    ) -> None:
        self._labels = labels or {}
        # Ids are made of the run's, so each export of a run has the same ones.
        self._namespace = uuid.uuid5(uuid.NAMESPACE_OID, run)
        self._variants = variants
        self._stripped = Stripped.of(os.environ) if stripped is None else stripped
        self._tests: dict[tuple[str, int], int] = {}

    def row(self, trial: TrialResult, graded: GradedTrial) -> dict[str, Any]:
        """One trial, in promptfoo's keys."""
        variant, stripped = self._variants[trial.variant], self._stripped
        test = self._tests.setdefault((trial.case, trial.repeat), len(self._tests))
        judged = trial.judged or Judged()
        spent = tokens(trial)
        cost = subject_cost(trial)
        metadata = {} if stripped.metadata else {**trial.metadata, **trial.answer.metadata}
        latency = round((trial.latency_s or 0.0) * 1000)
        label = prompt_label(variant)
        return {
            "id": trial.answer.id or str(uuid.uuid5(self._namespace, str(trial.index))),
            "testIdx": test,
            "promptIdx": variant.index,
            "promptId": prompt_id(variant),
            "prompt": {
                "raw": "[prompt stripped]" if stripped.prompt else _compact(trial.prompt),
                "label": label,
                "config": {},
            },
            "provider": _provider(variant),
            "vars": {} if stripped.vars else _vars(trial),
            "testCase": self._test_case(trial),
            "response": self._response(trial, graded, cost, spent, latency),
            **({} if graded.passed else {"error": graded.reason or without_reason(trial, graded)}),
            "success": graded.passed,
            "score": graded.score,
            "failureReason": graded.failure,
            "namedScores": graded.named,
            "latencyMs": latency,
            **({} if cost is None else {"cost": cost}),
            "tokenUsage": {**spent, "assertions": tokens_of(judged)},
            "metadata": metadata,
            "gradingResult": None
            if stripped.grading
            else _grading(trial, graded, judged, self._labels.get(trial.index, ())),
        }

    def _test_case(self, trial: TrialResult) -> dict[str, Any]:
        stripped, written = self._stripped, trial.test
        test = written if "assert" in written else {**written, "assert": _named_asserts(trial)}
        description = test.get("description") if written else trial.description
        return {
            **({"description": description} if description else {}),
            **({} if stripped.vars else {"vars": _vars(trial)}),
            **{key: value for key, value in test.items() if key not in ("description", "vars")},
            **({} if trial.threshold is None else {"threshold": trial.threshold}),
            "metadata": {} if stripped.metadata else trial.metadata,
        }

    def _response(
        self,
        trial: TrialResult,
        graded: GradedTrial,
        cost: float | None,
        spent: Mapping[str, Any],
        latency: int,
    ) -> dict[str, Any]:
        cached = trial.calls > 0 and trial.cached == trial.calls
        if _unanswered(trial):
            result = {"error": graded.reason} if graded.failure else {"output": None}
            return {**result, "cached": cached}
        answer = trial.answer
        output = "[output stripped]" if self._stripped.output else trial.output
        return {
            "output": output,
            **({"raw": output} if isinstance(output, str) else {}),
            "cached": cached,
            **({} if cost is None else {"cost": cost}),
            "tokenUsage": {**spent, "assertions": tokens_of(Judged())},
            "latencyMs": latency,
            **({"finishReason": answer.finish_reason} if answer.finish_reason else {}),
            **({"guardrails": blocked} if (blocked := answer.metadata.get("guardrails")) else {}),
            "metadata": {} if self._stripped.metadata else answer.metadata,
        }


def _vars(trial: TrialResult) -> Mapping[str, Any]:
    """The variables as they are written there: files are named, not read; what transformVars made of them is shown."""
    written = trial.test.get("vars", trial.vars)
    if not as_mapping(trial.test.get("options")).get("transformVars"):
        return written
    named = {k: v for k, v in written.items() if isinstance(v, str) and v.startswith("file://")}
    return {**written, **trial.vars, **named}


def prompt_label(variant: Variant) -> str:
    """A prompt's label there: its own text, lines and all, where it has no other, or after the file that it is in."""
    line = " ".join(variant.prompt_raw.split())
    before = variant.prompt.removesuffix(line) if line else variant.prompt
    own = before != variant.prompt and (not before or before.endswith(": "))
    return before + variant.prompt_raw if own else variant.prompt


def _compact(prompt: str) -> str:
    """A prompt as it is kept there: a conversation in JSON without the spaces between its parts."""
    if prompt[:1] not in ("[", "{"):
        return prompt
    try:
        return json.dumps(json.loads(prompt), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return prompt


def prompt_id(variant: Variant) -> str:
    """A prompt's name there: the hash of its label."""
    return hashlib.sha256(prompt_label(variant).encode("utf-8", "surrogatepass")).hexdigest()


def _provider(variant: Variant) -> dict[str, str]:
    id_ = variant.provider_id or variant.model
    return {"id": id_, "label": "" if variant.model == id_ else variant.model}


def subject_cost(trial: TrialResult) -> float | None:
    """What the subject's calls cost, the judges' left out; None where it is not known."""
    if trial.answer.cost_usd is not None or trial.judged:
        return trial.answer.cost_usd
    return trial.cost_usd


def tokens(trial: TrialResult) -> dict[str, Any]:
    """The tokens of a trial's subject."""
    judged = trial.judged or Judged()
    used = Judged(
        max(0, trial.calls - judged.calls),
        max(0, (trial.tokens_in or 0) - judged.tokens_in),
        max(0, (trial.tokens_out or 0) - judged.tokens_out),
    )
    replayed = trial.calls > 0 and trial.cached == trial.calls
    return tokens_of(used, used.tokens_in + used.tokens_out if replayed else 0)


def tokens_of(used: Judged | None, cached: int = 0) -> dict[str, Any]:
    """Tokens in promptfoo's keys. It counts the tokens of an answer from the cache, not the calls."""
    used = used or Judged()
    return {
        "prompt": used.tokens_in,
        "completion": used.tokens_out,
        "cached": cached,
        "total": used.tokens_in + used.tokens_out,
        "numRequests": used.calls,
        "completionDetails": dict.fromkeys(_DETAILS, 0),
    }


def graded(trial: TrialResult) -> GradedTrial:
    """What the trial comes to there. Where nothing is in error, it is what it is here."""
    compared = [outcome for outcome in trial.outcomes if _is_contest(outcome)]
    if compared:
        return _after_contest(trial, compared)
    written = _written(trial.outcomes, trial.test)
    outcomes = tuple(map(_settled, trial.outcomes, written))
    parts = components(trial.outcomes, trial.test)
    reason = trial.error.message if trial.error else trial.reason
    broken = [
        outcome
        for outcome, settled in zip(trial.outcomes, outcomes, strict=True)
        if outcome.outcome == "error" or settled is not outcome
    ]
    # As in promptfoo: it does not pass, and still has no reason for failing (0).
    if trial.error is not None and trial.error.slug == NoOutput.slug:
        return GradedTrial(
            passed=False, score=0.0, failure=0, reason="No output", named={}, components=parts
        )
    makes_no_sense = next(
        (
            outcome
            for outcome, assertion in zip(outcomes, written, strict=True)
            if outcome.outcome == "error"
            and (outcome.error in _SENSELESS or _in_javascript(assertion))
        ),
        None,
    )
    if makes_no_sense is not None or (trial.outcome == "error" and not trial.outcomes):
        reason = makes_no_sense.reason if makes_no_sense else reason
        return GradedTrial(
            passed=False, score=0.0, failure=2, reason=reason, named={}, components=parts
        )
    weights, counts = _metrics(outcomes)
    weightless = {name: 0.0 for name, weight in weights.items() if not weight}
    if not broken:
        passed = trial.outcome in ("pass", "not_applicable")
        score, named = trial.score or 0.0, {**weightless, **trial.named_scores}
        failure = 0 if passed else 1
        return GradedTrial(
            passed=passed,
            score=score,
            failure=failure,
            reason=reason,
            named=named,
            components=parts,
            weights=weights,
            counts=counts,
        )
    counted = [replace(o, score=o.score or 0.0) for o in outcomes]
    score = weighted_mean([outcome for outcome in counted if outcome.weight > 0]) or 0.0
    least = trial.threshold
    passed = all(map(_passes, outcomes)) if least is None else score >= least - _EPSILON
    if trial.outcome == "error" and not any(o.weight for o in broken):
        passed, score = False, 0.0  # the scoring function failed
    named = {**weightless, **named_scores(counted)}
    return GradedTrial(
        passed=passed,
        score=score,
        failure=0 if passed else 1,
        reason=reason,
        named=named,
        components=parts,
        weights=weights,
        counts=counts,
    )


def _settled(outcome: Outcome, written: Mapping[str, Any] | None) -> Outcome:
    """A set in which an assertion is in error as it is there: that assertion failed, and the others decide with it."""
    parts = [as_mapping(part) for part in as_array(outcome.metadata.get("components"))]
    missing = outcome.score is None and outcome.outcome != "not_applicable"
    if not missing or not _is_set(outcome) or not parts or written is None:
        return outcome
    asserts = [as_mapping(item) for item in as_array(written.get("assert"))]
    if len(asserts) == len(parts) and any(
        part.get("error") in _SENSELESS or (part.get("outcome") == "error" and _in_javascript(each))
        for part, each in zip(parts, asserts, strict=True)
    ):
        return outcome  # there, the whole row is in error
    inside = [
        Outcome(
            name=str(part.get("name")),
            outcome="pass" if part.get("pass") else "fail",
            score=part.get("score") or 0.0,
            weight=part.get("weight", 1.0),
            metric=str(part.get("metric") or ""),
        )
        for part in parts
    ]
    score = weighted_mean([part for part in inside if part.weight > 0]) or 0.0
    least = written.get("threshold")
    reached = isinstance(least, (int, float)) and score >= least - _EPSILON
    passed = all(part.outcome == "pass" for part in inside) if least is None else reached
    return replace(
        outcome,
        outcome="pass" if passed else "fail",
        score=score,
        named=named_scores(inside),
        named_weights=named_weights(inside),
    )


def _in_javascript(assertion: Mapping[str, Any] | None) -> bool:
    """Whether a file of JavaScript is called for it. One that throws is an error there; one of Python is a failure."""
    value = (assertion or {}).get("value")
    return isinstance(value, str) and is_reference(value)


def _after_contest(trial: TrialResult, compared: Sequence[Outcome]) -> GradedTrial:
    """A trial that was compared with others: who lost fails with 0; who won has the score of its other assertions."""
    own = tuple(outcome for outcome in trial.outcomes if not _is_contest(outcome))
    before = trial.before or Verdict(trial.outcome, trial.score)
    alone = replace(
        trial,
        outcomes=own,
        outcome=before.outcome,
        score=before.score if own else None,
        reason=before.reason,
        named_scores=before.named_scores,
        threshold=before.threshold,
        error=trial.error if before.outcome == "error" else None,
        before=None,
    )
    without = graded(alone)
    lost = next((outcome for outcome in compared if outcome.outcome != "pass"), None)
    parts = components(trial.outcomes, trial.test)
    if lost is None or without.failure == 2:
        return replace(without, components=parts)
    failure = 2 if lost.error in _SENSELESS else 1
    return replace(
        without, passed=False, score=0.0, failure=failure, reason=lost.reason, components=parts
    )


def _metrics(outcomes: Sequence[Outcome]) -> tuple[dict[str, float], dict[str, int]]:
    weights = named_weights(outcomes)
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        parts = as_array(outcome.metadata.get("components"))
        if _is_set(outcome):  # its assertions are counted there, and the set is not
            counts.update(str(as_mapping(part).get("metric")) for part in parts)
        else:  # what a grader's verdict is put together from is counted there, too
            counts[outcome.metric] += 1 + len(parts)
    return weights, {name: counts[name] or 1 for name in weights}


def _unanswered(trial: TrialResult) -> bool:
    return trial.outcome == "error" and trial.output is None


def without_reason(trial: TrialResult, graded: GradedTrial) -> str:
    """What to say of a trial whose outcomes give no reason."""
    if not graded.passed:
        return "It failed"
    return "All assertions passed" if trial.outcomes else "No assertions"


def _grading(
    trial: TrialResult, graded: GradedTrial, judged: Judged, answers: Sequence[Label]
) -> dict[str, Any] | None:
    if _unanswered(trial) and not trial.outcomes and not answers:
        return None
    labels = newest(answers)
    note = comment(labels)
    return {
        "pass": graded.passed,
        "score": graded.score,
        "reason": graded.reason or without_reason(trial, graded),
        "namedScores": graded.named,
        "namedScoreWeights": graded.weights,
        "tokensUsed": tokens_of(judged),
        "componentResults": [*graded.components, *_human(labels), *_on_metrics(answers)],
        **({"comment": note} if note else {}),
        # Of which nothing was expected, too, so that no component says so.
        **({"metadata": _mark(trial.outcome)} if trial.outcome == "not_applicable" else {}),
    }


def comment(labels: Mapping[LabelField, LabelValue]) -> str:
    """A trial's note and star as they are written there: a star is a mark before the note."""
    note = str(labels.get("note") or "")
    return f"{HIGHLIGHT} {note}".rstrip() if labels.get("star") else note


def _human(labels: Mapping[LabelField, LabelValue]) -> list[dict[str, Any]]:
    """What people say of a trial, as a component of its own; what was measured stays as it is."""
    verdict = labels.get("verdict")
    if verdict is None:
        return []
    rating = labels.get("score")
    return [
        {
            "pass": verdict == "pass",
            "score": 1.0 if verdict == "pass" else 0.0,
            "reason": "said by a person",
            "assertion": {"type": HUMAN},
            **({} if rating is None else {"metadata": {"rating": rating}}),
        }
    ]


def _on_metrics(labels: Iterable[Label]) -> Iterator[dict[str, Any]]:
    """What people say of judged metrics, each as a component with the metric and whose it is."""
    for label in labels:
        if label.metric and label.field == "verdict":
            yield {
                "pass": label.value == "pass",
                "score": 1.0 if label.value == "pass" else 0.0,
                "reason": f"said by {label.author or 'a person'} of {label.metric}",
                "assertion": {"type": HUMAN, "metric": label.metric},
                "metadata": {"author": label.author},
            }


def components(outcomes: Sequence[Outcome], test: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a test's outcomes are there, one after the other.

    Args:
        test: The test as written.
    """
    return [
        part
        for outcome, assertion in zip(outcomes, _written(outcomes, test), strict=True)
        for part in _components(outcome, assertion)
    ]


def _written(
    outcomes: Sequence[Outcome], test: Mapping[str, Any]
) -> Sequence[Mapping[str, Any] | None]:
    """For each outcome the assertion as the config has it; None where that is not known.

    Those that compare columns are settled after all others, one of each type.
    """
    listed = test.get("assert")
    asserts = cast("list[object]", listed) if isinstance(listed, (list, tuple)) else []
    known = [item for item in asserts if is_mapping(item)]
    alone = [item for item in known if item.get("type") not in _CONTESTS]
    # Backwards, so that of several with one type the first one stays.
    first = {str(item.get("type")): item for item in reversed(known)}
    compared = [first[type_] for type_ in _CONTESTS if type_ in first]
    # Where nothing was compared, outcomes of contests are missing.
    for order in ([*alone, *compared], alone):
        if len(order) == len(outcomes):
            return order
    return [None] * len(outcomes)


def _named_asserts(trial: TrialResult) -> list[dict[str, Any]]:
    return [_assertion(outcome) for outcome in trial.outcomes]


def _components(outcome: Outcome, written: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """An outcome, and after it what it was put together from."""
    undecided = outcome.outcome == "error"
    outcome = _settled(outcome, written)
    metadata = {key: value for key, value in outcome.metadata.items() if key != "components"}
    metadata |= _mark("error" if undecided else outcome.outcome)
    own: dict[str, Any] = {
        "pass": _passes(outcome),
        "score": outcome.score or 0.0,
        "reason": outcome.reason or ("Assertion passed" if outcome.outcome == "pass" else ""),
        "namedScores": outcome.named,
        "metadata": metadata,
    }
    parts = cast("Sequence[Mapping[str, Any]]", outcome.metadata.get("components") or ())
    if _is_set(outcome):
        inside = (written or {}).get("assert")
        asserts = as_array(inside)
        whole = asserts if len(asserts) == len(parts) else [None] * len(parts)
        below = [_part(part, assertion) for part, assertion in zip(parts, whole, strict=True)]
        settings = {
            k: v for k, v in (written or {}).items() if k in ("metric", "threshold", "weight")
        }
        about = {"type": "assert-set", "assertionCount": len(parts), **settings}
        own |= {"componentResults": below, "metadata": {**metadata, "assertionSet": about}}
        return [own, *below]
    own["assertion"] = written or _assertion(outcome)
    return [own, *(_part(part, own["assertion"]) for part in parts)]


def _mark(state: object) -> dict[str, bool]:
    """What tells an outcome apart that is neither a pass nor a failure."""
    return {mark: True for one, mark in MARKS.items() if one == state}


def _part(part: Mapping[str, Any], written: Mapping[str, Any] | None = None) -> dict[str, Any]:
    name = part.get("name")
    assertion = written or (_named(str(name)) if name else None)
    return {
        "pass": bool(part.get("pass")),
        "score": part.get("score") or 0.0,
        "reason": part.get("reason") or ("Assertion passed" if part.get("pass") else ""),
        **({"namedScores": part["named"]} if part.get("named") else {}),
        **({"metadata": mark} if (mark := _mark(part.get("outcome"))) else {}),
        **({"assertion": assertion} if assertion else {}),
    }


def _assertion(outcome: Outcome) -> dict[str, Any]:
    return {
        **_named(outcome.name),
        **({"weight": outcome.weight} if outcome.weight != 1 else {}),
        **({"metric": outcome.metric} if outcome.metric else {}),
    }


def _named(name: str) -> dict[str, Any]:
    """What was asserted, as far as an outcome's name says it: `contains "30 days"`."""
    type_, _, value = name.partition(" ")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return {"type": type_, **({"value": value} if value else {})}


def _is_contest(outcome: Outcome) -> bool:
    return outcome.name.startswith(_CONTESTS)


def _passes(outcome: Outcome) -> bool:
    if _is_set(outcome):
        return outcome.outcome in ("pass", "not_applicable")
    return outcome.outcome in ("pass", "not_applicable") or outcome.weight == 0


def _is_set(outcome: Outcome) -> bool:
    return outcome.name.startswith("assert-set")

"""Assertions, read from a config: their judges found, their files read, all that is wrong with them told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec import field

from evenhand.core.contest import Referee
from evenhand.core.errors import EvenhandError, Problem, ScoreError
from evenhand.core.json_schema import ANY, NUMBER, TABLE, TEXT
from evenhand.core.json_shapes import as_text, is_array, is_mapping, is_number
from evenhand.core.message import Task
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider
from evenhand.core.ranges import NOT_NEGATIVE
from evenhand.core.record import Record
from evenhand.core.score import Outcome
from evenhand.core.table import TableKey, own
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.assertion import Assertion, Kind, Make, split
from evenhand.doors.assertions.code_files import file_problems, transform_problems
from evenhand.doors.assertions.kinds import kind_of, type_problem
from evenhand.doors.assertions.preparing import (
    Lack,
    beyond,
    fixed_scorer,
    items_of,
    lacks,
    nobody_to_ask,
    prepared,
    unsettled,
)
from evenhand.doors.assertions.transform import split_reference
from evenhand.languages.documents.findings import At, Findings, Place
from evenhand.languages.documents.tree import read_document, read_text
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.templates.rendering import NO_CONFIG, Templates, has_tags
from evenhand.providers.configured import untold
from evenhand.providers.prompt_text import parse_prompt, unfillable
from evenhand.scorers.code_languages import ENDINGS, language_of

KEYS: Mapping[str, TableKey] = {
    "type": TableKey("What is asked of the output.", own(ANY)),
    "value": TableKey("What it is compared with; each type says what it takes.", own(ANY)),
    "threshold": TableKey("What the score must reach, or must not pass.", own(NUMBER)),
    "weight": TableKey("Its share in the test's score; 1 by default, 0 keeps it out.", own(NUMBER)),
    "metric": TableKey("Also count its score under this name.", own(TEXT)),
    "provider": TableKey("Who judges or embeds: an id, or {id, config}.", own(ANY)),
    "rubricPrompt": TableKey("Your own prompt for the judge.", own(ANY)),
    "transform": TableKey("Changes the output before it is looked at.", own(TEXT)),
    "contextTransform": TableKey(
        "Takes the context out of the output, for RAG metrics.", own(TEXT)
    ),
    "config": TableKey("Passed to code in Python or JavaScript.", own(TABLE)),
    "assert": TableKey("Of an assert-set: the assertions in it.", own(ANY)),
    "alpha": TableKey("For METEOR.", own(NUMBER)),
    "beta": TableKey("For METEOR.", own(NUMBER)),
    "gamma": TableKey("For METEOR.", own(NUMBER)),
}


class Expected(Record, frozen=True, kw_only=True):
    """What a test expects.

    Attributes:
        makes: What makes its expectations, in their order.
        judged: The ids of the judges that they ask, once for each that asks.
        binding: The places of those that fail the test whatever they weigh: sets of weight 0.
        excusing: The places of those that let the test pass when they fail: guardrails with `purpose: redteam`.
        types: The type of each; of a set, the types in it.
        contests: The assertions that compare the outputs of all variants.
        broken: What is wrong with those that cannot be settled, by their places. Known once they were checked.
        problem: Why nothing can be decided at all: a contest cannot be held, or a file not be read.
        assertions: All of them, those in a set after it; None for one that is of no known type.
    """

    makes: tuple[Make, ...] = ()
    judged: tuple[str, ...] = ()
    binding: frozenset[int] = frozenset()
    excusing: frozenset[int] = frozenset()
    types: tuple[str | tuple[str, ...], ...] = ()
    contests: tuple[Assertion, ...] = ()
    weights: tuple[float, ...] = ()
    broken: Mapping[int, Problem] = field(default_factory=dict[int, Problem])
    problem: Problem | None = None
    assertions: tuple[Assertion | None, ...] = ()

    def and_then(self, other: Expected) -> Expected:
        """Both, these first."""
        # Most tests have one assertion, or those of the config alone.
        if not self.assertions and self.problem is None:
            return other
        count = len(self.makes)
        return Expected(
            makes=self.makes + other.makes,
            judged=self.judged + other.judged,
            binding=self.binding | {count + place for place in other.binding},
            excusing=self.excusing | {count + place for place in other.excusing},
            types=self.types + other.types,
            contests=self.contests + other.contests,
            weights=self.weights + other.weights,
            broken={**self.broken, **{count + place: what for place, what in other.broken.items()}},
            problem=self.problem or other.problem,
            assertions=self.assertions + other.assertions,
        )

    def hopeless(self, threshold: float | None, *, scored: bool = False) -> Problem | None:
        """Why a test that expects all of this cannot pass, whatever the answer is; None where it may.

        What is broken weighs what it weighs: it need not matter where a mean has to reach a threshold.

        Args:
            scored: A function of the user's says what they come to. It is asked only where all are settled.
        """
        if self.problem is not None or not self.broken:
            return self.problem
        first = self.broken[min(self.broken)]
        if scored:
            return first
        if self.excusing - self.broken.keys():  # one of these lets the test pass by failing
            return None
        rule = verdict_rule(threshold, self.binding)
        verdict = rule(
            [
                Outcome("", "error", None, weight=weight)
                if place in self.broken
                else Outcome("", "pass", 1.0, weight=weight)
                for place, weight in enumerate(self.weights)
            ]
        )
        return first if verdict.outcome == "error" else None

    def referees(self) -> list[Referee]:
        """Who compares the outputs of all variants. As in promptfoo, one of each type does: the first."""
        # Read backwards, so that the first of each type is the one that stays.
        first = {assertion.type: assertion for assertion in reversed(self.contests)}
        if not first:
            return []
        from evenhand.doors.assertions.contests import referee  # noqa: PLC0415 (imported on use, as kinds are)

        return [
            referee(first[type_], self.types)
            for type_ in ("select-best", "max-score")
            if type_ in first
        ]


class Judges(Protocol):
    """Finds the models that assertions ask."""

    def judge(self, spec: object, place: Place, task: Task = "generate") -> Provider | None:
        """The model that a `provider` names for a task; None, and a problem, where it names none."""
        ...

    def default_judge(self, place: Place, task: Task = "generate") -> Provider | None:
        """The model for a task where nobody is named; None for nobody."""
        ...


class AssertionReader:
    """Reads the assertions of one config.

    Args:
        base: The folder that paths start from.
        templates: Fill in the tags in them.
    """

    def __init__(
        self, base: Path, judges: Judges, findings: Findings, templates: Templates = NO_CONFIG
    ) -> None:
        self._base = base
        self._templates = templates
        self._judges = judges
        self._findings = findings
        self.files: set[Path] = set()
        """Files that assertions name."""

    def expected(
        self, assertions: object, options: Mapping[str, Any], at: At, *, check: bool
    ) -> Expected:
        """What a list of assertions expects.

        Args:
            assertions: As written under `assert`.
            options: The test's, where judges and rubric prompts may be named.
            check: Whether to look for all that may be wrong.
        """
        if assertions is None:
            return Expected()
        if not is_array(assertions):
            self._findings.problem(
                at("assert"),
                f"assert is {assertions!r}, not a list",
                "Begin each assertion with '- type: …'.",
            )
            return Expected()
        total = Expected()
        for i, item in enumerate(assertions):
            total = total.and_then(self._one(item, options, partial(at, "assert", i), check=check))
        return total

    def one(self, item: object, at: At) -> Expected:
        """What a single assertion expects that belongs to no test; looks for all that may be wrong with it."""
        return self._one(item, {}, at, check=True)

    def _one(self, item: object, options: Mapping[str, Any], at: At, *, check: bool) -> Expected:
        """What one assertion expects. With something wrong with it, it is an error in each test that has it."""
        findings = self._findings
        if not is_mapping(item):
            findings.problem(
                at(), f"an assertion is {item!r}, not an object", "Write - type: contains, value: …"
            )
            return Expected()
        written = item.get("type")
        if not isinstance(written, str):
            first = next(iter(item), "")
            near = did_you_mean(first, {"type"})
            if not near and type_problem(first) is None:
                near = f"Write - type: {first}, and value: … below it."
            findings.problem(
                at(), "an assertion has no type", near or "Write - type: contains, value: …"
            )
            return Expected()
        name, _ = split(written)
        wrong = type_problem(written)
        if wrong is not None:
            what, hint = wrong
            problem = findings.broken(at("type"), what, hint) if check else None
            make = unsettled(written, ScoreError(what, hint=hint))
            broken = {} if problem is None else {0: problem}
            return Expected(
                makes=(make,), types=(name,), weights=(1.0,), broken=broken, assertions=(None,)
            )
        kind = kind_of(name)
        if check:
            if kind.negation == "ignored" and written != kind.name:
                findings.hint(
                    at("type"),
                    f"not- changes nothing about {kind.name}, as in promptfoo",
                    "A Python assertion can say the opposite.",
                )
            findings.unknown(item, KEYS, at, " of an assertion is not used")
        inside = Expected()
        if kind.name == "assert-set":
            inside = self.expected(item.get("assert"), options, at, check=check)
            if check and not item.get("assert"):
                hint = "Write its assertions below it: assert: [{type: contains, value: …}]."
                findings.hint(
                    at(), "an assert-set without assertions checks nothing, and has score 0", hint
                )
        assertion = self._assertion(kind, item, options, at, inside)
        problem = inside.hopeless(assertion.threshold)
        if check:
            broken_values = [
                findings.broken(at("value") if "value" in item else at(), *wrong)
                for wrong in problems(assertion)
            ]
            problem = next(iter(broken_values), problem)
            if what := beyond(assertion):
                findings.hint(at("threshold"), what, "Write a threshold from 0 to 1.")
        if kind.compares:
            return Expected(contests=(assertion,), problem=problem, assertions=(assertion,))
        if check and inside.contests:
            compared = inside.contests[0].type
            findings.hint(at(), f"'{compared}' in a set is not used", "Write it beside the set.")
        judges = (assertion.judge.id,) if assertion.judge is not None else ()
        is_set = kind.name == "assert-set"
        blocks = written == "guardrails" and assertion.config.get("purpose") == "redteam"
        return Expected(
            makes=(prepared(assertion),),
            judged=inside.judged + judges,
            binding=frozenset({0} if is_set and assertion.weight == 0 else ()),
            excusing=frozenset({0} if blocks else ()),
            types=(tuple(map(_plain, inside.types)) if is_set else written,),
            weights=(assertion.weight,),
            broken={} if problem is None else {0: problem},
            assertions=(assertion, *inside.assertions),
        )

    def _assertion(
        self,
        kind: Kind,
        raw: Mapping[str, Any],
        options: Mapping[str, Any],
        at: At,
        inside: Expected,
    ) -> Assertion:
        findings = self._findings
        weight, threshold = raw.get("weight"), raw.get("threshold")
        if weight is not None:
            weight = findings.number(weight, at("weight"), "weight", NOT_NEGATIVE)
        if threshold is not None:
            threshold = findings.number(threshold, at("threshold"), "threshold")
        # `_asked` adds a problem for a model that cannot be had; comparing the counts shows whether it did.
        known = len(findings.problems)
        judge = self._asked(kind.asks, raw, options, at)
        embedder = self._asked("embed" if kind.embeds else None, raw, options, at)
        refused = len(findings.problems) > known
        return Assertion(
            type=kind.name,
            negated=raw["type"] != kind.name,
            value=self._value(raw.get("value"), at),
            threshold=threshold,
            weight=1.0 if weight is None else weight,
            metric=self._metric(raw.get("metric"), at),
            judge=judge,
            embedder=embedder,
            refused=refused,
            rubric_prompt=self._rubric_prompt(
                raw.get("rubricPrompt") or options.get("rubricPrompt"), at
            ),
            transform=as_text(raw.get("transform")),
            config=raw.get("config") or {},
            base=self._base,
            place=str(at()) if kind.negation == "own" else "",
            options=options,
            context_transform=as_text(raw.get("contextTransform")),
            makes=inside.makes,
            excusing=inside.excusing,
            more=raw,
            templates=self._templates,
        )

    def _metric(self, metric: object, at: At) -> str:
        """The name that an assertion's score has in the results."""
        if metric is None or isinstance(metric, str):
            return metric or ""
        if not is_number(metric):
            what, hint = f"metric is {metric!r}, not a name", "Write one name."
            if isinstance(metric, bool):
                word = str(metric).lower()
                what, hint = f"metric is {word}, not a name", f"Write it in quotes: '{word}'."
            self._findings.problem(at("metric"), what, hint)
        return str(metric)

    def _asked(
        self, task: Task | None, raw: Mapping[str, Any], options: Mapping[str, Any], at: At
    ) -> Provider | None:
        if task is None:
            return None
        spec = raw.get("provider") or options.get("provider")
        if spec:
            return self._judges.judge(spec, at(), task)
        return self._judges.default_judge(at(), task)

    def _value(self, value: object, at: At) -> object:
        """An assertion's value, with the file of data that it names read in."""
        # With tags in its name, which file is meant depends on the case.
        if not isinstance(value, str) or not value.startswith("file://") or has_tags(value):
            return value
        path = self._path(value)
        if path.suffix in (".json", ".yaml", ".yml"):
            document = read_document(path, self._findings, at("value"))
            self.files.add(path)
            return None if document is None else document.value
        if path.suffix in (".txt", ".md"):
            text = read_text(path, self._findings, at("value"))
            self.files.add(path)
            return None if text is None else text.strip()
        named = any(f"{ending}:" in value for ending in (".py", *ENDINGS))
        self.files.add(self._path(value.rpartition(":")[0] if named else value))
        return value

    def _rubric_prompt(self, prompt: object, at: At) -> str:
        """A judge prompt of the user's, with the files read in that it names, also in a list or an object."""
        if not prompt:
            return ""
        if isinstance(prompt, (list, Mapping)):
            return json.dumps(self._prompts_in(prompt, at), ensure_ascii=False)
        return self._prompt_text(str(prompt), at)

    def _prompts_in(self, prompt: object, at: At) -> object:
        if isinstance(prompt, str):
            return self._prompt_text(prompt, at)
        if is_array(prompt):
            return [self._prompts_in(item, at) for item in prompt]
        if is_mapping(prompt):
            return {key: self._prompts_in(item, at) for key, item in prompt.items()}
        return prompt

    def _prompt_text(self, text: str, at: At) -> str:
        if not text.startswith("file://"):
            return text
        path = self._path(text)
        self.files.add(path)
        if is_reference(text):
            self._findings.problem(
                at("options", "rubricPrompt"),
                f"rubricPrompt: {path.name} is code, which is not run for a judge's prompt",
                "Write the prompt into a file of text, JSON or YAML.",
            )
            return ""
        return read_text(path, self._findings, at("options", "rubricPrompt")) or ""

    def _path(self, reference: str) -> Path:
        return self._base / reference.removeprefix("file://")


def _plain(type_: str | tuple[str, ...]) -> str:
    return type_ if isinstance(type_, str) else "assert-set"


def problems(assertion: Assertion) -> list[Lack]:
    """What keeps an assertion from a verdict, as far as can be seen before anything runs."""
    kind, value = kind_of(assertion.type), assertion.value
    lacking = lacks(assertion)
    # A model that cannot be had was reported where it is named.
    tolerated = nobody_to_ask(assertion) if assertion.refused else []
    faults: list[Lack] = [lack for lack in lacking if lack not in tolerated]
    written = [assertion.metric]
    if kind.tags:
        written += [v for v in (value, *items_of(value)) if isinstance(v, str)]
    faults += [(wrong, "") for wrong in map(assertion.templates.problem, written) if wrong]
    wrong = (
        unfillable(assertion.rubric_prompt, assertion.templates)
        if assertion.rubric_prompt
        else None
    )
    if wrong:
        faults.append((f"rubricPrompt: {wrong}", ""))
    elif assertion.rubric_prompt and assertion.judge is not None:
        error = untold(assertion.judge, parse_prompt(assertion.rubric_prompt))
        if error is not None:
            faults.append((f"rubricPrompt: {assertion.judge.id}: {error.message}", error.hint))
    if not lacking:
        try:
            fixed_scorer(assertion)
        except EvenhandError as error:
            faults.append((error.message, error.hint))
        faults += kind.check(assertion)
    for code in (assertion.transform, assertion.context_transform):
        if code:
            faults += transform_problems(code, assertion.base)
    if isinstance(value, str) and value.startswith("file://") and not has_tags(value):
        language = language_of(split_reference(value, "")[0])
        if language is None:
            faults += file_problems(value, assertion.base, "get_assert")
        elif kind.name != language.type:  # else its check said so
            from evenhand.doors.assertions.user_code import program_problems  # noqa: PLC0415 (only for configs with code)

            faults += program_problems(assertion, language)
    return faults

"""Assertions become expectations.

An assertion is read once, by `prepared`, into a function that makes an expectation for each output. What does not
depend on the case is worked out there; what does (tags in its value) is filled in for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evenhand.core.definition import Definition, brief, file_digest
from evenhand.core.errors import AuthError, CodeError, EvenhandError, ScoreError, TemplateError
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.message import Task
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.secrets import known
from evenhand.core.traits import label_of
from evenhand.doors.assertions.assertion import NO_CELL, Assertion, Cell, Kind, Make
from evenhand.doors.assertions.kinds import kind_of
from evenhand.doors.assertions.transform import split_reference, transformed
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.templates.rendering import Templates, has_tags
from evenhand.providers.catalog import key_missing
from evenhand.providers.local_code import with_imports
from evenhand.providers.missing_keys import NO_KEY, set_key
from evenhand.scorers.code_languages import language_of
from evenhand.scorers.known_outcomes import Raised
from evenhand.scorers.opposite import Not

_TAKES_EMPTY = frozenset({"equals", "levenshtein", "rouge-n", "bleu", "gleu", "word-count"})
"""Types for which an empty text is a value."""
_SENDS = "webhook"
"""The type whose value is an address that is called, so that a key in it is needed."""


class AfterTransform(Record, frozen=True):
    """A question asked of what the user's code makes of the output."""

    scorer: Scorer
    code: str
    context: Callable[[], Mapping[str, Any]]
    base: Path = Path()

    async def score(self, output: Any, trial: Trial) -> Score:
        context = dict(self.context())
        # promptfoo gives transforms the prompt as an object, and assertions the same prompt as a text.
        context["prompt"] = {"raw": context["prompt"], "label": context["prompt"]}
        try:
            changed = await transformed(self.code, output, context, self.base, trial)
        except CodeError as error:  # there is nothing to ask about
            raise ScoreError(error.message, hint=error.hint) from error
        score = self.scorer.score(changed, trial)
        return score if isinstance(score, Score) else await score

    def __str__(self) -> str:
        return label_of(self.scorer)


class Computed(Record, frozen=True):
    """A question whose value a function of the user's computes first: `value: file://value.py[:fn]`."""

    assertion: Assertion
    cell: Cell

    async def score(self, output: Any, trial: Trial) -> Score:
        reference, base = str(self.assertion.value), self.assertion.base
        path, name = split_reference(reference, "get_assert")
        context = self.cell.context(self.assertion.config)
        if is_reference(reference):
            from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

            script = javascript.function(base / path, name)
            value = (await javascript.call(trial, script, output, context)).value
        elif (language := language_of(path)) is not None:
            from evenhand.doors.assertions.user_code import program_function  # noqa: PLC0415 (only for configs with code)
            from evenhand.scorers.program_code import called as run  # noqa: PLC0415 (only for configs with code)

            source = program_function(self.assertion, reference, language)
            value = await run(trial, source, output, context)
        else:
            from evenhand.scorers.python_code import called  # noqa: PLC0415 (only for configs with code)

            function = await trial.load(base / path, name)
            value = await called(trial, function, output, context, f"{Path(path).name}:{name}")
        if (
            not isinstance(value, (str, int, float, list, Mapping))
            or isinstance(value, bool)
            or "pass" in (tuple(value) if isinstance(value, Mapping) else ())
        ):
            kind = "a verdict" if isinstance(value, (bool, Mapping)) else f"{type(value).__name__}"
            raise ScoreError(
                f"{path}:{name} returned {kind}, not a value for '{self.assertion.written}'",
                hint=f"For a verdict of its own write type: python, value: {self.assertion.value}",
            )
        assertion = replace(self.assertion, value=value, negated=False)
        scorer = kind_of(assertion.type).make(assertion, self.cell, value)
        score = scorer.score(output, trial)
        return score if isinstance(score, Score) else await score

    def __str__(self) -> str:
        return f"{self.assertion.type} {self.assertion.value}"


def prepared(assertion: Assertion) -> Make:
    """The assertion as a function that makes its expectation for a cell.

    What cannot be one is an error wherever it is asked; `problems` says so before.
    """
    kind = kind_of(assertion.type)
    assertion = _without_secrets(assertion)
    for what, hint, *_ in lacks(assertion):
        # The first one is enough here: `problems` reports all of them.
        return unsettled(
            assertion.written, ScoreError(what, hint=hint), assertion.weight, assertion
        )
    try:
        fixed = fixed_scorer(assertion)
    except EvenhandError as error:
        return unsettled(assertion.written, error, assertion.weight, assertion)
    metric_of = _metric(assertion)
    weight, transform = assertion.weight, assertion.transform
    value = assertion.value
    rendered = _renderer(kind, value, assertion.templates)
    computed = kind.files and is_file(value)
    turned = kind.negation if assertion.negated else "own"
    # Worked out once and only when needed: it reads all files that the assertion names.
    definitions: list[Definition] = []

    def make(cell: Cell) -> Expectation:
        if not definitions:
            definitions.append(definition_in(assertion))
        scorer: Scorer
        if fixed is not None:
            scorer = fixed
        elif computed:
            scorer = Computed(assertion, cell)
        else:
            try:
                scorer = kind.make(assertion, cell, rendered(cell.variables))
            except EvenhandError as error:
                scorer = Raised(assertion.written, error)
        if turned in ("opposite", "kept"):
            scorer = Not(scorer, keeps_score=turned == "kept", word="not-")
        if transform:
            scorer = AfterTransform(
                scorer, transform, partial(cell.context, assertion.config), assertion.base
            )
        return Expectation(
            cell.output,
            scorer,
            weight=weight,
            metric=metric_of(cell.variables),
            definition=definitions[0],
        )

    return make


def _metric(assertion: Assertion) -> Callable[[Mapping[str, Any]], str]:
    """The name of an assertion's metric for a case; as in promptfoo, one that cannot be filled in stays as written."""
    written = assertion.metric

    def filled(variables: Mapping[str, Any]) -> str:
        try:
            return assertion.templates.render(written, variables)
        except TemplateError:
            return written

    return filled if has_tags(written) else lambda _: written


def definition_in(assertion: Assertion) -> Definition:
    """What an assertion asks, as it is written; of files, what is in them."""
    parts = {
        "value": assertion.value,
        "threshold": assertion.threshold,
        "judge prompt": assertion.rubric_prompt,
        "transform": assertion.transform,
        "context": assertion.context_transform,
        "config": dict(assertion.config),
        "set": [_without_judge(one) for one in items_of(assertion.more.get("assert"))] or None,
    }
    settings = {
        name: brief([value, *file_contents(value, assertion.base)])
        for name, value in parts.items()
        if value not in (None, "", {})
    }
    return Definition(assertion.written, settings, exact=True)


def _without_judge(member: object) -> object:
    """A member of a set without who judges it: with another judge, what is asked is the same."""
    if not is_mapping(member):
        return member
    return {name: value for name, value in member.items() if name != "provider"}


def file_contents(value: object, base: Path) -> Iterator[str]:
    """A digest of each file that a value names, at whatever depth."""
    if isinstance(value, str) and value.startswith("file://"):
        name = value.removeprefix("file://")
        # What follows the last colon may be the name of a function in the file.
        files = (base / name, base / name.rpartition(":")[0])
        file = next((one for one in files if one.is_file()), base / name)
        digests = [
            file_digest(one) for one in (with_imports([file]) if file.suffix == ".py" else [file])
        ]
        yield brief(sorted(digests)) if len(digests) > 1 else "".join(digests)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from file_contents(item, base)
    else:
        for item in items_of(value):
            yield from file_contents(item, base)


def unsettled(
    name: str, error: EvenhandError, weight: float = 1.0, assertion: Assertion | None = None
) -> Make:
    """Makes an expectation that is an error whatever the output is."""
    definition = None if assertion is None else definition_in(assertion)
    return lambda cell: Expectation(
        cell.output, Raised(name, error), weight=weight, definition=definition
    )


Lack = tuple[str, str] | tuple[str, str, str]
"""What is wrong, what to do, and the error's slug where it is not `config`."""


def lacks(assertion: Assertion) -> list[Lack]:
    """What an assertion cannot do without and does not have."""
    kind, value = kind_of(assertion.type), assertion.value
    problems: list[Lack] = []
    if not (kind.optional or assertion.rubric_prompt) and (
        value is None or (value == "" and kind.name not in _TAKES_EMPTY)
    ):
        problems.append((f"'{assertion.written}' has no value", "Say what to look for: value: …"))
    if kind.needs_threshold and assertion.threshold is None:
        problems.append(
            (
                f"'{assertion.written}' has no threshold",
                f"Say what is allowed, in {kind.needs_threshold}: threshold: …",
            )
        )
    problems += nobody_to_ask(assertion)
    for model in (assertion.judge, assertion.embedder):
        key = key_missing(model, judges=True) if model is not None else ""
        if model is not None and key:
            what = f"'{assertion.written}' asks {model.id}, and {NO_KEY.format(model.id)}"
            problems.append((what, set_key(key), AuthError.slug))
    return problems


_SHARES = frozenset(
    "answer-relevance bleu classifier context-faithfulness context-recall context-relevance conversation-relevance "
    "g-eval gleu llm-rubric meteor perplexity-score rouge-n similar similar:cosine tool-call-f1 "
    "trajectory:goal-success".split()
)
"""Types whose threshold is held against a number from 0 to 1."""


def beyond(assertion: Assertion) -> str:
    """What to say of a threshold that no score reaches; empty for any other.

    As in promptfoo it is held against the score, and so decides nothing.
    """
    threshold = assertion.threshold or 0.0
    # A prompt of the user's own may have the judge score on any scale.
    if kind_of(assertion.type).name not in _SHARES or threshold <= 1 or assertion.rubric_prompt:
        return ""
    always = "passes" if assertion.negated else "fails"
    return f"'{assertion.written}' scores at most 1, and always {always} at the threshold {threshold:g}"


def nobody_to_ask(assertion: Assertion) -> list[Lack]:
    """That nobody is there to ask, for each of its tasks that has nobody."""
    kind = kind_of(assertion.type)
    problems: list[Lack] = []
    if kind.asks is not None and assertion.judge is None:
        problems.append(_nobody(assertion, kind.asks))
    if kind.embeds and assertion.embedder is None:
        problems.append(_nobody(assertion, "embed"))
    return problems


def _nobody(assertion: Assertion, task: Task) -> tuple[str, str]:
    """What to say where nobody is named who could be asked."""
    if task == "generate":
        return (
            f"'{assertion.type}' has no model to judge",
            "Name one: `provider` in the assertion, a judge in the file's defaults or the project, or EVENHAND_JUDGE.",
        )
    key = {"embed": "embedding", "classify": "classification", "moderate": "moderation"}[task]
    return (
        f"'{assertion.type}' has no model for {key}",
        f"Name one: provider: {{{key}: …}} in the assertion, or in defaultTest.options.",
    )


def fixed_scorer(assertion: Assertion) -> Scorer | None:
    """The scorer of an assertion that is the same for every case; None where it depends on the case.

    Raises:
        EvenhandError: There can be none with this value.
    """
    kind, value = kind_of(assertion.type), assertion.value
    if kind.of_each_cell or is_file(value):
        return None
    if kind.tags and _is_filled_in(value):
        return None
    return kind.make(assertion, NO_CELL, value)


def _renderer(kind: Kind, value: Any, templates: Templates) -> Callable[[Mapping[str, Any]], Any]:
    clean = str if kind.name == _SENDS else known.text
    if kind.tags and isinstance(value, str) and has_tags(value):
        return lambda variables: clean(templates.render(value, variables))
    if kind.tags and is_array(value):
        return lambda variables: [
            clean(templates.render(v, variables)) if isinstance(v, str) else v for v in value
        ]
    return lambda _: value


def _without_secrets(assertion: Assertion) -> Assertion:
    """An assertion whose value names no known secret, as replies do not: `not-contains` still finds one leaked."""
    if assertion.type == _SENDS:
        return assertion
    value = known.inside(assertion.value)
    return assertion if value == assertion.value else replace(assertion, value=value)


def items_of(value: object) -> Sequence[object]:
    """The items of a list; none of anything else."""
    return value if isinstance(value, (list, tuple)) else ()


def _is_filled_in(value: object) -> bool:
    """Whether a value, or an item of it, has tags."""
    if isinstance(value, str):
        return has_tags(value)
    return any(isinstance(item, str) and has_tags(item) for item in items_of(value))


def is_file(value: object) -> bool:
    """Whether a value names a file."""
    return isinstance(value, str) and value.startswith("file://")

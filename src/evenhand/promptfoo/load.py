"""A folder of prompts, models and tests in, a plan out. Nothing is run; all that is wrong is said at once."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import NothingSelected, Problem, UsageError
from evenhand.core.message import Prompt
from evenhand.core.plan import CallEstimate, RunOptions, Selection, Step
from evenhand.core.provider import Provider
from evenhand.core.secrets import redacted
from evenhand.core.variant import Variant
from evenhand.promptfoo.aggregate import verdict_rule
from evenhand.promptfoo.cases import Test, TestReader
from evenhand.promptfoo.config import Config, find_config, read_config
from evenhand.promptfoo.findings import Findings, did_you_mean
from evenhand.promptfoo.models import Column, Models
from evenhand.promptfoo.prompts import AnyPrompt, FunctionPrompt, read_prompts
from evenhand.promptfoo.sources import Source, content_digest, read_sources
from evenhand.promptfoo.step import CellBody, Pair, described, resolved

_BESIDE = frozenset(
    """
    $schema description tags outputPath sharing evaluateOptions commandLineOptions writeLatestResults tracing redteam
    """.split()
)
"""Keys that do not decide what a trial does, so that a run can be resumed after they changed."""

JUDGE_TOKENS = 700
"""A guess at what a judge is sent: our prompt, a rubric of two lines, an answer of three paragraphs."""

ESTIMATED_FROM = 300
"""Steps whose prompts are filled in to estimate tokens and prices of all."""


def load(
    path: Path,
    selection: Selection | None = None,
    *,
    strict_prompts: bool = False,
    env: Mapping[str, str] | None = None,
) -> PromptfooPlan:
    """The plan of a promptfoo config.

    Args:
        path: The config file, or the folder that holds a promptfooconfig.yaml.
        selection: Which of its tests to run.
        strict_prompts: Call prompt functions as promptfoo does, whatever their parameters are called.
        env: The environment; by default the process's.

    Raises:
        ConfigError: What is wrong with the config and the files that it names: all of it.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    selection = selection or Selection()
    findings = Findings()
    file = find_config(path, findings)
    config = read_config(file, os.environ if env is None else env, findings) if file else None
    if config is None:
        raise findings.error()
    config.strict_prompts = config.strict_prompts or strict_prompts
    models = Models(config, findings)
    prompts = read_prompts(config, findings)
    columns = models.subjects()
    sources = read_sources(config, findings)
    reader = TestReader(config, sources, models, findings)
    pairs = _pairs(prompts, columns, config, findings)
    selected = _Selected(selection)
    survey = _survey(reader, pairs, selected, findings)
    if not findings.problems and not survey.tests and not selected.narrows:
        findings.problem(
            config.at("tests"), "there are no tests", "The files that it names hold none."
        )
    if findings.problems:
        raise findings.error()
    _look_at(survey, pairs, config, findings)
    if not survey.cases:
        raise NothingSelected(
            f"the selection leaves none of {survey.tests} tests", hint=f"It was: {selected.words}."
        )
    return PromptfooPlan(
        config, selection, pairs, columns, models, sources, reader, selected, survey, findings.hints
    )


@dataclass(slots=True)
class _Survey:
    """What the first walk over the tests found.

    Attributes:
        tests: Tests, before the selection.
        cases: Selected cases: tests spread over their lists of variables.
        cells: Cases × the columns that take them.
        vacuous: Selected tests that expect nothing.
        homeless: Selected tests that no column takes.
        calls: Cells in each column that ask its model.
        judged: Judge calls for each judge.
    """

    tests: int = 0
    cases: int = 0
    cells: int = 0
    vacuous: int = 0
    homeless: int = 0
    calls: dict[int, int] = field(default_factory=dict[int, int])
    judged: dict[str, int] = field(default_factory=dict[str, int])


class _Selected:
    """Which tests a selection takes: filter, then sample, then first."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._drawn: frozenset[int] | None = None
        try:
            self._pattern = re.compile(selection.filter) if selection.filter else None
        except re.error as error:
            raise UsageError(
                f"--filter: '{selection.filter}' is not a regular expression: {error}"
            ) from None

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out."""
        s = self._selection
        return bool(s.filter) or s.first is not None or s.sample is not None

    @property
    def words(self) -> str:
        """The selection, as it was asked for."""
        s = self._selection
        parts = (
            f"--filter {s.filter!r}" if s.filter else "",
            f"--sample {s.sample}" if s.sample is not None else "",
            f"--first {s.first}" if s.first is not None else "",
        )
        return ", ".join(filter(None, parts)) or "everything"

    def draw(self, matching: int) -> None:
        """Chooses the sample, once it is known how many match the filter."""
        wanted = self._selection.sample
        if wanted is not None and wanted < matching:
            chosen = random.Random(self._selection.seed).sample(range(matching), wanted)  # noqa: S311 (a sample, not a secret)
            self._drawn = frozenset(chosen)

    def matches(self, test: Test) -> bool:
        """Whether the filter takes a test."""
        if self._pattern is None:
            return True
        texts = (test.description, *(str(value) for value in test.variables.values()))
        return any(self._pattern.search(text) for text in texts)

    def of(self, tests: Iterator[Test]) -> Iterator[Test]:
        """The tests that are taken."""
        return (test for test, taken in self.walked(tests) if taken)

    def walked(self, tests: Iterator[Test]) -> Iterator[tuple[Test, bool]]:
        """The tests up to the last that is taken, and whether each is."""
        first = self._selection.first
        number = taken = 0
        for test in tests:
            if first is not None and taken >= first:
                return
            if not self.matches(test):
                yield test, False
                continue
            chosen = self._drawn is None or number in self._drawn
            number += 1
            taken += chosen
            yield test, chosen


def _survey(
    reader: TestReader, pairs: Sequence[Pair], selected: _Selected, findings: Findings
) -> _Survey:
    """Walks the tests once: checks them all, counts what is selected."""
    survey = _Survey()
    if not selected.narrows:
        for test in reader.tests(checking=True):
            survey.tests += 1
            _look_at_names(test, pairs, findings)
            _count(test, pairs, survey)
        return survey
    matching = 0
    for test in reader.tests(checking=True):
        survey.tests += 1
        _look_at_names(test, pairs, findings)
        matching += selected.matches(test)
    selected.draw(matching)
    for test in selected.of(reader.tests()):
        _count(test, pairs, survey)
    return survey


def _look_at(survey: _Survey, pairs: Sequence[Pair], config: Config, findings: Findings) -> None:
    """Hints at what is allowed and seldom meant."""
    if survey.vacuous:
        findings.hint(
            config.at("tests"),
            f"{survey.vacuous} of {survey.tests} tests expect nothing, so that any answer passes",
            "Give them an assert, or write one for all under defaultTest.",
        )
    if survey.homeless:
        findings.hint(
            config.at("tests"),
            f"{survey.homeless} of {survey.tests} tests are run nowhere",
            "No column has the prompts and providers that they name.",
        )
    names = [str(pair.variant) for pair in pairs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        findings.hint(
            config.at("prompts"),
            f"two columns are called '{name}'",
            "Give prompts or providers a label.",
        )


def _look_at_names(test: Test, pairs: Sequence[Pair], findings: Findings) -> None:
    """Notes variables that a prompt names and a test does not set: they print as nothing."""
    there = test.variables.keys()
    for pair in pairs:
        if pair.names <= there:
            continue
        for name in sorted(pair.names - there):
            findings.hint(
                pair.prompt.place,
                f"variable '{name}' is not set by every test, and prints as nothing there",
                did_you_mean(name, there),
            )


def _count(test: Test, pairs: Sequence[Pair], survey: _Survey) -> None:
    cases = test.count()
    survey.cases += cases
    taking = (
        pairs
        if test.prompts is None and test.providers is None
        else [pair for pair in pairs if pair.takes(test)]
    )
    survey.cells += cases * len(taking)
    survey.vacuous += not test.asserts
    survey.homeless += not taking
    if test.provider_output is None:
        for pair in taking:
            index = pair.variant.index
            survey.calls[index] = survey.calls.get(index, 0) + cases
    for judge in test.judged:
        survey.judged[judge] = survey.judged.get(judge, 0) + cases * len(taking)


def _pairs(
    prompts: Sequence[AnyPrompt], columns: Sequence[Column], config: Config, findings: Findings
) -> list[Pair]:
    found: list[Pair] = []
    labels = [prompt.label for prompt in prompts]
    for column in columns:
        taken = [prompt for prompt in prompts if column.takes(prompt.label)]
        if prompts and not taken:
            findings.problem(
                column.place,
                f"provider {column.provider.label} takes none of the prompts: {', '.join(column.prompts or ())}",
                f"There are: {', '.join(labels)}.",
            )
        for prompt in taken:
            variant = Variant(
                len(found),
                " ".join(prompt.label.split()),
                column.provider.label,
                prompt.raw,
                column.provider.id,
            )
            found.append(Pair(variant, prompt, column, config.base))
    return found


@dataclass(slots=True)
class PromptfooPlan:
    """What a promptfoo config comes to. Implements `evenhand.core.plan.Plan`."""

    _config: Config
    _selection: Selection
    _pairs: Sequence[Pair]
    _columns: Sequence[Column]
    _models: Models
    _sources: Sequence[Source]
    _reader: TestReader
    _selected: _Selected
    _survey: _Survey
    hints: Sequence[Problem]
    _fingerprint: str = ""

    @property
    def title(self) -> str:
        """Its description, or the name of its folder."""
        return str(self._config.value.get("description") or self._config.base.name)

    @property
    def source(self) -> str:
        """The config file."""
        return str(self._config.document.file)

    @property
    def size(self) -> int:
        """How many trials."""
        return self._survey.cells * self.repeats

    @property
    def case_count(self) -> int:
        """How many cases."""
        return self._survey.cases

    @property
    def repeats(self) -> int:
        """How often each is repeated."""
        return self._selection.repeats or self._config.repeats

    @property
    def variants(self) -> Sequence[Variant]:
        """The columns: every model × the prompts that it gets."""
        return tuple(pair.variant for pair in self._pairs)

    @property
    def providers(self) -> Sequence[Provider]:
        """The models to ask, and those that judge."""
        return (*(column.provider for column in self._columns), *self._models.judges)

    @property
    def options(self) -> RunOptions:
        """How it wants to be run."""
        return self._config.options

    @property
    def config(self) -> Mapping[str, Any]:
        """The config as read, secrets removed; tests in files by name only."""
        # The document, not what it came to: what was filled in from the environment may be secret.
        written = cast("Mapping[str, object]", self._config.document.value)
        kept = {k: v for k, v in written.items() if k != "tests" or isinstance(v, str)}
        return cast("Mapping[str, Any]", redacted(kept))

    @property
    def fingerprint(self) -> str:
        """A hash of the config, of the files that it names, and of the selection."""
        if not self._fingerprint:
            files = {source.path for source in self._sources if source.path}
            files |= self._reader.files | self._models.files
            files |= {
                pair.prompt.path for pair in self._pairs if isinstance(pair.prompt, FunctionPrompt)
            }
            said = {k: v for k, v in self._config.value.items() if k not in _BESIDE}
            parts = [encode(redacted(said))]
            parts += [
                f"{path.name} {content_digest(path)}".encode()
                for path in sorted(files)
                if path.is_file()
            ]
            parts += [encode([pair.prompt.label, pair.prompt.raw]) for pair in self._pairs]
            s = self._selection
            parts.append(
                encode(
                    [s.filter, s.first, s.sample, s.seed, self.repeats, self._config.strict_prompts]
                )
            )
            self._fingerprint = digest(*parts)
        return self._fingerprint

    def steps(self) -> Iterator[Step]:
        """The trials: test by test, repeat by repeat, combination by combination, model by model, prompt by prompt."""
        index = 0
        seen: dict[int, int] = {}
        pairs = self._pairs
        for test, taken in self._selected.walked(self._reader.tests()):
            taking = pairs
            if test.prompts is not None or test.providers is not None:
                taking = [pair for pair in pairs if pair.takes(test)]
            rule = verdict_rule(test.threshold)
            # Also for tests that are left out, so that a case is called the same whatever is selected.
            cases = [self._case(test, variables, seen) for variables in test.cases()]
            if not taken:
                continue
            for repeat in range(self.repeats):
                for case in cases:
                    for pair in taking:
                        yield Step(
                            index, case, pair.variant, repeat, CellBody(pair, test, case.vars), rule
                        )
                        index += 1
        if index != self.size:
            raise UsageError(
                f"the tests of {self.title} changed while they were read: there were {self.size} trials, now {index}",
                hint="Start the run again.",
            )

    def estimate(self) -> Sequence[CallEstimate]:
        """The calls, with tokens and a bound on the price from the first prompts; see `evenhand check`."""
        return _estimate(self, self._pairs, self._survey, self._models.judges)

    def _case(self, test: Test, variables: Mapping[str, Any], seen: dict[int, int]) -> Case:
        id_ = case_id(variables) if variables else case_id(test.description)
        number = int(id_, 16)
        again = seen.get(number, 0) + 1
        seen[number] = again
        return Case(
            id=id_ if again == 1 else f"{id_}#{again}",
            vars=variables,
            description=test.description or described(variables),
            metadata=test.metadata,
        )


def _estimate(
    plan: PromptfooPlan, pairs: Sequence[Pair], survey: _Survey, judges: Sequence[Provider]
) -> list[CallEstimate]:
    tokens: dict[int, list[int]] = {}
    bounds: dict[int, list[float | None]] = {}
    for number, step in enumerate(plan.steps()):
        if number >= ESTIMATED_FROM:
            break
        body = step.body
        assert isinstance(body, CellBody)  # noqa: S101 (made above)
        pair, test = body.pair, body.test
        variables = resolved(body.variables, test.files, test.tagged, pair.base)
        fill = pair.fill(test.prefix, test.suffix)
        index = pair.variant.index
        if fill is None:
            # A function's prompt is not known before it runs: its own text and what it is given come close.
            prompt = Prompt.of("\n".join([pair.prompt.raw, *map(str, variables.values())]))
        else:
            prompt = fill(variables)
        request = pair.column.provider.request(prompt)
        tokens.setdefault(index, []).append(request.tokens_in)
        bounds.setdefault(index, []).append(request.cost_bound_usd)
    found: dict[tuple[str, str], CallEstimate] = {}
    for pair in pairs:
        index, calls = pair.variant.index, survey.calls.get(pair.variant.index, 0) * plan.repeats
        sizes, prices = tokens.get(index, [0]), bounds.get(index, [None])
        known = [price for price in prices if price is not None]
        cost = sum(known) / len(known) * calls if len(known) == len(prices) else None
        _add(
            found,
            CallEstimate(
                pair.column.provider.id, "subject", calls, sum(sizes) * calls // len(sizes), cost
            ),
        )
    for judge, calls in survey.judged.items():
        known_judge = next((provider for provider in judges if provider.id == judge), None)
        request = known_judge.request(Prompt.of("word" * JUDGE_TOKENS)) if known_judge else None
        price = request.cost_bound_usd if request else None
        count = calls * plan.repeats
        _add(
            found,
            CallEstimate(
                judge,
                "judge",
                count,
                count * JUDGE_TOKENS,
                None if price is None else price * count,
            ),
        )
    return list(found.values())


def _add(found: dict[tuple[str, str], CallEstimate], estimate: CallEstimate) -> None:
    before = found.get((estimate.provider, estimate.role))
    if before is not None:
        cost = (
            None
            if before.cost_usd is None or estimate.cost_usd is None
            else before.cost_usd + estimate.cost_usd
        )
        estimate = CallEstimate(
            estimate.provider,
            estimate.role,
            before.calls + estimate.calls,
            before.tokens_in + estimate.tokens_in,
            cost,
        )
    found[estimate.provider, estimate.role] = estimate

"""The first walk over the tests: checks them all, counts what is selected, and prices it from its first prompts."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import partial

import msgspec

from evenhand.core.errors import Problem
from evenhand.core.message import Prompt
from evenhand.core.names import nearest
from evenhand.core.plan import CallEstimate, Row
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord
from evenhand.core.selecting import Selector
from evenhand.core.wording.words import count
from evenhand.doors.assertions.judge_estimates import JUDGE_TOKENS, judge_estimate
from evenhand.doors.promptfoo.body import CellBody, with_settings
from evenhand.doors.promptfoo.case_variables import resolved
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.models import Subject
from evenhand.doors.promptfoo.prompts import TextPrompt
from evenhand.doors.promptfoo.reader import KeptTests, TestReader, Tests, numbered
from evenhand.doors.promptfoo.tests import Test, TestSource, takes
from evenhand.doors.promptfoo.variants import Combination
from evenhand.languages.documents.findings import Findings

ESTIMATED_FROM = 300
"""Trials whose prompts are filled in to estimate tokens and prices of all."""


class Survey(MutableRecord, kw_only=True):
    """What the first walk over the tests found.

    Attributes:
        tests: Tests, before the selection.
        cases: Selected cases: tests spread over their lists of variables.
        cells: Cases × the variants that take them × repeats.
        vacuous: Selected tests that expect nothing.
        homeless: Selected tests that no variant takes.
        calls: Calls of each variant's model: one for a cell, in a conversation one for each turn that it may have.
        own: Tests that ask a model of their own, each with such calls of it, by its id.
        judged: Judge calls for each judge.
        playing: Calls at most for each model that plays a user.
        stores: Some tests store their outputs for others.
        alone: Some tests stand alone.
        uncompared: Selected tests whose outputs are to be compared, and that have one variant.
        deserted: The same of those that have several, of which no two can be asked.
        problems: Why these cannot come to a verdict: those of one variant, and of several.
    """

    tests: int = 0
    cases: int = 0
    cells: int = 0
    vacuous: int = 0
    homeless: int = 0
    calls: dict[int, int] = msgspec.field(default_factory=dict[int, int])
    own: dict[str, tuple[Subject, int]] = msgspec.field(
        default_factory=dict[str, tuple[Subject, int]]
    )
    judged: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    playing: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    stores: bool = False
    alone: bool = False
    uncompared: int = 0
    deserted: int = 0
    problems: tuple[Problem | None, Problem | None] = (None, None)

    def refuses(self, test: Test, taking: Sequence[Combination]) -> Problem | None:
        """Why a test cannot come to a verdict in any of the variants that take it; None where it may."""
        return self.problems[len(taking) > 1] if _lonely(test, taking) else None


def surveyed(
    sources: Sequence[TestSource],
    reader: TestReader,
    pairs: Sequence[Combination],
    selector: Selector,
    repeats: int,
    findings: Findings,
) -> tuple[Survey, Tests]:
    """Walks the tests once, and checks them all; those that are selected are counted.

    Returns:
        What was found, and the tests for all later walks.
    """
    survey = Survey()
    stored: set[str] = set()
    names: Collection[str] = ()
    slips: set[str] = set()
    problems: dict[int, Problem] = {}
    matching, narrows = 0, selector.narrows
    test_store = KeptTests(sources)
    for place, test in numbered(sources, reader, findings):
        survey.tests += 1
        if test.problem is not None:
            problems[place] = test.problem
        test_store.add(test)
        # The same names again would add no hint. Code may set any variable, so that none can be called missing.
        if not test.transform_vars and test.variables.keys() != names:
            names = test.variables.keys()
            _look_at_names(test, pairs, stored, slips, findings)
        # Only now: what a test stores is there for those after it, not for itself.
        if test.stores:
            stored.add(test.stores)
        if narrows:
            matching += takes(selector, test)
        else:
            _count(test, pairs, repeats, survey)
    tests = Tests(sources, reader.unchecked(), problems, test_store)
    if narrows:
        # A sample is drawn from all that match, and how many those are is known only after the first walk.
        selector.draw(matching)
        for test, taken in selector.walked(iter(tests), partial(takes, selector)):
            if taken:
                _count(test, pairs, repeats, survey)
    return survey, tests


def survey_of(test: Test, pair: Combination) -> Survey:
    """What a walk over one test in one variant would find."""
    survey = Survey(tests=1)
    _count(test, [pair], 1, survey)
    return survey


def _of_tests(some: int, tests: int, verb: str) -> str:
    """`1 of 1 test expects`, `2 of 3 tests expect`."""
    return f"{some:,} of {count(tests, 'test')} {verb}{'s' if some == 1 else ''}"


def look_at(
    survey: Survey, pairs: Sequence[Combination], config: Config, findings: Findings
) -> None:
    """Hints at what is allowed and seldom meant."""
    if survey.vacuous:
        findings.hint(
            config.at("tests"),
            f"{_of_tests(survey.vacuous, survey.tests, 'expect')} nothing, so that any answer passes",
            "Give them an assert, or write one for all under defaultTest.",
        )
    for pair in pairs:
        if pair.problem is not None:
            findings.break_off(pair.problem)
        if pair.lacking is not None and survey.calls.get(pair.variant.index):
            findings.break_off(pair.lacking)
    for subject, _ in survey.own.values():
        if subject.lacking is not None:
            findings.break_off(subject.lacking)
    lone = deserted = None
    if survey.uncompared:
        lone = findings.broken(
            config.at("tests"),
            f"{_of_tests(survey.uncompared, survey.tests, 'compare')} the outputs of variants, and"
            f" {'has' if survey.uncompared == 1 else 'have'} one",
            "Add a prompt or a provider, or take select-best and max-score away.",
        )
    if survey.deserted:
        deserted = findings.broken(
            config.at("tests"),
            f"{_of_tests(survey.deserted, survey.tests, 'compare')} the outputs of variants, of which fewer than two"
            " can be asked",
            "Mend what is wrong with the variants.",
        )
    survey.problems = (lone, deserted)
    if survey.homeless:
        findings.hint(
            config.at("tests"),
            f"{survey.homeless} of {count(survey.tests, 'test')} {'is' if survey.homeless == 1 else 'are'} run nowhere",
            "No variant has the prompts and providers that they name.",
        )
    names = [str(pair.variant) for pair in pairs] if len(pairs) > 1 else []
    for name in sorted({name for name in names if names.count(name) > 1}):
        findings.hint(
            config.at("prompts"),
            f"two variants are called '{name}'",
            "Give prompts or providers a label.",
        )


def _lonely(test: Test, taking: Sequence[Combination]) -> bool:
    """Whether the outputs of a test are to be compared, and no two of its variants can have one."""
    if test.problem is not None or not test.expected.contests:
        return False
    return sum(pair.refuses(test) is None for pair in taking) < 2  # one alone has no rival


def _look_at_names(
    test: Test,
    pairs: Sequence[Combination],
    stored: set[str],
    slips: set[str],
    findings: Findings,
) -> None:
    """Notes variables that a prompt names and a test does not set: they print as nothing.

    It is a problem where the test has another variable of nearly this name, which nothing reads; once for each name.
    """
    there = test.variables.keys()
    if stored:
        there = there | stored
    for pair in pairs:
        for name in sorted(test.variables) if isinstance(pair.prompt, TextPrompt) else ():
            if pair.names.isdisjoint({name}) and _in_single_braces(name, pair.prompt.raw):
                what = f"'{{{name}}}' in a prompt is text, and not the variable '{name}'"
                findings.hint(pair.prompt.place, what, f"Write {{{{{name}}}}}.")
        if pair.names <= there:
            continue
        for name in sorted(pair.names - there):
            near = nearest(name, there)
            if near and _is_unread(near, test, pairs) and pair.takes(test):
                if name not in slips:
                    what = f"variable '{name}' has no value in a test that has '{near}', which nothing reads"
                    findings.problem(pair.prompt.place, what, "Write one name in both.")
                slips.add(name)
                continue
            what = f"variable '{name}' is not set by every test, and prints as nothing there"
            findings.hint(pair.prompt.place, what, f"Did you mean '{near}'?" if near else "")


def _is_unread(variable: str, test: Test, pairs: Sequence[Combination]) -> bool:
    """Whether no prompt names a variable of a test, and nothing else in the test does."""
    rest = {key: value for key, value in {**test.raw, **test.shown}.items() if key != "vars"}
    return not any(variable in pair.names for pair in pairs) and variable not in str(rest)


def _in_single_braces(name: str, text: str) -> bool:
    return f"{{{name}}}" in text and f"{{{{{name}}}}}" not in text


def _count(test: Test, pairs: Sequence[Combination], repeats: int, survey: Survey) -> None:
    cases = test.count()
    survey.cases += cases
    taking = (
        pairs
        if test.prompts is None and test.providers is None
        else [pair for pair in pairs if pair.takes(test)]
    )
    trials = cases * (test.repeats or repeats)
    survey.cells += trials * len(taking)
    survey.stores |= bool(test.stores)
    survey.alone |= test.alone
    contests = test.expected.contests
    survey.vacuous += not (test.expected.makes or contests)
    lonely = _lonely(test, taking)
    survey.uncompared += lonely and len(taking) == 1
    survey.deserted += lonely and len(taking) > 1
    survey.homeless += not taking
    if test.provider_output is None:
        for pair in taking:
            request, index = pair.asked(test), pair.variant.index
            if request.problem is not None:
                continue
            turns = test.user.max_turns if test.user is not None else 1
            # Where tools are called, one answer may take several requests.
            turns *= 1 if request.mcp is None else request.mcp.turns
            if request is pair.subject:
                survey.calls[index] = survey.calls.get(index, 0) + trials * turns
            else:
                own, calls = survey.own.get(request.provider.id, (request, 0))
                survey.own[request.provider.id] = own, calls + trials * turns
    if test.user is not None and test.user.model is not None and test.provider_output is None:
        player, turns = test.user.model.id, test.user.max_turns
        survey.playing[player] = survey.playing.get(player, 0) + trials * len(taking) * turns
    for judge in test.expected.judged:
        survey.judged[judge] = survey.judged.get(judge, 0) + trials * len(taking)
    # A judge that compares is asked once for all variants of a case, not once for each.
    if contests and len(taking) > 1:
        for assertion in contests:
            if assertion.judge is not None:
                judge = assertion.judge.id
                survey.judged[judge] = survey.judged.get(judge, 0) + trials


def estimate(
    rows: Iterator[Row], pairs: Sequence[Combination], survey: Survey, judges: Sequence[Provider]
) -> list[CallEstimate]:
    """The calls of a plan.

    Args:
        rows: Its rows; the prompts of the first trials are filled in.
    """
    tokens: dict[int | str, list[int]] = {}
    bounds: dict[int | str, list[float | None]] = {}
    longest: dict[int | str, int | None] = {}
    trials = (slot for row in rows for case in row.cases for slot in row.slots(case, 0))
    for slot in itertools.islice(trials, ESTIMATED_FROM):
        body = slot.body
        assert isinstance(body, CellBody)  # noqa: S101 (made above)
        pair, test = body.pair, body.test
        variant = pair.asked(test)
        if variant.problem is not None:
            continue
        variables, filled = resolved(
            body.variables, test.files, test.tagged, pair.base, pair.templates, pair.prompt.raw
        )
        fill = pair.fill(test.prefix, test.suffix)
        key = pair.variant.index if variant is pair.subject else variant.provider.id
        if fill is None:
            # A function's prompt is not known before it runs: its own text and what it is given come close.
            prompt = Prompt.of("\n".join([pair.prompt.raw, *map(str, variables.values())]))
        else:
            prompt = with_settings(fill(variables, filled), test)
        request = variant.provider.request(prompt)
        tokens.setdefault(key, []).append(request.tokens_in)
        bounds.setdefault(key, []).append(request.cost_bound_usd)
        out, before = request.tokens_out, longest.get(key, 0)
        longest[key] = None if out is None or before is None else max(before, out)
    models: list[tuple[str, int | str, int]] = [
        (pair.subject.provider.id, pair.variant.index, survey.calls.get(pair.variant.index, 0))
        for pair in pairs
        if pair.subject.problem is None
    ]
    models += [(id_, id_, calls) for id_, (_, calls) in survey.own.items()]
    estimates: list[CallEstimate] = []
    for id_, key, calls in models:
        sizes, prices = tokens.get(key, [0]), bounds.get(key, [None])
        known = [price for price in prices if price is not None]
        # One prompt without a price leaves the sum unknown, rather than too low.
        cost = sum(known) / len(known) * calls if len(known) == len(prices) else None
        tokens_in = sum(sizes) * calls // len(sizes)
        out = longest.get(key)
        tokens_out = None if out is None else out * calls
        estimates.append(CallEstimate(id_, "subject", calls, tokens_in, cost, tokens_out))
    calls_by_role = [(one, "judge", calls) for one, calls in survey.judged.items()]
    calls_by_role += [(one, "simulator", calls) for one, calls in survey.playing.items()]
    for judge, role, calls in calls_by_role:
        known_judge = next((provider for provider in judges if provider.id == judge), None)
        estimates.append(
            CallEstimate(judge, role, calls, calls * JUDGE_TOKENS, None)
            if known_judge is None
            else judge_estimate(known_judge, calls, role)
        )
    return estimates

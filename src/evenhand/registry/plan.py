"""The cases of prompts as one plan: prompt by prompt, case by case, then the queries that should lead there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import NothingSelected, Problem
from evenhand.core.expect import share_passed
from evenhand.core.message import Prompt
from evenhand.core.plan import (
    CALL_LIMIT_S,
    CallEstimate,
    RunOptions,
    Selection,
    Step,
    refuse_if_nothing_is_left,
)
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant
from evenhand.documents.findings import Findings
from evenhand.providers.roster import Roster, model_id
from evenhand.registry.cases import EvalCase, EvalFile, chosen, read_eval
from evenhand.registry.library import EVAL, GUARD, VERIFY, Library
from evenhand.registry.outcome import Asked, keep
from evenhand.registry.prompt import read_prompt
from evenhand.registry.suite import Query, Suite, set_columns, suite_of
from evenhand.registry.trial import CaseBody, QueryBody
from evenhand.registry.values import merged
from evenhand.templates.plain import lacking, render


@dataclass(slots=True)
class RegistryPlan:
    """What prompt directories come to. Implements `evenhand.core.plan.Plan`.

    Attributes:
        broken: What keeps cases and queries from a verdict: these are errors, and all else is run.
        told: Once it has run: a line on each prompt, for people.
    """

    library: Library
    suites: Sequence[Suite]
    models: Roster
    selection: Selection
    variables: Mapping[str, object]
    offline: bool
    hints: Sequence[Problem] = ()
    broken: Sequence[Problem] = ()
    told: list[str] = field(default_factory=list[str])
    _fingerprint: str = ""

    @property
    def title(self) -> str:
        """The prompt's id, or how many there are."""
        ids = [suite.prompt.id for suite in self.suites]
        return ids[0] if len(ids) == 1 else f"{len(ids)} prompts"

    @property
    def source(self) -> str:
        """The repository: its `.evenhand` keeps the runs of all its prompts."""
        return str(self.library.root)

    @property
    def size(self) -> int:
        """How many trials."""
        return sum(suite.size * self._repeats(suite.eval) for suite in self.suites)

    @property
    def case_count(self) -> int:
        """How many cases and queries."""
        return sum(suite.size for suite in self.suites)

    @property
    def repeats(self) -> int:
        """The most that any prompt repeats."""
        return max((self._repeats(suite.eval) for suite in self.suites), default=1)

    @property
    def variants(self) -> Sequence[Variant]:
        """A column for each prompt with each of its models, and one for its queries."""
        return tuple(variant for suite in self.suites for variant in suite.variants)

    @property
    def providers(self) -> Sequence[Provider]:
        """All models that are named."""
        return tuple(self.models.made)

    @property
    def options(self) -> RunOptions:
        """How it wants to be run. Once it has, each prompt's evidence has a row more."""
        rate = min((suite.eval.pass_rate for suite in self.suites), default=1.0)
        project = self.models.project
        return RunOptions(
            pass_rate=rate,
            closing=self._close,
            time_limit_s=project.time_limit_s or CALL_LIMIT_S,
            retries=project.retries,
        )

    @property
    def config(self) -> Mapping[str, Any]:
        """The prompts: what is run of them, and what they are at this moment."""
        return {
            "prompts": [
                {
                    **self._asked(suite).record(),
                    "status": suite.prompt.meta.status,
                    "cases": [case.name for case in suite.cases],
                    "queries": len(suite.queries),
                }
                for suite in self.suites
            ]
        }

    @property
    def fingerprint(self) -> str:
        """A hash of all that the prompts, their cases and their hooks are, and of the selection."""
        if not self._fingerprint:
            parts = [suite.content.whole for suite in self.suites]
            names = [[s.row(i).id for i in (*s.cases, *s.queries)] for s in self.suites]
            models = [str(variant) for variant in self.variants]
            judges = [
                p.id if p else "" for suite in self.suites for p in (suite.judge, suite.router)
            ]
            said = [names, models, judges, dict(self.variables), self.repeats, self.offline]
            self._fingerprint = digest(*parts, encode(said))
        return self._fingerprint

    def steps(self) -> Iterator[Step]:
        """The trials."""
        index = 0
        for suite in self.suites:
            column = {variant.axes["model"]: variant for variant in suite.variants}
            for case in suite.cases:
                row, variant = self._row(suite, case), column[case.model]
                body = self._body(suite, case)
                for repeat in range(self._repeats(suite.eval)):
                    yield Step(
                        index,
                        row,
                        variant,
                        repeat,
                        body,
                        rule=share_passed,
                        judge=body.judge,
                        problem=suite.refuses(case, self.models),
                    )
                    index += 1
            for query in suite.queries:
                body = QueryBody(
                    suite.prompt.meta, query.text, query.wanted, suite.others, suite.router
                )
                row, variant = self._row(suite, query), suite.variants[-1]
                for repeat in range(self._repeats(suite.eval)):
                    yield Step(
                        index,
                        row,
                        variant,
                        repeat,
                        body,
                        rule=share_passed,
                        judge=suite.router,
                        problem=suite.refuses(query, self.models),
                    )
                    index += 1

    def estimate(self) -> Sequence[CallEstimate]:
        """The calls to subjects and judges. What a guard sets is not known before it has run."""
        found: dict[tuple[str, str], list[CallEstimate]] = {}
        for suite in self.suites:
            repeats = self._repeats(suite.eval)
            for case in suite.cases:
                provider = self.models(case.model, case.timeout_s)
                values = merged(suite.prompt.defaults, case.inputs, self.variables)
                blank = dict.fromkeys(lacking(suite.prompt.template, values), "")
                text = render(suite.prompt.template, {**blank, **values}, "")
                request = provider.request(Prompt.of(text))
                bound = request.cost_bound_usd if provider.paid else 0.0
                _count(found, provider.id, "subject", repeats, request.tokens_in, bound)
                judge = suite.judge_of(case, self.models)
                if case.rubric.strip() and judge is not None:
                    calls = repeats * case.judging.samples
                    _count(found, judge.id, "judge", calls, len(case.rubric) // 4, None)
            if suite.queries and suite.router is not None:
                calls = repeats * len(suite.queries)
                _count(found, suite.router.id, "judge", calls, 0, None)
        return [_summed(rows) for rows in found.values()]

    def _repeats(self, suite: EvalFile) -> int:
        return self.selection.repeats or suite.repeats

    def _row(self, suite: Suite, item: EvalCase | Query) -> Case:
        """A row with an id of its own among all prompts."""
        row = suite.row(item, self.variables)
        return row if len(self.suites) == 1 else replace(row, id=f"{suite.prompt.id}/{row.id}")

    def _body(self, suite: Suite, case: EvalCase) -> CaseBody:
        folder = suite.prompt.path
        return CaseBody(
            prompt=suite.prompt,
            case=case,
            provider=self.models(case.model, case.timeout_s),
            judge=suite.judge_of(case, self.models),
            variables=self.variables,
            guard=folder / GUARD if case.hooks else None,
            verify=folder / VERIFY if case.hooks else None,
        )

    def _asked(self, suite: Suite) -> Asked:
        return Asked(
            id=suite.prompt.id,
            version=suite.prompt.meta.version,
            content=suite.content,
            columns=tuple(variant.index for variant in suite.variants),
            model=model_id(suite.prompt.meta.model),
            models=tuple(dict.fromkeys(model_id(case.model) for case in suite.cases)),
            judge=suite.default_judge.id,
            judge_named_by=suite.default_judge.named_by,
            partial=suite.partial
            or bool(self.variables)
            or self._repeats(suite.eval) < suite.eval.repeats,
            offline=self.offline,
            pass_rate=suite.eval.pass_rate,
        )

    def _close(self, run: Path) -> None:
        self.told[:] = keep(run, {suite.prompt.id: suite.prompt for suite in self.suites})


def load(
    library: Library,
    ids: Sequence[str],
    selection: Selection | None = None,
    *,
    case: str = "",
    variables: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
) -> RegistryPlan:
    """The plan of prompts' cases.

    Args:
        library: The repository.
        ids: Which of its prompts; those without an eval.yml are left out where there are several.
        selection: Which of their cases. Whatever is left out makes their evidence partial.
        case: Only the case with this name; trigger tests are left out then, too.
        variables: Over the inputs of every case.
        env: The environment; the process's by default.
        offline: Whether the answers are scripted, so that they are evidence of nothing.

    Raises:
        ConfigError: All that is wrong with the prompts and their eval.yml.
        UsageError: There is no such prompt or case.
        NothingSelected: Nothing is left to run.
    """
    selection = selection or Selection()
    environment = os.environ if env is None else env
    findings = Findings()
    models = Roster(library.root, environment)
    suites: list[Suite] = []
    for id_ in ids:
        path = library.folder(id_) / EVAL
        if len(ids) > 1 and not path.exists():
            continue
        prompt = read_prompt(library, id_, findings)
        if not path.exists():
            findings.problem(prompt.at(), f"{id_} has no eval.yml", "Write one beside it.")
            continue
        found = read_eval(prompt, findings, models)
        if found is None:
            continue
        suites.append(suite_of(prompt, found, models, findings))
    if findings.problems:
        raise findings.error()
    if case and not any(c.name == case for suite in suites for c in suite.cases):
        chosen([c for suite in suites for c in suite.cases], case)
    for suite in suites:
        suite.select(selection, case)
    suites = [suite for suite in suites if suite.size]
    if not suites:
        raise NothingSelected("the selection leaves no case to run")
    set_columns(suites)
    for suite in suites:
        for item in (*suite.cases, *suite.queries):
            findings.break_off(*filter(None, [suite.refuses(item, models)]))
    plan = RegistryPlan(
        library,
        suites,
        models,
        selection,
        variables or {},
        offline,
        findings.hints,
        sorted(findings.broken_parts),
    )
    refuse_if_nothing_is_left(plan, plan.broken)
    return plan


def _count(
    found: dict[tuple[str, str], list[CallEstimate]],
    provider: str,
    role: str,
    calls: int,
    tokens_in: int,
    bound: float | None,
) -> None:
    cost = None if bound is None else bound * calls
    row = CallEstimate(provider, role, calls, tokens_in * calls, cost)
    found.setdefault((provider, role), []).append(row)


def _summed(rows: Sequence[CallEstimate]) -> CallEstimate:
    costs = [row.cost_usd for row in rows]
    return CallEstimate(
        rows[0].provider,
        rows[0].role,
        sum(row.calls for row in rows),
        sum(row.tokens_in for row in rows),
        None if None in costs else sum(filter(None, costs)),
    )

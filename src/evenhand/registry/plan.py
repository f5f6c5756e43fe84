"""The cases of prompts as one plan: prompt by prompt, case by case, then the queries that should lead there."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import NothingSelected, Problem, UsageError
from evenhand.core.expect import share_passed
from evenhand.core.message import Prompt
from evenhand.core.plan import CallEstimate, RunOptions, Selection, Step
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant
from evenhand.documents.findings import Findings
from evenhand.registry.assertions import Lend
from evenhand.registry.cases import EvalCase, EvalFile, chosen, read_eval
from evenhand.registry.content import Content, content_of
from evenhand.registry.library import EVAL, GUARD, VERIFY, Library
from evenhand.registry.models import Models, model_id
from evenhand.registry.outcome import Asked, keep
from evenhand.registry.prompt import PromptFolder, read_prompt
from evenhand.registry.rendering import merged, names_in, render
from evenhand.registry.trial import CaseBody, QueryBody

TRIGGERING = "triggering"


@dataclass(slots=True)
class Suite:
    """One prompt with its eval.yml, and what of it is run.

    Attributes:
        judge: Who judges, where a case names nobody; None where nobody is named at all.
        router: Who decides about the queries.
        content: What it was when it was read: that is what the run is evidence of.
        partial: Whether less than all of it is run.
    """

    prompt: PromptFolder
    eval: EvalFile
    cases: Sequence[EvalCase]
    queries: Sequence[tuple[str, bool]]
    judge: Provider | None
    router: Provider | None
    content: Content
    variants: list[Variant] = field(default_factory=list[Variant])
    partial: bool = False


@dataclass(slots=True)
class RegistryPlan:
    """What prompt directories come to. Implements `evenhand.core.plan.Plan`.

    Attributes:
        told: Once it has run: a line on each prompt, for people.
    """

    library: Library
    suites: Sequence[Suite]
    models: Models
    selection: Selection
    variables: Mapping[str, object]
    offline: bool
    hints: Sequence[Problem] = ()
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
        return sum((len(s.cases) + len(s.queries)) * self._repeats(s.eval) for s in self.suites)

    @property
    def case_count(self) -> int:
        """How many cases and queries."""
        return sum(len(suite.cases) + len(suite.queries) for suite in self.suites)

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
        return RunOptions(pass_rate=rate, closing=self._close)

    @property
    def config(self) -> Mapping[str, Any]:
        """The prompts: what is run of them, and what they are at this moment."""
        return {
            "prompts": [
                {
                    "id": suite.prompt.id,
                    "version": suite.prompt.meta.version,
                    "status": suite.prompt.meta.status,
                    "content": suite.content.whole,
                    "cases": [case.name for case in suite.cases],
                    "queries": len(suite.queries),
                    "partial": suite.partial,
                }
                for suite in self.suites
            ]
        }

    @property
    def fingerprint(self) -> str:
        """A hash of all that the prompts, their cases and their hooks are, and of the selection."""
        if not self._fingerprint:
            parts = [suite.content.whole for suite in self.suites]
            names = [[case.name for case in suite.cases] for suite in self.suites]
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
                row = self._case(suite, case)
                variant = column[case.model]
                body = self._body(suite, case)
                for repeat in range(self._repeats(suite.eval)):
                    yield Step(
                        index, row, variant, repeat, body, rule=share_passed, judge=body.judge
                    )
                    index += 1
            for query, wanted in suite.queries:
                body = QueryBody(
                    suite.prompt.meta, query, wanted, self._others(suite), suite.router
                )
                row = self._query(suite, query, wanted)
                variant = suite.variants[-1]
                for repeat in range(self._repeats(suite.eval)):
                    yield Step(
                        index, row, variant, repeat, body, rule=share_passed, judge=suite.router
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
                blank = dict.fromkeys(names_in(suite.prompt.template), "")
                text = render(suite.prompt.template, {**blank, **values}, "")
                request = provider.request(Prompt.of(text))
                bound = request.cost_bound_usd if provider.paid else 0.0
                _count(found, provider.id, "subject", repeats, request.tokens_in, bound)
                judge = self._judge(suite, case)
                if case.rubric.strip() and judge is not None:
                    calls = repeats * case.judging.samples
                    _count(found, judge.id, "judge", calls, len(case.rubric) // 4, None)
            if suite.queries and suite.router is not None:
                calls = repeats * len(suite.queries)
                _count(found, suite.router.id, "judge", calls, 0, None)
        return [_summed(rows) for rows in found.values()]

    def _repeats(self, suite: EvalFile) -> int:
        return self.selection.repeats or suite.repeats

    def _prefix(self, suite: Suite) -> str:
        return f"{suite.prompt.id}/" if len(self.suites) > 1 else ""

    def _case(self, suite: Suite, case: EvalCase) -> Case:
        values = merged(suite.prompt.defaults, case.inputs, self.variables)
        about = {"prompt": suite.prompt.id, "where": str(case.place)}
        name = self._prefix(suite) + case.name
        return Case(name, values, description=case.name, tags=case.tags, metadata=about)

    def _query(self, suite: Suite, query: str, wanted: bool) -> Case:
        said = "should match" if wanted else "should not match"
        name = f"{self._prefix(suite)}{TRIGGERING}-{case_id([query, wanted])}"
        about = {"prompt": suite.prompt.id, "triggering": True, "should_match": wanted}
        return Case(name, {"query": query}, query, description=f"{said}: {query}", metadata=about)

    def _judge(self, suite: Suite, case: EvalCase) -> Provider | None:
        return self.models(case.judging.model) if case.judging.model else suite.judge

    def _others(self, suite: Suite) -> Sequence[str]:
        return suite.eval.triggering.others if suite.eval.triggering else ()

    def _body(self, suite: Suite, case: EvalCase) -> CaseBody:
        folder = suite.prompt.path
        return CaseBody(
            prompt=suite.prompt,
            case=case,
            provider=self.models(case.model, case.timeout_s),
            judge=self._judge(suite, case),
            variables=self.variables,
            guard=folder / GUARD if case.hooks else None,
            verify=folder / VERIFY if case.hooks else None,
        )

    def _close(self, run: Path) -> None:
        asked = [
            Asked(
                suite.prompt,
                suite.content,
                tuple(variant.index for variant in suite.variants),
                tuple(dict.fromkeys(model_id(case.model) for case in suite.cases)),
                suite.judge.id if suite.judge else "",
                suite.partial or bool(self.variables),
                self.offline,
                suite.eval.pass_rate,
            )
            for suite in self.suites
        ]
        self.told[:] = keep(run, asked)


def load(
    library: Library,
    ids: Sequence[str],
    selection: Selection | None = None,
    *,
    case: str = "",
    variables: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
    lend: Lend | None = None,
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
        lend: Who reads assertions of another dialect.

    Raises:
        ConfigError: All that is wrong with the prompts and their eval.yml.
        UsageError: There is no such prompt or case.
        NothingSelected: Nothing is left to run.
    """
    selection = selection or Selection()
    environment = os.environ if env is None else env
    findings = Findings()
    models = Models(environment, library.root)
    suites: list[Suite] = []
    for id_ in ids:
        path = library.folder(id_) / EVAL
        if len(ids) > 1 and not path.exists():
            continue
        prompt = read_prompt(library, id_, findings)
        if not path.exists():
            findings.problem(prompt.at(), f"{id_} has no eval.yml", "Write one beside it.")
            continue
        found = read_eval(prompt, findings, lend)
        if found is not None:
            suites.append(_suite(prompt, found, models, environment, findings))
    if findings.problems:
        raise findings.error()
    if case and not any(c.name == case for suite in suites for c in suite.cases):
        chosen([c for suite in suites for c in suite.cases], case)
    for suite in suites:
        _select(suite, selection, case)
    suites = [suite for suite in suites if suite.cases or suite.queries]
    if not suites:
        raise NothingSelected("the selection leaves no case to run")
    _columns(suites)
    return RegistryPlan(
        library, suites, models, selection, variables or {}, offline, findings.hints
    )


def _suite(
    prompt: PromptFolder,
    found: EvalFile,
    models: Models,
    env: Mapping[str, str],
    findings: Findings,
) -> Suite:
    """One prompt's suite, its models looked up."""
    for case in found.cases:
        if not case.model:
            hint = "Write model: below defaults in eval.yml, or in meta.yml."
            findings.problem(case.place, f"case '{case.name}' names no model", hint)
            continue
        for name, timeout_s in ((case.model, case.timeout_s), (case.judging.model, None)):
            wrong = models.wrong(name) if name else None
            if wrong is not None:
                findings.problem(case.place, wrong.message, wrong.hint)
            elif name:
                models(name, timeout_s)  # so that it is among the plan's models from the start
    queries = found.triggering.queries if found.triggering else ()
    rated = [case for case in found.cases if case.rubric.strip()]
    default = found.judge or env.get("EVENHAND_JUDGE") or ""
    judge = router = None
    if any(not case.judging.model for case in rated):
        judge = _judge(default, prompt, found, models, findings)
    if found.triggering and queries:
        router = _judge(found.triggering.judge or default, prompt, found, models, findings)
    content = content_of(prompt, found)
    return Suite(prompt, found, found.cases, queries, judge, router, content)


def _judge(
    name: str, prompt: PromptFolder, found: EvalFile, models: Models, findings: Findings
) -> Provider | None:
    """Who judges: the one named, or else the model that answers."""
    place = prompt.at("model")
    chosen_ = name or found.model or prompt.meta.model
    if not chosen_:
        hint = "Write defaults: {judge: {model: …}} in eval.yml, or set EVENHAND_JUDGE."
        findings.problem(place, f"{prompt.id}: nobody is named to judge", hint)
        return None
    wrong = models.wrong(chosen_)
    if wrong is not None:
        findings.problem(place, wrong.message, wrong.hint)
        return None
    if not name:
        findings.hint(
            place,
            f"{prompt.id} is judged by {model_id(chosen_)}, the model that answers",
            "A model is kind to itself: name another, defaults: {judge: {model: …}}.",
        )
    return models(chosen_)


def _select(suite: Suite, selection: Selection, case: str) -> None:
    """Leaves what is selected of a suite."""
    cases, queries = list(suite.cases), list(suite.queries)
    if case:
        cases, queries = [c for c in cases if c.name == case], []
    if selection.filter:
        try:
            pattern = re.compile(selection.filter)
        except re.error as error:
            raise UsageError(
                f"--filter: '{selection.filter}' is not a regular expression: {error}"
            ) from None
        cases = [
            c for c in cases if any(map(pattern.search, (c.name, *map(str, c.inputs.values()))))
        ]
        queries = [query for query in queries if pattern.search(query[0])]
    both: list[Any] = [*cases, *queries]
    if selection.only is not None:
        both = [item for item in both if not selection.only.isdisjoint(_names(suite, item))]
    if selection.range is not None:
        both = both[slice(*selection.range)]
    if selection.first is not None:
        both = both[: selection.first]
    if selection.sample is not None and selection.sample < len(both):
        drawn = random.Random(selection.seed).sample(range(len(both)), selection.sample)  # noqa: S311 (a sample)
        both = [both[i] for i in sorted(drawn)]
    suite.partial = len(both) < len(suite.cases) + len(suite.queries)
    suite.cases = [item for item in both if isinstance(item, EvalCase)]
    suite.queries = [item for item in both if not isinstance(item, EvalCase)]


def _names(suite: Suite, item: Any) -> set[str]:
    """The ids that a case or a query may have, alone and among other prompts."""
    name = item.name if isinstance(item, EvalCase) else f"{TRIGGERING}-{case_id(list(item))}"
    return {name, f"{suite.prompt.id}/{name}"}


def _columns(suites: Sequence[Suite]) -> None:
    """Gives each suite its columns: one for each model that is asked, and one for the queries."""
    count = 0
    for suite in suites:
        id_, template = suite.prompt.id, suite.prompt.template
        where = str(suite.eval.path)
        for model in dict.fromkeys(case.model for case in suite.cases):
            axes = {"model": model}
            found = Variant(
                count, id_, model_id(model), template, model_id(model), axes, where=where
            )
            suite.variants.append(found)
            count += 1
        if suite.queries and suite.router is not None:
            label, id_ = suite.router.label, f"{id_}: {TRIGGERING}"
            axes = {"model": TRIGGERING}
            suite.variants.append(
                Variant(count, id_, label, "", suite.router.id, axes, where=where)
            )
            count += 1


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

"""The cases of prompts as one plan: prompt by prompt, case by case, then the queries that should lead there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import NothingSelected
from evenhand.core.expect import share_passed
from evenhand.core.message import Prompt
from evenhand.core.plan import (
    CALL_LIMIT_S,
    CallEstimate,
    Plan,
    Row,
    RunOptions,
    Selection,
    Sheet,
    Slot,
    refuse_if_nothing_is_left,
)
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.doors.assertions.judge_estimates import judge_estimate
from evenhand.doors.prompt_directories.editing import PromptsEditor
from evenhand.doors.prompt_directories.eval_yml import EvalCase, EvalFile, chosen, read_eval
from evenhand.doors.prompt_directories.library import EVAL, GUARD, VERIFY, Library
from evenhand.doors.prompt_directories.outcome import PromptRequest, keep
from evenhand.doors.prompt_directories.prompt import merged, read_prompt
from evenhand.doors.prompt_directories.suite import Query, Suite, set_columns, suite_of
from evenhand.doors.prompt_directories.trial import CaseBody, QueryBody
from evenhand.languages.documents.findings import Findings
from evenhand.languages.templates.plain import lacking, render
from evenhand.providers.roster import Roster, model_id


class Prompts(Record, frozen=True, kw_only=True):
    """Prompt directories, read: what is run of each. `plan` makes a sheet of each.

    Attributes:
        variables: Over the inputs of every case.
        offline: Whether the answers are scripted, so that they are evidence of nothing.
    """

    library: Library
    suites: Sequence[Suite]
    roster: Roster
    selection: Selection
    variables: Mapping[str, object]
    offline: bool

    def plan(self, findings: Findings) -> Plan:
        """The prompts' plan. Once it has run, each prompt has a row of evidence more, and the plan a note on each."""
        ids = [suite.prompt.id for suite in self.suites]
        notes: list[str] = []

        def close(run: Path) -> None:
            notes[:] = keep(run, {suite.prompt.id: suite.prompt for suite in self.suites})

        rates = [suite.eval.defaults.pass_rate for suite in self.suites]
        apart = len(rates) > 1 and min(rates) < 1
        project = self.roster.project
        options = RunOptions(
            pass_rate=rates[0],
            requirements=tuple(self._required()) if apart else (),
            closing=close,
            time_limit_s=project.time_limit_s or CALL_LIMIT_S,
            retries=project.retries,
        )
        return Plan(
            title=ids[0] if len(ids) == 1 else f"{len(ids)} prompts",
            sheets=[self._sheet(suite) for suite in self.suites],
            identify=self._fingerprint,
            record=self._record,
            # The repository: its `.evenhand` keeps the runs of all its prompts.
            source=str(self.library.root),
            options=options,
            hints=findings.hints,
            broken=sorted(findings.broken_parts),
            notes=notes,
            editor=PromptsEditor(self.suites, self.roster, self._again),
        )

    def _again(self, suite: Suite, values: Mapping[str, object]) -> Plan:
        """The plan of one case, once, with these values over its inputs."""
        return replace(
            self,
            suites=[suite],
            selection=Selection(repeats=1),
            variables={**self.variables, **values},
        ).plan(Findings())

    def _required(self) -> Iterator[Requirement]:
        """Prompts that are run together keep to their own pass rates."""
        for suite in self.suites:
            indices = tuple(variant.index for variant in suite.variants)
            yield Requirement(PASSED, Bound(suite.eval.defaults.pass_rate), indices)

    def _sheet(self, suite: Suite) -> Sheet:
        repeats = self._repeats(suite.eval)
        return Sheet(
            variants=suite.variants,
            rows=lambda: self._rows(suite),
            case_count=suite.size,
            size=suite.size * repeats,
            repeats=repeats,
            providers=lambda: self.roster.made,
            estimate=lambda: list(self._estimate(suite)),
        )

    def _rows(self, suite: Suite) -> Iterator[Row]:
        """A row for each case, then for each query: one variant takes it."""
        repeats = self._repeats(suite.eval)
        variants = {variant.axes["model"]: variant for variant in suite.variants}

        def row(item: EvalCase | Query, judge: Provider | None, slot: Slot) -> Row:
            slots = [replace(slot, problem=suite.refuses(item, self.roster))]
            return Row(
                cases=(self._row(suite, item),),
                slots=lambda *_: slots,
                repeats=repeats,
                rule=share_passed,
                judge=judge,
            )

        for case in suite.cases:
            body = self._body(suite, case)
            slot = Slot(variant=variants[case.model], body=body, checks=body.checks)
            yield row(case, body.judge, slot)
        for query in suite.queries:
            question = QueryBody(
                suite.prompt.meta, query.text, query.matches, suite.others, suite.router
            )
            yield row(query, suite.router, Slot(variant=suite.variants[-1], body=question))

    def _record(self) -> Mapping[str, Any]:
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

    def _fingerprint(self) -> str:
        """A hash of all that the prompts, their cases and their hooks are, and of the selection."""
        parts = [suite.content.whole for suite in self.suites]
        names = [[s.row(i).id for i in (*s.cases, *s.queries)] for s in self.suites]
        models = [str(variant) for suite in self.suites for variant in suite.variants]
        judges = [p.id if p else "" for suite in self.suites for p in (suite.judge, suite.router)]
        repeats = max(self._repeats(suite.eval) for suite in self.suites)
        settings = [names, models, judges, dict(self.variables), repeats, self.offline]
        return digest(*parts, encode(settings))

    def _estimate(self, suite: Suite) -> Iterator[CallEstimate]:
        """The calls to subjects and judges. What a guard sets is not known before it has run."""
        repeats = self._repeats(suite.eval)
        for case in suite.cases:
            provider = self.roster(case.model, case.timeout_s)
            values = merged(suite.prompt.defaults, case.inputs, self.variables)
            blank = dict.fromkeys(lacking(suite.prompt.template, values), "")
            text = render(suite.prompt.template, {**blank, **values}, "")
            request = provider.request(Prompt.of(text))
            bound = request.cost_bound_usd if provider.paid else 0.0
            cost = None if bound is None else bound * repeats
            out = request.tokens_out
            yield CallEstimate(
                provider.id,
                "subject",
                repeats,
                request.tokens_in * repeats,
                cost,
                None if out is None else out * repeats,
            )
            judge = suite.judge_of(case, self.roster)
            if case.rubric.strip() and judge is not None:
                yield judge_estimate(judge, repeats * case.judging.samples)
        if suite.queries and suite.router is not None:
            yield judge_estimate(suite.router, repeats * len(suite.queries))

    def _repeats(self, suite: EvalFile) -> int:
        return self.selection.repeats or suite.defaults.repeats

    def _row(self, suite: Suite, item: EvalCase | Query) -> Case:
        """A row with an id of its own among all prompts."""
        row = suite.row(item, self.variables)
        return row if len(self.suites) == 1 else replace(row, id=f"{suite.prompt.id}/{row.id}")

    def _body(self, suite: Suite, case: EvalCase) -> CaseBody:
        folder = suite.prompt.path
        return CaseBody(
            prompt=suite.prompt,
            case=case,
            provider=self.roster(case.model, case.timeout_s),
            judge=suite.judge_of(case, self.roster),
            variables=self.variables,
            guard=folder / GUARD if case.hooks else None,
            verify=folder / VERIFY if case.hooks else None,
        )

    def _asked(self, suite: Suite) -> PromptRequest:
        return PromptRequest(
            id=suite.prompt.id,
            version=suite.prompt.meta.version,
            content=suite.content,
            variants=tuple(variant.index for variant in suite.variants),
            model=model_id(suite.prompt.meta.model),
            models=tuple(dict.fromkeys(model_id(case.model) for case in suite.cases)),
            judge=suite.default_judge.id,
            judge_named_by=suite.default_judge.named_by,
            partial=suite.partial
            or bool(self.variables)
            or self._repeats(suite.eval) < suite.eval.defaults.repeats,
            offline=self.offline,
            pass_rate=suite.eval.defaults.pass_rate,
        )


def load(
    library: Library,
    ids: Sequence[str],
    selection: Selection | None = None,
    *,
    case: str = "",
    variables: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
) -> Plan:
    """The plan of prompts' cases.

    Args:
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
        eval_file = read_eval(prompt, findings, models)
        if eval_file is None:
            continue
        suites.append(suite_of(prompt, eval_file, models, findings))
    if findings.problems:
        raise findings.error()
    if case and not any(c.name == case for suite in suites for c in suite.cases):
        # Called for its error, which names the cases that there are.
        chosen([c for suite in suites for c in suite.cases], case)
    for suite in suites:
        suite.select(selection, case)
    suites = [suite for suite in suites if suite.size]
    if not suites:
        raise NothingSelected("the selection leaves no case to run")
    # After the selection: variants are numbered over what is left.
    set_columns(suites)
    for suite in suites:
        for item in (*suite.cases, *suite.queries):
            findings.break_off(*filter(None, [suite.refuses(item, models)]))
    plan = Prompts(
        library=library,
        suites=suites,
        roster=models,
        selection=selection,
        variables=variables or {},
        offline=offline,
    ).plan(findings)
    refuse_if_nothing_is_left(plan)
    return plan

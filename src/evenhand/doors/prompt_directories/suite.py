"""One prompt's suite: its cases and queries as rows, which of them are run, by whom, and in which variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count

from msgspec import field

from evenhand.analysis.summaries.marks import TRIGGERING
from evenhand.analysis.summaries.skill_discovery import SHOULD
from evenhand.core.case import Case, case_id
from evenhand.core.errors import Problem, UsageError
from evenhand.core.plan import Selection
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord, Record
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.doors.prompt_directories.content import Content, content_of
from evenhand.doors.prompt_directories.eval_yml import EvalCase, EvalFile
from evenhand.doors.prompt_directories.library import EVAL
from evenhand.doors.prompt_directories.prompt import PromptFolder, merged
from evenhand.languages.documents.findings import Findings, Place, problem_at
from evenhand.providers.catalog import key_missing
from evenhand.providers.missing_keys import NO_KEY, set_key
from evenhand.providers.roster import JUDGE_VARIABLE, DefaultJudge, Roster, default_judge, model_id


class Query(Record, frozen=True):
    """Something that somebody may say, and whether the prompt is meant by it."""

    text: str
    matches: bool


class Suite(MutableRecord, kw_only=True):
    """One prompt with its eval.yml, and what of it is run.

    Attributes:
        judge: Who judges, where a case names nobody; None where nobody is named at all.
        router: Who decides about the queries.
        default_judge: Who judges where a case names nobody, and who named that judge.
        content: What it was when it was read: that is what the run is evidence of.
        partial: Whether less than all of it is run.
    """

    prompt: PromptFolder
    eval: EvalFile
    cases: Sequence[EvalCase]
    queries: Sequence[Query]
    judge: Provider | None
    router: Provider | None
    content: Content
    default_judge: DefaultJudge
    variants: list[Variant] = field(default_factory=list[Variant])
    partial: bool = False

    @property
    def size(self) -> int:
        """How many cases and queries."""
        return len(self.cases) + len(self.queries)

    @property
    def routing(self) -> str:
        """What the variant of its queries is called."""
        return f"{self.prompt.id}: {TRIGGERING}"

    @property
    def others(self) -> Sequence[str]:
        """The prompts that could be meant instead."""
        return self.eval.triggering.others if self.eval.triggering else ()

    def row(self, item: EvalCase | Query, over: Mapping[str, object] | None = None) -> Case:
        """A case or a query as a row.

        Args:
            over: Variables that go over a case's inputs.
        """
        about: dict[str, object] = {"prompt": self.prompt.id}
        if isinstance(item, Query):
            expectation = "should match" if item.matches else "should not match"
            name = f"{TRIGGERING}-{case_id([item.text, item.matches])}"
            about |= {TRIGGERING: True, SHOULD: item.matches}
            label = f"{expectation}: {item.text}"
            return Case(name, {"query": item.text}, item.text, description=label, metadata=about)
        values = merged(self.prompt.defaults, item.inputs, over or {})
        about |= {"where": str(item.place)} | ({"tags": list(item.tags)} if item.tags else {})
        if item.audit.allow:
            about["audit"] = {"allow": dict(item.audit.allow)}
        return Case(item.name, values, description=item.name, tags=item.tags, metadata=about)

    def judge_of(self, case: EvalCase, models: Roster) -> Provider | None:
        """Who judges a case; None where nobody is named at all."""
        return models(case.judging.model) if case.judging.model else self.judge

    def refuses(self, item: EvalCase | Query, models: Roster) -> Problem | None:
        """Why a case or a query cannot come to a verdict; None where it may."""
        if isinstance(item, Query):
            place = self.eval.triggering.place if self.eval.triggering else Place(self.eval.path)
            return _lacking(self.router, place)
        if item.problem is not None:
            return item.problem
        judge = self.judge_of(item, models) if item.rubric.strip() else None
        own = item.model == self.prompt.meta.model
        place = self.prompt.at("model") if own else item.place
        return _lacking(models(item.model, item.timeout_s), place) or _lacking(
            judge, item.place, judges=True
        )

    def select(self, selection: Selection, case: str) -> None:
        """Leaves what is selected.

        Args:
            case: Only the case with this name, and no queries; empty for all.

        Raises:
            UsageError: It says something that cannot be read.
        """
        selector = Selector(selection)
        both: list[EvalCase | Query] = []
        for item in (*self.cases, *self.queries):
            row, (prompt, model) = self.row(item), self._column(item)
            if (
                (not case or (isinstance(item, EvalCase) and item.name == case))
                and selector.takes(
                    partial(self._ids, row), row.description, row.vars.values(), row.metadata
                )
                and selector.takes_prompt(prompt)
                and selector.takes_model(model)
            ):
                both.append(item)
        both = list(selector.placed(both))
        self.partial = len(both) < self.size
        self.cases = [item for item in both if isinstance(item, EvalCase)]
        self.queries = [item for item in both if isinstance(item, Query)]

    def _column(self, item: EvalCase | Query) -> tuple[str, str]:
        """The prompt and the model of the variant that a case or a query is in."""
        if isinstance(item, EvalCase):
            return self.prompt.id, model_id(item.model)
        return self.routing, self.router.id if self.router else ""

    def _ids(self, row: Case) -> set[str]:
        """The ids that a row may have, alone and among other prompts."""
        return {row.id, f"{self.prompt.id}/{row.id}"}


def suite_of(
    prompt: PromptFolder, eval_file: EvalFile, models: Roster, findings: Findings
) -> Suite:
    """One prompt's suite, its models looked up."""
    for case in eval_file.cases:
        if not case.model:
            hint = "Write model: below defaults in eval.yml, or in meta.yml."
            findings.problem(case.place, f"case '{case.name}' names no model", hint)
            continue
        for name, timeout_s in ((case.model, case.timeout_s), (case.judging.model, None)):
            wrong = models.wrong(name, timeout_s) if name else None
            if wrong is not None:
                findings.problem(case.place, wrong.message, wrong.hint)
    hint_at_other_models(prompt, eval_file, findings)
    queries = (
        [Query(*query) for query in eval_file.triggering.queries] if eval_file.triggering else []
    )
    default = default_judge(eval_file.defaults.judge.model, EVAL, models.project, models.env)
    judge = router = None
    if any(case.rubric.strip() and not case.judging.model for case in eval_file.cases):
        judge = _judge(default, prompt, models, findings, eval_file.judge_place)
    if eval_file.triggering and queries:
        own = eval_file.triggering.judge
        chosen = DefaultJudge(model_id(own), EVAL) if own else default
        place = eval_file.triggering.place if own else eval_file.judge_place
        router = _judge(chosen, prompt, models, findings, place)
    content = content_of(prompt, eval_file)
    return Suite(
        prompt=prompt,
        eval=eval_file,
        cases=eval_file.cases,
        queries=queries,
        judge=judge,
        router=router,
        content=content,
        default_judge=default,
    )


def hint_at_other_models(prompt: PromptFolder, eval_file: EvalFile, findings: Findings) -> None:
    """Says before anything is paid for that an eval of another model than the prompt's own opens no gate."""
    own = model_id(prompt.meta.model)
    others = dict.fromkeys(model_id(case.model) for case in eval_file.cases if case.model)
    others.pop(own, None)
    if own and others:
        what = f"{', '.join(others)} answers cases, and meta.yml names {own}"
        hint = "No gate counts this eval: name the same model in both, or leave it out of eval.yml."
        findings.hint(Place(eval_file.path), what, hint)


def _lacking(model: Provider | None, place: Place, *, judges: bool = False) -> Problem | None:
    """That a model cannot be asked, for want of a key; None where it can."""
    key = key_missing(model, judges=judges) if model is not None else ""
    if model is None or not key:
        return None
    return problem_at(place, NO_KEY.format(model.id), set_key(key), "auth")


def _judge(
    chosen: DefaultJudge, prompt: PromptFolder, models: Roster, findings: Findings, place: Place
) -> Provider | None:
    """The model of whoever judges by default; problems are noted at the place where eval.yml names it."""
    if not chosen.id:
        hint = "Write defaults: {judge: {model: …}} in eval.yml, or name one for the project, or in EVENHAND_JUDGE."
        findings.problem(place, f"{prompt.id}: no judge is named", hint)
        return None
    if chosen.named_by == JUDGE_VARIABLE:
        findings.hint(
            place,
            f"{prompt.id} is judged by {chosen.id}, as {JUDGE_VARIABLE} says",
            "No gate counts an eval whose judge no file names: write defaults: {judge: {model: …}}.",
        )
    try:
        return models.judge_of(chosen)
    except UsageError as wrong:
        findings.problem(place, wrong.message, wrong.hint)
        return None


def set_columns(suites: Sequence[Suite]) -> None:
    """Gives each suite its variants: one for each model that is asked, and one for the queries."""
    index = count()
    for suite in suites:
        id_, where, defaults = suite.prompt.id, f"{suite.eval.path}:1", suite.eval.defaults
        for model in dict.fromkeys(case.model for case in suite.cases):
            suite.variants.append(
                Variant(
                    index=next(index),
                    prompt=id_,
                    model=model_id(model),
                    prompt_raw=suite.prompt.template,
                    provider_id=model_id(model),
                    axes={"model": model},
                    eval=id_,
                    where=where,
                    cluster=defaults.cluster,
                )
            )
        if suite.queries and suite.router is not None:
            suite.variants.append(
                Variant(
                    index=next(index),
                    prompt=suite.routing,
                    model=suite.router.label,
                    provider_id=suite.router.id,
                    axes={"model": TRIGGERING},
                    eval=id_,
                    where=where,
                )
            )

"""Eval sets as one plan: set by set, eval by eval, case by case."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.authoring.body import EvalBody
from evenhand.authoring.evalset import Eval, EvalSet
from evenhand.authoring.foreseen import asked_of, foreseen
from evenhand.authoring.models import Models
from evenhand.authoring.own_code import files_of
from evenhand.authoring.own_data import data_of
from evenhand.authoring.selected import cases_of, column_left, wanted
from evenhand.authoring.thresholds import Thresholds
from evenhand.core.case import Case
from evenhand.core.contest import Contest
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import (
    AuthError,
    CodeError,
    ConfigError,
    NothingSelected,
    Problem,
    UsageError,
)
from evenhand.core.expect import share_passed
from evenhand.core.plan import (
    CallEstimate,
    RunOptions,
    Selection,
    Step,
    refuse_if_nothing_is_left,
)
from evenhand.core.provider import Provider
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.score import Outcome, Verdict
from evenhand.core.variant import Variant
from evenhand.documents.project import Project

LIMIT_S = 600.0
"""For one eval or fixture, where nobody says otherwise: it may ask models many times."""


@dataclass(frozen=True, slots=True)
class Column:
    """One eval with one combination of its set's axes."""

    variant: Variant
    body: EvalBody
    models: Models
    problem: Problem | None = None
    """Why none of its trials can come to a verdict; None where they may."""


@dataclass(slots=True)
class EvalPlan:
    """What eval sets come to. Implements `evenhand.core.plan.Plan`."""

    sets: Sequence[EvalSet]
    columns: Sequence[tuple[EvalSet, Sequence[Column]]]
    cases: Mapping[int, Sequence[Case]]
    selection: Selection
    title: str
    source: str = ""
    hints: Sequence[Problem] = ()
    options: RunOptions = field(default_factory=lambda: RunOptions(time_limit_s=LIMIT_S))
    strict: bool = False
    _files: Mapping[str, str] | None = None
    _fingerprint: str = ""

    @property
    def size(self) -> int:
        """How many trials."""
        return sum(
            len(self.cases[id(evals)]) * len(columns) * self._repeats(evals)
            for evals, columns in self.columns
        )

    @property
    def case_count(self) -> int:
        """How many cases, over all sets."""
        return sum(len(self.cases[id(evals)]) for evals, _ in self.columns)

    @property
    def repeats(self) -> int:
        """The most that any set repeats."""
        return max((self._repeats(evals) for evals in self.sets), default=1)

    @property
    def variants(self) -> Sequence[Variant]:
        """The columns of all sets."""
        return tuple(column.variant for _, columns in self.columns for column in columns)

    @property
    def providers(self) -> Sequence[Provider]:
        """The models that are named."""
        found: dict[int, Provider] = {}
        for _, columns in self.columns:
            for column in columns:
                for provider in (column.body.model, *column.models.made):
                    if provider is not None:
                        found[id(provider)] = provider
        return tuple(found.values())

    @property
    def thresholds(self) -> dict[str, float]:
        """The bounds that the sets' projects give to metrics that have none."""
        found: dict[str, float] = {}
        for _, columns in self.columns:
            for column in columns:
                found.update(column.models.project.thresholds)
        return found

    @property
    def files(self) -> Mapping[str, str]:
        """A digest of each file of its own code, of its data and its prompts, by name."""
        if self._files is None:
            code = files_of(evals.path for evals in self.sets)
            self._files = {**code, **data_of(self.sets)}
        return self._files

    @property
    def config(self) -> Mapping[str, Any]:
        """The sets: where they stand, what they run over, and which of their evals are run."""
        return {
            "files": self.files,
            "thresholds": self.thresholds,
            "sets": [
                {
                    "name": evals.name,
                    "file": str(evals.path),
                    "line": evals.line,
                    "tags": sorted(evals.tags),
                    "model": _id(evals.model),
                    "judge": _id(columns[0].body.judge),
                    "over": {
                        axis: [_label(value) for value in values]
                        for axis, values in evals.over.items()
                    },
                    "cases": len(self.cases[id(evals)]),
                    "repeats": self._repeats(evals),
                    "pass_rate": evals.pass_rate,
                    "require": {name: str(bound) for name, bound in evals.require.items()},
                    "data": None if evals.data is None else evals.data.fingerprint,
                    "evals": [
                        {
                            "name": eval_.name,
                            "file": str(eval_.path),
                            "line": eval_.first,
                            "tags": sorted(eval_.tags),
                            "description": eval_.description,
                        }
                        for eval_ in dict.fromkeys(column.body.eval for column in columns)
                    ],
                }
                for evals, columns in self.columns
            ],
        }

    @property
    def fingerprint(self) -> str:
        """A hash of the project's own code and data, and of the selection."""
        if not self._fingerprint:
            # With the selection, the data say which cases are run.
            parts: list[bytes | str] = [f"{name} {hashed}" for name, hashed in self.files.items()]
            for _, columns in self.columns:
                parts += [str(column.variant) for column in columns]
                parts += [str(_id(column.body.judge)) for column in columns[:1]]
            if self.thresholds:
                parts.append(encode(self.thresholds))
            s = self.selection
            parts.append(encode(s.told()))
            self._fingerprint = digest(*parts)
        return self._fingerprint

    def steps(self) -> Iterator[Step]:
        """The trials."""
        index = 0
        for evals, columns in self.columns:
            for case in self.cases[id(evals)]:
                referees = evals.referees(case)
                rule = something_expected if self.strict else share_passed if referees else unasked
                for repeat in range(self._repeats(evals)):
                    contest = Contest(index, len(columns), referees) if referees else None
                    for column in columns:
                        yield Step(
                            index,
                            case,
                            column.variant,
                            repeat,
                            column.body,
                            rule=rule,
                            judge=column.body.judge,
                            models=column.models,
                            contest=contest,
                            problem=column.problem,
                        )
                        index += 1

    def estimate(self) -> Sequence[CallEstimate]:
        """Nothing: what functions ask is known when they have run."""
        return ()

    def _repeats(self, evals: EvalSet) -> int:
        return self.selection.repeats or evals.repeats


def unasked(outcomes: Sequence[Outcome]) -> Verdict:
    """The share that passed; a trial that nothing is expected of does not pass: there is nothing to decide."""
    if not outcomes:
        return Verdict("not_applicable", None, "the eval expects nothing")
    return share_passed(outcomes)


def something_expected(outcomes: Sequence[Outcome]) -> Verdict:
    """The same, for those who want every trial to expect something.

    Raises:
        CodeError: Nothing is expected.
    """
    if not outcomes:
        raise CodeError(
            "the eval expects nothing", hint="Call expect(…) in it, or run without --strict."
        )
    return share_passed(outcomes)


def plan_of(
    sets: Sequence[EvalSet],
    selection: Selection | None = None,
    *,
    env: Mapping[str, str],
    names: str = "",
    tag: str = "",
    lines: Sequence[tuple[Path, int]] = (),
    title: str = "",
    source: str = "",
    strict: bool = False,
    model: str = "",
    broken: list[Problem] | None = None,
) -> EvalPlan:
    """The plan of these sets.

    Args:
        selection: Which cases.
        env: The environment: keys and addresses.
        names: Only evals whose name, or whose set's name, has this text in it.
        tag: Only evals with this tag.
        lines: Of a file that has lines here, by path and number: only evals that one of them stands in.
        strict: A trial that expects nothing is an error.
        model: Take this one instead of all models that the sets name; empty for those.
        broken: Where to put what is wrong, to go on without the sets that it is wrong with. There may be some already.

    Raises:
        ConfigError: All that is wrong with the sets; with `broken`, where it leaves nothing to run.
        NothingSelected: Nothing is left to run.
    """
    if model:
        sets = _with_model(sets, model)
    selection = selection or Selection()
    problems: list[Problem] = [] if broken is None else broken
    ready: list[tuple[EvalSet, Sequence[Eval], Models]] = []
    blocked: dict[str, Problem] = {}
    taken: dict[str, Eval] = {}
    for evals in dict.fromkeys(sets):
        chosen = [e for e in evals.evals if wanted(e, evals, names, tag, lines)]
        models = Models(evals, env)
        known = foreseen(evals, models, chosen)
        wrong = [*known.whole, *_taken(evals, taken)]
        wrong += models.problems if chosen else []
        _tell([*wrong, *known.problems], problems)
        if chosen and not wrong:
            ready.append((evals, chosen, models))
            blocked |= {_name(evals, n): found[0] for n, found in known.evals.items() if found}
    if problems and (broken is None or not ready):
        raise ConfigError(problems)
    several = len(ready) > 1
    left = column_left(selection)
    columns: list[tuple[EvalSet, list[Column]]] = []
    count = itertools.count()
    for evals, chosen, models in ready:
        made = [
            replace(
                column,
                variant=replace(column.variant, index=next(count)),
                problem=blocked.get(column.variant.eval) or _keyless(evals, column),
            )
            for column in _columns(evals, chosen, models, several=several)
            if left(column.variant)
        ]
        lonely = _lonely(evals, made)
        if lonely is not None:
            made = [replace(column, problem=column.problem or lonely) for column in made]
        _tell([column.problem for column in made if column.problem], problems)
        if made:
            columns.append((evals, made))
    if problems and broken is None:
        raise ConfigError(problems)
    cases = {id(evals): cases_of(evals, selection) for evals, _ in columns}
    title = title or (f"{len(ready)} eval sets" if several else "".join(s.name for s, _ in columns))
    plan = EvalPlan(
        [s for s, _ in columns],
        columns,
        cases,
        selection,
        title,
        source,
        options=_options((models.project for _, _, models in ready), columns),
        strict=strict,
    )
    if not plan.size:
        there = "; ".join(
            f"{evals.name}: {', '.join(e.name for e in evals.evals[:10])}" for evals in sets
        )
        raise NothingSelected(
            "the selection leaves no eval to run", hint=f"There are: {there or 'none'}."
        )
    refuse_if_nothing_is_left(plan, problems)
    return plan


def _options(
    projects: Iterable[Project], columns: Sequence[tuple[EvalSet, Sequence[Column]]]
) -> RunOptions:
    """How sets want to be run: as their projects say, the first that does; and what they have to reach."""
    said = list(projects)
    limits = [one.time_limit_s for one in said if one.time_limit_s is not None]
    retries = [one.retries for one in said if one.retries is not None]
    return RunOptions(
        time_limit_s=limits[0] if limits else LIMIT_S,
        retries=retries[0] if retries else None,
        requirements=tuple(_requirements(columns)),
    )


def _with_model(sets: Sequence[EvalSet], model: str) -> Sequence[EvalSet]:
    """The sets, those that name a model with this one instead.

    Raises:
        UsageError: None of them names one: it would be asked by nobody.
    """
    named = [evals.model is not None or "model" in evals.over for evals in sets]
    if not any(named):
        raise UsageError(
            f"--model {model}: no eval set here names a model, so it would be asked by nobody",
            hint="Write model=… in the EvalSet, and ask the `model` that evals are given. What your application asks "
            "by itself is its own: make an axis of it.",
        )
    return [
        evals.with_model(model) if has else evals for evals, has in zip(sets, named, strict=True)
    ]


def _requirements(columns: Sequence[tuple[EvalSet, Sequence[Column]]]) -> Iterator[Requirement]:
    """What the columns of each set have to reach; nothing where no set says so, and all trials have to pass."""
    if all(evals.pass_rate is None and not evals.require for evals, _ in columns):
        return
    for evals, made in columns:
        variants = tuple(column.variant.index for column in made)
        share = evals.pass_rate
        if share is None and not evals.require:
            share = 1.0
        if share is not None:
            yield Requirement(PASSED, Bound(share), variants)
        for name, bound in evals.require.items():
            yield Requirement(name, bound, variants)


def _tell(found: Sequence[Problem], problems: list[Problem]) -> None:
    """Adds problems that are not among these yet."""
    told = set(map(str, problems))
    for problem in found:
        if str(problem) not in told:
            told.add(str(problem))
            problems.append(problem)


def _keyless(evals: EvalSet, column: Column) -> Problem | None:
    """That a column's eval asks for the model, which lacks its key; None where it has one, or is not asked for."""
    body = column.body
    wrong = column.models.keyless(body.model)
    if wrong is None or "model" not in asked_of(evals, body.eval):
        return None
    return Problem(str(evals.path), evals.line, 0, *wrong, AuthError.slug)


def _lonely(evals: EvalSet, columns: Sequence[Column]) -> Problem | None:
    """That outputs are to be compared of which there can be no two; None where there can, or for other sets."""
    left = sum(column.problem is None for column in columns)
    if not evals.compares or left > 1 or not columns:
        return None
    what = f"EvalSet {evals.name!r} compares the outputs of its columns, of which fewer than two can be asked"
    return Problem(
        str(evals.path), evals.line, 0, what, "Add an eval or an axis; or leave out compare=."
    )


def _columns(
    evals: EvalSet, chosen: Sequence[Eval], models: Models, *, several: bool
) -> Iterator[Column]:
    """The columns of a set, each as if it stood first. `several`: it is one of several sets."""
    thresholds = Thresholds(models.project.thresholds)
    for eval_ in chosen:
        for axes in _combinations(evals.over):
            model = models.of(axes.get("model", evals.model))
            others = {name: value for name, value in axes.items() if name != "model"}
            label = f"{evals.name}: {eval_.name}" if several else eval_.name
            label += "".join(f" · {_label(value)}" for value in others.values())
            variant = Variant(
                0,
                label,
                model.label if model is not None else "",
                provider_id=model.id if model is not None else "",
                axes={name: _label(value) for name, value in axes.items()},
                eval=_name(evals, eval_.name),
                where=f"{eval_.path}:{eval_.first}",
            )
            yield Column(
                variant, EvalBody(evals, eval_, others, model, models.judge, thresholds), models
            )


def _taken(evals: EvalSet, taken: dict[str, Eval]) -> Iterator[Problem]:
    """Evals whose name, with their set's, another one has already: nobody could tell them apart."""
    for eval_ in evals.evals:
        name = _name(evals, eval_.name)
        earlier = taken.setdefault(name, eval_)
        if earlier is not eval_:
            what = f"'{name}' is there already, in {earlier.path}:{earlier.first}"
            yield Problem(str(eval_.path), eval_.first, 0, what, "Rename the eval, or its set.")


def _name(evals: EvalSet, eval_: str) -> str:
    """An eval's name, with its set's: no two have the same."""
    return f"{evals.name}: {eval_}"


def _combinations(over: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*over.values()):
        yield dict(zip(over, values, strict=True))


def _id(given: object) -> str | None:
    """A model as it was asked for."""
    return (
        None
        if given is None
        else given
        if isinstance(given, str)
        else str(getattr(given, "id", type(given).__name__))
    )


def _label(value: object) -> str:
    for name in ("label", "name"):
        found = getattr(value, name, None)
        if isinstance(found, str) and found:
            return found
    return str(value)

"""Eval sets as one plan: set by set, eval by eval, case by case."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from evenhand.core.case import Case
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
from evenhand.core.json_shapes import is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.plan import (
    CassetteUse,
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
from evenhand.core.score import Outcome, Verdict
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.doors.eval_sets.body import EvalBody
from evenhand.doors.eval_sets.editing import SetEditor
from evenhand.doors.eval_sets.evalset import Eval, EvalSet, forget_reminder
from evenhand.doors.eval_sets.models import EvalSetRoster, calls_recorded
from evenhand.doors.eval_sets.near_columns import near_fields, said_of, unused
from evenhand.doors.eval_sets.prechecks import asked_of, foreseen, partly_taken, set_up_once
from evenhand.doors.eval_sets.project_files import (
    axis_contents,
    code_of,
    data_of,
    files_elsewhere,
    files_of,
    files_of_models,
    imported_code,
    texts_of_models,
)
from evenhand.doors.eval_sets.prompt import Prompt
from evenhand.doors.eval_sets.selection import EvalFilter, column_left, refuse_unknown_tag, selected
from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.languages.documents.project import Project
from evenhand.providers.leading import keys_not_needed

LIMIT_S = 600.0
"""For one eval or fixture, where nobody says otherwise: it may ask models many times."""

LOOKED_AT = 1_000
"""Cases of a set that are looked at for what says what belongs together."""


class EvalVariant(Record, frozen=True):
    """One eval with one combination of its set's axes."""

    variant: Variant
    body: EvalBody
    problem: Problem | None = None
    """Why none of its trials can come to a verdict; None where they may."""


class PlannedSet(Record, frozen=True, kw_only=True):
    """An eval set with what is run of it. `sheet` is its part of the plan."""

    evals: EvalSet
    variants: Sequence[EvalVariant]
    cases: Sequence[Case]
    models: EvalSetRoster
    repeats: int
    strict: bool

    def sheet(self) -> Sheet:
        """The set's part of the plan: its cases, one after the other, in all of its variants."""
        return Sheet(
            variants=tuple(eval_variant.variant for eval_variant in self.variants),
            rows=self._rows,
            case_count=len(self.cases),
            size=len(self.cases) * len(self.variants) * self.repeats,
            repeats=self.repeats,
            providers=self.providers,
        )

    def providers(self) -> list[Provider]:
        """The models that are known before the evals run."""
        named = (*(eval_variant.body.model for eval_variant in self.variants), *self.models.made)
        return [one for one in named if one is not None]

    def _rows(self) -> Iterator[Row]:
        # The same for every case, so that they are made once.
        slots = [
            Slot(
                variant=one.variant,
                body=one.body,
                scored_by=one.body.asserts,
                problem=one.problem,
            )
            for one in self.variants
        ]
        for case in self.cases:
            referees = self.evals.referees(case)
            rule = something_expected if self.strict else share_passed if referees else unasked
            yield Row(
                cases=(case,),
                slots=lambda *_: slots,
                repeats=self.repeats,
                rule=rule,
                judge=self.models.judge,
                models=self.models,
                referees=referees,
                shows_thoughts=self.evals.show_thinking,
            )

    def record(self) -> Mapping[str, Any]:
        """Where it stands, what it runs over, and which of its evals are run."""
        evals = self.evals
        return {
            "name": evals.name,
            "file": str(evals.path),
            "line": evals.line,
            "tags": sorted(evals.tags),
            "model": _id(evals.model),
            "judge": _id(self.models.judge),
            "over": {
                axis: [_label(value) for value in values] for axis, values in evals.over.items()
            },
            "cases": len(self.cases),
            "repeats": self.repeats,
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
                for eval_ in dict.fromkeys(eval_variant.body.eval for eval_variant in self.variants)
            ],
        }


def _thresholds(sets: Sequence[PlannedSet]) -> dict[str, float]:
    """The bounds that the sets' projects give to metrics that have none."""
    return dict(item for one in sets for item in one.models.project.thresholds.items())


def _fingerprint(sets: Sequence[PlannedSet], files: Mapping[str, str], selection: Selection) -> str:
    """A hash of the project's own code and data, and of the selection."""
    # With the selection, the data say which cases are run.
    parts: list[bytes | str] = [f"{name} {hashed}" for name, hashed in files.items()]
    for one in sets:
        parts += [str(eval_variant.variant) for eval_variant in one.variants]
        parts.append(str(_id(one.models.judge)))
    thresholds = _thresholds(sets)
    if thresholds:
        parts.append(encode(thresholds))
    parts.append(encode(selection.as_list()))
    return digest(*parts)


def unasked(outcomes: Sequence[Outcome]) -> Verdict:
    """The share that passed; a trial that nothing is expected of does not pass: there is nothing to decide."""
    if not outcomes:
        return Verdict("not_applicable", None, "the eval expects nothing")
    return share_passed(outcomes)


def something_expected(outcomes: Sequence[Outcome]) -> Verdict:
    """The share that passed, for those who want every trial to expect something.

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
    only: EvalFilter | None = None,
    title: str = "",
    source: str = "",
    strict: bool = False,
    model: str = "",
    broken: list[Problem] | None = None,
    record: bool = False,
) -> Plan:
    """The plan of these sets.

    Args:
        env: The environment: keys and addresses.
        only: Which evals; by default all.
        strict: A trial that expects nothing is an error.
        model: Take this one instead of all models that the sets name; empty for those.
        record: Cassettes are recorded again, so models are asked.
        broken: Where to put what is wrong, to go on without the sets that it is wrong with. There may be some already.

    Raises:
        ConfigError: All that is wrong with the sets; with `broken`, where it leaves nothing to run.
        NothingSelected: Nothing is left to run.
    """
    forget_reminder()
    if model:
        sets = _with_model(sets, model)
    selection = selection or Selection()
    problems: list[Problem] = [] if broken is None else broken
    ready: list[tuple[EvalSet, Sequence[Eval], EvalSetRoster]] = []
    blocked: dict[str, Problem] = {}
    taken: dict[str, Eval] = {}
    for evals in dict.fromkeys(sets):
        chosen = evals.evals if only is None else [e for e in evals.evals if only.takes(e, evals)]
        # A cassette answers every call, so that no key is missing.
        replayed = not record and evals.cassette is not None and evals.cassette.is_file()
        models = EvalSetRoster(evals, {**env, **keys_not_needed(env)} if replayed else env)
        known = foreseen(evals, models, chosen)
        wrong = [*known.whole, *_taken(evals, taken), *_unclustered(evals)]
        wrong += models.problems if chosen else []
        _tell([*wrong, *known.problems], problems)
        if chosen and not wrong:
            ready.append((evals, chosen, models))
            blocked |= {_name(evals, n): faults[0] for n, faults in known.evals.items() if faults}
    if problems and (broken is None or not ready):
        raise ConfigError(problems)
    several = len(ready) > 1
    everything = selection == Selection(seed=selection.seed, repeats=selection.repeats)
    left = None if everything else column_left(selection)
    planned: list[PlannedSet] = []
    count = itertools.count()
    for evals, chosen, models in ready:
        eval_variants = [
            replace(
                eval_variant,
                # Numbered across all sets, of those that the selection leaves.
                variant=replace(eval_variant.variant, index=next(count)),
                problem=blocked.get(eval_variant.variant.eval)
                or _keyless(evals, eval_variant, models),
            )
            for eval_variant in _eval_variants(evals, chosen, models, several=several)
            if left is None or left(eval_variant.variant)
        ]
        # After keys were looked for: a variant that cannot be asked is no rival of another.
        lonely = _lonely(evals, eval_variants)
        if lonely is not None:
            eval_variants = [
                replace(eval_variant, problem=eval_variant.problem or lonely)
                for eval_variant in eval_variants
            ]
        _tell(
            [eval_variant.problem for eval_variant in eval_variants if eval_variant.problem],
            problems,
        )
        if eval_variants:
            cases: Sequence[Case] = (Case(evals.name),) if evals.data is None else evals.data
            planned.append(
                PlannedSet(
                    evals=evals,
                    variants=eval_variants,
                    cases=cases if everything else selected(cases, selection),
                    models=models,
                    repeats=selection.repeats or evals.repeats,
                    strict=strict,
                )
            )
    if problems and broken is None:
        raise ConfigError(problems)
    # Whatever selects cases, prompts or models, and fewer repeats, leaves something out that a replay will ask for.
    whole = everything and not model and all(one.repeats >= one.evals.repeats for one in planned)
    names_of_sets = "".join(one.evals.name for one in planned)
    plan = Plan(
        title=title or (f"{len(ready)} eval sets" if several else names_of_sets),
        source=source,
        **_shared(planned, selection, source),
        options=_options((models.project for _, _, models in ready), planned, whole=whole),
        hints=[
            *_near_columns(one.evals for one in planned),
            *(hint for evals, chosen, _ in ready for hint in partly_taken(evals, chosen)),
        ],
        broken=sorted(problems),
    )
    if not plan.size:
        number = sum(1 if one.evals.data is None else len(one.evals.data) for one in planned)
        if number and not everything:
            raise NothingSelected(
                f"the selection matches none of the cases ({number:,})",
                hint=f"Selected: {Selector(selection).words}.",
            )
        if only is not None and only.tag:
            refuse_unknown_tag(only.tag, sets)
        there = "; ".join(
            f"{evals.name}: {', '.join(e.name for e in evals.evals[:10])}" for evals in sets
        )
        instead = (
            " -k chooses evals; for cases: --filter." if only is not None and only.name else ""
        )
        raise NothingSelected(
            "the selection leaves no eval to run", hint=f"There are: {there or 'none'}.{instead}"
        )
    refuse_if_nothing_is_left(plan)
    return plan


def _shared(planned: Sequence[PlannedSet], selection: Selection, source: str) -> dict[str, Any]:
    """What plans of sets have in common, and that of one of their cases, edited, has too."""

    @cache
    def files() -> Mapping[str, str]:
        """A digest of each file of the sets' own code, of their data and their prompts; read when first needed."""
        sets = [one.evals for one in planned]
        of_models = (files_of_models(one.evals.path, one.providers()) for one in planned)
        known = {name: part for files in of_models for name, part in files.items()}
        return {**known, **files_of(evals.path for evals in sets), **data_of(sets)}

    @cache
    def of_evals() -> Mapping[str, str]:
        """The code of the evals as it was when the run began: modules may be imported later."""
        texts = (texts_of_models(one.evals.path, one.providers()) for one in planned)
        named = {name: part for each in texts for name, part in each.items()}
        return {**named, **code_of(one.evals for one in planned)}

    def again(variant: Variant, body: EvalBody, case: Case) -> Plan:
        one = next(one for one in planned if one.evals is body.evals)
        evals = body.evals.uncompared()
        edited = replace(
            one,
            evals=evals,
            variants=[EvalVariant(variant, replace(body, evals=evals))],
            cases=[case],
            repeats=1,
        )
        return Plan(
            title=evals.name,
            source=source,
            options=_options([one.models.project], [edited], whole=False),
            **_shared([edited], Selection(repeats=1), source),
        )

    return {
        "sheets": [one.sheet() for one in planned],
        "identify": lambda: _fingerprint(planned, files(), selection),
        "code": lambda: {**imported_code(), **of_evals()},
        "record": lambda: {
            "files": {**files_elsewhere(one.evals.path for one in planned), **files()},
            "thresholds": _thresholds(planned),
            "sets": [one.record() for one in planned],
        },
        "editor": SetEditor(
            variants=[(each.variant, each.body) for one in planned for each in one.variants],
            roster_of=lambda body: next(o.models for o in planned if o.evals is body.evals),
            again=again,
        ),
    }


def _near_columns(sets: Iterable[EvalSet]) -> Iterator[Problem]:
    """A hint for each dataset with columns that are nearly fields, and that no eval of its set names."""
    known = set[str]()
    for evals in sets:
        if evals.data is None or not any(case.vars for case in islice(evals.data, LOOKED_AT)):
            continue
        near = near_fields(evals.data)
        if not near:
            continue
        files = dict.fromkeys([evals.path, *(eval_.path for eval_ in evals.evals)])
        sources = [file.read_text("utf-8", "replace") for file in files if file.is_file()]
        near = unused(near, sources)
        if near:
            data = evals.data.file
            place = (str(data), 1) if data is not None else (str(evals.path), evals.line)
            hint = Problem(*place, 0, *said_of(near))
            if str(hint) not in known:
                known.add(str(hint))
                yield hint


def _cassettes(sets: Sequence[PlannedSet], *, whole: bool) -> Iterator[CassetteUse]:
    """The cassettes of the sets; several sets may share one."""
    by_path: dict[Path, list[PlannedSet]] = {}
    for one in sets:
        if one.evals.cassette is not None:
            by_path.setdefault(one.evals.cassette, []).append(one)
    for path, those in by_path.items():
        indexes = {eval_variant.variant.index for one in those for eval_variant in one.variants}
        every = all(
            {eval_variant.body.eval for eval_variant in one.variants} == set(one.evals.evals)
            for one in those
        )
        yield CassetteUse(path, frozenset(indexes), whole and every)


def _options(projects: Iterable[Project], sets: Sequence[PlannedSet], *, whole: bool) -> RunOptions:
    """How sets want to be run: as their projects say, the first that does; and what they have to reach."""
    settings = list(projects)
    limits = [one.time_limit_s for one in settings if one.time_limit_s is not None]
    retries = [one.retries for one in settings if one.retries is not None]
    return RunOptions(
        time_limit_s=limits[0] if limits else LIMIT_S,
        retries=retries[0] if retries else None,
        requirements=tuple(_requirements(sets)),
        gates=tuple(one.evals.gate for one in sets if one.evals.gate is not None),
        cassettes=tuple(_cassettes(sets, whole=whole)),
        around=calls_recorded,
        set_up_once=tuple(
            dict.fromkeys(
                problem
                for one in sets
                for problem in set_up_once(
                    one.evals, dict.fromkeys(v.body.eval for v in one.variants)
                )
            )
        ),
    )


def _with_model(sets: Sequence[EvalSet], model: str) -> Sequence[EvalSet]:
    """The sets, those that name a model with this one instead."""
    named = [evals.model is not None or "model" in evals.over for evals in sets]
    if not any(named):
        raise UsageError(
            f"--model {model}: no eval set here names a model, so no eval would ask it",
            hint="Write model=… in the EvalSet, and ask the `model` that evals are given. What your application asks "
            "by itself is its own: make an axis of it.",
        )
    return [
        evals.with_model(model) if has else evals for evals, has in zip(sets, named, strict=True)
    ]


def _requirements(sets: Sequence[PlannedSet]) -> Iterator[Requirement]:
    """What the variants of each set have to reach; nothing where no set says so, and all trials have to pass."""
    if all(one.evals.pass_rate is None and not one.evals.require for one in sets):
        return
    for one in sets:
        evals = one.evals
        variants = tuple(eval_variant.variant.index for eval_variant in one.variants)
        share = evals.pass_rate
        if share is None and not evals.require:
            # Another set has requirements of its own, so that this one needs the ordinary rule as one.
            share = 1.0
        if share is not None:
            yield Requirement(PASSED, Bound(share), variants)
        for name, bound in evals.require.items():
            yield Requirement(name, bound, variants)


def _tell(new: Sequence[Problem], problems: list[Problem]) -> None:
    """Adds problems that are not among these yet."""
    listed = set(map(str, problems))
    for problem in new:
        if str(problem) not in listed:
            listed.add(str(problem))
            problems.append(problem)


def _keyless(evals: EvalSet, eval_variant: EvalVariant, models: EvalSetRoster) -> Problem | None:
    """That a variant's eval asks for the model, which lacks its key; None where it has one, or is not asked for."""
    body = eval_variant.body
    wrong = models.keyless(body.model)
    if wrong is None or "model" not in asked_of(evals, body.eval):
        return None
    return Problem(str(evals.path), evals.line, 0, *wrong, AuthError.slug)


def _lonely(evals: EvalSet, variants: Sequence[EvalVariant]) -> Problem | None:
    """That outputs are to be compared of which there can be no two; None where there can, or for other sets."""
    left = sum(eval_variant.problem is None for eval_variant in variants)
    if not evals.compares or left > 1 or not variants:
        return None
    what = f"EvalSet {evals.name!r} compares the outputs of its variants, of which fewer than two can be asked"
    return Problem(
        str(evals.path), evals.line, 0, what, "Add an eval or an axis; or leave out compare=."
    )


def _eval_variants(
    evals: EvalSet, chosen: Sequence[Eval], models: EvalSetRoster, *, several: bool
) -> Iterator[EvalVariant]:
    """The variants of a set, each as if it stood first. `several`: it is one of several sets."""
    bounds = models.project.thresholds
    thresholds = Thresholds(bounds) if bounds else None
    for eval_ in chosen:
        for combination in itertools.product(*evals.over.values()):
            axes = dict(zip(evals.over, combination, strict=True))
            model = models.of(axes.get("model", evals.model))
            others = {name: value for name, value in axes.items() if name != "model"}
            label = f"{evals.name}: {eval_.name}" if several else eval_.name
            label += "".join(f" · {_label(value)}" for value in others.values())
            variant = Variant(
                0,
                label,
                model.label if model is not None else "",
                prompt_raw="\n\n".join(
                    value.text for value in others.values() if isinstance(value, Prompt)
                ),
                provider_id=model.id if model is not None else "",
                axes={name: _label(value) for name, value in axes.items()},
                eval=_name(evals, eval_.name),
                where=f"{eval_.path}:{eval_.first}",
                contents=axis_contents(others, evals.path.parent),
                cluster=evals.cluster,
            )
            yield EvalVariant(
                variant,
                EvalBody(
                    evals=evals,
                    eval=eval_,
                    axes=others,
                    model=model,
                    judge=models.judge,
                    thresholds=thresholds,
                ),
            )


def _taken(evals: EvalSet, taken: dict[str, Eval]) -> Iterator[Problem]:
    """Evals whose name, with their set's, another one has already: nobody could tell them apart."""
    for eval_ in evals.evals:
        name = _name(evals, eval_.name)
        earlier = taken.setdefault(name, eval_)
        if earlier is not eval_:
            what = f"'{name}' already exists, in {earlier.path}:{earlier.first}"
            yield Problem(str(eval_.path), eval_.first, 0, what, "Rename the eval, or its set.")


def _unclustered(evals: EvalSet) -> Iterator[Problem]:
    """That no case says what it belongs to, though the set names what would say it. The first ones are looked at."""
    if not evals.cluster or evals.data is None:
        return
    missing = no_cluster(evals.data, evals.cluster)
    if missing is not None:
        what, hint = missing
        yield Problem(str(evals.path), evals.line, 0, f"EvalSet {evals.name!r}: {what}", hint)


def no_cluster(cases: Iterable[Case], cluster: str) -> tuple[str, str] | None:
    """That none of the first cases says what it belongs to, and a hint; None where one does."""
    keys: dict[str, None] = {}
    for case in islice(cases, LOOKED_AT):
        keys.update(dict.fromkeys((*case.vars, *case.metadata)))
    if cluster in keys:
        return None
    listed = f"There are: {', '.join(keys)}." if keys else "Cases have neither."
    what = f"no case has a variable or metadata called {cluster!r}"
    return what, did_you_mean(cluster, list(keys), listed)


def _name(evals: EvalSet, eval_: str) -> str:
    """An eval's name, with its set's: no two have the same."""
    return f"{evals.name}: {eval_}"


def _id(model: object) -> str | None:
    """A model as it was asked for."""
    if is_mapping(model):
        model = model.get("id")
    if model is None or isinstance(model, str):
        return model
    return str(getattr(model, "id", type(model).__name__))


def _label(value: object) -> str:
    for name in ("label", "name"):
        text = getattr(value, name, None)
        if isinstance(text, str) and text:
            return text
    return str(value)

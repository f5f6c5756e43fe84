"""What a promptfoo config comes to: variants, and trials walked test by test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from evenhand.core.case import Case, case_id
from evenhand.core.definition import brief, file_digest
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import CodeError, EvenhandError, Problem
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping
from evenhand.core.plan import Plan, Row, Sheet, Slot
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.secrets import known, redacted
from evenhand.core.selecting import Selector
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.preparing import file_contents
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.body import CellBody, described
from evenhand.doors.promptfoo.checking import TRANSFORMS
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.generated_tests import outside_of_trials
from evenhand.doors.promptfoo.identity import SharedExpectations, TestIdentity
from evenhand.doors.promptfoo.memory import Links
from evenhand.doors.promptfoo.models import FolderModels, Subject
from evenhand.doors.promptfoo.prompts import TextPrompt
from evenhand.doors.promptfoo.reader import Tests
from evenhand.doors.promptfoo.sources import content_digest
from evenhand.doors.promptfoo.survey import Survey, estimate
from evenhand.doors.promptfoo.tests import Test, takes
from evenhand.doors.promptfoo.variants import Combination
from evenhand.languages.documents.findings import problem_at
from evenhand.languages.javascript.references import ENDINGS as JAVASCRIPT
from evenhand.providers.local_code import named_texts, with_imports

if TYPE_CHECKING:
    from evenhand.doors.promptfoo.hooks import TrialHooks

_CODE = frozenset({".py", ".rb", ".go", ".sh", *JAVASCRIPT})
_BESIDE = frozenset(
    """
    $schema description tags outputPath sharing evaluateOptions commandLineOptions writeLatestResults tracing redteam
    """.split()
)
"""Keys that do not decide what a trial does, so that a run can be resumed after they changed."""


class Folder(Record, frozen=True, kw_only=True):
    """What a promptfoo config comes to: its variants, its tests and who is asked. `plan` makes one sheet of it.

    Attributes:
        pairs: The variants with what is behind them: every model × the prompts that it gets.
        tests: The tests, in their order, whatever is selected.
        files: What it is made of, beside what its models and its tests name.
        broken: What keeps tests and variants from a verdict: these are errors, and all else is run.
    """

    config: Config
    pairs: Sequence[Combination]
    subjects: Sequence[Subject]
    models: FolderModels
    tests: Tests
    files: frozenset[Path]
    selector: Selector
    survey: Survey
    hints: Sequence[Problem]
    broken: Sequence[Problem] = ()
    trial_hooks: TrialHooks | None = None

    def plan(self) -> Plan:
        """The plan of the promptfoo config."""
        sheet = Sheet(
            variants=tuple(pair.variant for pair in self.pairs),
            rows=self.rows,
            case_count=self.survey.cases,
            size=self.survey.cells,
            repeats=self.repeats,
            providers=lambda: [*self._subjects, *self.models.judges],
            estimate=lambda: estimate(self.rows(), self.pairs, self.survey, self.models.judges),
        )
        options = replace(
            self.config.options,
            some_alone=self.survey.alone,
            closing=self._closing(),
            set_up_once=self._set_up_once(),
        )
        return Plan(
            title=self.title,
            sheets=[sheet],
            identify=self._fingerprint,
            record=lambda: self.record,
            code=self._code,
            source=str(self.config.document.file),
            options=options,
            hints=self.hints,
            broken=self.broken,
        )

    @property
    def _subjects(self) -> list[Provider]:
        """The models that are evaluated, as far as they can be had."""
        had = [subject.provider for subject in self.subjects if not subject.problems]
        return [*had, *self.models.named_by_tests]

    @property
    def title(self) -> str:
        """The config's description, without keys that were filled in; or the name of its folder."""
        described = str(self.config.value.get("description") or "")
        return known.text(described) or self.config.base.name

    @property
    def repeats(self) -> int:
        """How often each case is repeated, where its test says nothing else."""
        return self.config.selection.repeats or self.config.repeats

    @property
    def hooks_of_trials(self) -> Sequence[str]:
        """The names of the extensions' functions that are called around trials, and when all are done."""
        hooks = self.trial_hooks.hooks.hooks if self.trial_hooks is not None else ()
        return [hook.name for hook in hooks if hook.name != "beforeAll"]

    @property
    def prefixed(self) -> bool:
        """Whether a prefix or a suffix goes over the config."""
        return bool(self.config.overrides.prefix or self.config.overrides.suffix)

    def _set_up_once(self) -> tuple[Problem, ...]:
        """Extensions that set trials up, where others clean up: these are told a result, which comes at the end."""
        hooks = self.trial_hooks.hooks if self.trial_hooks is not None else None
        if hooks is None or not (hooks.at("beforeEach") and hooks.at("afterEach")):
            return ()
        what = "what beforeEach sets up is cleaned up only once the trial has a result"
        return (problem_at(self.config.at("extensions"), what),)

    def _closing(self) -> Callable[[Path], None] | None:
        """Calls the extensions that want to know how the run came out."""
        if self.trial_hooks is None or not self.trial_hooks.hooks.at("afterAll"):
            return None
        hooks, suite = self.trial_hooks.hooks, dict(self.config.value)
        limit_s = self.config.options.time_limit_s

        def close(path: Path) -> None:
            from evenhand.core.wording.words import short_id  # noqa: PLC0415 (only where there are such hooks)
            from evenhand.doors.promptfoo.hooks import finished  # noqa: PLC0415 (the same)

            results, prompts, run = finished(path)
            context = {"suite": suite, "config": suite, "evalId": run, "results": results}
            context["prompts"] = prompts
            try:
                outside_of_trials(lambda host: hooks.called(host, "afterAll", context), limit_s)
            except EvenhandError as error:
                where = f"The run itself is finished and kept: `evenhand show {short_id(run)}`."
                raise CodeError(error.message, hint=f"{error.hint}\n{where}".lstrip()) from error

        return close

    @property
    def record(self) -> Mapping[str, Any]:
        """The config as read with the tags of `--run-tag`, secrets removed; tests in files by name only."""
        # The document, not what it came to: what was filled in from the environment may be secret.
        written = cast("Mapping[str, object]", self.config.document.value)
        config = {k: v for k, v in written.items() if k != "tests" or isinstance(v, str)}
        if derived := self.config.value.get("derivedMetrics"):  # as beforeAll left them
            config["derivedMetrics"] = derived
        if tags := self.config.overrides.tags:
            config["tags"] = {**as_mapping(written.get("tags")), **tags}
        return cast("Mapping[str, Any]", known.inside(redacted(config)))

    @property
    def _hook_files(self) -> set[Path]:
        return set[Path]() if self.trial_hooks is None else self.trial_hooks.hooks.files

    def _code(self) -> dict[str, str]:
        """The code of models, hooks and transforms, and the transforms that are written in the config."""
        base, written = self.config.base.resolve(), sorted(_transforms(self.config.value))
        named = {base / split_reference(one, "")[0] for one in written if one.startswith("file://")}
        files = {path.resolve() for path in self.models.files | self._hook_files | named}
        code = [path for path in files if path.suffix in _CODE]
        parts = {
            Path(os.path.relpath(path, base)).as_posix(): file_digest(path)
            for path in ((*with_imports(code), *named_texts(code)) if code else ())
        }
        hooks = sorted(self.hooks_of_trials)
        # Also where there are none: one that is added is other code.
        return {**parts, "extensions": brief(hooks), "transforms": brief(written)}

    def _fingerprint(self) -> str:
        """A hash of the config, of the files that it names, and of the selection."""
        files = {source.path for source in self.tests.sources if source.path}
        files |= self.tests.files | self.models.files | self.files | self._hook_files
        if code := [path for path in files if path.suffix == ".py"]:
            files |= {*with_imports(code)}
        if own := [path for path in self.models.files if path.suffix in _CODE]:
            files |= named_texts(own).keys()
        files |= {
            pair.prompt.path for pair in self.pairs if not isinstance(pair.prompt, TextPrompt)
        }
        settings = {k: v for k, v in self.config.value.items() if k not in _BESIDE}
        parts = [encode(redacted(settings))]
        parts += [
            # By name, not by path, so that a run can be resumed after its folder was moved.
            f"{path.name} {content_digest(path)}".encode()
            for path in sorted(files)
            if path.is_file()
        ]
        parts += [encode([pair.prompt.label, pair.prompt.raw]) for pair in self.pairs]
        parts.append(
            encode([*self.config.selection.as_list(), self.repeats, self.config.strict_prompts])
        )
        return digest(*parts)

    def rows(self) -> Iterator[Row]:
        """A row for each test that is selected, in their order."""
        if not self.survey.stores and not any(pair.conversation for pair in self.pairs):
            return self._walk(None)
        needed = self._needed() if self.broken else None
        return self._walk(Links(self._alone(needed)), needed)

    def _alone(self, needed: frozenset[int] | None) -> Links | None:
        """How far the steps that stand alone have come when they are done; None where there are none."""
        if not self.survey.alone:
            return None
        first = Links()
        for _ in _placed(self._walk(first, needed)):
            # Walked for what it leaves in `first`.
            pass
        return first

    def _needed(self) -> frozenset[int]:
        """The steps from which others go on that can come to a verdict: they are asked, whatever is wrong with them."""
        after: list[tuple[int, ...]] = []
        reached: list[int] = []
        for slot in _placed(self._walk(Links(self._alone(None)), None)):
            after.append(slot.after)
            if slot.problem is None:
                reached += slot.after
        needed = set[int]()
        while reached:
            index = reached.pop()
            if index not in needed:
                needed.add(index)
                reached += after[index]
        return frozenset(needed)

    def _walk(self, links: Links | None, needed: frozenset[int] | None = None) -> Iterator[Row]:
        """The rows.

        Args:
            links: What their trials take from each other; None where they take nothing.
            needed: The places of those that others go on from; None for all.
        """
        times: dict[int, int] = {}
        identify, repeats = self._identities(links), self.repeats
        for test, taken in self.selector.walked(iter(self.tests), partial(takes, self.selector)):
            taking = self.pairs
            if test.prompts is not None or test.providers is not None:
                taking = [pair for pair in taking if pair.takes(test)]
            # Also for tests that are left out, so that a case is called the same whatever is selected.
            cases = [_case(test, variables, times) for variables in test.cases()]
            if not taken:
                continue
            expected = test.expected
            referees = expected.referees() if expected.contests else ()
            lonely = self.survey.refuses(test, taking) if referees else None
            yield Row(
                cases=cases,
                slots=partial(
                    self._slots,
                    test,
                    taking,
                    lonely=lonely,
                    links=links,
                    needed=needed,
                    identity=identify(test),
                ),
                repeats=test.repeats or repeats,
                rule=verdict_rule(test.threshold, expected.binding, expected.excusing),
                referees=referees,
                alone=test.alone,
                shows_thoughts=True,  # as promptfoo looks at them
            )

    def _identities(self, links: Links | None) -> Callable[[Test], TestIdentity | None]:
        """Says what a test expects; None where that can't be known before it is run."""
        alone = links is None and self.trial_hooks is None
        if not alone or self.config.value.get("nunjucksFilters"):
            return lambda _: None
        base, shared = self.config.base, SharedExpectations()
        # A conversation is more than its first request.
        return lambda test: TestIdentity(test, base, shared) if test.user is None else None

    def _scored_by(self, test: Test) -> str:
        """A digest of the files with code that changes an output before it is checked, or the verdict afterwards."""
        base = self.config.base
        hooks = sorted(f"file://{path}" for path in self._hook_files)
        return ",".join(file_contents([test.scoring, test.transform, *hooks], base))

    def _slots(
        self,
        test: Test,
        taking: Sequence[Combination],
        case: Case,
        first: int,
        *,
        lonely: Problem | None,
        links: Links | None,
        needed: frozenset[int] | None,
        identity: TestIdentity | None,
    ) -> list[Slot]:
        """What happens to a case of a test in each variant that takes it; `first` is the place of the first."""
        slots: list[Slot] = []
        scored_by = self._scored_by(test)
        for index, pair in enumerate(taking, first):
            refused = pair.refuses(test)
            problem = test.problem or refused or lonely
            body = CellBody(pair=pair, test=test, variables=case.vars)
            review = body.reviewed if test.scoring else None
            if self.trial_hooks is not None:
                body.trial_hooks = self.trial_hooks
                body.test_document = self.tests.reader.document_of(test)
                review = body.reviewed
            after: tuple[int, ...] = ()
            if links is not None:
                runs = not refused and (needed is None or index in needed)
                answers = problem is None or runs
                body.earlier = links.of(index, test, pair.conversation, answers=answers)
                after = body.earlier.after
                # Others go on from its answer, so it is asked all the same, and its problem is its verdict.
                if needed and answers:
                    body.problem, problem = problem, None
            # What is filled in beside these is in the trial's own variables; code may change them for good.
            changed = self.trial_hooks is not None or test.transform_vars
            keeps = test.files or (not changed and (test.tagged or links is not None))
            written = {**test.shown, "vars": case.vars} if keeps else test.shown
            checks = None if identity is None else partial(identity.checks, pair)
            slots.append(
                Slot(
                    variant=pair.variant,
                    body=body,
                    review=review,
                    after=after,
                    test=written,
                    scored_by=scored_by,
                    problem=problem,
                    checks=checks,
                )
            )
        return slots


def _placed(rows: Iterator[Row]) -> Iterator[Slot]:
    """The slots of a plan of these rows, each in its place."""
    index = 0
    for row in rows:
        for _ in range(row.repeats):
            for case in row.cases:
                slots = row.slots(case, index)
                index += len(slots)
                yield from slots


def _case(test: Test, variables: Mapping[str, Any], times: dict[int, int]) -> Case:
    # Tests without variables would all have the same id.
    id_ = case_id(variables) if variables else case_id(test.description)
    # There is one for each case of a run, and a number takes less memory than its text.
    number = int(id_, 16)
    again = times.get(number, 0) + 1
    times[number] = again
    return Case(
        id=id_ if again == 1 else f"{id_}#{again}",
        vars=variables,
        description=test.description or described(variables),
        metadata=test.metadata,
    )


def _transforms(written: object) -> Iterator[str]:
    """What a config's transforms say, those of assertions left out: they change what a check reads, and no output."""
    if is_mapping(written):
        for key, value in written.items():
            if key in TRANSFORMS and isinstance(value, str):
                yield value
            elif key != "assert":
                yield from _transforms(value)
    elif is_array(written):
        for one in written:
            yield from _transforms(one)

"""What a promptfoo config comes to: columns, and trials walked test by test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from evenhand.assertions.aggregate import verdict_rule
from evenhand.core.case import Case, case_id
from evenhand.core.contest import Contest
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import Problem, UsageError
from evenhand.core.plan import CallEstimate, RunOptions, Selection, Step
from evenhand.core.provider import Provider
from evenhand.core.secrets import known, redacted
from evenhand.core.variant import Variant
from evenhand.promptfoo.around import Around
from evenhand.promptfoo.cases import Test
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.earlier import Links
from evenhand.promptfoo.estimate import estimate
from evenhand.promptfoo.hooks import finished, said_once
from evenhand.promptfoo.models import Column, Models
from evenhand.promptfoo.prompts import TextPrompt
from evenhand.promptfoo.reader import TestReader
from evenhand.promptfoo.row import Source
from evenhand.promptfoo.selected import Selected
from evenhand.promptfoo.sources import content_digest
from evenhand.promptfoo.step import CellBody, Pair, described
from evenhand.promptfoo.survey import Survey

_BESIDE = frozenset(
    """
    $schema description tags outputPath sharing evaluateOptions commandLineOptions writeLatestResults tracing redteam
    """.split()
)
"""Keys that do not decide what a trial does, so that a run can be resumed after they changed."""


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
    _selected: Selected
    _survey: Survey
    hints: Sequence[Problem]
    broken: Sequence[Problem] = ()
    """What keeps tests and columns from a verdict: these are errors, and all else is run."""
    _around: Around | None = None
    _fingerprint: str = ""

    @property
    def title(self) -> str:
        """Its description, without keys that were filled in; or the name of its folder."""
        described = str(self._config.value.get("description") or "")
        return known.text(described) or self._config.base.name

    @property
    def source(self) -> str:
        """The config file."""
        return str(self._config.document.file)

    @property
    def size(self) -> int:
        """How many trials."""
        return self._survey.cells

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
    def pairs(self) -> Sequence[Pair]:
        """The columns with what is behind them."""
        return self._pairs

    @property
    def sources(self) -> Sequence[Source]:
        """Where the tests come from."""
        return self._sources

    @property
    def strict_prompts(self) -> bool:
        """Whether prompt functions are called as promptfoo calls them."""
        return self._config.strict_prompts

    @property
    def hooks_of_trials(self) -> Sequence[str]:
        """The names of the extensions' functions that are called around trials, and when all are done."""
        hooks = self._around.hooks.hooks if self._around is not None else ()
        return [hook.name for hook in hooks if hook.name != "beforeAll"]

    @property
    def prefixed(self) -> bool:
        """Whether a prefix or a suffix goes over the config."""
        return bool(self._config.overrides.prefix or self._config.overrides.suffix)

    def tests(self) -> Iterator[Test]:
        """The tests, in their order, whatever is selected."""
        return self._reader.tests()

    @property
    def providers(self) -> Sequence[Provider]:
        """The models to ask, and those that judge."""
        return (*(column.provider for column in self._columns), *self._models.judges)

    @property
    def options(self) -> RunOptions:
        """How it wants to be run."""
        return replace(
            self._config.options,
            some_alone=self._survey.alone,
            closing=self._closing(),
        )

    def _closing(self) -> Callable[[Path], None] | None:
        """Calls the extensions that want to know how the run came out."""
        if self._around is None or not self._around.hooks.at("afterAll"):
            return None
        hooks, said = self._around.hooks, dict(self._config.value)

        def close(path: Path) -> None:
            results, prompts, run = finished(path)
            context = {"suite": said, "config": said, "evalId": run, "results": results}
            said_once(hooks, "afterAll", {**context, "prompts": prompts})

        return close

    @property
    def config(self) -> Mapping[str, Any]:
        """The config as read, secrets removed; tests in files by name only."""
        # The document, not what it came to: what was filled in from the environment may be secret.
        written = cast("Mapping[str, object]", self._config.document.value)
        kept = {k: v for k, v in written.items() if k != "tests" or isinstance(v, str)}
        return cast("Mapping[str, Any]", known.inside(redacted(kept)))

    @property
    def fingerprint(self) -> str:
        """A hash of the config, of the files that it names, and of the selection."""
        if not self._fingerprint:
            files = {source.path for source in self._sources if source.path}
            files |= self._reader.files | self._models.files | self._config.files
            if self._around is not None:
                files |= self._around.hooks.files
            files |= {
                pair.prompt.path for pair in self._pairs if not isinstance(pair.prompt, TextPrompt)
            }
            said = {k: v for k, v in self._config.value.items() if k not in _BESIDE}
            parts = [encode(redacted(said))]
            parts += [
                f"{path.name} {content_digest(path)}".encode()
                for path in sorted(files)
                if path.is_file()
            ]
            parts += [encode([pair.prompt.label, pair.prompt.raw]) for pair in self._pairs]
            parts.append(
                encode([*self._selection.told(), self.repeats, self._config.strict_prompts])
            )
            self._fingerprint = digest(*parts)
        return self._fingerprint

    def steps(self) -> Iterator[Step]:
        """The trials: test by test, repeat by repeat, combination by combination, model by model, prompt by prompt."""
        if not self._survey.stores and not any(pair.conversation for pair in self._pairs):
            yield from self._walk(None)
            return
        needed = self._needed() if self.broken else None
        yield from self._walk(Links(self._alone(needed)), needed)

    def _alone(self, needed: frozenset[int] | None) -> Links | None:
        """How far the steps that stand alone have come when they are done; None where there are none."""
        if not self._survey.alone:
            return None
        first = Links()
        for _ in self._walk(first, needed):
            pass
        return first

    def _needed(self) -> frozenset[int]:
        """The steps from which others go on that can come to a verdict: they are asked, whatever is wrong with them."""
        after: dict[int, tuple[int, ...]] = {}
        reached: list[int] = []
        for step in self._walk(Links(self._alone(None)), None):
            after[step.index] = step.after
            if step.problem is None:
                reached += step.after
        needed = set[int]()
        while reached:
            index = reached.pop()
            if index not in needed:
                needed.add(index)
                reached += after[index]
        return frozenset(needed)

    def _walk(self, links: Links | None, needed: frozenset[int] | None = None) -> Iterator[Step]:
        """The trials.

        Args:
            links: What they take from each other; None where they take nothing.
            needed: Those that others go on from; None for all.
        """
        index = 0
        seen: dict[int, int] = {}
        pairs = self._pairs
        for test, taken in self._selected.walked(self._reader.tests()):
            taking = pairs
            if test.prompts is not None or test.providers is not None:
                taking = [pair for pair in pairs if pair.takes(test)]
            expected = test.expected
            rule = verdict_rule(test.threshold, expected.binding, expected.excusing)
            referees = expected.referees() if expected.contests else ()
            lonely = self._survey.refuses(test, taking) if referees else None
            # Also for tests that are left out, so that a case is called the same whatever is selected.
            cases = [self._case(test, variables, seen) for variables in test.cases()]
            if not taken:
                continue
            alone = test.alone
            for repeat in range(test.repeats or self.repeats):
                for case in cases:
                    contest = Contest(index, len(taking), referees) if referees else None
                    for pair in taking:
                        refused = pair.refuses(test)
                        problem = test.problem or refused or lonely
                        body = CellBody(pair, test, case.vars)
                        review = body.reviewed if test.scoring else None
                        if self._around is not None:
                            body.around, body.told = self._around, self._reader.told(test)
                            review = body.reviewed
                        after: tuple[int, ...] = ()
                        if links is not None:
                            asked = not refused and (needed is None or index in needed)
                            answers = problem is None or asked
                            body.earlier = links.of(index, test, pair.conversation, answers=answers)
                            after = body.earlier.after
                            if needed and answers:
                                body.problem, problem = problem, None
                        yield Step(
                            index,
                            case,
                            pair.variant,
                            repeat,
                            body,
                            rule,
                            after=after,
                            alone=alone,
                            contest=contest,
                            test={**test.shown, "vars": case.vars} if test.files else test.shown,
                            review=review,
                            problem=problem,
                        )
                        index += 1
        if index != self.size:
            raise UsageError(
                f"the tests of {self.title} changed while they were read: there were {self.size} trials, now {index}",
                hint="Start the run again.",
            )

    def estimate(self) -> Sequence[CallEstimate]:
        """The calls, with tokens and a bound on the price from the first prompts; see `evenhand check`."""
        return estimate(self.steps(), self._pairs, self._survey, self._models.judges)

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

"""What a run is asked to run. It is kept in the run's file, so that `resume` asks for the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import ConfigError, Problem, UsageError

if TYPE_CHECKING:
    from evenhand.core.plan import Plan, Selection
    from evenhand.promptfoo.overrides import Overrides
    from evenhand.registry.library import Library
    from evenhand.registry.plan import RegistryPlan


@dataclass(frozen=True, slots=True)
class Failing:
    """The tests that came to some of these outcomes in an earlier run.

    Attributes:
        path: The run's file, or a JSON file of promptfoo's results.
    """

    path: str
    outcomes: tuple[str, ...]

    def cases(self) -> frozenset[str]:
        """The ids of their cases.

        Raises:
            UsageError: The file holds no results.
        """
        from evenhand.cli.failed import failed_cases  # noqa: PLC0415 (seldom)

        return failed_cases(Path(self.path), self.outcomes)


@dataclass(frozen=True, slots=True)
class Asked:
    """The paths, which part of what they hold, and what goes over it.

    Attributes:
        paths: Absolute. Promptfoo configs and folders; or eval files, with a line or without, and folders of them.
        filter: A regular expression for cases.
        first: Only so many cases.
        sample: Only so many, drawn at random.
        seed: For the sample.
        repeats: Instead of what the files say.
        strict_prompts: Call prompt functions as promptfoo does.
        offline: Answer from offline.jsonl.
        names: Only evals with this text in their name.
        tag: Only evals with this tag.
        pattern: A regular expression for descriptions.
        metadata: `key=value`s that the cases' metadata has to say.
        range: From this place to before that one.
        only_prompts: A regular expression for prompts.
        only_models: A regular expression for models.
        failing: Only cases that failed in an earlier run.
        prompts: This, and what follows: see `evenhand.promptfoo.overrides.Overrides`.
        strict: What would be warned of is an error.
        definitions: Whose definitions of RAG metrics; empty for ours.
        case: Of prompt directories, only the case with this name.
    """

    paths: tuple[str, ...]
    filter: str = ""
    first: int | None = None
    sample: int | None = None
    seed: int = 0
    repeats: int | None = None
    strict_prompts: bool = False
    offline: bool = False
    names: str = ""
    tag: str = ""
    pattern: str = ""
    metadata: tuple[str, ...] = ()
    range: tuple[int | None, int | None] | None = None
    only_prompts: str = ""
    only_models: str = ""
    failing: Failing | None = None
    prompts: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tests: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    prefix: str = ""
    suffix: str = ""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    grader: str = ""
    model_outputs: str = ""
    assertions: str = ""
    delay_ms: float | None = None
    env_files: tuple[str, ...] = ()
    strict: bool = False
    definitions: str = ""
    case: str = ""

    @staticmethod
    def again(record: Mapping[str, Any]) -> Asked:
        """What an earlier session was asked."""
        asked: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in record["asked"].items()
        }
        failing = asked.get("failing")
        if failing:
            asked["failing"] = Failing(failing["path"], tuple(failing["outcomes"]))
        return Asked(**asked)

    def record(self) -> dict[str, Any]:
        """For the run's file."""
        return asdict(self)

    @property
    def folder(self) -> Path:
        """The first path's, or, for eval files in `evals`, the one above: it keeps the runs, and has offline.jsonl."""
        from evenhand.authoring.discovery import split_line  # noqa: PLC0415 (seldom)

        path = Path(split_line(self.paths[0])[0])
        folder = path if path.is_dir() else path.parent
        prompts = self._prompts()
        if prompts is not None and not (folder / "offline.jsonl").is_file():
            return prompts[0].root
        if not self._is_evals(self.paths[0]):
            return folder
        return next((f.parent for f in (folder, *folder.parents) if f.name == "evals"), folder)

    def plan(self, *, prepare: bool = True) -> tuple[Plan, list[Problem]]:
        """The plan, and what is wrong with files that it goes on without.

        Raises:
            UsageError: The paths do not go together.
            ConfigError: All that is wrong with what they hold.
            NothingSelected: Nothing is left to run.
        """
        from evenhand.core.plan import Selection  # noqa: PLC0415 (imported once it is known what is asked)

        selection = Selection(
            metadata=self.metadata,
            only=self.failing.cases() if self.failing else None,
            filter=self.filter,
            pattern=self.pattern,
            range=self.range,
            first=self.first,
            sample=self.sample,
            seed=self.seed,
            repeats=self.repeats,
            prompts=self.only_prompts,
            models=self.only_models,
        )
        if any(self._is_evals(path) for path in self.paths):
            from evenhand.authoring.discovery import find  # noqa: PLC0415 (see above)
            from evenhand.authoring.plan import plan_of  # noqa: PLC0415 (see above)

            found = find(self.paths)
            plan = plan_of(
                found.sets,
                selection,
                env=os.environ,
                names=self.names,
                tag=self.tag,
                lines=found.lines,
                source=str(self.folder),
                strict=self.strict,
                broken=found.problems,
            )
            return plan, sorted(found.problems)
        prompts = self._prompts()
        if prompts is not None:
            prompt_plan = self._registry(*prompts, selection)
            if self.strict and prompt_plan.hints:
                raise ConfigError(prompt_plan.hints)
            return prompt_plan, []
        if self.case:
            raise UsageError("--case is for prompt directories", hint="Use --filter.")
        if self.names or self.tag:
            raise UsageError(
                "-k, and --tag without a value, are for eval sets",
                hint="Use --filter for a promptfoo config.",
            )
        from evenhand.promptfoo.load import load  # noqa: PLC0415 (see above)

        paths = [Path(path) for path in self.paths]
        overrides = self._overrides()
        plan = load(
            paths,
            selection,
            strict_prompts=self.strict_prompts,
            overrides=overrides,
            prepare=prepare,
        )
        if self.strict and plan.hints:
            raise ConfigError(plan.hints)
        return plan, list(plan.broken)

    def _for_configs(self) -> dict[str, object]:
        """What was given of the options that only promptfoo configs have a use for."""
        return {
            "--prompts": self.prompts,
            "--providers": self.providers,
            "--tests": self.tests,
            "--prompt-prefix": self.prefix,
            "--prompt-suffix": self.suffix,
            "--description": self.description,
            "--tag": self.tags,
            "--grader": self.grader,
            "--model-outputs": self.model_outputs,
            "--assertions": self.assertions,
            "--delay": self.delay_ms,
            "--env-file": self.env_files,
            "--strict-prompts": self.strict_prompts,
        }

    def _overrides(self) -> Overrides:
        """What goes over a promptfoo config."""
        from evenhand.promptfoo.overrides import Overrides  # noqa: PLC0415 (see above)

        return Overrides(
            prompts=self.prompts,
            providers=self.providers,
            tests=self.tests,
            variables=self.variables,
            prefix=self.prefix,
            suffix=self.suffix,
            description=self.description,
            tags=self.tags,
            grader=self.grader,
            model_outputs=self.model_outputs,
            assertions=self.assertions,
            delay_ms=self.delay_ms,
            env_files=self.env_files,
        )

    def _prompts(self) -> tuple[Library, list[str]] | None:
        """The prompt directories that are meant; None where something else is."""
        from evenhand.cli.dialects import prompts_meant  # noqa: PLC0415 (see above)

        return prompts_meant(self.paths)

    def _registry(self, library: Library, ids: list[str], selection: Selection) -> RegistryPlan:
        from evenhand.cli.dialects import lent_assertions  # noqa: PLC0415 (see above)
        from evenhand.registry.plan import load  # noqa: PLC0415 (see above)

        if self.names or self.tag:
            raise UsageError(
                "-k, and --tag without a value, are for eval sets",
                hint="Use --filter, or --filter-metadata tags=NAME.",
            )
        for_configs = [option for option, value in self._for_configs().items() if value]
        if for_configs:
            are = "is" if len(for_configs) == 1 else "are"
            raise UsageError(
                f"{', '.join(for_configs)} {are} for promptfoo configs, and these are prompt directories",
                hint="Models, judges and cases are named in eval.yml and meta.yml.",
            )
        lend = lent_assertions(os.environ, library.root)
        return load(
            library,
            ids,
            selection,
            case=self.case,
            variables=self.variables,
            offline=self.offline,
            lend=lend,
        )

    @staticmethod
    def told(plan: Plan) -> list[str]:
        """What is to be said of a plan once it has run, a line each."""
        return list(getattr(plan, "told", ()))

    @staticmethod
    def _is_evals(path: str) -> bool:
        if path.endswith((".yaml", ".yml", ".json")):
            return False
        from evenhand.authoring.discovery import is_evals  # noqa: PLC0415 (see above)

        return is_evals(path)


def absolute(path: str) -> str:
    """A path as it can be found again from anywhere, the line after it kept."""
    return os.path.abspath(path)  # noqa: PTH100 (a path may have a line after it)

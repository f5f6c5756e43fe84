"""A folder of prompts, models and tests in, a plan out. Nothing is run; all that is wrong is said at once."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Plan, refuse_if_nothing_is_left
from evenhand.core.selecting import Selector
from evenhand.doors.promptfoo.config import Config, read_config
from evenhand.doors.promptfoo.editing import FolderEditor
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.prompt_files import read_prompts
from evenhand.doors.promptfoo.reader import TestReader
from evenhand.doors.promptfoo.sources import read_sources
from evenhand.doors.promptfoo.survey import look_at, surveyed
from evenhand.doors.promptfoo.variants import paired, selected_subjects
from evenhand.languages.documents.findings import Findings

PLAIN = Chosen()


def load(path: Path | Sequence[Path], chosen: Chosen = PLAIN) -> Plan:
    """The plan of a promptfoo config: see `read_folder`.

    Raises:
        ConfigError: What is wrong with the config, or no test is left that can come to a verdict.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    folder = read_folder(path, chosen)
    plan = folder.plan()
    plan.differences = partial(_differences, folder)
    plan.editor = FolderEditor(folder)
    refuse_if_nothing_is_left(plan)
    return plan


def read_folder(path: Path | Sequence[Path], chosen: Chosen = PLAIN) -> Folder:
    """A promptfoo config, read whole: its prompts, models and tests.

    Args:
        path: The config file, or the folder that holds a promptfooconfig.yaml; or several, which are put together.
        chosen: What the caller chose beside it.

    Raises:
        ConfigError: What is wrong with the config and the files that it names: all of it.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    findings = Findings(replacing=True)
    config = read_config([path] if isinstance(path, Path) else path, chosen, findings)
    if config is None:
        raise findings.error()
    try:
        return _read(config, chosen, findings)
    except NothingSelected as error:
        raise error.unwritten(config.options.outputs) from None


def _read(config: Config, chosen: Chosen, findings: Findings) -> Folder:
    files = set(config.files)
    models = FolderModels(config, findings)
    if chosen.overrides.grader:
        models.look_at_grader(chosen.overrides.grader)
    all_prompts = read_prompts(config, findings, files)
    all_subjects = models.subjects(config.selection)
    prompts, subjects = selected_subjects(all_prompts, all_subjects, config.selection)
    sources = read_sources(config, findings, files)
    hooks = None
    if config.value.get("extensions"):
        from evenhand.doors.promptfoo.hooks import before_all, read_hooks  # noqa: PLC0415 (few configs have any)

        hooks = read_hooks(config, findings)
        if hooks.at("beforeAll") and chosen.prepare and not findings.problems:
            config, left, sources = before_all(hooks, config, prompts, sources, findings)
            all_prompts, prompts = [*all_prompts, *left], left
    known = {
        "prompts": [name for prompt in all_prompts for name in prompt.names],
        "providers": [name for c in all_subjects for name in (c.provider.id, c.provider.label)],
    }
    reader = TestReader.of(config, models, findings, known)
    pairs = paired(prompts, subjects, config, findings)
    selector = Selector(config.selection)
    repeats = config.selection.repeats or config.repeats
    with _few_collections():
        survey, tests = surveyed(sources, reader, pairs, selector, repeats, findings)
    if not findings.problems and not survey.tests and not selector.narrows:
        findings.problem(
            config.at("tests"), "there are no tests", "The files that it names hold none."
        )
    if findings.problems:
        raise findings.error()
    look_at(survey, pairs, config, findings)
    if not survey.cases:
        raise NothingSelected(
            f"the selection matches none of the tests ({survey.tests:,})",
            hint=f"Selected: {selector.words}.",
        )
    return Folder(
        config=config,
        pairs=pairs,
        subjects=subjects,
        models=models,
        tests=tests,
        files=frozenset(files),
        selector=selector,
        survey=survey,
        hints=findings.hints,
        broken=sorted(findings.broken_parts),
        trial_hooks=hooks.around_trials(config, models) if hooks else None,
    )


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Inside, the cycle collector looks seldom: tests are many objects that stay, without cycles."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _differences(folder: Folder) -> Sequence[str]:
    from evenhand.doors.promptfoo.differences import differences  # noqa: PLC0415 (most commands don't tell them)

    return differences(folder)

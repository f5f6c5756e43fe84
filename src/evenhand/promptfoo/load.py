"""A folder of prompts, models and tests in, a plan out. Nothing is run; all that is wrong is said at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import EvenhandError, NothingSelected
from evenhand.core.plan import Plan, Selection, refuse_if_nothing_is_left
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.documents.findings import Findings
from evenhand.promptfoo.around import Around
from evenhand.promptfoo.config import (
    Config,
    find_config,
    find_configs,
    no_config,
    read_config,
    read_env_files,
)
from evenhand.promptfoo.differences import differences
from evenhand.promptfoo.environment import env_file
from evenhand.promptfoo.hooks import Hooks, read_hooks, said_once
from evenhand.promptfoo.models import Column, Models
from evenhand.promptfoo.overrides import Overrides
from evenhand.promptfoo.plan import Folder
from evenhand.promptfoo.prompt_files import read_prompts
from evenhand.promptfoo.prompts import AnyPrompt
from evenhand.promptfoo.reader import TestReader
from evenhand.promptfoo.row import Source
from evenhand.promptfoo.selected import selected_columns
from evenhand.promptfoo.sources import Listed, read_sources
from evenhand.promptfoo.step import Pair
from evenhand.promptfoo.survey import look_at, surveyed
from evenhand.templates.filters import read_templates


def load(
    path: Path | Sequence[Path],
    selection: Selection | None = None,
    *,
    strict_prompts: bool = False,
    env: Mapping[str, str] | None = None,
    overrides: Overrides | None = None,
    prepare: bool = True,
) -> Plan:
    """The plan of a promptfoo config: see `read_folder`.

    Raises:
        ConfigError: What is wrong with the config, or no test is left that can come to a verdict.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    folder = read_folder(
        path,
        selection,
        strict_prompts=strict_prompts,
        env=env,
        overrides=overrides,
        prepare=prepare,
    )
    plan = folder.plan()
    plan.differences = lambda: differences(folder)
    refuse_if_nothing_is_left(plan)
    return plan


def read_folder(
    path: Path | Sequence[Path],
    selection: Selection | None = None,
    *,
    strict_prompts: bool = False,
    env: Mapping[str, str] | None = None,
    overrides: Overrides | None = None,
    prepare: bool = True,
) -> Folder:
    """A promptfoo config, read whole: its prompts, models and tests.

    Args:
        path: The config file, or the folder that holds a promptfooconfig.yaml; or several, which are put together.
        selection: Which of its tests to run.
        strict_prompts: Call prompt functions as promptfoo does, whatever their parameters are called.
        env: The environment; by default the process's, to which the `.env` file of the folder one stands in is added,
            and those that are named.
        overrides: What goes over what the config says.
        prepare: Call the extensions that are called before all tests, and may change them.

    Raises:
        ConfigError: What is wrong with the config and the files that it names: all of it.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    findings = Findings()
    config = _config(
        [path] if isinstance(path, Path) else path, selection, env, overrides, findings
    )
    selection = config.selection
    config.strict_prompts = config.strict_prompts or strict_prompts
    config.templates, filters = read_templates(
        config.value, config.env, config.base, config.at, findings
    )
    models = Models(config, findings)
    models.files.update(filters)
    all_prompts, all_columns = read_prompts(config, findings), models.subjects()
    prompts, columns = selected_columns(all_prompts, all_columns, selection)
    sources = read_sources(config, findings)
    hooks = read_hooks(config, findings)
    if hooks.at("beforeAll") and prepare and not findings.problems:
        sources = before_all(hooks, config, prompts, sources, findings)
    reader = TestReader(config, sources, models, findings)
    reader.known = {
        "prompts": [name for prompt in all_prompts for name in (prompt.label, prompt.id)],
        "providers": [name for c in all_columns for name in (c.provider.id, c.provider.label)],
    }
    pairs = _pairs(prompts, columns, config, findings)
    selector = Selector(selection)
    survey = surveyed(reader, pairs, selector, selection.repeats or config.repeats, findings)
    if not findings.problems and not survey.tests and not selector.narrows:
        findings.problem(
            config.at("tests"), "there are no tests", "The files that it names hold none."
        )
    if findings.problems:
        raise findings.error()
    look_at(survey, pairs, config, findings)
    if not survey.cases:
        raise NothingSelected(
            f"the selection leaves none of {survey.tests} tests", hint=f"It was: {selector.words}."
        )
    return Folder(
        config,
        selection,
        pairs,
        columns,
        models,
        sources,
        reader,
        selector,
        survey,
        findings.hints,
        sorted(findings.broken_parts),
        Around(hooks, config, models) if hooks.hooks else None,
    )


def before_all(
    hooks: Hooks,
    config: Config,
    prompts: Sequence[AnyPrompt],
    sources: list[Source],
    findings: Findings,
) -> list[Source]:
    """The sources of tests as the extensions leave them; `defaultTest` may be changed, too."""
    tests = [dict(row.value) for source in sources for row in source.rows(findings)]
    default = config.value.get("defaultTest") or {}
    if isinstance(default, Mapping):  # with what a hook may append to, whether or not it is written
        default = {"vars": {}, "assert": [], "options": {}, **cast("Mapping[str, Any]", default)}
    suite = {
        **config.value,
        "tests": tests,
        "prompts": [{"raw": prompt.raw, "label": prompt.label} for prompt in prompts],
        "defaultTest": default,
    }
    try:
        found = said_once(hooks, "beforeAll", {"suite": suite})["suite"]
    except EvenhandError as error:
        findings.problem(config.at("extensions"), error.message, error.hint)
        return sources
    if not isinstance(found, Mapping):
        findings.problem(config.at("extensions"), "beforeAll left no suite")
        return sources
    changed = cast("Mapping[str, Any]", found)
    if changed.get("defaultTest") != suite["defaultTest"]:
        config.value["defaultTest"] = changed.get("defaultTest")
    if changed.get("tests") == tests:
        return sources
    items = cast("list[object]", changed.get("tests") or [])
    return [Listed(config.document, items, ("tests",))]


def _config(
    paths: Sequence[Path],
    selection: Selection | None,
    env: Mapping[str, str] | None,
    overrides: Overrides | None,
    findings: Findings,
) -> Config:
    """The config that these paths stand for."""
    said = overrides or Overrides()
    here = Path.cwd()
    environment = os.environ if env is None else env
    if env is None:
        # Also for code of the user's that runs in this process, which looks there and not here.
        read = env_file(here / ".env", findings) if (here / ".env").is_file() else {}
        os.environ.update({name: read[name] for name in read.keys() - os.environ.keys()})
        os.environ.update(read_env_files(said.env_files, here, findings))
    complete = said.model_outputs or (said.prompts and said.providers)
    if complete and not any(_holds(path) for path in paths):
        config = no_config(paths[0] if paths[0].is_dir() else here, environment, said)
        config.selection = selection or Selection()
        return config
    files = find_configs(paths, findings)
    config = None
    if files and not findings.problems:
        config = read_config(
            files[0],
            environment,
            findings,
            others=files[1:],
            overrides=said,
            selection=selection,
        )
    if config is None:
        raise findings.error()
    if env is None:
        os.environ.update(config.env_read)
    return config


def _holds(path: Path) -> bool:
    return not path.is_dir() or find_config(path, Findings()) is not None


def _pairs(
    prompts: Sequence[AnyPrompt], columns: Sequence[Column], config: Config, findings: Findings
) -> list[Pair]:
    found: list[Pair] = []
    labels = [prompt.label for prompt in prompts]
    for column in columns:
        taken = [
            prompt for prompt in prompts if column.takes(prompt.label) or column.takes(prompt.id)
        ]
        if prompts and not taken:
            findings.problem(
                column.place,
                f"provider {column.provider.label} takes none of the prompts: {', '.join(column.prompts or ())}",
                f"There are: {', '.join(labels)}.",
            )
        for prompt in taken:
            variant = Variant(
                len(found),
                " ".join(prompt.label.split()),
                column.provider.label,
                prompt.raw,
                column.provider.id,
            )
            found.append(Pair(variant, prompt, column, config.base, config.templates))
    return found

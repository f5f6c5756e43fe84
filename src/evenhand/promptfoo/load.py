"""A folder of prompts, models and tests in, a plan out. Nothing is run; all that is wrong is said at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Selection
from evenhand.core.variant import Variant
from evenhand.promptfoo.config import Config, find_config, read_config
from evenhand.promptfoo.findings import Findings
from evenhand.promptfoo.models import Column, Models
from evenhand.promptfoo.plan import PromptfooPlan
from evenhand.promptfoo.prompt_files import read_prompts
from evenhand.promptfoo.prompts import AnyPrompt
from evenhand.promptfoo.reader import TestReader
from evenhand.promptfoo.selected import Selected
from evenhand.promptfoo.sources import read_sources
from evenhand.promptfoo.step import Pair
from evenhand.promptfoo.survey import look_at, surveyed
from evenhand.promptfoo.template_filters import lend


def load(
    path: Path,
    selection: Selection | None = None,
    *,
    strict_prompts: bool = False,
    env: Mapping[str, str] | None = None,
) -> PromptfooPlan:
    """The plan of a promptfoo config.

    Args:
        path: The config file, or the folder that holds a promptfooconfig.yaml.
        selection: Which of its tests to run.
        strict_prompts: Call prompt functions as promptfoo does, whatever their parameters are called.
        env: The environment; by default the process's.

    Raises:
        ConfigError: What is wrong with the config and the files that it names: all of it.
        NothingSelected: The selection leaves no test.
        UsageError: The filter is not a regular expression.
    """
    selection = selection or Selection()
    findings = Findings()
    file = find_config(path, findings)
    config = read_config(file, os.environ if env is None else env, findings) if file else None
    if config is None:
        raise findings.error()
    config.strict_prompts = config.strict_prompts or strict_prompts
    models = Models(config, findings)
    models.files.update(lend(config.value, config.env, config.base, config.at, findings))
    prompts = read_prompts(config, findings)
    columns = models.subjects()
    sources = read_sources(config, findings)
    reader = TestReader(config, sources, models, findings)
    pairs = _pairs(prompts, columns, config, findings)
    selected = Selected(selection)
    survey = surveyed(reader, pairs, selected, selection.repeats or config.repeats, findings)
    if not findings.problems and not survey.tests and not selected.narrows:
        findings.problem(
            config.at("tests"), "there are no tests", "The files that it names hold none."
        )
    if findings.problems:
        raise findings.error()
    look_at(survey, pairs, config, findings)
    if not survey.cases:
        raise NothingSelected(
            f"the selection leaves none of {survey.tests} tests", hint=f"It was: {selected.words}."
        )
    return PromptfooPlan(
        config,
        selection,
        pairs,
        columns,
        models,
        sources,
        reader,
        selected,
        survey,
        findings.hints,
        sorted(findings.broken_parts),
    )


def _pairs(
    prompts: Sequence[AnyPrompt], columns: Sequence[Column], config: Config, findings: Findings
) -> list[Pair]:
    found: list[Pair] = []
    labels = [prompt.label for prompt in prompts]
    for column in columns:
        taken = [prompt for prompt in prompts if column.takes(prompt.label)]
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
            found.append(Pair(variant, prompt, column, config.base))
    return found

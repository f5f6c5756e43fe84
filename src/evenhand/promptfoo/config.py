"""The top of a config file: which keys there are, where they stand, and what they say about the run as a whole."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenhand.core.names import did_you_mean, nearest
from evenhand.core.plan import RunOptions, Selection
from evenhand.core.secrets import known
from evenhand.documents.files import unreadable
from evenhand.documents.findings import Findings, Place
from evenhand.documents.tree import Document, read_document
from evenhand.javascript.source import ENDINGS as JAVASCRIPT
from evenhand.promptfoo.combined import combined
from evenhand.promptfoo.config_code import read_code
from evenhand.promptfoo.environment import declared, env_file, env_filled, not_secret
from evenhand.promptfoo.options import run_options
from evenhand.promptfoo.overrides import Overrides, from_options, merged
from evenhand.promptfoo.references import References
from evenhand.report.promptfoo_results.derived import problem as derived_problem
from evenhand.templates.rendering import NO_CONFIG, Templates

NAMES = tuple(
    f"promptfooconfig.{ending}"
    for ending in ("yaml", "yml", "json", "cjs", "cts", "js", "mjs", "mts", "ts")
)
"""What a config is called in its folder; the first that is there."""

KEYS = frozenset(
    """
    $schema description tags prompts providers targets tests scenarios defaultTest outputPath sharing env
    nunjucksFilters derivedMetrics extensions metadata evaluateOptions commandLineOptions tracing redteam
    writeLatestResults promptCompat
    """.split()
)
_HOLDS_TESTS = frozenset({"tests", "scenarios", "defaultTest"})
_NO_EFFECT = {
    "sharing": "has no effect: nothing is uploaded anywhere",
    "tracing": "has no effect yet",
    "redteam": "has no effect: only the evaluation is run",
}


@dataclass(slots=True)
class Config:
    """A config as read: its parts still raw, the run's options made out.

    Attributes:
        document: The file, or several as one.
        value: What it says, references and the environment filled in.
        env: The environment that it is read in.
        repeats: How often each test is repeated.
        strict_prompts: Prompt functions are called as promptfoo calls them.
        overrides: What is said beside it.
        selection: Which part of it is run.
        templates: Fill in the tags in it.
    """

    document: Document
    value: dict[str, Any]
    env: Mapping[str, str]
    options: RunOptions = field(default_factory=RunOptions)
    repeats: int = 1
    strict_prompts: bool = False
    overrides: Overrides = field(default_factory=Overrides)
    selection: Selection = field(default_factory=Selection)
    templates: Templates = NO_CONFIG
    files: set[Path] = field(default_factory=set[Path])
    """Files that it is made of, beside its own."""
    env_read: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the `.env` files set that it names itself."""

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self.document.file.parent

    def at(self, *path: str | int) -> Place:
        """Where a part of it is written."""
        return self.document.at(*path)


def find_config(path: Path, findings: Findings) -> Path | None:
    """The config file meant by a path: itself, or the one in the folder. None, and a problem, where there is none."""
    wrong = None if path.is_dir() else unreadable(path)
    if wrong is not None:
        findings.problem(Place(path), *wrong)
        return None
    if not path.exists():
        near = (
            nearest(path.name, [p.name for p in path.parent.glob("*")])
            if path.parent.is_dir()
            else ""
        )
        findings.problem(Place(path), "does not exist", f"Did you mean '{near}'?" if near else "")
        return None
    if not path.is_dir():
        if path.suffix not in (".yaml", ".yml", ".json") and path.suffix not in JAVASCRIPT:
            findings.problem(
                Place(path),
                f"cannot be run: a config ends in .yaml, .yml, .json, .js or .ts, not '{path.suffix}'",
                "Name a promptfooconfig.yaml, or the folder that holds one.",
            )
            return None
        return path.absolute()
    for name in NAMES:
        wrong = unreadable(path / name)
        if wrong is not None:
            findings.problem(Place(path / name), *wrong)
            return None
        if (path / name).is_file():
            return (path / name).absolute()
    near = nearest(NAMES[0], [p.name for p in path.glob("*.y*ml")])
    findings.problem(
        Place(path),
        "holds nothing to run: no promptfooconfig.yaml, no evals/**/*_evals.py, no prompt directories",
        f"Did you mean {path / near}?"
        if near
        else "`evenhand init`, or `init --python`, makes a folder to start from.",
    )
    return None


def no_config(folder: Path, env: Mapping[str, str], overrides: Overrides) -> Config:
    """A config that is all on the command line."""
    document = Document(folder.absolute() / NAMES[0], {})
    value = cast("dict[str, Any]", env_filled(overrides.applied({}), env))
    return Config(document, value, env, overrides=overrides)


def find_configs(paths: Sequence[Path], findings: Findings) -> list[Path]:
    """The config files meant by paths: files, patterns, and folders with a config in them."""
    found: list[Path] = []
    for path in paths:
        matches = [path]
        if not path.exists() and any(char in str(path) for char in "*?["):
            matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (Path.glob takes no absolute pattern)
            if not matches:
                findings.problem(Place(path), "matches no file")
        for match in matches:
            file = find_config(match, findings)
            if file is not None and file not in found:
                found.append(file)
    return found


def read_config(
    path: Path,
    env: Mapping[str, str],
    findings: Findings,
    *,
    others: Sequence[Path] = (),
    overrides: Overrides | None = None,
    selection: Selection | None = None,
) -> Config | None:
    """A config file, its environment filled in. None, and its problems, where it cannot be read.

    Args:
        env: The process's environment.
        others: More configs, put together with this one; see `combined`.
        overrides: What goes over it, and over its own `commandLineOptions`.
        selection: Which part is run; what it leaves open, `commandLineOptions` may say.
    """
    documents = [_document(file, findings) for file in (path, *others)]
    found = [document for document in documents if document is not None]
    if len(found) < len(documents):
        return None
    # The first is the config's own; of one in code, what it comes to is not all that it says.
    files = {d.file for d in found if d is not found[0] or d.file.suffix in JAVASCRIPT}
    values: list[dict[str, Any]] = []
    for document in found:
        references = References(document, findings)
        given = document.value
        if not env.get("PROMPTFOO_DISABLE_REF_PARSER"):
            given = references.replaced(given)
        files |= references.files
        values.append(cast("dict[str, Any]", given))
    document, value = found[0], values[0]
    if others:
        document, value = combined(found, values)
    said = overrides or Overrides()
    config = Config(document, value, env, overrides=said, selection=selection or Selection())
    line = value.get("commandLineOptions")
    if isinstance(line, Mapping):
        at = config.at
        more, part = from_options(
            cast("Mapping[str, Any]", line),
            lambda *inside: at("commandLineOptions", *inside),
            findings,
        )
        config.overrides = said.over(more)
        config.selection = merged(config.selection, part)
        config.env_read = read_env_files(more.env_files, config.base, findings)
        env = {**env, **config.env_read}
    environment = {**env, **declared(value, env)}
    known.learn_environment(environment)
    value = config.overrides.applied(value)
    try:
        config.value = _filled(value, environment)
    except RecursionError:
        findings.problem(Place(path), "is nested too deep")
        return None
    config.env, config.files = environment, files
    _look_at_keys(config, findings)
    config.options, config.repeats = run_options(config.value, config.at, environment, findings)
    if config.overrides.delay_ms is not None:
        config.options = replace(config.options, delay_s=config.overrides.delay_ms / 1000)
    compat = config.value.get("promptCompat")
    if compat not in (None, "promptfoo-strict", "by-name"):
        findings.problem(
            config.at("promptCompat"),
            f"promptCompat is {compat!r}",
            "It is by-name (the default) or promptfoo-strict.",
        )
    config.strict_prompts = compat == "promptfoo-strict"
    return config


def _filled(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """A config with its environment filled in: in the variables of tests, only what is not secret."""
    open_to_tests = not_secret(env)
    return {
        key: env_filled(part, env, open_to_tests if key in _HOLDS_TESTS else None)
        for key, part in value.items()
    }


def read_env_files(names: Sequence[str], base: Path, findings: Findings) -> dict[str, str]:
    """The variables that these files set, later ones over earlier ones. Their values are told to nobody."""
    found: dict[str, str] = {}
    for name in names:
        found |= env_file(base / os.path.expanduser(name), findings)  # noqa: PTH111 (a name, not a path yet)
    return found


def _document(path: Path, findings: Findings) -> Document | None:
    read = read_code if path.suffix in JAVASCRIPT else read_document
    document = read(path, findings)
    if document is None:
        return None
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "is not an object at its top"
        findings.problem(Place(path, 1, 1), what, "It needs prompts, providers and tests.")
        return None
    return document


def _look_at_keys(config: Config, findings: Findings) -> None:
    value = config.value
    for key in value:
        if key in _NO_EFFECT and value[key]:
            findings.hint(config.at(key), f"'{key}' {_NO_EFFECT[key]}")
        elif key not in KEYS:
            hint = did_you_mean(key, KEYS - value.keys())
            findings.hint(config.at(key), f"unknown key '{key}' is not used", hint)
    derived = value.get("derivedMetrics")
    for i, item in enumerate(cast("list[object]", derived) if isinstance(derived, list) else ()):
        found = item if isinstance(item, Mapping) else {}
        what = derived_problem(cast("Mapping[str, Any]", found))
        if what:
            findings.hint(config.at("derivedMetrics", i), f"{what}; it is left out of the results")
    if "providers" in value and "targets" in value:
        findings.problem(
            config.at("targets"), "'targets' is another word for 'providers': there can be only one"
        )

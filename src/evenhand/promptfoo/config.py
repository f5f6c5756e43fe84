"""The top of a config file: which keys there are, where they stand, and what they say about the run as a whole."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.plan import RunOptions
from evenhand.promptfoo.findings import Findings, Place, did_you_mean, nearest
from evenhand.promptfoo.tree import Document, read_document

NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
_CODE_NAMES = tuple(
    f"promptfooconfig.{ending}" for ending in ("js", "ts", "mjs", "mts", "cjs", "cts")
)

KEYS = frozenset(
    """
    $schema description tags prompts providers targets tests scenarios defaultTest outputPath sharing env
    nunjucksFilters derivedMetrics extensions metadata evaluateOptions commandLineOptions tracing redteam
    writeLatestResults promptCompat
    """.split()
)
_NOT_YET = {
    "scenarios": "Write their rows out under tests.",
    "extensions": "Their hooks could change tests and results, so nothing is run without them.",
}
_NO_EFFECT = {
    "derivedMetrics": "has no effect yet",
    "outputPath": "has no effect; `evenhand export --to FILE` writes results",
    "sharing": "has no effect: nothing is uploaded anywhere",
    "tracing": "has no effect yet",
    "redteam": "has no effect: only the evaluation is run",
}
_OPTIONS = frozenset(
    """
    cache delay maxConcurrency repeat showProgressBar timeoutMs maxEvalTimeMs filterRange generateSuggestions
    suggestionsCount eventSource interactiveProviders
    """.split()
)
_ENV = re.compile(r"""\{\{\s*env(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])\s*\}\}""")


@dataclass(slots=True)
class Config:
    """A config file as read: its parts still raw, the run's options made out."""

    document: Document
    value: dict[str, Any]
    env: Mapping[str, str]
    options: RunOptions = field(default_factory=RunOptions)
    repeats: int = 1
    strict_prompts: bool = False

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self.document.file.parent

    def at(self, *path: str | int) -> Place:
        """Where a part of it is written."""
        return self.document.at(*path)


def find_config(path: Path, findings: Findings) -> Path | None:
    """The config file meant by a path: itself, or the one in the folder. None, and a problem, where there is none."""
    if not path.exists():
        near = (
            nearest(path.name, [p.name for p in path.parent.glob("*")])
            if path.parent.is_dir()
            else ""
        )
        findings.problem(Place(path), "does not exist", f"Did you mean '{near}'?" if near else "")
        return None
    if not path.is_dir():
        if path.suffix not in (".yaml", ".yml", ".json"):
            findings.problem(
                Place(path),
                f"cannot be run: a config ends in .yaml, .yml or .json, not '{path.suffix}'",
                "Name a promptfooconfig.yaml, or the folder that holds one.",
            )
            return None
        return path.absolute()
    for name in NAMES:
        if (path / name).is_file():
            return (path / name).absolute()
    for name in _CODE_NAMES:
        if (path / name).is_file():
            findings.problem(
                Place(path / name),
                "is JavaScript, which is not supported yet",
                "`npx promptfoo config` cannot write it out; copy what it returns into a promptfooconfig.yaml.",
            )
            return None
    near = nearest(NAMES[0], [p.name for p in path.glob("*.y*ml")])
    findings.problem(
        Place(path),
        "holds no promptfooconfig.yaml",
        f"Did you mean {path / near}?" if near else "`evenhand init` makes a folder to start from.",
    )
    return None


def read_config(path: Path, env: Mapping[str, str], findings: Findings) -> Config | None:
    """A config file, its environment filled in. None, and its problems, where it cannot be read."""
    document = read_document(path, findings)
    if document is None:
        return None
    if not isinstance(document.value, dict):
        what = "is empty" if document.value is None else "is not an object at its top"
        findings.problem(Place(path, 1, 1), what, "It needs prompts, providers and tests.")
        return None
    value = cast("dict[str, Any]", document.value)
    environment = {**env, **_declared_env(value, env)}
    try:
        value = cast("dict[str, Any]", env_filled(_dereferenced(value, value, 0), environment))
    except RecursionError:
        findings.problem(Place(path), "is nested too deep")
        return None
    config = Config(document, value, environment)
    _look_at_keys(config, findings)
    _read_options(config, findings)
    return config


def number(
    value: object, place: Place, name: str, findings: Findings, least: float | None = None
) -> float | None:
    """A number from a config; None, and a problem, where it is something else."""
    if value is None:
        return None
    found = math.nan
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            found = float(value)
    if not math.isfinite(found):
        findings.problem(place, f"{name} is {value!r}, not a number")
        return None
    if least is not None and found < least:
        findings.problem(place, f"{name} is {value!r}, less than {least:g}")
        return None
    return found


def _look_at_keys(config: Config, findings: Findings) -> None:
    value = config.value
    for key in value:
        if key in _NOT_YET and value[key]:
            findings.problem(config.at(key), f"'{key}' is not supported yet", _NOT_YET[key])
        elif key in _NO_EFFECT and value[key]:
            findings.hint(config.at(key), f"'{key}' {_NO_EFFECT[key]}")
        elif key not in KEYS:
            hint = did_you_mean(key, KEYS - value.keys())
            findings.hint(config.at(key), f"unknown key '{key}' is not used", hint)
    if "providers" in value and "targets" in value:
        findings.problem(
            config.at("targets"), "'targets' is another word for 'providers': there can be only one"
        )


def _read_options(config: Config, findings: Findings) -> None:
    given = config.value.get("evaluateOptions") or {}
    if not isinstance(given, Mapping):
        findings.problem(
            config.at("evaluateOptions"), f"evaluateOptions is {given!r}, not an object"
        )
        return
    options = dict(cast("Mapping[str, Any]", given))
    for key in options:
        if key not in _OPTIONS:
            place = config.at("evaluateOptions", key)
            findings.hint(place, f"unknown option '{key}' is not used", did_you_mean(key, _OPTIONS))
    line = config.value.get("commandLineOptions")
    if isinstance(line, Mapping):
        options |= {k: v for k, v in cast("Mapping[str, Any]", line).items() if k in _OPTIONS}
        if "noCache" in line or cast("Mapping[str, Any]", line).get("cache") is False:
            options["cache"] = False

    def whole(name: str) -> int | None:
        found = number(options.get(name), config.at("evaluateOptions", name), name, findings, 1)
        return None if found is None else int(found)

    delay = number(
        options.get("delay"), config.at("evaluateOptions", "delay"), "delay", findings, 0
    )
    rate = number(
        config.env.get("PROMPTFOO_PASS_RATE_THRESHOLD"),
        Place(config.document.file),
        "PROMPTFOO_PASS_RATE_THRESHOLD",
        findings,
    )
    config.repeats = whole("repeat") or 1
    config.options = RunOptions(
        concurrency=whole("maxConcurrency"),
        cache=options.get("cache") is not False,
        delay_s=(delay or 0.0) / 1000,
        pass_rate=1.0 if rate is None else min(1.0, max(0.0, rate / 100)),
    )
    compat = config.value.get("promptCompat")
    if compat not in (None, "promptfoo-strict", "by-name"):
        findings.problem(
            config.at("promptCompat"),
            f"promptCompat is {compat!r}",
            "It is by-name (the default) or promptfoo-strict.",
        )
    config.strict_prompts = compat == "promptfoo-strict"


def _declared_env(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    declared = value.get("env")
    if not isinstance(declared, Mapping):
        return {}
    filled = cast("Mapping[str, object]", env_filled(declared, env))
    return {
        key: item
        if isinstance(item, str)
        else ("true" if item else "false")
        if isinstance(item, bool)
        else str(item)
        for key, item in filled.items()
        if item is not None
    }


def env_filled(value: object, env: Mapping[str, str]) -> object:
    """The value with `{{ env.NAME }}` filled in wherever NAME is set."""
    if isinstance(value, str):
        if "env" not in value or "{{" not in value:
            return value
        return _ENV.sub(lambda m: env.get(m[1] or m[2], m[0]), value)
    if isinstance(value, dict):
        return {k: env_filled(v, env) for k, v in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [env_filled(v, env) for v in cast("list[object]", value)]
    return value


def _dereferenced(value: object, root: Mapping[str, Any], depth: int) -> object:
    """The value with each `$ref: '#/a/b'` replaced by what is there."""
    if depth > 50:
        return value
    if isinstance(value, dict):
        items = cast("dict[str, object]", value)
        target = items.get("$ref")
        if isinstance(target, str) and target.startswith("#/") and len(items) == 1:
            found: object = root
            for part in target[2:].split("/"):
                found = (
                    cast("Mapping[str, object]", found).get(part)
                    if isinstance(found, Mapping)
                    else None
                )
            return value if found is None else _dereferenced(found, root, depth + 1)
        return {
            k: v if k == "parameters" else _dereferenced(v, root, depth) for k, v in items.items()
        }
    if isinstance(value, list):
        return [_dereferenced(v, root, depth) for v in cast("list[object]", value)]
    return value

"""A config, read in steps: its files, what goes over them, its environment, its value filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.gate_terms import GateTerms, read_gate_terms
from evenhand.core.json_schema import ANY, NUMBER, SWITCH, TABLE, TEXT, TEXTS, one_or_more
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping
from evenhand.core.names import nearest
from evenhand.core.plan import CALL_LIMIT_S, RunOptions, Selection
from evenhand.core.ranges import CONCURRENCY, MILLISECONDS, PERCENT, REPEATS, Range
from evenhand.core.record import Record
from evenhand.core.secrets import known
from evenhand.core.table import TableKey, own
from evenhand.doors.promptfoo.config_files import Written, read_written
from evenhand.doors.promptfoo.environment import (
    WITHOUT_EFFECT,
    config_filled,
    declared,
    process_environment,
    read_env_files,
    set_in_process,
    switched_on,
)
from evenhand.doors.promptfoo.overrides import Chosen, Overrides, from_options, merged
from evenhand.languages.documents.findings import SHOWN, At, Findings, Place
from evenhand.languages.documents.project import project_for
from evenhand.languages.documents.tree import Document
from evenhand.languages.templates.rendering import NO_CONFIG, Templates, add_filters

KEYS: Mapping[str, TableKey] = {
    "$schema": TableKey("This schema's address, for editors.", own(TEXT)),
    "description": TableKey("What this evaluation is about.", own(TEXT)),
    "tags": TableKey("Names and values to find the run by.", own(TABLE)),
    "prompts": TableKey(
        "Prompts: texts, files (file://prompt.txt), or functions (prompt.py:name).", own(ANY)
    ),
    "providers": TableKey("The models: ids such as openai:gpt-5-mini.", own(ANY)),
    "targets": TableKey("The same as providers.", own(ANY)),
    "tests": TableKey("The test cases, or files of them (tests.csv).", own(ANY)),
    "scenarios": TableKey(
        "Tests for each of several sets of variables: {config, tests}.", own(ANY)
    ),
    "defaultTest": TableKey("What every test has, unless it says otherwise.", own(ANY)),
    "outputPath": TableKey("Also write the results to these files.", own(one_or_more(TEXT))),
    "assertionTemplates": TableKey(
        "Assertions by name, for {$ref: '#/assertionTemplates/name'}.", own(TABLE)
    ),
    "sharing": TableKey("No effect: nothing is uploaded.", own(ANY)),
    "env": TableKey("Environment variables for this evaluation.", own(TABLE)),
    "nunjucksFilters": TableKey("Filters for templates: name and JavaScript file.", own(TABLE)),
    "derivedMetrics": TableKey(
        "Metrics computed from others: {name, value}.", own({"type": "array", "items": TABLE})
    ),
    "extensions": TableKey("Hooks: file://hooks.py:function.", own(TEXTS)),
    "metadata": TableKey("Kept with the run.", own(TABLE)),
    "evaluateOptions": TableKey("How the evaluation is run.", own(ANY)),
    "commandLineOptions": TableKey("Options of the command line, as defaults.", own(ANY)),
    "tracing": TableKey("No effect yet.", own(ANY)),
    "redteam": TableKey("No effect: only the evaluation is run.", own(ANY)),
    "writeLatestResults": TableKey("Whether the run is kept.", own(SWITCH)),
    "promptCompat": TableKey(
        "promptfoo-strict: call prompt functions as promptfoo does.", own(TEXT)
    ),
    "evenhand": TableKey("Settings of Evenhand's own.", own(ANY)),
}
_NO_EFFECT = {
    "sharing": "has no effect: nothing is uploaded anywhere",
    "tracing": "has no effect yet",
    "redteam": "has no effect: only the evaluation is run",
}
OPTIONS: Mapping[str, TableKey] = {
    "cache": TableKey("Answers may come from the cache.", own(SWITCH)),
    "delay": TableKey("Milliseconds between calls.", own(NUMBER)),
    "maxConcurrency": TableKey("Calls at a time.", own(NUMBER)),
    "repeat": TableKey("How often each test is repeated.", own(NUMBER)),
    "showProgressBar": TableKey("Whether progress is shown.", own(SWITCH)),
    "timeoutMs": TableKey("Milliseconds for one test.", own(NUMBER)),
    "maxEvalTimeMs": TableKey("Milliseconds for the whole evaluation.", own(NUMBER)),
    "filterRange": TableKey("Only these tests: 0:10.", own(TEXT)),
    "generateSuggestions": TableKey("No effect.", own(SWITCH)),
    "suggestionsCount": TableKey("No effect.", own(NUMBER)),
    "eventSource": TableKey("No effect.", own(ANY)),
    "interactiveProviders": TableKey("No effect.", own(SWITCH)),
}
"""The keys of `evaluateOptions`."""
_MADE_OF = frozenset({"prompts", "tests", "defaultTest"})
"""Without one of these keys, a config asks something else. Without providers, it asks nobody."""
_HOMES: Mapping[str, str] = {
    **dict.fromkeys(OPTIONS, "It belongs below evaluateOptions."),
    **dict.fromkeys(
        ("vars", "assert", "options", "threshold"), "It belongs below a test, or below defaultTest."
    ),
    **dict.fromkeys(
        ("extends", "include", "includes", "imports"),
        "{$ref: 'base.yaml#/key'} inserts a part of another file; -c base.yaml -c this.yaml puts configs together.",
    ),
    "output": "It is called outputPath.",
    "transform": "It belongs below options of defaultTest, or below a provider.",
}
"""Where keys belong that are written at the top and have no effect there."""
_KINDS: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("description", (str, int, float), "text"),
    ("tags", Mapping, "an object of names and values"),
    ("metadata", Mapping, "an object"),
    ("nunjucksFilters", Mapping, "an object of names and files"),
    ("derivedMetrics", list, "a list of {name, value}"),
)
_STRICT, _BY_NAME = "promptfoo-strict", "by-name"


class Config(Record, frozen=True, kw_only=True):
    """A config as read: its parts still raw, the run's options made out.

    Attributes:
        document: The file, or several as one.
        value: What it says, references and the environment filled in, and what goes over it.
        env: The environment that it is read in.
        options: How the run goes.
        repeats: How often each test is repeated.
        cluster: The variable of its tests, or the key of their metadata, that says which belong together; empty for
            none.
        strict_prompts: Prompt functions are called as promptfoo calls them.
        overrides: What is said beside it.
        selection: Which part of it is run.
        files: Files that it is made of, beside its own.
    """

    document: Document
    value: Mapping[str, Any]
    env: Mapping[str, str]
    options: RunOptions = field(default_factory=RunOptions)
    repeats: int = 1
    cluster: str = ""
    strict_prompts: bool = False
    overrides: Overrides = field(default_factory=Overrides)
    selection: Selection = field(default_factory=Selection)
    templates: Templates = NO_CONFIG
    files: frozenset[Path] = frozenset()

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self.document.file.parent

    def at(self, *path: str | int) -> Place:
        """Where a part of it is written."""
        return self.document.at(*path)


def read_config(paths: Sequence[Path], chosen: Chosen, findings: Findings) -> Config | None:
    """The config that these paths stand for. None, and its problems, where it cannot be read.

    Args:
        paths: Files, patterns, and folders with a config in them; several are put together.
        chosen: What the caller chose beside it. It goes over the config's own `commandLineOptions`.
    """
    env = (
        process_environment(chosen.overrides.env_files, findings)
        if chosen.env is None
        else chosen.env
    )
    written = read_written(paths, chosen.overrides, env, findings)
    if written is None:
        return None
    overrides, selection, env_files = _chosen_over(written, chosen, findings)
    more = read_env_files(env_files, written.base, findings)
    # Whoever passes an environment wants that of the process left alone.
    if chosen.env is None:
        set_in_process(more)
    env = {**env, **more}
    env = {**env, **declared(written.value, env)}
    known.learn_environment(env)
    try:
        over = overrides != Overrides()
        value = config_filled(overrides.applied(written.value) if over else written.value, env)
    except RecursionError:
        findings.problem(Place(written.document.file), "is nested too deep")
        return None
    at = written.document.at
    _look_at_keys(written, value, findings)
    for name in sorted(WITHOUT_EFFECT & env.keys()):
        if switched_on(env, name):
            findings.hint(at(), f"{name} has no effect")
    options, repeats = _run_options(value, at, env, findings)
    gates, cluster = _own_settings(value.get("evenhand"), at, findings)
    options = replace(options, gates=gates)
    if overrides.delay_ms is not None:
        options = replace(options, delay_s=overrides.delay_ms / 1000)
    templates, files = Templates(env), written.files
    filters = value.get("nunjucksFilters")
    if filters is not None:
        files |= frozenset(add_filters(templates, filters, written.base, at, findings))
    return Config(
        document=written.document,
        value=value,
        env=env,
        options=options,
        repeats=repeats,
        cluster=cluster,
        strict_prompts=chosen.strict_prompts or value.get("promptCompat") == _STRICT,
        overrides=overrides,
        selection=selection,
        templates=templates,
        files=files,
    )


def _chosen_over(
    written: Written, chosen: Chosen, findings: Findings
) -> tuple[Overrides, Selection, Sequence[str]]:
    """What goes over a config, which part of it is run, and the files of variables that it names itself."""
    line, at = as_mapping(written.value.get("commandLineOptions")), written.document.at
    # The one option of `evaluateOptions` that says which tests are run.
    among = as_mapping(written.value.get("evaluateOptions")).get("filterRange")
    if not line and among is None:
        return chosen.overrides, chosen.selection, ()
    own, part = from_options(line, lambda *inside: at("commandLineOptions", *inside), findings)
    ranged = {} if among is None else {"filterRange": among}
    _, less = from_options(ranged, lambda *inside: at("evaluateOptions", *inside), findings)
    selection = merged(merged(chosen.selection, part), less)
    return chosen.overrides.over(own), selection, own.env_files


def _look_at_keys(written: Written, value: Mapping[str, Any], findings: Findings) -> None:
    document = written.document
    unused, unknown = KEYS.keys() - value.keys(), 0
    for key in value:
        if key in _NO_EFFECT and value[key]:
            findings.hint(document.at(key), f"'{key}' {_NO_EFFECT[key]}")
        elif key not in KEYS and key not in written.lending:
            unknown += 1
            # Each search compares with all keys, and further hints are not shown anyway.
            near = nearest(key, unused) if unknown <= SHOWN and key not in _HOMES else ""
            hint = _HOMES.get(key) or (near and f"Did you mean '{near}'?")
            if near in _MADE_OF and not (near == "tests" and "scenarios" in value):
                what = f"'{key}' is not a key, and '{near}' is missing"
                findings.problem(document.at(key), what, hint)
            else:
                findings.hint(document.at(key), f"unknown key '{key}' is not used", hint)
    for key, kind, words in _KINDS:
        if value.get(key) is not None and not isinstance(value[key], kind):
            findings.hint(document.at(key), f"{key} is {_short(value[key])}, not {words}")
    for i, item in enumerate(as_array(value.get("derivedMetrics"))):
        from evenhand.render.promptfoo.derived import problem  # noqa: PLC0415 (few configs have any)

        fields = item if isinstance(item, Mapping) else {}
        what = problem(cast("Mapping[str, Any]", fields))
        if what:
            place = document.at("derivedMetrics", i)
            findings.hint(place, f"{what}; it is left out of the results")
    if "providers" in value and "targets" in value:
        what = "'targets' is another word for 'providers': there can be only one"
        findings.problem(document.at("targets"), what)
    compat = value.get("promptCompat")
    if compat not in (None, _STRICT, _BY_NAME):
        findings.problem(
            document.at("promptCompat"),
            f"promptCompat is {compat!r}",
            f"It is {_BY_NAME} (the default) or {_STRICT}.",
        )


def _run_options(
    value: Mapping[str, Any], at: At, env: Mapping[str, str], findings: Findings
) -> tuple[RunOptions, int]:
    """How a config wants to be run, and how often each of its tests is repeated."""
    for key in ("evaluateOptions", "commandLineOptions", "env"):
        if value.get(key) is not None and not isinstance(value[key], Mapping):
            findings.problem(at(key), f"{key} is {_short(value[key])}, not an object")
    table = value.get("evaluateOptions") or {}
    if not is_mapping(table):
        table = {}
    options = dict(table)
    findings.unknown(options, OPTIONS, partial(at, "evaluateOptions"), noun="option")
    line = value.get("commandLineOptions")
    if is_mapping(line):
        options |= {k: v for k, v in line.items() if k in OPTIONS}
        if line.get("noCache") or line.get("cache") is False:
            options["cache"] = False

    def whole(name: str, within: Range) -> int | None:
        result = findings.number(options.get(name), at("evaluateOptions", name), name, within)
        return None if result is None else int(result)

    if options.get("cache") not in (None, True, False):
        place = at("evaluateOptions", "cache")
        findings.problem(place, f"cache is {_short(options['cache'])}", "Write true or false.")
    written = value.get("outputPath") or []
    if is_mapping(line) and line.get("output"):
        written = line["output"]
    paths = written if is_array(written) else [written]
    folder = at().file.parent
    place = at("evaluateOptions", "delay")
    delay = findings.number(options.get("delay"), place, "delay", MILLISECONDS)
    rate = findings.number(
        env.get("PROMPTFOO_PASS_RATE_THRESHOLD"),
        Place(at().file),
        "PROMPTFOO_PASS_RATE_THRESHOLD",
        PERCENT,
    )

    def seconds(name: str, variable: str) -> float | None:
        """A limit in milliseconds; 0 is none."""
        setting, place = options.get(name), at("evaluateOptions", name)
        if setting is None:
            name, setting, place = variable, env.get(variable), Place(at().file)
        limit = findings.number(setting, place, name, MILLISECONDS)
        return limit / 1000 if limit else None

    project = project_for(folder)
    run_options = RunOptions(
        time_limit_s=project.time_limit_s or CALL_LIMIT_S,
        retries=project.retries,
        concurrency=whole("maxConcurrency", CONCURRENCY),
        cache=options.get("cache") is not False
        and switched_on(env, "PROMPTFOO_CACHE_ENABLED", otherwise=True),
        trial_limit_s=seconds("timeoutMs", "PROMPTFOO_EVAL_TIMEOUT_MS"),
        run_limit_s=seconds("maxEvalTimeMs", "PROMPTFOO_MAX_EVAL_TIME_MS"),
        delay_s=(delay or 0.0) / 1000,
        outputs=tuple(str(folder / str(path)) for path in paths),
        pass_rate=1.0 if rate is None else rate / 100,
    )
    return run_options, whole("repeat", REPEATS) or 1


OWN = ("gate", "cluster")
"""The keys of `evenhand`: the only ones that are ours."""


def _own_settings(table: object, at: At, findings: Findings) -> tuple[tuple[GateTerms, ...], str]:
    """Of the key `evenhand`: what a gate goes by, and which variable says what belongs together."""
    if table is None:
        return (), ""
    keys = table if is_mapping(table) else None
    if keys is None:
        findings.problem(at("evenhand"), f"evenhand is {_short(table)}, not an object")
        return (), ""
    there = f"There are: {', '.join(OWN)}."
    findings.unknown(keys, OWN, partial(at, "evenhand"), otherwise=there)
    cluster = keys.get("cluster") or ""
    if not isinstance(cluster, str):
        what = f"cluster is {_short(cluster)}, not the name of a variable"
        findings.problem(at("evenhand", "cluster"), what, "Write the name: document.")
        cluster = ""

    def tell(key: str, what: str, hint: str) -> None:
        findings.problem(at("evenhand", "gate", *filter(None, [key])), what, hint)

    terms = read_gate_terms(keys.get("gate"), tell)
    return () if terms == GateTerms() else (terms.within(at().file.parent),), cluster


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(text)} characters)"

"""What a config says of the run as a whole: how many at once, how often, how fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from evenhand.core.plan import CALL_LIMIT_S, RunOptions
from evenhand.core.ranges import (
    CONCURRENCY,
    MILLISECONDS,
    PERCENT,
    REPEATS,
    Range,
)
from evenhand.documents.findings import At, Findings, Place, did_you_mean
from evenhand.documents.numbers import number
from evenhand.documents.project import project_for

_OPTIONS = frozenset(
    """
    cache delay maxConcurrency repeat showProgressBar timeoutMs maxEvalTimeMs filterRange generateSuggestions
    suggestionsCount eventSource interactiveProviders
    """.split()
)


LONGEST_MS = 7 * 24 * 3_600_000.0
"""A week: nobody waits longer, for one call or for a run."""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}… ({len(text)} characters)"


def run_options(
    value: Mapping[str, Any], at: At, env: Mapping[str, str], findings: Findings
) -> tuple[RunOptions, int]:
    """How a config wants to be run, and how often each of its tests is repeated."""
    for key in ("evaluateOptions", "commandLineOptions", "env"):
        if value.get(key) is not None and not isinstance(value[key], Mapping):
            findings.problem(at(key), f"{key} is {_short(value[key])}, not an object")
    given = value.get("evaluateOptions") or {}
    if not isinstance(given, Mapping):
        given = {}
    options = dict(cast("Mapping[str, Any]", given))
    for key in options:
        if key not in _OPTIONS:
            place = at("evaluateOptions", key)
            findings.hint(place, f"unknown option '{key}' is not used", did_you_mean(key, _OPTIONS))
    line = value.get("commandLineOptions")
    if isinstance(line, Mapping):
        options |= {k: v for k, v in cast("Mapping[str, Any]", line).items() if k in _OPTIONS}
        if "noCache" in line or cast("Mapping[str, Any]", line).get("cache") is False:
            options["cache"] = False

    def whole(name: str, within: Range) -> int | None:
        found = number(options.get(name), at("evaluateOptions", name), name, findings, within)
        return None if found is None else int(found)

    if options.get("cache") not in (None, True, False):
        place = at("evaluateOptions", "cache")
        findings.problem(place, f"cache is {_short(options['cache'])}", "Write true or false.")
    written = value.get("outputPath") or []
    if isinstance(line, Mapping) and cast("Mapping[str, Any]", line).get("output"):
        written = cast("Mapping[str, Any]", line)["output"]
    paths = cast("list[object]", written) if isinstance(written, list) else [written]
    folder = at().file.parent
    place = at("evaluateOptions", "delay")
    delay = number(options.get("delay"), place, "delay", findings, MILLISECONDS)
    rate = number(
        env.get("PROMPTFOO_PASS_RATE_THRESHOLD"),
        Place(at().file),
        "PROMPTFOO_PASS_RATE_THRESHOLD",
        findings,
        PERCENT,
    )

    def seconds(name: str, variable: str) -> float | None:
        """A limit in milliseconds; 0 is none."""
        given, place = options.get(name), at("evaluateOptions", name)
        if given is None:
            name, given, place = variable, env.get(variable), Place(at().file)
        limit = number(given, place, name, findings, MILLISECONDS)
        return limit / 1000 if limit else None

    project = project_for(folder)
    found = RunOptions(
        time_limit_s=project.time_limit_s or CALL_LIMIT_S,
        retries=project.retries,
        concurrency=whole("maxConcurrency", CONCURRENCY),
        cache=options.get("cache") is not False,
        trial_limit_s=seconds("timeoutMs", "PROMPTFOO_EVAL_TIMEOUT_MS"),
        run_limit_s=seconds("maxEvalTimeMs", "PROMPTFOO_MAX_EVAL_TIME_MS"),
        delay_s=(delay or 0.0) / 1000,
        outputs=tuple(str(folder / str(path)) for path in paths),
        pass_rate=1.0 if rate is None else rate / 100,
    )
    return found, whole("repeat", REPEATS) or 1

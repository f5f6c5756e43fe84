"""What runs came to, in answers for coding agents. Nothing here writes, or asks a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.trust.labels.drawing import drawn_items, draws_to_label
from evenhand.analysis.trust.labels.what_next import label_hint
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.wording.words import short_id
from evenhand.render.cell import find_cells
from evenhand.render.comparing import compare as compare_runs
from evenhand.render.document import document_head
from evenhand.render.run import Run
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile
from evenhand.wings.coding_agents.advice import advice_on, advice_on_run
from evenhand.wings.coding_agents.answers import (
    Answer,
    Next,
    Refused,
    answer,
    first_of,
    output_of,
    page,
    short,
    untrusted,
)

_LISTED = 12
_EXPECTATIONS = 20
_BAD = "status:fail,error"


def opened(root: Path, run: str) -> RunFile:
    """A run of the project.

    Raises:
        UsageError: There is none, or more than one; or it is a file outside of the project.
    """
    try:
        path = find(root, run or None)
    except (OSError, ValueError):  # longer than any name, or a NUL in it
        raise Refused(f"{run!r:.80} is not a run of this project") from None
    if not path.resolve().is_relative_to(root):
        raise Refused(f"{run} is not a run of this project")
    return RunFile.open(path)


def summary(root: Path, run: str) -> Answer:
    """What a run came to: verdict, rates with intervals, cost, and the files that it was made from."""
    with opened(root, run) as run_file:
        head = document_head(run_file)
        name = short_id(run_file.meta.id)
        totals = head["totals"]
        content = {
            "run": name,
            "title": untrusted(run_file.meta.title, 120),
            "status": run_file.meta.status,
            "verdict": head["verdict"],
            **_ending(run_file),
            "totals": totals,
            **first_of("rates", head["rates"], _rate, _LISTED),
            **first_of("judged", head["judged"], _judged, _LISTED),
            "made_from": _made_from(root, run_file),
            **first_of("warnings", head["warnings"], untrusted, 5),
        }
        advice = advice_on_run(run_file)
        whole = run_file.meta.status in ("finished", "decided")
    following: list[Next] = []
    if totals["failed"] or totals["errors"]:
        following = [Next("failures", "the trials that failed", {"run": name})]
    elif whole:
        following = [Next("", "nothing failed; compare with an earlier run to see what changed")]
    return answer(content, [*following, *advice])


def failures(root: Path, run: str, where: str, cursor: int) -> Answer:
    """The trials that failed or ended in an error, in the plan's order, each in a few lines."""
    with opened(root, run) as run_file:
        name = short_id(run_file.meta.id)
        chosen = narrow(run_file, where or _BAD)
        head = {"run": name, "where": where or _BAD, "matching": sum(1 for _ in chosen.outcomes())}
        if not head["matching"]:
            return page(head, "trials", [], 0, [Next("", "no trial matches")])
        rows = (_failure(trial) for trial in chosen.trials())
        first = next(chosen.trials())
        following = [Next("cell", "one of them in full", {"run": name, "cell": _handle(first)})]
        if first.error is not None:
            following += advice_on([first.error.message])
        return page(head, "trials", rows, cursor, following)


def cell(root: Path, run: str, ref: str) -> Answer:
    """One trial in full: prompt, variables, output, and each expectation with its reason."""
    with opened(root, run) as run_file:
        grid = Grid(run_file)
        trials = _trials(run_file, grid, ref)
        trial = trials[0]
        variant = run_file.meta.variants[trial.variant]
        name = short_id(run_file.meta.id)
        files = _made_from(root, run_file)
        again: dict[str, Any] = {"path": files.get("path") or "."}
        if "script" in run_file.meta.settings:
            again["offline"] = True  # or running it again would be paid for
        content = {
            "run": name,
            "cell": _handle(trial),
            "case": untrusted(trial.case, 200),
            "variant": {
                "prompt": untrusted(variant.prompt, 200),
                "model": untrusted(variant.model, 200),
            },
            "outcome": trial.outcome,
            "score": trial.score,
            "prompt": untrusted(trial.prompt, 1500),
            **first_of("variables", list(trial.vars.items()), _variable, 20),
            "output": output_of(trial.output, 1500),
            **first_of("expectations", _telling(trial.outcomes), _expectation, _EXPECTATIONS),
            "error": None if trial.error is None else untrusted(trial.error.message),
            "repeats": [other.outcome for other in trials],
            "made_from": files,
        }
    following = [
        Next("", "change the prompt or the code in made_from, if the expectation is right"),
        Next("run", "run it again", again),
        Next("compare", "then compare", {"first": name, "second": "latest"}),
    ]
    return answer(content, following)


def compare(root: Path, first: str, second: str, cursor: int = 0) -> Answer:
    """Whether the second run is better, case by case. The words are those of `evenhand compare`."""
    with opened(root, first) as one, opened(root, second) as other:
        names = (short_id(one.meta.id), short_id(other.meta.id))
        paths = (one.path, other.path)
        same = one.meta.id == other.meta.id
        advice = [*advice_on_run(one, compared=True), *advice_on_run(other, compared=True)]
    if same:
        raise Refused("both are the same run", hint="Run again, then compare with the run before.")
    compared = compare_runs(Run.open(paths[0]), Run.open(paths[1])).document()
    keys = "verdict because n first second difference low high p".split()
    results = [
        {
            "metric": untrusted(row["metric"], 120),
            "variants": [untrusted(name, 120) for name in row["columns"]],
            **{key: row.get(key) for key in keys},
        }
        for row in compared["results"]
    ]
    content = {
        "first": names[0],
        "second": names[1],
        "verdict": compared["verdict"],
        "how_to_read": "difference is second minus first, with its 95 % interval. 'undecided' and 'no detectable"
        " difference' do not show that nothing changed.",
        **first_of("notes", compared["notes"], untrusted, 8),
    }
    following = [Next("failures", "what still fails", {"run": names[1]})]
    return page(content, "results", results, cursor, [*following, *advice])


def label_next(root: Path, run: str) -> Answer:
    """The next output that a person should label, without the judge's verdict."""
    with opened(root, run) as run_file:
        name = short_id(run_file.meta.id)
        draws = draws_to_label(run_file)
        if not draws:
            what = "no outputs have been drawn for labels"
            return answer({"run": name, "left": 0}, [Next("", f"{what}. {label_hint(run_file)}")])
        labelled = {
            key for key, by_author in standing_labels(run_file.metric_labels()).items() if by_author
        }
        items = [
            one
            for one in drawn_items(run_file, draws)
            if (one.trial.index, one.metric) not in labelled
        ]
        if not items:
            return answer(
                {"run": name, "left": 0}, [Next("", f"all are labelled: evenhand calibrate {name}")]
            )
        item = items[0]
        content = {
            "run": name,
            "left": len(items),
            "metric": untrusted(item.metric, 200),
            "cell": _handle(item.trial),
            "input": untrusted(item.trial.vars or item.trial.input, 1500),
            "output": untrusted(item.trial.output, 3000),
        }
    why = f"a person labels it: evenhand label {name}. Labels of a model are worth nothing for calibrating a judge"
    return answer(content, [Next("", why)])


def _ending(run: RunFile) -> dict[str, Any]:
    """How much was planned, and why a run ended before that; nothing where it is all there."""
    meta = run.meta
    ended = {"ended": untrusted(meta.message)} if meta.message else {}
    return {"planned": meta.planned, **ended} if ended or run.alive else {}


def _rate(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "variant": untrusted(" · ".join(filter(None, row["variant"].values())), 160),
        **{key: row[key] for key in ("passed", "trials", "errors", "rate", "low", "high")},
    }


def _judged(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: untrusted(value, 120) if key in ("metric", "model") else value
        for key, value in row.items()
        if key in ("metric", "model", "raw", "corrected", "labels", "calibration")
    }


def _failure(trial: TrialResult) -> dict[str, Any]:
    bad = [one for one in trial.outcomes if one.outcome in ("fail", "error")]
    return {
        "cell": _handle(trial),
        "case": short(trial.description or trial.case),
        "outcome": trial.outcome,
        "output": None if trial.output is None else short(trial.output),
        **first_of("failed", bad, _reason, 3),
        "error": None if trial.error is None else short(trial.error.message),
    }


def _reason(outcome: Outcome) -> dict[str, Any]:
    return {"expectation": short(outcome.name), "reason": short(outcome.reason)}


def _telling(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Expectations in their order; where not all have room, those that did not hold come first."""
    return (
        sorted(outcomes, key=lambda one: one.outcome not in ("fail", "error"))
        if len(outcomes) > _EXPECTATIONS
        else outcomes
    )


def _variable(item: tuple[str, Any]) -> dict[str, Any]:
    return {"name": untrusted(item[0], 80), "value": untrusted(item[1], 400)}


def _handle(trial: TrialResult) -> str:
    """What `cell` is called with for this one trial, repeats told apart. A number alone would be a case."""
    return f"trial {trial.index}"


def _trials(run: RunFile, grid: Grid, ref: str) -> list[TrialResult]:
    """The trial that a handle of ours means, or what somebody who types `evenhand show RUN CELL` would see."""
    handle = re.fullmatch(r"trial (\d{1,15})", ref, re.ASCII)
    trial = run.trial(int(handle[1])) if handle else None
    return [trial] if trial is not None else find_cells(run, grid, ref)


def _expectation(outcome: Outcome) -> dict[str, Any]:
    return {
        "expectation": untrusted(outcome.name, 300),
        "outcome": outcome.outcome,
        "score": outcome.score,
        "reason": untrusted(outcome.reason, 400),
    }


def _made_from(root: Path, run: RunFile) -> dict[str, Any]:
    """The files to edit, as far as the run knows them, below the project's folder."""
    source = Path(run.meta.source) if run.meta.source else None
    config = run.meta.config
    files = {
        key: [untrusted(one, 200) for one in _files(config.get(key))]
        for key in ("prompts", "tests")
    }
    path = None
    if source is not None:
        path = source.relative_to(root).as_posix() if source.is_relative_to(root) else source.name
    return {"path": path, **{key: names for key, names in files.items() if names}}


def _files(value: object) -> Iterator[str]:
    """The files that a part of a config names."""
    items = value if isinstance(value, list) else [value]
    for item in items[:_LISTED]:
        name = item.get("id") if isinstance(item, Mapping) else item
        if isinstance(name, str) and (name.startswith("file://") or "." in name[-6:]):
            yield name.removeprefix("file://")

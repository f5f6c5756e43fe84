"""Whole folders against what promptfoo 0.123 made of them: the same cells, in the same order, with the same outputs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand
from evenhand.languages.javascript.node import found_node
from evenhand.render.export import export
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

FOLDERS = Path(__file__).parent / "folders"
TYPESCRIPT = Path(__file__).parent / "typescript"


def settled(folder: Path) -> list[dict[str, Any]]:
    """One dict for each cell of a folder, in the order of its plan, verdicts as promptfoo's results have them."""
    args_file = folder / "args.json"
    args = json.loads(args_file.read_text()) if args_file.is_file() else []
    result = CliRunner().invoke(
        evenhand, ["run", *args, "--no-table", "--no-progress"], standalone_mode=False
    )
    if result.exception:
        raise result.exception
    results = folder / "results.json"
    with RunFile.open(find(folder, None)) as run:
        models = [variant.model for variant in run.meta.variants]
        trials = list(run.trials())
        export(run, results, "promptfoo")
    rows = json.loads(results.read_text())["results"]["results"]
    return [
        {
            "model": models[trial.variant],
            "output": trial.output,
            "metadata": trial.metadata,
            "outcome": ("pass", "fail", "error")[row["failureReason"]],
            "score": row["score"],
            "named": row["namedScores"],
            "parts": [
                [part["pass"], part["score"]]
                for part in (row["gradingResult"] or {}).get("componentResults") or []
            ],
        }
        for trial, row in zip(trials, rows, strict=True)
    ]


def runs_typescript() -> bool:
    """Whether the Node that is here knows enough of TypeScript."""
    code = "process.exit(typeof require('module').registerHooks === 'function' ? 0 : 1)"
    node = found_node()
    return bool(node) and subprocess.run([node, "-e", code], check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDERS.iterdir()))
def test_a_folder_comes_to_what_promptfoo_makes_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model by model, output by output, verdict by verdict."""
    compared(FOLDERS / name, tmp_path / name, monkeypatch)


@pytest.mark.parametrize("name", sorted(path.name for path in TYPESCRIPT.iterdir()))
def test_a_folder_in_typescript_comes_to_what_promptfoo_makes_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts, providers, tests, variables, transforms, graders, hooks and a config."""
    if not runs_typescript():
        pytest.skip("there is no Node 22.15 or newer here")
    compared(TYPESCRIPT / name, tmp_path / name, monkeypatch)


def compared(source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where a copy of a folder comes to something else than what is recorded in it."""
    shutil.copytree(source, folder)
    monkeypatch.chdir(folder)
    recorded = json.loads((folder / "recorded.json").read_text())
    found = settled(folder)
    for key in ("model", "outcome", "metadata"):
        assert [cell[key] for cell in found] == [cell[key] for cell in recorded], key
    for key in ("output", "parts"):
        assert [cell[key] for cell in found] == [
            # It keeps nothing of a cell in error, and we keep what was paid for.
            (ours if theirs["outcome"] == "error" else theirs)[key]
            for ours, theirs in zip(found, recorded, strict=True)
        ], key
    for ours, theirs in zip(found, recorded, strict=True):
        assert ours["score"] == pytest.approx(theirs["score"], abs=1e-9)
        assert ours["named"] == pytest.approx(theirs["named"], abs=1e-9)


def test_a_row_without_output_is_counted_as_a_failure_as_promptfoo_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has failureReason 0, and is no success: neither in the run's numbers nor in its column's."""
    folder = tmp_path / "without"
    shutil.copytree(FOLDERS / "answers-without-output", folder)
    monkeypatch.chdir(folder)
    settled(folder)
    results = json.loads((folder / "results.json").read_text())["results"]
    passed = sum(row["success"] for row in results["results"])
    assert passed < sum(row["failureReason"] == 0 for row in results["results"])
    assert results["stats"]["successes"] == passed
    assert sum(column["metrics"]["testPassCount"] for column in results["prompts"]) == passed

"""The pages "Coming from …": their commands run one after the other, on exports as the tools write them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.test_import_openai_evals import NASTY, evenhand
from tests.unit.wings.interchange.exports import EXPORTS, names, saved

DOCS = Path(__file__).resolve().parents[2] / "docs"
CAPITALS = """\
name: capitals
cases:
- name: fr
  inputs: Capital of France?
  expected_output: Paris
  evaluators: [EqualsExpected]
evaluators:
- Contains: {value: a}
"""


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("page", ["deepeval", "ragas", "lm-eval", "platforms", "pydantic-evals"])
def test_the_commands_of_a_page_run(page: str, tmp_path: Path):
    """As somebody types them who has the files."""
    text = (DOCS / f"coming-from-{page}.md").read_text("utf-8")
    (tmp_path / "capitals.yaml").write_text(CAPITALS, "utf-8")
    program = tmp_path / "bin" / "evenhand"
    program.parent.mkdir()
    code = "from evenhand.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', "utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    scripts = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert scripts
    for script in scripts:
        for tool in re.findall(r"evenhand import ([\w-]+)", script):
            if tool in EXPORTS:
                EXPORTS[tool](tmp_path)
                (tmp_path / tool).mkdir(exist_ok=True)
        ran = subprocess.run(
            ["/bin/sh", "-ec", script], cwd=tmp_path, env=env, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        # A replayed answer that was wrong there is wrong here.
        ends_in_a_run = "evenhand run" in script.strip().splitlines()[-1]
        assert ran.returncode in {0, int(ends_in_a_run)}, (script, ran.stdout, ran.stderr)
        assert "Traceback" not in ran.stderr
    if page == "pydantic-evals":
        assert "EqualsExpected" in (tmp_path / "back.yaml").read_text("utf-8")


def test_runs_of_one_moment_are_listed_and_compared_under_ids_that_find_them(tmp_path: Path):
    """Exports without a time have that of their file, and files may have been written at once."""
    files = EXPORTS["deepeval"](tmp_path)[1:]
    for path in files:
        os.utime(path, (1_790_000_000, 1_790_000_000))
    out = evenhand(tmp_path, "import", "deepeval", *names(files, tmp_path))
    listed = re.findall(r"^  (01\w+)  test_bot\.py", out.stdout, re.MULTILINE)
    assert len(set(listed)) == 2, out.stdout
    compared = evenhand(tmp_path, "compare", *listed)
    assert compared.stdout.splitlines()[0] == " → ".join(listed)


def test_runs_of_before_and_after_are_compared_and_a_dataset_is_not_overwritten(tmp_path: Path):
    """One tool for all: cases pair, the second import changes nothing, another dataset of the name is refused."""
    files = [*names(EXPORTS["braintrust"](tmp_path), tmp_path), "--verdict", "Exact"]
    first = evenhand(tmp_path, "import", "braintrust", *files, "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert [run["new"] for run in document["runs"]] == [True, True]
    (dataset,) = document["datasets"]
    assert (dataset["file"], dataset["cases"], dataset["new"]) == ("quiz.jsonl", 3, True)
    ids = [run["run"] for run in document["runs"]]
    compared = json.loads(evenhand(tmp_path, "compare", *ids, "--json").stdout)
    assert compared["results"][0]["n"] in (2, 3)
    again = evenhand(tmp_path, "import", "braintrust", *files)
    assert again.returncode == 2
    assert "all 2 runs already exist" in again.stderr
    (tmp_path / "quiz.jsonl").write_text('{"id": "other"}\n', "utf-8")
    refused = evenhand(tmp_path, "import", "braintrust", *files)
    assert refused.returncode == 2
    assert "quiz.jsonl already exists, with other cases" in refused.stderr
    assert (tmp_path / "quiz.jsonl").read_text("utf-8") == '{"id": "other"}\n'


def test_hostile_names_are_neither_paths_nor_escapes(tmp_path: Path):
    """A dataset that is called like a path, with escapes in everything."""
    item = {
        "id": NASTY, "datasetId": "d", "datasetName": f"../../{NASTY}/etc", "expectedOutput": NASTY,
        "input": {NASTY: NASTY}, "metadata": {NASTY: NASTY},
    }  # fmt: skip
    saved(tmp_path / "home" / "items.json", [item])
    home = tmp_path / "home"
    imported = evenhand(home, "import", "langfuse", "items.json")
    assert imported.returncode == 0, imported.stderr
    assert "\x1b" not in imported.stdout + imported.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]
    (made,) = home.glob("*.jsonl")
    shown = evenhand(home, "data", "show", made.name)
    assert "\x1b" not in shown.stdout

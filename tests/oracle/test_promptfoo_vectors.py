"""Our assertions against results that promptfoo itself recorded: all vectors as one config, run and exported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.doors.assertions.deviations import DEVIATIONS
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.render.promptfoo.writing import write_promptfoo
from evenhand.store.runfile import RunFile

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "promptfoo"

ON_PURPOSE = {
    **dict.fromkeys((483, 503, 513, 533, 543), "meteor"),
    **dict.fromkeys((809, 810), "judge replies"),  # {}
    **dict.fromkeys(
        (119, 122, 718, 719, 731), "unknown types"
    ),  # a pattern, and code, that nobody can read
    797: "judge replies",  # more words after the verdict, and a score off the scale
    827: "judge replies",  # a word that takes the category back, or else explains it
}
"""Vectors whose verdict is another one here, by the deviation that says why."""


def _vectors() -> list[dict[str, Any]]:
    file = VECTORS / "assertions.jsonl"
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    """What promptfoo's results say of each vector when we have run them, by its id."""
    folder = tmp_path_factory.mktemp("vectors")
    for name in ("asserts.py", "grader.py"):
        shutil.copy(VECTORS / name, folder / name)
    vectors = _vectors()
    (folder / "outputs.json").write_text(json.dumps({v["id"]: v["output"] for v in vectors}))
    (folder / "answer.py").write_text(
        "import json, pathlib\n"
        "OUTPUTS = json.loads((pathlib.Path(__file__).parent / 'outputs.json').read_text())\n"
        "def call_api(prompt, options, context):\n"
        "    return {'output': OUTPUTS[str(context['vars']['vector'])], 'cost': 0}\n"
    )
    config = {
        "prompts": ["{{vector}}"],
        "providers": ["file://answer.py"],
        "tests": [_test(vector) for vector in vectors],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    plan = load(folder, Chosen(env={}))
    finished = door.run(plan, door.Settings(home=folder / "home"))
    with RunFile.open(finished.path) as run, (folder / "results.json").open("w") as out:
        write_promptfoo(run, out)
    results = json.loads((folder / "results.json").read_text())["results"]["results"]
    return {str(row["vars"]["vector"]): row for row in results}


def _test(vector: Mapping[str, Any]) -> dict[str, Any]:
    test = {
        "vars": {**(vector.get("vars") or {}), "vector": vector["id"]},
        "assert": vector["asserts"],
    }
    for key in ("options", "threshold", "assertScoringFunction"):
        if vector.get(key) is not None:
            test[key] = vector[key]
    return test


@pytest.mark.parametrize(
    "vector", _vectors() or [None], ids=lambda v: f"vector-{v['id']}" if v else "absent"
)
def test_an_assertion_comes_to_what_promptfoo_recorded(
    vector: dict[str, Any] | None, request: pytest.FixtureRequest
) -> None:
    """Verdict, score, named scores and each assertion's verdict agree, but for the deviations that the docs name."""
    if vector is None:
        pytest.skip("the recorded vectors are not here")
    wanted = vector["expect"]
    row = request.getfixturevalue("rows")[str(vector["id"])]
    if vector["id"] in ON_PURPOSE:
        assert (row["success"], row["failureReason"]) != (
            wanted["success"],
            wanted["failureReason"],
        ), "it agrees by now: take it off the list"
        return
    assert row["success"] is wanted["success"]
    assert row["failureReason"] == wanted["failureReason"]
    assert row["score"] == pytest.approx(wanted["score"], abs=1e-9)
    if wanted["failureReason"] == 2:
        return
    assert row["namedScores"] == pytest.approx(wanted["namedScores"], abs=1e-9)
    components = row["gradingResult"]["componentResults"]
    assert [part["pass"] for part in components] == [p["pass"] for p in wanted["components"]]
    assert [part["score"] for part in components] == pytest.approx(
        [p["score"] for p in wanted["components"]], abs=1e-9
    )


def test_each_deviation_has_a_sentence() -> None:
    """What we do differently is explained where users read it."""
    assert set(ON_PURPOSE.values()) <= DEVIATIONS.keys()

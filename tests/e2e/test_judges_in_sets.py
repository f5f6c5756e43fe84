"""What a judge says inside an `assert-set` is a verdict of its own: it is listed, labelled, corrected and probed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.e2e.test_gate import Ended, Folder, in_folder

STRICT, LENIENT = "openai:chat:gpt-4.1", "openai:chat:gpt-4o"
TONE = {"type": "llm-rubric", "value": "is kind", "metric": "tone"}


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """A config whose one judge stands in an `assert-set`. To it every fourth of 40 answers is unkind."""
    folder = in_folder(tmp_path, monkeypatch, capsys)
    rules: list[dict[str, object]] = [
        {"match": f"^Answer {i}$", "reply": f"{'poor' if i % 4 == 0 else 'good'} {i}"}
        for i in range(40)
    ]
    for model in ("gpt-4.1", "gpt-4o"):
        rules += [
            {"model": model, "match": word, "reply": {"reason": word, "pass": ok, "score": int(ok)}}
            for word, ok in (("good", True), ("poor", False))
        ]
    (folder.path / "offline.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rules))
    monkeypatch.setenv("EVENHAND_JUDGE", STRICT)
    write(folder)
    return folder


def write(folder: Folder, **tone: object) -> None:
    """The config, in which the judge's assertion says this as well."""
    inside = [{**TONE, **tone}, {"type": "contains", "value": "o"}]
    config = {
        "prompts": ["Answer {{n}}"],
        "providers": ["openai:chat:gpt-5-mini"],
        "defaultTest": {"assert": [{"type": "assert-set", "threshold": 0.5, "assert": inside}]},
        "tests": [{"vars": {"n": i}} for i in range(40)],
    }
    (folder.path / "promptfooconfig.json").write_text(json.dumps(config))


def run(folder: Folder, *options: str) -> Ended:
    """A run of the config."""
    return folder.run("run", "--offline", *options)


def label(folder: Folder) -> Ended:
    """Labels of all outputs, by which the judge is right in nine of ten, and a calibration by them."""
    sheet = folder.path / "sheet.csv"
    folder.run("label", "--draw", "40", "--to", str(sheet))
    with sheet.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["metric"] for row in rows} == {"tone"}
    for row in rows:
        n = int(row["output"].split()[1])
        row["verdict"] = "fail" if row["output"].startswith("poor") or n % 10 == 1 else "pass"
    with sheet.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    folder.run("label", "--from", str(sheet), "--by", "me")
    return folder.run("calibrate")


def test_it_has_a_line_labels_and_a_corrected_rate_of_its_own(folder: Folder):
    """As it would have outside of the set."""
    assert "tone: 75 % [60–86] by gpt-4.1 · not checked against people" in run(folder).out
    assert "tone · judged by gpt-4.1" in label(folder).out
    assert "tone: 65 % [50–78] corrected, 40 labels" in run(folder).out
    # Another transform of what the judge reads makes another question of it.
    write(folder, transform="output + '!'")
    assert "calibration is stale: criteria changed" in run(folder).out


def test_a_run_whose_only_judge_stands_in_a_set_is_not_trusted_without_calibration(folder: Folder):
    """With --calibrated required."""
    ended = run(folder, "--calibrated", "required")
    assert (ended.code, "undecided" in ended.out) == (3, True)


def test_another_judge_in_a_set_leaves_comparisons_and_gates_undecided(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """What it judged, by set, metric and verdict."""
    folder.baseline()
    run(folder)
    monkeypatch.setenv("EVENHAND_JUDGE", LENIENT)
    ended = folder.gate()
    assert "judged by gpt-4o instead of gpt-4.1" in " ".join(ended.out.split())
    assert ended.code == 3
    run(folder)
    compared = folder.run("compare", "latest~2", "latest", "--metric", "tone")
    assert "judged by gpt-4o instead of gpt-4.1" in " ".join(compared.out.split())


def test_it_is_probed_where_it_stands(folder: Folder):
    """It is asked again, and nothing else of the set."""
    run(folder)
    ended = folder.run("probe", "--offline", "--metric", "tone", "--kind", "markup", "--items", "4")
    assert "error" not in ended.out
    assert "tone · judged by gpt-4.1" in ended.out


@pytest.mark.parametrize("judge", [LENIENT, {"id": LENIENT, "config": {"temperature": 0.5}}])
def test_another_judge_of_a_set_is_another_judge_and_no_other_test(folder: Folder, judge: object):
    """As where its assertion stands alone; with other words it is another test, whoever judges."""
    run(folder)
    folder.run("baseline", "latest", "--to", "b.evn")
    write(folder, provider=judge)
    run(folder)
    compared = folder.run("compare", "latest~1", "latest").out
    assert "judged by gpt-4o instead of gpt-4.1" in " ".join(compared.split())
    assert "set changed" not in compared
    gated = folder.run("gate", "--baseline", "b.evn", "--margin", "0.2", "--offline").out
    assert "set changed" not in gated
    assert "\n40 of 40 trials run" in gated
    write(folder, provider=judge, value="is very kind")
    run(folder)
    assert "set changed" in folder.run("compare", "latest~2", "latest").out

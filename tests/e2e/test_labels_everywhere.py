"""What people said of a judged metric is found, shown and written wherever labels are."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.analysis.filters.where import narrow
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.beside_people import every_label
from evenhand.store.labels.label import NewLabel, standing
from evenhand.store.labels.stored_draws import add_metric_labels, add_pair_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

EXAMPLE = Path(__file__).parents[2] / "examples" / "judge"


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Command lines beside a judged run with a drawn sheet of sixty labels."""
    folder = tmp_path / "judge"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".evenhand"))
    monkeypatch.chdir(folder)
    run = in_process(capsys)
    run("run", ".", "--offline", "--no-progress", "--no-table")
    run("label", "latest", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    assert run("label", "latest", "--from", "labels.csv", "--by", "reviewer").code == 0
    return run


def the_run() -> Path:
    """Its file."""
    (path,) = Path(".evenhand/runs").glob("*.db")
    return path


def found(where: str) -> set[int]:
    """The places that a filter chooses."""
    with RunFile.open(the_run()) as run:
        return {trial.index for trial in narrow(run, where).trials()}


def test_labels_of_a_judged_metric_are_found_by_the_filter_that_names_them(evenhand: Run) -> None:
    """As many as `calibrate` counts."""
    assert len(found("has:label")) == 60
    assert len(found("label:fail status:pass") | found("label:pass status:fail")) == 5
    assert "people disagree with 5 verdicts" in evenhand("calibrate", "latest").out
    apart = found("judge:lenient,strict")
    assert len(apart) == 5
    assert found("judge@policy:lenient") == found("label:fail status:pass")
    assert found("judge@policy:strict") == apart - found("judge@Policy:lenient")
    assert found("judge:agrees") == found("has:label") - apart
    assert not found("judge@tone:lenient,strict,agrees")
    assert found("label@policy:fail") == found("label:fail")
    assert found("label@Policy:pass,fail") == found("has:label")
    assert not found("label@tone:fail")
    place = min(found("label:fail"))
    assert "policy: labelled fail (reviewer)" in evenhand("show", "latest", str(place + 1)).out


def test_labels_of_each_kind_and_of_two_people_are_found(evenhand: Run) -> None:
    """Verdicts on metrics, taken back ones too; verdicts, scores, notes and codes of trials; preferences of pairs."""
    path = the_run()
    free = sorted(set(range(100)) - found("has:label"))
    a, b, c, d, e = free[:5]
    add_metric_labels(path, "ann", [(a, "policy", "fail"), (b, "policy", "fail")])
    add_metric_labels(path, "bob", [(a, "policy", "pass")])
    add_metric_labels(path, "ann", [(b, "policy", None)])
    append_labels(path, [NewLabel(c, "score", 2, "ann"), NewLabel(c, "code", "too long", "ann")])
    add_pair_labels(path, "ann", [((d, e), "better", "second")])
    assert {a, c, d, e} <= found("has:label")
    assert b not in found("has:label")
    assert a in found("label:fail") & found("label@policy:pass")
    assert a not in found("judge:agrees,lenient,strict")  # people are split
    with RunFile.open(path) as run:
        labels = standing(every_label(run))
        # The pair's other output is known by its variant: its place in the plan stands nowhere else.
        (name,) = column_names(run.meta.variants)
    assert [(x.author, x.value, x.metric) for x in labels[d]] == [
        ("ann", f"worse than {name}", "better")
    ]
    assert [x.value for x in labels[e]] == [f"better than {name}"]
    assert f"better: better than {name}" in evenhand("show", "latest", str(e + 1)).out


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "promptfoo"])
def test_labels_of_a_judged_metric_are_in_every_export(evenhand: Run, form: str) -> None:
    """With the metric, and whose they are where the format has a place for it."""
    file = Path(f"out.{form if form != 'promptfoo' else 'json'}")
    assert evenhand("export", "latest", "--format", form, "--to", str(file)).code == 0
    text = file.read_text("utf-8")
    if form == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        said = [row["label:verdict@policy"] for row in rows]
        assert (said.count("pass") + said.count("fail"), len(said)) == (60, 100)
    elif form == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        assert sum("verdict@policy" in row.get("labels", {}) for row in rows) == 60
    elif form == "json":
        labels = json.loads(text)["labels"]
        assert {(x["author"], x["field"], x["metric"]) for x in labels} == {
            ("reviewer", "verdict", "policy")
        }
        assert len(labels) == 60
    else:
        assert text.count("reviewer") >= 60


def test_what_people_said_comes_back_by_an_import(evenhand: Run) -> None:
    """Of which metric, and whose it is; `calibrate` counts none of it, as an imported run has no draws."""
    before = found("label@policy:fail"), found("label@policy:pass")
    evenhand("export", "latest", "--format", "promptfoo", "--to", "out.json")
    path = the_run()
    path.rename(path.with_suffix(".away"))
    assert evenhand("import", "out.json").code == 0
    assert (found("label@policy:fail"), found("label@policy:pass")) == before
    with RunFile.open(the_run()) as run:
        assert {(one.author, one.metric) for one in every_label(run)} == {("reviewer", "policy")}

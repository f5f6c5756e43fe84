"""What a calibration file says of a judge is only replaced by what says at least as much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenhand.analysis.trust.calibration_file import update_calibration


class Printed(NamedTuple):
    """A calibration, by its document."""

    rows: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The document."""
        return json.loads(json.dumps(self.rows))


def seen(name: str) -> dict[str, Any]:
    """Evidence that says what it is of."""
    return {"models": name, "written": "", "cases": {}}


def row(
    metric: str, labels: int, model: str = "j", verdict: str = "", name: str = "metric"
) -> dict[str, Any]:
    """A judge, or a ranking's."""
    word = verdict or ("usable" if labels >= 30 else "no verdict")
    more = {"answers": []} if name == "name" else {}
    more |= {"bound": {}, "seen": seen("")}
    return {
        name: metric, "model": model, "labels": labels, "verdict": word, "variants": [], **more
    }  # fmt: skip


def update(path: Path, run: str, *judges: dict[str, Any], rankings: list[Any] | None = None) -> Any:
    """Updates the file with the calibration of a run."""
    rows = {
        "schema": "evenhand.calibration/1",
        "run": run,
        "made_at": 1.0,
        "code": {run: {"a.py": run}},
    }
    return update_calibration(
        Printed({**rows, "judges": list(judges), "rankings": rankings or []}),  # type: ignore[arg-type]
        path,
    )


def there(path: Path) -> set[tuple[str, str, int, str]]:
    """The judges of a file, with the runs that those which were kept are of."""
    rows = json.loads(path.read_text())["judges"]
    return {(one["metric"], one["model"], one["labels"], one.get("run", "")) for one in rows}


def test_a_verdict_is_not_replaced_by_too_few_labels(tmp_path: Path):
    """The file stays as it is, to the byte, and what is kept is named with its labels and its run."""
    path = tmp_path / "calibration.json"
    assert update(path, "01EARLIER", row("kind", 60)) == (True, [])
    before = path.read_bytes()
    for labels in (0, 3):
        assert update(path, "01LATER", row("kind", labels)) == (
            False,
            ["kind by j (usable, 60 labels of run 01EARLIER)"],
        )
    assert path.read_bytes() == before
    assert update(path, "01LATER", row("kind", 40, verdict="do not use")) == (True, [])
    assert there(path) == {("kind", "j", 40, "")}


def test_enough_labels_without_a_failure_replace_a_verdict(tmp_path: Path):
    """They say that everything passes. Labels that correct nothing, being no random draw, replace none."""
    path = tmp_path / "calibration.json"
    update(path, "01EARLIER", row("kind", 60))
    no_draw = {**row("kind", 40, verdict="no verdict"), "corrected": None}
    assert not update(path, "01LATER", no_draw)[0]
    only_passes = {**no_draw, "corrected": {"value": 0.99, "low": 0.91, "high": 1.0}}
    assert update(path, "01LATER", only_passes) == (True, [])
    assert there(path) == {("kind", "j", 40, "")}


def test_the_code_of_each_run_that_labels_are_kept_of_is_kept(tmp_path: Path):
    """And no other."""
    path = tmp_path / "calibration.json"
    update(path, "01FIRST", row("kind", 60))
    update(path, "02SECOND", row("short", 60))
    assert json.loads(path.read_text())["code"] == {
        "01FIRST": {"a.py": "01FIRST"},
        "02SECOND": {"a.py": "02SECOND"},
    }
    update(path, "03THIRD", row("kind", 60), row("short", 60))
    assert json.loads(path.read_text())["code"] == {"03THIRD": {"a.py": "03THIRD"}}


@pytest.mark.parametrize("other", [(), (row("short", 0),), (row("short", 3),)])
def test_each_judge_of_a_file_is_kept_or_replaced_by_itself(
    tmp_path: Path, other: tuple[dict[str, Any], ...]
):
    """A run that calibrates one of two metrics leaves the other as it is, with the run that it is of, twice over."""
    path = tmp_path / "calibration.json"
    update(path, "01A", row("kind", 60), row("short", 50))
    for run, labels in (("01B", 61), ("01C", 62)):
        written, kept = update(path, run, row("kind", labels), *other)
        assert (written, kept) == (True, ["short by j (usable, 50 labels of run 01A)"])
        assert there(path) == {("kind", "j", labels, ""), ("short", "j", 50, "01A")}


def test_a_judge_that_is_gone_stays_until_its_metric_has_a_verdict_again(tmp_path: Path):
    """And of two judges of one metric that are both there, none takes the other's place."""
    path = tmp_path / "calibration.json"
    update(path, "01A", row("kind", 60, "old"))
    update(path, "01B", row("kind", 3, "new"))
    assert there(path) == {("kind", "old", 60, "01A"), ("kind", "new", 3, "")}
    update(path, "01C", row("kind", 40, "new"))
    assert there(path) == {("kind", "new", 40, "")}
    update(path, "01D", row("kind", 40, "new"), row("kind", 50, "beside"))
    update(path, "01E", row("kind", 41, "new"), row("kind", 2, "beside"))
    assert there(path) == {("kind", "new", 41, ""), ("kind", "beside", 50, "01D")}


def test_rankings_are_kept_likewise_and_a_damaged_file_is_made_anew(tmp_path: Path):
    """Few labels are worth more than none, too."""
    path = tmp_path / "calibration.json"
    ranking = row("better", 40, name="name")
    update(path, "01A", row("kind", 5), rankings=[ranking])
    _, kept = update(path, "01B", row("kind", 0), rankings=[row("better", 2, name="name")])
    assert kept == [
        "kind by j (no verdict, 5 labels of run 01A)",
        "better by j (usable, 40 labels of run 01A)",
    ]
    path.write_text("<<<<<<< ours")
    assert update(path, "01B", row("kind", 3)) == (True, [])
    assert there(path) == {("kind", "j", 3, "")}


VARIANT = {
    "prompt": "p", "model": "m", "system": "", "both_pass": 0, "missed": 0, "excused": 0, "both_fail": 0,
    "labelled": [],
}  # fmt: skip


def of_evals(labels: int, *evals: str, model: str = "j") -> dict[str, Any]:
    """A judge that was calibrated in these evals."""
    return {
        **row("kind", labels, model),
        "variants": [{**VARIANT, "eval": name} for name in evals],
        "bound": {"data": "+".join(evals)},
        "seen": seen("+".join(evals)),
        "evals": [
            {"eval": name, "bound": {"data": name}, "seen": seen(name)}
            for name in (evals if len(evals) > 1 else ())
        ],
    }


def evals_there(path: Path) -> dict[tuple[str, ...], tuple[str, int]]:
    """The judges of a file and how many labels they have, by their evals."""
    rows = json.loads(path.read_text())["judges"]
    return {
        tuple(variant["eval"] for variant in one["variants"]): (one["model"], one["labels"])
        for one in rows
    }


def test_of_evals_that_share_a_criterion_each_keeps_its_own_verdict(tmp_path: Path):
    """Only what is calibrated again is taken out of an earlier entry; what is left of one eval is bound to that one."""
    path = tmp_path / "calibration.json"
    update(path, "01A", of_evals(90, "a", "b", "c"))
    _, kept = update(path, "01B", of_evals(40, "b"))
    assert kept == ["kind by j in a, c (usable, 90 labels of run 01A)"]
    assert evals_there(path) == {("b",): ("j", 40), ("a", "c"): ("j", 90)}
    update(path, "01C", of_evals(50, "c", "d"))
    later = {("b",): ("j", 40), ("c", "d"): ("j", 50), ("a",): ("j", 90)}
    assert evals_there(path) == later
    (alone,) = [one for one in json.loads(path.read_text())["judges"] if one["labels"] == 90]
    assert (alone["bound"], alone["seen"], alone["evals"]) == ({"data": "a"}, seen("a"), [])


def test_too_few_labels_of_an_eval_take_no_verdicts_place_and_another_judge_takes_that_of_its_own(
    tmp_path: Path,
):
    """An eval that has no entry gets one."""
    path = tmp_path / "calibration.json"
    update(path, "01A", of_evals(90, "a", "b"))
    before = path.read_bytes()
    for labels in (0, 3):
        assert not update(path, "01B", of_evals(labels, "a"))[0]
    assert not update(path, "01B", of_evals(0, "c"))[0]
    assert path.read_bytes() == before
    assert update(path, "01C", of_evals(3, "c"))[0]
    update(path, "01D", of_evals(60, "a", model="other"))
    assert evals_there(path) == {("a",): ("other", 60), ("b",): ("j", 90), ("c",): ("j", 3)}

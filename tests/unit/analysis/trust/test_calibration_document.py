"""What `calibration.json` holds is read by the records that write it: damaged files are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.trust.calibration_document import CalibrationVariant
from evenhand.analysis.trust.calibration_file import read_calibration
from evenhand.core.errors import UsageError

VARIANT = {
    "prompt": "p",
    "model": "m",
    "system": "s",
    "both_pass": 1,
    "missed": 2,
    "excused": 3,
    "both_fail": 4,
    "labelled": [],
}
SEEN = {"models": "m", "written": "w", "cases": {}}
JUDGE = {
    "metric": "prose",
    "model": "j",
    "verdict": "usable",
    "variants": [VARIANT],
    "bound": {},
    "seen": SEEN,
}
RANKING = {
    "name": "better",
    "model": "j",
    "verdict": "usable",
    "variants": [{"prompt": "p", "model": "m", "system": "s"}],
    "answers": [],
    "bound": {"data": "d"},
    "seen": SEEN,
}


def written(folder: Path, **keys: Any) -> Path:
    """A calibration with these keys of its judge."""
    path = folder / "calibration.json"
    document = {"schema": "evenhand.calibration/1", "judges": [{**JUDGE, **keys}]}
    path.write_text(json.dumps({**document, "rankings": [RANKING], "later": [1]}), "utf-8")
    return path


def test_a_file_that_has_only_what_later_runs_need_is_read(tmp_path: Path):
    """Keys of later versions are passed over."""
    path = written(tmp_path, later={"a": 1})
    (judge,) = read_calibration(path).judges
    assert judge.variants == [CalibrationVariant(**VARIANT)]
    assert judge.variants[0].cells == (1, 2, 3, 4)
    assert (judge.corrected, judge.scores, judge.jury) == (None, None, None)
    (ranking,) = read_calibration(path).rankings
    assert (ranking.bound, ranking.labelled_at) == ({"data": "d"}, None)
    alone = {"schema": "evenhand.calibration/1", "judges": [JUDGE]}
    path.write_text(json.dumps(alone), "utf-8")
    assert read_calibration(path).rankings == []


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"seen": None}, "`judges[0].seen` is null, not an object"),
        ({"bound": None}, "`judges[0].bound` is null, not an object"),
        ({"variants": [{**VARIANT, "missed": -1}]}, "`judges[0].variants[0].missed` can't"),
        ({"variants": [{"prompt": "p"}]}, "`judges[0].variants[0].model` is missing"),
        ({"corrected": {"low": "x"}}, "`judges[0].corrected[...]` is text, not a number"),
        ({"jury": {"verdict": "better"}}, "`judges[0].jury.intercept` is missing"),
        ({"scores": {"scale": [1]}}, "`judges[0].scores.scale`"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_by_its_place(
    tmp_path: Path, keys: dict[str, Any], fault: str
):
    """And where to get another one."""
    with pytest.raises(UsageError) as caught:
        read_calibration(written(tmp_path, **keys))
    assert f"is not a calibration: {fault}" in caught.value.message
    assert caught.value.hint.startswith("Make it again with `evenhand calibrate`")

"""What somebody at a notebook gets wrong, each with one message that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenhand import EvalSet, Run, compare, score, score_batch
from evenhand.core.errors import UsageError
from evenhand.render.batch import BatchReport

FRAME = pd.DataFrame({"id": ["a", "b"], "question": ["x", "y"], "expected": ["1", "2"]})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> BatchReport:
    """Of an application that always answers the same."""
    return measured(lambda question: "1", tmp_path_factory.mktemp("home"))


def measured(pipeline: Any, home: Path, **options: Any) -> BatchReport:
    """The frame, answered."""
    given = {"metrics": ["token_f1"], **options}
    return score_batch(FRAME, pipeline, progress=False, home=home, **given)


MISTAKES: dict[str, tuple[Callable[[BatchReport], object], str]] = {
    "a metric in place of a number of cases": (
        lambda r: r.worst("token_f1"),  # pyright: ignore[reportArgumentType]
        "Write worst(metric='token_f1')",
    ),
    "a metric in place of a bound": (
        lambda r: r.failures("token_f1"),  # pyright: ignore[reportArgumentType]
        "failures(below=0.5, metric='token_f1')",
    ),
    "a metric that is not there": (lambda r: r.worst(metric="f1"), "There are: token_f1, overall"),
    "a frame in place of a run": (lambda r: compare(r, FRAME), "a DataFrame is not a run"),  # pyright: ignore[reportArgumentType]
    "a run and itself": (lambda r: compare(r, r), "would be compared with itself"),
    "a path in place of a run": (lambda r: Run(str(r.path)), "Write Run.open(…)"),  # pyright: ignore[reportArgumentType]
    "axes without names": (
        lambda r: EvalSet("x", over=["a", "b"]),  # pyright: ignore[reportArgumentType]
        "not a dict",
    ),
    "an axis of one value": (lambda r: EvalSet("x", over={"k": 3}), "not a list of values"),  # pyright: ignore[reportArgumentType]
    "an eval of the class": (lambda r: EvalSet.eval(lambda case: None), "@evals.eval"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "a fixture of the class": (lambda r: EvalSet.fixture(lambda: None), "@evals.fixture"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "an answer in place of the application": (lambda r: measured("1", Path()), "not a function"),
    "a bound for what is not measured": (
        lambda r: measured(None, Path(), at_least={"f1": 1}),
        "Measured are: token_f1",
    ),
    "no metrics": (lambda r: measured(None, Path(), metrics=[]), "there are none"),
    "an unknown metric": (lambda r: measured(None, Path(), metrics=["accuracy"]), "is not known"),
    "groups in place of a frame": (
        lambda r: score_batch(FRAME.groupby("id"), metrics=["token_f1"]),
        "not an object",
    ),
    "an unknown format": (lambda r: r.write("x.parquet"), "names no format"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message_that_says_what_to_do(mistake: str, report: BatchReport) -> None:
    """Never Python's own about what is inside."""
    make, message = MISTAKES[mistake]
    with pytest.raises(UsageError) as error:
        make(report)
    assert message in str(error.value)
    assert len(str(error.value)) < 1_200


def test_a_metric_that_a_score_does_not_have_is_named_with_those_that_it_has(
    tmp_path: Path,
) -> None:
    """Still a KeyError, as of a mapping."""
    scored = score(answer="a", expected="a", metrics=["token_f1"], home=tmp_path)
    with pytest.raises(KeyError, match=r"'f1' was not measured: there are token_f1"):
        scored["f1"]

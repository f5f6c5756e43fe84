"""Data frames of runs, batches, scores and comparisons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.runs import Make, result
from tests.unit.render.test_in_notebooks import a_run, the_batch, the_comparison, the_score

from evenhand import compare
from evenhand.analysis.comparison.comparison_results import CASES
from evenhand.analysis.comparison.comparison_results import METRICS as COMPARED
from evenhand.analysis.summaries.frames import Framed, Kinds, Table, frame_columns
from evenhand.analysis.summaries.metrics import SUMMARIES
from evenhand.core.errors import UsageError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.run import OUTCOMES, TRIALS, Run
from evenhand.render.scored import METRICS

PANDAS = {"text": "string", "boolean": "boolean", "whole": "Int64", "number": "float64"}
POLARS = {"text": pl.String, "boolean": pl.Boolean, "whole": pl.Int64, "number": pl.Float64}


def changed(home: Path) -> Any:
    """A comparison in which cases changed: its two columns."""
    run = a_run(home)
    return compare(run.column("kind"), run.column("brief"))


TABLES: list[tuple[Callable[[Path], Framed], str, Kinds]] = [
    (a_run, "trials", TRIALS),
    (a_run, "outcomes", OUTCOMES),
    (the_batch, "trials", TRIALS),
    (the_batch, "outcomes", OUTCOMES),
    (the_batch, "summary", SUMMARIES),
    (the_score, "metrics", METRICS),
    (changed, "cases", CASES),
    (changed, "summary", COMPARED),
    (the_comparison, "cases", CASES),
]


def same(value: Any) -> Any:
    """A value of a frame as the rows have it: null is None."""
    return None if value is None or pd.isna(value) else value


@pytest.mark.parametrize(("make", "rows", "kinds"), TABLES)
def test_a_frame_has_what_the_rows_have(
    make: Callable[[Path], Any], rows: str, kinds: Kinds, tmp_path: Path
) -> None:
    """Every value in its place, what is missing null and never 0, and the types that the documentation promises."""
    held = make(tmp_path)
    name = {"outcomes": "outcome_rows", "summary": "summary_rows"}.get(rows, "rows")
    dicts: list[dict[str, Any]] = getattr(held, name)()
    ours, theirs = held.to_pandas(rows), held.to_polars(rows)
    assert list(ours.columns) == list(theirs.columns)
    assert [same(v) for row in ours.to_numpy(dtype=object).tolist() for v in row] == [
        value for row in dicts for value in row.values()
    ]
    assert [v for row in theirs.rows() for v in row] == [v for row in dicts for v in row.values()]
    assert {k: str(ours[k].dtype) for k in kinds} == {k: PANDAS[v] for k, v in kinds.items()}
    assert {k: theirs.schema[k] for k in kinds} == {k: POLARS[v] for k, v in kinds.items()}
    assert held.to_pandas().columns.tolist() == held.to_polars().columns


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["score:faithfulness", "axis:tone", "var:topic"], ["faithfulness", "tone", "topic"]),
        (["score:score", "var:case", "axis:passed"], ["score:score", "var:case", "axis:passed"]),
        (["var:n", "axis:n", "score:n"], ["var:n", "axis:n", "n"]),
        (["var:n", "axis:n"], ["var:n", "n"]),
        (["score:axis:tone", "axis:tone", "score:tone"], ["score:axis:tone", "axis:tone", "tone"]),
        (["score:", "var:"], ["score:", "var:"]),
        (["score:var:x", "var:x", "meta:x"], ["score:var:x", "x", "meta:x"]),
        (['score:contains "30"', "var:a b"], ['contains "30"', "a b"]),
        (["var:score:x", "score:x"], ["var:score:x", "x"]),
    ],
)
def test_names_of_columns_are_plain_and_never_two_alike(keys: list[str], names: list[str]) -> None:
    """What another column is called keeps where it comes from; the fixed columns are always called the same."""
    rows = [dict.fromkeys([*TRIALS, *keys], None)]
    found = [one.name for one in frame_columns(rows, TRIALS)]
    assert found == [*TRIALS, *names]
    assert len({*found}) == len(found)


ODD: Mapping[str, tuple[list[Any], str, list[Any]]] = {
    "nothing": ([None, None], "text", [None, None]),
    "larger than 64 bits": ([2**63, None], "text", [str(2**63), None]),
    "64 bits": ([2**63 - 1, -(2**63)], "whole", [2**63 - 1, -(2**63)]),
    "half a character": (["a\ud800b", ""], "text", ["a\ufffdb", ""]),
    "NUL": (["a\0b", None], "text", ["a\0b", None]),
    "false": ([False, None], "boolean", [False, None]),
    "zero": ([0, None], "whole", [0, None]),
    "zeros": ([0.0, None], "number", [0.0, None]),
    "infinity": ([float("inf"), 1.5], "number", [float("inf"), 1.5]),
    "words that look missing": (["NaN", "None"], "text", ["NaN", "None"]),
}


@pytest.mark.parametrize("what", ODD)
def test_a_column_of_odd_values_is_a_column(what: str) -> None:
    """In both libraries, each as it is; rather a text than a rounded number."""
    values, kind, held = ODD[what]

    class Odd(Framed):
        def _tables(self) -> Any:
            return {"all": Table(lambda: [{"var:x": value} for value in values], {})}

    ours, theirs = Odd().to_pandas(), Odd().to_polars()
    assert (str(ours["x"].dtype), theirs.schema["x"]) == (PANDAS[kind], POLARS[kind])
    assert [same(value) for value in ours["x"].tolist()] == theirs["x"].to_list() == held


async def test_types_do_not_depend_on_what_a_run_holds(make_run: Make) -> None:
    """An empty run, one in error, and one with everything can be put below each other."""
    full = result(
        0, named_scores={"words": 3}, latency_s=1, cost_usd=0, tokens_in=4, tokens_out=5, input="q", expected=["a"]
    )  # fmt: skip
    runs = [
        Run.open((await make_run(trials)).path)
        for trials in ([], [result(0, ok=None)], [full], [result(0, outcomes=(Outcome("x", "not_applicable", None),))])
    ]  # fmt: skip
    for rows, kinds in (("trials", TRIALS), ("outcomes", OUTCOMES)):
        frames = [run.to_polars(rows) for run in runs]
        schemas = [{k: frame.schema[k] for k in kinds} for frame in frames]
        assert schemas == [{k: POLARS[v] for k, v in kinds.items()}] * len(runs)
        types = [{k: str(run.to_pandas(rows)[k].dtype) for k in kinds} for run in runs]
        assert types == [{k: PANDAS[v] for k, v in kinds.items()}] * len(runs)
    assert pl.concat([run.to_polars() for run in runs], how="diagonal").height == 3


async def test_an_error_is_no_score_in_a_frame(make_run: Make) -> None:
    """Neither in rates nor in means, whichever way one filters."""
    made = await make_run(
        [
            result(0, named_scores={"m": 1.0}),
            result(1, ok=False, named_scores={"m": 0.0}),
            result(2, ok=None),
            result(3, ok=None),
        ],
        (Variant(0, "p", "gpt"),),
    )
    with Run.open(made.path) as run:
        ours, theirs = run.to_pandas(), run.to_polars()
    assert (ours["passed"].mean(), ours["score"].mean(), ours["m"].mean()) == (0.5, 0.5, 0.5)
    assert (len(ours[ours["passed"]]), len(ours[~ours["passed"]])) == (1, 1)
    assert ours["error"].notna().sum() == 2
    assert ours.groupby("model")["passed"].mean().to_dict() == {"gpt": 0.5}
    assert (theirs["passed"].mean(), theirs["score"].mean(), theirs["m"].mean()) == (0.5, 0.5, 0.5)
    assert theirs.filter(pl.col("error").is_not_null()).height == 2


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named_with_what_to_do(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with what does without it."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"needs {library}") as error:
        getattr(the_score(tmp_path), f"to_{library}")()
    assert f"pip install {library}" in str(error.value)
    assert "rows()" in str(error.value)


@pytest.mark.parametrize("rows", ["outcome", "summary", "Trials", "metrics", 3])
def test_rows_that_are_not_there_are_named_with_those_that_are(rows: Any, tmp_path: Path) -> None:
    """Before a library is needed."""
    with pytest.raises(UsageError, match="there are no rows called") as error:
        a_run(tmp_path).to_pandas(rows)
    assert "outcomes" in str(error.value) or "trials" in str(error.value)

"""A run as its user holds it: it has a run file, and reads what that says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.runs import Make, result

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.score import Outcome
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.render.comparing import compare
from evenhand.render.run import Run
from evenhand.store.runfile import RunFile


async def test_a_run_says_what_its_file_says(make_run: Make) -> None:
    """Counts, trials, calls, labels and what is said of the whole are read from the file that it holds."""
    made = await make_run([result(0), result(1, ok=False)])
    with Run.open(made.path) as run:
        assert not isinstance(run, RunFile)
        assert (run.path, run.meta, run.remarks) == (made.path, made.meta, made.remarks)
        assert run.totals() == made.totals()
        assert list(run.trials()) == list(made.trials())
        assert run.trial(1) == made.trial(1)
        assert list(run.calls()) == list(made.calls())
        assert list(run.labels()) == list(made.labels())
        assert (run.usage(), run.spend()) == (made.usage(), made.spend())
        assert run.alive is made.alive is False
        assert run.verdict == "failed"


async def test_a_run_gives_the_steps_of_a_trial(make_run: Make) -> None:
    """Whole, of a trial or of its index; a trial that isn't there is a mistake, and no trial without steps."""
    steps = (Step("tool", "refund", {"id": 7}, "done", status="ok", started_s=0.0),)
    made = await make_run([replace(result(0), steps=steps), result(1)])
    with Run.open(made.path) as run:
        assert run.steps(0) == list(steps)
        assert [run.steps(trial) for trial in run.trials()] == [list(steps), []]
        with pytest.raises(UsageError, match="no result of trial 2"):
            run.steps(2)


async def test_a_run_and_its_file_are_compared_alike(make_run: Make) -> None:
    """Whichever of the two is given, and a run that is closed says so in one line."""
    first = await make_run([result(i, ok=False) for i in range(8)])
    second = await make_run([result(i) for i in range(8)])
    with Run.open(first.path) as a, Run.open(second.path) as b:
        assert str(compare(a, b)) == str(compare(a.file, b.file)) == str(compare(first, second))
    with pytest.raises(StoreError, match="was closed before it was read"):
        a.totals()


FIXED = (
    "trial case eval prompt model repeat description input expected outcome passed score output reason error latency_s "
    "cost_usd tokens_in tokens_out calls cached"
).split()
AXES = (
    Variant(0, "p · kind", "m", axes={"tone": "kind", "model": "m"}, eval="set: p"),
    Variant(1, "q", "m", eval="set: q"),
)


async def as_run(make_run: Make, *trials, variants=AXES) -> Run:
    """These trials, as a user holds them."""
    return Run.open((await make_run(trials, variants)).path)


async def test_every_row_has_the_same_keys_and_plain_values(make_run: Make):
    """Variables, named scores and axes in columns of their own; what one trial lacks is None, and never 0."""
    with await as_run(
        make_run,
        result(0, case="a", vars={"topic": "x", "n": 1}, named_scores={"words": 3}, output={"k": [1]}, tokens_in=4),
        result(1, ok=False, variant=1, case="a", vars={"n": 2.5, "tags": ["b"]}),
        result(2, ok=None, case="ä", vars={"topic": "y", "tags": True}),
    ) as run:  # fmt: skip
        rows = run.rows()
    own = ["score:words", "var:topic", "var:n", "var:tags"]
    assert [list(row) for row in rows] == [[*FIXED[:6], "axis:tone", *FIXED[6:], *own]] * 3
    assert [row["passed"] for row in rows] == [True, False, None]
    assert [row["score"] for row in rows] == [1.0, 0.0, None]
    assert [row["error"] for row in rows] == [None, None, "rate-limited"]
    assert [row["output"] for row in rows] == ['{"k": [1]}', "The sea rises twice a day.", ""]
    assert [row["axis:tone"] for row in rows] == ["kind", None, "kind"]
    assert [row["score:words"] for row in rows] == [3.0, None, None]
    assert [row["var:n"] for row in rows] == [1.0, 2.5, None]
    assert [row["var:tags"] for row in rows] == [None, '["b"]', "true"]
    assert [row["case"] for row in rows] == ["a", "a", "ä"]


async def test_every_expectation_is_a_row_of_its_own(make_run: Make):
    """With bounds, reason and what was kept of it; the trial's number joins it to the other rows."""
    judged = {
        "judge": "gpt-5",
        "prompt": "passes/1",
        "confidence": 0.3,
        "warning": "low confidence: 0.3",
    }
    with await as_run(
        make_run,
        result(
            0,
            outcomes=(
                Outcome("words", "pass", 41.0, at_most=60, metric="words", metadata={"by": [1]}),
                Outcome("polite", "fail", 0.0, "rude", metadata=judged),
            ),
        ),
        result(1, ok=None),
        result(2, outcomes=(Outcome("x", "error", None, "no", error="judge"),)),
    ) as run:  # fmt: skip
        words, polite, broken = run.outcome_rows()
    assert list(words) == list(polite) == list(broken)
    assert (words["trial"], polite["trial"], broken["trial"]) == (0, 0, 2)
    assert (words["score"], words["at_most"], words["metric"]) == (41.0, 60.0, "words")
    assert (words["meta:by"], polite["meta:by"]) == ("[1]", None)
    assert (polite["judge"], polite["judge_prompt"], polite["confidence"]) == ("gpt-5", "passes/1", 0.3)  # fmt: skip
    assert [row["low_confidence"] for row in (words, polite, broken)] == [False, True, False]
    assert (broken["passed"], broken["score"], broken["error"]) == (None, None, "judge")


async def test_an_axis_called_prompt_is_the_prompt(make_run: Make):
    """Its value alone, without the eval's name and the other axes; other runs have the variant's label."""
    axes = {"prompt": "old", "tone": "kind"}
    variants = (Variant(0, "answers · old · kind", "", axes=axes), Variant(1, "q", ""))
    with await as_run(make_run, result(0), result(1, variant=1), variants=variants) as run:
        rows = run.rows()
    assert [(row["prompt"], row["axis:tone"], row["model"]) for row in rows] == [
        ("old", "kind", None),
        ("q", None, None),
    ]
    assert "axis:prompt" not in rows[0]


async def test_a_score_with_a_part_in_error_is_no_score(make_run: Make):
    """What is left of it would be the mean of other questions; what user code calls confidence is its own."""
    outcomes = (
        Outcome("first", "pass", 1.0, metric="polite", metadata={"confidence": "high"}),
        Outcome("second", "error", None, metric="polite", error="judge"),
        Outcome("third", "pass", 1.0, metric="short"),
    )
    trial = result(0, ok=None, outcomes=outcomes, named_scores={"polite": 1.0, "short": 1.0})
    with await as_run(make_run, trial) as run:
        (row,), (first, *_) = run.rows(), run.outcome_rows()
    assert (row["score:polite"], row["score:short"]) == (None, 1.0)
    assert (first["confidence"], first["meta:confidence"]) == (None, "high")


async def test_a_run_without_trials_has_no_rows(make_run: Make):
    """An empty list, which every data frame takes."""
    with await as_run(make_run) as run:
        assert run.rows() == run.outcome_rows() == []

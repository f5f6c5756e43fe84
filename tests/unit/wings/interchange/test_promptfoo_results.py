"""Reading promptfoo's results as runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs import Make
from tests.runs import result as made

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.render.export import export
from evenhand.store.home import held, lock_of
from evenhand.store.labels.label import NewLabel
from evenhand.store.merging import keep_run
from evenhand.store.run_lookup import runs
from evenhand.store.runfile import RunFile
from evenhand.wings.interchange.promptfoo_results import read_results


def row(test: int, prompt: int = 0, **other: Any) -> dict[str, Any]:
    """A row of promptfoo's that passed."""
    return {
        "testIdx": test, "promptIdx": prompt, "success": True, "score": 1, "failureReason": 0,
        "vars": {"x": f"v{test}"}, "prompt": {"raw": f"Say v{test}"}, "latencyMs": 20, "cost": 0.5,
        "testCase": {"vars": {"x": f"v{test}"}, "assert": [{"type": "contains", "value": "v", "weight": 2}]},
        "response": {"output": f"v{test}", "finishReason": "stop"},
        "tokenUsage": {"prompt": 3, "completion": 4, "numRequests": 1, "assertions": {"prompt": 1, "numRequests": 1}},
        "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": [
            {"pass": True, "score": 1, "reason": "Assertion passed",
             "assertion": {"type": "contains", "value": "v", "weight": 2}}]},
        **other,
    }  # fmt: skip


def results(path: Path, rows: list[dict[str, Any]], **other: Any) -> Path:
    """A file of them."""
    inside = {
        "version": 3,
        "timestamp": "2026-11-21T09:37:20.850Z",
        "prompts": [{"raw": "Say {{x}}", "label": "Say {{x}}", "provider": p} for p in "ab"],
        "results": rows,
        "stats": {"durationMs": 2500},
    }
    given = {
        "evalId": "eval-abc-2026",
        "results": inside,
        "config": {"description": "D", "tests": []},
    }
    path.write_text(json.dumps({**given, **other}))
    return path


_opened: list[RunFile] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Closes the run files that a test opened."""
    yield
    while _opened:
        _opened.pop().close()


async def imported(path: Path, folder: Path) -> RunFile:
    """The run file of it, open until the test ends."""
    read = read_results(path)
    _opened.append(RunFile.open(await keep_run(folder, read.meta, read.trials())))
    return _opened[-1]


async def test_a_row_is_a_trial(tmp_path: Path) -> None:
    """Output, verdict, score, assertions, tokens, cost and latency are as they were recorded, the judges' apart."""
    run = await imported(results(tmp_path / "r.json", [row(0)]), tmp_path / "runs")
    (trial,) = run.trials()
    assert (trial.output, trial.outcome, trial.score, trial.cost_usd) == ("v0", "pass", 1.0, 0.5)
    assert (trial.tokens_in, trial.tokens_out, trial.calls, trial.latency_s) == (4, 4, 2, 0.02)
    assert trial.judged is not None
    assert (trial.judged.calls, trial.judged.tokens_in) == (1, 1)
    assert [(o.name, o.outcome, o.weight) for o in trial.outcomes] == [('contains "v"', "pass", 2)]
    assert trial.test["assert"][0]["type"] == "contains"
    assert run.meta.status == "finished"
    assert run.meta.finished_at == pytest.approx(run.meta.created_at + 2.5)
    assert run.spend().cost_usd == 0.5


async def test_what_promptfoo_did_not_know_is_not_zero(tmp_path: Path) -> None:
    """It writes 0 for a cost and tokens that nobody said; a provider that says 0 knows it."""
    none = {"prompt": 0, "completion": 0, "total": 0, "numRequests": 1}
    rows = [
        row(0, cost=0, tokenUsage=none),
        row(1, cost=0, response={"output": "v1", "cost": 0}, tokenUsage={**none, "completion": 3}),
        row(2, cost=0, tokenUsage={**none, "assertions": {"prompt": 5, "numRequests": 1}}),
    ]
    run = await imported(results(tmp_path / "r.json", rows), tmp_path / "runs")
    known = [(one.cost_usd, one.answer.cost_usd, one.tokens_in) for one in run.trials()]
    assert known == [(None, None, None), (0.0, 0.0, 0), (None, None, 5)]


async def test_the_time_in_the_cache_is_no_latency(tmp_path: Path) -> None:
    """Newer versions say with the answer how long it took when it was made. Nothing was paid."""
    answers = [{"output": "v", "cached": True}, {"output": "v", "cached": True, "latencyMs": 900}]
    rows = [row(i, cost=0, latencyMs=1, response=one) for i, one in enumerate(answers)]
    run = await imported(results(tmp_path / "r.json", rows), tmp_path / "runs")
    found = [(one.latency_s, one.cost_usd, one.full_cost_usd) for one in run.trials()]
    assert found == [(None, 0.0, None), (0.9, 0.0, None)]


async def test_an_error_without_a_kind_of_failure_is_an_error(tmp_path: Path) -> None:
    """Earlier versions wrote none, and the reason of a failed assertion in the same place."""
    graded = {"pass": False, "score": 0, "reason": "no v", "componentResults": []}
    rows = [
        row(0, success=False, score=0, error="429", gradingResult=None, response={}),
        row(1, success=False, score=0, error="no v", gradingResult=graded),
    ]
    for one in rows:
        del one["failureReason"]
    run = await imported(results(tmp_path / "r.json", rows), tmp_path / "runs")
    assert [(one.outcome, one.score) for one in run.trials()] == [("error", None), ("fail", 0.0)]


async def test_rows_come_back_in_the_order_of_tests_and_columns(tmp_path: Path) -> None:
    """Whatever finished first; the same test in two columns is one case."""
    rows = [row(1, 1), row(0, 1), row(1), row(0)]
    run = await imported(results(tmp_path / "r.json", rows), tmp_path / "runs")
    found = [(trial.output, trial.variant) for trial in run.trials()]
    assert found == [("v0", 0), ("v0", 1), ("v1", 0), ("v1", 1)]
    assert run.meta.case_count == 2


async def test_repeats_are_repeats_of_a_case(tmp_path: Path) -> None:
    """With `repeat: 2` the second test with the same variables is the second repeat, the third another case."""
    rows = [row(i, vars={"x": "same"}) for i in range(4)]
    path = results(tmp_path / "r.json", rows, runtimeOptions={"repeat": 2})
    run = await imported(path, tmp_path / "runs")
    cases = [(trial.case.partition("#")[2], trial.repeat) for trial in run.trials()]
    assert cases == [("", 0), ("", 1), ("2", 0), ("2", 1)]


async def test_an_error_has_no_score(tmp_path: Path) -> None:
    """FailureReason 2 is an error; a failure that is a grader's error alone is one as well."""
    part = {"pass": False, "score": 0, "reason": "?", "metadata": {"graderError": True}}
    rows = [
        row(0, success=False, score=0, failureReason=2, error="no answer", response={}),
        row(1, success=False, score=0, failureReason=1, gradingResult={"componentResults": [part]}),
    ]
    run = await imported(results(tmp_path / "r.json", rows), tmp_path / "runs")
    first, second = run.trials()
    assert (first.outcome, first.score, first.error.message) == ("error", None, "no answer")
    assert (second.outcome, second.score) == ("error", None)
    assert (second.outcomes[0].outcome, second.outcomes[0].score) == ("error", None)


async def test_a_metric_without_weight_is_missing_and_not_0(tmp_path: Path) -> None:
    """Promptfoo writes the mean of nothing as 0, though its one assertion gave 0.2."""
    parts = [
        {"pass": True, "score": 0.2, "assertion": {"type": "python", "metric": m, "weight": w}}
        for m, w in (("lost", 0), ("kept", 0), ("kept", 1))
    ]
    graded = {"pass": True, "score": 0.2, "componentResults": parts}
    one = row(0, gradingResult=graded, namedScores={"lost": 0, "kept": 0.2, "other": 0})
    (trial,) = (await imported(results(tmp_path / "r.json", [one]), tmp_path)).trials()
    assert trial.named_scores == {"kept": 0.2, "other": 0}


async def test_the_parts_of_a_set_are_counted_once(tmp_path: Path) -> None:
    """Promptfoo lists them in the set and again after it."""
    parts = [{"pass": p, "score": int(p), "assertion": {"type": "contains"}} for p in (True, False)]
    about = {"assertionSet": {"type": "assert-set", "assertionCount": 2, "weight": 3}}
    whole = {"pass": False, "score": 0.5, "metadata": about, "componentResults": parts}
    after = {"pass": True, "score": 1, "assertion": {"type": "equals", "value": "x"}}
    grading = {"componentResults": [whole, *parts, after]}
    run = await imported(
        results(tmp_path / "r.json", [row(0, gradingResult=grading)]), tmp_path / "runs"
    )
    (trial,) = run.trials()
    assert [(o.name, o.weight) for o in trial.outcomes] == [
        ("assert-set of 2", 3),
        ('equals "x"', 1),
    ]


async def test_named_scores_of_the_parts_of_a_set_are_kept_there_and_back(tmp_path: Path) -> None:
    """Those of a part whose grader failed were never given."""
    asserted = {"type": "python", "metric": "m"}
    part = {"pass": True, "score": 0.7, "namedScores": {"tone": 0.7}, "assertion": asserted}
    broken = {**part, "namedScores": {"m": 0}, "metadata": {"graderError": True}}
    about = {"assertionSet": {"type": "assert-set", "assertionCount": 2}}
    whole = {"pass": True, "score": 0.7, "metadata": about, "componentResults": [part, broken]}
    graded = {"pass": True, "score": 0.7, "componentResults": [whole, part, broken]}
    path = results(tmp_path / "r.json", [row(0, gradingResult=graded)])
    run = await imported(path, tmp_path / "runs")
    (trial,) = run.trials()
    (outcome,) = trial.outcomes
    assert [one.get("named") for one in outcome.metadata["components"]] == [{"tone": 0.7}, None]
    export(run, tmp_path / "back.json")
    (back,) = json.loads((tmp_path / "back.json").read_text())["results"]["results"]
    parts = back["gradingResult"]["componentResults"][0]["componentResults"]
    assert [one.get("namedScores") for one in parts] == [{"tone": 0.7}, None]


async def test_what_is_imported_is_exported_as_it_was(tmp_path: Path) -> None:
    """Id, verdicts, scores, variables and assertions survive the way there and back; secrets do not."""
    path = results(
        tmp_path / "r.json",
        [row(0), row(0, 1, success=False, score=0, failureReason=1, error="no")],
        config={"providers": [{"id": "a", "config": {"apiKey": "sk-0123456789abcdefghij"}}]},
    )
    run = await imported(path, tmp_path / "runs")
    export(run, tmp_path / "back.json")
    before, after = (json.loads(p.read_text()) for p in (path, tmp_path / "back.json"))
    assert after["evalId"] == before["evalId"]
    for was, is_ in zip(before["results"]["results"], after["results"]["results"], strict=True):
        for key in ("testIdx", "promptIdx", "success", "score", "failureReason", "vars", "cost"):
            assert is_[key] == was[key], key
        assert is_["testCase"]["assert"] == was["testCase"]["assert"]
        assert is_["response"]["output"] == was["response"]["output"]
    assert "sk-" not in (tmp_path / "back.json").read_text()


async def test_what_did_not_apply_is_told_from_a_pass_in_results_and_comes_back_so(
    make_run: Make, tmp_path: Path
) -> None:
    """The format knows passes and failures alone: there it passes, with a mark."""
    na = Outcome("recall", "not_applicable", None, "no passages")
    part = {"name": "tone", "pass": True, "outcome": "not_applicable", "score": None, "reason": ""}
    in_set = Outcome("assert-set of 1", "not_applicable", None, metadata={"components": [part]})
    passed = Outcome("contains", "pass", 1.0)
    silent = replace(made(0), outcome="not_applicable", score=None, outcomes=())
    trials = [
        silent,
        replace(silent, index=1, case="b", outcomes=(na, in_set)),
        replace(made(2), outcomes=(passed, na)),
        made(3),
    ]
    run = await make_run(trials)
    export(run, tmp_path / "out.json")
    rows = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    assert [one["success"] for one in rows] == [True] * 4
    marks = [one["gradingResult"].get("metadata", {}).get("notApplicable") for one in rows]
    assert marks == [True, True, None, None]
    components = rows[1]["gradingResult"]["componentResults"]
    assert [one["metadata"].get("notApplicable") for one in components] == [True, True, True]
    back = await imported(tmp_path / "out.json", tmp_path / "runs")
    assert [(one.outcome, one.score) for one in back.trials()] == [
        (one.outcome, one.score) for one in trials
    ]
    (_, whole), (first, second) = ([*t.outcomes] for t in [*back.trials()][1:3])
    assert whole.metadata["components"][0]["outcome"] == "not_applicable"
    assert (first.outcome, second.outcome, second.score) == ("pass", "not_applicable", None)
    assert "notApplicable" not in second.metadata


async def test_a_run_is_imported_once(tmp_path: Path) -> None:
    """The same results have the same id, and that is refused."""
    path = results(tmp_path / "r.json", [row(0)])
    await imported(path, tmp_path / "runs")
    with pytest.raises(UsageError, match="already exists"):
        await imported(path, tmp_path / "runs")


async def test_a_run_that_appears_during_an_import_of_the_same_is_not_written_over(
    tmp_path: Path,
) -> None:
    """People may have put labels on it by then."""
    read = read_results(results(tmp_path / "r.json", [row(0)]))
    folder = tmp_path / ".evenhand" / "runs"
    other = folder / f"{read.meta.id}.db"

    def trials() -> Iterator[TrialResult]:
        yield from read.trials()
        other.write_text("labelled")

    with pytest.raises(UsageError, match="already exists"):
        await keep_run(tmp_path, read.meta, trials())
    assert other.read_text() == "labelled"
    assert not list((folder / ".importing").iterdir())


async def test_runs_may_be_kept_on_another_file_system(tmp_path: Path) -> None:
    """There, too, an imported run is moved to the others when it is whole, and one being imported is in no list."""
    here = tmp_path.stat().st_dev
    folders = [one for one in map(Path, ("/dev/shm", "/var/tmp")) if one.is_dir()]
    elsewhere = next((one for one in folders if one.stat().st_dev != here), None)
    if elsewhere is None:
        pytest.skip("there is no other file system")
    read = read_results(results(tmp_path / "r.json", [row(0)]))
    home = tmp_path / ".evenhand"
    home.mkdir()

    def trials() -> Iterator[TrialResult]:
        yield from read.trials()
        assert not runs(home)
        assert held(lock_of(home / "runs" / f"{read.meta.id}.db"))

    with tempfile.TemporaryDirectory(dir=elsewhere) as folder:
        (home / "runs").symlink_to(folder)
        path = await keep_run(tmp_path, read.meta, trials())
        assert [one.path for one in runs(home)] == [path]


async def test_a_run_that_cannot_be_moved_to_the_others_is_said_so(tmp_path: Path) -> None:
    """The folder is gone, say: one message, and no traceback."""
    read = read_results(results(tmp_path / "r.json", [row(0)]))
    folder = tmp_path / ".evenhand" / "runs"

    def labels() -> tuple[NewLabel, ...]:
        (folder / ".importing" / f"{read.meta.id}.db").unlink()
        return ()

    with pytest.raises(StoreError, match="cannot be written"):
        await keep_run(tmp_path, read.meta, read.trials(), labels)


async def test_a_run_is_imported_once_into_all_stores(tmp_path: Path) -> None:
    """A run of this id in a store below, or above, is the same run: a second one could not be told from it."""
    path = results(tmp_path / "r.json", [row(0)])
    suite = tmp_path / "parent" / "suite"
    suite.mkdir(parents=True)
    run = await imported(path, suite)
    for stands_in in (suite.parent, suite):
        with pytest.raises(UsageError, match="already exists") as told:
            await imported(path, stands_in)
        assert str(run.path) in told.value.message
    assert not (suite.parent / ".evenhand").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "holds no results"),
        ("{", "holds no results"),
        ('{"results": {"version": 2, "table": {}}}', "version 2; what is read is version 3"),
        ('{"results": {"version": 4}}', "version 4"),
        ('{"results": {"results": []}}', "does not say of which version"),
        (
            '{"results": {"version": 3, "prompts": [], "results": [{}]}}',
            "row 1 .*`testIdx` is missing",
        ),
        ('{"results": {"version": 3, "results": 5}}', "holds no results"),
    ],
)
def test_what_is_no_results_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    """Other files, and other versions, are named as such."""
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_results(tmp_path / "x.json")


async def test_a_row_that_cannot_be_read_leaves_no_run(tmp_path: Path) -> None:
    """Half a run would look like a whole one."""
    path = results(tmp_path / "r.json", [row(0), row(1, latencyMs="soon")])
    with pytest.raises(UsageError, match="row 2 of the results cannot be read"):
        await imported(path, tmp_path / "runs")
    assert list((tmp_path / "runs").glob("*.db")) == []


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """In words, with its name."""
    with pytest.raises(UsageError, match=r"nothing\.json cannot be read"):
        read_results(tmp_path / "nothing.json")


def test_a_row_without_an_output_is_a_failure_when_it_is_imported(tmp_path: Path) -> None:
    """Its failureReason is 0, and it did not succeed."""
    missing = row(0, success=False, failureReason=0, score=0, error="No output")
    recorded = read_results(results(tmp_path / "r.json", [missing]))
    (trial,) = recorded.trials()
    assert (trial.outcome, trial.reason) == ("fail", "No output")

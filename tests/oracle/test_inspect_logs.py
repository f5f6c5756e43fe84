"""Logs that the inspect-ai package writes, read here as it reads them itself; and ours, read by it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.filters.where import narrow
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.doors.importers.imported import Imported, ImportedRun, ImportedTrial
from evenhand.doors.importers.registry import read_runs
from evenhand.engine.door import waited_for
from evenhand.render.export import export
from evenhand.store.merging import keep_run
from evenhand.store.runfile import RunFile

pytestmark = pytest.mark.timeout(300)  # most of it is the import of the package
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Logs by name, as `read_eval_log` gives them; the package is slow to import, so all tests share them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from inspect_ai.log import read_eval_log
        from tests.oracle.inspect_evals import write_logs

        written = write_logs(tmp_path_factory.mktemp("logs"))
        return {name: read_eval_log(log.location) for name, log in written.items()}


def read(location: str) -> list[TrialResult]:
    """The trials of a log, as the import gives them."""
    (run,) = read_runs([Path(location)], "inspect").runs
    return list(run.trials())


def values(scores: Mapping[str, Any] | None) -> dict[str, float | None]:
    """Inspect's scores as numbers by the names that outcomes have; None for NaN."""
    flat: dict[str, Any] = {}
    for name, score in (scores or {}).items():
        many = score.value.items() if isinstance(score.value, dict) else [("", score.value)]
        flat |= {f"{name}/{key}" if key else name: value for key, value in many}
    numbers = {name: float(LETTERS.get(value, value)) for name, value in flat.items()}
    return {name: None if math.isnan(value) else value for name, value in numbers.items()}


def measured(trial: TrialResult) -> dict[str, float | None]:
    """The numbers of a trial's outcomes by name, decided or not."""
    return {one.name: one.named.get(one.name, one.score) for one in trial.outcomes}


def plain(messages: Any) -> list[dict[str, Any]]:
    """Messages as they are in a file: without what was not said."""
    return [one.model_dump(mode="json", exclude_none=True) for one in messages]


@pytest.mark.thorough
def test_ten_logs_are_read_as_inspect_reads_them(logs: Mapping[str, Any]):
    """Zstandard, deflate and JSON: samples, epochs, answers, scores, errors, usage, times, messages."""
    assert len(logs) >= 10
    for name, log in logs.items():
        samples = {(str(one.id), one.epoch): one for one in log.samples}
        trials = {(one.case, one.repeat + 1): one for one in read(log.location)}
        assert trials.keys() == samples.keys(), name
        for place, sample in samples.items():
            trial = trials[place]
            used = sample.model_usage.values()
            assert (trial.output or "") == sample.output.completion, name
            assert trial.expected == sample.target
            assert measured(trial) == values(sample.scores), name
            assert (trial.outcome == "error") is (sample.error is not None)
            assert (trial.error.message if trial.error else None) == (
                sample.error.message if sample.error else None
            )
            assert trial.tokens_in == (sum(one.input_tokens for one in used) if used else None)
            assert trial.tokens_out == (sum(one.output_tokens for one in used) if used else None)
            assert trial.latency_s == sample.working_time
            said = sample.input if isinstance(sample.input, str) else plain(sample.input)
            assert trial.input == said
            assert trial.metadata["messages"] == plain(sample.messages), name
            assert trial.metadata.items() >= sample.metadata.items()


def subjects(sample: Any) -> list[Any]:
    """The events of model and tool calls that are no scorer's."""
    scoring = {
        one.id for one in sample.events if one.event == "span_begin" and one.type == "scorers"
    }
    inside = {
        one.id for one in sample.events if one.event == "span_begin" and one.parent_id in scoring
    } | scoring
    return [
        one for one in sample.events if one.event in ("model", "tool") and one.span_id not in inside
    ]


@pytest.mark.thorough
def test_what_was_asked_and_called_is_steps(logs: Mapping[str, Any]):
    """In the order of the transcript, with what came of it; an agent is a step around its own."""
    for name, log in logs.items():
        trials = {(one.case, one.repeat + 1): one for one in read(log.location)}
        for sample in log.samples:
            steps = trials[str(sample.id), sample.epoch].steps
            found = [one for one in steps if one.kind != "agent"]
            events = subjects(sample)
            assert [one.kind for one in found] == [one.event for one in events], name
            for step, event in zip(found, events, strict=True):
                if event.event == "tool":
                    assert (step.name, step.arguments) == (event.function, event.arguments)
                    assert (step.result or "") == event.result
                    assert step.error == (event.error.message if event.error else "")
                    assert (step.status == "error") is (event.error is not None)
                else:
                    assert (step.result or "") == event.output.completion
                    assert step.tokens_in == (
                        event.output.usage and event.output.usage.input_tokens
                    )
                    assert step.error == (event.error or "")
    (trial,) = read(logs["agent"].location)
    agent, *inside = trial.steps
    assert (agent.kind, agent.name, agent.parent) == ("agent", "react", None)
    assert {one.parent for one in inside} == {0}
    first = inside[0].arguments["messages"]
    assert [one["role"] for one in first] == ["system", "user", "assistant", "user"]
    assert "attachment://" not in str([one.arguments for one in trial.steps])


@pytest.mark.thorough
def test_what_is_exported_is_read_by_inspect_and_imported_again(
    logs: Mapping[str, Any], tmp_path: Path
):
    """Each log: imported, exported, read by the package, and imported a second time."""
    from inspect_ai.log import read_eval_log

    for name, log in logs.items():
        (run,) = read_runs([Path(log.location)], "inspect").runs
        home = tmp_path / name
        home.mkdir()
        path = waited_for(keep_run(home, run.meta, run.trials()))
        to = home / "again.eval"
        with RunFile.open(path) as kept:
            assert export(kept, to) == len(log.samples)
        again = read_eval_log(str(to))
        assert (again.version, again.eval.task, again.eval.model) == (
            2, run.meta.title, log.eval.model,
        )  # fmt: skip
        before = {(str(one.id), one.epoch): one for one in log.samples}
        for sample in again.samples or []:
            theirs = before[sample.id, sample.epoch]
            assert sample.output.completion == theirs.output.completion, name
            assert values(sample.scores) == values(theirs.scores), name
            assert (sample.error and sample.error.message) == (
                theirs.error and theirs.error.message
            )
            used = sum(one.total_tokens for one in sample.model_usage.values())
            assert used == sum(
                one.input_tokens + one.output_tokens for one in theirs.model_usage.values()
            )
            assert sample.events, "its page would show an empty transcript"
            kinds = [one.event for one in subjects(theirs)]
            assert [one.event for one in subjects(sample)] == (kinds), name
        assert again.results is not None
        assert again.results.total_samples == len(log.samples)
        first = {(one.case, one.repeat): one for one in run.trials()}
        for trial in read(str(to)):
            was = first[trial.case, trial.repeat]
            assert (trial.outcome, trial.output, trial.expected, measured(trial)) == (
                was.outcome, was.output, was.expected, measured(was),
            ), name  # fmt: skip


def test_a_log_is_of_one_column(tmp_path: Path):
    """Another column is chosen with a filter, which the message spells out."""
    trials = [ImportedTrial("q", variant=i, outcome="pass", output="4") for i in (0, 1)]
    run = Imported(ImportedRun("1", "sums", 1e9, ["a", "b"], trials), Path("r.json"), "test")
    path = waited_for(keep_run(tmp_path, run.meta, run.trials()))
    with RunFile.open(path) as kept:
        with pytest.raises(UsageError, match="the run has 2 columns") as refused:
            export(kept, tmp_path / "x.eval")
        assert refused.value.hint == "Choose one: add --where 'variant:\"a\"'"
        chosen = narrow(kept, 'variant:"a"')
        assert export(chosen, tmp_path / "x.eval") == 1
    (trial,) = read(str(tmp_path / "x.eval"))
    assert (trial.case, trial.outcome, trial.output) == ("q", "pass", "4")

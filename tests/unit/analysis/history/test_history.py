"""The history of a folder: what is in it, and what is marked between its runs."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.history.history import History, HistoryRun, history
from evenhand.analysis.history.run_changes import SAMPLED
from evenhand.core.run import CallEnd, CallStart, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.render.history_text import document, lines

PLAIN = Variant(0, "plain", "gpt", "Say {{x}}", "openai:gpt")


def trials(n: int = 10, failing: int = 0, **more: Any) -> list[TrialResult]:
    """So many, of which the first fail."""
    return [
        replace(
            result(i, ok=i >= failing, case=f"c{i}", latency_s=1.0, cost_usd=0.01),
            vars={"x": i},
            **more,
        )
        for i in range(n)
    ]


def judged(instrument: str) -> tuple[Outcome, ...]:
    """What a judge said, by this prompt."""
    about = {"judge": "gpt", "instrument": instrument}
    return (Outcome("tone", "pass", 1.0, metric="tone", metadata=about),)


def called(role: Any, asked: str, answered: str) -> tuple[CallStart, CallEnd]:
    """A call that was answered."""
    start = CallStart(0, f"{role}{asked}", 0, role, asked, b"{}", None)
    return start, CallEnd(b"{}", "provider", 0.1, 1, 1, 0.25, answered)


class Folder:
    """Runs, one after the other."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self.paths: list[Path] = []

    async def add(
        self,
        made: Sequence[TrialResult] | None = None,
        variants: Sequence[Variant] = (PLAIN,),
        **meta: Any,
    ) -> None:
        """Makes one more."""
        fields = {"source": "/evals/a.yaml", **meta}
        run = await self._make(trials() if made is None else made, variants, **fields)
        self.paths.append(run.path)

    def history(self, **options: Any) -> History:
        """Their history."""
        return history(self.paths, **options)

    def runs(self) -> Sequence[HistoryRun]:
        """Those of the only config."""
        (line,) = self.history().lines
        return line.runs

    def last(self) -> dict[str, str]:
        """What is marked before the last run."""
        return {one.kind: one.text for one in self.runs()[-1].changes}


@pytest.fixture
def folder(make_run: Make) -> Folder:
    """An empty one."""
    return Folder(make_run)


async def test_runs_are_listed_by_time_with_rate_interval_cost_and_latency(folder: Folder):
    """And nothing is marked where nothing changed."""
    await folder.add(calls=[called("subject", "openai:gpt", "gpt-1")])
    await folder.add(trials(failing=5), calls=[called("subject", "openai:gpt", "gpt-1")])
    first, second = folder.runs()
    assert (first.finished, first.cost_usd, first.changes) == (True, 0.25, ())
    (column,) = second.columns
    assert column.share is not None
    assert column.latency is not None
    assert (column.share.value, column.latency.value, column.cases) == (0.5, 1.0, 10)
    assert column.share.low < 0.5 < column.share.high
    text = "\n".join(lines(folder.history(), Ink(False)))
    assert "┄" not in text
    assert "50 %      24–76" in text
    assert "$0.2500     1.0 s" in text


async def test_each_kind_of_change_is_marked_where_it_happened(folder: Folder):
    """Judge, data, prompt, model: each alone, and nothing else with it."""
    judge = called("judge", "openai:gpt", "gpt-1")
    await folder.add(trials(outcomes=judged("a")), calls=[judge])
    await folder.add(trials(outcomes=judged("b")), calls=[judge])
    assert folder.last() == {"judge": "another prompt for tone"}
    other = called("judge", "openai:gpt-mini", "gpt-mini-1")
    await folder.add(trials(outcomes=judged("b")), calls=[other])
    assert folder.last() == {"judge": "openai:gpt-mini instead of openai:gpt"}
    moved = called("judge", "openai:gpt-mini", "gpt-mini-2")
    await folder.add(trials(outcomes=judged("b")), calls=[moved])
    assert folder.last() == {"judge": "openai:gpt-mini is now gpt-mini-2, was gpt-mini-1"}
    await folder.add(trials(12, outcomes=judged("b")), calls=[moved])
    assert folder.last() == {"data": "12 cases instead of 10"}
    await folder.add(
        [replace(t, vars={"x": "new"}) for t in trials(12, outcomes=judged("b"))], calls=[moved]
    )
    assert folder.last() == {"data": "12 cases with other variables"}
    same = [replace(t, vars={"x": "new"}) for t in trials(12, outcomes=judged("b"))]
    await folder.add(same, [replace(PLAIN, prompt_raw="Say it: {{x}}")], calls=[moved])
    assert folder.last() == {"prompt": "plain edited"}
    edited = replace(PLAIN, prompt_raw="Say it: {{x}}")
    await folder.add(same, [replace(edited, provider_id="openai:o9")], calls=[moved])
    assert folder.last() == {"model": "openai:o9 instead of openai:gpt"}
    text = lines(folder.history(), Ink(False))
    assert sum(line.startswith("┄ ") for line in text) == 7


async def test_a_judge_that_is_added_or_scripted_is_named_and_no_model_is_made_up(folder: Folder):
    """Scripted replies are those of whoever was asked; a run without calls has neither."""
    script = {"asked": {"offline": True}}
    ours = [called("judge", "openai:gpt", "")]
    await folder.add()
    await folder.add(trials(outcomes=judged("a")), calls=ours, settings=script)
    assert folder.last()["judge"] == "scripted replies; openai:gpt added"
    assert "model" not in folder.last()
    await folder.add(settings=script)
    assert folder.last()["judge"] == "openai:gpt left out"
    await folder.add()
    assert folder.last() == {}
    await folder.add(calls=[called("subject", "openai:gpt", "")], settings=script)
    assert folder.last() == {"model": "scripted replies"}
    await folder.add(calls=[called("subject", "openai:gpt", "")])
    assert folder.last() == {"model": "a model instead of scripted replies"}
    await folder.add(trials(outcomes=judged("a")))
    assert "judge" not in folder.last()  # all verdicts are from elsewhere


async def test_probes_and_checks_of_canaries_are_not_in_it(folder: Folder):
    """None of their outputs is a system's."""
    await folder.add()
    await folder.add(trials(failing=10), settings={"probe": {}})
    await folder.add(trials(failing=10), settings={"canaries": {}})
    assert len(folder.runs()) == 1


async def test_cells_that_were_asked_again_are_not_in_it(folder: Folder):
    """One edited cell says nothing of how the whole fares over time."""
    await folder.add()
    await folder.add(trials(failing=10), settings={"asked": {"edits": [{"trial": 0}]}})
    assert len(folder.runs()) == 1


async def test_a_run_that_did_not_finish_has_no_numbers(folder: Folder):
    """Of the part that is settled nothing is said; nor is it taken for other data."""
    await folder.add()
    await folder.add(trials(4, failing=4), status="interrupted", planned=10)
    await folder.add(trials(6), finish=False, planned=10)
    await folder.add()
    _, stopped, killed, whole = folder.runs()
    assert (stopped.columns, stopped.finished, killed.columns, killed.status) == (
        (),
        False,
        (),
        "interrupted",
    )
    assert [run.changes for run in (stopped, killed, whole)] == [(), (), ()]
    text = "\n".join(lines(folder.history(), Ink(False)))
    assert "interrupted: 4 of 10 trials" in text
    assert "0 %      0–" not in text


async def test_a_retried_run_that_lacks_trials_is_unfinished(folder: Folder):
    """Whatever its status says."""
    await folder.add(trials(4), planned=10)
    assert "unfinished: 4 of 10 trials" in "\n".join(lines(folder.history(), Ink(False)))


async def test_errors_leave_a_rate_open(folder: Folder):
    """Both ends are said."""
    await folder.add([*trials(8), result(8, ok=None, case="e"), result(9, ok=None, case="f")])
    (run,) = folder.runs()
    (row,) = document(folder.history())["lines"][0]["runs"][0]["columns"]
    assert (row["rate"], row["rate_least"], row["rate_most"]) == (None, 0.8, 1.0)
    assert run.columns[0].share is not None
    assert "80–100 %" in "\n".join(lines(folder.history(), Ink(False)))


async def test_each_config_has_its_own_line_and_only_the_last_runs_are_read(folder: Folder):
    """By source; those made in code by title."""
    for source in ("/evals/a.yaml", "/evals/b.yaml", "", "/evals/a.yaml"):
        await folder.add(source=source)
    found = folder.history(last=1)
    assert {line.source: (len(line.runs), line.earlier) for line in found.lines} == {
        "/evals/a.yaml": (1, 1),
        "/evals/b.yaml": (1, 0),
        "": (1, 0),
    }
    (only,) = folder.history(within=Path("/evals/a.yaml")).lines
    assert len(only.runs) == 2


async def test_sets_of_one_folder_have_lines_of_their_own(folder: Folder):
    """Whatever else is run there; an eval that is added leaves its set what it is."""
    few, many, more = (
        Variant(0, name, "", eval=f"{of}: {name}")
        for of, name in (("few", "fine"), ("many", "notes"), ("many", "safe"))
    )
    for variants in ([many], [few], [many, replace(more, index=1)], [few, replace(many, index=1)]):
        await folder.add(variants=variants, source="/shop")
    found = [[len(run.columns) for run in line.runs] for line in folder.history().lines]
    assert found == [[2], [1, 2], [1]]


async def test_a_set_that_ran_alone_before_is_named_at_the_first_run_with_others(folder: Folder):
    """Its earlier runs are in a line of their own, which nobody would look for."""
    few = Variant(0, "fine", "", eval="few: fine")
    many = Variant(1, "notes", "", eval="many: notes")
    await folder.add(variants=[few], source="/shop")
    await folder.add(variants=[few], source="/elsewhere")
    await folder.add(variants=[few, many], source="/shop")
    await folder.add(variants=[few, many], source="/shop")
    await folder.add(variants=[replace(many, index=0)], source="/shop")
    together = next(line for line in folder.history().lines if len(line.runs[0].columns) > 1)
    told = [[change.text for change in run.changes] for run in together.runs]
    assert told == [["few ran alone before: earlier runs are in a history of their own"], []]
    (cut,) = [line for line in folder.history(last=1).lines if len(line.runs[0].columns) > 1]
    assert cut.runs[0].changes == ()


async def test_runs_of_a_folder_of_evals_are_those_that_were_asked_for_by_it(folder: Folder):
    """They are run from the folder above, which is their source."""
    for paths in (["/shop/evals"], ["/shop/evals/a_evals.py:12"], ["/shop/other"], [1]):
        await folder.add(source="/shop", settings={"asked": {"paths": paths}})
    (line,) = folder.history(within=Path("/shop/evals")).lines
    assert len(line.runs) == 2


async def test_a_damaged_file_is_named_and_the_others_are_shown(folder: Folder, tmp_path: Path):
    """No traceback, and no run less."""
    await folder.add()
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"not a run")
    folder.paths.append(bad)
    found = folder.history()
    assert len(found.lines[0].runs) == 1
    assert found.unreadable[0][0] == bad
    assert "bad.db" in lines(found, Ink(False))[-1]


async def test_names_are_shown_and_not_obeyed(folder: Folder):
    """Of titles, variants and models."""
    bad = "\x1b[31m\u202eevil\nline"
    await folder.add(title=bad)
    variants = [replace(PLAIN, prompt=bad, model=bad, provider_id=bad), Variant(1, "b", "m")]
    await folder.add(trials(), variants, title=bad)
    text = lines(folder.history(), Ink(False))
    assert not any(mark in line for line in text for mark in "\x1b\u202e\n")


@pytest.mark.thorough
async def test_memory_does_not_grow_with_the_texts_of_a_run(folder: Folder):
    """Only the first trials are read."""
    large = "x" * 20_000
    for _ in range(2):
        await folder.add([replace(t, output=large) for t in trials(SAMPLED * 3)])
    tracemalloc.start()
    found = folder.history()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.lines[0].runs) == 2
    assert peak < 6_000_000, f"{peak:,} bytes; the texts are {SAMPLED * 6 * 20_000:,}"


async def test_the_document_is_json(folder: Folder):
    """With its schema."""
    await folder.add()
    read = json.loads(json.dumps(document(folder.history()), allow_nan=False))
    assert read["schema"] == "evenhand.history/1"


async def test_imported_runs_stand_before_those_of_the_set_that_they_were_moved_to(make_run: Make):
    """By their title, where just one set or config has it; other runs without a source stay by themselves."""
    folder = Folder(make_run)
    moved = {"source": "", "title": "Sums", "settings": {"imported": {"id": "evalrun_1"}}}
    await folder.add(**moved)
    await folder.add(source="/evals/sums_evals.py", title="Sums")
    await folder.add(source="", title="Sums", settings={"asked": {}})
    by_source = {line.source: len(line.runs) for line in folder.history().lines}
    assert by_source == {"": 2, "/evals/sums_evals.py": 1}
    folder.paths.pop()
    (line,) = folder.history().lines
    assert (line.source, len(line.runs)) == ("/evals/sums_evals.py", 2)


async def test_a_prompt_that_is_called_by_its_file_and_text_is_edited_and_not_another_one(
    folder: Folder,
):
    """The name of a .txt prompt holds its text, and changes with it."""
    first = replace(PLAIN, prompt="a.txt: Say {{x}}", prompt_raw="Say {{x}}")
    await folder.add(trials(), [first])
    second = replace(PLAIN, prompt="a.txt: Tell {{x}}", prompt_raw="Tell {{x}}")
    await folder.add(trials(), [second])
    assert folder.last() == {"prompt": "a.txt edited"}


async def test_a_column_without_a_name_gets_no_number(folder: Folder):
    """A run of one variant, before runs of two whose names are long."""
    await folder.add()
    two = [replace(PLAIN, index=i, prompt=f"{'a long name ' * 4}{i}") for i in (0, 1)]
    both = [replace(one, variant=i % 2, case=f"c{i // 2}") for i, one in enumerate(trials())]
    await folder.add(both, two)
    text = lines(folder.history(), Ink(False), 80)
    assert [line[:7] for line in text if " = " in line] == ["  #1 = ", "  #2 = "]
    assert not any(line.endswith(" =") for line in text)

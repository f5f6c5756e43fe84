"""The versions of prompts over the runs of a config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs import Make, result
from tests.unit.wings.viewer.conftest import Asking

from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.stats.interval import wilson
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer import listing, over_runs
from evenhand.wings.viewer.listing import Runs, read_recent
from evenhand.wings.viewer.over_runs import (
    EditedPrompt,
    case_page,
    edited_prompts,
    prompt_histories,
    prompt_texts,
    run_prompts,
)


def _columns(*prompts: tuple[str, str]) -> list[Variant]:
    return [Variant(n, name, "gpt", text) for n, (name, text) in enumerate(prompts)]


async def test_a_version_counts_each_case_once_over_its_runs(make_run: Make) -> None:
    """Two runs before an edit and one after it: two versions, the first with four trials of two cases."""
    runs = []
    for text, passed in (("Say it.", (1, 0)), ("Say it.", (1, 0)), ("Say it briefly.", (1, 1))):
        trials = [result(n, ok=bool(ok)) for n, ok in enumerate(passed)]
        runs.append(await make_run(trials, _columns(("plain", text))))
    (prompt,) = prompt_histories(map(run_prompts, runs))
    old, new = prompt.versions
    assert (prompt.name, old.text, new.text) == ("plain", "Say it.", "Say it briefly.")
    assert (old.runs, new.runs) == ([r.path.stem for r in runs[:2]], [runs[2].path.stem])
    assert old.created_at == runs[0].meta.created_at
    assert old.rate is not None
    assert (old.rate.value, old.rate.n) == (0.5, 2)
    low, high = wilson(1, 2)
    assert (old.rate.low, old.rate.high) == (low, high)
    assert new.rate is not None
    assert new.rate.value == 1


async def test_a_text_that_comes_back_is_the_version_it_was(make_run: Make) -> None:
    """And a prompt that the newest run lacks comes after those that it has."""
    runs = [
        await make_run([result(0)], _columns((name, text)))
        for name, text in (("old", "Hum."), ("a", "One."), ("a", "Two."), ("a", "One."))
    ]
    first, last = prompt_histories(map(run_prompts, runs))
    assert (first.name, last.name) == ("a", "old")
    assert [(len(v.runs), v.text) for v in first.versions] == [(2, "One."), (1, "Two.")]


def _edited(before: Sequence[Variant], after: Sequence[Variant]) -> list[EditedPrompt]:
    return edited_prompts(before, after)


def test_a_prompt_that_is_called_by_its_text_is_the_same_once_edited() -> None:
    """Where it is the only one; not where it has a name of its own, or another one came as well."""
    old, new = ("Say hello to {{who}}", "Say hello to {{who}}"), ("Greet {{who}}", "Greet {{who}}")
    assert _edited(_columns(old), _columns(new)) == [EditedPrompt(new[0], old[1], new[1])]
    assert not _edited(_columns(("formal", "Dear {{who}}")), _columns(("casual", "Hi {{who}}")))
    assert not _edited(_columns(old), _columns(new, ("Hail {{who}}", "Hail {{who}}")))


def test_a_prompt_in_a_file_keeps_its_name_when_its_text_changes() -> None:
    """And one that several models are asked with is one prompt; one without a text is none."""
    old = _columns(("prompts/a.txt: Be kind.", "Be kind."))
    new = _columns(*[("prompts/a.txt: Be kind, always.", "Be kind, always.")] * 2, ("code", ""))
    assert _edited(old, new) == [EditedPrompt("prompts/a.txt", "Be kind.", "Be kind, always.")]
    assert prompt_texts(new)["prompts/a.txt"].columns == (0, 1)


def test_the_prompt_that_an_eval_varies_is_called_by_its_value() -> None:
    """Whatever else its column's name says."""
    column = Variant(
        0,
        "answer · short",
        "gpt",
        "Be short.",
        axes={"prompt": "short"},
        contents={"prompt": "3f"},
    )
    assert prompt_texts([column])["short"].text == "Be short."


def _trials(came: str, case: str, start: int) -> list[TrialResult]:
    """Repeats of a case: p, f, e."""
    states = {"p": True, "f": False, "e": None}
    return [
        result(start + n, ok=states[letter], case=case, repeat=n) for n, letter in enumerate(came)
    ]


async def _history(make_run: Make, *runs: dict[str, str], source: str = "a.yaml") -> Runs:
    """The oldest first: what became of each case's repeats."""
    files = []
    for n, came in enumerate(runs):
        trials: list[TrialResult] = []
        for case, letters in came.items():
            trials += _trials(letters, case, len(trials))
        run = await make_run(trials, [Variant(0, "plain", "gpt")], source=source, title=f"run {n}")
        files.append(run.path)
    return Runs(Path("/nowhere"), only=files)


async def test_cases_that_flip_come_first_with_what_became_of_them_in_each_run(
    make_run: Make,
) -> None:
    """A run without a case leaves a gap; repeats that differ are a flip of their own; an error is none."""
    runs = await _history(
        make_run,
        {"steady": "pp", "turns": "f", "broken": "p"},
        {"steady": "pp", "turns": "p", "broken": "e"},
        {"steady": "pp", "turns": "pf", "new": "f"},
    )
    (path, *_) = [runs.path(one.id) for one in runs.list()]
    page = case_page(runs, path, "")
    assert [(line.case, line.came, line.flips, line.errors) for line in page.lines] == [
        ("turns", "fpm", 2, 0),
        ("broken", "pe-", 0, 1),
        ("new", "--f", 0, 0),
        ("steady", "ppp", 0, 0),
    ]
    assert page.lines[0].cells == [2, 2, 2]
    assert page.lines[2].cells == [-1, -1, 3 + 1]
    assert (page.unread, page.total, len(page.runs)) == (0, 4, 3)
    assert [line.case for line in case_page(runs, path, "RoK").lines] == ["broken"]


async def test_only_runs_of_the_same_source_count(make_run: Make) -> None:
    """Runs without one are alike where their titles are."""
    for source, alike in (("a.yaml", 3), ("", 1)):
        runs = await _history(make_run, *[{"a": "p"}] * 3, source=source)
        (path, *_) = [runs.path(one.id) for one in runs.list()]
        assert len(runs.like(path)) == alike


async def test_runs_of_another_set_of_the_folder_do_not_count(make_run: Make) -> None:
    """One source holds several sets; an eval more is the same set."""
    sets = (["a: x"], ["b: y"], ["a: x", "a: z"], ["a: x", "b: y"])
    files = [
        (
            await make_run(
                [result(0)], [Variant(i, n, "", eval=n) for i, n in enumerate(names)], source="/s"
            )
        ).path
        for names in sets
    ]
    runs = Runs(Path("/nowhere"), only=files)
    assert [len(runs.like(path)) for path in files] == [2, 1, 2, 1]


async def test_older_runs_are_left_out_where_time_is_up(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is said how many; the newest run is always there."""
    runs = await _history(make_run, {"a": "f"}, {"a": "p"}, {"a": "p"})
    monkeypatch.setattr(listing, "ENOUGH_S", -1.0)
    (path, *_) = [runs.path(one.id) for one in runs.list()]
    page = case_page(runs, path, "")
    assert (page.unread, page.lines[0].came) == (2, "p")


async def test_a_run_that_is_deleted_meanwhile_is_left_out(make_run: Make) -> None:
    """The others are read all the same."""
    runs = await _history(make_run, {"a": "f"}, {"a": "p"})
    new, old = (runs.path(one.id) for one in sorted(runs.list(), key=lambda one: -one.created_at))

    def look(run: RunFile) -> str:
        old.unlink(missing_ok=True)
        return run.path.stem

    assert read_recent(runs, new, look) == ([new.stem], 1)


async def test_a_page_has_so_many_lines_and_says_how_many_there_are(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case's id is the one that people wrote, in whatever letters."""
    monkeypatch.setattr(over_runs, "MOST", 2)
    run = await make_run([replace(result(n), case=f"Größe \U0001f600\ud800 {n}") for n in range(3)])
    page = case_page(Runs(Path("/nowhere"), only=[run.path]), run.path, "größe")
    assert page.total == 3
    assert [line.case for line in page.lines] == [f"Größe \U0001f600\ud800 {n}" for n in (0, 1)]


async def test_the_server_answers_with_cases_and_prompts(ask: Asking) -> None:
    """Of the runs of what a run is of."""
    page = await ask.json("/cases?q=case2")
    assert [(line["variant"], line["came"]) for line in page["lines"]] == [
        ("basic", "f"), ("better", "f"), ("best", "p")
    ]  # fmt: skip
    assert page["runs"] == [ask.run]
    assert (await ask.json("/prompts"))["unread"] == 0

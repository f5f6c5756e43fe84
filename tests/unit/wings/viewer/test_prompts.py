"""The versions of prompts over the runs of a config."""

from __future__ import annotations

from collections.abc import Sequence

from tests.unit.conftest import Make, result

from evenhand.core.variant import Variant
from evenhand.stats.interval import wilson
from evenhand.wings.viewer.prompts import (
    EditedPrompt,
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

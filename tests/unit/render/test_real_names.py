"""A report with names as people give them, at every width: it can be read, and nothing that counts is cut."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from tests.runs import Make, baseline_of, result

from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.analysis.history.history import history
from evenhand.analysis.summaries.column_names import SHORT, column_names, full_names, short_names
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import columns
from evenhand.render import gate as gate_text
from evenhand.render.cell import cell_lines
from evenhand.render.comparing import compare
from evenhand.render.comparison import lines as comparison_lines
from evenhand.render.console import show
from evenhand.render.history_text import lines as history_lines
from evenhand.render.verbose import Verbose
from evenhand.store.runfile import RunFile

WIDTHS = (60, 80, 100, 200)
ALPHABETS = {
    "latin": "answers politely in ",
    "chinese": "礼貌地回答客户的问题并给出",
    "emoji": "🧪🚀 tone 👍 of ",
}


def named(start: str, letters: int, alphabet: str = "latin") -> str:
    """A name of so many letters that begins with what tells it from others."""
    return (f"{start} " + ALPHABETS[alphabet] * letters)[:letters].strip()


def variants_of(
    letters: int, prompts: int, models: int, alphabet: str = "latin", others: int = 1
) -> list[Variant]:
    """A set over prompts and models, and evals of another set that have one column each."""

    def name(start: str) -> str:
        return named(start, letters, alphabet)

    first = f"{name('bot')}: {name('answer')}"
    found: list[Variant] = []
    for p, m in product(range(prompts), range(models)):
        axes = {"prompt": name(f"p{p}"), "llm": name(f"m{m}")}
        label = " · ".join((first, *axes.values()))
        found.append(Variant(len(found), label, "", axes=axes, eval=first))
    for i in range(others):
        other = f"{name('docs')}: {name(f'heads{i}')}"
        found.append(Variant(len(found), other, "", eval=other))
    return found


def trials_of(
    variants: Sequence[Variant], cases: int = 12, repeats: int = 1, tags: int = 2, bad: int = 0
) -> list[TrialResult]:
    """Trials of all columns, of which some fail in some of them."""
    found: list[TrialResult] = []
    for case, variant, repeat in product(range(cases), variants, range(repeats)):
        found.append(
            result(
                len(found),
                variant=variant.index,
                case=f"c{case}",
                repeat=repeat,
                ok=not (variant.index < bad and (case + variant.index + repeat) % 4 == 0),
                metadata={"tags": [f"tag {case % tags}"]} if tags else {},
            )
        )
    return found


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the runs are found."""
    monkeypatch.chdir(tmp_path)


def shown(run: RunFile, width: int) -> str:
    """What is printed of a run."""
    out = io.StringIO()
    show(run, out, width=width)
    return out.getvalue()


def problems(text: str, width: int, variants: Sequence[Variant]) -> list[str]:
    """What can't be read."""
    found = [f"too wide: {line}" for line in text.splitlines() if columns(line) > width]
    found += [f"cut: {cut}" for cut in re.findall(r"\[[-+\d.–, ]*…|\d…|\d ?\n *%", text)]
    found += [f"open: {line}" for line in text.splitlines() if line.count("[") != line.count("]")]
    whole = re.sub(r"\s+", "", text)
    for name in {*full_names(variants), *(variant.eval for variant in variants)}:
        squeezed = re.sub(r"\s+", "", name)
        if len(squeezed) > SHORT and whole.count(squeezed) > 1:
            found.append(f"{whole.count(squeezed)} times: {name}")
    return found


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("letters", [10, 30, 80])
async def test_a_report_of_seven_columns_is_a_page_whatever_they_are_called(
    make_run: Make, letters: int
) -> None:
    """Within the width, no number cut, no column named twice, and each rate behind the number of its column."""
    variants = variants_of(letters, 3, 2)
    plain = await make_run(trials_of(variants, tags=0), variants)
    tagged = await make_run(trials_of(variants), variants)
    for width, run in product(WIDTHS, (plain, tagged)):
        text = shown(run, width)
        assert problems(text, width, variants) == []
        crowded = run is tagged and (letters == 80 or width == 60)
        assert len(text.splitlines()) <= (40 if not crowded else 54)
        for number in range(1, 8):
            assert len(re.findall(rf"(?m)^ +#{number}\b", text)) >= 1
        squeezed = re.sub(r"\s+", "", text)
        for variant in variants:
            parts = (variant.eval.rpartition(": ")[2], *map(str, variant.axes.values()))
            assert all(re.sub(r"\s+", "", part) in squeezed for part in parts)


@pytest.mark.thorough
@pytest.mark.parametrize(("letters", "alphabet"), [(10, "latin"), (40, "chinese"), (40, "emoji")])
async def test_many_columns_tags_repeats_and_failures_stay_within_the_width(
    make_run: Make, letters: int, alphabet: str
) -> None:
    """Two sets over two axes of three values, twelve tags, three repeats; in any alphabet."""
    variants = variants_of(letters, 3, 3, alphabet) + [
        Variant(10 + i, v.prompt + "2", "", axes=v.axes, eval="other " + v.eval)
        for i, v in enumerate(variants_of(letters, 3, 3, alphabet)[:9])
    ]
    trials = trials_of(variants, 24, 3, 12, bad=14)
    run = await make_run(trials, variants, repeats=3)
    for width in (*WIDTHS, 120):
        text = shown(run, width)
        assert problems(text, width, ()) == []
        assert "more, in --json" in text or width == max(WIDTHS)


@pytest.mark.thorough
async def test_no_line_ends_inside_a_name_that_is_short(make_run: Make) -> None:
    """The report's sentences and those of `compare` have ` · ` in the names of columns."""
    parts = product(("desk", "shop"), ("plain rules", "strict"))
    variants = [
        Variant(i, " · ".join(each), "", axes=dict(zip(("bot", "tone"), each, strict=True)))
        for i, each in enumerate(parts)
    ]
    names = full_names(variants)
    run = await make_run(trials_of(variants, 40, repeats=2, bad=9), variants, repeats=2)
    again = await make_run(trials_of(variants, 40, repeats=2), variants, repeats=2)
    pair = compare(run, again)

    for width in range(60, 130):
        for text in (shown(run, width).splitlines(), comparison_lines(pair, width)):
            unfolded = " ".join(line.strip() for line in text)
            for name in names:
                assert sum(line.count(name) for line in text) == unfolded.count(name), (width, text)


@pytest.mark.thorough
async def test_two_hundred_columns_have_a_line_each(make_run: Make) -> None:
    """And the texts below call them by their numbers."""
    variants = variants_of(30, 20, 10, others=0)
    run = await make_run(trials_of(variants, 4, 1, 2, bad=200), variants)
    for width in (80, 200):
        text = shown(run, width)
        assert problems(text, width, variants) == []
        assert len(text.splitlines()) < 200 + 20 + 60


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("letters", [10, 30, 80])
async def test_headings_of_trials_and_cells_are_wrapped_and_not_cut(
    make_run: Make, letters: int, alphabet: str
) -> None:
    """`show -v` and `show CELL` have the whole name of the column and the case, and what became of it."""
    variants = variants_of(letters, 2, 1, alphabet, others=0)
    case = named("lost parcel", letters, alphabet)
    trials = [replace(trial, description=case) for trial in trials_of(variants, 1)]
    run = await make_run(trials, variants)
    names = full_names(variants)
    for width in WIDTHS:
        verbose = Verbose(variants, 1, width, Ink(False)).lines(trials[1])
        cell = cell_lines(run, Grid(run), trials[1], width, Ink(False))
        for lines, details in ((verbose, "score 1"), (cell, "pass, score 1")):
            assert max(map(columns, lines)) <= width
            assert "…" not in "".join(lines)
            squeezed = re.sub(r"\s+", "", "".join(lines))
            assert re.sub(r"\s+", "", names[1]) in squeezed
            assert re.sub(r"\s+", "", case) in squeezed
            assert any(details in line for line in lines)


@pytest.mark.parametrize("letters", [10, 30, 80])
async def test_a_gate_names_each_column_once_and_stays_within_the_width(
    make_run: Make, tmp_path: Path, letters: int
) -> None:
    """Its lines have the numbers that the report has, and colours don't count."""
    variants = variants_of(letters, 2, 2, others=0)
    before = await make_run(trials_of(variants, 40), variants)
    after = await make_run(trials_of(variants, 40, bad=3), variants)
    write_baseline(baseline_of(before), tmp_path / "before.evn")
    outcome = gate(read_baseline(tmp_path / "before.evn"), after, margin=0.05)
    names = full_names(after.meta.variants)
    for width in WIDTHS:
        text = "\n".join(gate_text.lines(outcome, Ink(False), width))
        assert problems(text, width, variants) == []
        for number, name in enumerate(names, 1):
            assert re.search(rf"(?m)^[✗±✓] #{number} · passed: ", text)
            assert re.sub(r"\s+", "", f"#{number} = {name}") in re.sub(r"\s+", "", text)
        painted = gate_text.lines(outcome, Ink(True), width)
        assert re.sub(r"\x1b\[\d*m", "", "\n".join(painted)) == text


async def test_a_history_names_its_columns_in_full(make_run: Make) -> None:
    """Once each, above its runs."""
    variants = variants_of(80, 2, 2, others=0)
    run = await make_run(trials_of(variants), variants, source="/evals/a.yaml")
    names = full_names(run.meta.variants)
    for width in WIDTHS:
        text = "\n".join(history_lines(history([run.path]), Ink(False), width))
        assert problems(text, width, variants) == []
        for number, name in enumerate(names, 1):
            assert re.sub(r"\s+", "", f"#{number} = {name}") in re.sub(r"\s+", "", text)


def test_short_names_are_used_and_long_ones_are_numbered() -> None:
    """All or none; a lone column is not called anything."""
    short = [Variant(i, name, "m") for i, name in enumerate(("plain", "better"))]
    assert short_names(short, 80) == ["plain", "better"]
    long = [*short, Variant(2, "with examples and a word of warning", "m")]
    assert short_names(long, 80) == ["#1", "#2", "#3"]
    assert short_names(long[2:], 80) == [""]
    assert short_names(short, 40) == ["plain", "better"]
    assert column_names(long)[2] == "with examples and a word of warning"

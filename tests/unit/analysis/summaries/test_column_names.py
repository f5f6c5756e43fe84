"""What columns are called, and what a table calls them."""

from __future__ import annotations

import io

import pytest
from tests.runs import Make, result

from evenhand.analysis.summaries.column_names import LONGEST, column_head, column_names
from evenhand.core.variant import Variant
from evenhand.core.wording.words import columns
from evenhand.render.console import show

MODELS = ("openai:chat:gpt-5-mini", "anthropic:messages:claude-haiku-4-5-20251001")


def of_sets() -> list[Variant]:
    """Two sets with names of ordinary length: the first over prompts and models, the other over models."""
    found: list[Variant] = []
    summaries = "document summarization: produces_expected_summary"
    for prompt in ("summarise_the_document_plainly_v1", "summarise_the_document_plainly_v2"):
        for model in MODELS:
            axes = {"prompt": prompt, "model": model}
            label = f"{summaries} · {prompt}"
            found.append(Variant(len(found), label, model, axes=axes, eval=summaries))
    bot = "customer support bot: answers_politely"
    for model in MODELS:
        found.append(Variant(len(found), bot, model, axes={"model": model}, eval=bot))
    return found


def test_columns_of_several_sets_are_told_apart_by_what_differs() -> None:
    """Eval, prompt and model stand in each name, and no name is a number."""
    names = column_names(of_sets())
    assert len(set(names)) == 6
    assert not any("#" in name for name in names)
    assert names[0] == "produces_expected_summary · …plainly_v1 · openai:chat:gpt-5-mini"
    assert "…plainly_v2" in names[2]
    assert names[4].startswith("answers_politely · openai")
    assert all(columns(name) <= LONGEST for name in names)
    assert column_head(of_sets()) == "eval · prompt · model"


def test_an_eval_of_one_prompt_keeps_its_name_whatever_the_prompt_says() -> None:
    """Texts of prompts have colons."""
    label = "refunds: answers · prompts/a.txt: You help customers. Their tier: {{tier}}"
    axes = {"prompt": "prompts/a.txt: You help customers. Their tier: {{tier}}", "model": "echo"}
    (name,) = column_names([Variant(0, label, "echo", axes=axes, eval="refunds: answers")])
    assert name.startswith("answers · prompts/a.txt")


def test_a_prompt_of_a_file_is_called_by_its_file_whatever_its_text_says() -> None:
    """The name stays when the prompt is changed, which is what people compare; two texts of one file are told apart."""
    for text in (
        "Answer: {{question}}",
        "You work at a refund desk. Be careful and kind. Answer: {{q}}",
    ):
        assert column_names([Variant(0, f"prompts/reply.txt: {text}", "m")]) == [
            "prompts/reply.txt"
        ]
    two = [Variant(i, f"p/{name}.txt: Answer: {{{{q}}}}", "m") for i, name in enumerate("ab")]
    assert column_names(two) == ["p/a.txt", "p/b.txt"]
    pieces = [Variant(i, f"p/a.txt: {text}", "m") for i, text in enumerate(("Be kind", "Be terse"))]
    assert len(set(column_names(pieces))) == 2
    inline = "In the style of node.js: {{q}}"
    assert column_names([Variant(0, inline, "m")]) == [inline]


def test_what_all_columns_share_is_left_out() -> None:
    """With one eval over two prompts, the prompts are the names."""
    variants = [
        Variant(i, f"labels · {p}", "m", axes={"prompt": p}, eval="triage: labels")
        for i, p in enumerate(("plain", "strict"))
    ]
    assert column_names(variants) == ["plain", "strict"]
    assert column_head(variants) == "prompt"


@pytest.mark.parametrize("width", [50, 60, 80, 100, 140, 240])
async def test_a_table_tells_columns_apart_at_any_width(make_run: Make, width: int) -> None:
    """By numbers; each name stands in the table or above it, in full, and the texts below have the numbers alone."""
    variants = of_sets()
    trials = [
        result(6 * case + v, variant=v, case=f"c{case}", ok=case > 0)
        for case in range(3)
        for v in range(6)
    ]
    out = io.StringIO()
    show(await make_run(trials, variants), out, width=width)
    text = out.getvalue()
    rows = [line for line in text.splitlines() if "2/3" in line]
    assert [row.split()[0] for row in rows] == [f"#{number}" for number in range(1, 7)]
    assert max(columns(row) for row in rows) <= width
    whole = " ".join(text.split())
    assert "claude-haiku-4-5-20251001" in whole
    assert "summarise_the_document_plainly_v2" in whole
    (failure,) = [line for line in text.splitlines() if line.startswith("  ✗")]
    assert "#1–#6 · case 1" in failure


async def test_a_wide_table_has_the_names_in_full(make_run: Make) -> None:
    """Each once, behind its number."""
    variants = [Variant(i, "p" * 80 + str(i), "m") for i in range(2)]
    trials = [result(i, variant=i, case="a") for i in range(2)]
    out = io.StringIO()
    show(await make_run(trials, variants), out, width=200)
    assert out.getvalue().count("p" * 80) == 2
    assert "  #2  " + "p" * 80 + "1   " in out.getvalue()

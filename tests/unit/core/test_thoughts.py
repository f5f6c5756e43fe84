"""What was thought stands in the text in many ways; what is quoted, in code or in JSON is no thought."""

from __future__ import annotations

import pytest

from evenhand.core.thoughts import without_thoughts

THOUGHT = "Could it be 7? No: six times seven."
FORMS = {
    "think": f"<think>\n{THOUGHT}\n</think>\n\n42",
    "inline": f"<think>{THOUGHT}</think>42",
    "capitals": f"<THINK>{THOUGHT}</THINK> 42",
    "attributes": f'<think budget="low">{THOUGHT}</think>42',
    "bare": f"{THOUGHT}\n</think>\n\n42",
    "bare inline": f"{THOUGHT}</think> 42",
    "empty": "<think>\n\n</think>\n\n42",
    "twice": f"<think>{THOUGHT}</think>\n<think>{THOUGHT}</think>\n42",
    "nested": f"<think>{THOUGHT}<think>7</think>{THOUGHT}</think>42",
    "names its mark": f"<think>I think in <think>. {THOUGHT}</think>42",
    "after": f"42\n<think>{THOUGHT}</think>\n",
    "thinking": f"<thinking>{THOUGHT}</thinking>\n42\n",
    "thought": f"<thought>{THOUGHT}</thought>42",
    "seed": f"<seed:think>{THOUGHT}</seed:think>42",
    "magistral": f"[THINK]{THOUGHT}[/THINK]42",
    "bare magistral": f"{THOUGHT}[/THINK]42",
    "kimi": f"◁think▷{THOUGHT}◁/think▷42",
    "harmony": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>42"
    "<|return|>",
    "short harmony": f"<|channel|>analysis<|message|>{THOUGHT}<|channel|>final<|message|>42",
    "commentary": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>commentary<|message|>7"
    "<|end|><|start|>assistant<|channel|>final<|message|>42",
    "final": "<|channel|>final<|message|>42<|return|>",
    "channels without marks": f"analysis{THOUGHT}assistantfinal42",
    "cohere": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>42<|END_RESPONSE|>",
    "openthinker": f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>\n<|begin_of_solution|>42<|end_of_solution|>",
    "gemma": f"<|channel>thought\n{THOUGHT}<channel|>42",
    "medgemma": f"<unused94>thought\n{THOUGHT}<unused95>42",
    "reasoning": f"<reasoning>{THOUGHT}</reasoning>\n42",
    "analysis": f"<analysis>{THOUGHT}</analysis>42",
    "scratchpad": f"<scratchpad>{THOUGHT}</scratchpad>\n42",
    "reflection": f"<reflection>{THOUGHT}</reflection>42",
    "inner monologue": f"<inner_monologue>{THOUGHT}</inner_monologue>42",
    "two families": f"<reasoning>{THOUGHT}</reasoning><think>{THOUGHT}</think>42",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_thoughts_of_every_family_are_left_out(text: str):
    """With the blanks round them."""
    assert without_thoughts(text) == "42"


@pytest.mark.parametrize(
    "text",
    [
        "42",
        "",
        " 42\n",
        "Use the `<think>` tag.",
        "Use <think> for thoughts.",
        'It ends with "</think>".',
        "```html\n<think>7</think>\n```",
        "Look:\n```\n</think>\n```\nThat is all.",
        '{"a": "</think> 7"}',
        '["<think>7</think>"]',
        '"<think>"',
        "a [THINK] b",
        "<reasoning>42</reasoning>",
        "<analysis>42",
        "<b>42</b>",
        "analysis of 42",
    ],
)
def test_what_is_no_thought_stays_as_it_is(text: str):
    """Quoted, in code, in JSON, or all that there is between tags of a prompt's own."""
    assert without_thoughts(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<think>",
        f"<think>{THOUGHT}",
        f"<think>{THOUGHT}</think>",
        f"<think>{THOUGHT}</think>\n\n",
        f"{THOUGHT}</think>",
        f"[THINK]{THOUGHT}",
        f"◁think▷{THOUGHT}",
        f"<|channel|>analysis<|message|>{THOUGHT}",
        f"<|channel|>analysis<|message|>{THOUGHT}<|channel|>final<|message|><|return|>",
        f"<think>{THOUGHT}</think><think>{THOUGHT}",
    ],
)
def test_a_thought_that_was_cut_off_or_is_all_there_is_is_no_answer(text: str):
    """Not an empty one either."""
    assert without_thoughts(text) is None

"""Providers around other ones: the same in all that they don't do themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest

from evenhand.core.message import Reply
from evenhand.core.provider import Saying, says
from evenhand.engine.outcome import answer_in
from evenhand.providers.wrapped import Paused
from evenhand.testing import Scripted


@dataclass
class Thinking:
    """A trial, as far as its thoughts go."""

    shows_thoughts: bool = False
    left_out: bool = False


@pytest.mark.parametrize("what", get_args(Saying))
@pytest.mark.parametrize("said", [True, False])
def test_what_a_provider_says_of_itself_it_says_though_it_is_wrapped(what: Saying, said: bool):
    """A rest before each call changes nothing of it."""
    silent = Scripted([])
    telling = type("Telling", (Scripted,), {what: said})([])
    assert says(Paused(telling, 0.1), what) == says(telling, what) == said
    assert says(Paused(silent, 0.1), what) == says(silent, what) == (what == "lasts")


def test_an_answer_in_json_is_what_it_holds_though_the_model_rests_before_its_calls():
    """What it thought aloud is left out of it."""
    model = type("InJson", (Scripted,), {"parses": True})([])
    text = '<think>two</think>{"shoes": 2}'
    for provider in (model, Paused(model, 0.1)):
        reply = answer_in(Thinking(), provider, Reply(text, text))
        assert reply.output == {"shoes": 2}

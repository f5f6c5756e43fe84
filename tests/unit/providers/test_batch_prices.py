"""What an answer costs that came in a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.message import Reply, Usage
from evenhand.core.provider import Provider
from evenhand.providers.batches.places import batch_cost_of
from evenhand.providers.catalog import create
from evenhand.providers.chat import ChatProvider


def asked(id_: str, folder: Path) -> Provider:
    """A model of this vendor's."""
    return create(id_, config={}, env={}, base=folder)


@pytest.mark.parametrize(
    ("cached", "wanted"), [(None, 1.0), (0, 1.0), (500_000, 1.0), (2_000_000, 1.0)]
)
def test_half_of_the_price_is_saved_whatever_was_cached(
    cached: int | None, wanted: float, tmp_path: Path
):
    """OpenAI halves the price of cached tokens, too."""
    reply = Reply("a", cost_usd=2.0, usage=Usage(1_000_000, 10, cached))
    model = asked("openai:gpt-4o-mini", tmp_path)
    assert batch_cost_of(model, reply, "openai") == pytest.approx(wanted)


@pytest.mark.parametrize(("cached", "in_full"), [(None, 0), (0, 0), (500, 500), (9_000, 1_000)])
def test_cached_tokens_cost_in_a_batch_of_googles_what_they_cost_outside(
    cached: int | None, in_full: int, tmp_path: Path
):
    """Only the rest is halved; never more tokens are cached than were read."""
    model = asked("google:gemini-2.5-flash", tmp_path)
    assert isinstance(model, ChatProvider)
    assert model.price is not None
    assert model.price.usd_cached
    full = in_full * model.price.usd_cached / 1e6
    reply = Reply("a", cost_usd=0.01, usage=Usage(1_000, 10, cached))
    found = batch_cost_of(model, reply, "google")
    assert found == pytest.approx(0.005 + full / 2, abs=1e-12)


def test_an_answer_without_a_price_has_none_in_a_batch_either(tmp_path: Path):
    """Half of nobody knows what is not 0."""
    model = asked("google:gemini-2.5-flash", tmp_path)
    assert batch_cost_of(model, Reply("a", usage=Usage(1_000, 10, 5)), "google") is None

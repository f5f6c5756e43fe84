"""Writes the list prices that are built in: those of `genai-prices`, and the ones that we keep beside them.

    just prices        # before a release; wants a network, for the newest genai-prices

`src/evenhand/providers/list_prices.json` is made of both and is never edited. `kept_prices.yml` here says where we know
better, or what genai-prices lacks, and since when. A model is left out, so that its price is unknown, where its tokens
alone don't say what a call costs: images and videos in or out, prices by the hour of the day, several limits of length,
and writing to a cache at a price that we don't count.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from genai_prices.data import providers
from genai_prices.types import (
    ClauseEquals,
    ClauseOr,
    ClauseStartsWith,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
)

HERE = Path(__file__).parent
KEPT = HERE / "kept_prices.yml"
LISTED = HERE.parent / "src/evenhand/providers/list_prices.json"

VENDORS = {
    "anthropic": "anthropic",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "togetherai": "together",
    "xai": "x-ai",
}
"""Vendors as ids of ours begin, by what genai-prices calls them."""
WRITTEN = {"cache_write_mtok": 1.25, "cache_write_1h_mtok": 2.0}
"""What Anthropic's tokens cost that are written to a cache, by the price of input, as `anthropic.py` counts them."""
OTHER_TOKENS = re.compile(r"image|video|hours|mchars|kpages|messages")
"""Units that tokens of text don't bound. Sound is found in requests and answers (`surcharges.py`), and so are tools."""
NAME = re.compile(r"(?!.*(?:audio|tts|transcribe|realtime|image|search))[\w./-]*\w", re.ASCII)
"""Plain names of models that cost their tokens."""
ELSEWHERE = re.compile(r"openai gpt-oss|google gemma")
"""Models of open weights, which their makers don't sell: each host has its price."""

Row = list[float]
"""Dollars per million tokens in, out and cached in; where long input costs more, from how many tokens, and again."""


def listed() -> dict[str, dict[str, dict[str, Row]]]:
    """Month → vendor → the beginning of a model's name → its row."""
    kept: dict[str, dict[str, dict[str, Row]]] = yaml.safe_load(KEPT.read_text("utf-8"))
    own = {(vendor, name) for of in kept.values() for vendor, names in of.items() for name in names}
    found = {
        vendor: {
            name: row
            for name, row in _needed(dict(_rows(_provider(theirs)))).items()
            if (vendor, name) not in own and not ELSEWHERE.match(f"{vendor} {name}")
        }
        for vendor, theirs in VENDORS.items()
    }
    lists = {f"{datetime.now(UTC):%Y-%m}": found}
    for month, of in kept.items():
        for vendor, names in of.items():
            lists.setdefault(month, {}).setdefault(vendor, {}).update(names)
    return lists


def _provider(id_: str) -> Provider:
    return next(one for one in providers if one.id == id_)


def _rows(provider: Provider) -> Iterator[tuple[str, Row]]:
    for model in provider.models:
        for name in _names(model):
            priced = provider.find_model(name)
            row = priced and _row(provider, _today(priced))
            if row is not None:
                yield name, row


def _names(model: ModelInfo) -> Iterator[str]:
    """What a model is called: its id, and the names that it is found by and that are plain."""
    clauses: list[object] = [model.match]
    texts = [model.id]
    while clauses:
        clause = clauses.pop()
        if isinstance(clause, ClauseOr):
            clauses += clause.or_
        elif isinstance(clause, ClauseEquals):
            texts.append(clause.equals)
        elif isinstance(clause, ClauseStartsWith):
            texts.append(clause.starts_with)
    yield from filter(NAME.fullmatch, texts)


def _today(model: ModelInfo) -> ModelPrice | None:
    """What holds at every hour of today."""
    if isinstance(model.prices, ModelPrice):
        return model.prices
    if any(not isinstance(one.constraint, StartDateConstraint | None) for one in model.prices):
        return None
    return model.get_prices(datetime.now(UTC))


def _row(provider: Provider, price: ModelPrice | None) -> Row | None:
    """The row of a price; None where tokens alone don't say what a call costs."""
    if price is None or price.input_mtok is None:
        return None
    units: dict[str, Any] = {
        name: value for name, value in vars(price).items() if value is not None
    }
    if any(OTHER_TOKENS.search(name) for name in units):
        return None
    for name, times in WRITTEN.items():
        counted = times if provider.id == "anthropic" else 1.0
        if name in units and _base(units[name]) > counted * _base(price.input_mtok) + 1e-9:
            return None
    three = [price.input_mtok, price.output_mtok or 0, price.cache_read_mtok or price.input_mtok]
    starts = {tier.start for one in three if isinstance(one, TieredPrices) for tier in one.tiers}
    row = [_base(one) for one in three]
    if not starts:
        return row
    if len(starts) > 1:
        return None
    return [*row, *starts, *map(_last, three)]


def _base(price: Any) -> float:
    return float(price.base if isinstance(price, TieredPrices) else price)


def _last(price: Any) -> float:
    return float(price.tiers[-1].price if isinstance(price, TieredPrices) else price)


def _needed(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Without the names of snapshots that cost what their model does: those are found by its name."""
    return {
        name: row
        for name, row in sorted(rows.items())
        if not any(
            rows.get(name[: match.start()]) == row
            for match in re.finditer(r"-(?=\d{4}|latest$)", name)
        )
    }


def main() -> int:
    """Writes the file, a model on a line."""
    lists = dict(sorted(listed().items(), reverse=True))
    months = [
        f" {json.dumps(month)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(vendor)}: {{\n"
            + ",\n".join(
                f"   {json.dumps(name)}: {json.dumps(names[name])}" for name in sorted(names)
            )
            + "\n  }"
            for vendor, names in sorted(of.items())
            if names
        )
        + "\n }"
        for month, of in lists.items()
    ]
    LISTED.write_text("{\n" + ",\n".join(months) + "\n}\n", "utf-8")
    models = sum(len(names) for of in lists.values() for names in of.values())
    sys.stdout.write(
        f"{models} models, of genai-prices {version('genai-prices')} and {KEPT.name}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a request asks for that costs something else than its tokens at their list price.

    {"tools": [{"type": "web_search"}]}  # a fee for each search
    {"service_tier": "priority"}  # another price for each token

No price list per token bounds what such a call can cost, nor says what it did cost. Vendors add tools and tiers all the
time: so of tools and tiers the harmless ones are known, and all others count as dear; of all other settings those that
are known to be, or are called as such things are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import as_array, as_mapping, is_mapping
from evenhand.core.record import Record

_CLIENT_SIDE = (
    r"(?:function|custom|local_shell|apply_patch|(?:bash|text_editor|computer|memory)_\d{8})"
)
"""Types of tools that the caller runs: they cost their tokens."""
_DECLARED = frozenset({"functionDeclarations", "function_declarations"})
_TIERS = frozenset({"default", "standard", "standard_only", "on_demand", "batch"})
"""The tiers at list price. `auto` may become another one."""
_OFF = frozenset({"", "off", "none", "disabled", "never", "false"})

_RATE = re.compile(
    r"tier|(?:^|_)geo$|^speed$|priority|performance_?config|^provider$", re.IGNORECASE
)
"""Settings that change the price of a token."""
_FEE = re.compile(
    r"search|(?<!back)ground|plugin|connector|^mcp|container|sandbox|data_?sources|^web_|"
    r"code_(?:execution|interpreter)|^models$|^fallbacks?$|^route$|url_context|"
    r"^audio$|(?:speech|image|video)_?config",
    re.IGNORECASE,
)
"""Settings that cost something beside tokens, or have another model asked."""
_MODALITIES = frozenset({"modalities", "responseModalities", "response_modalities"})
_HARMLESS = frozenset({"search_result", "safe_search"})
_INSIDE = frozenset(
    "generationConfig generation_config extra_body extraBody inferenceConfig additionalModelRequestFields".split()
)
_HEADER = re.compile(r"tier|priority|vertex-ai-llm|geo", re.IGNORECASE)
_BETA = r"context-1m|fast-mode"
_SOUND = rb'"input_audio"|"mime_?(?:type|Type)":\s*"audio/'
_HOSTED = rb'"(?:type)":\s*"(?:web_search|file_search|code_interpreter|image_generation|mcp)_call"'


class Surcharges(Record, frozen=True):
    """What a request or an answer has that its tokens' list price doesn't cover, in the words that it has for that.

    Attributes:
        fees: What costs something beside tokens: no price for a token covers it.
        rates: What changes the price of a token: one that the user gives covers it.
    """

    fees: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()

    def uncovered(self, *, stated: bool) -> str:
        """What is left, in words; empty for nothing.

        Args:
            stated: The user says what a token costs.
        """
        return ", ".join(self.fees if stated else (*self.fees, *self.rates))


NO_SURCHARGES = Surcharges()


def surcharges(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Surcharges:
    """What a request asks for, whoever's API it speaks.

    >>> surcharges({"tools": [{"type": "function"}], "service_tier": "priority"})
    Surcharges(fees=(), rates=("service_tier 'priority'",))
    """
    fees, rates = list(_tools(body.get("tools"))), list(_of_headers(headers or {}))
    for name, value in _settings(body):
        if name in _MODALITIES:
            media = [str(one) for one in as_array(value) if str(one).lower() != "text"]
            fees += [f"{name} {one!r}" for one in media]
        elif name in _HARMLESS or _is_off(value):
            continue
        elif _RATE.search(name):
            if str(value).lower() not in _TIERS:
                rates.append(f"{name} {value!r:.40}")
        elif _FEE.search(name):
            fees.append(name)
    return Surcharges(tuple(dict.fromkeys(fees)), tuple(dict.fromkeys(rates)))


def hears(body: bytes) -> bool:
    """Whether a request has sound in it, whose tokens have a price of their own."""
    # A search for a plain text takes a tenth of the pattern's time, and most requests have no such word.
    return body.find(b"audio") >= 0 and re.search(_SOUND, body) is not None


def billed_beyond(body: bytes) -> Surcharges:
    """What an answer says was charged otherwise: a tier that nobody asked for, a search that the vendor made."""
    find = body.find  # `in` takes ten times as long: bytes are tried as a number first
    if find(b'_call"') >= 0 and re.search(_HOSTED, body):
        return Surcharges(("a hosted tool",))
    for word in _TOLD:
        if find(word) >= 0:
            break
    else:
        return NO_SURCHARGES
    answer = as_mapping(decoded(body))
    usage = as_mapping(answer.get("usage"))
    tier = answer.get("service_tier") or usage.get("service_tier") or "default"
    rates = () if str(tier) in {*_TIERS, "auto"} else (f"service_tier {tier!r}",)
    searched = any(as_mapping(usage.get("server_tool_use")).values())
    candidates = map(as_mapping, as_array(answer.get("candidates")))
    grounded = any(one.get("groundingMetadata") for one in candidates)
    fees = ["a hosted tool"] if searched or grounded else []
    return Surcharges((*fees, *(["sound"] if _heard(answer) else [])), rates)


_TOLD = (b'"service_tier"', b'"server_tool_use"', b'"groundingMetadata"', b"audio", b"AUDIO")


def _heard(answer: Mapping[str, Any]) -> bool:
    """Whether there is sound among the tokens of an answer, or of its question."""
    usage = as_mapping(answer.get("usage"))
    details = [as_mapping(value) for name, value in usage.items() if name.endswith("_details")]
    counts = as_mapping(answer.get("usageMetadata"))
    modalities = [
        one for name, value in counts.items() if name.endswith("Details") for one in as_array(value)
    ]
    return any(one.get("audio_tokens") for one in details) or any(
        as_mapping(one).get("modality") == "AUDIO" for one in modalities
    )


def _tools(tools: object) -> Iterator[str]:
    if tools is None or tools in ([], ""):
        return
    if not isinstance(tools, (list, tuple)):
        yield "tools"
        return
    for tool in map(as_mapping, cast("list[object]", tools)):
        kind = tool.get("type")
        if isinstance(kind, str):
            if not re.fullmatch(_CLIENT_SIDE, kind):
                yield f"tool {kind!r}"
        elif "function" in tool or "input_schema" in tool or ("name" in tool and not kind):
            continue
        elif _DECLARED.isdisjoint(tool) or set(tool) - _DECLARED:
            names = ", ".join(sorted(set(tool) - _DECLARED)) or "of no known kind"
            yield f"tool {names!r}"


def _settings(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        if name in _INSIDE:
            yield from _settings(as_mapping(value))
        yield name, value


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if _HEADER.search(name) and str(value).lower() not in {*_TIERS, *_OFF}:
            yield f"the header {name}"
        elif name.lower() == "anthropic-beta" and re.search(_BETA, str(value)):
            yield f"the beta {value}"


def _is_off(value: object) -> bool:
    if isinstance(value, str):
        return value.lower() in _OFF
    if is_mapping(value):
        mode = value.get("mode")
        return isinstance(mode, str) and mode.lower() in _OFF  # empty, it is on as usual
    return not value

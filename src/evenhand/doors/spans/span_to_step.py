"""Reads a span as a step, whatever its dialect; describes one in a dialect that is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import as_array, is_object
from evenhand.core.message import Usage
from evenhand.core.provider import Price
from evenhand.core.timeline import ANSWERS
from evenhand.doors.spans.dialects import atif, genai, langfuse, openinference, openllmetry
from evenhand.doors.spans.dialects.dialect import Dialect, cost_of, count_of, payload, word_of
from evenhand.doors.spans.messages import is_cut, json_of, messages_of, value_of
from evenhand.doors.spans.span import RawSpan, SpanStep, kept_text
from evenhand.doors.spans.states import (
    answer_in,
    conversation_in,
    framework_input,
    framework_output,
    is_schema,
    literal,
    question_in,
    tool_result,
)
from evenhand.providers.prices import cost, price_of
from evenhand.providers.surcharges import surcharges

DIALECTS: Sequence[Dialect] = (
    atif.DIALECT,
    openinference.DIALECT,
    langfuse.DIALECT,
    openllmetry.DIALECT,
    genai.DIALECT,
)
"""Those that are read. A span that is of several is read as the first."""

CASE = "evenhand.case.id"
"""The attribute that names the case which a trace is a trial of."""

_MOST_ABOUT = 200


def read_span(span: RawSpan) -> SpanStep:
    """What the span says."""
    dialect = _dialect_of(span)
    if span.logged:
        return _logged(span)
    error = _error(span)
    step = SpanStep(
        id=span.id,
        parent=span.parent,
        start=span.start,
        end=span.end,
        status=span.status,
        error=error,
        about=_about(span, dialect),
    )
    if error and step.status == "unknown":
        step.status = "error"
    elif step.status == "unknown" and span.end is not None:
        step.status = "ok"  # what fails says so; what has not ended has come to nothing yet
    if dialect is None:
        return step
    step.dialect, step.scope = dialect.name, span.scope
    step.kind = kind = dialect.kind_of(span)
    step.agent = dialect.text(span, "agent")
    if kind is None:
        step.name = span.name
        _ends(step, span, dialect)
        return step
    step.name = kept_text(dialect.name_of(span, kind)) or kind
    if kind == "tool" and step.name in ANSWERS:  # how its framework ends a conversation
        step.kind = None
        return step
    if dialect.text(span, "level").upper() == "ERROR":
        step.status = "error"
    if step.status == "error" and not step.error:
        step.error = dialect.text(span, "error")
    if kind == "model":
        _model(step, span, dialect)
    elif kind == "agent":
        _ends(step, span, dialect)
        # An agent's own span is not one of the steps that this agent takes.
        step.agent = ""
    else:
        step.arguments = _arguments(span, dialect)
        result = tool_result(
            _call_value(dialect.first(span, "result"), dialect.text(span, "output_mime"))
        )
        step.result = result.value
        step.call = dialect.text(span, "call") or result.call
        if result.failed and step.status == "ok":
            step.status = "error"  # the framework told the model of the failure, and went on
    return step


def _arguments(span: RawSpan, dialect: Dialect) -> Any:
    """What a tool was given. Some instrumentations write what it takes in the same place, which is no argument."""
    mime = dialect.text(span, "input_mime")
    values = [literal(_call_value(one, mime)) for one in dialect.every(span, "arguments")]
    return next((value for value in values if not is_schema(value)), None)


def _dialect_of(span: RawSpan) -> Dialect | None:
    names = tuple(span.attributes)
    # Spans of one kind have the same attributes, so most need not be compared with any dialect. None means no dialect.
    known = _known.get(names, ...)
    if known is not ...:
        return known
    dialect = next((one for one in DIALECTS if one.knows(span)), None)
    # Numbered attribute names differ from span to span, so the cache is bounded and skips long lists of names.
    if len(_known) < _MOST_KNOWN and len(names) <= _FEW:
        _known[names] = dialect
    return dialect


_known: dict[tuple[str, ...], Dialect | None] = {}
_MOST_KNOWN, _FEW = 2_000, 60


def seen_in(span: RawSpan) -> str:
    """What a span in no dialect looks like: its library, and a few of its attributes."""
    names = sorted(
        {key if key.count(".") < 2 else ".".join(key.split(".")[:2]) for key in span.attributes}
    )
    listed = f"with {', '.join(names[:4])}{', …' if len(names) > 4 else ''}"
    what = listed if names else "without attributes"
    return f"spans of {span.scope.partition(' ')[0] or 'an unnamed library'} {what}"


def _model(step: SpanStep, span: RawSpan, dialect: Dialect) -> None:
    step.request = dialect.request(span)
    step.answer = dialect.answered(span)
    step.finish = word_of(dialect.first(span, "finish"))
    step.response = dialect.text(span, "response")
    step.earlier = count_of(dialect.first(span, "earlier")) or 0
    usage = json_of(dialect.first(span, "usage"))
    costs = json_of(dialect.first(span, "costs"))
    if is_object(usage):
        step.tokens_in = count_of(usage.get("input", usage.get("promptTokens")))
        step.tokens_out = count_of(usage.get("output", usage.get("completionTokens")))
    else:
        step.tokens_in = count_of(dialect.first(span, "tokens_in"))
        step.tokens_out = count_of(dialect.first(span, "tokens_out"))
    if is_object(costs):
        step.cost_usd = cost_of(costs.get("total"))
    else:
        step.cost_usd = cost_of(dialect.first(span, "cost"))
    priced(step, span)


def _ends(step: SpanStep, span: RawSpan, dialect: Dialect) -> None:
    """What an agent, or the whole, was given, and what came of it."""
    step.arguments = _plain(
        dialect.first(span, "input"), dialect.text(span, "input_mime"), last=False
    )
    result = dialect.first(span, "output")
    if result is None or (dialect is genai.DIALECT and is_cut(result)):
        step.result = genai.ending(span)
    else:
        step.result = _plain(result, dialect.text(span, "output_mime"), last=True)


_OF_JSON = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments")


def is_cut_off(span: RawSpan) -> bool:
    """Whether only the beginning is there of what was said: no text, and no message, can be read from that."""
    attributes = span.attributes
    typed = (
        name
        for name in ("input", "output")
        if attributes.get(f"{name}.mime_type") == "application/json"
    )
    names = (*_OF_JSON, *(f"{name}.value" for name in typed))
    return any(is_cut(attributes.get(name)) for name in names)


def _call_value(value: object, mime: str) -> Any:
    """What a tool was given, or gave: OpenLLMetry and LangChain put it in an object of their own."""
    value = payload(value, mime)
    if is_object(value):
        for key in ("inputs", "outputs", "output", "kwargs"):
            # Any other key beside it shows that this is an object of the application's own.
            if isinstance(inner := value.get(key), dict) and set(value) <= _ENVELOPE:
                return dict(inner)
        if set(value) == {"output"}:
            return value_of(value["output"])
        if "input_str" in value and set(value) <= _ENVELOPE:
            return value_of(value["input_str"])
    return value


_ENVELOPE = frozenset(
    "inputs outputs output input_str args kwargs tags metadata sanitize_inputs_outputs".split()
)


def _plain(value: object, mime: str, *, last: bool) -> Any:
    """The text of a conversation's first or last message, where the value is messages; else the value."""
    if mime == "application/json" and is_cut(value):
        return None
    value = _call_value(value, mime)
    rows = as_array(value)
    messages = conversation_in(value)
    if not messages and rows and all(isinstance(row, dict) and "parts" in row for row in rows):
        messages = messages_of(rows)
    if messages:
        return answer_in(messages) if last else question_in(messages)
    return framework_output(value) if last else framework_input(value)


def _logged(span: RawSpan) -> SpanStep:
    messages, answer = genai.request(span), genai.answered(span)
    known = any(event.name in genai.EVENTS for event in span.events)
    return SpanStep(
        id=span.id,
        start=span.start,
        request=messages,
        answer=answer,
        dialect=genai.DIALECT.name if known else "",
        logged=True,
    )


def _error(span: RawSpan) -> str:
    """Why it failed: what its status says, else its first exception."""
    if span.status == "ok":
        return ""
    if span.error:
        return span.error
    for event in span.events:
        if event.name == "exception":
            parts = (event.attributes.get(f"exception.{part}") for part in ("type", "message"))
            return kept_text(": ".join(str(part) for part in parts if part))
    # It is there where an operation failed, whatever the status says that nobody set.
    failed = span.attributes.get("error.type")
    return str(failed) if failed else ""


def _about(span: RawSpan, dialect: Dialect | None) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for name, key in (dialect.about if dialect else {}).items():
        value = span.attributes.get(key)
        if value not in (None, "", []):
            about[name] = value if not isinstance(value, str) else value[:_MOST_ABOUT]
    if isinstance(case := span.attributes.get(CASE), (str, int)) and case != "":
        about["case"] = str(case)[:_MOST_ABOUT]
    return about


_PROVIDERS = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
_VENDORS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "gemini": "google",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "google_genai": "google",
    "mistral": "mistral",
    "mistralai": "mistral",
    "mistral_ai": "mistral",
    "xai": "xai",
    "x_ai": "xai",
    "deepseek": "deepseek",
    "groq": "groq",
    "cohere": "cohere",
    "cerebras": "cerebras",
    "together": "togetherai",
    "together_ai": "togetherai",
}
"""What instrumentations call the vendors of the price list. Whoever else is named may have prices of their own."""
_CACHED = (
    "llm.token_count.prompt_details.cache_read",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.cached_tokens",
    "gen_ai.usage.input_token_details.cached",
)
_WRITTEN = (
    "llm.token_count.prompt_details.cache_write",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
)
_SETTINGS = ("llm.invocation_parameters", "langfuse.observation.model.parameters")
_TIER = re.compile(r"(?:request|response)\.service_tier$")
_BEFORE_NAME = re.compile(
    r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|mistral|cohere|deepseek)\."
)


def priced(step: SpanStep, span: RawSpan) -> None:
    """Gives a model's step the cost that the price list has for it, and says so; nothing where that isn't known.

    Tokens that were read from a vendor's cache cost less, and those that were written to Anthropic's more, as in a run.
    A span that names another tier, or a tool that the vendor ran, has no price: see `evenhand.providers.surcharges`.
    """
    if step.cost_usd is not None or step.tokens_in is None:
        return
    price = _price(step.name, span.attributes)
    if price is None or _is_dearer(span.attributes):
        return
    # Embedding models write no tokens, and have no price for them.
    written_out = step.tokens_out if step.tokens_out is not None or price.usd_out else 0
    usage = Usage(step.tokens_in, written_out, _first(span.attributes, _CACHED))
    usd = cost(price, usage)
    written = _first(span.attributes, _WRITTEN)
    if usd is not None and written:
        # Writing to the cache costs 1.25 times the price of input; the price itself is part of the cost above.
        usd += 0.25 * written * price.at(step.tokens_in).usd_in / 1e6
    step.cost_usd = usd
    if usd is not None:
        step.about["priced"] = f"price list of {price.as_of}"


def _price(model: str, attributes: Mapping[str, Any]) -> Price | None:
    provider = next((str(attributes[key]) for key in _PROVIDERS if attributes.get(key)), "")
    if provider:
        vendor = _VENDORS.get(provider.lower().replace(" ", "_"))
        if vendor is None:
            return None
        prices = (price_of(vendor, name, {}) for name in _names(model))
    else:
        prices = (price_of("openai", name, {}, at_home=False) for name in _names(model))
    return next(filter(None, prices), None)


def _names(model: str) -> Iterator[str]:
    """A model's name, and what is left of it without a vendor's prefix; dates behind an `@` as behind a hyphen."""
    plain = model.replace("@", "-")
    yield plain
    for divider in ("/", ":"):
        _, separator, rest = plain.rpartition(divider)
        # A number behind the last colon is a version of the model, as in `…-v1:0`.
        if separator and not rest.isdecimal():
            yield rest
    yield _BEFORE_NAME.sub("", plain.rpartition("/")[2])


def _is_dearer(attributes: Mapping[str, Any]) -> bool:
    """Whether something else than tokens at list price was asked for."""
    merged: dict[str, Any] = {}
    for key in _SETTINGS:
        settings = value_of(attributes.get(key))
        if isinstance(settings, dict):
            merged.update(settings)  # pyright: ignore[reportUnknownArgumentType] (JSON)
    for key, value in attributes.items():
        if _TIER.search(key) and value != "auto":
            merged["service_tier"] = value
    return bool(merged) and bool(surcharges(merged).uncovered(stated=False))


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := count_of(attributes.get(name))) is not None), None)

"""Refusals that are told as an error: a filter of the vendor's, or of a gateway in between, blocked prompt or answer.

How this works: a block is told by a code in the error, or, where the vendor has none for it, by words of its own. The
body is searched where vendors and gateways put errors, also in the JSON that a gateway quotes in a text, and never in
what may be the request. A code that says something else, such as an overlong prompt, outweighs all words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.message import Reply

_CODES = frozenset(
    {
        "content_filter",  # OpenAI, Azure and, as a type, Moonshot
        "content_policy_violation",
        "invalid_prompt",
        "responsibleaipolicyviolation",
        "data_inspection_failed",  # Alibaba
        "datainspectionfailed",
        "hooks_failed",  # Portkey
        "guardrail_checks_failed",  # TrueFoundry
        "guardrail_intervened",  # Bedrock, from here on
        "guardrail_intervention",
        "input_guardrail_triggered",  # Databricks
        "output_guardrail_triggered",
    }
)
# With these codes, and with numbers, the words decide.
_VAGUE = (
    r"|\d+|none|null|bad_?request(?:_?error)?|invalid_?request_?error|invalid_argument|api_error|"
    r"validation_?exception|permission_denied|contentpolicyviolationerror|the caller does not have permission.*"
)
_WORDS = (
    r"(?i)content management policy|ContentPolicyViolationError|ResponsibleAIPolicyViolation|"  # Azure, LiteLLM
    r"blocked by (?:our |the )?content filter|"  # Anthropic
    r"^Content Exists Risk\b|"  # DeepSeek
    r"violates (?:our )?usage guidelines|SAFETY_CHECK_TYPE_|"  # xAI
    r"flagged as potentially violating our usage policy|"  # OpenAI
    r"rejected (?:as a result of|by) (?:our|the) safety system|"
    r"Violated guardrail policy|bedrock_guardrail_response|guardrail_intervened|GUARDRAIL_INTERVENED|"
    r"input was flagged for|"  # OpenRouter
    r"(?:Prompt|Response) blocked due to security configurations|"  # Cloudflare
    r"系统检测到输入或生成内容可能包含不安全或敏感内容"  # Zhipu
)
# OpenRouter has the code of a flagged prompt for a request of the wrong form.
_OF_THE_FORM = r"(?i)^invalid (?:responses api )?request"
_OTHER = frozenset({401, 402, 404, 408, 429})
_ERRORS = (
    *("error", "errors", "innererror", "inner_error", "cause", "detail"),
    *("metadata", "raw", "message"),
)
_DEEPEST = 8
_LONGEST = 1 << 20


def refusal(body: bytes, status: int = 200) -> str | None:
    """The words of a block; None for every other error, and for what is no error.

    Args:
        status: With which HTTP status. Some have a meaning of their own.
    """
    if status in _OTHER or len(body) > _LONGEST:
        return None
    block = False
    for error in _errors(decoded(body), 0):
        texts = (error.get(name) for name in ("message", "detail", "error"))
        words = next((text for text in texts if isinstance(text, str)), "")
        if _codes(error) & _CODES:
            block = block or not re.match(_OF_THE_FORM, words)
        elif _is_vague(error):
            metadata = error.get("metadata")
            flagged = isinstance(metadata, Mapping) and "flagged_input" in metadata
            block = block or flagged or re.search(_WORDS, words) is not None
        if block and words:
            return words
    return "a filter blocked it" if block else None


def error_codes(body: bytes) -> set[str]:
    """The codes and types in an error, also in one that a gateway quotes, in small letters."""
    return {code for error in _errors(decoded(body), 0) for code in _codes(error)}


def refused(words: str, cost_usd: float | None = 0.0) -> Reply:
    """The answer that a block is: without text, and marked as refused.

    Args:
        words: From `refusal`.
        cost_usd: What it costs; None where a vendor may charge for it.
    """
    guardrails = {"flagged": True, "flaggedInput": True, "reason": words[:300]}
    return Reply(
        text="",
        output="",
        cost_usd=cost_usd,
        finish_reason="content_filter",
        refused=True,
        metadata={"guardrails": guardrails},
    )


def _errors(value: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """The objects in which an error may stand, the innermost first: a gateway's own words say less."""
    if depth > _DEEPEST:
        return
    if is_array(value):
        for one in value:
            yield from _errors(one, depth + 1)
    elif isinstance(value, str) and "{" in value:
        inner = decoded(value[value.index("{") :].encode("utf-8", "replace"))
        yield from _errors(inner, depth + 1)
    elif is_mapping(value):
        error = value
        vague = _is_vague(error)
        for name in _ERRORS:
            # A text after a code that says enough may be a part of the request.
            if vague or not isinstance(error.get(name), str):
                yield from _errors(error.get(name), depth + 1)
        yield error


def _codes(error: Mapping[str, Any]) -> set[str]:
    values = (error.get(name) for name in ("code", "type", "error_code", "finish_reason"))
    return {str(value).strip().lower() for value in values if isinstance(value, (str, int))}


def _is_vague(error: Mapping[str, Any]) -> bool:
    return all(re.fullmatch(_VAGUE, code) for code in _codes(error))

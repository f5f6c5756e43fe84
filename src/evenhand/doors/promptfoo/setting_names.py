"""Settings of vendors' models whose names or values look like slips. They are hints: vendors keep adding settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.core.json_shapes import is_number
from evenhand.core.names import did_you_mean

_NUMBERS = frozenset(
    """temperature top_p topP top_k topK min_p presence_penalty presencePenalty frequency_penalty frequencyPenalty
    max_tokens max_completion_tokens max_output_tokens maxOutputTokens max_new_tokens seed top_logprobs timeoutMs
    inputCost outputCost cost maxCost""".split()
)
_OTHERS = frozenset(
    """stop stop_sequences stopSequences response_format response_mime_type responseMimeType responseSchema tools
    tool_choice toolConfig functions function_call logprobs parallel_tool_calls reasoning reasoning_effort verbosity
    prediction store metadata user service_tier thinking thinkingConfig system systemInstruction instructions
    output_config generationConfig safetySettings cachedContent truncation include text prompt background
    previous_response_id max_tool_calls passthrough extra_body omitDefaults isReasoningModel showThinking organization
    apiKey apiKeyEnvar apiKeyRequired apiBaseUrl apiHost apiVersion apiEndpoint headers mcp batch vertexai projectId
    region accessToken auth deployment beta anthropic_version tokenEstimation timeout""".split()
)


def setting_hints(settings: Mapping[str, Any], whose: str) -> Iterator[tuple[str, str]]:
    """What looks like a slip in the settings of a vendor's model, and what to do about it.

    Args:
        settings: As written.
        whose: The provider, for the messages.
    """
    known = _NUMBERS | _OTHERS
    for name, value in settings.items():
        if name not in known:
            meant = did_you_mean(name, known)
            if meant:
                yield f"setting '{name}' of {whose} is not known", meant
        elif name in _NUMBERS and value is not None and not _is_number(value):
            yield f"{name} of {whose} is {value!r}, not a number", f"Write {name}: 1, say."


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return "{{" in value or value.startswith("file://")
        return True
    return is_number(value)

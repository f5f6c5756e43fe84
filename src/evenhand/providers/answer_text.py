"""Whether an answer is one: it ended as complete answers do, and holds a text, a call of a tool, or a refusal.

How this works: an answer is complete if its ending is on a short list, in whichever vendor's words. Whatever else a
vendor says, also what nobody has heard of, is no answer: it is asked again, and then an error. A whole answer that does
not say how it ended is complete, as many servers never say; a stream is not, as it may have been cut off. An empty text
is an answer where it stands alone. Beside something that was thought or drawn, or the step of a hosted tool, there is
no answer yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.encoding import encode
from evenhand.core.errors import BadReply
from evenhand.core.json_shapes import is_array, is_mapping

_ENDINGS: Mapping[str, tuple[str, ...]] = {
    # OpenAI, xAI and Anthropic, TGI and Together, Cohere, Gemini in lower case
    "stop": ("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete"),
    "length": (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",  # Mistral
        "model_context_window_exceeded",  # Anthropic and Zhipu
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call"),
    "content_filter": (
        "content_filter",
        "refusal",  # Anthropic
        "content_filtered",  # Bedrock
        "guardrail_intervened",
        "sensitive",  # Zhipu
        "safety",  # Gemini, from here on
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "model_armor",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
    ),
}
_KNOWN = {word: ending for ending, words in _ENDINGS.items() for word in words}
_THOUGHTS = ("reasoning", "reasoning_content", "reasoning_text", "thinking", "thought", "thoughts")
# What stands beside every answer, and is none of it.
_HARMLESS = frozenset(
    "annotations citations metadata provider_specific_fields logprobs content_filter_results".split()
)


class NoAnswer(BadReply):
    """A reply of the right shape without an answer in it: not complete; or no text, no tool call, no refusal."""


class CutShort(NoAnswer):
    """All the tokens that a request allows went into thinking. Asked again, it would be so again."""

    retryable = False


def ending(word: object, error: object = None) -> str:
    """How a complete answer ended: `stop`, `length`, `tool_calls`, `content_filter`; empty where it doesn't say.

    Args:
        word: The vendor's word for it.
        error: What the answer has as an error, beside whatever text there is.

    Raises:
        NoAnswer: The vendor didn't finish it.
    """
    if error:
        raise unfinished("error", error)
    if word is None or word == "":
        return ""
    # Gemini's endpoint for OpenAI's clients says `content_filter: SAFETY`.
    known = _KNOWN.get(word.partition(":")[0].lower()) if isinstance(word, str) else None
    if known is None:
        raise unfinished(word)
    return known


def unfinished(state: object, error: object = None) -> NoAnswer:
    """The error for an answer that the vendor didn't finish.

    Args:
        state: The vendor's word for how it ended, or for the state that it is in.
        error: Why, as the vendor has it.
    """
    reason = error
    if is_mapping(error):
        reason = error.get("message") or error
    words = reason if isinstance(reason, str) else encode(reason).decode() if reason else ""
    why = f": {words:.300}" if words else ""
    return NoAnswer(
        f"the vendor broke off its answer, which ended with {state!r:.80}{why}", billed=None
    )


def answer_text(text: str | None, finish_reason: str, where: str, beside: str = "") -> str:
    """The text of a complete answer. One that was cut off or held back before its first word is empty.

    Args:
        text: The text; None where the reply has none, which is not the same as an empty one.
        finish_reason: From `ending`.
        where: Where in the reply the text should be.
        beside: What there is besides, such as `reasoning`; empty for nothing.

    Raises:
        NoAnswer: There isn't text, and the vendor does not say why; or there is only something else.
    """
    alone = not beside and finish_reason != "tool_calls"
    if text is not None and (alone or text.strip()):
        return text
    if finish_reason == "content_filter" or (finish_reason == "length" and not beside):
        return ""
    if finish_reason == "length":
        raise CutShort(
            f"the reply was cut off before its answer: there is only {beside}",
            hint="The model ran out of tokens: give it more in its config, max_tokens: …",
            billed=None,
        )
    ended = f"; it ended with {finish_reason!r}" if finish_reason else ""
    only = f", only {beside}" if beside else ""
    raise NoAnswer(
        f"the reply holds no answer: there isn't text in {where}{only}{ended}", billed=None
    )


def besides(holder: Mapping[str, object], *text: str) -> str:
    """What an object holds that is thought, drawn or done on the way to an answer; empty for nothing.

    Args:
        holder: A message of a vendor's.
        text: The keys of what is read as text.
    """
    for name, value in holder.items():
        if name in text or name in _HARMLESS:
            continue
        holding = any(value.values()) if is_mapping(value) else bool(value)
        if holding and (is_mapping(value) or is_array(value) or name in _THOUGHTS):
            return name
    return ""

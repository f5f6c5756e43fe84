"""How many tokens a request's body allows a model to write: what the price of a call is bounded by.

A body may name several limits (`max_tokens` beside `max_completion_tokens`), and servers differ in which of them they
go by. So the largest one counts, whichever vendor's word for it it is. A body that has none of its own vendor's words
is not limited at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import is_mapping, is_number

LONGEST_REPLY = 128_000
"""Tokens that a reply is assumed to be able to have where no limit is set."""

_MOST = 10**12
"""Beyond what any model writes, and still a number to calculate with."""

_LIMITS = frozenset(
    """
    max_tokens max_completion_tokens max_output_tokens maxOutputTokens maxTokens max_new_tokens maxTokenCount
    max_gen_len max_tokens_to_sample num_predict n_predict budget_tokens thinkingBudget thinking_budget
    """.split()
)
_CHOICES = frozenset("n best_of bestOf candidateCount candidate_count num_return_sequences".split())
_DIGITS = re.compile(r"\s*[0-9]{1,18}\s*")
_INSIDE = frozenset(
    """
    generationConfig generation_config inferenceConfig options parameters reasoning textGenerationConfig thinking
    thinkingConfig thinking_config
    """.split()
)
"""The parts of a body in which such settings stand."""


def most_written(body: Mapping[str, Any], own: Sequence[str]) -> int:
    """The most tokens that can come back for a body, over all the answers that it asks for.

    Args:
        body: The request's body, or its settings.
        own: The limits that its vendor goes by. Without any of them the reply can have `LONGEST_REPLY` tokens, as with
            one that sets no bound: `num_predict: -1`, or what is not a number.
    """
    longest, limited, several = 0, False, 1
    for name, value in _settings(body):
        if value is None:
            continue
        if name in _CHOICES:
            several = max(several, _whole(value) or 1)
        elif name in _LIMITS:
            limited = limited or name in own
            number = _whole(value)
            # A number in quotes is taken by some servers, and means nothing to others.
            longest = max(
                longest, number if number and not isinstance(value, str) else LONGEST_REPLY, number
            )
    return (longest if limited else max(longest, LONGEST_REPLY)) * several


def hidden(longest: int) -> int:
    """The tokens that may be billed beyond the longest reply, by a vendor who does not count its reasoning as one."""
    return max(0, LONGEST_REPLY - longest) if longest else 0


def _settings(body: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in body.items():
        if name in _INSIDE and is_mapping(value):
            yield from _settings(value)
        elif name in _LIMITS or name in _CHOICES:
            yield name, value


def _whole(value: object) -> int:
    """A number from 1 on, also one in quotes; 0 for anything else."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else 0
    if not is_number(value) or not 1 <= value < math.inf:
        return 0
    return min(int(value), _MOST)

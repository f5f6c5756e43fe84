"""What a judge says, without what it thought before it said so.

How this works: thinking stands between tags, `<think>…</think>` and those of other families of models. Tags inside of a
JSON object are words of it. Where only the closing tag is there, the model's template began the thinking, and all
before it was thought. What is never closed was cut off, and nothing was said.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from evenhand.core.errors import JudgeError
from evenhand.core.thoughts import TAGS
from evenhand.scorers.json_objects import whole_objects

_OPENS = re.compile(
    rf"<(?:{TAGS})(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|channel\|>\s*(?:analysis|commentary)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"</(?:{TAGS})\s*>|\[/THINK\]|◁/think▷|<\|channel\|>\s*final\s*<\|message\|>",
    re.IGNORECASE,
)
_LEFT_OUT = "\n…\n"


def without_thinking(text: str) -> str:
    """The text without its thinking. Where something was said before it, an ellipsis stands in its place.

    Raises:
        JudgeError: It ends in the middle of its thinking.
    """
    tags = [(tag, True) for tag in _OPENS.finditer(text)]
    tags += [(tag, False) for tag in _CLOSES.finditer(text)]
    if not tags:
        return text
    objects = list(whole_objects(text))
    starts = [parsed.start for parsed in objects]
    speech, at, thinking = "", 0, False
    for tag, opens in sorted(tags, key=lambda item: item[0].start()):
        before = bisect_right(starts, tag.start()) - 1
        within = before >= 0 and tag.start() < objects[before].end
        if tag.start() < at or (within and not thinking):
            continue
        if opens and not thinking:
            speech += text[at : tag.start()]
            speech += _LEFT_OUT if speech.strip() else ""
        elif not opens and not thinking:
            speech = ""
        if opens:
            thinking = True
        else:
            thinking, at = False, tag.end()
    if thinking:
        raise JudgeError("the judge's reply ends in the middle of its thinking")
    return speech + text[at:]

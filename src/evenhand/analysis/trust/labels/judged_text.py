"""The text that a judge judged in a trial, read from what it was asked.

An eval may return more than it has judged: a dict with the answer, its trace and its tokens, of which the judge saw the
answer alone. People label what the judge judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from evenhand.analysis.trust.judgements.judged import judge_of, metric_of
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.run import TrialResult
from evenhand.store.runfile import RunFile

# The mark is a hash of all that is fenced, so that no output can end its own fence.
_FENCED = re.compile(r"<([a-z_]+) ([0-9a-f]{12})>\n(.*?)\n</\1 \2>", re.DOTALL)
_JUDGED = frozenset({"output", "answer", "reply", "submission", "submitted"})
"""What the prompts of judges call the text that they are asked about."""


def judged_text(run: RunFile, trial: TrialResult, metric: str) -> str | None:
    """What the judge of a metric judged; of several texts, one below the other.

    None where that is the trial's output, or isn't known: the prompt is one of the user's own, or no call is kept.
    """
    calls = {
        call
        for outcome in trial.outcomes
        if judge_of(outcome) and metric_of(outcome) == metric
        for call in outcome.rests_on
    }
    texts: dict[str, None] = {}
    for call in run.calls(trial.index) if calls else ():
        if (call.start.key, call.start.nth) in calls:
            texts.update(dict.fromkeys(_judged_in(_decoded(call.start.identity), trial.output)))
    left = [text for text in texts if not _same(text, trial.output)]
    return "\n\n".join(texts) if left else None


def _judged_in(request: object, output: object) -> Iterator[str]:
    """The judged texts in a request."""
    if isinstance(request, str):
        for name, _, text in _FENCED.findall(request):
            # A judge of the user's own may take a part of the output, and call it as it likes.
            if name in _JUDGED or (isinstance(output, str) and text.strip() and text in output):
                yield text
    elif is_mapping(request):
        state = request.get("state")  # a decision model's texts, by name
        if is_mapping(state):
            yield from (str(text) for name, text in state.items() if name in _JUDGED)
        for part in request.values():
            yield from _judged_in(part, output)
    elif is_array(request):
        for part in request:
            yield from _judged_in(part, output)


def _decoded(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _same(text: str, output: object) -> bool:
    """Whether a text is the whole output, however its JSON is written."""
    if isinstance(output, str):
        return text.split() == output.split()
    return _decoded(text) == output

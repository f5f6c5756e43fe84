"""The promises that every model, scorer and store has to keep, as checks to call from a test of your own.

Each raises an AssertionError that names the promise.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, cast

from evenhand.core.expect import Scorer, Trial
from evenhand.core.message import Prompt
from evenhand.core.provider import Host, Provider
from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialResult
from evenhand.core.score import Score
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile


async def check_model(provider: Provider, prompt: Prompt, host: Host) -> None:
    """A provider keeps its promises for this prompt, which it must be able to answer.

    Its request is pure and depends on nothing but what is asked; its answer can be read again, to the same reply.
    """
    one, again = provider.request(prompt), provider.request(prompt)
    _promise(one.identity == again.identity, "the same prompt makes the same request")
    _promise(one.key == again.key, "the same request has the same key")
    if provider.paid:
        other = provider.request(Prompt.of(prompt.text + " And another thing."))
        _promise(other.key != one.key, "another prompt has another key")
        _promise(bool(provider.account), "what may cost money belongs to an account")
    _promise(one.cost_bound_usd is None or one.cost_bound_usd >= 0, "a bound on the cost is not negative")
    answer = await provider.send(one, host)
    reply, read_again = provider.reply(answer.body), provider.reply(answer.body)
    _promise(reply == read_again, "an answer read twice is the same reply")
    _promise(answer.latency_s >= 0, "the latency is not negative")
    _promise(reply.cost_usd is None or reply.cost_usd >= 0, "the cost is not negative")
    usage = reply.usage
    _promise(all(n is None or n >= 0 for n in (usage.tokens_in, usage.tokens_out)), "token counts are not negative")


async def check_scorer(scorer: Scorer, output: Any, trial: Trial) -> Score:  # noqa: ANN401 (an output may be anything)
    """A scorer keeps its promises for this output: it has a label of one line, and gives the same finite score twice."""
    label = str(scorer)
    _promise(bool(label) and "\n" not in label, "the label is one line")
    first, second = await _scored(scorer, output, trial), await _scored(scorer, output, trial)
    _promise(first.value is None or math.isfinite(first.value), "the score is a finite number, or none")
    _promise((first.value, first.passed) == (second.value, second.passed), "the same output has the same score")
    return first


async def check_store(folder: Path) -> None:
    """A run's store keeps its promises in this folder: what was written is read back, through a close and a reopening."""
    meta = RunMeta("01TEST", "test", "", "print", 2, 2, 1, (Variant(0, "p", "m"),), 0.0)
    journal = Journal.create(folder / "runs", meta)
    start = CallStart(0, "key", 0, "subject", "model", b"{}", 0.5, "0.0")
    lost = CallStart(1, "other", 0, "subject", "model", b"{}", 0.25, "0.0")
    call = await journal.begin(start)
    await journal.begin(lost)
    await journal.end(call, CallEnd(b"answer", "provider", 0.1, 1, 2, 0.01))
    await journal.settle(TrialResult(0, "a", 0, 0, "pass", 1.0, output="\ud800 ok"))
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    try:
        _promise(0 in again.settled() and 1 not in again.settled(), "settled trials are known after reopening")
        _promise([c.start.key for c in again.in_doubt()] == ["other"], "a call without an end is in doubt")
        found = again.recorded(0, "key", 0) or again.answered("key", "0.0")
        _promise(found is not None and found.body == b"answer", "a received reply is found again")
    finally:
        await again.finish("finished")
    with RunFile.open(journal.path) as run:
        trial = run.trial(0)
        _promise(trial is not None and trial.output == "\ud800 ok", "a result is read back as it was")
        _promise(run.totals().passed == 1, "totals count it")


async def _scored(scorer: Scorer, output: object, trial: Trial) -> Score:
    score = scorer.score(output, trial)
    if inspect.isawaitable(score):
        score = await cast("Awaitable[Score]", score)
    _promise(isinstance(score, Score), "score() gives a Score")
    return score


def _promise(kept: bool, what: str) -> None:  # noqa: FBT001 (reads as a sentence)
    if not kept:
        raise AssertionError("broken promise: " + what)

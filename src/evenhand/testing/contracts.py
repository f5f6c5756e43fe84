"""The promises that every model, scorer and store has to keep, as checks to call from a test of your own.

Each raises an AssertionError that names the promise.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode
from evenhand.core.errors import StoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.message import Prompt
from evenhand.core.provider import Host, Provider
from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialError, TrialResult
from evenhand.core.score import Score
from evenhand.core.traits import label_of
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile


async def check_model(provider: Provider, prompt: Prompt, host: Host) -> None:
    """A provider keeps its promises for this prompt, which it must be able to answer. It is asked once.

    Its request is pure and says all that the answer depends on; its answer can be read again, to the same reply; and it
    costs no more than its bound.
    """
    _promise(bool(provider.id) and bool(provider.label), "a provider has an id and a label")
    one, again = provider.request(prompt), provider.request(prompt)
    _promise(one.identity == again.identity, "the same prompt makes the same request")
    _promise(one.key == again.key, "the same request has the same key")
    bound = one.cost_bound_usd
    _promise(bound is None or bound >= 0, "a bound on the cost is not negative")
    if provider.paid:
        other = provider.request(
            replace(Prompt.of(prompt.text + " And another thing."), task=prompt.task)
        )
        _promise(other.key != one.key, "another prompt has another key")
        _promise(bool(provider.account), "what may cost money belongs to an account")
        _promise(isinstance(decode(one.identity), dict), "the identity is a JSON object")
    answer = await provider.send(one, host)
    _promise(answer.latency_s >= 0, "the latency is not negative")
    reply, read_again = provider.reply(answer.body), provider.reply(answer.body)
    _promise(reply == read_again, "an answer read twice is the same reply")
    cost, usage = reply.cost_usd, reply.usage
    _promise(cost is None or cost >= 0, "the cost is not negative")
    _promise(cost is None or bound is None or cost <= bound, "the cost is within its bound")
    counts = (usage.tokens_in, usage.tokens_out, usage.tokens_cached)
    _promise(all(n is None or n >= 0 for n in counts), "token counts are not negative")
    after = provider.request(prompt)
    _promise(after.key == one.key, "having been asked changes no request")


async def check_scorer(scorer: Scorer, output: Any, trial: Trial) -> Score:
    """A scorer keeps its promises for this output, and returns its score.

    It has a label of one line, gives the same finite score twice, and leaves the output as it was.
    """
    label = label_of(scorer)
    _promise(bool(label) and len(label.splitlines()) == 1, "the label is one line")
    before = copy.deepcopy(output)
    first, second = await _scored(scorer, output, trial), await _scored(scorer, output, trial)
    same = output == before or repr(output) == repr(before)  # NaN equals nothing
    _promise(same, "the output is left as it was")
    _promise(label_of(scorer) == label, "the label stays the same")
    numbers = (first.value, *first.named.values())
    _promise(
        all(n is None or math.isfinite(n) for n in numbers), "scores are finite numbers, or none"
    )
    _promise(
        first.value is not None or first.passed is None, "what did not apply has no verdict either"
    )
    _promise(
        (first.value, first.passed) == (second.value, second.passed),
        "the same output has the same score",
    )
    return first


async def check_store(folder: Path) -> None:
    """A run's store keeps its promises in this folder.

    What is written is there for others as soon as the writer was told so, is read back as it was through a close and a
    reopening, and in the order of the plan; a run has one writer; what was taken again counts once.
    """
    meta = RunMeta(
        id="01TEST",
        title="test",
        source="",
        fingerprint="print",
        planned=4,
        case_count=4,
        repeats=1,
        variants=(Variant(0, "p", "m"),),
        created_at=0.0,
    )
    journal = Journal.create(folder / "runs", meta)
    start = CallStart(
        trial=0,
        key="key",
        nth=0,
        role="subject",
        provider="model",
        identity=b"{}",
        cost_bound_usd=0.5,
        draw="0.0",
    )
    lost = replace(start, trial=1, key="other", cost_bound_usd=0.25)
    call, _ = await asyncio.gather(journal.begin(start), journal.begin(lost))
    await journal.end(call, CallEnd(b"answer", "provider", 0.1, 1, 2, 0.01))
    with RunFile.open(journal.path) as run:
        stored = run.call(call)
        _promise(
            stored is not None and stored.end is not None and stored.end.body == b"answer",
            "a reply is on disk before its writer goes on",
        )
    await journal.settle(_result(2, "pass", 0.5))
    await journal.settle(_result(0, "pass", 1.0, output="\ud800 ok\0"))
    await journal.settle(_result(3, "error", None, error=TrialError("bad-reply", "no answer")))
    _promise(_refuses(journal.path), "a run has one writer")
    await journal.finish("interrupted")
    again = Journal.reopen(journal.path)
    try:
        settled = [i for i in range(4) if i in again.settled()]
        _promise(settled == [0, 2], "settled trials are known after reopening; errors are not")
        doubts = [record.start.key for record in again.in_doubt()]
        _promise(doubts == ["other"], "a call without an end is in doubt")
        reply = again.answered("key", "0.0")
        _promise(reply is not None and reply.body == b"answer", "a received reply is found again")
        await again.settle(_result(3, "fail", 0.0))
    finally:
        await again.finish("finished")
    with RunFile.open(journal.path) as run:
        trials = list(run.trials())
        _promise([t.index for t in trials] == [0, 2, 3], "results are in the order of the plan")
        _promise(trials[0].output == "\ud800 ok\0", "a result is read back as it was")
        totals = run.totals()
        counts = (totals.passed, totals.failed, totals.errors)
        _promise(counts == (2, 1, 0), "totals count the last take")
        spend = run.spend()
        in_doubt = (spend.in_doubt, spend.in_doubt_usd)
        _promise(in_doubt == (1, 0.25), "what is in doubt has its bound")


def _result(index: int, outcome: Any, score: float | None, **more: Any) -> TrialResult:
    return TrialResult(
        index=index, case=f"case {index}", variant=0, repeat=0, outcome=outcome, score=score, **more
    )


def _refuses(path: Path) -> bool:
    try:
        Journal.reopen(path)
    except StoreError:
        return True
    return False


async def _scored(scorer: Scorer, output: object, trial: Trial) -> Score:
    score: object = scorer.score(output, trial)
    if inspect.isawaitable(score):
        score = await cast("Awaitable[object]", score)
    if not isinstance(score, Score):
        raise AssertionError(f"broken promise: score() gives a Score, not {score!r}")  # noqa: TRY004 (as all here)
    return score


def _promise(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError("broken promise: " + what)

"""Runs made through the journal, for whatever reads runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.analysis.gates.baseline_file import written
from evenhand.analysis.gates.baseline_making import baseline_parts
from evenhand.core.run import CallEnd, CallStart, RunMeta, RunStatus, TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile

ID = "01KAEXAMPLE0000000000000RN"
CASES = (
    "tides",
    "volcanoes",
    "neural networks",
    "vaccines",
    "rainbows",
    "batteries",
    "bees",
    "glaciers",
)


def result(
    index: int, *, ok: bool | None = True, variant: int = 0, case: str = "", **other
) -> TrialResult:
    """A settled trial: passed, failed, or (None) an error."""
    state = "error" if ok is None else "pass" if ok else "fail"
    fields = {
        "score": None if ok is None else float(ok),
        "output": "" if ok is None else "The sea rises twice a day.",
        "outcomes": ()
        if ok is None
        else (Outcome('contains "sea"', state, float(ok), "" if ok else "'sea' is not in it"),),
        "error": TrialError("rate-limited", "asked too often", "Lower -j.") if ok is None else None,
    }
    repeat = other.pop("repeat", 0)
    return TrialResult(
        index=index,
        case=case or f"c{index}",
        variant=variant,
        repeat=repeat,
        outcome=state,
        **{**fields, **other},
    )


def summaries() -> list[TrialResult]:
    """Three prompts, eight articles: basic never passes, better fails once, best never does."""
    trials: list[TrialResult] = []
    for i, title in enumerate(CASES):
        for variant in range(3):
            ok = variant == 2 or (variant == 1 and i != 2)
            reason = "" if ok else "average 3.67, wanted at least 4.5: it keeps 'backpropagation'"
            outcome = Outcome(
                "python grader.py",
                "pass" if ok else "fail",
                4.8 if ok else 3.67,
                reason,
                scale=(1, 5),
            )
            trials.append(
                result(
                    len(trials),
                    ok=ok,
                    variant=variant,
                    case=f"case{i}",
                    description=title,
                    score=outcome.score,
                    scale=outcome.scale,
                    outcomes=(outcome,),
                    reason=reason,
                    output="word " * (300 - 100 * variant),
                    prompt=f"Summarise {title}.",
                    vars={"article": title},
                    latency_s=0.5,
                    cost_usd=0.0012,
                    tokens_in=300,
                    tokens_out=100,
                    calls=2,
                )
            )
    return trials


SUMMARIES = tuple(
    Variant(i, f"prompts.py:{name}", "Claude") for i, name in enumerate(("basic", "better", "best"))
)

Make = Callable[..., RunFile]


def baseline_of(run: RunFile, *, outputs: bool = False) -> bytes:
    """The baseline of a run, as its file has it."""
    return written(*baseline_parts(run, outputs=outputs))


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[Make]:
    """Makes a run of these trials and opens it."""
    opened: list[RunFile] = []

    async def make(
        trials: Sequence[TrialResult],
        variants: Sequence[Variant] = (Variant(0, "Say {{x}}", "echo"),),
        *,
        calls: Sequence[tuple[CallStart, CallEnd | None]] = (),
        status: RunStatus = "finished",
        message: str = "",
        finish: bool = True,
        decided: Mapping[str, Any] | None = None,
        **meta,
    ) -> RunFile:
        cases = len({trial.case for trial in trials})
        fields = {
            "id": f"{ID[:9]}{len(opened)}{ID[10:]}" if opened else ID,
            "title": "Science",
            "planned": len(trials),
            "case_count": cases,
            "repeats": 1,
            "source": "",
            **meta,
        }
        journal = Journal.create(
            tmp_path / f"home{len(opened)}" / ".evenhand" / "runs",
            RunMeta(
                fingerprint="f",
                variants=tuple(variants),
                created_at=time.time() - 2,
                **fields,
            ),
        )
        for start, end in calls:
            number = await journal.begin(start)
            if end is not None:
                await journal.end(number, end)
        for trial in trials:
            await journal.settle(trial)
        if finish:
            await journal.finish(status, message, decided)
        else:
            journal.close()
        opened.append(RunFile.open(journal.path))
        return opened[-1]

    yield make
    for run in opened:
        run.close()


@pytest.fixture
async def summaries_run(make_run: Make) -> RunFile:
    """The run of three prompts and eight articles, with the calls it made."""
    calls = [
        (
            CallStart(i, "k", n, role, "anthropic:messages:claude", b"{}", 0.01),
            CallEnd(b"{}", "provider", 0.4, 150, 50, 0.0006, "claude"),
        )
        for i in range(24)
        for n, role in enumerate(("subject", "judge"))
    ]
    return await make_run(summaries(), SUMMARIES, calls=calls)

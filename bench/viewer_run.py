"""Writes a run file of any size at once, to look at the viewer with: cases × variants × repeats, seeded.

python bench/viewer_run.py FOLDER --cases 100000 --variants 4 [--repeats 1] [--characters 300]

What it writes is what a run leaves: results, journal of calls, statuses. FOLDER is a home, `.evenhand` as a rule.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from evenhand.core.encoding import encode
from evenhand.core.run import AnswerDetails, RunMeta, TrialError, TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.variant import Variant
from evenhand.store.detail import Parts
from evenhand.store.encoding import keep
from evenhand.store.run_lookup import id_at, run_folder
from evenhand.store.schema import RUN_FILE_ID, RUN_MIGRATIONS, prepare

STARTED = 1_700_000_000.0
BATCH = 20_000
WORDS = (
    "the a refund policy of thirty days holds for every order that was shipped to our store and paid by card customers "
    "may return what they bought unless it was used broken or made to measure please write to us with your number"
).split()
TAGS = ("billing", "shipping", "returns", "account")


def text(draw: random.Random, characters: int) -> str:
    """Words of about this length together."""
    return " ".join(draw.choices(WORDS, k=max(1, characters // 5)))


def trials(
    cases: int, variants: int, repeats: int, characters: int, seed: int
) -> Iterator[TrialResult]:
    """The results, in the plan's order: case by case, each with its variants, each with its repeats."""
    draw = random.Random(seed)
    pool = [text(draw, characters) for _ in range(997)]  # drawing words for each would take minutes
    index = 0
    for case in range(cases):
        question = f"Question {case}: {pool[case % 991][:60]}?"
        for variant in range(variants):
            for repeat in range(repeats):
                chance = draw.random()
                yield _trial(index, case, variant, repeat, question, pool, chance)
                index += 1


def _trial(
    index: int,
    case: int,
    variant: int,
    repeat: int,
    question: str,
    pool: list[str],
    chance: float,
) -> TrialResult:
    error = chance < 0.005
    missed = chance < 0.10 + 0.05 * variant
    outcome: State = "error" if error else "fail" if missed else "pass"
    near = round(0.4 + 0.6 * (1 - chance) if missed else 0.7 + 0.3 * chance, 3)
    output = f"{pool[(case * 7 + variant) % 997]} [{case}/{variant}/{repeat}]"
    outcomes = (
        Outcome(
            'contains "30 days"',
            "fail" if missed else "pass",
            0.0 if missed else 1.0,
            'the output has no "30 days"' if missed else "",
            metric="contains",
        ),
        Outcome(
            "similarity", "pass", near, f"{near} is at least 0.4", metric="similarity", at_least=0.4
        ),
    )
    return TrialResult(
        index=index,
        case=f"case-{case:06}",
        variant=variant,
        repeat=repeat,
        outcome=outcome,
        score=None if error else (near + (not missed)) / 2,
        output=None if error else output,
        reason="" if outcome == "pass" else "no answer came" if error else outcomes[0].reason,
        error=TrialError("timed-out", "no answer in 60 s", "") if error else None,
        outcomes=() if error else outcomes,
        named_scores={} if error else {"contains": float(not missed), "similarity": near},
        latency_s=None if error else 0.2 + 3 * chance,
        cost_usd=0.0001 + 0.00005 * variant,
        tokens_in=40,
        tokens_out=len(output) // 4,
        calls=1,
        prompt=f"You are a shop's assistant. Answer in three sentences.\n\n{question}",
        vars={"question": question, "number": case},
        description=f"question {case}",
        metadata={"tags": [TAGS[case % 4]], "document": f"d{case % 50}", "expected": "30 days"},
        answer=AnswerDetails(model=f"model-{variant}-2026-01-01", finish_reason="stop"),
    )


def write_run(
    home: Path,
    cases: int,
    variants: int,
    repeats: int = 1,
    *,
    characters: int = 300,
    seed: int = 1,
    status: str = "finished",
    at: float = STARTED,
    name: str = "prompt ",
) -> Path:
    """Writes the run; its file. Columns are called `name`, and by their number."""
    folder = run_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    columns = tuple(
        Variant(
            i,
            f"{name}{i}",
            f"model-{i}",
            prompt_raw="Answer: {{question}}",
            provider_id=f"echo:{i}",
        )
        for i in range(variants)
    )
    planned = cases * variants * repeats
    meta = RunMeta(
        id=id_at(at, f"{seed:020x}"),
        title=f"{cases:,} questions × {variants}",
        source="",
        fingerprint=f"bench-{cases}-{variants}-{repeats}",
        planned=planned,
        case_count=cases,
        repeats=repeats,
        variants=columns,
        created_at=at,
        config={"description": "made by bench/viewer_run.py"},
        pass_rate=0.8,
        version="0",
        status=status,  # pyright: ignore[reportArgumentType] (from the command line)
        finished_at=at + 600 if status == "finished" else None,
    )
    path = folder / f"{meta.id}.db"
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode = off")
    db.execute("pragma synchronous = off")
    prepare(db, RUN_FILE_ID, RUN_MIGRATIONS, str(path))
    db.execute("insert into run values (?, ?)", (meta.id, encode(meta)))
    parts = Parts(1)
    batch: list[TrialResult] = []
    db.execute("begin")
    for trial in trials(cases, variants, repeats, characters, seed):
        batch.append(trial)
        if len(batch) == BATCH:
            _store(db, parts, batch)
            batch = []
    _store(db, parts, batch)
    db.execute("commit")
    db.close()
    return path


def _store(db: sqlite3.Connection, parts: Parts, batch: list[TrialResult]) -> None:
    db.executemany(
        "insert into trial values (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(t.index, t.case, t.variant, t.repeat, t.outcome, t.score, t.latency_s),
                *(t.calls, t.cached, t.cost_usd, t.tokens_in, t.tokens_out),
            )
            for t in batch
        ],
    )
    for trial in batch:
        _, written = keep(trial)
        ids: list[int | None] = []
        for part in written[:2]:
            number, new = parts.add(part)
            ids.append(number)
            if new:
                db.execute("insert into part values (?, ?)", (number, part))
        db.execute("insert into detail values (?, 0, ?, ?, ?)", (trial.index, *ids, written.detail))
    db.executemany(
        "insert into call values (?, ?, ?, 0, 'subject', ?, ?, 0.01, ?)",
        [
            (
                t.index + 1,
                t.index,
                f"{t.index:032x}",
                f"model-{t.variant}",
                encode({"body": {"messages": [{"role": "user", "content": t.prompt}]}}),
                str(t.index),
            )
            for t in batch
        ],
    )
    db.executemany(
        "insert into reply values (?, 'provider', ?, ?, ?, ?, ?, 1, 0, ?, ?, null, null)",
        [
            (
                *(t.index + 1, t.latency_s, t.tokens_in, t.tokens_out, t.cost_usd),
                *(f"model-{t.variant}-2026-01-01", t.error.slug if t.error else "", b""),
            )
            for t in batch
        ],
    )
    db.executemany(
        "insert into body values (?, ?)",
        [(t.index + 1, encode({"choices": [{"message": {"content": t.output}}]})) for t in batch],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--variants", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--characters", type=int, default=300, help="of an output, about")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    path = write_run(
        options.home,
        options.cases,
        options.variants,
        options.repeats,
        characters=options.characters,
        seed=options.seed,
    )
    size = path.stat().st_size / 1e6
    print(f"{path}: {size:,.0f} MB in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()

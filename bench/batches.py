"""What batches hold at size: kills, the bill, the verdicts, and the waves of an agent.

    python bench/batches.py                             # all of it, most of an hour
    python bench/batches.py kills --rows 2000 --kills 40
    python bench/batches.py agent --cases 500

`kills`: a promptfoo config of 10,000 rows, asked of OpenAI and judged by Anthropic, is run with --batch against the
fake provider, on which some lines expire, fail, come twice, with status 0 or not at all. It is killed with SIGKILL 200
times: three in ten at any instant, the others within half a second after a batch was made or has ended. A batch that
was made is answered 0.1 s later, so many kills fall between its making and the note of its id.
`agent`: an application of four turns with a client of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.e2e.test_batch_runs import AGENT
from tests.faults.conftest import Folder, environment

from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
QUICK = ("--batch-poll", "0.2", "--batch-size", "200")
RUBRIC: dict[str, Any] = {
    "type": "llm-rubric",
    "value": "is a reply",
    "provider": {"id": "anthropic:messages:claude-haiku-4-5", "config": {"max_tokens": 50}},
}
MODEL: dict[str, Any] = {"id": "openai:chat:gpt-4o-mini", "config": {"max_tokens": 50}}
VERDICT = Rule(model="claude-haiku-4-5", reply={"reason": "so", "pass": True, "score": 1})
RULES = BatchRules(
    takes_s=7200,
    speed=7200,
    expired=0.02,
    errored=0.01,
    silent=0.005,
    missing=0.005,
    duplicated=0.05,
    lying=True,
    create_ms=100,
)


def folder_for(fake: FakeProvider, path: Path) -> Folder:
    """A folder whose environment leads to the fake provider."""
    path.mkdir()
    return Folder(path, environment(fake))


def batches_made(fake: FakeProvider) -> int:
    """How many the fake provider has taken."""
    return len(fake.openai_batches.batches) + len(fake.anthropic_batches.batches)


def events_of(fake: FakeProvider) -> int:
    """How often a batch was made, or has ended."""
    batches = (*fake.openai_batches.batches.values(), *fake.anthropic_batches.batches.values())
    return len(batches) + sum(one.ended_at is not None for one in batches)


Verdicts = list[tuple[Any, ...]]


def verdicts(run: RunFile) -> Verdicts:
    """What each trial came to, in the plan's order."""
    return [
        (one.case, one.outcome, one.score, one.output, [(o.name, o.outcome) for o in one.outcomes])
        for one in run.trials()
    ]


def latest(home: Path) -> Path | None:
    """The run's file."""
    return next(iter((home / "runs").glob("*.db")), None)


def write(path: Path, rows: int) -> None:
    """A config of so many rows, every third of which fails."""
    expected = ("contains:zzz", "contains:ref", "contains:ref")
    lines = [f"number {i},{expected[i % 3]}" for i in range(rows)]
    (path / "rows.csv").write_text("\n".join(["n,__expected", *lines, ""]))
    config = {
        "description": "batches",
        "prompts": ["Say {{n}}"],
        "providers": [MODEL],
        "defaultTest": {"assert": [RUBRIC]},
        "tests": "file://rows.csv",
    }
    (path / "promptfooconfig.json").write_text(json.dumps(config))


@dataclass(kw_only=True)
class Sums:
    """What all rounds came to.

    Attributes:
        kills: How often a process was killed.
        when: By what it was doing.
        in_doubt: Batches that were in doubt after a kill, and were not before.
        most: The most of them for one kill.
        worst_usd: The highest worst price of one.
        problems: What did not hold.
    """

    kills: int = 0
    when: Counter[str] = field(default_factory=Counter[str])
    in_doubt: int = 0
    most: int = 0
    worst_usd: float = 0.0
    problems: list[str] = field(default_factory=list[str])

    def look(self, file: Path | None, known: set[str]) -> None:
        """Counts what a kill has left behind."""
        self.kills += 1
        if file is None:
            self.when["before there was a run"] += 1
            return
        with RunFile.open(file) as run:
            records, calls = run.batches(), len(run.in_doubt())
        doubtful = [one for one in records if one.state == "intended"]
        fresh = [one for one in doubtful if one.id not in known]
        known |= {one.id for one in doubtful}
        self.in_doubt += len(fresh)
        self.most = max(self.most, len(fresh))
        self.worst_usd = max([self.worst_usd, *(one.bound_usd or 0.0 for one in fresh)])
        if calls != sum(one.requests for one in doubtful):
            self.problems.append(f"{calls} calls in doubt, and batches {doubtful}")
        if any(not one.bound_usd for one in fresh):
            self.problems.append("a batch in doubt has no price")
        out = any(one.state == "out" for one in records)
        where = "while a batch was made" if fresh else "with batches out" if out else "between"
        self.when[where] += 1


def one_round(
    folder: Path,
    evals: Folder,
    fake: FakeProvider,
    expected: Verdicts,
    most: int,
    until: float,
    sums: Sums,
    draw: random.Random,
) -> None:
    """Runs all rows to their end, and kills the process on the way, at most so often."""
    env = {"EVENHAND_HOME": str(folder)}
    first = ("run", *QUIET, "--batch", *QUICK)
    again = ("resume", "--no-progress", "--no-table")
    known: set[str] = set()
    fake.ledger.clear()
    began, before, killed = time.monotonic(), batches_made(fake), 0
    process = evals.start(*first, env=env)
    while batches_made(fake) == before and process.poll() is None:
        time.sleep(0.01)
    window_s = 1.3 * (time.monotonic() - began)  # from its start until well after its first batch
    while killed < most and time.monotonic() < until and process.poll() is None:
        events, anytime = events_of(fake), draw.random() < 0.3
        limit = time.monotonic() + (draw.uniform(0.1, window_s) if anytime else inf)
        while process.poll() is None and time.monotonic() < limit:
            if not anytime and events_of(fake) > events:  # soon after it has come to something
                limit = min(limit, time.monotonic() + draw.uniform(0, 0.5))
            time.sleep(0.005)
        if process.poll() is not None:
            break
        process.kill()
        process.communicate()
        killed += 1
        file = latest(folder)
        sums.look(file, known)
        if sums.kills % 10 == 0:
            print(f"  {sums.kills} kills", dict(sums.when), flush=True)
        process = evals.start(*(again if file else first), env=env)
    _, err = process.communicate()
    file = latest(folder)
    assert file is not None, err
    for _ in range(3):  # three times without an answer is an error, and asked again on demand
        with RunFile.open(file) as run:
            errors = run.totals().errors
        if not errors:
            break
        print(f"  {errors} trials without an answer in three batches: asked again", flush=True)
        evals.start("resume", "--errors", "--no-progress", "--no-table", env=env).communicate()
    with RunFile.open(file) as run:
        got, status, doubt = verdicts(run), run.meta.status, len(run.in_doubt())
        usd, records = run.totals().cost_usd or 0.0, run.batches()
    ledger, sent = fake.ledger, 2 * len(expected)
    stragglers = ledger.total - ledger.batched.total()
    lost = sum(a != b for a, b in zip_longest(got, expected))
    states = Counter(one.state for one in records)
    print(
        f"round: {killed} kills, {time.monotonic() - began:.0f} s, {max(one.wave for one in records)} waves,"
        f" batches {dict(states)}\n"
        f"  {status}; {lost} rows lost or with another verdict; {ledger.total:,} generated for {sent:,} requests,"
        f" {ledger.repeated} twice, {stragglers} live, {doubt} in doubt\n"
        f"  bill {100 * ledger.price / sent:.2f} % of the live one, {usd:.4f} $ by the run itself",
        flush=True,
    )
    if lost or doubt or ledger.repeated or ledger.price - stragglers > 0.505 * sent:
        sums.problems.append(f"it did not hold: {err[-2000:]}")


def of_kills(rows: int, kills: int, minutes: float, seed: int, folder: Path) -> bool:
    """Kills runs so often, and says what became of them. Whether all held."""
    draw = random.Random(seed)
    sums = Sums()
    with FakeProvider(Script([VERDICT]), batches=RULES) as fake:
        evals = folder_for(fake, folder / "kills")
        write(evals.path, rows)
        began = time.monotonic()
        live = evals.start("run", *QUIET, env={"EVENHAND_HOME": str(folder / "live")})
        live.communicate()
        path = latest(folder / "live")
        assert path is not None
        with RunFile.open(path) as run:
            expected, live_usd = verdicts(run), run.totals().cost_usd or 0.0
        took_s = time.monotonic() - began
        print(
            f"live: {fake.ledger.total:,} requests, {live_usd:.4f} $, {took_s:.0f} s; seed {seed}"
        )
        rounds, until = 0, time.monotonic() + 60 * minutes
        while sums.kills < kills and (not rounds or time.monotonic() < until):
            rounds += 1
            home = folder / f"batched-{rounds}"
            one_round(home, evals, fake, expected, kills - sums.kills, until, sums, draw)
    print(
        f"{sums.kills} kills in {rounds} rounds: {dict(sums.when)}\n"
        f"batches in doubt: {sums.in_doubt}, at most {sums.most} for a kill, each at most {sums.worst_usd:.4f} $"
    )
    for problem in sums.problems:
        print(problem)
    return not sums.problems and sums.most <= 1


def of_agent(cases: int, folder: Path) -> bool:
    """An agent of four turns with its own client. Whether it took 4 or 5 waves."""
    rule = Rule(reply=lambda text: f"An answer to {text[-40:]}")
    with FakeProvider(Script([rule]), batches=BatchRules(takes_s=3600, speed=7200)) as fake:
        evals = folder_for(fake, folder / "agent")
        code = AGENT.replace("CASES", str(cases)).replace("TURNS", "4")
        (evals.path / "agent_evals.py").write_text(code)
        began = time.monotonic()
        process = evals.start("run", "agent_evals.py", *QUIET, "--batch", *QUICK)
        _, err = process.communicate()
        took_s = time.monotonic() - began
        status = json.loads(evals.run("runs", "status", "--json").stdout)
        tools = len((evals.path / "tool.log").read_text().splitlines())
        print(
            f"agent: {cases} cases of 4 turns, exit {process.returncode}, {status['wave']} waves,"
            f" {fake.ledger.total:,} requests, {fake.ledger.repeated} twice, {tools:,} tool calls, {took_s:.1f} s"
        )
        if process.returncode:
            print(err[-2000:])
        return status["wave"] in (4, 5) and not fake.ledger.repeated and not process.returncode


def main() -> None:
    """Measures, and exits with 1 where something did not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["all", "kills", "agent"], default="all")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=inf, help="kill no longer than this")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=20_261_123)
    options = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as folder:
        if options.what in ("all", "agent"):
            held &= of_agent(options.cases, Path(folder))
        if options.what in ("all", "kills"):
            held &= of_kills(
                options.rows, options.kills, options.minutes, options.seed, Path(folder)
            )
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()

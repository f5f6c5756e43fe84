"""Kills of runs whose trials hang on each other, or end in errors: nothing finished is paid for twice.

Each shape is killed KILLS times (by default once) at instants that KILL_SEED draws. Figures go
to the file that KILL_FIGURES names, a line of JSON for each shape.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.testing import FakeProvider, Rule, Script

KILLS = int(os.environ.get("KILLS", "1"))
SEED = os.environ.get("KILL_SEED", "dependent")
FIGURES = os.environ.get("KILL_FIGURES", "")
AT_ONCE = 8
ROWS = 40
QUIET = ("--no-progress", "--no-table")
MODEL: dict[str, Any] = {
    "id": "openai:chat:m",
    "config": {"cost": 0.0001, "max_tokens": 50, "temperature": 0},
}
OTHER: dict[str, Any] = {**MODEL, "id": "openai:chat:other"}
JUDGE: dict[str, Any] = {**MODEL, "id": "openai:chat:judge"}
RUBRIC = {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE}
BEST = {"type": "select-best", "value": "the best", "provider": {**JUDGE, "id": "openai:chat:best"}}
RAISES = {"type": "python", "value": "1 / 0"}
TALK = "{% for turn in _conversation %}{{turn.output}}\n{% endfor %}Say {{n}}."
STORED = "{{last}} Say {{n}}."

FINE = Rule(model="judge", reply={"reason": "so", "pass": True, "score": 1})
CHOSEN = Rule(model="best", reply="0")
REFUSED = Rule(match=(r"Say number (9|23)\.\s*\Z",), fault="400")


def said_of(rows: Sequence[int]) -> Rule:
    """The subject's replies to these rows, by which a judge can tell them."""
    numbers = "|".join(map(str, rows))
    return Rule(last=rf"Say number ({numbers})\.\s*\Z", reply="marked, ref")


MARKED = said_of((6, 17, 31))
MUMBLED = Rule(model="judge", match=("marked",), reply="I would rather not say")


def overloaded() -> Rule:
    """The vendor fails twice, and then is well again."""
    return Rule(match=(r"Say number 12\.\s*\Z",), fault="500", times=2)


@dataclass(frozen=True)
class Shape:
    """A run that is killed.

    Attributes:
        rules: What the vendor answers; made anew for each run, as some hold only so many times.
        everywhere: What each test asserts.
        raising: The tests for which a grader raises.
        talks: How many conversations there are; 0 for none.
        storing: Every so many tests, the output is stored for those after it; 0 for none.
    """

    rules: Callable[[], list[Rule]] = list
    flags: tuple[str, ...] = ("--no-cache",)
    everywhere: tuple[dict[str, Any], ...] = ()
    raising: tuple[int, ...] = ()
    talks: int = 0
    storing: int = 0
    models: tuple[dict[str, Any], ...] = (MODEL,)
    more: dict[str, Any] = field(default_factory=dict)

    def write(self, evals: Folder) -> None:
        """The folder's config."""
        tests: list[dict[str, Any]] = []
        for i in range(ROWS):
            test: dict[str, Any] = {
                "vars": {"n": f"number {i}", "last": ""},
                "assert": [
                    {"type": "contains", "value": "ref" if i % 5 else "zzz"},
                    *self.everywhere,
                    *([RAISES] if i in self.raising else []),
                ],
            }
            if self.talks:
                test["metadata"] = {"conversationId": f"c{i % self.talks}"}
            if self.storing and i % self.storing == 0:
                test["options"] = {"storeOutputAs": "last"}
            tests.append(test)
        prompt = TALK if self.talks else STORED if self.storing else "Say {{n}}."
        evals.write(0, prompts=[prompt], providers=list(self.models), tests=tests, **self.more)


SHAPES = {
    "conversations, graders that raise": Shape(talks=6, raising=(2, 14, 25)),
    "conversations, judges without a verdict": Shape(
        lambda: [MARKED, MUMBLED, FINE], everywhere=(RUBRIC,), talks=6
    ),
    "conversations, a vendor that refuses and fails": Shape(
        lambda: [REFUSED, overloaded()], talks=6
    ),
    "conversations, with the cache": Shape(
        lambda: [MARKED, MUMBLED, FINE], (), everywhere=(RUBRIC,), raising=(3,), talks=6
    ),
    "stored outputs, all kinds of errors": Shape(
        lambda: [REFUSED, overloaded(), MARKED, MUMBLED, FINE],
        everywhere=(RUBRIC,),
        raising=(4, 20),
        storing=8,
    ),
    "comparisons, graders that raise": Shape(
        lambda: [CHOSEN], everywhere=(BEST,), raising=(1, 11, 30), models=(MODEL, OTHER)
    ),
    "conversations, stored outputs, comparisons, judges, errors": Shape(
        lambda: [REFUSED, MARKED, MUMBLED, FINE, CHOSEN],
        everywhere=(RUBRIC, BEST),
        raising=(2, 19),
        talks=5,
        storing=10,
        models=(MODEL, OTHER),
    ),
    "conversations, sampled and repeated": Shape(
        flags=("--no-cache", "--repeat", "2"),
        raising=(5,),
        talks=8,
        models=({**MODEL, "config": {**MODEL["config"], "temperature": 1}},),
    ),
}

WAYS: tuple[tuple[tuple[int, float], ...], ...] = (
    ((signal.SIGKILL, 0.0),),
    ((signal.SIGKILL, 0.0),),
    ((signal.SIGKILL, 0.0),),
    ((signal.SIGTERM, 0.0),),
    ((signal.SIGINT, 0.0),),
    ((signal.SIGINT, 0.05), (signal.SIGINT, 0.0)),
    ((signal.SIGTERM, 0.02), (signal.SIGKILL, 0.0)),
)


def stopped(process: subprocess.Popen[str], draw: random.Random) -> None:
    """Signals a process in one of these ways, and waits for its end."""
    for number, pause in draw.choice(WAYS):
        process.send_signal(number)
        time.sleep(pause)
    process.communicate(timeout=90)


@pytest.mark.thorough(after=2)
@pytest.mark.timeout(300 + 300 * KILLS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_killed_run_whose_trials_hang_on_each_other_pays_for_nothing_finished_twice(
    name: str, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Kills, interrupts and terminations; a third of the resumes too. In the end all is as if nothing had happened."""
    shape = SHAPES[name]
    fake = serve(Script(shape.rules()), latency_ms=5)
    evals = folder(fake)
    shape.write(evals)
    start = ("run", *QUIET, "-j", str(AT_ONCE), *shape.flags)
    first = evals.start(*start, "--json")
    until(lambda: fake.ledger.total >= 1)
    begun = time.monotonic()
    out, err = first.communicate(timeout=90)
    lasting = time.monotonic() - begun
    assert first.returncode in (1, 3), err
    wanted = settled(json.loads(out))
    price = Counter(fake.ledger.counts)

    draw = random.Random(f"{SEED}: {name}")
    figures = Counter[str]()
    while figures["runs"] < KILLS:
        shutil.rmtree(evals.home)
        fake.ledger.clear()
        fake.script = Script(shape.rules())
        process = evals.start(*start)
        until(lambda: fake.ledger.total >= 1)
        time.sleep(draw.uniform(0, lasting))
        if process.poll() is not None:  # over before it could be killed
            continue
        stopped(process, draw)
        figures["runs"] += 1
        figures["signals"] += 1
        figures["finished at the first"] += fake.ledger.total
        while draw.random() < 1 / 3:
            again = evals.start("resume", *QUIET)
            time.sleep(draw.uniform(0.2, 0.4 + lasting))
            if again.poll() is None:
                figures["signals"] += 1
            stopped(again, draw)
        what = f"seed {SEED!r}, run {figures['runs']} of '{name}'"
        for _ in range(2):  # the second has nothing left to do but what is in error
            resumed = evals.run("resume", *QUIET, "--json")
            assert resumed.returncode in (1, 3), f"{what}: {resumed.stderr}"
            document = json.loads(resumed.stdout)
            assert (document["run"]["status"], settled(document)) == ("finished", wanted), what
        paid_again, doubted = fake.ledger.counts - price, evals.doubted()
        figures["in doubt"] += doubted.total()
        figures["in doubt and paid again"] += (paid_again & doubted).total()
        assert paid_again <= doubted, f"{what}: {paid_again - doubted}"
    if FIGURES:
        with Path(FIGURES).open("a") as file:
            print(json.dumps({"shape": name, **figures}), file=file)

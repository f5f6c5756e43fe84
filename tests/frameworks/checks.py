"""What has to hold for an agent of a framework's, each against a fake vendor whose ledger is the oracle.

The agent runs in a process of its own, with an interpreter that has its framework: nothing of it is imported here.
An agent that is served over HTTP runs in a second one, in Node.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.frameworks.frameworks import Framework, rules

from evenhand.core.step import Step
from evenhand.render.run import Run
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script

EVALS = Path(__file__).parent / "agent_evals.py"
SERVERS = Path(__file__).parent / "servers"
ORDERS, KILLED_AT = 6, 4
_QUIET = {
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    "DO_NOT_TRACK": "1",
}


@dataclass
class World:
    """An agent, its vendor and a folder of runs."""

    framework: Framework
    python: str
    fake: FakeProvider
    home: Path
    call: str = "answer"
    fails: bool = False
    server: str = ""

    def env(self) -> dict[str, str]:
        """An environment that leads to the fake vendor, and has nothing else of a vendor's."""
        mine = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "EVENHAND_", "PYTEST_", "PYTHON")
        ours = {k: v for k, v in os.environ.items() if not k.startswith(mine)}
        return {
            **ours,
            **self.fake.env(),
            **_QUIET,
            "GOOGLE_GEMINI_BASE_URL": self.fake.url,
            "HOME": str(self.home),
            "EVENHAND_HOME": str(self.home / "evenhand"),
            "AGENT": self.framework.agent,
            "AGENT_CALL": self.call,
            "AGENT_ORDERS": str(ORDERS),
            "AGENT_TOOL": self.framework.tool if self.framework.turns > 1 else "",
            "AGENT_FAILS": "1" if self.fails else "",
            "AGENT_SERVER": self.server,
            "MASTRA_TELEMETRY_DISABLED": "1",
        }

    def start(self, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Starts `evenhand` with these words."""
        return subprocess.Popen(
            [*before, self.python, "-m", "evenhand", *words],
            cwd=self.home,
            env=self.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, code: int = 0, before: tuple[str, ...] = ()) -> str:
        """Runs `evenhand` to its end, which has to be this exit code; returns what it said."""
        process = self.start(*words, before=before)
        said, _ = process.communicate(timeout=240)
        assert process.returncode == code, f"exit code {process.returncode}\n{said[-3000:]}"
        return said

    def ask(self, *words: str, code: int = 0, before: tuple[str, ...] = ()) -> str:
        """Runs the agent's evals, without a cache."""
        return self.run(
            "run", str(EVALS), "--no-cache", "--no-progress", *words, code=code, before=before
        )

    @contextmanager
    def latest(self) -> Iterator[RunFile]:
        """The latest run."""
        path = max((self.home / "evenhand" / "runs").glob("*.db"), key=os.path.getmtime)
        with RunFile.open(path) as file:
            yield file

    def steps(self) -> list[Step]:
        """The steps of all trials of the latest run."""
        with self.latest() as file:
            path = file.path
        run = Run.open(path)
        return [step for trial in run.trials() for step in run.steps(trial)]


@contextmanager
def world(
    framework: Framework,
    program: str,
    *,
    call: str = "answer",
    latency_ms: float = 0,
    fails: bool = False,
) -> Iterator[World]:
    """An agent with a vendor of its own, in a folder of its own.

    Args:
        program: The interpreter that has the framework: Python's, or Node's for an agent behind a server.
        call: The function of the agent that is asked.
        latency_ms: How long the vendor takes for a first turn.
        fails: Whether the agent's tool raises.
    """
    home = Path(tempfile.mkdtemp(prefix="evenhand-frameworks-"))
    script = Script([*rules(framework, ORDERS, latency_ms)])
    try:
        with FakeProvider(script) as fake:
            python = sys.executable if framework.server else program
            here = World(framework, python, fake, home, call, fails)
            with _served(here, program) if framework.server else nullcontext("") as here.server:
                yield here
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _served(here: World, node: str) -> Iterator[str]:
    """The address of the agent's server, which runs inside."""
    place = Path(node).parents[
        2
    ]  # of ENVIRONMENT/node_modules/.bin/node: modules are looked for from a file's folder
    script = shutil.copy(SERVERS / here.framework.server, place)
    command = [node, script]
    with subprocess.Popen(
        command, cwd=place, env=here.env(), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("http://"), address
            yield address
        finally:
            server.kill()


def recorded(framework: Framework, python: str, call: str = "answer") -> None:
    """Each call of the vendor's ledger is one of the run's, with tokens and a price."""
    with world(framework, python, call=call) as here:
        here.ask()
        with here.latest() as file:
            totals = file.totals()
            assert not file.meta.unrecorded, file.meta.unrecorded
        billed, expected_bill = here.fake.ledger.total, framework.turns * ORDERS
        assert (totals.calls, billed) == (framework.calls * ORDERS, expected_bill)
        models = [step for step in here.steps() if step.kind == "model"]
        assert len(models) == billed, models
        if call == "answer":
            assert totals.tokens_in, "no tokens are known"
            assert totals.cost_usd, "no cost is known"


def streamed(framework: Framework, python: str) -> None:
    """The same, of answers in pieces, but for tokens, which not every framework has the vendor count."""
    recorded(framework, python, "streamed")


def stream_tokens(framework: Framework, python: str) -> None:
    """The tokens of an answer in pieces are known."""
    with world(framework, python, call="streamed") as here:
        here.ask()
        with here.latest() as file:
            assert file.totals().tokens_in, "the framework doesn't have the vendor count them"


def tools(framework: Framework, python: str) -> None:
    """Each call of the tool is a step with its arguments and its result, and nothing else is one."""
    with world(framework, python) as here:
        here.ask()
        steps = [step for step in here.steps() if step.kind == "tool"]
    found = sorted(
        (step.name, step.arguments["order"], str(step.result))
        for step in steps
        if isinstance(step.arguments, Mapping)
    )
    assert [(name, order) for name, order, _ in found] == [
        (framework.tool, n) for n in range(1, ORDERS + 1)
    ]
    assert all("was delivered on 3 May" in result for _, _, result in found), found


def failures(framework: Framework, python: str) -> None:
    """Each call of a tool that raises is a step that failed, and says why; whatever the framework makes of it."""
    with world(framework, python, fails=True) as here:
        process = here.start("run", str(EVALS), "--no-cache", "--no-progress")
        said, _ = process.communicate(timeout=240)
        steps = [step for step in here.steps() if step.kind == "tool"]
    assert len(steps) >= ORDERS, said
    assert all(step.status == "error" and step.error for step in steps), steps


def resumed(framework: Framework, python: str) -> None:
    """After kill -9, `resume` pays again for no call whose answer was there, and comes to the same end."""
    with world(framework, python, latency_ms=60) as here:
        process = here.start("run", str(EVALS), "--no-cache", "--no-progress", "-j", "2")
        _until(lambda: here.fake.ledger.total >= KILLED_AT or process.poll() is not None)
        assert process.poll() is None, process.communicate()[0]
        process.kill()
        process.communicate()
        with here.latest() as file:
            in_doubt = len(file.in_doubt())
        here.run("resume", "--no-progress")
        with here.latest() as file:
            assert file.totals().passed == ORDERS
        per_call = framework.turns // framework.calls
        assert here.fake.ledger.repeated <= in_doubt * per_call, (
            f"{here.fake.ledger.repeated} calls were paid twice"
        )


def replayed(framework: Framework, python: str) -> None:
    """A replay without a network answers each call, and passes."""
    with world(framework, python) as here:
        here.ask()
        before = here.fake.ledger.total, len(here.fake.requests)
        here.ask("--replay", "latest", before=_cut_off())
        with here.latest() as file:
            assert file.totals().passed == ORDERS
        assert (here.fake.ledger.total, len(here.fake.requests)) == before


def budgeted(framework: Framework, python: str) -> None:
    """A budget that is too small for one call lets none through."""
    with world(framework, python) as here:
        here.ask("--max-cost", "0.0000001", code=4)
        assert len(here.fake.requests) == 0


def batched(framework: Framework, python: str) -> None:
    """All calls of all turns go in batches, and are paid once, at their price."""
    with world(framework, python) as here:
        here.ask("--batch", "--batch-poll", "0.2")
        with here.latest() as file:
            assert file.totals().passed == ORDERS
        ledger = here.fake.ledger
        assert ledger.batched.total() == ledger.total == framework.turns * ORDERS


Check = Callable[[Framework, str], None]
CHECKS: Mapping[str, Check] = {
    "recorded": recorded,
    "tools": tools,
    "failures": failures,
    "streaming": streamed,
    "stream tokens": stream_tokens,
    "resume": resumed,
    "replay": replayed,
    "budget": budgeted,
    "batch": batched,
}
"""By the column of the matrix."""


def applies(framework: Framework, check: str) -> bool:
    """Whether there is anything to check."""
    if check in ("streaming", "stream tokens"):
        return framework.streams
    if check in ("tools", "failures"):
        return framework.turns > 1 and (framework.runs_tools or check == "tools")
    if check == "batch":
        return not framework.server
    return True


def expected(framework: Framework, check: str) -> bool:
    """Whether it holds today; what doesn't is on the page of frameworks."""
    if check == "stream tokens":
        return framework.counts
    if check == "failures":
        return framework.tells_failures
    return check != "batch" or framework.batches


def _cut_off() -> tuple[str, ...]:
    """What takes the network away from a command, where the system can."""
    words = ("unshare", "-rn")
    try:
        done = subprocess.run([*words, "true"], capture_output=True, check=False)
    except OSError:
        return ()
    return words if done.returncode == 0 else ()


def _until(ready: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.002)

"""The journal against a model of it: whatever is begun, ended, settled, killed and reopened, in whatever order."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from evenhand.core.run import CallEnd, CallStart, RunMeta, TrialError, TrialResult
from evenhand.core.score import State
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile

PLANNED = 3
PLACES = st.integers(0, PLANNED - 1)
OUTCOMES: list[State] = ["pass", "fail", "error", "not_applicable"]
BODIES = st.binary(max_size=20)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)


class Sessions(RuleBasedStateMachine):
    """One run over any number of sessions, each ended in order, or cut off as by a kill."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.open_calls: dict[int, CallStart] = {}  # begun in this session, without an end
        self.doubtful: list[str] = []  # begun in earlier ones, without an end
        self.answers: dict[tuple[int, str, int], bytes] = {}  # of this session
        self.earlier: dict[tuple[int, str, int], bytes] = {}  # of those before it
        self.results: dict[int, TrialResult] = {}  # the take that counts
        self.settled: set[int] = set()  # with a verdict, before this session began
        self.spent = 0.0
        self.counter = 0

    @initialize()
    def create(self) -> None:
        """A new run."""
        columns = (Variant(0, "p", "m"),)
        meta = RunMeta("01RUN", "", "", "print", PLANNED, PLANNED, 1, columns, 0.0)
        self.journal = Journal.create(self.home / "runs", meta)

    @rule(trial=PLACES, key=st.sampled_from(["a", "b"]))
    def begin(self, trial: int, key: str) -> None:
        """A call is about to be sent."""
        self.counter += 1
        start = CallStart(trial, key, self.counter, "subject", "m", b"{}", 0.5, str(self.counter))
        number = self.loop.run_until_complete(self.journal.begin(start))
        assert number not in self.open_calls
        self.open_calls[number] = start

    async def ended(self, number: int, end: CallEnd) -> None:
        """Waits until the end of a call is on disk."""
        await self.journal.end(number, end)

    @rule(trial=PLACES, body=BODIES)
    def ask(self, trial: int, body: bytes) -> None:
        """A call is begun and answered."""
        self.begin(trial, "a")
        number, start = self.open_calls.popitem()
        end = CallEnd(body, "provider", cost_usd=0.25)
        self.loop.run_until_complete(self.ended(number, end))
        self.answers[start.trial, start.key, start.nth] = body
        self.spent += 0.25

    @precondition(lambda self: self.open_calls)
    @rule(body=BODIES, words=TEXTS, failed=st.booleans(), data=st.data())
    def end(self, body: bytes, words: str, failed: bool, data: st.DataObject) -> None:
        """An answer, or an error."""
        number = data.draw(st.sampled_from(sorted(self.open_calls)))
        start = self.open_calls.pop(number)
        end = CallEnd(
            b"" if failed else body,
            "provider",
            cost_usd=None if failed else 0.25,
            model=words,
            error="overloaded" if failed else "",
            message=words,
        )
        self.loop.run_until_complete(self.ended(number, end))
        if not failed:
            self.answers[start.trial, start.key, start.nth] = body
            self.spent += 0.25

    @precondition(lambda self: len(self.settled | self.fresh) < PLANNED)
    @rule(outcome=st.sampled_from(OUTCOMES), words=TEXTS, data=st.data())
    def settle(self, outcome: State, words: str, data: st.DataObject) -> None:
        """A result; each trial has one in a session, and none once it has a verdict."""
        left = [i for i in range(PLANNED) if i not in self.settled | self.fresh]
        trial = data.draw(st.sampled_from(left))
        error = TrialError("code", words) if outcome == "error" else None
        score = 1.0 if outcome == "pass" else 0.0 if outcome == "fail" else None
        result = TrialResult(
            index=trial,
            case=words,
            variant=0,
            repeat=0,
            outcome=outcome,
            score=score,
            output=words,
            error=error,
        )
        self.loop.run_until_complete(self.journal.settle(result))
        self.results[trial] = result
        self.fresh.add(trial)

    @rule(killed=st.booleans())
    def reopen(self, killed: bool) -> None:
        """The session ends, in order or without a word, and another one begins."""
        if killed:
            self.journal.close()
        else:
            self.loop.run_until_complete(self.journal.finish("interrupted"))
        self.journal = Journal.reopen(self.home / "runs" / "01RUN.db")
        self.doubtful += [start.draw for start in self.open_calls.values()]
        self.open_calls.clear()
        self.earlier |= self.answers
        self.answers = {}
        self.settled = {i for i, r in self.results.items() if r.outcome != "error"}
        self.fresh.clear()
        assert self.journal.resumed
        found = {i for i in range(PLANNED) if i in self.journal.settled()}
        assert found == self.settled
        assert len(self.journal.settled()) == len(self.settled)
        assert sorted(c.start.draw for c in self.journal.in_doubt()) == sorted(self.doubtful)
        assert abs(self.journal.spent_usd - self.spent - 0.5 * len(self.doubtful)) < 1e-9

    @invariant()
    def replies_are_found_again(self) -> None:
        """Every answer of an earlier session, also to a trial that is done (it may be done again), and no other."""
        if not hasattr(self, "journal"):
            return
        for (trial, key, nth), body in self.earlier.items():
            end = self.journal.recorded(trial, key, nth)
            assert end is not None
            assert end.body == body
            shared = self.journal.answered(key, str(nth))
            assert shared is not None
            assert shared.body == body
        for trial, key, nth in self.answers:
            assert self.journal.recorded(trial, key, nth) is None

    def teardown(self) -> None:
        """What can be read at the end is what was written."""
        if hasattr(self, "journal"):
            self.loop.run_until_complete(self.journal.finish("finished"))
            with RunFile.open(self.journal.path) as run:
                assert list(run.trials()) == [self.results[i] for i in sorted(self.results)]
                totals = run.totals()
                outcomes = [r.outcome for r in self.results.values()]
                assert totals.trials == len(outcomes)
                assert (
                    totals.passed,
                    totals.failed,
                    totals.errors,
                    totals.not_applicable,
                ) == tuple(outcomes.count(outcome) for outcome in OUTCOMES)
                answered = [c for c in run.calls() if c.end is not None and not c.end.error]
                assert len(answered) == len(self.earlier) + len(self.answers)
                assert len(run.in_doubt()) == len(self.doubtful) + len(self.open_calls)
                assert abs((run.spend().cost_usd or 0.0) - self.spent) < 1e-9
        self.loop.close()
        shutil.rmtree(self.home)

    @property
    def fresh(self) -> set[int]:
        """The trials settled in this session."""
        return self.__dict__.setdefault("_fresh", set())


Sessions.TestCase.settings = settings(
    derandomize=True,
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestSessions = Sessions.TestCase

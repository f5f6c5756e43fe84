"""`recording.SpanProcessor`: spans that an application makes in a trial are its steps."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, Status, StatusCode, Tracer, use_span

from evenhand import Case, Dataset, EvalSet, Expect, run
from evenhand.core.run import TrialResult
from evenhand.core.step import Step
from evenhand.doors.recording import SpanProcessor, tool
from evenhand.render.trial_steps import steps_of
from evenhand.store.runfile import RunFile


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    """An application's."""
    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())
    yield provider.get_tracer("app")
    provider.shutdown()


def steps(folder: Path, work: Callable[[str, Expect], object], cases: int = 1) -> list[list[Step]]:
    """The steps of each trial of a run that does this work."""
    evals = EvalSet("spans", data=Dataset([Case(f"c{i}", input=f"case {i}") for i in range(cases)]))

    @evals.eval
    def works(case: Case, expect: Expect) -> str:
        work(case.input, expect)
        expect(True, "done")
        return "done"

    result = run(evals, home=folder)
    with RunFile.open(result.path) as file:
        trials: list[TrialResult] = list(file.trials())
        return [steps_of(file, trial) for trial in trials]


def chat(tracer: Tracer, said: str, answer: str = "ok") -> None:
    """A model's call, as an instrumented client reports it."""
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    with tracer.start_as_current_span("chat m", attributes=about) as span:
        span.set_attribute("gen_ai.input.messages", json.dumps([{"role": "user", "content": said}]))
        span.set_attribute(
            "gen_ai.output.messages", json.dumps([{"role": "assistant", "content": answer}])
        )
        span.set_attribute("gen_ai.usage.input_tokens", 7)
        with tracer.start_as_current_span("POST"):
            pass


def test_spans_are_steps_of_the_trial_that_they_are_made_in(tmp_path: Path, tracer: Tracer):
    """Nested as they are, without what is no step; trials at the same time are kept apart."""

    def work(said: str, expect: Expect) -> None:
        del expect
        with (
            tracer.start_as_current_span("request"),
            tracer.start_as_current_span("agent") as agent,
        ):
            agent.set_attribute("gen_ai.operation.name", "invoke_agent")
            agent.set_attribute("gen_ai.agent.name", "shop")
            chat(tracer, said)
            with tracer.start_as_current_span("tool") as span:
                span.set_attribute("gen_ai.tool.name", "search")
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_status(Status(StatusCode.ERROR, "timeout"))

    found = steps(tmp_path, work, cases=5)
    assert len(found) == 5
    for i, mine in enumerate(found):
        assert [(one.kind, one.name, one.parent, one.status) for one in mine] == [
            ("agent", "shop", None, "ok"),
            ("model", "m", 0, "ok"),
            ("tool", "search", 0, "error"),
        ]
        assert mine[1].arguments == {"messages": [{"role": "user", "content": f"case {i}"}]}
        assert (mine[1].result, mine[1].tokens_in, mine[2].error) == ("ok", 7, "timeout")


def test_what_the_run_recorded_itself_is_told_once(tmp_path: Path, tracer: Tracer):
    """A recorded tool within the span of that tool, and reported steps within spans and around them."""

    @tool
    def search(word: str) -> str:
        return word.upper()

    def work(said: str, expect: Expect) -> None:
        del said
        with tracer.start_as_current_span(
            "agent", attributes={"gen_ai.operation.name": "invoke_agent"}
        ):
            about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
            with tracer.start_as_current_span("search", attributes=about):
                search("a")
            with expect.step("planner", kind="agent"):
                chat(tracer, "plan")

    (mine,) = steps(tmp_path, work)
    assert [(one.kind, one.parent) for one in mine] == [
        ("agent", None),
        ("tool", 0),
        ("agent", 0),
        ("model", 2),
    ]
    assert mine[1].result == "A"


def test_spans_of_threads_without_a_context_follow_their_parents(tmp_path: Path, tracer: Tracer):
    """The application hands the parent over, as instrumentations of thread pools do."""
    from opentelemetry import context

    def work(said: str, expect: Expect) -> None:
        del expect
        with tracer.start_as_current_span(
            "agent", attributes={"gen_ai.operation.name": "invoke_agent"}
        ):
            here = context.get_current()

            def inside() -> None:
                context.attach(here)
                chat(tracer, said)

            thread = threading.Thread(target=inside)
            thread.start()
            thread.join()

    (mine,) = steps(tmp_path, work)
    assert [(one.kind, one.parent) for one in mine] == [("agent", None), ("model", 0)]


def test_a_span_whose_parent_is_another_trials_stays_in_the_step_that_it_is_made_in(
    tmp_path: Path, tracer: Tracer
):
    """A place in the other trial says nothing of this one, and a step that the code is in still does."""
    left_open: queue.Queue[Span] = queue.Queue()

    def work(said: str, expect: Expect) -> None:
        if said == "case 0":
            left_open.put(tracer.start_span("batch"))
            return
        span = left_open.get(timeout=60)
        with expect.step("planner", kind="agent"), use_span(span):
            chat(tracer, said)

    _, mine = steps(tmp_path, work, cases=2)
    assert [(one.kind, one.name, one.parent) for one in mine] == [
        ("agent", "planner", None),
        ("model", "m", 0),
    ]


def test_outside_of_a_trial_nothing_happens(tracer: Tracer):
    """No step, and no error."""
    chat(tracer, "hello")


def test_without_the_sdk_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    """And not at the import of `evenhand.doors.recording`."""
    import importlib
    import sys

    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "evenhand.doors.recording.spans")
    from evenhand.core.errors import UsageError

    with pytest.raises(UsageError, match="needs OpenTelemetry's SDK") as raised:
        importlib.import_module("evenhand.doors.recording.spans")
    assert "evenhand[otel]" in (raised.value.hint or "")

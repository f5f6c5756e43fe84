from __future__ import annotations

import io

import pytest

from evenhand.core.run import ProgressSnapshot
from evenhand.render import progress
from evenhand.render.progress import Progress, line


def snapshot(settled: int = 5, planned: int = 10, **other) -> ProgressSnapshot:
    """A run under way, two seconds in."""
    fields = {
        "passed": settled,
        "failed": 0,
        "errors": 0,
        "under_way": 1,
        "calls": settled,
        "cached": 0,
        "cost_usd": 0.0,
        "waiting": "",
        "seconds": 2.0,
    }
    return ProgressSnapshot(settled=settled, planned=planned, **{**fields, **other})


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that progress goes by."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return clock


def test_a_line_says_how_far_it_is_and_what_it_cost() -> None:
    """Settled, passed, failed, errors, money, rate, time left, and what holds it up."""
    now = snapshot(
        passed=3, failed=1, errors=1, cost_usd=0.0123, waiting="api.openai.com resumes in 7 s"
    )
    assert line(now, bar=False) == (
        "5/10 · 3 passed · 1 failed · 1 error · $0.0123 · 2.5/s · 2.0 s left · api.openai.com resumes in 7 s"
    )
    assert line(now).startswith("━" * 12 + "╌" * 12 + " 5/10")


def test_the_ends_of_a_run_are_lines_too() -> None:
    """Before anything is settled there is no rate; when all is, there is the time it took."""
    assert line(snapshot(0, passed=0), bar=False) == "0/10 · starting"
    assert line(snapshot(10), bar=False) == "10/10 · 10 passed · 2.0 s"
    assert line(snapshot(0, 0), bar=False) == "0/0 · 2.0 s"


def test_a_terminal_sees_one_line_that_rewrites_itself(clock: Clock) -> None:
    """Each state takes the place of the one before, at most ten times a second; the last is left standing."""
    out = io.StringIO()
    live = Progress(out, live=True)
    live.start("Science · 10 trials")
    for i in range(10):
        live.update(snapshot(i))
        clock.now += 0.02
    live.stop()
    drawn = out.getvalue()
    assert drawn.startswith("Science · 10 trials\n\r\x1b[2K")
    assert 3 <= drawn.count("\r\x1b[2K") <= 4
    assert "9/10" in drawn.rpartition("\x1b[2K")[2]
    assert drawn.endswith("\n\n")


def test_colours_are_left_out_where_they_are_not_wanted(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR keeps the line and drops the colours; TERM=dumb gets no escapes at all."""
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    Progress(out, live=True).update(snapshot())
    assert "\x1b[32m" not in out.getvalue()
    assert "\x1b[2K" in out.getvalue()
    monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO()
    dumb = Progress(out, live=True)
    clock.now += 60
    dumb.update(snapshot())
    assert "\x1b" not in out.getvalue()


def test_a_narrow_terminal_gets_the_numbers_before_the_bar(clock: Clock) -> None:
    """A line that would wrap is never written: it could not be rewritten."""
    out = io.StringIO()
    Progress(out, live=True).update(snapshot(waiting="a very long reason " * 3))
    shown = out.getvalue().removeprefix("\r\x1b[2K")
    assert len(shown) <= 79
    assert shown.startswith("5/10")


def test_a_log_gets_a_line_now_and_then(clock: Clock) -> None:
    """Every ten seconds, and once more when it ends."""
    out = io.StringIO()
    log = Progress(out, live=False)
    for i in range(101):
        log.update(snapshot(i, 1000))
        clock.now += 0.3
    log.stop()
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("100/1,000")
    assert "\x1b" not in out.getvalue()


def test_a_log_gets_a_line_for_each_tenth(clock: Clock) -> None:
    """Or sooner, when another tenth is done, but not more than one a second."""
    out = io.StringIO()
    log = Progress(out, live=False)
    for i in range(0, 101, 5):
        log.update(snapshot(i, 100))
        clock.now += 0.8
    assert [text.split("/")[0] for text in out.getvalue().splitlines()] == [
        str(n) for n in range(10, 101, 10)
    ]


def test_a_quick_run_leaves_a_log_alone(clock: Clock) -> None:
    """What is over in a second needs no progress."""
    out = io.StringIO()
    log = Progress(out, live=False)
    for i in range(11):
        log.update(snapshot(i))
        clock.now += 0.05
    log.stop()
    assert out.getvalue() == ""


def test_a_note_stands_above_the_line(clock: Clock) -> None:
    """The line is wiped, the note printed, the line drawn again."""
    out = io.StringIO()
    live = Progress(out, live=True)
    live.update(snapshot())
    live.note("slow\x1b[2J answer")
    text = out.getvalue()
    assert "\r\x1b[2Kevenhand: slow\\x1b[2J answer\n\r\x1b[2K" in text


def test_a_note_may_come_before_and_after(clock: Clock) -> None:
    """Without a line there is nothing to wipe."""
    out = io.StringIO()
    live = Progress(out, live=True)
    live.note("first")
    live.stop()
    assert out.getvalue() == "evenhand: first\n"


def test_a_stream_that_is_gone_does_not_stop_the_run(clock: Clock) -> None:
    """Every method works on a closed stderr."""
    out = io.StringIO()
    live = Progress(out, live=True)
    out.close()
    live.start("x")
    live.update(snapshot())
    live.note("y")
    live.stop()

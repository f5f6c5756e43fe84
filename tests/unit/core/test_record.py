"""Records stand where dataclasses stood: what is written with `dataclasses` keeps working."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace

import pytest
from msgspec import field

from evenhand.core.encoding import encode
from evenhand.core.record import Record


class Point(Record, frozen=True):
    """A place."""

    x: int
    y: int = 0


class Named(Point, frozen=True):
    """One with a name."""

    name: str = ""
    tags: list[str] = field(default_factory=list[str])
    inner: Point | None = None


def test_the_functions_of_dataclasses_take_records() -> None:
    """`replace`, `asdict`, `fields` and `is_dataclass`; defaults and factories are told apart."""
    named = Named(1, name="a", tags=["t"], inner=Point(2))
    assert is_dataclass(named)
    assert replace(named, y=5) == Named(1, 5, "a", ["t"], Point(2))
    assert asdict(named) == {
        "x": 1,
        "y": 0,
        "name": "a",
        "tags": ["t"],
        "inner": {"x": 2, "y": 0},
    }
    assert [f.name for f in fields(Named)] == ["x", "y", "name", "tags", "inner"]
    assert [f.type for f in fields(Point)] == ["int", "int"]
    x, y, _, tags, _ = fields(Named)
    assert x.default is MISSING
    assert y.default == 0
    assert tags.default is MISSING
    assert tags.default_factory is not MISSING
    assert tags.default_factory() == []


def test_records_are_values() -> None:
    """They compare, hash, print, pickle and encode by their fields, and do not change."""
    assert Point(1) == Point(1, 0)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Named(1)
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert pickle.loads(pickle.dumps(Named(1, inner=Point(2)))) == Named(1, inner=Point(2))
    assert encode(Point(1)) == b'{"x":1,"y":0}'
    assert Named(1).tags is not Named(1).tags
    with pytest.raises(AttributeError, match="immutable"):
        Point(1).x = 2  # pyright: ignore[reportAttributeAccessIssue] (what is tested)


def test_a_dataclass_cannot_derive_from_a_record() -> None:
    """It is told what to write instead."""
    with pytest.raises(TypeError, match="without @dataclass"):
        dataclass(frozen=True)(type("More", (Point,), {}))


def test_a_plain_run_imports_what_it_needs() -> None:
    """Neither judges nor simulated users, batches, probes, nor the heavy libraries."""
    code = (
        "import sys, evenhand.cli.run, evenhand.cli.run_request, evenhand.cli.session, evenhand.engine.door, "
        "evenhand.doors.promptfoo.load\n"
        "print(*[m for m in sys.modules if m.startswith(('evenhand.doors.conversations', 'evenhand.scorers.judging', "
        "'evenhand.engine.batch', 'evenhand.engine.replay.regrading', 'evenhand.providers.batches', "
        "'evenhand.wings.judge_checks', "
        "'evenhand.analysis.trust.calibration', "
        "'aiohttp', 'uvloop', 'yaml', 'quickjs', 'email.utils'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


READ_BY_SIX_AT_ONCE = """
import sys, threading
from evenhand.core.record import Record
import msgspec

sys.setswitchinterval(1e-6)
for attempt in range(20):
    for i in reversed(range(30)):
        inner = f"C{i + 1}" if i < 29 else "int"
        fields = {"a": f"{inner} | None", **{f"f{j}": "int" for j in range(8)}}
        kind = {"__annotations__": fields, "__module__": "__main__", "a": None} | dict.fromkeys(list(fields)[1:], 0)
        globals()[f"C{i}"] = type(Record)(f"C{i}", (Record,), kind)
    together = threading.Barrier(6)

    def read(place):
        together.wait()
        msgspec.json.decode(b'{"a": {"a": {"f7": 2}}}', type=globals()[f"C{place % 3}"])

    threads = [threading.Thread(target=read, args=(place,)) for place in range(6)]
    [each.start() for each in threads]
    [each.join() for each in threads]
print("read")
"""


def test_a_record_is_read_for_the_first_time_by_several_threads_at_once() -> None:
    """Up to msgspec 0.22, one of them could find the fields half worked out, and the process crashed: a viewer did."""
    done = subprocess.run(
        [sys.executable, "-c", READ_BY_SIX_AT_ONCE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr

"""The ruby assertion: the Ruby of the machine decides. Where there is none, only what is said of that is tested."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import CodeError, EvenhandError
from evenhand.core.score import Score
from evenhand.doors.assertions.assertion import Assertion, Cell
from evenhand.doors.assertions.kinds import kind_of
from evenhand.doors.assertions.preparing import Computed
from evenhand.doors.assertions.reading import problems
from evenhand.doors.promptfoo.tables import assertion_from_cell
from evenhand.engine.code import CodeHost

GRADER = """
def get_assert(output, context)
  puts 'what it prints is no part of the answer'
  { pass: output.include?(context['vars']['x']), score: 0.5, reason: 'looked for x', named_scores: { 'n' => 1 } }
end

def count(output, context) = output.length
def broken(output, context)
  raise ArgumentError, 'no such order'
end
def leaves(output, context) = exit(3)
def hangs(output, context) = sleep(600)
def nothing(output, context) = nil
def infinite(output, context) = 1.0 / 0
def word(output, context) = 'true'

module Shop
  def self.polite(output, context) = output.start_with?('h')
end
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with a grader; the test is left out where there is no Ruby."""
    if shutil.which("ruby") is None:
        if os.environ.get("REQUIRE_RUBY"):
            pytest.fail("REQUIRE_RUBY is set, but there is no ruby")
        pytest.skip("there is no ruby")
    (tmp_path / "grader.rb").write_text(GRADER)
    return tmp_path


async def scored(
    value: str, base: Path, type_: str = "ruby", limit: float = 30, **more: Any
) -> Score:
    """What the assertion says of "hello"."""
    assertion = Assertion(type=type_, value=value, base=base, **more)
    assert not problems(assertion)
    cell = Cell(
        output="hello",
        prompt="prompt",
        variables={"x": "ell"},
        test={},
        provider_id="echo",
        provider_label="echo",
    )
    with CodeHost(limit_s=limit).open() as host:
        found: Any = kind_of(type_).make(assertion, cell, value).score("hello", host)  # type: ignore[arg-type]
        return await found


async def ended(pid: int) -> None:
    """Waits until a process is gone, or only its remains are there."""
    state = Path(f"/proc/{pid}/stat")
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(pid)


@pytest.mark.parametrize(
    ("value", "more", "passed", "score"),
    [
        ("file://grader.rb", {}, True, 0.5),
        ("file://grader.rb", {"negated": True}, False, 0.5),
        ("file://grader.rb", {"threshold": 0.6}, False, 0.5),
        ("file://grader.rb:count", {}, True, 5),
        ("file://grader.rb:count", {"threshold": 6}, False, 5),
        ("file://grader.rb:word", {}, True, 1),
        ("file://grader.rb:Shop.polite", {}, True, 1),
        ("output.length > 3", {}, True, 1),
        ("return output == context['vars']['x']", {}, False, 0),
        ("n = output.length\nn / 10.0\n", {}, True, 0.5),
    ],
)
async def test_ruby_says_whether_an_output_passes(
    base: Path, value: str, more: dict[str, Any], passed: bool, score: float
) -> None:
    """A function of a file, a method of a class, an expression, a few lines; read as what Python returns."""
    found = await scored(value, base, **more)
    assert (found.passed, found.value) == (passed, score)


@pytest.mark.parametrize("type_", ["python", "javascript"])
async def test_a_ruby_file_is_run_as_ruby_whatever_the_type(base: Path, type_: str) -> None:
    """As in promptfoo, the file's ending decides."""
    assert (await scored("file://grader.rb", base, type_)).reason == "looked for x"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("file://grader.rb:broken", r"raised ArgumentError: no such order \(grader.rb:9\)"),
        ("file://grader.rb:leaves", "leaves ended the program"),
        ("file://grader.rb:missing", r"is not there: grader\.rb has no function missing$"),
        ("file://grader.rb:nothing", "returned nothing"),
        ("file://grader.rb:infinite", "infinite returned what is not JSON"),
        ("output +", "raised SyntaxError"),
    ],
)
async def test_ruby_that_gives_no_verdict_is_an_error(base: Path, value: str, said: str) -> None:
    """Never a score, under not- neither; its file and line are told."""
    with pytest.raises(CodeError, match=said):
        await scored(value, base, negated=True)


@pytest.mark.thorough
async def test_ruby_that_hangs_is_ended(base: Path) -> None:
    """It is an error when the time for a grader is over, and the process is gone."""
    marker = base / "pid"
    (base / "slow.rb").write_text(
        f"def get_assert(output, context)\n  File.write({str(marker)!r}, Process.pid)\n  sleep\nend\n"
    )
    with pytest.raises(CodeError, match=r"slow\.rb:get_assert"):
        await scored("file://slow.rb", base, limit=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


async def test_what_a_ruby_grader_leaves_running_ends_and_its_verdict_counts(base: Path) -> None:
    """A program that it started holds its output open: nobody waits for that."""
    marker = base / "pid"
    (base / "starts.rb").write_text(
        "def get_assert(output, context)\n"
        f"  File.write({str(marker)!r}, spawn('sleep 300'))\n"
        "  true\n"
        "end\n"
    )
    assert (await scored("file://starts.rb", base, limit=60)).passed
    await ended(int(marker.read_text()))


async def test_ruby_computes_the_value_of_another_assertion(base: Path) -> None:
    """`value: file://value.rb` of a type that is not code."""
    (base / "value.rb").write_text("def get_assert(output, context) = context['vars']['x']\n")
    assertion = Assertion(type="contains", value="file://value.rb", base=base)
    assert not problems(assertion)
    cell = Cell(
        output="hello",
        prompt="prompt",
        variables={"x": "ell"},
        test={},
        provider_id="echo",
        provider_label="echo",
    )
    with CodeHost().open() as host:
        found = await Computed(assertion, cell).score("hello", host)  # type: ignore[arg-type]
    assert found.passed


def test_a_cell_of_a_table_may_name_ruby() -> None:
    """With its type or by its ending."""
    assert assertion_from_cell("file://g.rb:f") == {"type": "ruby", "value": "file://g.rb:f"}
    assert assertion_from_cell("ruby: output == 'x'") == {"type": "ruby", "value": "output == 'x'"}


def test_what_is_wrong_with_ruby_is_seen_before_anything_runs(tmp_path: Path) -> None:
    """A file that is not there, a machine without Ruby, and tags in code, which would let a value become code."""
    (tmp_path / "grader.rb").write_text(GRADER)

    def said(value: str, type_: str = "ruby") -> list[str]:
        config = {"rubyExecutable": "no-such-ruby"}
        assertion = Assertion(type=type_, value=value, base=tmp_path, config=config)
        return [" ".join(told[:2]) for told in problems(assertion)]

    (missing,) = said("file://gone.rb")
    assert "gone.rb does not exist" in missing
    for type_ in ("ruby", "python", "contains"):
        (without,) = said("file://grader.rb:count", type_)
        assert "grader.rb:count needs Ruby, and there is no 'no-such-ruby' here" in without
        assert "PROMPTFOO_RUBY" in without
    (tags,) = said("output == '{{x}}'")
    assert "context['vars']" in tags
    cell = Cell(
        output="hello",
        prompt="prompt",
        variables={"x": "1"},
        test={},
        provider_id="echo",
        provider_label="echo",
    )
    with pytest.raises(EvenhandError, match="tags are not filled into Ruby"):
        kind_of("ruby").make(Assertion(type="ruby", value="{{x}}"), cell, "{{x}}")

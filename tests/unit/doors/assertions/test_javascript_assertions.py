"""The javascript assertion, against what promptfoo 0.123 was seen to make of the same code and the output "hello"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import CodeError
from evenhand.core.score import Score
from evenhand.doors.assertions.assertion import Assertion, Cell
from evenhand.doors.assertions.kinds import kind_of
from evenhand.doors.assertions.reading import problems
from evenhand.engine.code import CodeHost


async def scored(value: str, base: Path = Path(), **more: Any) -> Score:
    """What the assertion says of "hello"."""
    assertion = Assertion(type="javascript", value=value, base=base, **more)
    cell = Cell(
        output="hello",
        prompt="prompt",
        variables={"x": "y", "n": 3, "it": "'; 0 //"},
        test={},
        provider_id="echo",
        provider_label="echo",
    )
    with CodeHost().open() as host:
        found: Any = kind_of("javascript").make(assertion, cell, value).score("hello", host)  # type: ignore[arg-type]
        return await found


@pytest.mark.parametrize(
    ("code", "more", "passed", "score"),
    [
        ("output.includes('he')", {}, True, 1),
        ("output === 'hello';", {}, True, 1),
        ("-0.5", {}, False, -0.5),
        ("0.5", {}, True, 0.5),
        ("0.5", {"threshold": 0.4}, True, 0.5),
        ("0.5", {"threshold": 0.6}, False, 0.5),
        ("output.length", {}, True, 5),
        ("const s = output.length; s > 3", {}, True, 1),
        ("const a = output.length; const s = 'a;b'; a > 3;", {}, True, 1),
        ("const a = 1;\nreturn a === 1\n", {}, True, 1),
        ("(function(o){ return o.length>3 })(output)", {}, True, 1),
        ("Promise.resolve(true)", {}, True, 1),
        (
            "(async () => { await 1; return {pass: true, score: 0.5, reason: 'r'} })()",
            {},
            True,
            0.5,
        ),
        ("({pass: true, score: 0.2, reason: 'x'})", {"threshold": 0.5}, True, 0.2),
        ("({pass: true, score: 1})", {}, False, 0),
        ("({pass: 'yes', score: 1, reason: 'x'})", {}, False, 0),
        ("context.vars.x === 'y'", {}, True, 1),
        ("process.env.PATH.length > 0", {}, True, 1),
        ("typeof require === 'function'", {}, False, 0),
        ("'str'", {}, False, 0),
        ("null", {}, False, 0),
        ("undefined", {}, False, 0),
        ("[true]", {}, False, 0),
        ("(output, context) => output.length > 3", {}, False, 0),
        ("function f(output) { return true }", {}, False, 0),
        ("new Boolean(true)", {}, False, 0),
        ("0.4", {"negated": True}, False, 0.4),
        ("true", {"negated": True}, False, 0),
        ("false", {"negated": True}, True, 1),
        ("'abc'", {"negated": True}, False, 0),
        ("({pass: true, score: 0.3, reason: 'x'})", {"negated": True}, False, 0.3),
        ("output.length > {{n}} && '{{x}}' === 'y'", {}, True, 1),
        ("'{{it}}'.length === 7", {}, True, 1),
    ],
)
async def test_a_verdict_is_what_promptfoo_makes_of_it(code, more, passed, score):
    """A boolean, a number, or an object with all three; anything else fails, and `not-` does not mend it."""
    found = await scored(code, **more)
    assert found.passed is passed
    assert found.value == pytest.approx(score)


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("nope.x", "ReferenceError: nope is not defined"),
        ("JSON.parse(output).a", "SyntaxError"),
        ("await Promise.resolve(true)", "SyntaxError"),
        ("0 / 0", "nan"),
    ],
)
async def test_what_raises_is_an_error_under_not_too(code, wrong):
    """An error is never a score."""
    for negated in (False, True):
        with pytest.raises(CodeError, match=wrong):
            await scored(code, negated=negated)


async def test_files_decide_as_code_does(tmp_path: Path):
    """JavaScript by default or by name; a file of Python is run as such."""
    (tmp_path / "g.js").write_text(
        "module.exports = (o, c) => ({pass: true, score: 0.5, reason: c.vars.x, namedScores: {a: 0.25}});\n"
        "module.exports.half = () => 0.5;\n"
    )
    (tmp_path / "g.py").write_text("def get_assert(output, context): return output == 'hello'\n")
    found = await scored("file://g.js", tmp_path)
    assert (found.passed, found.value, found.reason, found.named) == (True, 0.5, "y", {"a": 0.25})
    assert (await scored("file://g.js:half", tmp_path)).value == 0.5
    assert (await scored("file://g.py", tmp_path)).passed is True


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("output ==", "not JavaScript"),
        ("return output === 'hello'", "not JavaScript"),
        ("{% if x %}true{% endif %}", "blocks"),
        ("file://none.js", "none.js does not exist"),
        ("output.length > {{n}}", None),
        ("const a = 1; a > 0", None),
    ],
)
def test_what_is_wrong_is_seen_before_anything_runs(value, wrong):
    """As far as it can be seen without running it."""
    found = problems(Assertion(type="javascript", value=value))
    assert (not found) if wrong is None else any(wrong in what for what, _ in found)

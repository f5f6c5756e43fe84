"""The embedded engine: what it answers, and what ends it."""

from __future__ import annotations

import json
import time

import pytest

from evenhand.core.errors import CodeError
from evenhand.languages.javascript.node import Compiled, Engine, OutOfLimits
from evenhand.languages.javascript.source import body, function_text, module_text


def inline(code: str) -> Compiled:
    """A line of code."""
    return Compiled("inline", function_text(body(code), ("output", "context")))


@pytest.fixture
def engine() -> Engine:
    """One with more time than any test takes."""
    return Engine(5.0)


@pytest.mark.parametrize(
    ("code", "kind", "value"),
    [
        ("output.length > 3", "boolean", True),
        ("1 / 4", "number", 0.25),
        ("3.0", "number", 3),
        ("0 / 0", "number", "NaN"),
        ("-1 / 0", "number", "-Infinity"),
        ("[output, undefined, () => 1]", "array", ["hello", None, None]),
        ("({a: context.vars.x})", "object", {"a": "é😀\u2028"}),
        ("null", "null", None),
        ("undefined", "undefined", None),
        ("() => 1", "function", None),
        ("Symbol('a')", "symbol", None),
        ("'a\\u0000b\\ud800'", "string", "a\x00b\ud800"),
        ("Promise.resolve(7)", "number", 7),
        ("(async () => { await null; return [await 1] })()", "array", [1]),
        ("new Promise(r => setTimeout(() => r('late'), 5))", "string", "late"),
        ("new Promise(r => { const t = setTimeout(r, 1); clearTimeout(t); setTimeout(r, 2, 'b') })", "string", "b"),
        ("typeof require + typeof fetch + typeof std + typeof os", "string", "undefined" * 4),
    ],
)  # fmt: skip
def test_an_answer_is_a_kind_and_a_value(engine, code, kind, value):
    """Promises and timers are waited for; nothing of the machine is there."""
    given = json.dumps(["hello", {"vars": {"x": "é😀\u2028"}}])
    answer = engine.call(inline(code), given)
    assert (answer["kind"], answer.get("value")) == (kind, value)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("nope.x", "ReferenceError: nope is not defined"),
        ("(() => { throw new TypeError('bad') })()", "TypeError: bad"),
        ("(() => { throw {a: 1} })()", 'threw {"a":1}'),
        ("Promise.reject('no')", "threw no"),
        ("10n", "TypeError: BigInt"),
        ("(function f() { return f() + 1 })()", "RangeError: Maximum call stack"),
    ],
)
def test_what_is_thrown_is_told(engine, code, error):
    """With its name, from promises too; the engine can be used again."""
    assert error in engine.call(inline(code), "[1, {}]")["error"]
    assert engine.call(inline("1"), "[1, {}]")["value"] == 1


def test_what_is_printed_comes_with_the_answer(engine):
    """Everything that the console takes, objects as JSON."""
    answer = engine.call(inline("(console.log('a', {b: 1}), console.error(2), true)"), "[1, {}]")
    assert answer["printed"] == ['a {"b":1}', "2"]
    assert "printed" not in engine.call(inline("true"), "[1, {}]")


@pytest.mark.parametrize("code", ["return return 1", "a b"])
def test_what_is_not_javascript_is_said_to_be_so(engine, code):
    """When it is read, not when it is called."""
    with pytest.raises(CodeError, match="SyntaxError"):
        engine.check(inline(code).text)
    with pytest.raises(CodeError, match="SyntaxError"):
        engine.call(inline(code), "[1, {}]")


@pytest.mark.parametrize(
    "code",
    [
        "(() => { while (true) {} })()",
        "(() => { try { while (true) {} } catch { return 1 } })()",
        "(async () => { for (;;) await null })()",
        "new Promise(r => setTimeout(r, 60000))",
    ],
)
def test_what_never_ends_is_ended(code):
    """Loops, promises after promises, and timers beyond the limit."""
    started = time.monotonic()
    with pytest.raises(OutOfLimits, match="too long"):
        Engine(0.1).call(inline(code), "[1, {}]")
    assert time.monotonic() - started < 45


def test_what_takes_all_memory_is_ended(engine):
    """The process goes on."""
    with pytest.raises(OutOfLimits, match="256 MB"):
        engine.call(
            inline("(() => { const a = []; for (;;) a.push('x'.repeat(1e6)) })()"), "[1, {}]"
        )


def test_a_promise_that_nobody_keeps_is_an_error(engine):
    """At once, not after the time limit."""
    with pytest.raises(CodeError, match="never happens"):
        engine.call(inline("new Promise(() => {})"), "[1, {}]")


def test_values_are_never_code(engine):
    """A text that looks like code is a text."""
    hostile = "'); globalThis.owned = 1; ('"
    assert engine.call(inline("output"), json.dumps([hostile, {}]))["value"] == hostile
    assert engine.call(inline("typeof owned"), "[1, {}]")["value"] == "undefined"


def test_a_file_is_run_once_whichever_of_its_functions_is_called(engine):
    """Its functions share its state."""
    text = module_text(
        "let n = 0; module.exports = () => ++n; module.exports.more = () => n += 10;"
    )
    said = [
        engine.call(Compiled("exported", text, name), "[]")["value"] for name in ("", "more", "")
    ]
    assert said == [1, 11, 12]


@pytest.mark.parametrize(
    "code",
    [
        "module.exports = class { constructor(o) { this.o = o } callApi(p) { return p + this.o.k } }",
        "export default class P { constructor(o) { this.o = o } async callApi(p) { return p + this.o.k } }",
        "module.exports = class { constructor(o) { this.o = o } callApi = (p) => p + this.o.k }",
        "module.exports = class extends (class { callApi(p) { return p + 'K' } }) {}",
        "module.exports = function (o) { this.callApi = (p) => p + o.k }",
        "module.exports = { callApi: (p) => p + 'K' }",
        "module.exports = (p) => p + 'K'",
        "module.exports = function (p) { return p + 'K' }",
        "exports.default = { default: async (p) => p + 'K' }",
    ],
)
def test_a_provider_is_a_class_an_object_or_a_function(engine, code):
    """Made with its options, where it is a class."""
    script = Compiled("provider", module_text(code), "", '{"k": "K"}')
    assert engine.call(script, '["callApi", "p", {}]')["value"] == "pK"


@pytest.mark.parametrize(
    ("kind", "name", "wrong"),
    [
        ("exported", "", "exports by default an object, not a function"),
        ("exported", "b", "exports no 'b', only: a"),
        ("provider", "", "neither a class nor an object with callApi"),
    ],
)
def test_a_file_that_exports_something_else_is_told(engine, kind, name, wrong):
    """With what it does export."""
    with pytest.raises(CodeError, match=wrong):
        engine.call(Compiled(kind, module_text("exports.a = () => 1"), name, "{}"), "[]")

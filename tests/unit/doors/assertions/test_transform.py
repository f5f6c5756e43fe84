"""Transforms are JavaScript, as in promptfoo, or Python where only that can be meant."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError
from evenhand.doors.assertions.transform import (
    is_python,
    split_reference,
    transformed,
    transformed_vars,
)
from evenhand.engine.code import CodeHost


@pytest.mark.parametrize(
    "code",
    [
        "output.trim()",
        "JSON.parse(output).answer",
        "output.toUpperCase()",
        "const x = 1; return x",
        "output.split(',').map(x => x)",
        "output === 'a'",
        "output && output.text",
        "output?.text",
        "new Date()",
        "output.includes('a')",
    ],
)
def test_inline_code_is_javascript(code):
    """What promptfoo runs as JavaScript is run as JavaScript."""
    assert not is_python(code)


@pytest.mark.parametrize(
    "code",
    ["output.strip()", "json.loads(output)['answer']", "output[:10]", "output if output else ''", "len(output)",
     "x = output\nreturn x.lower()", "'; '.join(output)", "output if output else None"],
)  # fmt: skip
def test_what_only_python_reads_or_has_is_python(code):
    """Inline Python goes on working."""
    assert is_python(code)


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("file://t.py", ("t.py", "get_transform")),
        ("file://t.py:fn", ("t.py", "fn")),
        ("file://sub/t.py:K.m", ("sub/t.py", "K.m")),
        ("file://C:/t.py", ("C:/t.py", "get_transform")),
        ("file://t.js", ("t.js", "")),
        ("file://t.mjs:fn", ("t.mjs", "fn")),
    ],
)
def test_a_reference_is_a_path_and_a_name(reference, parts):
    """The name may be left out."""
    assert split_reference(reference, "get_transform") == parts


async def test_code_and_files_change_the_output(tmp_path):
    """Both get a copy of the output, and the context."""
    (tmp_path / "t.py").write_text(
        "def get_transform(output, context): return output + context['vars']['x']\n"
        "def nothing(output, context): pass\n"
        "async def later(output, context): return output.upper()\n"
        "def boom(output, context): raise KeyError('k')\n"
    )
    output = {"a": [1]}
    context = {"vars": {"x": "!"}}
    with CodeHost().open() as host:
        assert await transformed("file://t.py", "a", context, tmp_path, host) == "a!"
        assert await transformed("file://t.py:later", "a", context, tmp_path, host) == "A"
        assert await transformed(
            "output['a'].append(2) or output", output, context, tmp_path, host
        ) == {"a": [1, 2]}
        assert output == {"a": [1]}
        with pytest.raises(CodeError, match=r"t\.py:nothing returned nothing"):
            await transformed("file://t.py:nothing", "a", context, tmp_path, host)
        with pytest.raises(CodeError, match=r"t\.py:boom raised KeyError: 'k' \(t\.py:4\)"):
            await transformed("file://t.py:boom", "a", context, tmp_path, host)
        with pytest.raises(CodeError, match="transform: SyntaxError"):
            await transformed("output +", "a", context, tmp_path, host)


@pytest.mark.parametrize(
    ("code", "came_to"),
    [
        ("output.toUpperCase()", "HELLO"),
        ("output.toUpperCase();", "HELLO"),
        ("const u = output.toUpperCase();\nreturn u + context.vars.x;\n", "HELLO!"),
        ("({text: output, n: 1.0, none: null})", {"text": "hello", "n": 1, "none": None}),
        ("Promise.resolve('A')", "A"),
        ("process.env.PATH.length > 0", True),
    ],
)
async def test_inline_javascript_changes_the_output(tmp_path, code, came_to):
    """One line is what it comes to, several lines return for themselves, promises are waited for."""
    with CodeHost().open() as host:
        assert (await transformed(code, "hello", {"vars": {"x": "!"}}, tmp_path, host)) == came_to


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("null", "transform returned nothing"),
        ("undefined", "transform returned nothing"),
        ("nope.x", "transform: ReferenceError: nope is not defined"),
        ("(output) => output.trim()", "transform returned a function"),
        ("const a = output; a.trim()", "transform: SyntaxError"),
    ],
)
async def test_javascript_that_returns_nothing_or_fails_is_an_error(tmp_path, code, wrong):
    """As in promptfoo, where each of these is the error of its row, or "undefined"."""
    with CodeHost().open() as host, pytest.raises(CodeError, match=wrong):
        await transformed(code, "hello", {"vars": {}}, tmp_path, host)


async def test_files_of_javascript_change_the_output(tmp_path):
    """The default export, or the one that is named."""
    (tmp_path / "t.js").write_text(
        "module.exports = (output, context) => output + context.vars.x;\n"
        "module.exports.shout = (output) => `${output}!`;\n"
    )
    (tmp_path / "t.mjs").write_text("export default async function (output) { return [output]; }\n")
    with CodeHost().open() as host:
        context = {"vars": {"x": "?"}}
        assert await transformed("file://t.js", "a", context, tmp_path, host) == "a?"
        assert await transformed("file://t.js:shout", "a", context, tmp_path, host) == "a!"
        assert await transformed("file://t.mjs", "a", context, tmp_path, host) == ["a"]


async def test_variables_are_changed_by_code(tmp_path):
    """JavaScript, Python and files; whatever they return has to be an object."""
    (tmp_path / "v.py").write_text("def get_transform(vars, context): return {**vars, 'y': 3}\n")
    with CodeHost().open() as host:
        for code, came_to in (
            ("({...vars, y: vars.x + 1})", {"x": 1, "y": 2}),
            ("dict(vars, y=vars['x'] + 2)", {"x": 1, "y": 3}),
            ("file://v.py", {"x": 1, "y": 3}),
        ):
            assert await transformed_vars(code, {"x": 1}, {}, tmp_path, host) == came_to
        with pytest.raises(CodeError, match="transformVars returned a list, not an object"):
            await transformed_vars("[vars]", {"x": 1}, {}, tmp_path, host)

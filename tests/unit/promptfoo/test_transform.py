"""Transforms are Python; what looks like JavaScript is told apart."""

from __future__ import annotations

import pytest

from evenhand.core.errors import CodeError
from evenhand.engine.code import CodeHost
from evenhand.promptfoo.transform import looks_like_javascript, split_reference, transformed


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
        "return output;",
    ],
)
def test_javascript_is_recognised(code):
    """A config from promptfoo gets a clear answer, not a syntax error."""
    assert looks_like_javascript(code)


@pytest.mark.parametrize(
    "code",
    ["output.strip()", "json.loads(output)['answer']", "output[:10]", "output if output else ''", "len(output)",
     "x = output\nreturn x.lower()", "output['slice']", "'; '.join(output)"],
)  # fmt: skip
def test_python_is_not_taken_for_javascript(code):
    """What works is not refused."""
    assert not looks_like_javascript(code)


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("file://t.py", ("t.py", "get_transform")),
        ("file://t.py:fn", ("t.py", "fn")),
        ("file://sub/t.py:K.m", ("sub/t.py", "K.m")),
        ("file://C:/t.py", ("C:/t.py", "get_transform")),
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
        with pytest.raises(CodeError, match="is not Python"):
            await transformed("output +", "a", context, tmp_path, host)

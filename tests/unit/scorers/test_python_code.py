"""What the user's own Python may be, and what it may return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from evenhand.core.errors import CodeError
from evenhand.scorers.python_code import (
    PythonCode,
    PythonFile,
    plain_copy,
    python_function,
    verdict_of,
)


@dataclass
class Grading:
    """As promptfoo's Python examples write it."""

    pass_: bool
    score: float
    reason: str
    named_scores: dict = field(default_factory=dict)


class Passed(NamedTuple):
    """Another shape that a verdict may have."""

    passed: bool
    score: float
    reason: str


OK = {"pass": True, "score": 0.5, "reason": "r"}


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("output == 'hi'", True),
        ("  len(output)  ", 2),
        ("len(output)\n", 2),
        ("json.dumps(context['vars'])", '{"a": 1}'),
        ("(output == 'hi'\n and context['vars']['a'] == 1)", True),
        ("x = len(output)\nreturn x", 2),
        ("\n    x = len(output)\n    return x\n", 2),
        ("import re\nif re.match('h', output):\n    return 1\nreturn 0", 1),
        ('text = """a\n  b"""\nreturn text', "a\n  b"),
        ("def f():\n    return 3\nreturn f()", 3),
        ("return output == 'hi'", True),
        ("{'pass': True}", {"pass": True}),
    ],
)
def test_code_is_an_expression_or_the_body_of_a_function(code, result):
    """`output`, `context` and `json` are there; indentation and line ends around do not matter."""
    assert python_function(code)("hi", {"vars": {"a": 1}}) == result


async def test_code_may_await():
    """Code with `await` becomes an async function."""
    function = python_function("import asyncio\nawait asyncio.sleep(0)\nreturn output")
    assert await function("hi", {}) == "hi"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("output ==", "is not Python"),
        ("x = 1\nreturn x +", "line 2 is not Python"),
        ("output && true", "is not Python"),
        ("x = 1\nprint(x)", "never returns"),
        ("def f():\n    return 1\nf()", "never returns"),
        ("", "is empty"),
        ("'\0'", "is not Python"),
        ("'\ud800'", "is not Python"),
        ("break\nreturn 1", "is not Python"),
    ],
)
def test_what_cannot_work_is_refused_before_it_runs(code, what):
    """Broken code, and code that returns nothing, are found when the config is read."""
    with pytest.raises(CodeError, match=what):
        python_function(code)


@pytest.mark.parametrize(
    ("result", "threshold", "value", "passed"),
    [
        (True, None, 1.0, True),
        (False, None, 0.0, False),
        (True, 0.9, 1.0, True),
        (0.5, None, 0.5, True),
        (0, None, 0.0, False),
        (-1, None, -1.0, False),
        (5, None, 5.0, True),
        (0.5, 0.5, 0.5, True),
        (0.49, 0.5, 0.49, False),
        (0.1 + 0.2, 0.3, 0.1 + 0.2, True),
        ("true", None, 1.0, True),
        (" FALSE ", None, 0.0, False),
        ("0.3", None, 0.3, True),
        ('{"pass": true, "score": 0.2, "reason": "r"}', None, 0.2, True),
        (OK, None, 0.5, True),
        ({**OK, "pass": False}, None, 0.5, False),
        (OK, 0.6, 0.5, False),
        ({"pass_": True, "score": 3, "reason": ""}, None, 3.0, True),
        (Grading(pass_=True, score=0.7, reason="r"), None, 0.7, True),
        (Passed(passed=False, score=0.1, reason="r"), None, 0.1, False),
        (np.float32(0.5), None, 0.5, True),
        (np.bool_(True), None, 1.0, True),
        (np.int64(2), None, 2.0, True),
        ({"pass": np.bool_(True), "score": np.float64(1), "reason": "r"}, None, 1.0, True),
    ],
)
def test_every_form_of_a_verdict_is_understood(result, threshold, value, passed):
    """Bools, numbers, text, dicts and objects, NumPy's too; scores above 1 are kept."""
    score = verdict_of(result, threshold, "g.py:get_assert")
    assert score.value == pytest.approx(value)
    assert score.passed is passed


@pytest.mark.parametrize(
    ("result", "value", "passed"),
    [
        (True, 0.0, False),
        (False, 1.0, True),
        (0.5, 0.5, False),
        (1.0, 1.0, False),
        (0, 0.0, True),
        ({**OK, "pass": False}, 0.5, True),
    ],
)
def test_not_turns_the_verdict_round_and_keeps_a_score_that_was_given(result, value, passed):
    """A bool's score follows its verdict; a number stays the number that it is."""
    score = verdict_of(result, None, "g", negated=True)
    assert (score.value, score.passed) == (value, passed)


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (None, "returned nothing"),
        ([], "returned a list"),
        (object(), "returned a object"),
        ("looks fine", "returned the text"),
        ("{broken", "returned the text"),
        (float("nan"), "a score of nan"),
        ("inf", "a score of inf"),
        (10**400, "a score of inf"),
        ({}, "without 'pass' and 'score' and 'reason'"),
        ({"pass": True, "score": 1}, "without 'reason'"),
        ({**OK, "pass": "yes"}, "neither True nor False"),
        ({**OK, "score": "1"}, "not a number"),
        ({**OK, "score": True}, "not a number"),
        ({**OK, "score": float("nan")}, "a 'score' of nan"),
        ({**OK, "named_scores": {"a": "x"}}, "named score 'a'"),
        ({**OK, "namedScores": {"a": float("inf")}}, "named score 'a' of inf"),
    ],
)
@pytest.mark.parametrize("negated", [False, True])
def test_what_is_no_verdict_is_an_error_and_never_a_score(result, what, negated):
    """Nothing, NaN and half a dict are neither a fail nor, with `not-`, a pass."""
    with pytest.raises(CodeError, match=what):
        verdict_of(result, None, "g", negated=negated)


def test_named_scores_components_and_metadata_are_kept_in_either_spelling():
    """What a grader says beside its verdict is not lost."""
    snake = verdict_of(
        {**OK, "named_scores": {"a": 0.25, "b": True}, "component_results": [Grading(False, 0, "sub")],
         "metadata": {"k": 1}}, None, "g",
    )  # fmt: skip
    camel = verdict_of(
        {**OK, "namedScores": {"a": 0.25}, "componentResults": [{"pass": True}]}, None, "g"
    )
    assert snake.named == {"a": 0.25, "b": 1.0}
    assert snake.metadata == {
        "k": 1,
        "components": [{"pass": False, "score": 0.0, "reason": "sub"}],
    }
    assert camel.named == {"a": 0.25}
    assert camel.metadata["components"] == [{"pass": True, "score": None, "reason": ""}]


async def test_a_file_is_asked_with_two_arguments_and_defaults_keep_theirs(tmp_path, trial):
    """A grader may have more parameters than we fill."""
    file = tmp_path / "g.py"
    file.write_text(
        "def get_assert(output, context, threshold=4.5):\n    return context['n'] >= threshold\n"
    )
    score = await PythonFile(file, "get_assert", lambda: {"n": 5}).score("x", trial)
    assert score.passed
    assert trial.ran == ["g.py:get_assert"]


async def test_a_file_may_be_async_and_name_a_method(tmp_path, trial):
    """`file://g.py:Class.method` and `async def` both work."""
    file = tmp_path / "g.py"
    file.write_text(
        "class K:\n    @staticmethod\n    def m(output, context): return 0.75\n"
        "async def later(output, context): return len(output) > 0\n"
    )
    assert (await PythonFile(file, "K.m", dict).score("x", trial)).value == 0.75
    assert (await PythonFile(file, "later", dict).score("x", trial)).passed


async def test_an_error_in_a_grader_names_the_line(tmp_path, trial):
    """The message says what was raised, in which file and line."""
    file = tmp_path / "g.py"
    file.write_text("def get_assert(output, context):\n    raise ValueError('boom')\n")
    with pytest.raises(
        CodeError, match=r"g\.py:get_assert raised ValueError: boom \(g\.py:2\)"
    ) as caught:
        await PythonFile(file, "get_assert", dict, negated=True).score("x", trial)
    assert str(file) in caught.value.hint


async def test_what_a_grader_changes_no_other_sees(trial):
    """Output and context are copies."""
    output = {"a": [1]}
    code = "output['a'].append(2)\nreturn len(output['a']) == 2"
    scorer = PythonCode(code, dict, place="c.yaml:3:5")
    assert (await scorer.score(output, trial)).passed
    assert output == {"a": [1]}
    assert trial.ran == ["c.yaml:3:5"]
    assert plain_copy(output) == output


def test_labels_name_the_file_or_quote_the_first_line(tmp_path):
    """A label fits on a line."""
    assert str(PythonFile(tmp_path / "g.py", "get_assert", dict)) == "python g.py"
    assert str(PythonFile(tmp_path / "g.py", "fn", dict, negated=True)) == "not-python g.py:fn"
    assert str(PythonCode("\n  x = 1\n  return x", dict)) == 'python "x = 1"'

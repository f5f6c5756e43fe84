"""Values filled into Python code stay values."""

from __future__ import annotations

import contextlib

import pytest

from evenhand.core.errors import TemplateError
from evenhand.doors.assertions.values_in_code import python_filled

NASTY = 'it\'s "x"\n{y} \\d {{z}} #'
VARS = {"s": NASTY, "n": 3, "f": 1.5, "b": True, "l": [1, "a"], "d": {"k": None}, "none": None, "p": r"\d+",
        "inject": '" + __import__("os").getcwd() + "', "call": "print(1)", "zeros": "007", "digits": "٣",
        "half": "00.5", "nought": "00"}  # fmt: skip


def value_of(code: str) -> object:
    """What the code comes to, with the variables filled in."""
    return eval(python_filled(code, VARS), {})


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("'{{s}}'", NASTY),
        ('"{{s}}"', NASTY),
        ('"""{{s}}"""', NASTY),
        ("'''a {{s}}'''", "a " + NASTY),
        ('f"{1 + 1}{{s}}"', "2" + NASTY),
        ('"a\\"{{s}}"', 'a"' + NASTY),
        ('("#", "{{s}}")', ("#", NASTY)),
        ("('', \"{{n}}\")", ("", "3")),
        ("(1, # it's\n'{{s}}')", (1, NASTY)),
        ("{{s}}", NASTY),
        ("{{n}} + {{f}}", 4.5),
        ("{{b}} is True", True),
        ("{{l}} + {{l}}", [1, "a", 1, "a"]),
        ("{{d}}", {"k": None}),
        ("{{none}} is {{missing}}", True),
        ("{{ s | dump }}", NASTY),
        ("{{ l | dump }}", [1, "a"]),
        ("{{ d|dump }}", {"k": None}),
        ("{{ missing | dump }}", None),
        ("{{ l | length }}", 2),
        ('r"{{p}}"', r"\d+"),
        ('rf"{1}{{p}}"', r"1\d+"),
        ('f"{1.5:{{n}}}|{{n}}"', "1.5|3"),
        ('"{{inject}}"', '" + __import__("os").getcwd() + "'),
        ("{{call}}", "print(1)"),
        ("{{zeros}}", "007"),
        ("{{digits}}", "٣"),
        ("{{half}} + 1", 1.5),
        ("{{nought}}", 0),
        ("1 + 1", 2),
    ],
)
def test_a_tag_becomes_the_value_that_it_stands_for(code, value):
    """In quotes it is escaped, outside of them it is a literal; it never becomes code."""
    assert value_of(code) == value


@pytest.mark.parametrize("name", ["s", "inject"])
def test_a_raw_string_takes_no_quotes(name):
    """There is no way to escape them there, so it is refused."""
    with pytest.raises(TemplateError, match="raw string"):
        python_filled(f'r"{{{{{name}}}}}"', VARS)


def test_blocks_have_no_meaning_in_code():
    """What a loop writes could not be told from code."""
    with pytest.raises(TemplateError, match="blocks"):
        python_filled("{% if b %}1{% endif %}", VARS)


@pytest.mark.parametrize(
    "code",
    [
        'rf"{{x}}"',
        'f"{ {{x}} }"',
        'f"}} { {{x}} }"',
        'f"{len([{{x}}])}"',
        "f\"{d['{{x}}']}\"",
        "f{{x}}",
        "rf{{ x | dump }}",
    ],
)
@pytest.mark.parametrize("value", ["{__import__(chr(111))}", "__import__(chr(111))"])
def test_no_value_is_code_in_an_f_string(code, value):
    """Where braces would make it code, it is refused, or else it is just text."""
    done = ""
    with contextlib.suppress(TemplateError):
        done = python_filled(code, {"x": value})
    assert not done or eval(done, {"__builtins__": {}}) == value

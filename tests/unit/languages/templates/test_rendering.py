"""Templates print what Nunjucks prints, and what is filled in is never a template."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenhand.core.errors import TemplateError
from evenhand.languages.templates.printing import as_json, number_text, printed
from evenhand.languages.templates.rendering import NO_CONFIG, Templates, has_tags, names_in

render, compiled, check = NO_CONFIG.render, NO_CONFIG.compiled, NO_CONFIG.problem

VARS = {
    "s": "a{{x}}b",
    "x": "X",
    "t": True,
    "n": None,
    "i": 3,
    "f": 1.0,
    "l": [1, True, "x", None],
    "d": {"k": 1, "items": [{"n": "p"}, {"n": "q"}], "b": False, "keys": "mine"},
    "o": [{"a": 1}],
    "my": {"deep": {"er": "!"}},
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("{{x}}", "X"),
        ("a {{ x }} b {{x}}", "a X b X"),
        ("{{ my.deep.er }}", "!"),
        ("{{ s }}", "a{{x}}b"),
        ("{{ missing }}|{{ missing.a.b }}|{{ x.a.b }}", "||"),
        ("{{ t }}|{{ n }}|{{ i }}|{{ f }}", "true||3|1"),
        ("{{ l }}", "1,true,x,"),
        ("{{ o }} {{ my }}", "[object Object] [object Object]"),
        ("{{ s.length }} {{ l.length }}", "7 4"),
        ('{"a": {"b": "{{x}}"}}', '{"a": {"b": "X"}}'),
        ("{{ d.keys }}{{ x.__class__ }}{{ x.upper }}", "mine"),
        ("}} {x} %}", "}} {x} %}"),
        ("é {{x}} 😀\n", "é X 😀\n"),
    ],
)
def test_plain_tags_print_values_as_nunjucks_does(template, text):
    """Text as it is, `true` in lower case, whole numbers without a point, nothing for nothing."""
    assert render(template, VARS) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ s | upper }}", "A{{X}}B"),
        ('{{ l | join(", ") }}', "1, true, x, "),
        ("{{ my | dump }}{{ missing | dump }}", '{"deep":{"er":"!"}}'),
        ("{{ o | dump(2) }}", '[\n  {\n    "a": 1\n  }\n]'),
        ("{% for k, v in my.deep %}{{k}}={{v}}{% endfor %}", "er=!"),
        (
            '{% for x in d.items %}{{ loop.index }}/{{ loop.length }}{{ x.n }}{{ "," if not loop.last }}{% endfor %}',
            "1/2p,2/2q",
        ),
        ("{% for x in missing %}a{% else %}none{% endfor %}", "none"),
        ('{% if t === true and i !== 4 %}y{% endif %}{% if x == "===" %}n{% endif %}', "y"),
        ("{% if i > 2 and not n or false %}y{% elif t %}z{% else %}w{% endif %}", "y"),
        ("{# gone #}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ('{{ "abc".split("b")[1].toUpperCase() }}{{ x.toLowerCase() }}', "Cx"),
        ('{{ s.includes("{{") }} {{ l.includes(1) }} {{ s.indexOf("b") }}', "true true 6"),
        ('{{ s.replace("a", "z").slice(0, 2) }}{{ l.slice(0, 2).join("-") }}', "z{1-true"),
        ("{{ x if t }}{{ x if n }}{{ 1 if n else 2 }}", "X2"),
        ('{{ "<b>" | escape }}{{ "<" | e | upper }}{{ "<" }}', "&lt;b&gt;&LT;<"),
        ("{{ 7 / 2 }} {{ 4 / 2 }} {{ 7 // 2 }} {{ 2 ** 3 }}", "3.5 2 3 8"),
        ('{{ "a" + 1 }}{{ i + 1 }}{{ 1 + "b" + t }}', "a141btrue"),
        ('{{ missing + "a" }}{{ 1 / 0 }}', "undefinedaInfinity"),
        ("{{ env.HOME.length > 0 }}", "true"),
        ("{{ i.toFixed(2) }} {{ f.toString() }}", "3.00 1"),
        ('{{ missing | default("d") }} {{ n | default("e", true) }}', "d e"),
        ('{{ "the quick" | title }} {{ t | string }} {{ " a " | trim }}', "The Quick true a"),
        ('{{ "abcdef" | truncate(3) }} {{ "ab cd" | truncate(4) }}', "abc... ab..."),
        ('{{ "a\nb" | nl2br }}', "a<br />\nb"),
        ("{{ '[1, 2]' | load | last }}", "2"),
        ("{% set y = x %}{{ y }}{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}", "X[1]"),
        ("{{ d['k'] }}{{ l[0] }}{{ l[9] }}{{ null }}{{ none }}{{ true }}", "11true"),
        ("{{ '{{' }} {{x}}", "{{ X"),
        ('{{ "k" in d }} {{ t and x }} {{ n or "z" }}', "true X z"),
        ("{{- x -}} a", "Xa"),
        ("{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }} {% endfor %}", "12 34 "),
        ('{{ d.items | join("+", "n") }} {{ "aXbX" | replace("X", "-") }}', "p+q a-b-"),
        ('{{ "ab" | truncate(5) }} {{ [1, 2].length }} {{ d.items.length | string }}', "ab 2 2"),
        ("{{ t }} {{ not t }} {{ 1.5 }}", "true false 1.5"),
        ("a\n{% if t %}\nb\n{% endif %}\n", "a\n\nb\n\n"),
    ],
)
def test_everything_else_is_what_nunjucks_makes_of_it(template, text):
    """Filters, loops, JavaScript's everyday methods, `===`."""
    assert render(template, VARS) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a", "{{ a"),
        ("Write {{ like this\n{{x}}", "Write {{ like this\nX"),
        ("{% is open\n{{x}}", "{% is open\nX"),
        ("{# is open\n{{x}}", "{# is open\nX"),
    ],
)
def test_a_line_that_opens_a_tag_and_never_closes_it_is_text(template, text):
    """Prompts quote code; the other lines are filled in all the same."""
    assert render(template, VARS) == text


@pytest.mark.parametrize(
    "value", ["{{ x }}", "{% raw %}", "{# c #}", "{{ 7*7 }}", "\\", "\x00", "%}"]
)
@pytest.mark.parametrize(
    "template", ["{{ v }}", "[{{ v }}]{{ v }}", "{{ v | trim }}", "{% if v %}{{ v }}{% endif %}"]
)
def test_values_are_never_templates(template, value):
    """A tag in a value is text, on the fast path and on the slow one."""
    assert value in render(template, {"v": value, "x": "SECRET"})
    assert "SECRET" not in render(template, {"v": value, "x": "SECRET"})


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}{{ x.__init__.__globals__ }}",
        "{{ self.__dict__ }}{{ loop }}",
        "{{ x['__class__'] }}{{ x.constructor }}{{ x['constructor'] }}{{ l.__proto__ }}",
        "{{ range.constructor }}{{ my.deep.constructor.name }}",
        "{{ (1).__class__ }}{{ l.append }}{{ d.pop }}",
    ],
)
def test_nothing_behind_a_value_is_ever_reached(template):
    """No template gets at what a value is made of, in Python or in JavaScript."""
    text = render(template, VARS)
    assert "class" not in text
    assert "object" not in text
    assert "built-in" not in text


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{% for %}", 1),
        ("a\nb {{ x | nofilter }}", 2),
        ("a\n{{ 1 + }}", 2),
        ("{% endif %}", 1),
    ],
)
def test_a_template_that_cannot_be_read_says_in_which_line(template, line):
    """`check` puts the same in words for whoever reads the config."""
    with pytest.raises(TemplateError, match=f"line {line}"):
        compiled(template)
    problem = check(template)
    assert problem is not None
    assert f"line {line}" in problem


@pytest.mark.parametrize(
    "template",
    [
        "a\n{{ missing() }}",
        "{{ 'a'.repeat(10 ** 12) }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
    ],
)
def test_a_template_that_cannot_be_filled_in_is_an_error(template):
    """It is ours to say so, not to print half of it."""
    assert check(template) is None
    with pytest.raises(TemplateError, match="could not be filled in"):
        render(template, {})


def test_tags_and_their_names_are_seen():
    """For hints: which variables plain tags name."""
    assert [has_tags(t) for t in ("a", "{{a}}", "{%", "{#", "{a}")] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert names_in("{{ a.b }} {{c}} {{ d | upper }}") == {"a", "c"}
    assert check("{{ a }}") is None


def test_numbers_print_as_in_javascript():
    """Whole ones without a point, others as short as they go."""
    assert [printed(v) for v in (1.0, 0.1, -2.5, 10**20, 1e21, True, 0)] == [
        "1", "0.1", "-2.5", "100000000000000000000", "1e+21", "true", "0"]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (1.5e22, "1.5e+22"),
        (12345678901234567890, "12345678901234567000"),
        (-12345678901234567890.0, "-12345678901234567000"),
        (2**53, "9007199254740992"),
        (123456789.125, "123456789.125"),
        (10**400, "Infinity"),
    ],
)
def test_numbers_of_any_size_print_as_in_javascript(number, text):
    """As short as they go, and with an exponent only where JavaScript has one."""
    assert number_text(number) == text


def test_what_json_has_no_form_for_still_prints():
    """A value of the user's own class is its text."""
    assert as_json({"a": object}) == '{"a":"<class \'object\'>"}'


@pytest.mark.parametrize(
    "tag", ["{{ env.LBL }}", "{{env.LBL}}", "{{ env['LBL'] }}", "{{ env.LBL | trim }}"]
)
@pytest.mark.parametrize("around", ["%s", "{{ x }}%s{{ y.z }}"])
def test_the_environment_is_seen_however_its_tag_is_written(tag, around):
    """`{{ env.NAME }}` beside plain names is no variable of that name."""
    assert Templates({"LBL": "now"}).render(around.replace("%s", tag), {}) == "now"


def test_plain_templates_do_not_load_an_engine():
    """An engine takes some milliseconds, and most configs never need it."""
    code = (
        "import sys; from evenhand.languages.templates.rendering import NO_CONFIG; render = NO_CONFIG.render; "
        "render('{{a}} {{b.c}}', {'a': 1}); "
        "print([m for m in ('quickjs', 'yaml', 'jsonschema_rs', 'aiohttp', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

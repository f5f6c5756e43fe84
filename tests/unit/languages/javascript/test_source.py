"""JavaScript, read as text."""

from __future__ import annotations

import pytest

from evenhand.languages.javascript.source import (
    body,
    exports_nothing_called,
    masked,
    module_text,
    wants_node,
)


@pytest.mark.parametrize(
    ("code", "declarations", "text"),
    [
        ("output.length > 3", False, "return output.length > 3"),
        ("output.length > 3\n", False, "return output.length > 3"),
        ("const a = 1;\nreturn a", False, "const a = 1;\nreturn a"),
        ("const a = 1; a > 0", False, "return const a = 1; a > 0"),
        ("const a = 1; a > 0", True, "const a = 1; return a > 0"),
        ("let s = 'a;b'; s == ';'", True, "let s = 'a;b'; return s == ';'"),
        ("var a = 1; a > 0;", True, "var a = 1; return a > 0;"),
        ("constant > 0; x", True, "return constant > 0; x"),
        ("const a = 1", True, "return const a = 1"),
    ],
)
def test_a_line_is_what_it_returns_and_lines_return_for_themselves(code, declarations, text):
    """Where declarations may come first, the last statement is what is returned."""
    assert body(code, declarations=declarations) == text


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("const fs = require('fs')", "require"),
        ("import x from 'y'", "import x"),
        ("import './side.js'", "import"),
        ("const m = await import('x')", "import"),
        ("export * from './x.js'", "export * from"),
        ("export { a } from './x.js'", "export { a } from"),
        ("await fetch(url)", "fetch"),
        ("new URL(x).host", "new URL"),
        ("Buffer.from(x)", "Buffer"),
        ("process.exit(1)", "process.exit"),
        ("(1234.5).toLocaleString()", "toLocaleString"),
        ("d.toLocaleDateString('de')", "toLocaleDateString"),
        ("l.sort((a, b) => a.localeCompare(b))", "localeCompare"),
        ("`${n.toLocaleString()} $`", "toLocaleString"),
        ("`a ${b} ${new Intl.NumberFormat('de').format(n)}`", "new Intl.NumberFormat"),
        ("typeof fetch === 'function'", "typeof fetch"),
        ("URL.canParse(output)", "URL"),
        ("s.toLocaleUpperCase() + toLocaleString + 'a.localeCompare(b)'", ""),
        ("typeof output + `typeof fetch ${output}`", ""),
        ("process.env.HOME + process.cwd()", ""),
        ("x.require('a'); x.fetch('b')", ""),
        ("'require(1)' + `import x` // import y\n/* fetch(1) */", ""),
        ("/require(/.test(x) ? 1 : 2", ""),
        ("a / require / b", ""),
        ("const important = 1, refetch = 2; refetch(important)", ""),
    ],
)
def test_what_only_node_has_is_seen(code, wanted):
    """In code; not in texts, comments, patterns and other names."""
    assert wants_node(code) == wanted


def test_masking_keeps_every_place():
    """Lines and columns stay; only what is inside is gone."""
    code = "a = 'x\\'y' + /[/'\"]+/g.source; // it's\nb = `c\n${d}` / 2 / e"
    seen = masked(code)
    assert len(seen) == len(code)
    assert seen.count("\n") == code.count("\n")
    assert seen.replace(" ", "").replace("\n", "") == "a=''+.source;b=``/2/e"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("export default (o) => o;", "exports.default = (o) => o;"),
        ("export default function f() {}\nf();", "exports.default = f;"),
        ("export default async function () {}", "exports.default = async function () {}"),
        ("export default class extends X {}", "exports.default = class extends X {}"),
        ("export const a = 1, b = 2;", "exports.a = a;"),
        ("export async function g() {}", "exports.g = g;"),
        ("function h() {}\nexport { h, h as default };", "exports['default'] = h;"),
        ("#!/usr/bin/env node\nmodule.exports = 1;", "//#!/usr/bin/env node"),
    ],
)
def test_exports_are_said_in_the_older_syntax(code, said):
    """A file's code becomes a function of `module` and `exports`."""
    text = module_text(code)
    assert said in text
    assert "export " not in text.replace("exports", "")


def test_an_export_in_a_text_is_none():
    """Only code exports."""
    assert "`\nexport default 1\n`" in module_text("const s = `\nexport default 1\n`;")


def test_a_file_that_does_not_mention_a_name_does_not_export_it():
    """Of a name with dots, the first part counts; without a name, it is the default export."""
    assert exports_nothing_called("exports.other = 1", "name")
    assert not exports_nothing_called("exports.name = 1", "name.inner")
    assert not exports_nothing_called("anything", "")

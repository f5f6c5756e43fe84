// Records what Nunjucks makes of some hundreds of templates under Node, as nunjucks_cases.jsonl beside this file: one
// line for each, {template, vars, text} or {template, vars, error}. The tests read that file and need no Node.
//
// To record anew, in a folder with `npm install nunjucks@3.2.4`:
//     NUNJUCKS=$PWD/node_modules/nunjucks/index.js node tests/oracle/nunjucks_cases.mjs
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";

const nunjucks = createRequire(import.meta.url)(process.env.NUNJUCKS ?? "nunjucks");
const env = new nunjucks.Environment([{ getSource: () => null }], { autoescape: false });
env.addFilter("load", (text) => JSON.parse(text));
env.addGlobal("env", { PLACE: "here" });

const VARS = {
  s: "Hello, World", e: "", q: 'say "hi" & <go>', u: "Grüße 😀", multi: "a\nb\n", n: 3, z: 0, f: 1.5, w: 2.0, neg: -0.25,
  tiny: 1e-7, huge: 1e21, long: 0.1, t: true, b: false, no: null, l: ["b", "a", "c"], nums: [3, 1, 2], mixed: [1, "x", true, null, [2, 3]],
  none: [], o: { a: 1, b: "two", c: { d: [1, { e: "deep" }] } }, rows: [{ k: "x", v: 1 }, { k: "y", v: 2 }, { k: "x", v: 3 }],
  json: '{"a": [1, 2], "b": null}', tags: "{{ s }} {% if %}", html: "<b>bold</b>", csv: "a,b,,c", words: "the quick brown fox",
};

const values = Object.keys(VARS);
const templates = [
  ...values.map((v) => `<{{ ${v} }}>`),
  ...values.map((v) => `{{${v}}}{{ ${v} | dump }}`),
  ...values.map((v) => `{% if ${v} %}yes{% else %}no{% endif %}{{ not ${v} }}{{ ${v}.length }}`),
  ...values.map((v) => `{{ ${v} | string }}|{{ ${v} | length }}|{{ ${v} | default("d") }}|{{ ${v} | default("d", true) }}`),
  ...values.map((v) => `{% for x in ${v} %}[{{ loop.index0 }}:{{ x }}]{% else %}empty{% endfor %}`),
  ...["s", "e", "q", "u", "multi", "words", "csv", "html"].flatMap((v) => [
    `{{ ${v} | upper }}{{ ${v} | lower }}{{ ${v} | capitalize }}{{ ${v} | title }}{{ ${v} | trim }}`,
    `{{ ${v} | replace("a", "z") }}|{{ ${v} | replace("o", "", 1) }}|{{ ${v} | reverse }}|{{ ${v} | first }}|{{ ${v} | last }}`,
    `{{ ${v} | escape }}|{{ ${v} | safe }}|{{ ${v} | e | e }}|{{ ${v} | urlencode }}|{{ ${v} | striptags }}|{{ ${v} | nl2br }}`,
    `{{ ${v} | truncate(5) }}|{{ ${v} | truncate(7, true) }}|{{ ${v} | truncate(6, false, "?") }}|{{ ${v} | center(20) }}|`,
    `{{ ${v} | wordcount }}|{{ ${v} | indent(2) }}|{{ ${v} | indent(2, true) }}|{{ ${v} | list | join("-") }}`,
    `{{ ${v}.split(",") | join("+") }}|{{ ${v}.slice(1, 3) }}|{{ ${v}.substring(2) }}|{{ ${v}.charAt(0) }}|{{ ${v}.indexOf("o") }}`,
    `{{ ${v}.toUpperCase().trim() }}|{{ ${v}.includes("o") }}|{{ ${v}.startsWith("H") }}|{{ ${v}.replace("o", "0") }}|{{ ${v}.repeat(2) }}`,
    `{{ ${v}.padStart(15, ".") }}|{{ ${v}.concat("!") }}|{{ ${v}.split("") | length }}|{{ ${v}.lastIndexOf("o") }}|{{ ${v}.at(-1) }}`,
    `{{ ${v} + 1 }}|{{ 1 + ${v} }}|{{ ${v} ~ "x" }}|{{ ${v} == "" }}|{{ ${v} === ${v} }}|{{ ${v}[0] }}|{{ ${v}[99] }}`,
  ]),
  ...["l", "nums", "mixed", "none", "rows"].flatMap((v) => [
    `{{ ${v} | join }}|{{ ${v} | join(", ") }}|{{ ${v} | first }}|{{ ${v} | last }}|{{ ${v} | reverse }}`,
    `{{ ${v} | sort }}|{{ ${v} | sort(true) }}|{{ ${v} | length }}|{{ ${v} | list }}|{{ ${v} | string }}`,
    `{% for part in ${v} | batch(2) %}({{ part }}){% endfor %}|{% for part in ${v} | slice(2) %}({{ part }}){% endfor %}`,
    `{{ ${v}.slice(0, 2) }}|{{ ${v}.indexOf("a") }}|{{ ${v}.includes(1) }}|{{ ${v}.join("/") }}|{{ ${v}.concat([9]) }}`,
    `{{ ${v}[0] }}|{{ ${v}[1].k }}|{{ ${v}[-1] }}|{{ ${v}.length > 2 }}|{{ ${v}.toString() }}|{{ ${v} | dump(1) }}`,
    `{% for a in ${v} %}{{ loop.index }}/{{ loop.length }}/{{ loop.revindex }}{{ "F" if loop.first }}{{ "L" if loop.last }} {% endfor %}`,
  ]),
  ...["n", "z", "f", "w", "neg", "tiny", "huge", "long", "t", "b", "no"].flatMap((v) => [
    `{{ ${v} + 1 }}|{{ ${v} * 2 }}|{{ ${v} / 3 }}|{{ ${v} // 2 }}|{{ ${v} % 2 }}|{{ ${v} ** 2 }}|{{ -${v} }}`,
    `{{ ${v} == 3 }}|{{ ${v} === 3 }}|{{ ${v} != "3" }}|{{ ${v} !== null }}|{{ ${v} > 1 }}|{{ ${v} <= 1.5 }}`,
    `{{ ${v} | round }}|{{ ${v} | round(1) }}|{{ ${v} | round(0, "ceil") }}|{{ ${v} | abs }}|{{ ${v} | int }}|{{ ${v} | float }}`,
    `{{ "x" ~ ${v} }}|{{ "x" + ${v} }}|{{ ${v} and "and" }}|{{ ${v} or "or" }}|{{ "y" if ${v} else "n" }}|{{ "only" if ${v} }}`,
  ]),
  "{{ n.toFixed(2) }} {{ f.toString() }} {{ w.toFixed(1) }}", "{{ missing }}|{{ missing.a.b.c }}|{{ s.nope.nope }}|{{ o.c.x.y }}",
  "{{ missing + 'a' }}|{{ missing + 1 }}|{{ missing | dump }}|{{ missing | length }}|{{ missing | upper }}",
  "{{ o.c.d[1].e }}|{{ o['b'] }}|{{ o.c['d'][0] }}|{{ rows[2].v }}", "{{ missing() }}", "{{ s.nope() }}", "{{ s | nope }}",
  "{% for k, v in o %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in o.c %}{{ k }}={{ v | dump }}{% endfor %}",
  "{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }} {% endfor %}", "{% for x in missing %}a{% else %}none{% endfor %}",
  "{% for i in range(3) %}{{ i }}{% endfor %}|{% for i in range(2, 8, 3) %}{{ i }}{% endfor %}",
  "{% for r in rows | groupby('k') %}{{ r }}{% endfor %}", "{% for k, items in rows | groupby('k') %}{{ k }}:{{ items | length }} {% endfor %}",
  "{% for r in rows | sort(false, false, 'v') %}{{ r.v }}{% endfor %}", "{% for r in rows | selectattr('k') %}{{ r.k }}{% endfor %}",
  "{{ rows | join(',', 'k') }}|{{ nums | sum }}|{{ rows | sum('v') }}|{{ o | dictsort | dump }}", "{{ rows | rejectattr('v') | length }}",
  "{% set x = 1 %}{% set y, z = 2 %}{{ x }}{{ y }}{{ z }}", "{% set block %}in {{ s }}{% endset %}[{{ block }}]",
  "{% set x = 1 %}{% for i in [1,2] %}{% set x = i %}{% endfor %}{{ x }}", "{% if n > 2 %}{% set v = 'a' %}{% endif %}{{ v }}",
  "{% macro m(a, b='d') %}<{{ a }}:{{ b }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(a=3) }}{{ m() }}",
  "{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}inner {{ s }}{% endcall %}",
  "{% if n == 3 and not b or missing %}y{% elif t %}z{% else %}w{% endif %}", "{% if 'a' in l %}in{% endif %}{% if 'k' in o %}k{% endif %}{% if 'a' in o %}a{% endif %}",
  "{% if missing is defined %}d{% else %}u{% endif %}{% if s is string %}s{% endif %}{% if n is number %}n{% endif %}{% if n is odd %}o{% endif %}",
  "{% if z is falsy %}f{% endif %}{% if no is null %}0{% endif %}{% if l is iterable %}i{% endif %}{% if n is divisibleby(3) %}3{% endif %}",
  "{% if n === 3 %}a{% endif %}{% if n !== '3' %}b{% endif %}{% if s == 'Hello, World' %}c{% endif %}",
  "{% switch n %}{% case 1 %}one{% case 3 %}three{% default %}many{% endswitch %}", "{% ifAsync t %}x{% endif %}",
  "{# a comment {{ s }} #}x{# multi\nline #}y", "{% raw %}{{ s }} {% if %}{% endraw %}", "{% verbatim %}{{ s }}{% endverbatim %}",
  "a\n{% if t %}\nb\n{% endif %}\nc\n", "a\n{%- if t -%}\nb\n{%- endif -%}\nc", "  {{- s -}}  |", "{{ s -}}\n\n x", "x {#- c -#} y",
  "{% for x in l -%}\n  {{ x }}\n{%- endfor %}", "\n\n{{ s }}\n\n", "{{ s }}\r\n{{ n }}\t.",
  "{{ \"double\" }}{{ 'sin\\'gle' }}{{ \"a\\nb\" }}{{ 'tab\\t' }}", "{{ [1, 'a', [2]] }}|{{ {a: 1, 'b': 2}.b }}|{{ {a: 1} | dump }}", "{{ (1, 2) }}",
  "{{ /o.*d/.test(s) }}", "{{ r/o+/g }}", "{{ s | replace(r/o/g, '0') }}", "{{ s.match(r/W\\w+/)[0] }}", "{{ s.replace(r/[A-Z]/g, '_') }}",
  "{{ 1 if t else 2 }}{{ 'x' if b }}{{ ('p' if n > 5 else 'q') | upper }}", "{{ true }}{{ false }}{{ none }}{{ null }}{{ True }}",
  "{{ 7 // 2 }}{{ 2 ** 3 }}{{ 7 % 3 }}{{ 1 + 2 * 3 }}{{ (1 + 2) * 3 }}{{ 10 / 4 }}{{ 0.1 + 0.2 }}{{ 1e3 }}", "{{ not t }}{{ not missing }}{{ t and b }}",
  "{{ json | load | dump }}{{ (json | load).a[1] }}", "{{ 'not json' | load }}", "{{ env.PLACE }}{{ env.NOPE }}", "{{ tags }}", "{{ tags | upper }}",
  "{% filter upper %}a {{ s }}{% endfilter %}", "{% filter replace('o', '0') %}foo{% endfilter %}", "{{ cycler('a', 'b').next() }}",
  "{% set c = cycler('odd', 'even') %}{% for x in l %}{{ c.next() }} {% endfor %}", "{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
  "{% block a %}block {{ s }}{% endblock %}", "{% include 'x.txt' %}", "{% include 'x.txt' ignore missing %}ok", "{% import 'm' as m %}", "{% from 'm' import f %}", "{% extends 'base' %}",
  "{{ s.constructor }}", "{{", "{{ s", "{{ s }", "{% if t %}", "{% endif %}", "{{ 1 + }}", "{{ }}", "{% %}", "{% nope %}", "{# open", "}} %} #}", "{ {s} } {s}", "${s} {{{ s }}}",
  "{{ s }}{{ s }}{{ n }}{{ o.b }}", "{{s|upper}}", "{{  s  |  lower  |  replace('l','L')  }}", "{{ l.0 }}", "{{ o.b.length }}", "{{ o['c'].d.length }}", "{{ ' a ' | trim }}!",
  "{{ l | random | length }}", "{{ words | wordcount }}{{ words.split(' ').length }}{{ words.split(' ')[1].toUpperCase() }}", "{{ words.split(' ').slice(-2).join(' ') }}",
  "{{ html | striptags(true) }}|{{ html | safe }}|{{ html | forceescape }}", "{{ 'a b&c=d/é' | urlencode }}|{{ o | urlencode }}", "{{ 'see http://x.y/z now' | urlize }}", "{{ 1234.5678 | round(2) }}{{ '3.7' | int }}{{ 'x' | int(9) }}{{ '2.5' | float }}",
  "{{ l | dump | safe }}", "{{ o | dump(2) }}", "{{ rows | dump('--') }}", "{{ nums | sort | first }}{{ nums | sort | last }}", "{{ [3, 1] | sort | join(' < ') }}", "{{ l | select | join }}", "{{ nums.indexOf(1) }}{{ nums.includes(9) }}",
  "{{ Object }}{{ JSON }}{{ process }}{{ globalThis }}", "{{ this }}", "{{ loop }}", "{{ super() }}", "{{ n | string + 'x' }}", "{{ o.b if o.b else 'none' }}", "{{ (l | first) ~ (l | last) }}", "{{ s[0:5] }}", "{{ l[0:2] }}", "{{ l[::-1] }}", "{{ s[-3:] }}",
];
const lines = templates.map((template) => {
  try {
    return { template, text: new nunjucks.Template(template, env, null, true).render(structuredClone(VARS)) };
  } catch (error) {
    return { template, error: String(error.message).trim().split("\n").at(-1).trim() };
  }
});
const folder = new URL(".", import.meta.url);
writeFileSync(new URL("nunjucks_cases.jsonl", folder), [{ vars: VARS }, ...lines].map((line) => JSON.stringify(line) + "\n").join(""));
console.log(`${templates.length} templates, ${lines.filter((line) => line.error).length} of them errors`);

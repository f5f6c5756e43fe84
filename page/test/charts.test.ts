// What charts and comparisons are drawn from.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Head, Question } from "../src/data/source";
import { Baseline } from "../src/model/baseline";
import { brushed, brushedOf, unbrushed, type Plane } from "../src/model/brush";
import { changeSaid, changesOf, countsOf } from "../src/model/changed";
import { measured, select } from "../src/model/filter";
import { missingOf, missingSaid } from "../src/model/missing";
import { asking, plotOf, questionOf } from "../src/model/plot";
import { parse } from "../src/model/query";
import { axisOf, marksOf, shadeOf, tiled } from "../src/model/scatter";
import { measuresOf, paired, rowsOf, seriesOf, written } from "../src/model/series";
import { Table } from "../src/model/table";

type Trial = readonly [row: number, variant: number, repeat: number, outcome: string, score: number | null];

function tableOf(trials: readonly Trial[], ids: readonly string[]): Table {
  const table = new Table(2);
  const same = <T>(value: T): T[] => trials.map(() => value);
  const block: Block = {
    rows: ids.map((id) => ({ id, description: "", tags: [], metadata: {} })),
    index: trials.map((_, i) => i), row: trials.map(([row]) => row), variant: trials.map(([, variant]) => variant),
    repeat: trials.map(([, , repeat]) => repeat), outcome: trials.map(([, , , outcome]) => outcome).join(""),
    score: trials.map(([, , , , score]) => score), latency: same(1), cost: same(null), tokens_in: same(1), tokens_out: same(1),
    calls: same(1), cached: same(0), met: same(1), asked: same(1), error: same(""), failing: same([]), output: same(0),
    metrics: { "rating:clarity": trials.map(([, , , , score]) => score), score: same(1) },
  };
  table.add(block);
  return table;
}

const NOW: readonly Trial[] = [
  [0, 0, 0, "p", 0.9], [0, 0, 1, "f", 0.5], [0, 1, 0, "p", 1], [0, 1, 1, "p", 0.8],
  [1, 0, 0, "f", 0.2], [1, 0, 1, "e", null], [1, 1, 0, "p", 0.6], [1, 1, 1, "p", 0.6],
  [2, 0, 0, "e", null], [2, 0, 1, "e", null], [2, 1, 0, "p", 1], [2, 1, 1, "n", null],
];
const table = tableOf(NOW, ["a", "b", "c"]);
const every = new Uint8Array(3).fill(1);
const SCORE = { name: "score", metric: false };
const columns = ["basic", "best"].map((name) => ({ name, prompt: name, model: "m" }));
const names = { metrics: table.metricNames, columns, baseline: false };
const plane: Plane = { measure: SCORE, x: 0, y: 1 };

test("a case's point is the mean of its repeats, and errors are counted apart", () => {
  const [first, second] = seriesOf(table, SCORE, every);
  assert.deepEqual([...first!.means].map((value) => (Number.isNaN(value) ? null : Number(value.toFixed(6)))), [0.7, 0.2, null]);
  assert.deepEqual([first!.errors, first!.without, first!.values.length], [3, 0, 3]);
  assert.deepEqual([second!.errors, second!.without], [0, 1]);
  assert.equal(first!.mean!.n, 2);
});

test("only rows that count are looked at", () => {
  const rows = rowsOf(table, Uint8Array.from(NOW, ([row]) => (row === 1 ? 1 : 0)));
  assert.deepEqual([...rows], [0, 1, 0]);
  assert.deepEqual([...seriesOf(table, SCORE, rows)[0]!.values], [0.2]);
});

test("pairs say in which column cases are higher, with a paired interval", () => {
  const [first, second] = seriesOf(table, SCORE, every);
  const found = paired(first!, second!, every);
  assert.deepEqual([found.n, found.higher, found.lower, found.alike, found.half], [2, 2, 0, 0, 1]);
  assert.ok(Math.abs(found.difference!.value - 0.3) < 1e-9);
});

test("a brush writes terms that choose what lies in it, and reads back as itself", () => {
  const axis = { low: -0.04, high: 1.04 };
  const query = brushed("tag:x", plane, { x: { low: 0.651, high: 0.8 }, y: { low: 0.5, high: 2 } }, axis, names);
  assert.equal(query, "tag:x score@1>=0.65 score@1<=0.8 score@2>=0.5");
  const chosen = select(table, parse(query.replace("tag:x ", ""), names).terms, { head: { columns } as unknown as Head, texts: new Map() });
  assert.deepEqual([...rowsOf(table, chosen)], [1, 0, 0]);
  const found = brushedOf(query, plane, names)!;
  assert.deepEqual(found.box, { x: { low: 0.65, high: 0.8 }, y: { low: 0.5, high: Infinity } });
  assert.deepEqual(found.terms, ["score@1>=0.65", "score@1<=0.8", "score@2>=0.5"]);
  assert.equal(unbrushed(query, plane, names), "tag:x");
  assert.equal(brushed(query, plane, { x: { low: 0, high: 2 }, y: { low: -1, high: 2 } }, axis, names), "tag:x score@1>=0");
  assert.equal(brushedOf("score@1<0.5 score>=1 -score@1>=1", plane, names), undefined);
});

test("metrics are written in a filter so that they are found again", () => {
  for (const measure of measuresOf(table)) {
    const { terms, problems } = parse(`${written(measure)}@2>=0`, names);
    assert.deepEqual(problems, []);
    assert.deepEqual(terms.map((term) => (term.kind === "number" ? term.left : undefined)), [{ ...measure, column: 1 }]);
  }
});

test("an address names measure and columns, and what it does not know is as usual", () => {
  const measures = measuresOf(table);
  assert.deepEqual(plotOf("~rating:clarity.1.0", measures, [0, 1]), { measure: { name: "rating:clarity", metric: true }, x: 1, y: 0 });
  assert.deepEqual(plotOf("~score.0.1", measures, [0, 1]).measure, { name: "score", metric: true });
  assert.deepEqual(plotOf("nothing.7.7", measures, [0, 1]), { measure: SCORE, x: 0, y: 1 });
  assert.deepEqual(plotOf("", measures, [1]), { measure: SCORE, x: 1, y: 1 });
});

test("why a number is of fewer cases is told, by column where columns differ", () => {
  const missing = missingOf(table, every, measured(table, { ...SCORE, column: -1 }, {}));
  assert.deepEqual(missing[0], { errors: 1, notApplicable: 0, without: 0, unrun: 0 });
  assert.deepEqual(missing[1], { errors: 0, notApplicable: 0, without: 0, unrun: 0 });
  assert.equal(missingSaid(3, "a verdict", missing), "n counts the cases that have a verdict. Left out of the 3, in a column: 0–1 in error.");
  assert.equal(missingSaid(3, "a verdict", [missing[0]!]), "n counts the cases that have a verdict. Left out of the 3: 1 in error.");
  assert.equal(missingSaid(3, "a verdict", [missing[1]!]), "");
  const unrun = missingOf(tableOf([[0, 0, 0, "n", null], [1, 0, 0, "p", null], [0, 1, 0, "p", 1]], ["a", "b"]), every.subarray(1), [NaN, NaN, 1]);
  assert.deepEqual(unrun, [{ errors: 0, notApplicable: 1, without: 1, unrun: 0 }, { errors: 0, notApplicable: 0, without: 0, unrun: 1 }]);
});

test("an address asks for a metric's question, for all of them, and else whether trials passed", () => {
  const questions = ["passed", "clarity", ""].map((metric) => ({ metric, command: "", results: [], lines: [] }) satisfies Question);
  assert.deepEqual(["", "score.0.1", "~clarity.2.0", "*.0.1", "passed.0.1"].map((plot) => questionOf(plot, questions)?.metric), ["passed", "passed", "clarity", "", "passed"]);
  for (const each of questions) assert.equal(questionOf(asking(each, "score.2.1"), questions), each);
  assert.equal(asking(questions[1]!, "score.2.1"), "~clarity.2.1");
});

test("a change is told by its verdict, a score that moved alone by its way, and one that went the other way is named", () => {
  assert.deepEqual(changeSaid(-1, 0.3), { kind: "regressed", words: "regressed, score +0.3" });
  assert.deepEqual(changeSaid(1, 0.3), { kind: "improved", words: "improved +0.3" });
  assert.deepEqual(changeSaid(-0.5, 0), { kind: "regressed", words: "regressed" });
  assert.deepEqual(changeSaid(1, NaN), { kind: "improved", words: "improved" });
  assert.deepEqual(changeSaid(0, -0.2), { kind: "regressed", words: "−0.2" });
  assert.deepEqual(changeSaid(NaN, 1e-12), { kind: "none", words: "±0" });
});

test("equal points are one mark; very many cases are tiles that hold each once", () => {
  const of = (values: number[]) => ({ values: Float64Array.from(values), means: Float64Array.from(values), mean: undefined, errors: 0, without: 0 });
  const few = [of([0.5, 0.5, 1, NaN]), of([0.2, 0.2, 0.3, 1])] as const;
  const axis = axisOf(...few);
  assert.deepEqual(axis, { low: -0.04, high: 1.04 });
  const marks = marksOf(...few, Uint8Array.of(1, 0, 0, 1), axis, 80);
  assert.deepEqual(marks.map(({ n, chosen, rows }) => [n, chosen, rows]), [[2, 1, [0, 1]], [1, 0, [2]]]);
  const many = Array.from({ length: 5000 }, (_, i) => (i % 997) / 997);
  assert.ok(tiled(many.length));
  const tiles = marksOf(of(many), of(many.toReversed()), new Uint8Array(5000), { low: 0, high: 1 }, 50);
  assert.ok(tiles.length <= 2500);
  assert.equal(tiles.reduce((n, mark) => n + mark.n, 0), 5000);
  assert.deepEqual([shadeOf(1, 1), shadeOf(1, 1000), shadeOf(1000, 1000)], [5, 1, 5]);
});

test("trials are held against the baseline by case, column and repeat", () => {
  const before = tableOf([
    [0, 1, 0, "p", 0.9], [0, 1, 1, "p", 0.9], [0, 0, 0, "f", 0.1], [0, 0, 1, "p", 0.9],
    [1, 0, 0, "f", 0.2], [2, 1, 0, "p", 1], [3, 1, 0, "p", 1],
  ], ["b", "a", "c", "gone"]);
  const baseline = new Baseline({} as Head, before, table, [[0, 0], [1, 1]]);
  assert.deepEqual(NOW.map((_, trial) => baseline.changed(trial)), [
    "improved", "new", "new", "new", "unchanged", "undecided", "unchanged", "unchanged", "new", "new", "unchanged", "new",
  ]);
  const counts = countsOf(table, baseline);
  assert.deepEqual([counts.improved, counts.passed, counts.failed, counts.undecided, counts.gone], [1, 3, 1, 1, 1]);
  const changes = changesOf(table, baseline);
  assert.deepEqual(changes.map(({ row, variant }) => [row, variant]), [[1, 1], [1, 0], [0, 0]]);
});

// What charts and comparisons are drawn from.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Head, Question, Variant } from "../src/data/source";
import { Baseline } from "../src/model/baseline";
import { brushed, brushedOf, unbrushed, type Plane } from "../src/model/brush";
import { changeSaid, changesOf, countsOf, meanChanges, type Side } from "../src/model/changed";
import { measured, select, usesBaseline } from "../src/model/filter";
import { ordered } from "../src/model/order";
import { comparedFirst, differenceOf, paired, pairSaid, type Pair } from "../src/model/pair";
import { knownScale, scaleIn } from "../src/model/scale";
import { summaries } from "../src/model/summary";
import { missingOf, missingSaid } from "../src/model/missing";
import { asking, plotOf, questionOf } from "../src/model/plot";
import { parse } from "../src/model/query";
import { axisOf, marksOf, shadeOf, tiled } from "../src/model/scatter";
import { bestFirst, measuresOf, rowsOf, markOf, seriesOf, sidesOf, written, type Series } from "../src/model/series";
import { snapshot } from "../src/model/snapshot";
import { Table } from "../src/model/table";

type Trial = readonly [row: number, variant: number, repeat: number, outcome: string, score: number | null];

function tableOf(trials: readonly Trial[], ids: readonly string[], cluster: readonly number[] = []): Table {
  const table = new Table(2);
  const same = <T>(value: T): T[] => trials.map(() => value);
  const block: Block = {
    rows: ids.map((id) => ({ id, description: "", tags: [], metadata: {} })),
    index: trials.map((_, i) => i), row: trials.map(([row]) => row), variant: trials.map(([, variant]) => variant),
    repeat: trials.map(([, , repeat]) => repeat), outcome: trials.map(([, , , outcome]) => outcome).join(""),
    score: trials.map(([, , , , score]) => score), latency: same(1), cost: same(null), tokens_in: same(1), tokens_out: same(1),
    calls: same(1), cached: same(0), met: same(1), asked: same(1), error: same(""), failing: same([]), output: same(0), cluster,
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
const COLUMNS = [0, 1].map((index) => ({ index }) as Variant);
const plane: Plane = { measure: SCORE, x: 0, y: 1 };

test("a case's point is the mean of its repeats, and errors are counted apart", () => {
  const [first, second] = seriesOf(table, COLUMNS, SCORE, every);
  assert.deepEqual([...first!.means].map((value) => (Number.isNaN(value) ? null : Number(value.toFixed(6)))), [0.7, 0.2, null]);
  assert.deepEqual([first!.errors, first!.without, first!.values.length], [3, 0, 3]);
  assert.deepEqual([second!.errors, second!.without], [0, 1]);
  assert.equal(first!.mean!.n, 2);
});

test("in a config, a trial in error leaves open what its case measures elsewhere, and nothing else", () => {
  const block = {
    rows: ["tagged", "other", "broken"].map((id) => ({ id, description: "", tags: [], metadata: {} })),
    index: [0, 1, 2, 3, 4, 5], row: [0, 1, 2, 0, 1, 2], variant: [0, 0, 0, 1, 1, 1], repeat: [0, 0, 0, 0, 0, 0], outcome: "eeeppe",
    score: [null, null, null, 1, 1, null], metrics: { veg: [null, null, null, 0.5, null, null] }, failing: [[], [], [], [], [], []],
  };
  for (const key of ["latency", "cost", "tokens_in", "tokens_out", "calls", "cached", "met", "asked", "error", "output"] as const) Object.assign(block, { [key]: [0, 0, 0, 0, 0, 0] });
  for (const [evals, open] of [[false, [true, false, true]], [true, [true, true, true]]] as const) {
    const table = new Table(2, evals);
    table.add(block as unknown as Block);
    assert.deepEqual([0, 1, 2].map((trial) => table.isOpen(trial, { name: "veg", metric: true })), open);
  }
});

test("only rows that count are looked at", () => {
  const rows = rowsOf(table, Uint8Array.from(NOW, ([row]) => (row === 1 ? 1 : 0)));
  assert.deepEqual([...rows], [0, 1, 0]);
  assert.deepEqual([...seriesOf(table, COLUMNS, SCORE, rows)[0]!.values], [0.2]);
});

test("sides say in which column cases are higher, by the numbers that are drawn", () => {
  const [first, second] = seriesOf(table, COLUMNS, SCORE, every);
  const found = sidesOf(first!, second!, every);
  assert.deepEqual([found.n, found.higher, found.lower, found.alike, found.half], [2, 2, 0, 0, 1]);
});

test("two columns of one eval are compared, never one of each of two evals", () => {
  const named = (...evals: readonly string[]) => evals.map((name, index) => ({ index, eval: name, rate: { value: 1 / (index + 1) } }) as Variant);
  assert.equal(comparedFirst(named("polite", "brief")), undefined);
  assert.equal(comparedFirst(named("polite")), undefined);
  assert.deepEqual(comparedFirst(named("", "", "")), [2, 0, 1]);
  assert.deepEqual(comparedFirst(named("polite", "brief", "brief")), [2, 1, 0]);
});

const rounded = (values: readonly number[]): number[] => values.map((value) => Number(value.toFixed(6)));

test("a comparison of two columns counts errors at both ends, cases wholly in error too", () => {
  const passed = { name: "passed", metric: false };
  const found = paired(table, COLUMNS, passed, [0, 1], every);
  assert.deepEqual(found.cases.map(differenceOf).flatMap(({ least, most }) => rounded([least, most])), [0.5, 0.5, 0.5, 1, 0, 1]);
  assert.deepEqual([found.errors, found.open, found.rates], [3, 1, true]);
  const { least, most, low, high } = found.difference!;
  assert.deepEqual(rounded([least, most]), rounded([1 / 3, 2.5 / 3]));
  assert.ok(low < least && high > most);
  const said = pairSaid(found, (value) => value.toFixed(2));
  assert.match(said, /The mean difference over 3 cases is \+0\.33 to \+0\.83 \[/);
  assert.match(said, /3 trials in error may have had any value: this holds for all of them\. Errors leave 1 case open\./);
});

test("an interval of two columns holds 0 unless the test shows a difference", () => {
  const apart = (n: number): Table => tableOf(Array.from({ length: 2 * n }, (_, i) => [i >> 1, i % 2, 0, i % 2 ? "p" : "f", null] as const), Array.from({ length: n }, (_, i) => `c${i}`));
  const lows = [5, 6].map((n) => paired(apart(n), COLUMNS, { name: "passed", metric: false }, [0, 1], new Uint8Array(n).fill(1)).difference!.low);
  assert.equal(lows[0], 0); // 5 to 0: p = .0625
  assert.ok(lows[1]! > 0); // 6 to 0: p = .031
});

test("of a score an error may have had anything that some trial had, or anything on its scale", () => {
  const ends = (of: Pair): number[] => of.cases.map(differenceOf).flatMap(({ least, most }) => rounded([least, most]));
  const wide = tableOf(NOW.map(([row, variant, repeat, outcome, score]) => [row, variant, repeat, outcome, score === null ? null : score * 2]), ["a", "b", "c"]);
  assert.deepEqual(ends(paired(wide, COLUMNS, SCORE, [0, 1], every)), [0.4, 0.4, 0, 0.8, 0, 1.6]);
  assert.deepEqual(ends(paired(table, COLUMNS, SCORE, [0, 1], every)), [0.2, 0.2, 0, 0.5, 0, 1]); // from 0 to 1, as all of them are
  const scaled = COLUMNS.map((column) => ({ ...column, scales: { "": [0, 2] as const } }));
  const known = paired(table, scaled, SCORE, [0, 1], every);
  assert.deepEqual(ends(known), [0.2, 0.2, -0.5, 0.5, -1, 1]);
  assert.match(pairSaid(known, (value) => value.toFixed(2)), /which variant is higher is undecided\. Errors leave 2 cases open\./);
});

test("a scale is what scorers declare, from 0 to 1 where all values are there, else both, else not known", () => {
  assert.deepEqual(knownScale([1, 5], [1, 4.5]), [1, 5]);
  assert.deepEqual(knownScale([1, 5], [0.2, 1]), [0, 1]);
  assert.deepEqual(knownScale([1, 5], [0.5, 4]), [0, 5]);
  assert.deepEqual(knownScale(undefined, [0, 1]), [0, 1]);
  assert.equal(knownScale(undefined, [0, 1.2]), undefined);
  assert.equal(knownScale([1, 5], [0, 7]), undefined);
  const column = { ...COLUMNS[0]!, scales: { "": [1, 5] as const } };
  assert.deepEqual(scaleIn(table, column, SCORE), [1, 5]); // of the score the run has the last word
  assert.equal(scaleIn(table, COLUMNS[0], SCORE), undefined);
  assert.equal(scaleIn(table, column, { name: "latency", metric: false }), undefined);
  assert.deepEqual(scaleIn(table, column, { name: "rating:clarity", metric: true }), [0, 1]);
});

test("a column's rate counts every case once, and errors at both ends", () => {
  const [first, second] = summaries(table, COLUMNS, every);
  assert.deepEqual(rounded([first!.rate!.least, first!.rate!.most, first!.rate!.n]), rounded([0.5 / 3, 2 / 3, 3]));
  assert.deepEqual([second!.rate!.least, second!.rate!.most, second!.rate!.n], [1, 1, 3]);
  const uneven = tableOf([[0, 0, 0, "p", 1], [0, 0, 1, "p", 1], [0, 0, 2, "p", 1], [1, 0, 0, "f", 0]], ["a", "b"]);
  assert.equal(summaries(uneven, COLUMNS, every.subarray(1))[0]!.rate!.least, 0.5);
  assert.equal(seriesOf(uneven, COLUMNS, { name: "passed", metric: false }, every.subarray(1))[0]!.rate!.most, 0.5);
});

test("a cluster counts once in rates and means, whatever the repeats and errors of its cases", () => {
  const trials: Trial[] = [[0, 0, 0, "p", 1], [0, 0, 1, "f", 0], [0, 0, 2, "f", 0], [0, 0, 3, "e", null], [1, 0, 0, "p", 1], [2, 0, 0, "f", 0]];
  const grouped = tableOf(trials, ["a", "b", "c"], [7, 7, 7, 7, 7, 0]);
  const { rate, score } = summaries(grouped, COLUMNS, every)[0]!;
  assert.deepEqual(rounded([rate!.least, rate!.most, rate!.n]), rounded([(0.25 + 1) / 4, (0.5 + 1) / 4, 3]));
  assert.deepEqual(rounded([score!.value, score!.n]), rounded([1.25 / 1.75 / 2, 2]));
  const charted = seriesOf(grouped, COLUMNS, { name: "passed", metric: false }, every)[0]!.rate;
  assert.deepEqual(charted, rate);
  const all = snapshot({ totals: {} } as Head, grouped).rate!;
  assert.deepEqual([all.least, all.most, all.low, all.high], [rate!.least, rate!.most, rate!.low, rate!.high]);
  const { rate: alone } = summaries(tableOf(trials, ["a", "b", "c"]), COLUMNS, every)[0]!;
  assert.deepEqual(rounded([alone!.least, alone!.n]), rounded([1.25 / 3, 3]));
});

test("a metric's mean is open where a trial is in error, or an expectation that gives it, in heads as in charts", () => {
  const rating = { name: "rating:clarity", metric: true };
  const [head, sure] = summaries(table, COLUMNS, every).map(({ metrics }) => metrics.find(({ name }) => name === "rating:clarity")!);
  const [chart] = seriesOf(table, COLUMNS, rating, every);
  assert.deepEqual(rounded(head!.open!), rounded([(0.7 + 0.1) / 3, (0.7 + 0.6 + 1) / 3]));
  assert.deepEqual(head!.open, chart!.mean!.open);
  assert.equal(markOf(chart!), null);
  assert.equal(sure!.open, undefined);
  const partly = tableOf([[0, 0, 0, "p", 0.5], [1, 0, 0, "f", null]], ["a", "b"]);
  assert.equal(seriesOf(partly, COLUMNS, rating, every)[0]!.mean!.open, undefined);
  const block = { rows: [], index: [], row: [], variant: [], repeat: [], outcome: "", score: [], latency: [], cost: [], tokens_in: [], tokens_out: [], calls: [], cached: [], met: [], asked: [], error: [], failing: [], output: [], cluster: [], metrics: {} };
  partly.add({ ...block, open: { "rating:clarity": [-1] } } as unknown as Block);
  const [open] = seriesOf(partly, COLUMNS, rating, every);
  assert.deepEqual([open!.mean!.open, open!.errors, open!.without], [[0.25, 0.75], 1, 0]);
  assert.deepEqual(summaries(partly, COLUMNS, every)[0]!.metrics[0]!.open, [0.25, 0.75]);
});

test("a score is open where a trial has a verdict and none, and times are not where a trial is in error", () => {
  const trials: Trial[] = [[0, 0, 0, "p", 1], [1, 0, 0, "f", null], [2, 0, 0, "n", null]];
  const failed = tableOf(trials, ["a", "b", "c"]);
  const column = [{ index: 0, scales: { "": [0, 1] } } as unknown as Variant, COLUMNS[1]!];
  assert.deepEqual(summaries(failed, column, every)[0]!.score!.open, [0.5, 1]);
  assert.deepEqual(seriesOf(failed, column, SCORE, every)[0]!.mean!.open, [0.5, 1]);
  const [errored] = seriesOf(table, COLUMNS, { name: "latency", metric: false }, every);
  assert.equal(errored!.mean!.open, undefined);
});

test("the best column is first, of times the fastest, and one without a number last", () => {
  const three = [0, 1, 2].map((index) => ({ variant: { index } }));
  const order = (values: (number | null)[], name: string): number[] =>
    bestFirst(three, values.map((value) => ({ mean: value === null ? null : { value, low: null, high: null, n: 1 } }) as Series), { name, metric: false }).map(({ variant }) => variant.index);
  assert.deepEqual(order([0.2, 0.9, null], "score"), [1, 0, 2]);
  assert.deepEqual(order([null, 2, 1], "latency"), [2, 1, 0]);
  assert.deepEqual(order([null, null, 1], "score"), [2, 0, 1]);
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
  assert.equal(missingSaid(3, "a verdict", missing), "n counts the cases that have a verdict. Left out of the 3, of a variant: 0–1 in error.");
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

const side = (outcomes: string, score = NaN): Side => {
  const times = (letter: string): number => outcomes.split(letter).length - 1;
  return { passed: times("p"), failed: times("f"), errors: times("e"), score };
};
const told = (before: Side, after: Side): string[] => Object.values(changeSaid(before, after)).slice(0, 2) as string[];

test("a change is told by its verdict, a score that moved alone by its way, and one that went the other way is named", () => {
  assert.deepEqual(told(side("p", 0.5), side("f", 0.8)), ["regressed", "regressed, score +0.3"]);
  assert.deepEqual(told(side("f", 0.5), side("p", 0.75)), ["improved", "improved +0.25"]);
  assert.deepEqual(told(side("pp", 0.5), side("pf", 0.5)), ["regressed", "regressed"]);
  assert.deepEqual(told(side("f"), side("p", 0.5)), ["improved", "improved"]);
  assert.deepEqual(told(side("p", 0.75), side("p", 0.5)), ["regressed", "−0.25"]);
  assert.deepEqual(told(side("p", 1), side("p", 1 + 1e-12)), ["none", "±0"]);
  assert.deepEqual(told(side("p"), side("p")), ["none", "±0"]);
  assert.deepEqual(told(side("n", 0.5), side("n", 0.75)), ["improved", "+0.25"]);
});

test("a cell that lost its verdict, or had none, is never told by a number", () => {
  assert.deepEqual(told(side("ppp", 0.85), side("eee")), ["open", "no verdict now"]);
  assert.deepEqual(told(side("eee"), side("ppp", 0.85)), ["open", "no verdict before"]);
  assert.deepEqual(told(side("p", 1), side("n")), ["open", "no verdict now"]);
  assert.deepEqual(told(side("e"), side("ee")), ["none", "no verdict in either"]);
  assert.deepEqual(told(side("n"), side("n")), ["none", "no verdict in either"]);
});

test("a cell's change holds whatever its errors would have come to, or is undecided", () => {
  assert.deepEqual(changeSaid(side("ppp", 0.9), side("ppe", 0.9)), { kind: "open", words: "undecided", why: "1 trial in error could turn it" });
  assert.deepEqual(told(side("pfe"), side("pfe")), ["open", "undecided"]);
  assert.deepEqual(told(side("ppp", 0.9), side("ffe", 0.1)), ["regressed", "regressed"]);
  assert.deepEqual(told(side("ffe"), side("ppp")), ["improved", "improved"]);
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
  const baseline = new Baseline({ columns: COLUMNS } as unknown as Head, before, table, COLUMNS, [[0, 0], [1, 1]]);
  assert.deepEqual(NOW.map((_, trial) => baseline.changed(trial)), [
    "improved", "new", "new", "new", "unchanged", "undecided", "unchanged", "unchanged", "new", "new", "unchanged", "new",
  ]);
  const counts = countsOf(table, baseline);
  assert.deepEqual([counts.improved, counts.passed, counts.failed, counts.undecided, counts.gone], [1, 3, 1, 1, 1]);
  const changes = changesOf(table, baseline);
  assert.deepEqual(changes.map(({ row, variant, said }) => [row, variant, said.words]), [
    [1, 0, "undecided"], [1, 1, "−0.3"], [0, 0, "improved +0.5"],
  ]);
});

test("cells without a verdict now are among the changes, and come first among rows without a number", () => {
  const before = tableOf([[0, 0, 0, "p", 0.5], [0, 1, 0, "p", 0.5], [1, 0, 0, "p", 0.9], [1, 1, 0, "e", null], [2, 1, 0, "p", 1], [3, 1, 0, "f", 0]], ["a", "b", "c", "d"]);
  const now = tableOf([[0, 0, 0, "p", 0.6], [0, 1, 0, "p", 0.5], [1, 0, 0, "f", 0.9], [1, 1, 0, "p", 0.9], [2, 0, 0, "p", 1], [3, 1, 0, "e", null]], ["a", "b", "new", "d"]);
  const baseline = new Baseline({ columns: COLUMNS } as unknown as Head, before, now, COLUMNS, [[0, 0], [1, 1]]);
  assert.deepEqual(changesOf(now, baseline).map(({ row, variant, said }) => [row, variant, said.words]), [
    [1, 0, "regressed"], [3, 1, "no verdict now"], [0, 0, "+0.1"], [1, 1, "no verdict before"],
  ]);
  const four = new Uint8Array(4).fill(1);
  for (const down of [false, true]) {
    assert.deepEqual([...ordered(now, four, { key: "change", column: -1, down }, baseline)].slice(-2), [3, 2]);
  }
  const [first, second] = meanChanges(now, baseline, four);
  assert.deepEqual(rounded([first!.least, first!.most]), [0.05, 0.05]);
  assert.ok(second!.least < 0 && second!.most > 0); // errors on both sides may have scored anything
});

test("terms that need the baseline are known", () => {
  const known = { metrics: ["change rate"], columns, baseline: true };
  for (const query of ["changed:new", "-changed:regressed", "change<0", "score>change@1", "tag:x change>=0"]) assert.ok(usesBaseline(parse(query, known).terms), query);
  for (const query of ["", "text", '"changed:new"', "score<0.5", '"change rate">0']) assert.ok(!usesBaseline(parse(query, known).terms), query);
});

test("a case that the baseline calls otherwise stands against it where the comparison says so", () => {
  const before = tableOf([[0, 0, 0, "f", 0.1], [1, 0, 0, "p", 1]], ["was a", "b"]);
  const baseline = new Baseline({ columns: COLUMNS } as unknown as Head, before, table, COLUMNS, [[0, 0], [1, 1]], { a: "was a", __proto__: "b" });
  assert.deepEqual([0, 1, 4].map((trial) => baseline.changed(trial)), ["improved", "new", "regressed"]);
  assert.equal(countsOf(table, baseline).gone, 0);
});

test("a case that the baseline asked otherwise is another test, whatever it came to", () => {
  const before = tableOf([[0, 0, 0, "f", 0.1], [1, 0, 0, "p", 1]], ["a", "b"]);
  const now = tableOf([[0, 0, 0, "p", 1], [1, 0, 0, "f", 0]], ["a", "b"]);
  const baseline = new Baseline({ columns: COLUMNS } as unknown as Head, before, now, COLUMNS, [[0, 0]], {}, { 0: ["a"] });
  assert.deepEqual([0, 1].map((trial) => baseline.changed(trial)), ["undecided", "regressed"]);
  assert.deepEqual(changesOf(now, baseline).map(({ said }) => said.words), ["regressed −1", "another test"]);
});

test("the head of a run that goes on tells of the cells that are here", () => {
  const read = { totals: { trials: 2, passed: 2, cost_usd: 0.5 }, rate: null, title: "as read" } as unknown as Head;
  const now = snapshot(read, table);
  assert.equal(now.title, "as read");
  assert.deepEqual(now.totals, { trials: 12, passed: 6, failed: 2, errors: 3, not_applicable: 1, calls: 12, cached: 0, tokens_in: 12, tokens_out: 12, cost_usd: 0.5 });
  assert.deepEqual([now.rate!.n, now.rate!.value, now.rate!.least, now.rate!.most], [3, null, (0.75 + 0.5 + 1 / 3) / 3, (0.75 + 0.75 + 1) / 3]);
  assert.equal(snapshot(read, new Table(2)).rate, null);
});

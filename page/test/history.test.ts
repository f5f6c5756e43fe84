// Which runs belong together over time, what can be drawn of them, and what is copied of a table.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CanaryPoint, MeasuredColumn, RunSummary } from "../src/data/source";
import { asTable } from "../src/model/copied";
import { canaryLines, canaryMeasures, finished, isOpen, linesOf, measuresIn, rangeOf, runsLike, stretches } from "../src/model/history";
import { Table } from "../src/model/table";

const run = (id: string, created_at: number, more: Partial<RunSummary> = {}): RunSummary =>
  ({ id, created_at, title: "t", source: "/a", problem: "", totals: { trials: 1 }, ...more }) as RunSummary;
const column = (name: string, least: number | null, means: Record<string, number> = {}): MeasuredColumn => ({
  name, least, most: least, low: null, high: null, partial: false,
  means: Object.fromEntries(Object.entries(means).map(([of, value]) => [of, { least: value, most: value, low: value - 0.25, high: value + 0.5, n: 9 }])),
});

test("runs of the same source stand together, oldest first, whatever they are called", () => {
  const runs = [run("3", 3, { title: "renamed" }), run("1", 1), run("2", 2, { source: "/b" }), run("4", 4, { problem: "x" }), run("5", 5, { totals: { trials: 0 } as never })];
  assert.deepEqual(runsLike(runs[1]!, runs).map(({ id }) => id), ["1", "3"]);
  const made = [run("1", 1, { source: "" }), run("2", 2, { source: "", title: "other" }), run("3", 3, { source: "" })];
  assert.deepEqual(runsLike(made[0]!, made).map(({ id }) => id), ["1", "3"]);
});

test("runs of two eval sets in one folder are two histories", () => {
  const runs = [run("1", 1, { eval_set: "many" }), run("2", 2, { eval_set: "few" }), run("3", 3, { eval_set: "many" })];
  assert.deepEqual(runsLike(runs[0]!, runs).map(({ id }) => id), ["1", "3"]);
});

test("probes and checks of canaries are no runs of a system, and one cell asked again is none of its own", () => {
  const runs = [run("1", 1), run("2", 2, { of_judges: true }), run("3", 3), run("4", 4, { edited: true })];
  assert.deepEqual(runsLike(runs[0]!, runs).map(({ id }) => id), ["1", "3"]);
});

test("a run is finished when all that was planned is settled", () => {
  const settled = { planned: 2, totals: { trials: 2 } as never };
  assert.equal(finished(run("1", 1, { status: "finished", ...settled })), true);
  assert.equal(finished(run("1", 1, { status: "interrupted", ...settled })), false);
  assert.equal(finished(run("1", 1, { status: "finished", ...settled, planned: 3 })), false);
});

test("what a judge is right on of the canaries stands beside what it passes, whatever its version is called", () => {
  const share = (value: number) => ({ value, low: 0, high: 1, n: 9 });
  const said = (of: string, judge: string, right: number | null): CanaryPoint => ({ run: of, metric: "m", judge, right: right === null ? null : share(right), passed: share(0.5), words: "so" });
  const runs = [run("1", 1), run("2", 2), run("3", 3)];
  const points = [said("1", "j-1", 1), said("3", "j-2", 0.5), said("gone", "j-2", 0)];
  assert.deepEqual(canaryMeasures(points), ["!m"]);
  const told = canaryLines(points, runs, "!m").map(({ name, points: of }) => [name, of.map(({ at, least }) => [at, least])]);
  assert.deepEqual(told, [["right on canaries", [[0, 1], [2, 0.5]]], ["passes in the run", [[0, 0.5], [2, 0.5]]]]);
  const two = canaryLines([...points, said("1", "other", null)], runs, "!m");
  assert.deepEqual(two.map(({ name }) => name), ["j-1: right on canaries", "j-1: passes in the run", "j-2: right on canaries", "j-2: passes in the run", "other: passes in the run"]);
  assert.deepEqual(rangeOf(two, "!m"), [0, 1]);
});

test("a mean that errors leave open is a range, and one that may be anything is no point", () => {
  const open = (least: number | null, most: number | null) => ({ name: "a", least: null, most: null, low: null, high: null, partial: false, means: { "~m": { least, most, low: 0, high: 1, n: 9 } } }) as MeasuredColumn;
  const [line] = linesOf([[open(0.2, 0.6)], [open(null, null)], [open(0.5, 0.5)]], "~m");
  assert.deepEqual(line!.points.map((point) => [point.at, point.least, point.most, isOpen(point)]), [[0, 0.2, 0.6, true], [2, 0.5, 0.5, false]]);
  assert.deepEqual(rangeOf([{ name: "a", points: [{ at: 0, least: 1, most: 7, low: null, high: null }] }], "~m"), [0, 8]);
});

test("a line has a point for each run that has the number, and no other", () => {
  const found = [[column("a", 0.5, { cost: 1, score: 1, "~m": 2 }), column("b", null)], undefined, [column("a", 0.75, { score: 0.5 })]];
  assert.deepEqual(measuresIn(found.flatMap((each) => (each === undefined ? [] : [each]))), ["passed", "score", "~m", "cost"]);
  assert.deepEqual(linesOf(found, "passed").map(({ name, points }) => [name, points.map(({ at, least }) => [at, least])]), [["a", [[0, 0.5], [2, 0.75]]]]);
  assert.deepEqual(linesOf(found, "~m").map(({ points }) => points.length), [1]);
  assert.deepEqual(linesOf(found, "constructor"), []);
  assert.deepEqual(linesOf(found, "~m")[0]!.points, [{ at: 0, least: 2, most: 2, low: 1.75, high: 2.5 }]);
});

test("a line joins known neighbours only: a run that errors leave open is nowhere on it", () => {
  const points = linesOf([0.5, 0.6, 1, 0.7, 0, 0.8, 0.9].map((least) => [{ ...column("a", least), most: least === 1 || least === 0 ? least + 1 : least }]), "passed")[0]!.points;
  assert.deepEqual(points.filter(isOpen).map(({ at }) => at), [2, 4]);
  assert.deepEqual(stretches(points).map((known) => known.map(({ at }) => at)), [[0, 1], [5, 6]]);
});

test("an axis goes from one round number to another, holds all intervals, and shares have theirs", () => {
  assert.deepEqual(rangeOf(linesOf([[column("a", 0.5)]], "passed"), "passed"), [0, 1]);
  const [low, high] = rangeOf(linesOf([[column("a", 0, { score: 3 })], [column("a", 0, { score: 5 })]], "score"), "score");
  assert.deepEqual([low, high], [2, 6]);
  const [least, most] = rangeOf(linesOf([[column("a", 0, { score: 0 })]], "score"), "score");
  assert.ok(least < most);
});

test("what is copied is a table without formulas, tabs and line breaks of others", () => {
  const table = new Table(1);
  table.add({
    rows: [{ id: "=cmd()", description: "two\tlines\nhere", tags: ["a", "b"], metadata: {}, number: 1 }], row: [0, 0], index: [0, 1], variant: [0, 0], repeat: [0, 1],
    outcome: "pe", score: [0.5, null], latency: [1, 1], cost: [0, 0], tokens_in: [1, 1], tokens_out: [1, 1], calls: [1, 1], cached: [0, 0], met: [1, 0], asked: [1, 0],
    error: ["", "x"], failing: [[], []], output: [0, 1], metrics: {},
  });
  const columns = [{ variant: { index: 0 } as never, name: "best" }];
  assert.equal(asTable(table, [0], columns), "case\tdescription\ttags\tbest: outcome\tbest: score\n'=cmd()\ttwo lines here\ta b\tpass error\t0.5");
});

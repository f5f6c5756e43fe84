// The page's intervals are those of stats/interval.py, and its histogram counts everything once.
import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/vectors/intervals.json";
import { binned, binsOf, reach } from "../src/model/histogram";
import { FEWEST, meanOfSums, tQuantile, wilson, wilsonOfClusters, type Cluster } from "../src/model/interval";

function near(found: readonly number[], wanted: readonly (number | null)[], of: unknown): void {
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, i) => {
    if (value === null) assert.ok(!Number.isFinite(found[i]));
    else assert.ok(Math.abs(found[i]! - value) <= 1e-9, `${JSON.stringify(of)}: ${found[i]}, not ${value}`);
  });
}

test("Student's quantiles are the same", () => {
  for (const { df, is } of vectors.t_quantile) near([tQuantile(df)], [is], df);
});

test("Wilson's intervals are the same", () => {
  for (const { of, is } of vectors.wilson) near(wilson(of[0]!, of[1]!), is, of);
});

test("rates of clusters have the same intervals", () => {
  for (const { of, is } of vectors.wilson_of_clusters) near(wilsonOfClusters(of as unknown as Cluster[]), is, of);
});

test("means of clusters have the same intervals", () => {
  for (const { of, is } of vectors.mean_of) {
    const found = meanOfSums(of as unknown as Cluster[]);
    if (is === null) assert.equal(found, undefined);
    else near([found!.value, found!.low, found!.high], is, of);
  }
});

test("paired differences have the same intervals, and none below five cases", () => {
  for (const { of, is } of vectors.differences) {
    const found = meanOfSums({ totals: of, sizes: of.map(() => 1) });
    near([found!.value, found!.low, found!.high], is, of);
    assert.equal(is[1] === null, of.length < FEWEST);
  }
});

test("a histogram's bins have round ends, hold all values, and count each once", () => {
  for (const values of [[0, 1], [0.2, 0.25, 0.3], [1, 2, 3, 4, 5], [-3, 12.5, 99], [7, 7, 7], [0]]) {
    const bins = binsOf(values);
    assert.ok(bins.low <= Math.min(...values) && bins.high >= Math.max(...values));
    assert.ok(bins.n >= 1 && bins.n <= 30);
    assert.equal(binned(values, bins).reduce((a, b) => a + b, 0), values.length);
  }
});

test("grades have a bin each, with the grade in its middle", () => {
  const bins = binsOf([1, 2, 5, 4, 4]);
  assert.deepEqual([bins.low, bins.high, bins.n], [0.5, 5.5, 5]);
  assert.deepEqual([...binned([1, 2, 5, 4, 4], bins)], [1, 1, 0, 2, 1]);
});

test("an interval that goes on beyond a drawing is an arrow there", () => {
  assert.equal(reach(10, 20, 5, [0, 30]), "M10 5H20");
  assert.equal(reach(-10, 40, 5, [0, 30]), "M5 1l-5 4l5 4M0 5H30m-5 -4l5 4l-5 4");
});

test("shares are binned from 0 to 1, and no values have no bins", () => {
  const bins = binsOf([0.1, 0.95, 0.5]);
  assert.deepEqual([bins.low, bins.high], [0, 1]);
  assert.equal(binsOf([]).n, 0);
});

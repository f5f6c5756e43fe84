// The page's intervals are those of stats/interval.py, and its histogram counts everything once.
import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/vectors/intervals.json";
import { binned, binsOf, reach } from "../src/model/histogram";
import onScale from "../../tests/vectors/bounded.json";
import { meanOnScale } from "../src/model/bounded";
import { intervalOfRates, meanOfSums, shareSequence, signFlip, tQuantile, wilson, type Cluster } from "../src/model/interval";
import { meanOf } from "../src/model/mean";
import { mean, middle } from "../src/model/words";
import { rateOf } from "../src/model/rate";

function near(found: readonly number[], wanted: readonly (number | null)[], of: unknown, apart = 1e-9): void {
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, i) => {
    if (value === null) assert.ok(!Number.isFinite(found[i]));
    else assert.ok(Math.abs(found[i]! - value) <= apart, `${JSON.stringify(of)}: ${found[i]}, not ${value}`);
  });
}

test("Student's quantiles are the same", () => {
  for (const { df, is } of vectors.t_quantile) near([tQuantile(df)], [is], df);
});

test("Wilson's intervals are the same", () => {
  for (const { of, is } of vectors.wilson) near(wilson(of[0]!, of[1]!), is, of);
});

test("intervals that hold however often one looks are the same", () => {
  for (const { of, is } of vectors.share_sequence) near(shareSequence(of[0]!, of[1]!), is, of, 1e-7);
  const of = { passed: [1, 1, 0, 1], failed: [0, 0, 1, 0], errors: [0, 0, 0, 0] };
  const stopped = rateOf(of, true)!;
  near([stopped.low, stopped.high], shareSequence(3, 1), of);
  assert.ok(stopped.low < rateOf(of)!.low);
});

test("means on a known scale have the same intervals, and one that is off it has none", () => {
  for (const { of, scale, is } of onScale.mean_on_scale) {
    const found = meanOnScale(of, scale as [number, number]);
    if (is === null) assert.equal(found, undefined);
    else near([found!.value, found!.low, found!.high], is, of, 1e-6);
  }
});

test("rates with errors among repeats, cases wholly in error and unequal repeats are the same", () => {
  for (const { of, is } of onScale.rate) {
    const [passed, failed, errors] = [0, 1, 2].map((at) => of.map((each) => each[at]!)) as [number[], number[], number[]];
    const found = rateOf({ passed, failed, errors });
    if (is === null) assert.equal(found, undefined);
    else near([found!.least, found!.most, found!.low, found!.high], is, of, 1e-6);
  }
});

test("differences of rates have the same intervals", () => {
  for (const { repeats, of, is } of vectors.differences_of_rates) near(intervalOfRates(of, repeats), is, of);
});

test("tests of signs have the same p-values", () => {
  for (const { of, is } of vectors.sign_flip) near([signFlip(of)!], [is], of);
});

test("a mean on a known scale holds whatever its errors would have scored", () => {
  const [totals, sizes, errors] = [[8, 5, 0], [2, 1, 0], [0, 1, 2]];
  const found = meanOf({ totals, sizes, errors }, [1, 5])!;
  assert.deepEqual([found.value, found.n, found.scaled], [4.5, 2, true]);
  assert.ok(Math.abs(found.low! - meanOnScale([4, 3, 1], [1, 5])!.low) < 1e-9);
  assert.ok(Math.abs(found.high! - meanOnScale([4, 5, 5], [1, 5])!.high) < 1e-9);
  assert.ok(found.low! >= 1 && found.high! <= 5);
});

test("a mean that errors leave open is a range, as a rate is", () => {
  const open = meanOf({ totals: [1, 0], sizes: [1, 0], errors: [0, 1] }, [0, 1])!;
  assert.deepEqual(open.open, [0.5, 1]);
  assert.ok(mean(open).startsWith("0.5–1 [0.09"));
  const sure = meanOf({ totals: [1, 0], sizes: [1, 1], errors: [0, 0] }, [0, 1])!;
  assert.equal(sure.open, undefined);
  assert.equal(middle(sure), "0.5");
  const unknown = meanOf({ totals: [7, 0], sizes: [1, 0], errors: [0, 1] }, undefined)!;
  assert.equal(middle(unknown), "7 ±?");
  const words = meanOf({ totals: [90, 100, 110, 104, 96, 0], sizes: [1, 1, 1, 1, 1, 0], errors: [0, 0, 0, 0, 0, 1] }, undefined)!;
  assert.equal(middle(words), "98.33–101.7");
});

test("on an unknown scale equal values say nothing of how far the mean reaches, and times are never below 0", () => {
  const none = [0, 0, 0, 0, 0];
  const sums = (totals: readonly number[]) => ({ totals, sizes: totals.map(() => 1), errors: none });
  const same = meanOf(sums([1, 1, 1, 1, 1]), undefined)!;
  assert.deepEqual([same.value, same.low, same.high], [1, null, null]);
  const times = meanOf(sums([0.1, 0.1, 0.1, 0.1, 9]), undefined, 0)!;
  assert.equal(times.low, 0);
  assert.equal(meanOf(sums([0.5, 1.5, 1, 1, 1]), [0, 1])!.scaled, undefined); // the scale is not what it was said to be
});

test("means of clusters have the same intervals", () => {
  for (const { of, is } of vectors.mean_of) {
    const found = meanOfSums(of as unknown as Cluster[]);
    if (is === null) assert.equal(found, undefined);
    else near([found!.value, found!.low, found!.high], is, of);
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

test("a few possible scores have a bin each, as far apart as they are", () => {
  for (const [values, n, width] of [[[1, 1.5, 2, 2, 1.5], 3, 0.5], [[0, 2, 2, 4], 5, 1], [[1.25, 1.75, 1.5], 3, 0.25]] as const) {
    const bins = binsOf(values);
    assert.deepEqual([bins.n, Number(bins.width.toFixed(9))], [n, width]);
    assert.equal(binned(values, bins).reduce((sum, each) => sum + each), values.length);
    assert.equal(binned(values, bins)[0], values.filter((value) => value === Math.min(...values)).length);
  }
});

test("the axis of shares ends at 0 and 1, however few there are", () => {
  for (const values of [[0, 1, 1], [0, 0.5, 1], [0.25, 0.75, 0.5], [0.1, 0.95, 0.5], Array.from({ length: 9 }, (_, i) => i / 8), [0.5]]) {
    const bins = binsOf(values);
    assert.deepEqual([bins.low, bins.high, bins.n], [0, 1, 20]);
    assert.equal([...binned(values, bins)].filter((n) => n > 0).length, new Set(values).size);
  }
});

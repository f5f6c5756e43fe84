// How numbers, moments and messages are written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apart } from "../src/model/summary";
import { rateFrom } from "../src/model/rate";
import { asWritten, beside, interval, mean, minus, money, number, paid, passed, percent, percents, rate, rounded, seconds, sentences, short, shortBeside, signed, spent, when } from "../src/model/words";

test("a rate is told of its trials, and how many cases they are of", () => {
  assert.equal(passed({ least: 0.625, most: 0.625, low: 0.43, high: 0.79, n: 8 }), "63 % [43–79] passed · 8 cases");
  assert.equal(passed(null), "no verdicts");
  assert.equal(rate({ least: 0.5, most: 0.9, low: 0.32, high: 0.97, n: 10 }), "50–90 % [32–97], 10 cases");
  assert.equal(percents({ least: 0.901, most: 0.902 }), "90 %"); // where both ends print alike, one number
  assert.equal(percents({ least: 0.001, most: 0.999 }), "1–99 %");
});

test("a share beside a narrow interval has as many digits, so that it lies in it", () => {
  assert.equal(passed({ least: 0.999, most: 0.999, low: 0.9943, high: 0.9998, n: 1000 }), "99.9 % [99.4–100.0] passed · 1,000 cases");
  assert.deepEqual([percent(0.9999, 1), percent(0.0001, 1), percent(1, 1), percent(1 - 1e-16), percent(1e-17)], ["99.99 %", "0.01 %", "100 %", "100 %", "0 %"]);
  for (const share of [0.0003, 0.001, 0.3014, 0.999, 0.99997]) {
    const [low, high] = [Math.max(0, share - 0.004), Math.min(1, share + 0.004)];
    const [start, end] = interval(low, high).split("–").map(Number);
    const middle = Number(percents({ least: share, most: share, low, high }).slice(0, -2));
    assert.ok(start! <= middle && middle <= end!, `${share}`);
  }
});

test("a number that missed its bound does not read as one that kept it", () => {
  assert.deepEqual([beside(0.89996, 0.9, null), beside(0.5, 0.9), beside(0.9, 0.9), beside(0.1 + 1e-17, 0.1), beside(0.100004, null, 0.1)], ["0.89996", "0.5", "0.9", "0.1", "0.100004"]);
  assert.deepEqual([asWritten(0.8999999), asWritten(-0.5), asWritten(1 / 3)], ["0.8999999", "−0.5", "0.333333333333"]);
});

test("a score is a whole number only if it is one, and has more digits beside a narrow interval", () => {
  assert.deepEqual([short(0.9996), short(1), short(4.999)], ["0.9996", "1", "4.999"]);
  assert.deepEqual([shortBeside(0.9999, { low: 0.99943, high: 0.99998 }), shortBeside(1, { low: 0.9996, high: 1 }), shortBeside(0.5, { low: 0.4, high: 0.6 }), shortBeside(4.999, { low: 3, high: 4.999 })], ["0.9999", "1", "0.5", "5.00"]);
});

test("one number is rounded alike as a rate and as a score, halves up", () => {
  assert.deepEqual([percent(177 / 200), short(177 / 200), rounded(1.005, 2), rounded(-2.5)], ["89 %", "0.89", "1.01", "-3"]);
  for (let n = 1; n <= 400; n += 1) {
    for (let k = Math.ceil(n / 100); k <= n - n / 100; k += 1) {
      assert.equal(percent(k / n), `${Number(rounded((Number(rounded(k / n, 2))) * 100))} %`, `${k} of ${n}`);
    }
  }
});

test("a rate that was sent with its ends, or with one value, is the same; an open one has no value", () => {
  const ends = { low: 0.3, high: 0.9, n: 4 };
  assert.deepEqual(rateFrom({ value: 0.5, ...ends }), { least: 0.5, most: 0.5, ...ends });
  assert.deepEqual(rateFrom({ value: null, least: 0.5, most: 0.75, ...ends }), { least: 0.5, most: 0.75, ...ends });
  assert.equal(rateFrom({ value: null, low: null, high: null, n: 0 }), null);
  assert.equal(rateFrom(null), null);
});

test("in a narrow place a number has two digits after the point, and is never nothing where it is something", () => {
  const said = [0.8833, 0.9, 0.997, 0.1 + 0.2, 0.004, -0.0917, 0, 87.5, 1234.5, 1e-9, NaN].map(short);
  assert.deepEqual(said, ["0.88", "0.9", "0.997", "0.3", "0.004", "−0.09", "0", "87.5", "1235", "1e−09", "–"]);
});

test("an interval on a known scale is written from end to end, Student's in two numbers, none where it is not known", () => {
  const of = { value: 4.96, low: 4.55, high: 5, n: 8 };
  assert.equal(mean({ ...of, scaled: true }), "4.96 [4.55–5], 8 cases");
  assert.equal(mean(of), "4.96 [4.55, 5], 8 cases");
  assert.equal(mean({ ...of, low: null, high: null }), "4.96, 8 cases");
});

test("numbers have a minus sign, and a hyphen nowhere", () => {
  const said = [number(-0.3), number(-1e-7), number(-20_000), money(-0.0004), money(-3), seconds(-0.2), signed(number(-2)), minus("-1.5")];
  assert.deepEqual(said, ["−0.3", "−1e−07", "−2e+04", "−$0.0004", "−$3.00", "−200 ms", "−2", "−1.5"]);
});

test("nothing has no sign of its own", () => {
  assert.deepEqual(["0", "0.00", "-0.00", "$0", "0 ms", "0.01"].map(signed), ["±0", "±0.00", "±0.00", "±$0", "±0 ms", "+0.01"]);
});

test("a mean of fewer cases than are told says of how many", () => {
  const of = { value: 0.5, low: null, high: null, n: 4 };
  assert.equal(mean(of), "0.5, 4 cases");
  assert.equal(mean(of, number, 6), "0.5, n 4 of 6");
});

test("a moment is written as the command line writes it, by the clock here", () => {
  assert.equal(when(new Date(2026, 0, 5, 7, 3, 59).getTime() / 1000), "2026-01-05 07:03");
});

test("a message and its hint become sentences", () => {
  assert.equal(sentences("no API key\n  Set IT.", "", "Then?"), "no API key. Set IT. Then?");
});

test("what has no verdict is counted in groups of thousands", () => {
  assert.equal(apart([5, 0, 2938, 1200]), "2,938 errors, 1,200 not applicable");
  assert.equal(apart([5, 0, 1, 0]), "1 error");
  assert.equal(apart([5, 1, 0, 0]), "");
});

test("what a run spent is said as on the command line: a script has no price, and no call that was recorded is no $0", () => {
  const of = (usd: number | null, scripted: boolean, calls: number) => [paid(usd, { scripted, calls }), spent(usd, { scripted, calls })];
  assert.deepEqual(of(null, true, 3), ["scripted", "replies scripted"]);
  assert.deepEqual(of(null, false, 3), ["unknown", "cost unknown"]);
  assert.deepEqual(of(0, false, 0), ["–", ""]);
  assert.deepEqual(of(0, true, 4), ["$0", "$0 spent"]); // models that cost nothing
  assert.deepEqual(of(0.5, false, 0), ["$0.5000", "$0.5000 spent"]); // imported, without its calls
});

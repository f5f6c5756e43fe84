// How numbers, moments and messages are written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apart } from "../src/model/summary";
import { passed, sentences, when } from "../src/model/words";

test("a rate is told of its trials, and how many cases they are of", () => {
  assert.equal(passed({ value: 0.625, low: 0.43, high: 0.79, n: 8 }), "62 % [43–79] passed · 8 cases");
  assert.equal(passed(null), "no verdicts");
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

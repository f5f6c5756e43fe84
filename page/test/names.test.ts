// Names in little room are told apart.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted } from "../src/model/names";

test("names that fit stay what they are", () => {
  assert.deepEqual(fitted(["short", "strict"], 10), ["short", "strict"]);
  assert.deepEqual(fitted([], 10), []);
});

test("names that differ in the model at the end are told apart", () => {
  const names = ["structured and rather long · fake-model", "structured and rather long · other-model", "terse"];
  const cut = fitted(names, 20);
  assert.equal(new Set(cut).size, 3);
  assert.ok(cut.every((name) => [...name].length <= 20));
  assert.equal(cut[2], "terse");
});

test("names that differ in the middle alone are told apart there", () => {
  const names = ["one", "two", "six"].map((word) => `answer the question in at most ${word} sentences, and name the source`);
  for (const most of [12, 20, 30]) {
    const cut = fitted(names, most);
    assert.equal(new Set(cut).size, 3, cut.join(" | "));
    assert.ok(cut.every((name) => [...name].length <= most));
  }
  assert.match(fitted(names, 20)[1]!, /two/);
});

test("equal names are cut alike, and signs of two halves stay whole", () => {
  const [first, second] = fitted(["👟".repeat(30), "👟".repeat(30)], 9);
  assert.equal(first, second);
  assert.doesNotMatch(first!, /[\ud800-\udbff](?![\udc00-\udfff])/);
});

test("names of one group are told apart from those of another", () => {
  const names = Array.from({ length: 200 }, (_, i) => `prompt number ${i} with words`);
  for (const most of [17, 20, 24]) {
    const cut = fitted(names, most);
    assert.equal(new Set(cut).size, 200, cut.slice(0, 14).join(" | "));
    assert.ok(cut.every((name) => [...name].length <= most));
  }
});

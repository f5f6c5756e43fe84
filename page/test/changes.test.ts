// What changed between two texts: nothing is lost on either side, and it ends in time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, jsonChanges, shared, type Changes } from "../src/model/changes";
import { CORPUS } from "./corpus";

const side = (found: Changes, without: "added" | "removed"): string =>
  found.parts.filter(({ kind }) => kind !== without).map(({ text }) => text).join("");

test("both texts can be read out of the changes", () => {
  for (const before of CORPUS) {
    for (const after of [...CORPUS, `${before} more`, before.replaceAll(" ", "  "), ""]) {
      const found = changes(before, after);
      assert.equal(side(found, "added"), before);
      assert.equal(side(found, "removed"), after);
    }
  }
});

test("words are compared first, a replaced phrase is one change", () => {
  const found = changes("The old harbour is quiet today.", "The new station is quiet today.");
  assert.equal(found.by, "words");
  assert.deepEqual(found.parts, [
    { kind: "same", text: "The " },
    { kind: "removed", text: "old harbour" },
    { kind: "added", text: "new station" },
    { kind: "same", text: " is quiet today." },
  ]);
});

test("equal texts are the same", () => {
  assert.deepEqual(changes("a b", "a b").parts, [{ kind: "same", text: "a b" }]);
  assert.deepEqual(changes("", "").parts, []);
});

test("texts with nothing in common stand apart", () => {
  const found = changes("alpha beta gamma delta", "one two three four");
  assert.equal(found.by, "apart");
  assert.deepEqual(found.parts.map(({ kind }) => kind), ["removed", "added"]);
});

test("large texts are compared by lines, and by words in lines that were replaced", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `This is the line with number ${i} of many`);
  const other = lines.with(10_000, "This is the line with number none of many").with(15_000, "new");
  const found = changes(lines.join("\n"), other.join("\n"), { words: 30_000, lines: 60_000 });
  assert.equal(found.by, "lines");
  assert.ok(found.parts.some(({ kind, text }) => kind === "added" && text === "none"));
  assert.equal(side(found, "added"), lines.join("\n"));
  assert.equal(side(found, "removed"), other.join("\n"));
});

test("what cannot be aligned in time is not waited for", () => {
  const random = (seed: number): string =>
    Array.from({ length: 60_000 }, (_, i) => `${(i * 7919 * seed) % 104_729} ${(i * seed) % 1299}`).join("\n");
  const start = performance.now();
  const found = changes(random(3), random(11), { words: 50, lines: 50 });
  assert.ok(performance.now() - start < 3000);
  assert.equal(found.by, "apart");
});

test("the order of keys is no change of JSON, the order of a list is", () => {
  assert.equal(jsonChanges({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }).parts.length, 1);
  const found = jsonChanges({ a: 1, b: [1, 2] }, { b: [2, 1], a: 1 });
  assert.ok(found.added > 0 && found.removed > 0);
});

test("of several comparisons only what none of the others has is one's own", () => {
  const own = "The new station is quiet today.";
  const found = shared([changes("The old station is loud today.", own).parts, changes("The old harbour is quiet today.", own).parts]);
  assert.deepEqual(found.filter(({ kind }) => kind === "added").map(({ text }) => text), ["new"]);
  assert.equal(found.map(({ text }) => text).join(""), own);
  assert.deepEqual(shared([]), []);
});

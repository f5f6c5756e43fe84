// The filter's regular expressions, on the vectors that the command line is tested on, too.
import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/vectors/patterns.json";
import { PatternError, patternOf } from "../src/model/pattern";

test("expressions find what the vectors say", () => {
  for (const [source, text, found] of vectors.found as [string, string, boolean][]) {
    const { expression, needed } = patternOf(source);
    if (found && needed.length > 0) assert.ok(needed.some((part) => text.includes(part)), `${source} in ${text}`);
    assert.equal(expression.test(text), found, `${source} in ${text}`);
    assert.equal(expression.test(text), found, `${source} in ${text}, again`);
  }
});

test("what is not supported is refused in words", () => {
  for (const [source, what, hint] of vectors.refused as [string, string, string][]) {
    assert.throws(() => patternOf(source), (thrown: unknown) => thrown instanceof PatternError && thrown.what === what && thrown.hint === hint, source);
  }
});

// The filter's regular expressions, on the vectors that the command line is tested on, too.
import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../../tests/vectors/patterns.json";
import { Pattern, PatternError } from "../src/model/pattern";

test("expressions find what the vectors say", () => {
  for (const [source, text, found] of vectors.found as [string, string, boolean][]) {
    const pattern = new Pattern(source);
    assert.equal(pattern.search(text), found, `${source} in ${text}`);
    assert.equal(pattern.search(text), found, `${source} in ${text}, again`);
  }
});

test("what is not supported is refused in words", () => {
  for (const [source, what, hint] of vectors.refused as [string, string, string][]) {
    assert.throws(() => new Pattern(source), (thrown: unknown) => thrown instanceof PatternError && thrown.what === what && thrown.hint === hint, source);
  }
});

test("what hangs other engines for years is read once", () => {
  for (const source of ["(a*)*b", "(a|a)*b", "(a+)+$x", "a.*a.*a.*a.*a.*b", "(.*)*x"]) assert.equal(new Pattern(source).search("a".repeat(200_000)), false);
});

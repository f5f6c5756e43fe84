// The display modes as a filter: what is exported is what is said.
import assert from "node:assert/strict";
import { test } from "node:test";
import { narrowed } from "../src/model/shows";

test("a display mode holds in each alternative of the filter", () => {
  assert.equal(narrowed("", "all"), "");
  assert.equal(narrowed("a OR b", "all"), "a OR b");
  assert.equal(narrowed("", "unlabelled"), "-has:label");
  assert.equal(narrowed('tag:x OR "a OR b"', "failures"), 'tag:x status:fail OR "a OR b" status:fail');
});

test("verdicts differ between the two columns that are shown, whichever these are", () => {
  assert.equal(narrowed("tag:x OR tag:y", "verdicts", [0, 2]), "tag:x passed@1!=passed@3 OR tag:y passed@1!=passed@3");
  for (const columns of [[], [1], [0, 1, 2]]) assert.equal(narrowed("tag:x", "verdicts", columns), "tag:x");
});

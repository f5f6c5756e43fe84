// What went wrong is told once, however many requests it failed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { about, different, Problem } from "../src/data/problem";

test("a problem that another one tells is left out, and one that says something else stays", () => {
  const stopped = new Problem("`evenhand view` does not answer", "It was stopped.");
  const missed = about("The run has changed, and could not be read again", stopped);
  const other = new Problem("there is no run 'x'", "It may have been deleted.");
  const samewords = new Problem("`evenhand view` does not answer", "Wait for it.");
  assert.deepEqual(different([missed, undefined, stopped, other, stopped]), [missed, other]);
  assert.deepEqual(different([stopped, samewords]), [stopped, samewords]);
  assert.deepEqual(different([]), []);
});

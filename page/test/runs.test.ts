// How runs are told apart in the list and in the menu of baselines.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunSummary } from "../src/data/source";
import { runWords, started } from "../src/model/runs";

const run = (id: string, created_at: number, problem = ""): RunSummary => ({ id, created_at, problem, title: "t", rate: null }) as RunSummary;

test("runs of one minute are told apart by their seconds, others have none", () => {
  const [first, second, third] = [run("A1", 1_700_000_041), run("A2", 1_700_000_043), run("A3", 1_700_000_100)];
  const runs = [first, second, third, run("B1", 1_700_000_101, "damaged")];
  assert.match(started(first, runs), /:\d\d:41$|:\d\d:\d\d$/);
  assert.notEqual(started(first, runs), started(second, runs));
  assert.match(started(third, runs), / \d\d:\d\d$/);
  assert.ok(runWords(first, runs).startsWith(started(first, runs)), "it stands first, where the menu does not cut it off");
});

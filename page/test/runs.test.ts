// How runs are told apart in the list and in the menu of baselines.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunSummary } from "../src/data/source";
import { baselines, runWords, started } from "../src/model/runs";
import { verdictOf } from "../src/model/verdict";

const run = (id: string, created_at: number, problem = ""): RunSummary => ({ id, created_at, problem, title: "t", rate: null }) as RunSummary;

test("runs of one minute are told apart by their seconds, others have none", () => {
  const [first, second, third] = [run("A1", 1_700_000_041), run("A2", 1_700_000_043), run("A3", 1_700_000_100)];
  const runs = [first, second, third, run("B1", 1_700_000_101, "damaged")];
  assert.match(started(first, runs), /:\d\d:41$|:\d\d:\d\d$/);
  assert.notEqual(started(first, runs), started(second, runs));
  assert.match(started(third, runs), / \d\d:\d\d$/);
  assert.ok(runWords(first, runs).startsWith(started(first, runs)), "it stands first, where the menu does not cut it off");
});

test("a gate's run says what the gate came to, and not that trials failed", () => {
  const words = (gate_verdict: RunSummary["gate_verdict"], of_gate = true) => verdictOf({ verdict: "failed", of_gate, gate_verdict })[1];
  assert.deepEqual((["better", "not worse", "undecided", "nothing", "worse"] as const).map((one) => words(one)), ["Better", "Not worse", "Undecided", "Nothing compared", "Worse"]);
  assert.equal(words(null), "Trials failed", "its gate didn't come to its end");
  assert.equal(words(null, false), "Failed");
});

test("runs of judges are no baselines of other runs, nor these of them", () => {
  const judges = (id: string): RunSummary => ({ ...run(id, 1), of_judges: true });
  const [system, earlier, probe, canaries, damaged] = [{ ...run("A1", 3), of_judges: false }, { ...run("A2", 2), of_judges: false }, judges("P1"), judges("C1"), { ...run("D1", 4, "damaged"), of_judges: false }];
  const ids = (of: RunSummary) => baselines(of, [system, earlier, probe, canaries, damaged]).flatMap(([, group]) => group.map(({ id }) => id));
  assert.deepEqual(ids(system), ["A2"]);
  assert.deepEqual(ids(canaries), ["P1"]);
});
